//! Cells on Cassandra, ScyllaDB and what speaks their language, shared by any number of processes.
//!
//! Two tables: `home` is written only by lightweight transactions, `derived` only at fixed timestamps (`schema`,
//! `statements`). A commit writes down its intent, lets its home decide, writes its dependents and deletes the intent
//! (`commit`, `home`, `effects`); whoever finds an intent can finish it (`settle`). Merged cells are a base and
//! operands that are folded into it later (`merged`, `rollup`).
//!
//! # What differs from the contract's best case
//! - Dependents trail their home writes for a moment. A caller whose commit is acknowledged finds them, unless the
//!   cluster failed in between.
//! - A scan that takes several pages shows each page's own time. A page, and so any point read, is whole.
//! - No reader of one process goes back behind a commit that it has seen; two processes may differ for a moment about
//!   one that nobody has acknowledged.
//! - Partitions have no order among themselves: a range across partitions goes through an ordered view.
//! - The home writes of one commit are one transaction of the cluster: at most 15 MiB and 60,000 cells.
//! - Merges and deletes of one derived cell by several homes are ordered by their stamps.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt};
use tokio::sync::{Mutex, Semaphore};

use super::commit::{Commit, Home, Outcome};
use super::rules::{RuleSpec, Rules};
use super::scan::{Scan, ScanRequest, Split};
use super::sight;
use super::space::{BucketId, Space, SpaceId, SpaceRecord, SpaceSpec, Spaces};
use super::{Engine, Measure, Stamps, Swept};
use crate::cell::{HybridClock, SystemWallClock, Time, WallClock, key};
use crate::error::{Error, Result};
use crate::settings::CqlSettings;

mod claims;
mod clear;
mod cluster;
mod commit;
mod departing;
mod effects;
mod fault;
#[cfg(test)]
mod golden;
mod home;
mod intent;
mod memo;
mod merged;
mod nodes;
mod own;
mod rollup;
mod rows;
mod scan;
mod schema;
mod settle;
mod spaces;
mod splits;
mod statements;
mod sweep;
mod tls;
mod turns;
mod walk;
mod wire;

use cluster::{Cluster, Link};
use merged::MergedCell;
use rows::Place;

/// Between rounds of what is done without being asked.
const ROUNDS_APART: Duration = Duration::from_millis(500);
/// Commits under way, their intents' ends included.
const COMMITS_MAX: usize = 1024;
const PAUSE_MS: u64 = 4;
const PAUSE_MS_MAX: u64 = 250;

/// An engine on a cluster.
pub struct CqlEngine {
    inner: Arc<Inner>,
}

/// What the engine's tasks share.
struct Inner {
    settings: CqlSettings,
    cluster: Cluster,
    stamps: Arc<Stamps>,
    spaces: Spaces,
    listing: spaces::Listing,
    /// This process among those that share the cluster.
    node: u64,
    nodes: nodes::Nodes,
    heads: memo::Heads,
    known: memo::Known,
    turns: turns::Turns,
    merges: memo::Merges,
    crowded: rollup::Crowded,
    waiting: rollup::Waiting,
    departing: departing::Departing,
    room: Arc<Semaphore>,
    /// Held while this process leaves, and while it folds of its own accord and must be listed for that.
    leaving: Mutex<()>,
}

impl CqlEngine {
    /// An engine on the cluster that the settings name, whether or not it is there yet, on the system's clock. Must be
    /// called inside a tokio runtime.
    ///
    /// # Errors
    /// `Invalid` if the settings make no sense.
    pub fn new(settings: CqlSettings, rules: Rules) -> Result<Self> {
        Self::with_clock(settings, rules, Arc::new(SystemWallClock))
    }

