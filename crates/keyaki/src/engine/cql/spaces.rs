//! The list of spaces, shared by all processes: a row each, made and changed by lightweight transactions.
//!
//! A head counts the changes of the list. Every process keeps a copy, and reads the list again when the count is
//! another: it looks twice a second, and whenever it meets an id that it doesn't know.

use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::cluster::{Batched, Link};
use super::fault::{self, Fate};
use super::own::{BUCKETS, NOTHING, OWN, OWN_BUCKET, SPACES};
use super::statements::Arg;
use super::{Inner, random};
use crate::engine::RuleSpec;
use crate::engine::commit::Home;
use crate::engine::space::{BucketId, SpaceId, SpaceRecord, SpaceSpec};
use crate::error::{Error, Result};

/// The state of a dropped space whose cells are gone.
const CLEARED: i64 = 1;

/// What this process knows of the list. Whoever takes records over holds it: what was read before a change never comes
/// after it.
#[derive(Default)]
pub struct Listing(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// How often the list had changed when it was last read; 0 before that.
    version: i64,
    /// Dropped spaces whose cells may still be there.
    uncleared: Vec<SpaceRecord>,
}

impl Listing {
    /// Dropped spaces whose cells may still be there.
    pub fn uncleared(&self) -> Vec<SpaceRecord> {
        self.known().uncleared.clone()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A record as it lies in the list.
struct Row {
    sort: [u8; 4],
    value: Vec<u8>,
}

impl Row {
    fn of(record: &SpaceRecord) -> Result<Self> {
        let value = serde_json::to_vec(record)
            .map_err(|e| Error::internal("space can't be listed").because(e))?;
        Ok(Self { sort: record.id.0.to_be_bytes(), value })
    }

    fn all<'a>(records: impl IntoIterator<Item = &'a SpaceRecord>) -> Result<Vec<Self>> {
        records.into_iter().map(Self::of).collect()
    }
}

impl Inner {
    /// Takes over what the list says, if it has changed. Answers how often it has.
    pub(super) async fn refresh_spaces(&self, link: &Link) -> Result<Option<i64>> {
        let head = (OWN_BUCKET, SPACES, OWN, NOTHING);
        let rows = link.read(&link.statements.name, head).await?;
        let row = rows.maybe_first_row::<(Option<&[u8]>, Option<i64>, Option<&[u8]>)>();
        let version = row.map_err(fault::misread)?.and_then(|(_, version, _)| version);
        if let Some(version) = version
            && version != self.listing.known().version
        {
            self.read_spaces(link, version).await?;
        }
        Ok(version)
    }

    async fn read_spaces(&self, link: &Link, version: i64) -> Result<()> {
        let rows = link.read(&link.statements.listed, (OWN_BUCKET, SPACES, OWN)).await?;
        let mut records = Vec::new();
        type Listed<'r> = (&'r [u8], Option<&'r [u8]>, Option<i64>);
        for row in rows.rows::<Listed<'_>>().map_err(fault::misread)? {
            let (_, value, state) = row.map_err(fault::misread)?;
            // The head has no record.
            let Some(value) = value else { continue };
            let record: SpaceRecord = serde_json::from_slice(value)
                .map_err(|e| Error::corrupt("list of spaces is damaged").because(e))?;
            records.push((record, state));
        }
        let mut known = self.listing.known();
        if version < known.version {
            return Ok(());
        }
        known.version = version;
        known.uncleared.clear();
        for (record, state) in records {
            if record.retired && state != Some(CLEARED) {
                known.uncleared.push(record.clone());
            }
            if self.spaces.get(record.id).is_none_or(|space| space.record != record) {
                self.spaces.set(record);
            }
        }
        Ok(())
    }

    /// Takes over a change of our own, which was made at a version of the list that we had.
    fn take_over(&self, version: Option<i64>, records: Vec<SpaceRecord>) -> Vec<SpaceId> {
        let mut known = self.listing.known();
        known.version = version.unwrap_or(0) + 1;
        known.uncleared.extend(records.iter().filter(|record| record.retired).cloned());
        self.spaces.set_all(records)
    }

