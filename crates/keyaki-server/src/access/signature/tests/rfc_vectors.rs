//! The published examples of RFC 9421: the bytes must come out exactly.

use super::*;

const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
-----END PUBLIC KEY-----";
/// The seed in the PRIVATE KEY of appendix B.1.4.
const SEED: &str = "n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=";
const CREATED_S: u64 = 1_618_884_473;
const COMPONENTS: [&str; 6] =
    ["date", "@method", "@path", "@authority", "content-type", "content-length"];
const INPUT: &str = "sig-b26=(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
                     \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
const SIGNATURE: &str = "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1\
                         u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:";
const BASE: &str = "\"date\": Tue, 20 Apr 2021 02:07:55 GMT
\"@method\": POST
\"@path\": /foo
\"@authority\": example.com
\"content-type\": application/json
\"content-length\": 18
\"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
\"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";

/// `test-request` of appendix B.2.
fn test_request() -> Request {
    let mut request = Request::post();
    request.path = "/foo".into();
    request.query = Some("param=Value&Pet=dog".into());
    request.headers.clear();
    for (name, value) in [
        ("Host", "example.com"),
        ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("Content-Type", "application/json"),
        ("Content-Digest", SHA_512),
        ("Content-Length", "18"),
    ] {
        request.add(name, value);
    }
    request
}

const SHA_512: &str = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm\
                       +AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";

fn signed() -> Request {
    let mut request = test_request();
    request.add("Signature-Input", INPUT);
    request.add("Signature", SIGNATURE);
    request
}

fn verify_b26(request: &Request, policy: &Policy) -> Result<Vec<String>, SignatureError> {
    let public = parse_public_key(PUBLIC).unwrap();
    let keys = |keyid: &str| (keyid == "test-key-ed25519").then_some(public);
    verify_all(&request.message(), &keys, CREATED_S + 10, policy).map(|signed| signers(&signed))
}

#[test]
fn b_2_6_verifies() {
    assert_eq!(verify_b26(&signed(), &CHOSEN).unwrap(), ["test-key-ed25519"]);
}

#[test]
fn b_2_6_covers_too_little_for_our_policy() {
    let error = verify_b26(&signed(), &Policy::default()).unwrap_err();
    assert_eq!(error, Fault::NotCovered("@query").of("sig-b26"));
}

#[test]
fn b_2_6_has_the_published_base() {
    let input = params::input(&COMPONENTS, CREATED_S, "test-key-ed25519").unwrap();
    let components = base::components(&input).unwrap();
    let request = test_request();
    assert_eq!(base::signature_base(&request.message(), &input, &components).unwrap(), BASE);
}

#[test]
fn b_2_6_is_what_sign_makes() {
    let seed = STANDARD.decode(SEED).unwrap();
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    assert_eq!(pair.public_key().as_ref(), parse_public_key(PUBLIC).unwrap());
    let request = test_request();
    let message = request.message();
    let values = sign(&message, "sig-b26", &COMPONENTS, &pair, CREATED_S, "test-key-ed25519");
    assert_eq!(values.unwrap(), (INPUT.into(), SIGNATURE.into()));
}

#[test]
fn the_digest_of_the_test_request_fits_its_body() {
    check_content_digest(&HeaderValue::from_static(SHA_512), BODY).unwrap();
}

/// Section 2.1, without the folded line that no `HeaderMap` can hold.
#[test]
fn header_values_are_those_of_section_2_1() {
    let mut request = Request::get();
    for (name, value) in [
        ("X-OWS-Header", "  Leading and trailing whitespace.\t "),
        ("Cache-Control", "max-age=60"),
        ("X-Empty-Header", ""),
        ("Cache-Control", "   must-revalidate"),
        ("Example-Dict", " a=1,    b=2;x=1;y=2,   c=(a   b   c)  "),
        ("Example-Dict", "d"),
    ] {
        request.add(name, value);
    }
    let names = ["x-ows-header", "cache-control", "x-empty-header", "example-dict"];
    assert_eq!(
        lines(&request, &names),
        "\"x-ows-header\": Leading and trailing whitespace.\n\
         \"cache-control\": max-age=60, must-revalidate\n\
         \"x-empty-header\": \n\
         \"example-dict\": a=1,    b=2;x=1;y=2,   c=(a   b   c), d\n"
    );
}

#[test]
fn derived_components_are_those_of_section_2_2() {
    let mut request = Request::get();
    request.authority = "WWW.Example.com:443".into();
    request.path = "/path".into();
    request.query = Some("param=value&foo=bar&baz=bat%2Dman".into());
    let names = ["@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path"];
    let more = ["@query", "@query-param;name=\"baz\""];
    assert_eq!(
        lines(&request, &[&names[..], &more].concat()),
        "\"@method\": GET\n\
         \"@target-uri\": https://www.example.com/path?param=value&foo=bar&baz=bat%2Dman\n\
         \"@authority\": www.example.com\n\
         \"@scheme\": https\n\
         \"@request-target\": /path?param=value&foo=bar&baz=bat%2Dman\n\
         \"@path\": /path\n\
         \"@query\": ?param=value&foo=bar&baz=bat%2Dman\n\
         \"@query-param\";name=\"baz\": bat-man\n"
    );
}

#[test]
fn what_is_empty_has_its_value_too() {
    let mut request = Request::get();
    (request.scheme, request.authority) = ("http".into(), "[::1]:80".into());
    request.path = String::new();
    let expected = "\"@path\": /\n\"@query\": ?\n\"@request-target\": /\n\"@authority\": [::1]\n";
    assert_eq!(lines(&request, &["@path", "@query", "@request-target", "@authority"]), expected);
}

/// The base but for its last line.
fn lines(request: &Request, names: &[&str]) -> String {
    let input = params::input(names, CREATED_S, "k").unwrap();
    let components = base::components(&input).unwrap();
    let base = base::signature_base(&request.message(), &input, &components).unwrap();
    base[..base.find("\"@signature-params\"").unwrap()].to_owned()
}
