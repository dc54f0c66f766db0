//! Which key verifies a token, and what a header cannot bring about.

use super::*;

const ALL: [Algorithm; 3] = [Algorithm::HS256, Algorithm::RS256, Algorithm::EdDSA];

#[test]
fn each_algorithm_verifies() {
    for algorithm in ALL {
        let claims = keys().verify(&token(algorithm, &good_claims()), NOW_S).unwrap();
        let (roles, auths) = (vec![], vec![]);
        assert_eq!(claims, Claims { subject: "ann".into(), roles, auths, expires: NOW_S + 60 });
    }
}

#[test]
fn a_changed_token_is_refused() {
    for algorithm in ALL {
        let good = token(algorithm, &good_claims());
        let parts: Vec<_> = good.split('.').collect();
        let other = URL_SAFE_NO_PAD.encode(claims_with("sub", json!("bob")).to_string());
        let forged = format!("{}.{other}.{}", parts[0], parts[2]);
        assert_eq!(keys().verify(&forged, NOW_S), Err(JwtError::Signature));
        let unsigned = format!("{}.{}.", parts[0], parts[1]);
        assert_eq!(keys().verify(&unsigned, NOW_S), Err(JwtError::Signature));
    }
}

#[test]
fn a_token_of_another_key_is_refused() {
    let other = EncodingKey::from_secret(b"another secret of thirty-two byte");
    let header = json!({"alg": "HS256"});
    let token = token_of(&header, &good_claims().to_string(), Algorithm::HS256, &other);
    assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Signature));
}

#[test]
fn none_is_no_algorithm() {
    let payload = URL_SAFE_NO_PAD.encode(good_claims().to_string());
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg}).to_string());
        for token in [format!("{header}.{payload}."), format!("{header}.{payload}.AAAA")] {
            assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Header), "{alg}");
        }
    }
}

/// The classic attack: HS256 with the public key, which everybody has, as the secret.
#[test]
fn a_public_key_as_hmac_secret_is_refused() {
    for pair in [&*RSA, &*ED] {
        let secret = EncodingKey::from_secret(pair.public.as_bytes());
        let claims = good_claims().to_string();
        let plain = token_of(&json!({"alg": "HS256"}), &claims, Algorithm::HS256, &secret);
        let header = json!({"alg": "HS256", "kid": "public"});
        let with_kid = token_of(&header, &claims, Algorithm::HS256, &secret);

        let public_key = JwtKey::rs256(&pair.public).or_else(|_| JwtKey::ed_dsa(&pair.public));
        let only_public = keys_of(vec![public_key.unwrap().with_id("public")]);
        assert_eq!(only_public.verify(&plain, NOW_S), Err(JwtError::Algorithm));
        assert_eq!(only_public.verify(&with_kid, NOW_S), Err(JwtError::Algorithm));
        assert_eq!(keys().verify(&plain, NOW_S), Err(JwtError::Signature));
    }
}

/// Signed rightly, but not as the header says, or not as the key is meant.
#[test]
fn a_key_verifies_only_its_own_algorithm() {
    let claims = good_claims().to_string();
    for (alg, signed_as) in [
        ("PS256", Algorithm::PS256),
        ("RS512", Algorithm::RS512),
        ("HS512", Algorithm::HS512),
        ("ES256", Algorithm::HS256),
    ] {
        let token = token_of(&json!({"alg": alg}), &claims, signed_as, &signing(signed_as));
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Algorithm), "{alg}");
    }
    for (alg, signed_as) in [("RS256", Algorithm::HS256), ("HS256", Algorithm::RS256)] {
        let token = token_of(&json!({"alg": alg}), &claims, signed_as, &signing(signed_as));
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Signature), "{alg}");
    }
}

#[test]
fn a_kid_chooses_the_key() {
    let other = JwtKey::hs256(b"another secret of thirty-two byte").unwrap().with_id("new");
    let keys = keys_of(vec![other, JwtKey::hs256(SECRET).unwrap().with_id("old")]);
    let verify = |kid: Option<&str>| {
        let header = kid.map_or(json!({"alg": "HS256"}), |kid| json!({"alg": "HS256", "kid": kid}));
        let (claims, key) = (good_claims().to_string(), signing(Algorithm::HS256));
        keys.verify(&token_of(&header, &claims, Algorithm::HS256, &key), NOW_S)
    };
    verify(Some("old")).unwrap();
    verify(None).unwrap();
    assert_eq!(verify(Some("new")), Err(JwtError::Signature));
    assert_eq!(verify(Some("gone")), Err(JwtError::UnknownKey));
    assert_eq!(verify(Some("")), Err(JwtError::UnknownKey));
}

#[test]
fn a_kid_does_not_match_a_key_without_id() {
    let header = json!({"alg": "HS256", "kid": "a"});
    let key = signing(Algorithm::HS256);
    let token = token_of(&header, &good_claims().to_string(), Algorithm::HS256, &key);
    assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::UnknownKey));
}

#[test]
fn without_keys_nothing_verifies() {
    let token = token(Algorithm::HS256, &good_claims());
    assert_eq!(keys_of(vec![]).verify(&token, NOW_S), Err(JwtError::Algorithm));
}

#[test]
fn critical_extensions_are_refused() {
    let key = signing(Algorithm::HS256);
    for crit in [json!(["b64"]), json!(["exp"]), json!([])] {
        let header = json!({"alg": "HS256", "crit": crit, "b64": true});
        let token = token_of(&header, &good_claims().to_string(), Algorithm::HS256, &key);
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Critical));
    }
}

#[test]
fn a_key_inside_the_token_is_not_used() {
    let jwk = json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode([9; 32])});
    let header = json!({"alg": "HS256", "jwk": jwk, "jku": "https://example.com/keys"});
    let key = EncodingKey::from_secret(&[9; 32]);
    let token = token_of(&header, &good_claims().to_string(), Algorithm::HS256, &key);
    assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Signature));
}

#[test]
fn what_is_no_token_is_refused() {
    let good = token(Algorithm::HS256, &good_claims());
    let repeated = URL_SAFE_NO_PAD.encode(r#"{"alg": "HS256", "alg": "HS256"}"#);
    let rest = &good[good.find('.').unwrap()..];
    let tokens = ["".into(), "a".into(), "..".into(), "a.b.c".into(), format!("{good}.x")];
    for token in tokens.into_iter().chain([format!("x.{good}"), format!("{repeated}{rest}")]) {
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Header), "{token}");
    }
    for token in [format!("{good}="), format!("{good} "), format!("{good}+")] {
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Malformed), "{token}");
    }
}

#[test]
fn tokens_over_8_kib_are_refused() {
    let padded = |bytes: usize| {
        let token = token(Algorithm::HS256, &claims_with("pad", json!("x".repeat(bytes))));
        (token.len(), keys().verify(&token, NOW_S))
    };
    let (length, verified) = padded(6000);
    assert!(length > 8000 && length <= 8192 && verified.is_ok());
    let (length, verified) = padded(6200);
    assert!(length > 8192);
    assert_eq!(verified, Err(JwtError::TooLong));
}
