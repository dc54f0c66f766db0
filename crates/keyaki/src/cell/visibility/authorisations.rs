//! The terms a caller holds.
//!
//! An authorisation is plain text, never quoted or escaped: `A"C` is the one that an expression
//! writes `"A\"C"`. None is empty, since no expression could name it. Where they come from is for
//! the layers above.

use super::token::Term;
use std::fmt;
use std::sync::Arc;

/// A set of terms, sorted; a clone shares it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Authorisations {
    terms: Arc<[Box<str>]>,
}

impl Authorisations {
    /// The set of these terms, in any order, repeats allowed.
    ///
    /// # Errors
    /// If one is empty. As in Accumulo Access, that can only be a mistake.
    pub fn new(terms: impl IntoIterator<Item: Into<Box<str>>>) -> Result<Self, EmptyAuthorisation> {
        let mut terms: Vec<Box<str>> = terms.into_iter().map(Into::into).collect();
        terms.sort_unstable();
        terms.dedup();
        match terms.first() {
            Some(first) if first.is_empty() => Err(EmptyAuthorisation),
            _ => Ok(Self { terms: terms.into() }),
        }
    }

    /// The set of a caller who sees only what everybody sees.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether `term` is in the set.
    #[must_use]
    pub fn contains(&self, term: &str) -> bool {
        self.contains_bytes(term.as_bytes())
    }

    /// All terms, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.terms.iter().map(|term| &**term)
    }

    pub(super) fn hold(&self, term: Term<'_>) -> bool {
        self.contains_bytes(&term.bytes())
    }

    fn contains_bytes(&self, term: &[u8]) -> bool {
        self.terms.binary_search_by(|held| held.as_bytes().cmp(term)).is_ok()
    }
}

impl fmt::Debug for Authorisations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// An authorisation was the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyAuthorisation;

impl fmt::Display for EmptyAuthorisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an authorisation cannot be empty")
    }
}

impl std::error::Error for EmptyAuthorisation {}
