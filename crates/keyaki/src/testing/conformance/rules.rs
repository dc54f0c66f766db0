//! Rules that only tests have: what is wrong with a cell is written in it.

use std::sync::Arc;
use std::time::Duration;

use crate::cell::Time;
use crate::engine::{CellRef, Keep, Merge, RuleSpec, Rules, Unfoldable, Verdict};

const SOUND: &str = "conformance.sound";
const AT_MOST: &str = "conformance.at-most";
const LATE: &str = "conformance.late";
const FRAGILE: &str = "conformance.fragile";

/// The book an engine under test is opened with.
#[must_use]
pub fn rules() -> Rules {
    Rules::default()
        .with_keep(SOUND, |_| Some(Arc::new(Sound)))
        .with_keep(AT_MOST, |most| {
            let most = most.parse().ok()?;
            Some(Arc::new(AtMost { most }))
        })
        .with_keep(LATE, |micros| {
            let most = Duration::from_micros(micros.parse().ok()?);
            Some(Arc::new(Late { most }))
        })
        .with_merge(FRAGILE, |_| Some(Arc::new(Fragile)))
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

/// Keeps all, but panics at a sort key `oh` that is younger than `micros`.
pub(super) fn late(micros: u64) -> RuleSpec {
    RuleSpec::new(LATE, micros.to_string())
}

/// Appends, but refuses `no`, and panics at `oh`.
pub(super) fn fragile() -> RuleSpec {
    RuleSpec::named(FRAGILE)
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

struct Late {
    most: Duration,
}

impl Keep for Late {
    fn judge(&self, cell: &CellRef<'_>, now: Time) -> Verdict {
        let young = now.since(cell.time()) < self.most;
        if young && cell.sort() == b"oh" {
            panic_quietly("a keep rule panics");
        }
        Verdict::Keep
    }

    fn by_age(&self) -> bool {
        true
    }
}

struct Fragile;

impl Merge for Fragile {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        for payload in payloads {
            // What it has written when it fails must not be used.
            out.extend_from_slice(payload);
            match *payload {
                b"oh" => panic_quietly("a merge rule panics"),
                b"no" => return Err(Unfoldable("it says no")),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Without a backtrace on the way, which would fill the test's output.
pub fn panic_quietly(why: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(why))
}
