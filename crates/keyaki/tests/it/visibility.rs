//! Access expressions: Accumulo's own cases, and the ones we thought of.

mod properties;

use keyaki::cell::visibility::{
    Authorisations, Decisions, Malformed, conjunction, evaluate, quote, validate,
};
use properties::naive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CASES: &str = include_str!("../data/visibility-cases.json");

fn holding(terms: &[&str]) -> Authorisations {
    Authorisations::new(terms.iter().copied()).unwrap()
}

fn fault(expression: &str) -> Malformed {
    validate(expression.as_bytes()).unwrap_err()
}

#[test]
fn accumulo_cases() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
    assert_eq!(cases.len(), 232);
    for case in &cases {
        let expression = case["expression"].as_str().unwrap().as_bytes();
        let sets: Vec<Vec<String>> = serde_json::from_value(case["auths"].clone()).unwrap();
        let outcomes: Result<Vec<bool>, Malformed> = sets
            .into_iter()
            .map(|set| evaluate(expression, &Authorisations::new(set).unwrap()))
            .collect();
        let got = match outcomes {
            Ok(passed) if passed.iter().all(|passed| *passed) => "ACCESSIBLE",
            Ok(_) => "INACCESSIBLE",
            Err(_) => "ERROR",
        };
        assert_eq!(got, case["expected"], "{case}");
        assert_eq!(validate(expression).is_err(), got == "ERROR", "{case}");
    }
}

