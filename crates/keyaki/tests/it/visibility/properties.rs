//! What holds for every expression, checked against a naive recursive parser.

use super::holding;
use keyaki::cell::visibility::{Authorisations, Decisions, conjunction, evaluate, quote, validate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const TERMS: [&str; 6] = ["a", "b", "c:d/e", "two words", "q\"uo\\te", "五十"];

/// The terms whose bit is set.
fn held(bits: u8) -> Vec<&'static str> {
    let is_held = |i: &usize| bits >> i & 1 == 1;
    (0..TERMS.len()).filter(is_held).map(|i| TERMS[i]).collect()
}

/// A well-formed expression, written with parentheses and quotes it could do without.
fn well_formed() -> impl Strategy<Value = String> {
    let term = (select(&TERMS[..]), any::<bool>()).prop_map(|(term, bare)| {
        if bare {
            return quote(term).into_owned();
        }
        format!("\"{}\"", term.replace('\\', r"\\").replace('"', "\\\""))
    });
    term.prop_recursive(6, 48, 4, |inner| {
        let operand = (inner, 1..3usize).prop_map(|(text, depth)| {
            let (open, close) = ("(".repeat(depth), ")".repeat(depth));
            format!("{open}{text}{close}")
        });
        (vec(operand, 1..4), select(&["&", "|"][..]))
            .prop_map(|(operands, operator)| operands.join(operator))
    })
}

fn perhaps_empty() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just(String::new()), 9 => well_formed()]
}

/// What is mostly malformed, and sometimes just about not.
fn soup() -> impl Strategy<Value = String> {
    let pieces = ["a", "b", "a&b", "b|a", "(", ")", "&", "|", "\"", "\\", "(b)", "\"é\"", "é", " "];
    vec(select(pieces.to_vec()), 0..9).prop_map(|pieces| pieces.concat())
}

/// The grammar as the specification writes it, by recursive descent over characters.
pub(super) fn naive(expression: &str, held: &[&str]) -> Option<bool> {
    if expression.is_empty() {
        return Some(true);
    }
    let characters: Vec<char> = expression.chars().collect();
    let (value, rest) = naive_operands(&characters, held)?;
    rest.is_empty().then_some(value)
}

fn naive_operands<'c>(input: &'c [char], held: &[&str]) -> Option<(bool, &'c [char])> {
    let (mut value, mut rest) = naive_operand(input, held)?;
    let operator = rest.first().copied();
    while let (Some('&' | '|'), true) = (operator, rest.first().copied() == operator) {
        let (next, after) = naive_operand(&rest[1..], held)?;
        value = if operator == Some('&') { value && next } else { value || next };
        rest = after;
    }
    Some((value, rest))
}

fn naive_operand<'c>(input: &'c [char], held: &[&str]) -> Option<(bool, &'c [char])> {
    match input {
        ['(', rest @ ..] => {
            let (value, rest) = naive_operands(rest, held)?;
            rest.strip_prefix(&[')']).map(|rest| (value, rest))
        }
        ['"', rest @ ..] => naive_quoted(rest, held),
        _ => {
            let is_bare = |c: &&char| c.is_ascii_alphanumeric() || "_-.:/".contains(**c);
            let term: String = input.iter().take_while(is_bare).collect();
            (!term.is_empty()).then(|| (held.contains(&term.as_str()), &input[term.len()..]))
        }
    }
}

fn naive_quoted<'c>(mut input: &'c [char], held: &[&str]) -> Option<(bool, &'c [char])> {
    let mut term = String::new();
    loop {
        let (character, rest) = match input {
            ['"', rest @ ..] => {
                return (!term.is_empty()).then(|| (held.contains(&term.as_str()), rest));
            }
            ['\\', escaped @ ('"' | '\\'), rest @ ..] => (escaped, rest),
            ['\\', ..] | [] => return None,
            [plain, rest @ ..] => (plain, rest),
        };
        term.push(*character);
        input = rest;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn well_formed_expressions_have_their_value(expression in well_formed(), bits in 0u8..64) {
        let held = held(bits);
        let expected = naive(&expression, &held).expect("the strategy writes no other");
        prop_assert_eq!(evaluate(expression.as_bytes(), &holding(&held)), Ok(expected));
        prop_assert_eq!(Decisions::new(holding(&held)).visible(expression.as_bytes()), expected);
    }

    #[test]
    fn soup_is_judged_as_the_naive_parser_does(expression in soup(), bits in 0u8..4) {
        let held = held(bits);
        let outcome = evaluate(expression.as_bytes(), &holding(&held));
        prop_assert_eq!(outcome.ok(), naive(&expression, &held), "{}", expression);
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in vec(any::<u8>(), 0..40)) {
        let outcome = evaluate(&bytes, &holding(&TERMS));
        prop_assert_eq!(outcome.err(), validate(&bytes).err());
        prop_assert!(outcome.err().is_none_or(|fault| fault.offset <= bytes.len()));
        prop_assert_eq!(validate(&conjunction(&bytes, b"a")).err(), outcome.err());
    }

    #[test]
    fn quoted_terms_name_themselves(term in ".+", other in ".+") {
        let reader = Authorisations::new([term.as_str()]).unwrap();
        prop_assert_eq!(evaluate(quote(&term).as_bytes(), &reader), Ok(true));
        prop_assert_eq!(evaluate(quote(&other).as_bytes(), &reader), Ok(term == other));
    }

    #[test]
    fn conjunction_demands_both(a in perhaps_empty(), b in perhaps_empty(), bits in 0u8..64) {
        let both = conjunction(a.as_bytes(), b.as_bytes());
        let reader = holding(&held(bits));
        let of = |expression: &[u8]| evaluate(expression, &reader).unwrap();
        prop_assert_eq!(of(&both), of(a.as_bytes()) && of(b.as_bytes()));
    }

    #[test]
    fn conjunction_obeys_its_laws(
        a in perhaps_empty(),
        b in perhaps_empty(),
        c in perhaps_empty(),
    ) {
        let (a, b, c) = (a.as_bytes(), b.as_bytes(), c.as_bytes());
        let both = conjunction(a, b);
        prop_assert_eq!(&both, &conjunction(b, a));
        prop_assert_eq!(conjunction(&both, c), conjunction(a, &conjunction(b, c)));
        prop_assert_eq!(conjunction(a, a), a);
        prop_assert_eq!(conjunction(a, b""), a);
        prop_assert!(both.len() <= a.len() + b.len() + 5);
    }

    #[test]
    fn conjunction_never_mends_a_fault(a in soup(), b in soup()) {
        let (a, b) = (a.as_bytes(), b.as_bytes());
        let both = conjunction(a, b);
        prop_assert_eq!(&both, &conjunction(b, a));
        prop_assert_eq!(validate(&both).is_err(), validate(a).is_err() || validate(b).is_err());
    }
}
