//! Who may see a cell? Access expressions such as `a&(b|c)`, as Apache Accumulo Access has them.
//!
//! ```text
//! expression = nothing, which everybody satisfies, or operands
//! operands   = operand, or operand & operand & ..., or operand | operand | ...
//! operand    = term, or (operands)
//! term       = one or more of A-Z a-z 0-9 _ - . : /
//!              or, between quotes, one or more characters, where \" and \\ stand for " and \
//! ```
//!
//! `token` knows the last rule, `parse` the others. One invariant carries the rest: an expression
//! that is malformed anywhere satisfies nobody. How long an expression may be, and who holds which
//! authorisations, is decided elsewhere.

mod authorisations;
mod conjunction;
mod decisions;
mod normal;
mod parse;
mod token;

use std::borrow::Cow;
use std::fmt;

pub use authorisations::{Authorisations, EmptyAuthorisation};
pub use conjunction::conjunction;
pub use decisions::Decisions;
pub use normal::normalise;

/// Where an expression stops following the grammar, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// How many bytes come before the fault; all of them if the expression ends too early.
    pub offset: usize,
    /// A constant phrase, fit for counting in logs.
    pub reason: &'static str,
}

impl Malformed {
    #[cold]
    fn at(offset: usize, reason: &'static str) -> Self {
        Self { offset, reason }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Malformed {}

/// Whether `expression` follows the grammar; [`evaluate`] fails for exactly those that don't.
///
/// # Errors
/// Where and how it does not.
pub fn validate(expression: &[u8]) -> Result<(), Malformed> {
    parse::fold(expression, |_| false).map(|_| ())
}

/// Whether `authorisations` satisfy `expression`.
///
/// ```
/// use keyaki::cell::visibility::{Authorisations, evaluate};
///
/// let nurse = Authorisations::new(["ward", "nurse"])?;
/// assert_eq!(evaluate(b"ward&(nurse|doctor)", &nurse), Ok(true));
/// assert_eq!(evaluate(b"doctor", &nurse), Ok(false));
/// assert!(evaluate(b"ward|nurse&", &nurse).is_err());
/// # Ok::<(), keyaki::cell::visibility::EmptyAuthorisation>(())
/// ```
///
/// # Errors
/// If it is malformed, even where the part before the fault would decide.
pub fn evaluate(expression: &[u8], authorisations: &Authorisations) -> Result<bool, Malformed> {
    parse::fold(expression, |term| authorisations.hold(term))
}

/// Authorisations that satisfy `expression`, and hold nothing that it doesn't name.
///
/// # Errors
/// If it is malformed.
pub fn opening(expression: &[u8]) -> Result<Authorisations, Malformed> {
    let mut terms = Vec::new();
    parse::fold(expression, |term| {
        terms.push(String::from_utf8_lossy(&term.bytes()).into_owned());
        true
    })?;
    Ok(Authorisations::new(terms).expect("no expression can name the empty term"))
}

/// `term` as it is written in an expression: bare if it can be, else quoted and escaped.
///
/// No expression can name the empty term: its quotation `""` is malformed, and hides what has it.
#[must_use]
pub fn quote(term: &str) -> Cow<'_, str> {
    if !term.is_empty() && term.bytes().all(token::is_bare) {
        return Cow::Borrowed(term);
    }
    let mut quoted = String::with_capacity(term.len() + 2);
    quoted.push('"');
    for character in term.chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    Cow::Owned(quoted)
}
