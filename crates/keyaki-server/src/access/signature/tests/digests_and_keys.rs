//! Content digests, fingerprints and the two spellings of a public key.

use super::*;

const SHA_256: &str = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:";
const SHA_512: &str = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm\
                       +AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";

fn check(header: &str, body: &[u8]) -> Result<(), Fault> {
    let header = HeaderValue::from_str(header).unwrap();
    check_content_digest(&header, body).map_err(|error| error.fault)
}

#[test]
fn digests_that_fit_are_accepted() {
    assert_eq!(content_digest(BODY), SHA_256);
    for header in [SHA_256, SHA_512, &format!("{SHA_512}, {SHA_256}")] {
        check(header, BODY).unwrap();
    }
    check(&format!("md5=:AAAA:, {SHA_256}, x=(1 2)"), BODY).unwrap();
}

#[test]
fn every_digest_must_fit() {
    let other = content_digest(b"other");
    assert_eq!(check(&other, BODY), Err(Fault::Digest("sha-256")));
    assert_eq!(check(&format!("{other}, {SHA_512}"), BODY), Err(Fault::Digest("sha-256")));
    assert_eq!(check(&format!("{SHA_256}, sha-512=:AAAA:"), BODY), Err(Fault::Digest("sha-512")));
    assert_eq!(check(SHA_512, b""), Err(Fault::Digest("sha-512")));
}

#[test]
fn a_digest_we_know_is_needed() {
    for header in ["", "md5=:AAAA:", "SHA-256=:AAAA:", "sha-1=:AAAA:"] {
        let fault = check(header, BODY).unwrap_err();
        assert!(matches!(fault, Fault::NoDigest | Fault::Field { .. }), "{header}: {fault}");
    }
    assert_eq!(check("md5=:AAAA:", BODY), Err(Fault::NoDigest));
}

#[test]
fn malformed_digests_are_refused() {
    let twice = check(&format!("{SHA_256}, {SHA_256}"), BODY).unwrap_err();
    assert!(twice.to_string().contains("twice"), "{twice}");
    for header in ["sha-256=X48E", "sha-256", "sha-256=(:AAAA:)", "sha-256=\"X48E\""] {
        assert_eq!(check(header, BODY), Err(Fault::Member("Content-Digest")), "{header}");
    }
    let beyond_ascii = HeaderValue::from_bytes(b"sha-256=:\xff:").unwrap();
    let error = check_content_digest(&beyond_ascii, BODY).unwrap_err();
    assert_eq!(error.fault, Fault::Unprintable("\"content-digest\"".into()));
}

#[test]
fn a_fingerprint_is_the_hex_of_the_sha_256() {
    let expected = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
    assert_eq!(fingerprint(&[0; 32]), expected);
}

/// The key of RFC 9421, appendix B.1.4.
const DER: &str = "MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=";
const RAW: &str = "JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=";

fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

#[test]
fn both_spellings_are_one_key() {
    let raw = parse_public_key(&format!(" {RAW}\n")).unwrap();
    assert_eq!(parse_public_key(&pem("PUBLIC KEY", DER)).unwrap(), raw);
    let wrapped = pem("PUBLIC KEY", &format!("{}\r\n{}", &DER[..20], &DER[20..]));
    assert_eq!(parse_public_key(&wrapped).unwrap(), raw);
}

#[test]
fn what_is_no_public_key_is_refused_with_its_reason() {
    let x25519 = DER.replacen("K2Vw", "K2Vu", 1);
    let cases = [
        (String::new(), "the length is wrong"),
        ("AAAA".into(), "the length is wrong"),
        (DER.into(), "the length is wrong"),
        (RAW.replace('=', ""), "the base64 is malformed"),
        ("no key".into(), "the base64 is malformed"),
        (pem("PUBLIC KEY", RAW), "the key is of another kind"),
        (pem("PUBLIC KEY", &x25519), "the key is of another kind"),
        (pem("PUBLIC KEY", "%"), "the base64 is malformed"),
        (pem("PRIVATE KEY", DER), "the PEM is not one PUBLIC KEY"),
        (format!("-----BEGIN PUBLIC KEY-----\n{DER}"), "the PEM is not one PUBLIC KEY"),
    ];
    for (text, reason) in cases {
        let error = parse_public_key(&text).unwrap_err();
        assert_eq!(error.fault, Fault::PublicKey(reason), "{text}");
    }
}

#[test]
fn keys_that_anybody_could_sign_with_are_refused() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut negative = [0; 32];
    negative[31] = 0x80;
    let mut not_reduced = [0xff; 32];
    not_reduced[0] = 0xee;
    for weak in [[0; 32], identity, negative, not_reduced] {
        let error = parse_public_key(&STANDARD.encode(weak)).unwrap_err();
        assert_eq!(error.fault, Fault::PublicKey("anybody could sign with this key"));
    }
}

/// Why the test above matters: with the identity as key, one signature fits every message.
#[test]
fn the_library_alone_would_accept_a_weak_key() {
    let (mut identity, mut signature) = ([0; 32], [0; 64]);
    (identity[0], signature[0]) = (1, 1);
    UnparsedPublicKey::new(&ED25519, identity).verify(b"anything", &signature).unwrap();
}
