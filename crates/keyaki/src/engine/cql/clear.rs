//! Removing the cells of dropped spaces, in the background: nobody reads them any more.

use super::Inner;
use super::cluster::{Batched, Link};
use super::fault::Fate;
use super::own::{DIRECTORY_SHARDS, OWN};
use super::statements::Arg;
use super::walk::{Names, directory_of};
use crate::cell::Time;
use crate::engine::commit::Home;
use crate::engine::space::{Space, SpaceKind, SpaceRecord};
use crate::error::{Error, Result};

impl Inner {
    /// Removes what dropped spaces have left, and notes which are empty now.
    pub(super) async fn clear_dropped(&self, link: &Link) -> Result<()> {
        let (mut empty, mut outcome) = (Vec::new(), Ok(()));
        for record in self.listing.uncleared() {
            outcome = self.clear(link, &record).await;
            if outcome.is_err() {
                break;
            }
            empty.push(record);
        }
        self.note_cleared(link, empty).await.and(outcome)
    }

    async fn clear(&self, link: &Link, record: &SpaceRecord) -> Result<()> {
        let Some(space) = self.spaces.get(record.id) else { return Ok(()) };
        let mut names = Names::all(directory_of(&space));
        while let Some((_, partition)) = names.next(link).await? {
            match record.spec.kind {
                SpaceKind::Derived => self.clear_derived(link, &space, &partition).await?,
                SpaceKind::Home => self.clear_home(link, &space, partition).await?,
            }
        }
        if record.spec.kind == SpaceKind::Derived {
            for shard in 0..DIRECTORY_SHARDS {
                let partition = directory_of(&space).partition(shard);
                let row = (for_good(), OWN, &partition[..]);
                link.blind(&link.statements.clear_derived, row).await?;
            }
        }
        Ok(())
    }

    async fn clear_derived(&self, link: &Link, space: &Space, partition: &[u8]) -> Result<()> {
        let row = (for_good(), space.id().0 as i32, partition);
        link.blind(&link.statements.clear_derived, row).await?;
        if space.merges() {
            let home = Home { bucket: space.record.spec.bucket, partition: partition.to_vec() };
            self.clear_home_rows(link, space, &home).await?;
        }
        Ok(())
    }

    async fn clear_home(&self, link: &Link, space: &Space, partition: Vec<u8>) -> Result<()> {
        let home = Home { bucket: space.record.spec.bucket, partition };
        let _turn = self.turns.take(&home).await?;
        self.clear_home_rows(link, space, &home).await
    }

    /// In a transaction that leaves the head as it is, if it is still so.
    async fn clear_home_rows(&self, link: &Link, space: &Space, home: &Home) -> Result<()> {
        let mut attempts = self.attempts();
        while attempts.another().await {
            let found = self.head(link, home).await?;
            let latest = found.latest().map_or(Arg::Null, |time| Arg::Long(time.micros() as i64));
            let pending = found.pending().map_or(Arg::Null, Arg::Tid);
            let place = [Arg::Long(home.bucket.0 as i64), Arg::Bytes(&home.partition)];
            let mut batch = Batched::default();
            batch.push(
                &link.statements.advance_head,
                [latest, pending, place[0], place[1], Arg::Int(OWN), Arg::Bytes(&[]), latest],
            );
            let cells = Arg::Int(space.id().0 as i32);
            batch.push(&link.statements.clear_home, [place[0], place[1], cells]);
            if link.conditional_batch(batch).await.map_err(Fate::into_error)? {
                return Ok(());
            }
        }
        Err(Error::unavailable("a partition changes too often to be cleared"))
    }
}

/// Later than anything: the id of a space is never given again.
fn for_good() -> i64 {
    Time::MAX.micros() as i64
}