#[test]
fn quotes_and_escapes() {
    let reader = holding(&["abc", "A\"C", "A\\C", "\\\"", " ", "(a|b)", "é", "\n"]);
    for visible in [
        r#""abc""#,
        r#""A\"C"&"A\\C""#,
        r#""\\\"""#,
        r#"" ""#,
        r#""(a|b)""#,
        "\"é\"",
        "\"\n\"",
        r#"(("abc"))"#,
    ] {
        assert_eq!(evaluate(visible.as_bytes(), &reader), Ok(true), "{visible}");
    }
    for hidden in ["ABC", "ab", "abcd", r#""A""#, r#""\\""#, "\"\0\"", "\"e\u{301}\""] {
        assert_eq!(evaluate(hidden.as_bytes(), &reader), Ok(false), "{hidden}");
    }
    assert_eq!(quote("a_b-c.d:e/9"), "a_b-c.d:e/9");
    assert_eq!(quote("a b"), r#""a b""#);
    assert_eq!(quote("A\"\\C"), r#""A\"\\C""#);
    assert!(validate(quote("").as_bytes()).is_err());
}

#[test]
fn faults_say_where() {
    for (expression, offset, reason) in [
        ("a&", 2, "a term or '(' is missing here"),
        ("a&()", 3, "a term or '(' is missing here"),
        ("a b", 1, "this character must be quoted"),
        ("a&é", 2, "this character must be quoted"),
        ("a\"b\"", 1, "an operator is missing here"),
        ("(a)(b)", 3, "an operator is missing here"),
        ("a|(b&c|d)", 6, "'&' and '|' need parentheses between them"),
        ("(a)|b&c", 5, "'&' and '|' need parentheses between them"),
        ("(a", 2, "a ')' is missing"),
        ("a)", 1, "this ')' closes nothing"),
        ("a|\"\"", 2, "a quoted term cannot be empty"),
        ("a|\"b", 2, "this quote is never closed"),
        ("\"b\\\"", 0, "this quote is never closed"),
        ("\"b\\", 2, "only a quote or a backslash can be escaped"),
        ("\"b\\n\"", 2, "only a quote or a backslash can be escaped"),
    ] {
        assert_eq!(fault(expression), Malformed { offset, reason }, "{expression}");
    }
    let cut = validate(b"a&\"b\xe4\xba\"").unwrap_err();
    assert_eq!(cut, Malformed { offset: 4, reason: "a quoted term must be UTF-8" });
    assert_eq!(cut.to_string(), "a quoted term must be UTF-8 at byte 4");
}

#[test]
fn a_fault_counts_even_where_the_value_is_decided() {
    let reader = holding(&["a"]);
    for expression in ["a|", "a|b&c", "b&(", "b&\"\"", "a|(b|(c&!))", "b&c)"] {
        assert!(evaluate(expression.as_bytes(), &reader).is_err(), "{expression}");
    }
}

#[test]
fn authorisations_are_a_set_without_the_empty_term() {
    let set = holding(&["b", "a", "b"]);
    assert_eq!(set.iter().collect::<Vec<_>>(), ["a", "b"]);
    assert!(set.contains("b") && !set.contains("c") && !set.contains(""));
    assert!(Authorisations::new(["a", ""]).is_err());
    assert_eq!(Authorisations::none().iter().len(), 0);
}

#[test]
fn depth_is_no_limit() {
    let reader = holding(&["a"]);
    for depth in [100_000, 10_000_000] {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        assert_eq!(evaluate(format!("{open}a{close}").as_bytes(), &reader), Ok(true));
        assert_eq!(evaluate(format!("{open}b{close}").as_bytes(), &reader), Ok(false));
        assert_eq!(fault(&open).offset, depth);
        assert_eq!(fault(&format!("{open}a")).offset, depth + 1);
        assert_eq!(fault(&format!("{open}a{close})")).offset, 2 * depth + 1);
        assert_eq!(conjunction(format!("{open}b{close}").as_bytes(), b"a"), b"a&b");
    }
}

/// Every level is remembered as it was, on either side of each boundary of the packed stack.
#[test]
fn levels_survive_nesting() {
    for depth in 1..200 {
        for flipped in 0..depth {
            let mut expression = String::from("a");
            for level in 0..depth {
                let rest = match (level % 2 == 0, level == flipped) {
                    (true, false) => "a&(",
                    (true, true) => "b&(",
                    (false, false) => "b|(",
                    (false, true) => "a|(",
                };
                expression.insert_str(0, rest);
                expression.push(')');
            }
            let expected = naive(&expression, &["a"]).unwrap();
            assert_eq!(evaluate(expression.as_bytes(), &holding(&["a"])), Ok(expected));
        }
    }
}

#[test]
fn decisions_remember_and_fail_closed() {
    let mut decisions = Decisions::new(holding(&["a", "b"]));
    for _ in 0..3 {
        assert!(decisions.visible(b""));
        assert!(decisions.visible(b"a&b"));
        assert!(decisions.visible(b"a&b"));
        assert!(!decisions.visible(b"c"));
        assert!(!decisions.visible(b"a|"));
        assert!(!decisions.visible(b"a|"));
        assert!(decisions.visible(b""));
    }
    // Far more than is remembered, and still right.
    for round in 0..2 {
        for i in 0..20_000 {
            assert!(decisions.visible(format!("a|x{i}").as_bytes()), "{round}");
            assert!(!decisions.visible(format!("a&x{i}").as_bytes()), "{round}");
        }
    }
}

#[test]
fn decisions_log_a_malformed_expression_once() {
    let log = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::with_default(CountEvents(log.clone()), || {
        let mut decisions = Decisions::new(Authorisations::none());
        for _ in 0..3 {
            for expression in ["a|", "&", "a", ""] {
                decisions.visible(expression.as_bytes());
            }
        }
    });
    assert_eq!(log.load(Ordering::Relaxed), 2);
}

struct CountEvents(Arc<AtomicUsize>);

impl tracing::Subscriber for CountEvents {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn conjunctions_are_flat_and_sorted() {
    for (a, b, both) in [
        ("", "", ""),
        ("", "(b&a)", "(b&a)"),
        ("b&a", "b&a", "b&a"),
        ("b", "a", "a&b"),
        ("b&a", "a&(c&(b))", "a&b&c"),
        ("b|a", "c", "(b|a)&c"),
        ("b|a", "((b|a))", "b|a"),
        ("((b|a))&c", "c&(b|a)", "(b|a)&c"),
        ("a|(b&c)", "d", "(a|(b&c))&d"),
        ("\"a|b\"", "a", "\"a|b\"&a"),
        ("a", "b|", "b|"),
        ("a&", "b|", "a&"),
        ("", "a|", "a|"),
    ] {
        assert_eq!(conjunction(a.as_bytes(), b.as_bytes()), both.as_bytes(), "{a} and {b}");
        assert_eq!(conjunction(b.as_bytes(), a.as_bytes()), both.as_bytes(), "{b} and {a}");
    }
}