    /// Lists new spaces under the next ids that are free, all in one transaction.
    pub(super) async fn list_spaces(
        &self,
        link: &Link,
        specs: &[SpaceSpec],
    ) -> Result<Vec<SpaceId>> {
        // Tells our rows from equal ones of another process.
        let ours = Uuid::from_u64_pair(random(), random());
        let _turn = self.turns.take(&own_home(SPACES)).await?;
        let mut attempts = self.attempts();
        while attempts.another().await {
            let version = self.refresh_spaces(link).await?;
            let records = self.spaces.admit(specs.to_vec())?;
            let Some(first) = records.first().map(|record| record.id) else {
                return Ok(Vec::new());
            };
            let rows = Row::all(&records)?;
            let batch = listing(link, version, &rows, &ours);
            let listed = match link.conditional_batch(batch).await {
                Ok(listed) => listed,
                Err(Fate::NotDone(error)) => return Err(error),
                Err(Fate::Unknown(_)) => self.is_listed_as(link, first, ours).await?,
            };
            if listed {
                return Ok(self.take_over(version, records));
            }
        }
        Err(Error::unavailable("too many make spaces at once"))
    }

    /// Whether a transaction without an answer has listed our rows, of which this is one. Another transaction comes first:
    /// behind it, either they are there or they never will be.
    async fn is_listed_as(&self, link: &Link, id: SpaceId, ours: Uuid) -> Result<bool> {
        let sort = id.0.to_be_bytes();
        let place = (OWN_BUCKET, SPACES, OWN, &sort[..]);
        let nothing: Option<&[u8]> = None;
        let mut attempts = self.attempts();
        while attempts.another().await {
            // Demands the impossible: it changes nothing, and it can't be overtaken by what came before.
            let values = (nothing, place.0, place.1, place.2, place.3, &[0xff_u8][..]);
            if link.conditional(&link.statements.leave_name, values).await.is_ok() {
                let rows = link.read(&link.statements.name, place).await?;
                let row = rows.maybe_first_row::<(Option<&[u8]>, Option<i64>, Option<&[u8]>)>();
                let found = row.map_err(fault::misread)?.and_then(|(_, _, nonce)| nonce);
                return Ok(found == Some(ours.as_bytes()));
            }
        }
        Err(Error::unavailable("the cluster doesn't answer"))
    }

    /// Marks spaces as dropped, for all processes.
    pub(super) async fn retire_spaces(&self, link: &Link, ids: &[SpaceId]) -> Result<()> {
        self.relist(link, || self.spaces.retire(ids)).await
    }

    /// Gives a space other rules, for all processes: each of them goes by these once it has looked at the list again.
    pub(super) async fn change_space(
        &self,
        link: &Link,
        id: SpaceId,
        [merge, keep]: [Option<RuleSpec>; 2],
    ) -> Result<()> {
        let changed = || {
            let before = self.spaces.usable(id)?;
            let after = self.spaces.with_rules(id, merge.clone(), keep.clone())?;
            Ok(if after == before.record { Vec::new() } else { vec![after] })
        };
        self.relist(link, changed).await
    }

    /// Puts records in place of those with their ids, until there is nothing to change: an attempt without an answer may
    /// have done it.
    async fn relist(
        &self,
        link: &Link,
        changed: impl Fn() -> Result<Vec<SpaceRecord>>,
    ) -> Result<()> {
        let _turn = self.turns.take(&own_home(SPACES)).await?;
        let mut attempts = self.attempts();
        while attempts.another().await {
            let version = self.refresh_spaces(link).await?;
            let after = changed()?;
            if after.is_empty() {
                return Ok(());
            }
            let before: Vec<_> =
                after.iter().filter_map(|record| self.spaces.get(record.id)).collect();
            let rows = (Row::all(before.iter().map(|space| &space.record))?, Row::all(&after)?);
            let batch = relisting(link, version, &rows.0, &rows.1, None);
            if done_surely(link.conditional_batch(batch).await)? {
                self.take_over(version, after);
                return Ok(());
            }
        }
        Err(Error::unavailable("too many change spaces at once"))
    }