    /// As [`Self::new`], on a clock of the caller's.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_clock(
        settings: CqlSettings,
        rules: Rules,
        wall: Arc<dyn WallClock>,
    ) -> Result<Self> {
        let inner = Arc::new(Inner {
            cluster: Cluster::new(settings.clone())?,
            settings,
            stamps: Stamps::new(Arc::new(HybridClock::new(wall))),
            spaces: Spaces::new(Vec::new(), rules),
            listing: spaces::Listing::default(),
            node: random() >> 2,
            nodes: nodes::Nodes::default(),
            heads: memo::Heads::default(),
            known: memo::Known::default(),
            turns: turns::Turns::default(),
            merges: memo::Merges::default(),
            crowded: rollup::Crowded::default(),
            waiting: rollup::Waiting::default(),
            departing: departing::Departing::default(),
            room: Arc::new(Semaphore::new(COMMITS_MAX)),
            leaving: Mutex::default(),
        });
        for chore in [Chore::ShowUp, Chore::Settle, Chore::Fold, Chore::Clear] {
            tokio::spawn(keep_house(Arc::downgrade(&inner), chore));
        }
        Ok(Self { inner })
    }

    /// Waits until the cluster can be asked, and the spaces are known.
    ///
    /// # Errors
    /// `Unavailable` if it can't be reached.
    pub async fn connect(&self) -> Result<()> {
        let link = self.inner.cluster.link().await?;
        self.inner.catch_up(link).await?;
        self.inner.refresh_spaces(link).await.map(drop)
    }

    /// Finishes every commit that was begun and not finished, by whichever process, as a sweeper does. Answers how many
    /// there were. Safe at any time: a commit that is under way is made to be stamped anew.
    ///
    /// # Errors
    /// Those of the cluster.
    pub async fn settle(&self) -> Result<usize> {
        let link = self.inner.cluster.link().await?;
        self.inner.settle_all(link).await
    }

    /// Waits for all commits of this process to end, and tells the others that it is done: they need not wait for
    /// it. If it goes on all the same, it joins again.
    ///
    /// # Errors
    /// Those of the cluster; `Unavailable` if commits can't end in the time of two requests.
    pub async fn close(&self) -> Result<()> {
        let left = async {
            let all = self.inner.room.acquire_many(COMMITS_MAX as u32).await;
            let _all = all.map_err(|_| Error::internal("commits have ended"))?;
            let link = self.inner.cluster.link().await?;
            self.inner.leave(link).await
        };
        tokio::time::timeout(self.inner.settings.request_timeout * 2, left)
            .await
            .unwrap_or_else(|_| Err(Error::unavailable("commits under way can't be ended now")))
    }
}

impl Inner {
    /// A space that can be read and written; the list is looked at again if it is not known.
    async fn usable(&self, id: SpaceId) -> Result<Arc<Space>> {
        if self.spaces.get(id).is_none() {
            self.refresh_spaces(self.cluster.link().await?).await?;
        }
        self.spaces.usable(id)
    }

    /// Attempts at something that others or the cluster may be in the way of.
    fn attempts(&self) -> Attempts {
        Attempts { made: 0, until: Instant::now() + self.settings.request_timeout }
    }

    /// One round of what is done without being asked.
    async fn tidy_up(&self, chore: Chore) -> Result<()> {
        let link = self.cluster.link().await?;
        match chore {
            Chore::ShowUp => {
                self.keep_up(link).await?;
                self.refresh_spaces(link).await.map(drop)
            }
            Chore::Settle => self.settle_gone(link).await,
            Chore::Fold => {
                let folded = self.roll_up_crowded(link).await;
                self.unlist_due(link).await.and(folded)
            }
            Chore::Clear => self.clear_dropped(link).await,
        }
    }

    async fn stored(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        sort: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        match space.merges() {
            true => {
                let cell = MergedCell { space, partition, sort };
                let (value, crowded) = cell.value(link).await?;
                if crowded {
                    self.crowded.note(space.id(), partition, sort.to_vec());
                }
                Ok(value)
            }
            false => Place::of(space, partition).value(link, sort).await,
        }
    }
}

/// Attempts with pauses in between that grow, and that end after the time of one request.
struct Attempts {
    made: u32,
    until: Instant,
}

impl Attempts {
    /// Whether there is another, when its time has come.
    async fn another(&mut self) -> bool {
        if self.made > 0 {
            if Instant::now() >= self.until {
                return false;
            }
            let most = (PAUSE_MS << self.made.min(16)).min(PAUSE_MS_MAX);
            tokio::time::sleep(Duration::from_millis(1 + random() % most)).await;
        }
        self.made += 1;
        true
    }
}

/// What is done without being asked. Each has rounds of its own: some are long, and leases are short.
#[derive(Debug, Clone, Copy)]
enum Chore {
    /// To tell others that this process is there, and to hear from them.
    ShowUp,
    /// To finish for those that no longer do.
    Settle,
    /// To fold what is crowded.
    Fold,
    /// To remove what is dropped.
    Clear,
}

async fn keep_house(inner: Weak<Inner>, chore: Chore) {
    loop {
        tokio::time::sleep(ROUNDS_APART).await;
        let Some(inner) = inner.upgrade() else { return };
        if let Err(error) = inner.tidy_up(chore).await {
            tracing::debug!(%error, ?chore, "a round was not finished; the next one goes on");
        }
    }
}

