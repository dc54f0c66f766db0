//! Properties: no bit of what is covered, and none of the signature, can be flipped unnoticed.

use proptest::prelude::*;

use super::*;

/// The parts of a request that the test below covers.
#[derive(Debug, Clone, Copy)]
enum Part {
    Method,
    Scheme,
    Authority,
    Path,
    Query,
    Header,
}

const PARTS: [Part; 6] =
    [Part::Method, Part::Scheme, Part::Authority, Part::Path, Part::Query, Part::Header];

fn request(path: &str, query: &str, header: &str, signer: &Signer) -> Request {
    let mut request = Request::post();
    (request.path, request.query) = (format!("/{path}"), Some(query.into()));
    request.add("x-tag", header);
    request.sign("sig", &[&COVERED[..], &["@scheme", "x-tag"]].concat(), signer);
    request
}

fn part_of(request: &Request, part: Part) -> String {
    match part {
        Part::Method => request.method.clone(),
        Part::Scheme => request.scheme.clone(),
        Part::Authority => request.authority.clone(),
        Part::Path => request.path.clone(),
        Part::Query => request.query.clone().unwrap(),
        Part::Header => request.headers["x-tag"].to_str().unwrap().to_owned(),
    }
}

/// The request with another part; `None` if no `HeaderMap` can hold it.
fn replaced(request: &Request, part: Part, text: String) -> Option<Request> {
    let mut request = request.clone();
    match part {
        Part::Method => request.method = text,
        Part::Scheme => request.scheme = text,
        Part::Authority => request.authority = text,
        Part::Path => request.path = text,
        Part::Query => request.query = Some(text),
        Part::Header => {
            request.headers.insert("x-tag", HeaderValue::from_bytes(text.as_bytes()).ok()?);
        }
    }
    Some(request)
}

/// Flips a bit; `None` if the result is no text, or is equal by the RFC's own rules: case in
/// scheme and authority, space around a header's value.
fn flipped(text: &str, bit: usize, part: Part) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let bit = bit % (bytes.len() * 8).max(1);
    *bytes.get_mut(bit / 8)? ^= 1 << (bit % 8);
    let changed = String::from_utf8(bytes).ok()?;
    let equal = match part {
        Part::Scheme | Part::Authority => changed.eq_ignore_ascii_case(text),
        Part::Header => changed.trim_matches([' ', '\t']) == text.trim_matches([' ', '\t']),
        _ => false,
    };
    (!equal).then_some(changed)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_a_covered_value(
        path in "[!-~]{0,20}",
        query in "[!-~]{1,20}",
        header in "[!-~][ -~]{0,20}",
        part in proptest::sample::select(&PARTS[..]),
        bit in any::<usize>(),
    ) {
        let signer = Signer::new(1);
        let request = request(&path, &query, &header, &signer);
        prop_assert!(request.verify(&[&signer]).is_ok());
        let changed = flipped(&part_of(&request, part), bit, part);
        prop_assume!(changed.is_some());
        let changed = replaced(&request, part, changed.unwrap());
        prop_assume!(changed.is_some());
        prop_assert!(changed.unwrap().verify(&[&signer]).is_err());
    }

    #[test]
    fn in_the_signature(bit in 0usize..512) {
        let signer = Signer::new(1);
        let mut request = request("p", "q", "h", &signer);
        let signature = request.headers["signature"].to_str().unwrap();
        let text = signature.strip_prefix("sig=:").unwrap().strip_suffix(':').unwrap();
        let mut bytes = STANDARD.decode(text).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        request.headers.remove("signature");
        request.add("signature", &format!("sig=:{}:", STANDARD.encode(bytes)));
        prop_assert_eq!(request.fault(&signer), Fault::Wrong);
    }

    /// The input itself is signed; a flip there changes what is covered, who signed or when, or
    /// makes the keyid unknown so that nobody signed.
    #[test]
    fn in_the_input(bit in any::<usize>()) {
        let signer = Signer::new(1);
        let mut request = request("p", "q", "h", &signer);
        let input = request.headers["signature-input"].to_str().unwrap().to_owned();
        let changed = flipped(&input, bit, Part::Path);
        prop_assume!(changed.is_some());
        let changed = HeaderValue::from_bytes(changed.unwrap().as_bytes());
        prop_assume!(changed.is_ok());
        request.headers.insert("signature-input", changed.unwrap());
        let verified = request.verify(&[&signer]).unwrap_or_default();
        prop_assert!(verified.is_empty());
    }

    #[test]
    fn any_fields_are_answered_without_a_panic(input in "[ -~]{0,60}", value in "[ -~]{0,60}") {
        let mut request = Request::post();
        request.add("signature-input", &input);
        request.add("signature", &value);
        let keys = |_: &str| Some([1; 32]);
        let verified = verify_all(&request.message(), &keys, NOW_S, &Policy::default());
        prop_assert!(verified.unwrap_or_default().is_empty());
    }
}
