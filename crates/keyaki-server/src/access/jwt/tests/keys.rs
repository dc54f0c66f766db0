//! Which keys a configuration may hold.

use super::*;

/// Of 1024 bits; nobody has its private half.
const SMALL_RSA: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDsuub33wlcmsSRvsuPXzDP5zLf
UMRgkPEowKeVwyrcVx7mbfhgXkJU4CgkMYtVMEN3sN/wuRLUKngjkmk/hLEehAdY
/9/4SVx73ZP8ovGJXmzdUy3o0iCT+TZpcnDHSCSxJxHJ+U1totquBvLvI0yP1A0W
cqAfzOlh2dIk5Tf30wIDAQAB
-----END PUBLIC KEY-----
";
const P256: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZF9+p9lSxV+JCk8QrStMSUcSN/hY
+LWZxmXyx+33zSkM1d6OXpXVVC3mRaP9fSlFKq92PNYg0cqcJbZmeSdORg==
-----END PUBLIC KEY-----
";
const X25519: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VuAyEAvVnElqMe8ZiZMxUQ/yCmonEW4wYSjLLUov0lPST5YDc=
-----END PUBLIC KEY-----
";

#[test]
fn short_secrets_are_refused() {
    assert_eq!(JwtKey::hs256(&SECRET[1..]).unwrap_err(), KeyError::ShortSecret(31));
    assert_eq!(JwtKey::hs256(b"").unwrap_err(), KeyError::ShortSecret(0));
    JwtKey::hs256(SECRET).unwrap();
}

#[test]
fn a_public_key_is_no_secret() {
    let padded = format!("\n {}", RSA.public);
    for pem in [&RSA.public, &ED.public, &padded] {
        assert_eq!(JwtKey::hs256(pem.as_bytes()).unwrap_err(), KeyError::PemSecret);
    }
}

#[test]
fn small_rsa_keys_are_refused() {
    let error = JwtKey::rs256(SMALL_RSA).unwrap_err();
    assert_eq!(error, KeyError::RsaBits(1024));
    assert_eq!(error.to_string(), "an RSA key needs 2048 to 8192 bits; this has 1024");
}

#[test]
fn an_rsa_key_may_be_pkcs1() {
    let der = RsaKeyPair::generate(KeySize::Rsa2048).unwrap().public_key().as_ref().to_vec();
    JwtKey::rs256(&pem("RSA PUBLIC KEY", &der)).unwrap();
}

#[test]
fn keys_of_another_kind_are_refused() {
    for pem in [&ED.public[..], P256, X25519] {
        assert_eq!(JwtKey::rs256(pem).unwrap_err(), KeyError::NotRsa);
    }
    for pem in [&RSA.public[..], P256, X25519] {
        assert_eq!(JwtKey::ed_dsa(pem).unwrap_err(), KeyError::NotEd25519);
    }
}

#[test]
fn private_keys_and_certificates_are_refused() {
    let refused = |label: &str| KeyError::NotPublic(label.into());
    assert_eq!(JwtKey::rs256(&RSA.private).unwrap_err(), refused("PRIVATE KEY"));
    assert_eq!(JwtKey::ed_dsa(&ED.private).unwrap_err(), refused("PRIVATE KEY"));
    assert_eq!(JwtKey::rs256(&pem("CERTIFICATE", b"x")).unwrap_err(), refused("CERTIFICATE"));
    assert_eq!(
        JwtKey::ed_dsa(&pem("RSA PUBLIC KEY", b"x")).unwrap_err(),
        refused("RSA PUBLIC KEY")
    );
}

#[test]
fn what_is_not_pem_is_refused() {
    for text in ["", "AAAA", "-----BEGIN PUBLIC KEY"] {
        assert_eq!(JwtKey::rs256(text).unwrap_err(), KeyError::NotPem);
        assert_eq!(JwtKey::ed_dsa(text).unwrap_err(), KeyError::NotPem);
    }
    for damaged in ["-----BEGIN PUBLIC KEY-----\nAAAA", &pem("PUBLIC KEY", b"junk")] {
        assert_eq!(JwtKey::rs256(damaged).unwrap_err(), KeyError::NotRsa);
        assert_eq!(JwtKey::ed_dsa(damaged).unwrap_err(), KeyError::NotEd25519);
    }
}

#[test]
fn two_keys_cannot_have_one_id() {
    let key = |id: &str| JwtKey::hs256(SECRET).unwrap().with_id(id);
    let error = JwtKeys::new(vec![key("a"), key("b"), key("a")], Required::default()).unwrap_err();
    assert_eq!(error, KeyError::RepeatedId("a".into()));
    JwtKeys::new(vec![key("a"), key("b")], Required::default()).unwrap();
}

#[test]
fn printing_a_key_shows_no_secret() {
    let text = format!("{:?}", JwtKey::hs256(SECRET).unwrap());
    assert!(text.contains("redacted") && !text.contains("0123") && !text.contains("48, 49"));
}
