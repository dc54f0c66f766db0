//! One spelling for expressions that differ only in order, repeats, quotes and parentheses that change nothing.

use super::token::{Token, Tokens};
use super::{Malformed, quote, validate};

/// The expression with the operands of each operator sorted and named once: `b&a`, `"a"&b` and `(a&b&a)` are all `a&b`.
/// Those who satisfy it are the same.
///
/// # Errors
/// If it is malformed.
pub fn normalise(expression: &[u8]) -> Result<String, Malformed> {
    validate(expression)?;
    if expression.is_empty() {
        return Ok(String::new());
    }
    let mut tokens = Tokens::new(expression);
    let (mut outer, mut group) = (Vec::new(), Group::default());
    loop {
        match tokens.next()? {
            Token::Term(term) => {
                let term = String::from_utf8_lossy(&term.bytes()).into_owned();
                group.operands.push(Operand::Term(quote(&term).into_owned()));
            }
            Token::And => group.operator = '&',
            Token::Or => group.operator = '|',
            Token::Open => outer.push(std::mem::take(&mut group)),
            Token::Close => {
                let closed = group.close();
                group = outer.pop().expect("a validated expression has balanced parentheses");
                group.operands.push(closed);
            }
            Token::End => return Ok(group.close().text()),
        }
    }
}

/// A pair of parentheses, or the whole expression, while it is being read.
#[derive(Default)]
struct Group {
    operator: char,
    operands: Vec<Operand>,
}

#[derive(Clone)]
enum Operand {
    Term(String),
    /// Two parts or more, each as it stands beside others.
    Joined(char, Vec<String>),
}

impl Group {
    fn close(mut self) -> Operand {
        if self.operands.len() == 1 {
            return self.operands.remove(0);
        }
        let mut parts = Vec::new();
        for operand in &self.operands {
            match operand {
                Operand::Joined(operator, same) if *operator == self.operator => {
                    parts.extend(same.iter().cloned());
                }
                other => parts.push(other.as_part()),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        match parts.len() {
            // All operands were the same.
            1 => self.operands.remove(0),
            _ => Operand::Joined(self.operator, parts),
        }
    }
}

impl Operand {
    fn as_part(&self) -> String {
        match self {
            Self::Term(term) => term.clone(),
            Self::Joined(..) => format!("({})", self.clone().text()),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Term(term) => term,
            Self::Joined(operator, parts) => parts.join(operator.encode_utf8(&mut [0; 4])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Authorisations, evaluate};
    use super::*;

    #[test]
    fn spellings_of_one_expression_are_one() {
        for (spellings, normal) in [
            (vec![""], ""),
            (vec!["a", "(a)", "((a))", "\"a\"", "a&a", "(a|a)"], "a"),
            (vec!["b&a", "a&b", "(b)&(a)", "a&(b&a)", "\"b\"&a"], "a&b"),
            (vec!["(c|b)&a", "a&(b|c)", "a&((c|(b|c)))&a"], "(b|c)&a"),
            (vec!["(b|a)&(a|b)", "a|b", "(a|b)"], "a|b"),
            (vec!["\"x y\"|a", "(a|\"x y\")"], "\"x y\"|a"),
        ] {
            for spelling in spellings {
                assert_eq!(normalise(spelling.as_bytes()).unwrap(), normal, "{spelling}");
            }
            assert_eq!(normalise(normal.as_bytes()).unwrap(), normal);
        }
        assert!(normalise(b"a&").is_err() && normalise(b"a&b|c").is_err());
    }

    #[test]
    fn the_same_callers_satisfy_it() {
        for expression in ["(a|b)&(c|(a&b))", "a|(b&(c|a))|b", "(a&b)|(b&a)|(c&c)"] {
            let normal = normalise(expression.as_bytes()).unwrap();
            for number in 0..8 {
                let held = ["a", "b", "c"].into_iter().enumerate();
                let held = held.filter(|(bit, _)| number >> bit & 1 == 1).map(|(_, term)| term);
                let held = Authorisations::new(held).unwrap();
                assert_eq!(
                    evaluate(expression.as_bytes(), &held),
                    evaluate(normal.as_bytes(), &held),
                    "{expression} as {normal}, {held:?}"
                );
            }
        }
    }
}
