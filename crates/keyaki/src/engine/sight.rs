//! What a space's rules make of a stored cell, and so what its readers see of it.
//!
//! Rules are code of the layers above, and one bad write must not make a range unreadable: a cell
//! that its rules can't handle is hidden, and its reader's log says so once. Only damaged bytes
//! are an error. What becomes of hidden cells is for the sweep.

use std::borrow::Cow;
use std::sync::Arc;

use super::fold::{self, Presented};
use super::rules::{self, Unfoldable, Verdict};
use super::scan::{Area, Block, CellRef};
use super::space::Space;
use crate::cell::{HybridClock, Time, ValueRef, key};
use crate::error::Result;

/// A cell after its space's rules; values are folded.
pub(super) enum Judged<'v> {
    /// It stays, and this is its value.
    Kept(Cow<'v, [u8]>),
    /// Its time is over.
    Expired,
    /// It breaks the keep rule with this value.
    Invalid(Cow<'v, [u8]>),
    /// The merge rule makes no value of its operands.
    Unfoldable(Unfoldable),
    /// The keep rule panicked.
    Unjudged,
}

impl Space {
    /// Folds and judges a stored cell.
    ///
    /// # Errors
    /// `Corrupt` if the cell can't be read.
    pub(super) fn judge<'v>(&self, key: &[u8], value: &'v [u8], now: Time) -> Result<Judged<'v>> {
        self.judge_cell(key, value, &CellRef::decode(key, value)?, now)
    }

    fn judge_cell<'v>(
        &self,
        key: &[u8],
        value: &'v [u8],
        cell: &CellRef<'_>,
        now: Time,
    ) -> Result<Judged<'v>> {
        let value = match self.folds(cell.value().flags) {
            true => match fold::presentable(self.merge.as_deref(), value)? {
                Presented::Whole(value) => value,
                Presented::Unfoldable(why) => return Ok(Judged::Unfoldable(why)),
            },
            false => Cow::Borrowed(value),
        };
        let Some(rule) = &self.keep else { return Ok(Judged::Kept(value)) };
        let verdict = match &value {
            Cow::Borrowed(_) => rules::verdict(rule.as_ref(), cell, now),
            Cow::Owned(folded) => {
                rules::verdict(rule.as_ref(), &CellRef::decode(key, folded)?, now)
            }
        };
        Ok(match verdict {
            Some(Verdict::Keep) => Judged::Kept(value),
            Some(Verdict::Expired) => Judged::Expired,
            Some(Verdict::Invalid) => Judged::Invalid(value),
            None => Judged::Unjudged,
        })
    }
}

/// One reader's sight of a space at one moment.
pub(super) struct Sight {
    space: Arc<Space>,
    /// Whether a rule has to be asked about what it sees.
    judges: bool,
    /// How long the partition is in all stored keys, if they share it.
    partition_len: Option<usize>,
    now: Time,
    warned: bool,
}

/// What a reader who needs no more sees of a stored cell, now.
///
/// # Errors
/// `Corrupt` if the cell can't be read.
pub(super) fn seen(
    space: Arc<Space>,
    clock: &HybridClock,
    key: &[u8],
    value: Vec<u8>,
) -> Result<Option<Vec<u8>>> {
    if space.shows_as_is(ValueRef::decode(&value)?.flags) {
        return Ok(Some(value));
    }
    Ok(match Sight::new(space, clock).see(key, &value)? {
        Some(Cow::Owned(folded)) => Some(folded),
        Some(Cow::Borrowed(_)) => Some(value),
        None => None,
    })
}

impl Sight {
    /// Of anything in a space.
    pub fn new(space: Arc<Space>, clock: &HybridClock) -> Self {
        let judges = space.keep.is_some();
        Self::with(space, clock, judges, None)
    }

    /// Of nothing but an area, in the order of stored keys.
    pub fn over(space: Arc<Space>, clock: &HybridClock, area: &Area) -> Self {
        let Area::Partition { partition, from, to } = area else { return Self::new(space, clock) };
        let judges = space.keep.as_ref().is_some_and(|rule| !rule.keeps_all(from, to));
        Self::with(space, clock, judges, Some(key::escaped_len(partition)))
    }

    /// Where no rule asks for the time, nor does this.
    fn with(
        space: Arc<Space>,
        clock: &HybridClock,
        judges: bool,
        partition_len: Option<usize>,
    ) -> Self {
        let now = if judges { clock.now() } else { Time::ZERO };
        Self { space, judges, partition_len, now, warned: false }
    }

    /// A stored cell's value as the reader sees it; `None` if it is hidden.
    ///
    /// # Errors
    /// `Corrupt` if the cell can't be read.
    pub fn see<'v>(&mut self, key: &[u8], value: &'v [u8]) -> Result<Option<Cow<'v, [u8]>>> {
        let judged = self.space.judge(key, value, self.now)?;
        Ok(self.kept(key, judged))
    }

    /// Copies a stored cell into a block as the reader sees it, unless it is hidden.
    ///
    /// # Errors
    /// `Corrupt` if the cell can't be read.
    #[inline]
    pub fn show(&mut self, key: &[u8], value: &[u8], block: &mut Block) -> Result<()> {
        let cell = match self.partition_len {
            Some(length) => CellRef::decode_under(length, key, value)?,
            None => CellRef::decode(key, value)?,
        };
        if !self.judges && !self.space.folds(cell.value().flags) {
            block.push(&cell);
            return Ok(());
        }
        let judged = self.space.judge_cell(key, value, &cell, self.now)?;
        match self.kept(key, judged) {
            Some(Cow::Borrowed(_)) => block.push(&cell),
            Some(Cow::Owned(folded)) => block.push(&CellRef::decode(key, &folded)?),
            None => {}
        }
        Ok(())
    }

    fn kept<'v>(&mut self, key: &[u8], judged: Judged<'v>) -> Option<Cow<'v, [u8]>> {
        match judged {
            Judged::Kept(value) => return Some(value),
            Judged::Expired | Judged::Invalid(_) => {}
            Judged::Unfoldable(why) => self.warn(key, why.0),
            Judged::Unjudged => self.warn(key, "the keep rule panicked"),
        }
        None
    }

    #[cold]
    fn warn(&mut self, key: &[u8], reason: &str) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                space = self.space.id().0,
                key = %key.escape_ascii(),
                reason,
                "a cell that its rules can't handle is hidden; others may be too"
            );
        }
    }
}
