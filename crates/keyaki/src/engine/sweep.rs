//! What a sweep does with one condemned cell; the same on every engine that holds whole values.

use super::fold;
use super::scan::CellRef;
use super::space::{Space, SpaceId, Spaces};
use super::{Swept, Verdict};
use crate::cell::{Time, key};
use crate::error::Result;

/// A cell that its space's rule no longer keeps.
pub(super) struct Condemned {
    /// Where it is.
    pub key: Vec<u8>,
    /// The value that was judged: the cell goes only if it still has it.
    pub value: Vec<u8>,
    /// What goes to the quarantine in its place.
    pub copy: Option<QuarantineCopy>,
    verdict: Verdict,
}

/// An invalid cell as it lies in quarantine: as readers would have seen it, so that its time and
/// visibility are right even where operands lay unfolded.
pub(super) struct QuarantineCopy {
    space: SpaceId,
    /// Its key there.
    pub key: Vec<u8>,
    /// Its value there.
    pub value: Vec<u8>,
}

impl Condemned {
    /// Judges a stored cell; `None` if it stays. An invalid one that has nowhere to go stays,
    /// hidden: nothing vanishes silently.
    ///
    /// # Errors
    /// `Corrupt` if the cell can't be read.
    pub fn judge(
        space: &Space,
        stored_key: &[u8],
        value: &[u8],
        now: Time,
    ) -> Result<Option<Self>> {
        let Some(rule) = &space.keep else { return Ok(None) };
        let shown = fold::presentable(space.merge.as_deref(), value)?;
        let cell = CellRef::decode(stored_key, &shown)?;
        let verdict = rule.judge(&cell, now);
        let copy = match (verdict, space.record.spec.quarantine) {
            (Verdict::Keep, _) | (Verdict::Invalid, None) => return Ok(None),
            (Verdict::Expired, _) => None,
            (Verdict::Invalid, Some(quarantine)) => {
                Some(QuarantineCopy::of(&cell, space.id(), quarantine))
            }
        };
        Ok(Some(Self { key: stored_key.to_vec(), value: value.to_vec(), copy, verdict }))
    }

    /// Whether it may go: the quarantine of an invalid cell may have been dropped.
    pub fn may_go(&self, spaces: &Spaces) -> bool {
        self.copy.as_ref().is_none_or(|copy| spaces.usable(copy.space).is_ok())
    }

    /// Counts it as removed.
    pub fn count(&self, swept: &mut Swept) {
        match self.verdict {
            Verdict::Invalid => swept.invalid += 1,
            _ => swept.expired += 1,
        }
    }
}

impl QuarantineCopy {
    fn of(cell: &CellRef<'_>, from: SpaceId, quarantine: SpaceId) -> Self {
        let mut sort = from.0.to_be_bytes().to_vec();
        sort.extend_from_slice(&cell.time().to_bytes());
        sort.extend_from_slice(cell.sort());
        let mut key = Vec::new();
        key::cell_key(quarantine.0, &cell.partition(), &sort, &mut key);
        Self { space: quarantine, key, value: cell.encoded().to_vec() }
    }
}
