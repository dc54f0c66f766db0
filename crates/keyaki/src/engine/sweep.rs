//! What a sweep does with one condemned cell; the same on every engine that holds whole values.
//!
//! Nothing vanishes silently: what goes for being invalid goes to the quarantine, and stays where
//! it is, hidden, if it has none.

use std::time::Duration;

use super::Swept;
use super::fold;
use super::scan::CellRef;
use super::sight::Judged;
use super::space::{Space, SpaceId, Spaces};
use crate::cell::{Time, ValueRef, key};
use crate::error::Result;

/// A cell that its space's rules no longer keep.
pub(super) struct Condemned {
    /// Where it is.
    pub key: Vec<u8>,
    /// The value that was judged: the cell goes only if it still has it.
    pub value: Vec<u8>,
    /// What goes to the quarantine in its place, if it is invalid.
    pub quarantined: Option<Quarantined>,
}

/// An invalid cell as it lies in quarantine.
pub(super) struct Quarantined {
    space: SpaceId,
    /// Keys and values there.
    pub cells: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Condemned {
    /// Judges a stored cell; `None` if it stays.
    ///
    /// # Errors
    /// `Corrupt` if the cell can't be read.
    pub fn judge(
        space: &Space,
        stored_key: &[u8],
        value: &[u8],
        now: Time,
    ) -> Result<Option<Self>> {
        let quarantine = space.record.spec.quarantine.map(Quarantined::none_in);
        let quarantined = match (space.judge(stored_key, value, now)?, quarantine) {
            (Judged::Expired, _) => None,
            (Judged::Invalid(folded), Some(quarantine)) => {
                Some(quarantine.with_folded(&CellRef::decode(stored_key, &folded)?, space.id()))
            }
            (Judged::Unfoldable(_), Some(quarantine)) => {
                Some(quarantine.with_operands(&CellRef::decode(stored_key, value)?, space.id())?)
            }
            // Kept, or not judged, or nowhere to go.
            _ => return Ok(None),
        };
        Ok(Some(Self { key: stored_key.to_vec(), value: value.to_vec(), quarantined }))
    }

    /// Whether it may go: the quarantine of an invalid cell may have been dropped.
    pub fn may_go(&self, spaces: &Spaces) -> bool {
        self.quarantined.as_ref().is_none_or(|invalid| spaces.usable(invalid.space).is_ok())
    }

    /// Counts it as removed.
    pub fn count(&self, swept: &mut Swept) {
        match self.quarantined {
            Some(_) => swept.invalid += 1,
            None => swept.expired += 1,
        }
    }
}

impl Quarantined {
    fn none_in(space: SpaceId) -> Self {
        Self { space, cells: Vec::new() }
    }

    /// A cell as readers would have seen it, so that its time and visibility are right even where
    /// operands lay unfolded.
    fn with_folded(mut self, cell: &CellRef<'_>, from: SpaceId) -> Self {
        self.add(cell, from, cell.time(), cell.encoded());
        self
    }

    /// Each operand on its own, as it was written: together they may have no visibility that a
    /// value can carry. Their keys keep the order in which they would have been folded, by times
    /// that are a little late where operands share one or came out of order.
    fn with_operands(mut self, cell: &CellRef<'_>, from: SpaceId) -> Result<Self> {
        let mut earliest = Time::ZERO;
        for operand in fold::operands(cell.encoded())? {
            let operand = operand?;
            let time = ValueRef::decode(operand)?.time.max(earliest);
            self.add(cell, from, time, operand);
            earliest = time.saturating_add(Duration::from_micros(1));
        }
        Ok(self)
    }

    fn add(&mut self, cell: &CellRef<'_>, from: SpaceId, time: Time, value: &[u8]) {
        let mut sort = from.0.to_be_bytes().to_vec();
        sort.extend_from_slice(&time.to_bytes());
        sort.extend_from_slice(cell.sort());
        let mut key = Vec::new();
        key::cell_key(self.space.0, &cell.partition(), &sort, &mut key);
        self.cells.push((key, value.to_vec()));
    }
}