/// Waits for all of these, so many at once, or for the first that fails.
async fn at_once(
    most: usize,
    all: impl Iterator<Item = impl Future<Output = Result<()>>>,
) -> Result<()> {
    let mut running = FuturesUnordered::new();
    for one in all {
        if running.len() == most {
            running.next().await.transpose()?;
        }
        running.push(one);
    }
    running.try_collect().await
}

/// Differs every time.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[async_trait]
impl Engine for CqlEngine {
    fn stamps(&self) -> &Arc<Stamps> {
        &self.inner.stamps
    }

    async fn settled(&self) -> Result<Time> {
        let link = self.inner.cluster.link().await?;
        self.inner.settled_by_all(link).await
    }

    fn view_shards(&self) -> u16 {
        self.inner.settings.view_shards.max(1)
    }

    fn reads_are_far(&self) -> bool {
        true
    }

    async fn follow_up(&self, home: &Home) -> Result<()> {
        let link = self.inner.cluster.link().await?;
        self.inner.finish_latest(link, home).await
    }

    async fn new_bucket(&self) -> Result<BucketId> {
        let link = self.inner.cluster.link().await?;
        self.inner.next_bucket(link).await
    }

    async fn create_spaces(&self, specs: Vec<SpaceSpec>) -> Result<Vec<SpaceId>> {
        let link = self.inner.cluster.link().await?;
        self.inner.list_spaces(link, &specs).await
    }

    async fn drop_spaces(&self, spaces: Vec<SpaceId>) -> Result<()> {
        let link = self.inner.cluster.link().await?;
        self.inner.retire_spaces(link, &spaces).await
    }

    async fn change_rules(
        &self,
        space: SpaceId,
        merge: Option<RuleSpec>,
        keep: Option<RuleSpec>,
    ) -> Result<()> {
        let link = self.inner.cluster.link().await?;
        self.inner.change_space(link, space, [merge, keep]).await
    }

    async fn all_spaces(&self) -> Result<Vec<SpaceRecord>> {
        self.inner.refresh_spaces(self.inner.cluster.link().await?).await?;
        Ok(self.spaces())
    }

    fn spaces(&self) -> Vec<SpaceRecord> {
        self.inner.spaces.records()
    }

    async fn commit(&self, commit: Commit) -> Result<Outcome> {
        if commit.spaces().any(|space| self.inner.spaces.get(space).is_none()) {
            self.inner.refresh_spaces(self.inner.cluster.link().await?).await?;
        }
        let sealed = commit.seal(&self.inner.spaces)?;
        tokio::spawn(self.inner.clone().commit(sealed))
            .await
            .map_err(|e| Error::internal("a commit was interrupted").because(e))?
    }

    async fn read(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        let space = self.inner.usable(space).await?;
        let link = self.inner.cluster.link().await?;
        let stored = self.inner.stored(link, &space, partition, sort).await?;
        let Some(value) = stored else { return Ok(None) };
        let mut stored_key = Vec::with_capacity(partition.len() + sort.len() + 8);
        key::cell_key(space.id().0, partition, sort, &mut stored_key);
        sight::seen(space, self.inner.stamps.clock(), &stored_key, value)
    }

    async fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let space = self.inner.usable(request.space).await?;
        scan::begin(&self.inner, &space, request)
    }

    async fn splits(&self, space: SpaceId, parts: usize) -> Result<Vec<Split>> {
        let space = self.inner.usable(space).await?;
        self.inner.splits(self.inner.cluster.link().await?, &space, parts).await
    }

    async fn first_partition(
        &self,
        space: SpaceId,
        first: &[u8],
        last: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let space = self.inner.usable(space).await?;
        let link = self.inner.cluster.link().await?;
        self.inner.first_partition(link, &space, first, last).await
    }

    async fn sweep(&self, space: SpaceId) -> Result<Swept> {
        let space = self.inner.usable(space).await?;
        self.inner.sweep(self.inner.cluster.link().await?, &space).await
    }

    async fn compact(&self, space: SpaceId) -> Result<()> {
        let link = self.inner.cluster.link().await?;
        self.inner.refresh_spaces(link).await?;
        let space = self.inner.spaces.existing(space)?;
        match space.merges() {
            true => self.inner.roll_up(link, &space).await,
            false => Ok(()),
        }
    }

    async fn measures(&self) -> Result<Vec<Measure>> {
        let held = COMMITS_MAX - self.inner.room.available_permits();
        Ok(vec![
            Measure::now("commits_undecided", "commits under way", self.inner.stamps.undecided()),
            Measure::now(
                "commits_unfinished",
                "commits whose intents are not yet deleted",
                held as u64,
            ),
        ])
    }
}
