use super::feed;

const CASES: &str = include_str!("../../../keyaki/tests/data/visibility-cases.json");

#[test]
fn accumulo_cases() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let ran = feed(&["visibility"], lines.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let answers: Vec<_> = ran.out.lines().collect();
    let expected: Vec<_> = cases.iter().map(|case| case["expected"].as_str().unwrap()).collect();
    assert_eq!(answers, expected);
    assert!(expected.len() > 200);
}

#[test]
fn a_hundred_thousand_parentheses_are_an_answer() {
    for (open, close, answer) in
        [(100_000, 100_000, "ACCESSIBLE"), (100_000, 99_999, "ERROR"), (100_000, 0, "ERROR")]
    {
        let expression = format!("{}a{}", "(".repeat(open), ")".repeat(close));
        let line = format!(r#"{{"expression": "{expression}", "auths": [["a"]]}}"#);
        let ran = feed(&["visibility"], line.as_bytes());
        assert_eq!((ran.code, ran.out.trim()), (Some(0), answer), "{open} {close}");
    }
}

#[test]
fn what_is_no_question_shows_in_the_exit_code() {
    let lines = b"{\"expression\":\"a\",\"auths\":[[\"a\"]]}\nnonsense\n";
    let ran = feed(&["visibility"], lines);
    ran.expect(1, &["ACCESSIBLE\nERROR\n", "line 2: "]);
}
