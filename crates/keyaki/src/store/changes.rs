//! The change log: a record per mutation, in the mutation's own commit, read in order of commit
//! ids.
//!
//! A record lies in the partition of its hour, so that no partition grows without bound, at
//! `commit id | owner`; its payload is JSON. Readers stop below the oldest commit that is still
//! undecided, so that none is ever passed by.

use std::ops::Bound;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Bucket;
use super::owner::Owner;
use super::scan::Cells;
use crate::cell::parts::{Parts, PartsReader};
use crate::cell::visibility::{self, Authorisations};
use crate::cell::{Tid, Value};
use crate::engine::{CellRef, Commit, ScanRequest, SpaceId, Write};
use crate::error::{Error, Result};

const HOUR_US: u64 = 3_600_000_000;
/// A reader who is further behind asks where the log goes on, instead of trying every hour.
const HOURS_TRIED_MAX: u64 = 24;

/// What a mutation did, as its bucket type tells it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Change {
    /// The item's key.
    pub item: String,
    /// What was done to it.
    pub action: String,
    /// The caller's name for the operation, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Which step of the operation.
    #[serde(default)]
    pub sequence: u64,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The bucket's change fields before.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub before: serde_json::Value,
    /// The bucket's change fields after.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub after: serde_json::Value,
}

/// A change as it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// The commit's id: where reading goes on after this one.
    pub id: Tid,
    /// The home partition it happened in, with the item as its sort key.
    pub owner: Owner,
    /// Who may see it.
    pub visibility: Vec<u8>,
    /// What happened.
    pub change: Change,
}

/// Some changes, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePage {
    /// The changes that the reader may see.
    pub changes: Vec<ChangeRecord>,
    /// Where to go on: past everything that was looked at.
    pub next: Tid,
    /// Whether more was there when this was read.
    pub more: bool,
}

/// Adds a record to a commit.
pub fn write(
    space: SpaceId,
    commit: &mut Commit,
    owner: &Owner,
    change: &Change,
    (before, after): (&[u8], &[u8]),
) -> Result<()> {
    let payload = serde_json::to_vec(change)
        .map_err(|e| Error::invalid("change record is not JSON").because(e))?;
    let mut sort = commit.tid().as_bytes().to_vec();
    owner.append(&mut sort)?;
    let visibility = visibility::conjunction(before, after);
    let value = Value::visible_to(&visibility, &payload);
    let hour = partition_of(commit.tid().time().micros() / HOUR_US);
    commit.dependent(space, &hour, &sort, Write::Put(value));
    Ok(())
}

/// Reads a stored record.
///
/// # Errors
/// `Corrupt` if it is damaged.
pub fn decode(cell: &CellRef<'_>) -> Result<ChangeRecord> {
    let (id, owner) = Owner::part(cell.sort())?;
    let id =
        id.try_into().ok().and_then(|id| Tid::from_bytes(id).ok()).ok_or_else(|| {
            Error::corrupt("change record has no id").with_bytes("sort", cell.sort())
        })?;
    let change = serde_json::from_slice(cell.payload())
        .map_err(|e| Error::corrupt("change record is damaged").with("id", id).because(e))?;
    Ok(ChangeRecord { id, owner, visibility: cell.visibility().to_vec(), change })
}

fn partition_of(hour: u64) -> Vec<u8> {
    Parts::new().bytes(b"changes").u64(hour).into_bytes()
}

fn hour_of(partition: &[u8]) -> Result<u64> {
    let mut reader = PartsReader::new(partition);
    let hour = reader.bytes().and_then(|_| reader.u64());
    hour.map_err(|bad| Error::corrupt("change log has no hour").because(bad))
}

impl Bucket {
    /// Changes after `since`, or from the beginning, at most `limit`.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn changes(
        &self,
        authorisations: &Authorisations,
        since: Option<Tid>,
        limit: usize,
    ) -> Result<ChangePage> {
        let inner = &self.store.inner;
        let until = inner.engine.settled().await?;
        // The last id below all that is undecided, whichever node gave it.
        let settled = Tid::new(until.saturating_sub(Duration::from_micros(1)), u64::MAX);
        let newest = Tid::new(inner.engine.stamps().newest(), u64::MAX);
        let looked_at = settled.min(newest);
        let next = since.map_or(looked_at, |since| since.max(looked_at));
        let mut page = ChangePage { changes: Vec::new(), next, more: false };
        let last = settled.time().micros() / HOUR_US;
        let mut hour = since.map_or(0, |since| since.time().micros() / HOUR_US);
        // As if it had tried: whoever begins asks at once.
        let mut tried = HOURS_TRIED_MAX;
        while hour <= last {
            if tried >= HOURS_TRIED_MAX && last - hour > HOURS_TRIED_MAX {
                hour = self.hour_with_changes(hour, last).await?.unwrap_or(last);
                tried = 0;
            }
            let before = page.changes.len();
            let begin = since.map_or(Bound::Unbounded, after);
            let end = Bound::Excluded(Tid::new(until, 0).as_bytes().to_vec());
            let request = ScanRequest::range(self.changes, partition_of(hour), begin, end);
            let mut cells = self.scan(authorisations, request).await?;
            if self.take_changes(&mut cells, &mut page, limit).await? {
                break;
            }
            // An hour whose records are hidden was tried in vain, too.
            tried = if page.changes.len() == before { tried + 1 } else { 0 };
            hour += 1;
        }
        Ok(page)
    }

    /// Fills the page, past its limit to the end of a commit: reading goes on after commits.
    /// Answers whether it is full and more is there.
    async fn take_changes(
        &self,
        cells: &mut Cells<'_>,
        page: &mut ChangePage,
        limit: usize,
    ) -> Result<bool> {
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter() {
                let record = decode(&cell)?;
                if let Some(last) = page.changes.last()
                    && page.changes.len() >= limit
                    && last.id != record.id
                {
                    (page.next, page.more) = (last.id, true);
                    return Ok(true);
                }
                page.next = page.next.max(record.id);
                page.changes.push(record);
            }
        }
        Ok(false)
    }

    /// The first hour between two, both included, that has a change record.
    async fn hour_with_changes(&self, first: u64, last: u64) -> Result<Option<u64>> {
        let (first, last) = (partition_of(first), partition_of(last));
        let found = self.engine().first_partition(self.changes, &first, &last).await?;
        found.as_deref().map(hour_of).transpose()
    }
}

/// Everything behind the records of one commit.
fn after(tid: Tid) -> Bound<Vec<u8>> {
    let past = crate::cell::key::successor_of_prefix(tid.as_bytes());
    past.map_or(Bound::Unbounded, Bound::Included)
}
