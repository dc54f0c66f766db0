//! The list of spaces, shared by all processes: a row each, made and changed by lightweight transactions.
//!
//! A head counts the changes of the list. Every process keeps a copy, and reads the list again when the count is
//! another: it looks twice a second, and whenever it meets an id that it doesn't know.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::cluster::{Batched, Link};
use super::fault::{self, Fate};
use super::own::{BUCKETS, NOTHING, OWN, OWN_BUCKET, SPACES};
use super::statements::Arg;
use super::{Inner, random};
use crate::engine::RuleSpec;
use crate::engine::space::{BucketId, SpaceId, SpaceRecord, SpaceSpec};
use crate::error::{Error, Result};

/// The state of a dropped space whose cells are gone.
const CLEARED: i64 = 1;

/// What this process knows of the list.
#[derive(Default)]
pub struct Listing {
    /// How often it had changed when it was last read; 0 before that.
    version: AtomicI64,
    /// Dropped spaces whose cells may still be there.
    uncleared: Mutex<Vec<SpaceRecord>>,
}

impl Listing {
    /// Dropped spaces whose cells may still be there.
    pub fn uncleared(&self) -> Vec<SpaceRecord> {
        self.uncleared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, version: i64, uncleared: Vec<SpaceRecord>) {
        *self.uncleared.lock().unwrap_or_else(PoisonError::into_inner) = uncleared;
        self.version.store(version, Relaxed);
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
            && version != self.listing.version.load(Relaxed)
        {
            let uncleared = self.read_spaces(link).await?;
            self.listing.note(version, uncleared);
        }
        Ok(version)
    }

    async fn read_spaces(&self, link: &Link) -> Result<Vec<SpaceRecord>> {
        let rows = link.read(&link.statements.listed, (OWN_BUCKET, SPACES, OWN)).await?;
        let mut uncleared = Vec::new();
        type Row<'r> = (&'r [u8], Option<&'r [u8]>, Option<i64>);
        for row in rows.rows::<Row<'_>>().map_err(fault::misread)? {
            let (_, value, state) = row.map_err(fault::misread)?;
            // The head has no record.
            let Some(value) = value else { continue };
            let record: SpaceRecord = serde_json::from_slice(value)
                .map_err(|e| Error::corrupt("list of spaces is damaged").because(e))?;
            if record.retired && state != Some(CLEARED) {
                uncleared.push(record.clone());
            }
            let known = self.spaces.get(record.id);
            if known.is_none_or(|known| known.record != record) {
                self.spaces.set(record);
            }
        }
        Ok(uncleared)
    }

    /// Lists a new space under the next id that is free.
    pub(super) async fn list_space(&self, link: &Link, spec: &SpaceSpec) -> Result<SpaceId> {
        // Tells our row from an equal one of another process.
        let ours = Uuid::from_u64_pair(random(), random());
        let mut attempts = self.attempts();
        while attempts.another().await {
            let version = self.refresh_spaces(link).await?;
            let record = self.spaces.admit(spec.clone())?;
            let (value, sort) = (encode(&record)?, record.id.0.to_be_bytes());
            let mut batch = advance(link, version);
            batch.push(
                &link.statements.list_space,
                [
                    Arg::Long(OWN_BUCKET),
                    Arg::Bytes(SPACES),
                    Arg::Int(OWN),
                    Arg::Bytes(&sort),
                    Arg::Bytes(&value),
                    Arg::Bytes(ours.as_bytes()),
                ],
            );
            let listed = match link.conditional_batch(batch).await {
                Ok(listed) => listed,
                Err(Fate::NotDone(error)) => return Err(error),
                Err(Fate::Unknown(_)) => self.is_listed_as(link, record.id, ours).await?,
            };
            if listed {
                let id = record.id;
                self.spaces.set(record);
                return Ok(id);
            }
        }
        Err(Error::unavailable("too many make spaces at once"))
    }

    /// Whether a transaction without an answer has listed our row. The same row is inserted once more: then either
    /// it is there, or it was.
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

    /// Marks a space as dropped, for all processes.
    pub(super) async fn retire_space(&self, link: &Link, id: SpaceId) -> Result<SpaceRecord> {
        let mut attempts = self.attempts();
        while attempts.another().await {
            let version = self.refresh_spaces(link).await?;
            let space = self.spaces.get(id);
            let space =
                space.ok_or_else(|| Error::not_found("no such space").with("space", id.0))?;
            if space.record.retired {
                return Ok(space.record.clone());
            }
            let mut record = space.record.clone();
            record.retired = true;
            if self.relist(link, version, &space.record, &record, None).await? {
                self.spaces.set(record.clone());
                return Ok(record);
            }
        }
        Err(Error::unavailable("the space can't be dropped now").with("space", id.0))
    }

    /// Gives a space other rules, for all processes: each of them goes by these once it has looked at the list again.
    pub(super) async fn change_space(
        &self,
        link: &Link,
        id: SpaceId,
        [merge, keep]: [Option<RuleSpec>; 2],
    ) -> Result<()> {
        let mut attempts = self.attempts();
        while attempts.another().await {
            let version = self.refresh_spaces(link).await?;
            let space = self.spaces.usable(id)?;
            let record = self.spaces.with_rules(id, merge.clone(), keep.clone())?;
            // An attempt without an answer may have done it.
            if record == space.record {
                return Ok(());
            }
            if self.relist(link, version, &space.record, &record, None).await? {
                self.spaces.set(record);
                return Ok(());
            }
        }
        Err(Error::unavailable("the rules of the space can't be changed now").with("space", id.0))
    }

    /// Notes that the cells of a dropped space are gone.
    pub(super) async fn note_cleared(&self, link: &Link, record: &SpaceRecord) -> Result<()> {
        let version = self.refresh_spaces(link).await?;
        self.relist(link, version, record, record, Some(CLEARED)).await.map(drop)
    }

    async fn relist(
        &self,
        link: &Link,
        version: Option<i64>,
        before: &SpaceRecord,
        after: &SpaceRecord,
        state: Option<i64>,
    ) -> Result<bool> {
        let (old, new, sort) = (encode(before)?, encode(after)?, before.id.0.to_be_bytes());
        let mut batch = advance(link, version);
        batch.push(
            &link.statements.relist_space,
            [
                Arg::Bytes(&new),
                state.map_or(Arg::Null, Arg::Long),
                Arg::Long(OWN_BUCKET),
                Arg::Bytes(SPACES),
                Arg::Int(OWN),
                Arg::Bytes(&sort),
                Arg::Bytes(&old),
            ],
        );
        match link.conditional_batch(batch).await {
            Ok(done) => Ok(done),
            Err(Fate::NotDone(error)) => Err(error),
            // The next look at the list tells.
            Err(Fate::Unknown(_)) => Ok(false),
        }
    }

    /// A bucket id that nobody was given: a number that is skipped if its transaction has no answer.
    pub(super) async fn next_bucket(&self, link: &Link) -> Result<BucketId> {
        let place = (OWN_BUCKET, BUCKETS, OWN, NOTHING);
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

fn encode(record: &SpaceRecord) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|e| Error::internal("space can't be listed").because(e))
}
