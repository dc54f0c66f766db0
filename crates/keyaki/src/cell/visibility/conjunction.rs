//! The expression that demands two others at once.
//!
//! The result lists the distinct conjuncts, sorted: nested *and*s are flattened, *or*s stay as they
//! were written. So conjunction is commutative, associative and idempotent down to the bytes, and
//! folding a thousand labels gives one no longer than their distinct parts. It may still be longer
//! than a cell can carry; checking that is for the caller.

use super::token::{Token, Tokens};
use super::validate;

/// An expression satisfied by exactly those who satisfy both `a` and `b`. The empty expression is
/// the identity, and equal expressions come back as they are.
///
/// If one is malformed it is the result, since nobody satisfies it; if both are, the smaller is.
#[must_use]
pub fn conjunction(a: &[u8], b: &[u8]) -> Vec<u8> {
    if a == b || b.is_empty() {
        return a.to_vec();
    }
    if a.is_empty() {
        return b.to_vec();
    }
    match (validate(a), validate(b)) {
        (Ok(()), Ok(())) => {
            let mut conjuncts = Vec::new();
            collect(a, &mut conjuncts);
            collect(b, &mut conjuncts);
            conjuncts.sort_unstable();
            conjuncts.dedup();
            join(&conjuncts)
        }
        (Err(_), Ok(())) => a.to_vec(),
        (Ok(()), Err(_)) => b.to_vec(),
        (Err(_), Err(_)) => a.min(b).to_vec(),
    }
}

/// A part that must hold: a term, or operands joined by `|` without the parentheses around them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Conjunct<'e> {
    text: &'e [u8],
    is_or: bool,
}

/// A pair of parentheses, or the whole expression, while it is being read.
struct Group {
    /// Where its text starts.
    start: usize,
    /// How many conjuncts came before it.
    first: usize,
    is_or: bool,
}

/// Adds the conjuncts of a well-formed expression.
fn collect<'e>(expression: &'e [u8], conjuncts: &mut Vec<Conjunct<'e>>) {
    let mut tokens = Tokens::new(expression);
    let mut outer = Vec::new();
    let mut group = Group { start: 0, first: conjuncts.len(), is_or: false };
    loop {
        let offset = tokens.offset();
        match tokens.next().expect("a validated expression has only valid tokens") {
            Token::Term(_) => conjuncts
                .push(Conjunct { text: &expression[offset..tokens.offset()], is_or: false }),
            Token::And => {}
            Token::Or => group.is_or = true,
            Token::Open => {
                outer.push(group);
                group = Group { start: tokens.offset(), first: conjuncts.len(), is_or: false };
            }
            Token::Close => {
                group.close(&expression[..offset], conjuncts);
                group = outer.pop().expect("a validated expression has balanced parentheses");
            }
            Token::End => return group.close(expression, conjuncts),
        }
    }
}

impl Group {
    /// The parts of an *and* stay as they are; those of an *or* become one.
    fn close<'e>(self, read: &'e [u8], conjuncts: &mut Vec<Conjunct<'e>>) {
        if self.is_or {
            conjuncts.truncate(self.first);
            conjuncts.push(Conjunct { text: &read[self.start..], is_or: true });
        }
    }
}

fn join(conjuncts: &[Conjunct<'_>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for conjunct in conjuncts {
        if !joined.is_empty() {
            joined.push(b'&');
        }
        // A lone one needs no parentheses; without them it reads back as the same conjunct.
        if conjunct.is_or && conjuncts.len() > 1 {
            joined.push(b'(');
            joined.extend_from_slice(conjunct.text);
            joined.push(b')');
        } else {
            joined.extend_from_slice(conjunct.text);
        }
    }
    joined
}
