//! Keep rules that only tests have: what is wrong with a cell is written in it.

use std::sync::Arc;

use crate::cell::Time;
use crate::engine::{CellRef, Keep, RuleSpec, Rules, Verdict};

const SOUND: &str = "conformance.sound";
const AT_MOST: &str = "conformance.at-most";

/// The book an engine under test is opened with.
#[must_use]
pub fn rules() -> Rules {
    Rules::default().with_keep(SOUND, |_| Some(Arc::new(Sound))).with_keep(AT_MOST, |most| {
        let most = most.parse().ok()?;
        Some(Arc::new(AtMost { most }))
    })
}

/// Payloads that begin with `bad` are invalid.
pub(super) fn sound() -> RuleSpec {
    RuleSpec::named(SOUND)
}

/// Numbers above `most` are invalid.
pub(super) fn at_most(most: i64) -> RuleSpec {
    RuleSpec::new(AT_MOST, most.to_string())
}

/// Cells older than `micros` are expired.
pub(super) fn younger_than(micros: u64) -> RuleSpec {
    RuleSpec::new("age", micros.to_string())
}

struct Sound;

impl Keep for Sound {
    fn judge(&self, cell: &CellRef<'_>, _: Time) -> Verdict {
        match cell.payload().starts_with(b"bad") {
            true => Verdict::Invalid,
            false => Verdict::Keep,
        }
    }
}

struct AtMost {
    most: i64,
}

impl Keep for AtMost {
    fn judge(&self, cell: &CellRef<'_>, _: Time) -> Verdict {
        let number = cell.payload().try_into().map(i64::from_be_bytes);
        match number.is_ok_and(|number| number <= self.most) {
            true => Verdict::Keep,
            false => Verdict::Invalid,
        }
    }
}
