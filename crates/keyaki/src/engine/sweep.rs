//! What a sweep does with one condemned cell; the same on every engine that holds whole values.

use super::fold;
use super::scan::CellRef;
use super::space::Space;
use super::{Swept, Verdict};
use crate::cell::{Time, key};
use crate::error::Result;

/// A cell that its space's rule no longer keeps.
pub(super) struct Condemned {
    /// Where it is.
    pub key: Vec<u8>,
    /// The value that was judged: the cell goes only if it still has it.
    pub value: Vec<u8>,
    /// Where a copy goes.
    pub quarantine: Option<Vec<u8>>,
    verdict: Verdict,
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
        let Some(rule) = &space.keep else { return Ok(None) };
        let shown = fold::presentable(space.merge.as_deref(), value)?;
        let cell = CellRef::decode(stored_key, &shown)?;
        let verdict = rule.judge(&cell, now);
        let quarantine = match verdict {
            Verdict::Keep => return Ok(None),
            Verdict::Expired => None,
            Verdict::Invalid => space.record.spec.quarantine.map(|quarantine| {
                let mut sort = space.id().0.to_be_bytes().to_vec();
                sort.extend_from_slice(&cell.time().to_bytes());
                sort.extend_from_slice(cell.sort());
                let mut copy = Vec::new();
                key::cell_key(quarantine.0, &cell.partition(), &sort, &mut copy);
                copy
            }),
        };
        Ok(Some(Self { key: stored_key.to_vec(), value: value.to_vec(), quarantine, verdict }))
    }

    /// Counts it as removed.
    pub fn count(&self, swept: &mut Swept) {
        match self.verdict {
            Verdict::Invalid => swept.invalid += 1,
            _ => swept.expired += 1,
        }
    }
}
