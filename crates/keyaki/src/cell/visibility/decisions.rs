//! What one reader may see in one scan, decided once per expression.
//!
//! Neighbouring cells mostly carry the same expression, so the last one is compared first. Most
//! scans meet only a few, so the first few are compared one by one, which is faster than hashing;
//! others are remembered up to a budget of bytes, and those beyond it are evaluated each time.

use super::{Authorisations, Malformed, evaluate};
use std::collections::HashMap;

/// Says which cells one reader may see. Cheap to make: have one per scan.
pub struct Decisions {
    authorisations: Authorisations,
    last: Vec<u8>,
    last_visible: bool,
    few: Vec<(Box<[u8]>, bool)>,
    known: HashMap<Box<[u8]>, bool>,
    known_bytes: usize,
}

impl Decisions {
    const FEW: usize = 8;
    const KNOWN_BYTES_MAX: usize = 256 * 1024;
    /// What an entry costs beside its expression, roughly.
    const ENTRY_BYTES: usize = 48;
    const LOGGED_BYTES_MAX: usize = 128;

    /// Nothing decided yet, but that the empty expression is visible.
    #[must_use]
    pub fn new(authorisations: Authorisations) -> Self {
        Self {
            authorisations,
            last: Vec::new(),
            last_visible: true,
            few: Vec::new(),
            known: HashMap::new(),
            known_bytes: 0,
        }
    }

    /// Whether a cell with this expression may be shown. A malformed expression hides its cell.
    #[inline]
    pub fn visible(&mut self, expression: &[u8]) -> bool {
        if expression == self.last {
            return self.last_visible;
        }
        expression.is_empty() || self.decide(expression)
    }

    fn decide(&mut self, expression: &[u8]) -> bool {
        let visible = match self.remembered(expression) {
            Some(visible) => visible,
            None => self.evaluate(expression),
        };
        self.last.clear();
        self.last.extend_from_slice(expression);
        self.last_visible = visible;
        visible
    }

    fn remembered(&self, expression: &[u8]) -> Option<bool> {
        let among_few = self.few.iter().find(|(known, _)| **known == *expression);
        match among_few {
            Some(&(_, visible)) => Some(visible),
            None if self.known.is_empty() => None,
            None => self.known.get(expression).copied(),
        }
    }

    fn evaluate(&mut self, expression: &[u8]) -> bool {
        let outcome = evaluate(expression, &self.authorisations);
        let visible = outcome.unwrap_or(false);
        let bytes = expression.len() + Self::ENTRY_BYTES;
        if self.known_bytes + bytes <= Self::KNOWN_BYTES_MAX {
            self.known_bytes += bytes;
            if self.few.len() < Self::FEW {
                self.few.push((expression.into(), visible));
            } else {
                self.known.insert(expression.into(), visible);
            }
            // Only here, where it is remembered, so that no scan logs an expression twice.
            if let Err(fault) = outcome {
                Self::warn(expression, fault);
            }
        }
        visible
    }

    #[cold]
    fn warn(expression: &[u8], fault: Malformed) {
        let shown = &expression[..expression.len().min(Self::LOGGED_BYTES_MAX)];
        tracing::warn!(
            expression = %shown.escape_ascii(),
            bytes = expression.len(),
            offset = fault.offset,
            reason = fault.reason,
            "a malformed visibility hides its cells"
        );
    }
}
