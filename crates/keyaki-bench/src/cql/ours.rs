//! The engine as the store would use it, with one home space and one derived space.

use std::sync::Arc;

use keyaki::cell::Tid;
use keyaki::engine::cql::CqlEngine;
use keyaki::engine::{
    BucketId, Commit, Engine, Home, Outcome, Rules, ScanRequest, SpaceId, SpaceSpec,
};
use keyaki::settings::CqlSettings;

use crate::Result;

/// An engine and its spaces.
pub struct Ours {
    engine: Arc<CqlEngine>,
    node: u64,
    bucket: BucketId,
    /// Home cells.
    pub items: SpaceId,
    /// Derived cells.
    pub entries: SpaceId,
}

impl Ours {
    /// On a keyspace of its own.
    pub async fn open(settings: CqlSettings) -> Result<Self> {
        let engine = Arc::new(CqlEngine::new(settings, Rules::default())?);
        engine.connect().await?;
        let bucket = engine.new_bucket().await?;
        let items = engine.create_space(SpaceSpec::home(bucket, "items")).await?;
        let entries = engine.create_space(SpaceSpec::derived(bucket, "entries")).await?;
        Ok(Self { engine, node: 1, bucket, items, entries })
    }

    /// Another engine on the same cells, which shares nothing else with this one.
    pub async fn beside(&self, settings: CqlSettings) -> Result<Self> {
        let engine = Arc::new(CqlEngine::new(settings, Rules::default())?);
        engine.connect().await?;
        Ok(Self { engine, node: self.node + 1, ..*self })
    }

    /// Commits what `fill` says, as often as it must be stamped.
    pub async fn commit(
        &self,
        partition: &[u8],
        fill: impl Fn(&mut Commit) + Send + Sync,
    ) -> Result<Tid> {
        loop {
            let stamp = self.engine.stamps().stamp(self.node);
            let home = Home { bucket: self.bucket, partition: partition.to_vec() };
            let mut commit = Commit::new(home, stamp.tid());
            fill(&mut commit);
            let tid = stamp.tid();
            commit.carry(stamp);
            match self.engine.commit(commit).await? {
                Outcome::Done => return Ok(tid),
                Outcome::Stale => {}
                Outcome::Refused(_) => return Err("a commit of ours was refused".into()),
            }
        }
    }

    /// One derived cell's bytes.
    pub async fn read(&self, partition: &[u8], sort: &[u8]) -> Result<usize> {
        let found = self.engine.read(self.entries, partition, sort).await?;
        Ok(found.ok_or("a cell of ours is missing")?.len())
    }

    /// All bytes of a partition, and how many cells it has.
    pub async fn scan(&self, partition: &[u8]) -> Result<(usize, usize)> {
        let mut scan = self.engine.scan(ScanRequest::partition(self.entries, partition)).await?;
        let (mut cells, mut bytes) = (0, 0);
        while let Some(block) = scan.next_block().await? {
            cells += block.len();
            bytes += block.iter().map(|cell| cell.encoded().len()).sum::<usize>();
        }
        Ok((cells, bytes))
    }

    /// Waits until all intents are gone.
    pub async fn finish(&self) -> Result<()> {
        Ok(self.engine.close().await?)
    }
}
