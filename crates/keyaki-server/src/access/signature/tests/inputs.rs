//! How the two fields are read: spelling, order, labels, and whose signature counts.

use super::*;

#[test]
fn an_unsigned_request_has_no_signers() {
    assert!(Request::post().verify(&[]).unwrap().is_empty());
}

#[test]
fn a_signed_request_names_its_signer() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    assert_eq!(request.verify(&[&signer]).unwrap(), [signer.keyid]);
}

#[test]
fn two_signers_are_named_in_order() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let mut request = Request::post();
    request.sign("one", &COVERED, &first);
    request.sign("two", &COVERED, &second);
    assert_eq!(request.verify(&[&second, &first]).unwrap(), [first.keyid, second.keyid]);
}

#[test]
fn one_bad_signature_of_two_refuses_the_request() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let mut request = Request::post();
    request.sign("one", &COVERED, &first);
    let impostor = Signer { keyid: second.keyid.clone(), ..Signer::new(3) };
    request.sign("two", &COVERED, &impostor);
    assert_eq!(request.verify(&[&first, &second]).unwrap_err(), Fault::Wrong.of("two"));
}

#[test]
fn two_labels_of_one_key_are_one_signer() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("one", &COVERED, &signer);
    request.sign("two", &COVERED, &signer);
    assert_eq!(request.verify(&[&signer]).unwrap(), [signer.keyid]);
}

#[test]
fn a_label_can_be_given_any_name_but_not_another_signature() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let mut request = Request::post();
    request.sign("one", &COVERED, &first);
    request.sign("two", &COVERED, &second);
    let [one, two] = ["one=", "two="];
    let signatures: Vec<_> = request.headers.get_all("signature").iter().cloned().collect();
    request.headers.remove("signature");
    request.add("signature", &signatures[0].to_str().unwrap().replace(one, two));
    request.add("signature", &signatures[1].to_str().unwrap().replace(two, one));
    assert_eq!(request.verify(&[&first, &second]).unwrap_err(), Fault::Wrong.of("one"));
}

#[test]
fn signatures_of_unknown_keys_are_ignored_whatever_they_say() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    request.add("signature-input", "proxy=(\"@status\";req \"x\";bs);alg=\"rsa\";keyid=\"p\"");
    request.add("signature", "proxy=:AAAA:");
    request.add("signature-input", "nobody=();tag=\"x\"");
    request.add("signature", "nobody=::");
    assert_eq!(request.verify(&[&signer]).unwrap(), [signer.keyid]);
}

#[test]
fn spaces_and_order_of_the_fields_do_not_matter() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let mut request = Request::post();
    request.sign("one", &COVERED, &first);
    request.sign("two", &COVERED, &second);
    let mut spaced = Request::post();
    for name in ["signature-input", "signature"] {
        let lines: Vec<_> = request.headers.get_all(name).iter().collect();
        let [one, two] = [lines[0], lines[1]].map(|line| line.to_str().unwrap());
        let value = format!("  {} \t,  {}  ", two.replace("=(", "=(  ").replace(")", "  )"), one);
        spaced.add(name, &value.replace(";created", ";  created"));
    }
    assert_eq!(spaced.verify(&[&first, &second]).unwrap(), [second.keyid, first.keyid]);
}

#[test]
fn more_signatures_than_anybody_needs_are_refused() {
    let mut request = Request::post();
    for number in 0..17 {
        request.add("signature-input", &format!("s{number}=()"));
        request.add("signature", &format!("s{number}=::"));
    }
    assert_eq!(request.verify(&[]).unwrap_err(), Fault::TooMany(16).into());
}

#[test]
fn a_label_in_one_field_only_is_refused() {
    let signer = Signer::new(1);
    let mut request = Request::post();
    request.sign("sig", &COVERED, &signer);
    let (mut no_signature, mut no_input) = (request.clone(), request);
    no_signature.headers.remove("signature");
    no_input.headers.remove("signature-input");
    assert_eq!(no_signature.fault(&signer), Fault::Unpaired("Signature"));
    assert_eq!(no_input.fault(&signer), Fault::Unpaired("Signature-Input"));
}

#[test]
fn a_label_given_twice_is_refused() {
    for name in ["signature-input", "signature"] {
        let signer = Signer::new(1);
        let mut request = Request::post();
        request.sign("sig", &COVERED, &signer);
        let again = request.headers[name].clone();
        request.headers.append(name, again);
        let error = request.verify(&[&signer]).unwrap_err();
        assert!(error.to_string().ends_with("the key \"sig\" stands there twice"), "{error}");
    }
}

#[test]
fn malformed_fields_are_refused_even_if_no_key_is_known() {
    let inputs = ["sig", "sig=", "sig=(", "sig=(a", "sig=(\"a\" \"b\"", "SIG=()", "sig=(),", "=()"];
    for input in inputs {
        let mut request = Request::post();
        request.add("signature-input", input);
        request.add("signature", "sig=:AAAA:");
        request.verify(&[]).expect_err(input);
    }
    for signature in ["sig", "sig=AAAA", "sig=:A A:", "sig=:AAAA", "sig=(:AAAA:)", "sig=:AAAA:;a"] {
        let mut request = Request::post();
        request.add("signature-input", "sig=()");
        request.add("signature", signature);
        request.verify(&[]).expect_err(signature);
    }
}

#[test]
fn bytes_beyond_ascii_are_refused() {
    for name in ["signature-input", "signature"] {
        let mut request = Request::post();
        request.headers.insert(name, HeaderValue::from_bytes(b"sig=\xff").unwrap());
        let error = request.verify(&[]).unwrap_err();
        assert_eq!(error, Fault::Unprintable(format!("{name:?}")).into());
    }
}

#[test]
fn errors_name_label_and_reason() {
    let text = Fault::NotCovered("@query").of("sig").to_string();
    assert_eq!(text, "signature \"sig\": the component @query must be covered");
}
