//! What the claims of a rightly signed token must say.

use super::*;

fn verify(claims: &Value) -> Result<Claims, JwtError> {
    keys().verify(&token(Algorithm::HS256, claims), NOW_S)
}

fn wrong_type(claim: &'static str, expected: &'static str) -> Result<Claims, JwtError> {
    Err(JwtError::Type { claim, expected })
}

fn without(name: &str) -> Value {
    let mut claims = good_claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

#[test]
fn all_claims_arrive() {
    let claims = json!({"sub": "ann", "exp": NOW_S + 1, "roles": ["a", "b"], "auths": ["x&y"]});
    let (roles, auths) = (vec!["a".into(), "b".into()], vec!["x&y".into()]);
    let expected = Claims { subject: "ann".into(), roles, auths, expires: NOW_S + 1 };
    assert_eq!(verify(&claims), Ok(expected));
}

#[test]
fn expiry_is_needed_and_has_a_leeway() {
    assert_eq!(verify(&without("exp")), Err(JwtError::Missing("exp")));
    verify(&claims_with("exp", json!(NOW_S - 29))).unwrap();
    assert_eq!(verify(&claims_with("exp", json!(NOW_S - 30))), Err(JwtError::Expired));
    assert_eq!(verify(&claims_with("exp", json!(0))), Err(JwtError::Expired));
    verify(&claims_with("exp", json!(u64::MAX))).unwrap();
}

#[test]
fn time_is_the_argument_and_not_the_clock() {
    let token = token(Algorithm::HS256, &json!({"sub": "ann", "exp": 1000, "nbf": 900}));
    keys().verify(&token, 950).unwrap();
    assert_eq!(keys().verify(&token, 1030), Err(JwtError::Expired));
    assert_eq!(keys().verify(&token, 869), Err(JwtError::NotYet));
}

#[test]
fn not_before_is_honoured_with_a_leeway() {
    verify(&claims_with("nbf", json!(NOW_S + 30))).unwrap();
    assert_eq!(verify(&claims_with("nbf", json!(NOW_S + 31))), Err(JwtError::NotYet));
}

#[test]
fn times_may_have_a_fraction() {
    let claims = verify(&claims_with("exp", json!(NOW_S as f64 + 0.5))).unwrap();
    assert_eq!(claims.expires, NOW_S);
}

#[test]
fn times_of_a_wrong_type_are_refused() {
    for time in [json!("1700000060"), json!(null), json!(-1), json!(1e300), json!([1]), json!(true)]
    {
        for claim in ["exp", "nbf"] {
            let verified = verify(&claims_with(claim, time.clone()));
            assert_eq!(verified, wrong_type(claim, "a number of seconds"), "{time}");
        }
    }
}

#[test]
fn a_subject_is_needed() {
    assert_eq!(verify(&without("sub")), Err(JwtError::Missing("sub")));
    for subject in ["", "a\nb", "a\u{0}", "\u{7f}", "\u{85}"] {
        assert_eq!(verify(&claims_with("sub", json!(subject))), Err(JwtError::Subject));
    }
    for subject in [json!(5), json!(null), json!(["ann"])] {
        assert_eq!(verify(&claims_with("sub", subject)), wrong_type("sub", "a string"));
    }
    assert_eq!(verify(&claims_with("sub", json!("五 x"))).unwrap().subject, "五 x");
}

#[test]
fn roles_and_auths_are_arrays_of_strings() {
    for wrong in [json!("a"), json!(null), json!({"a": 1}), json!(["a", 1]), json!([null])] {
        for claim in ["roles", "auths"] {
            let verified = verify(&claims_with(claim, wrong.clone()));
            assert_eq!(verified, wrong_type(claim, "an array of strings"), "{wrong}");
        }
    }
}

#[test]
fn only_a_key_that_may_grants_admin() {
    let token = token(Algorithm::HS256, &claims_with("roles", json!(["admin", "b", "admin"])));
    assert_eq!(keys().verify(&token, NOW_S).unwrap().roles, ["b"]);
    let allowed = keys_of(vec![JwtKey::hs256(SECRET).unwrap().allow_admin_role()]);
    assert_eq!(allowed.verify(&token, NOW_S).unwrap().roles, ["admin", "b", "admin"]);
}

#[test]
fn only_a_key_that_may_speaks_for_admin() {
    let token = token(Algorithm::HS256, &claims_with("sub", json!("admin")));
    assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Admin));
    let allowed = keys_of(vec![JwtKey::hs256(SECRET).unwrap().allow_admin_role()]);
    assert_eq!(allowed.verify(&token, NOW_S).unwrap().subject, "admin");
}

/// The right to grant is the key's that signed, not that of any key.
#[test]
fn another_key_that_may_grant_admin_does_not_help() {
    let trusted = JwtKey::hs256(b"another secret of thirty-two byte").unwrap().allow_admin_role();
    let keys = keys_of(vec![trusted, JwtKey::hs256(SECRET).unwrap()]);
    let token = token(Algorithm::HS256, &claims_with("roles", json!(["admin"])));
    assert!(keys.verify(&token, NOW_S).unwrap().roles.is_empty());
}

fn verify_required(claims: &Value, required: Required) -> Result<Claims, JwtError> {
    let keys = JwtKeys::new(vec![JwtKey::hs256(SECRET).unwrap()], required).unwrap();
    keys.verify(&token(Algorithm::HS256, claims), NOW_S)
}

#[test]
fn a_required_issuer_must_be_the_issuer() {
    let verify = |claims: Value| {
        verify_required(&claims, Required { issuer: Some("me".into()), audience: None })
    };
    verify(claims_with("iss", json!("me"))).unwrap();
    assert_eq!(verify(claims_with("iss", json!("you"))), Err(JwtError::Issuer));
    assert_eq!(verify(claims_with("iss", json!(["me"]))), wrong_type("iss", "a string"));
    assert_eq!(verify(good_claims()), Err(JwtError::Missing("iss")));
}

#[test]
fn a_required_audience_must_be_among_the_audiences() {
    let verify = |claims: Value| {
        verify_required(&claims, Required { audience: Some("keyaki".into()), issuer: None })
    };
    verify(claims_with("aud", json!("keyaki"))).unwrap();
    verify(claims_with("aud", json!(["other", "keyaki"]))).unwrap();
    for other in [json!("other"), json!([]), json!(["other"]), json!("keyaki2")] {
        assert_eq!(verify(claims_with("aud", other)), Err(JwtError::Audience));
    }
    let mixed = verify(claims_with("aud", json!(["keyaki", 1])));
    assert_eq!(mixed, wrong_type("aud", "an array of strings"));
    assert_eq!(verify(good_claims()), Err(JwtError::Missing("aud")));
}

#[test]
fn what_is_not_required_is_not_looked_at() {
    let mut claims = claims_with("iss", json!(1));
    claims["aud"] = json!({"any": "thing"});
    verify(&claims).unwrap();
}

#[test]
fn claims_that_are_no_object_or_say_a_thing_twice_are_refused() {
    let header = json!({"alg": "HS256"});
    let twice = format!(r#"{{"sub": "ann", "exp": {0}, "exp": {0}}}"#, NOW_S + 60);
    let array = format!(r#"["ann", {}, 0, "", "", [], []]"#, NOW_S + 60);
    for claims in ["", "null", "[]", "5", "{", "{}x", &array, &twice] {
        let token = token_of(&header, claims, Algorithm::HS256, &signing(Algorithm::HS256));
        assert_eq!(keys().verify(&token, NOW_S), Err(JwtError::Malformed), "{claims}");
    }
}
