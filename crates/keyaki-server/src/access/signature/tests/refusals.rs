//! Signatures of a known key that must not count, each for its own reason.

use super::*;

/// Signs a GET over its method, authority and path with these parameters; each signature is right
/// unless a parameter is wrong.
fn with_parameters(parameters: &str) -> Fault {
    let signer = Signer::new(1);
    let parameters = parameters.replace("KEY", &format!("keyid=\"{}\"", signer.keyid));
    let mut request = Request::get();
    let input = format!("(\"@method\" \"@authority\" \"@path\");{parameters}");
    let lines = "\"@method\": GET\n\"@authority\": example.com\n\"@path\": /v1/shop/people\n";
    request.sign_raw("sig", &input, lines, &signer);
    match request.verify(&[&signer]) {
        Ok(keyids) => {
            assert_eq!(keyids, [signer.keyid]);
            HOLDS
        }
        Err(_) => request.fault(&signer),
    }
}

/// Stands for no fault at all, and is never answered by `verify_all` with a label.
const HOLDS: Fault = Fault::Label;

#[test]
fn the_parameters_we_know_are_accepted() {
    assert_eq!(with_parameters("created=1700000000;KEY"), HOLDS);
    let all = "nonce=\"n\";KEY;alg=\"ed25519\";created=1700000000;expires=1700000000";
    assert_eq!(with_parameters(all), HOLDS);
}

#[test]
fn created_is_needed() {
    assert_eq!(with_parameters("KEY"), Fault::NoCreated);
    assert_eq!(with_parameters("KEY;expires=1700000100"), Fault::NoCreated);
}

#[test]
fn created_bounds_are_exact() {
    assert_eq!(with_parameters("created=1699999700;KEY"), HOLDS);
    assert_eq!(with_parameters("created=1699999699;KEY"), Fault::TooOld);
    assert_eq!(with_parameters("created=1700000030;KEY"), HOLDS);
    assert_eq!(with_parameters("created=1700000031;KEY"), Fault::Future);
}

#[test]
fn an_expired_signature_is_refused() {
    assert_eq!(with_parameters("created=1699999900;expires=1699999999;KEY"), Fault::Expired);
}

#[test]
fn times_of_a_wrong_type_are_refused() {
    let created = Fault::Parameter("created".into());
    for value in ["\"1700000000\"", "-1", "1700000000.0", "?1", "@1700000000"] {
        assert_eq!(with_parameters(&format!("created={value};KEY")), created, "{value}");
    }
    let expires = Fault::Parameter("expires".into());
    assert_eq!(with_parameters("created=1700000000;expires=\"x\";KEY"), expires);
}

#[test]
fn other_algorithms_are_refused() {
    for alg in ["rsa-pss-sha512", "hmac-sha256", "Ed25519", ""] {
        let parameters = format!("created=1700000000;KEY;alg=\"{alg}\"");
        assert_eq!(with_parameters(&parameters), Fault::Algorithm, "{alg}");
    }
    let token = with_parameters("created=1700000000;KEY;alg=ed25519");
    assert_eq!(token, Fault::Parameter("alg".into()));
}

#[test]
fn unknown_parameters_are_refused() {
    for name in ["tag", "x"] {
        let parameters = format!("created=1700000000;KEY;{name}=\"a\"");
        assert_eq!(with_parameters(&parameters), Fault::UnknownParameter(name.into()));
    }
}

#[test]
fn a_keyid_that_is_no_string_is_refused() {
    assert_eq!(with_parameters("created=1700000000;keyid=5"), Fault::Parameter("keyid".into()));
}

#[test]
fn an_age_limit_can_be_set() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    let policy = Policy { max_age_s: 5, ..Policy::default() };
    request.verify_with(&[&signer], NOW_S + 5, &policy).unwrap();
    let error = request.verify_with(&[&signer], NOW_S + 6, &policy).unwrap_err();
    assert_eq!(error.fault, Fault::TooOld);
}

/// Covers one more component than needed.
fn with_component(component: &str) -> Fault {
    let signer = Signer::new(1);
    let mut request = Request::post();
    let input = format!(
        "(\"@method\" \"@authority\" \"@path\" \"@query\" \"content-digest\" {component})\
         ;created={NOW_S};keyid=\"{}\"",
        signer.keyid
    );
    request.sign_raw("sig", &input, "", &signer);
    request.fault(&signer)
}

#[test]
fn unknown_components_are_refused() {
    let components =
        ["\"@status\"", "\"@signature-params\"", "\"@Method\"", "\"Date\"", "\"a b\"", "\"\""];
    for component in components {
        assert_eq!(with_component(component), Fault::UnknownComponent(component.into()));
    }
    assert_eq!(with_component("date"), Fault::UnknownComponent("date".into()));
}

#[test]
fn component_parameters_are_refused_as_unsupported() {
    let components = [
        "\"date\";sf",
        "\"date\";bs",
        "\"date\";key=\"a\"",
        "\"date\";req",
        "\"date\";tr",
        "\"@path\";req",
        "\"@method\";x",
        "\"@query-param\"",
        "\"@query-param\";name=limit",
        "\"@query-param\";name=\"limit\";req",
    ];
    for component in components {
        assert_eq!(with_component(component), Fault::ComponentParameter(component.into()));
    }
}

#[test]
fn components_covered_twice_are_refused() {
    let repeated = |component: &str| Fault::RepeatedComponent(component.into());
    assert_eq!(with_component("\"@method\""), repeated("\"@method\""));
    assert_eq!(with_component("\"content-digest\""), repeated("\"content-digest\""));
    let param = "\"@query-param\";name=\"limit\"";
    assert_eq!(with_component(&format!("{param} {param}")), repeated(param));
}