    /// Notes that the cells of dropped spaces are gone. If others are in the way, the next round does.
    pub(super) async fn note_cleared(&self, link: &Link, empty: Vec<SpaceRecord>) -> Result<()> {
        if empty.is_empty() {
            return Ok(());
        }
        let _turn = self.turns.take(&own_home(SPACES)).await?;
        let version = self.refresh_spaces(link).await?;
        let rows = Row::all(&empty)?;
        let batch = relisting(link, version, &rows, &rows, Some(CLEARED));
        if done_surely(link.conditional_batch(batch).await)? {
            let mut known = self.listing.known();
            known.version = version.unwrap_or(0) + 1;
            known.uncleared.retain(|record| !empty.contains(record));
        }
        Ok(())
    }

    /// A bucket id that nobody was given: a number that is skipped if its transaction has no answer.
    pub(super) async fn next_bucket(&self, link: &Link) -> Result<BucketId> {
        let place = (OWN_BUCKET, BUCKETS, OWN, NOTHING);
        let _turn = self.turns.take(&own_home(BUCKETS)).await?;
        let mut attempts = self.attempts();
        while attempts.another().await {
            self.refresh_spaces(link).await?;
            let rows = link.read(&link.statements.name, place).await?;
            let row = rows.maybe_first_row::<(Option<&[u8]>, Option<i64>, Option<&[u8]>)>();
            let counted = row.map_err(fault::misread)?.and_then(|(_, counted, _)| counted);
            let listed = self.spaces.new_bucket().0;
            let next = listed.max(counted.map_or(0, |last| last as u64 + 1));
            let nothing: Option<&[u8]> = None;
            let (bucket, partition, space, sort) = place;
            let values = (next as i64, nothing, bucket, partition, space, sort, counted);
            match link.conditional(&link.statements.advance_head, values).await {
                Ok(true) => return Ok(BucketId(next)),
                Ok(false) | Err(Fate::Unknown(_)) => {}
                Err(Fate::NotDone(error)) => return Err(error),
            }
        }
        Err(Error::unavailable("too many make buckets at once"))
    }
}

/// What is kept for all processes, as a place that commits take turns at.
fn own_home(partition: &[u8]) -> Home {
    Home { bucket: BucketId(OWN_BUCKET as u64), partition: partition.to_vec() }
}

/// Whether a transaction was done. Without an answer, the next look at the list tells.
fn done_surely(answer: Result<bool, Fate>) -> Result<bool> {
    match answer {
        Ok(done) => Ok(done),
        Err(Fate::NotDone(error)) => Err(error),
        Err(Fate::Unknown(_)) => Ok(false),
    }
}

/// A batch that lists new spaces.
fn listing<'a>(link: &Link, version: Option<i64>, rows: &'a [Row], ours: &'a Uuid) -> Batched<'a> {
    let mut batch = advance(link, version);
    for row in rows {
        batch.push(
            &link.statements.list_space,
            [
                Arg::Long(OWN_BUCKET),
                Arg::Bytes(SPACES),
                Arg::Int(OWN),
                Arg::Bytes(&row.sort),
                Arg::Bytes(&row.value),
                Arg::Bytes(ours.as_bytes()),
            ],
        );
    }
    batch
}

/// A batch that puts rows in place of others.
fn relisting<'a>(
    link: &Link,
    version: Option<i64>,
    before: &'a [Row],
    after: &'a [Row],
    state: Option<i64>,
) -> Batched<'a> {
    let mut batch = advance(link, version);
    for (before, after) in before.iter().zip(after) {
        batch.push(
            &link.statements.relist_space,
            [
                Arg::Bytes(&after.value),
                state.map_or(Arg::Null, Arg::Long),
                Arg::Long(OWN_BUCKET),
                Arg::Bytes(SPACES),
                Arg::Int(OWN),
                Arg::Bytes(&before.sort),
                Arg::Bytes(&before.value),
            ],
        );
    }
    batch
}

/// A batch that counts a change of the list.
fn advance<'a>(link: &Link, version: Option<i64>) -> Batched<'a> {
    let mut batch = Batched::default();
    batch.push(
        &link.statements.advance_head,
        [
            Arg::Long(version.unwrap_or(0) + 1),
            Arg::Null,
            Arg::Long(OWN_BUCKET),
            Arg::Bytes(SPACES),
            Arg::Int(OWN),
            Arg::Bytes(NOTHING),
            version.map_or(Arg::Null, Arg::Long),
        ],
    );
    batch
}
