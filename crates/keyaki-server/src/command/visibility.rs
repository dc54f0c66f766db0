//! `keyaki visibility`: who may see what? One answer for each line of JSON.
//!
//! A line `{"expression": "a&(b|c)", "auths": [["a", "b"], ["a", "c"]]}` is answered ACCESSIBLE if
//! every set of authorisations satisfies the expression, INACCESSIBLE if one does not, and ERROR if
//! the expression is malformed, an authorisation is empty or the line is something else; the reason
//! for an ERROR goes to standard error. Other fields are ignored and blank lines skipped.

use keyaki::cell::visibility::{Authorisations, evaluate, validate};
use serde::Deserialize;
use std::error::Error;
use std::io::{self, BufRead, Write};

#[derive(Deserialize)]
struct Question {
    expression: String,
    auths: Vec<Vec<String>>,
}

/// Answers line by line until the input ends; true if every line was a question.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<bool> {
    let mut all_understood = true;
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice::<Question>(&line) {
            Ok(question) => question.answer(),
            Err(fault) => {
                all_understood = false;
                Err(fault.into())
            }
        };
        let word = match answer {
            Ok(true) => "ACCESSIBLE",
            Ok(false) => "INACCESSIBLE",
            Err(reason) => {
                // The answer itself says ERROR; a closed standard error hides only why.
                let _ = writeln!(io::stderr(), "line {number}: {reason}");
                "ERROR"
            }
        };
        writeln!(output, "{word}")?;
    }
    output.flush()?;
    Ok(all_understood)
}

impl Question {
    fn answer(self) -> Result<bool, Box<dyn Error>> {
        let expression = self.expression.as_bytes();
        validate(expression)?;
        // Without any set nobody asks, and nobody sees only what is open to all. Accumulo Access
        // would let such a caller see everything.
        let mut accessible = !self.auths.is_empty() || expression.is_empty();
        for set in self.auths {
            accessible &= evaluate(expression, &Authorisations::new(set)?)?;
        }
        Ok(accessible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str) -> (bool, String) {
        let mut output = Vec::new();
        let all_understood = run(input.as_bytes(), &mut output).unwrap();
        (all_understood, String::from_utf8(output).unwrap().replace('\n', " "))
    }

    #[test]
    fn every_set_must_pass() {
        let input = r#"{"expression": "a&(b|c)", "auths": [["a", "b"]]}
            {"expression": "a&(b|c)", "auths": [["a", "b"], ["a", "c"]], "expected": "ignored"}
            {"expression": "a&(b|c)", "auths": [["a", "b"], ["a"]]}

            {"auths": [[]], "expression": ""}
            {"expression": "\"\u4e94\"", "auths": [["五"]]}"#;
        let expected = "ACCESSIBLE ACCESSIBLE INACCESSIBLE ACCESSIBLE ACCESSIBLE ";
        assert_eq!(answers(input), (true, expected.into()));
    }

    #[test]
    fn without_sets_only_the_open_is_accessible() {
        let input = r#"{"expression": "a", "auths": []}
            {"expression": "", "auths": []}
            {"expression": "a|", "auths": []}"#;
        assert_eq!(answers(input), (true, "INACCESSIBLE ACCESSIBLE ERROR ".into()));
    }

    #[test]
    fn a_bad_question_is_an_error_and_the_next_is_answered() {
        let input = r#"{"expression": "a&", "auths": [["a"]]}
            {"expression": "a|b&c", "auths": [["a"], ["x"]]}
            {"expression": "a", "auths": [["a"], ["a", ""]]}
            {"expression": "a", "auths": [["a"]]}"#;
        assert_eq!(answers(input), (true, "ERROR ERROR ERROR ACCESSIBLE ".into()));
    }

    #[test]
    fn what_is_no_question_is_an_error_too() {
        let input =
            "nonsense\n[]\n{\"expression\": \"a\"}\n{\"expression\": \"\\ud800\", \"auths\": []}\n";
        assert_eq!(answers(input), (false, "ERROR ERROR ERROR ERROR ".into()));
    }

    #[test]
    fn lines_may_be_long() {
        let (open, close) = ("(".repeat(100_000), ")".repeat(100_000));
        let input = format!(r#"{{"expression": "{open}a{close}", "auths": [["a"]]}}"#);
        assert_eq!(answers(&input), (true, "ACCESSIBLE ".into()));
    }
}