#[test]
fn what_is_covered_must_be_there() {
    let absent = |component: &str| Fault::Absent(component.into());
    assert_eq!(with_component("\"date\""), absent("\"date\""));
    let param = "\"@query-param\";name=\"x\"";
    assert_eq!(with_component(param), absent(param));
}

#[test]
fn a_query_parameter_given_twice_is_refused() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    let covered = [&COVERED[..], &["@query-param;name=\"limit\""]].concat();
    request.sign("sig", &covered, &signer);
    request.verify(&[&signer]).unwrap();
    request.query = Some("limit=5&after=x&%6cimit=6".into());
    let param = "\"@query-param\";name=\"limit\"".into();
    assert_eq!(request.fault(&signer), Fault::Ambiguous(param));
}

#[test]
fn each_needed_component_must_be_covered() {
    let signer = Signer::new(1);
    for missing in COVERED {
        let covered: Vec<_> = COVERED.into_iter().filter(|name| *name != missing).collect();
        let mut request = Request::post();
        request.sign("sig", &covered, &signer);
        assert_eq!(request.fault(&signer), Fault::NotCovered(missing));
        request.verify_with(&[&signer], NOW_S, &CHOSEN).unwrap();
    }
}

#[test]
fn a_get_without_query_and_body_needs_less() {
    let signer = Signer::new(1);
    for path in ["@path", "@target-uri", "@request-target"] {
        let mut request = Request::get();
        request.sign("sig", &["@method", "@authority", path], &signer);
        request.verify(&[&signer]).unwrap();
        request.query = Some(String::new());
        assert_eq!(request.fault(&signer), Fault::NotCovered("@query"));
    }
}

#[test]
fn a_body_digest_added_later_does_not_count() {
    let signer = Signer::new(1);
    let mut request = Request::get();
    request.sign("sig", &["@method", "@authority", "@path"], &signer);
    request.has_body = true;
    request.add("content-digest", &content_digest(BODY));
    assert_eq!(request.fault(&signer), Fault::NotCovered("content-digest"));
}

#[test]
fn covered_headers_may_change_case_and_spaces_but_not_lines() {
    let signer = Signer::new(1);
    let covered = [&COVERED[..], &["x-tag"]].concat();
    let mut request = Request::post();
    request.add("X-Tag", "a");
    request.add("x-tag", "b");
    request.sign("sig", &covered, &signer);

    let with_tags = |values: &[&str]| {
        let mut changed = request.clone();
        changed.headers.remove("x-tag");
        values.iter().for_each(|value| changed.add("X-TAG", value));
        changed
    };
    with_tags(&[" a", "b\t"]).verify(&[&signer]).unwrap();
    with_tags(&["a, b"]).verify(&[&signer]).unwrap();
    for values in
        [&["a"][..], &["b", "a"], &["a", "b", "b"], &["a,b"], &["A", "b"], &["a", "b", ""]]
    {
        assert_eq!(with_tags(values).fault(&signer), Fault::Wrong, "{values:?}");
    }
}

#[test]
fn values_that_could_forge_a_line_are_refused() {
    let signer = Signer::new(1);
    for path in ["/a\n\"x\": y", "/a\r", "/\u{e4}", "/\0"] {
        let mut request = Request::post();
        request.sign("sig", &COVERED, &signer);
        request.path = path.into();
        assert_eq!(request.fault(&signer), Fault::Unprintable("\"@path\"".into()));
    }
    let mut request = Request::post();
    request.add("x-tag", "a");
    request.sign("sig", &[&COVERED[..], &["x-tag"]].concat(), &signer);
    request.headers.insert("x-tag", HeaderValue::from_bytes(b"\xe4").unwrap());
    assert_eq!(request.fault(&signer), Fault::Unprintable("\"x-tag\"".into()));
}

#[test]
fn hosts_that_are_equal_are_the_same_and_others_are_not() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    for same in ["EXAMPLE.com", "example.com:443"] {
        request.authority = same.into();
        request.verify(&[&signer]).unwrap();
    }
    for other in ["example.com:80", "example.com.", "example.org", "example.com:4430"] {
        request.authority = other.into();
        assert_eq!(request.fault(&signer), Fault::Wrong, "{other}");
    }
}

#[test]
fn a_signature_of_wrong_length_is_refused() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    for bytes in ["", "AAAA"] {
        request.headers.remove("signature");
        request.add("signature", &format!("sig=:{bytes}:"));
        assert_eq!(request.fault(&signer), Fault::Wrong);
    }
}

#[test]
fn sign_refuses_what_it_cannot_write() {
    let signer = Signer::new(1);
    let request = Request::post();
    let try_sign = |label: &str, components: &[&str], created: u64, keyid: &str| {
        let message = request.message();
        sign(&message, label, components, &signer.pair, created, keyid).unwrap_err().fault
    };
    assert_eq!(try_sign("Sig", &COVERED, NOW_S, "k"), Fault::Label);
    assert_eq!(try_sign("sig", &["a\"b"], NOW_S, "k"), Fault::Component("a\"b".into()));
    assert_eq!(try_sign("sig", &["date"], NOW_S, "k"), Fault::Absent("\"date\"".into()));
    assert_eq!(try_sign("sig", &COVERED, u64::MAX, "k"), Fault::Parameter("created".into()));
    assert_eq!(try_sign("sig", &COVERED, NOW_S, "\n"), Fault::Parameter("keyid".into()));
}
