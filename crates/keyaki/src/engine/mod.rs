//! Who keeps sorted cells, and what do they promise?
//!
//! A cell is `(space, partition, sort) -> value`; all are byte strings, and their order inside a
//! partition is memcmp. [`Engine`] is the whole contract; `memory` is the right answer in every
//! test, `embedded` the one that rests on a disk, `cql` the one that many processes share.
//!
//! # The promises
//! - **Home writes are atomic, isolated and durable when acknowledged.** If a condition is not
//!   met nothing is written, and the caller learns which and what is there now. Commit time
//!   rises strictly per home partition.
//! - **Dependents take effect exactly once, if and only if the home writes took.**
//! - **Home and derived spaces don't mix.** A home cell is changed only by commits of the
//!   partition that owns it; a derived cell is written blindly, as a dependent. At most one
//!   write per cell and commit, except that repeated merges fold in their order.
//! - **Merge** folds an operand into a derived cell with the space's associative function, which
//!   may depend on the order, exactly once with its commit. A cell whose operands it can't fold
//!   is hidden, and becomes visible once it can; a sweep takes it for *invalid*, and moves its
//!   operands to the quarantine one by one.
//! - **Keep**: what a space's rule no longer keeps is invisible to scans, reads and conditions
//!   from that moment. It is removed for good later; what was *invalid* rather than old is
//!   copied to the space's quarantine in the same step. On merged cells the rule judges the
//!   folded value. A cell at which it panics is hidden too, but stays.
//! - **Claims** reserve a name across partitions: taken with the commit, or the commit is
//!   refused and learns who has it.
//! - **A scan** goes forward or backward over a range of one partition, or over a split, in
//!   blocks. A scan resumed later sees the state of then.
//! - **Splits** cut a space into ranges of about equal size; together they cover it once.
//! - **A dropped space** is gone for every later read; its id is never given again.
//!
//! # What differs
//! | | memory | embedded | cql |
//! |---|---|---|---|
//! | dependents appear | with the home writes | with the home writes | a moment later |
//! | a scan sees | one snapshot | one snapshot | one for each of its pages |
//! | survives | nothing | a killed process; power loss with durability `sync` | what the cluster survives |
//! | home writes of one commit | as all its writes | as all its writes | 15 MiB, 60,000 cells |
//! | shards of an ordered view | as told | 1 | by settings, 4 |
//! | partitions have an order | yes | yes | no |
//! | changed rules hold | at once | at once | in other processes half a second later |
//! | a read asks | memory | memory or the disk | another machine |
//! | processes | one | one | any number |

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use crate::cell::{HybridClock, Time};
use crate::error::{Error, Result};

mod commit;
#[cfg(feature = "cql")]
pub mod cql;
pub mod embedded;
mod fold;
mod measure;
pub mod memory;
mod rules;
mod scan;
mod sight;
mod space;
mod stamps;
mod sweep;

pub use commit::{
    BULK_BYTES_MAX, COMMIT_BYTES_MAX, Commit, Condition, Expect, Home, Outcome, PAYLOAD_BYTES_MAX,
    Refusal, Route, Write, check_visibility,
};
pub use measure::{Distribution, Measure, Measured};
pub use rules::{Keep, Merge, RuleSpec, Rules, Unfoldable, Verdict};
pub use scan::{Area, Block, CellRef, Direction, Reading, Scan, ScanRequest, Split};
pub use space::{BucketId, SpaceId, SpaceKind, SpaceRecord, SpaceSpec};
pub use stamps::{Stamp, Stamps};

/// Where cells rest. See the module for what every engine promises.
#[async_trait]
pub trait Engine: Send + Sync {
    /// What stamps commits, and knows which are undecided.
    fn stamps(&self) -> &Arc<Stamps>;

    /// The clock they are stamped by; never behind anything stored.
    fn clock(&self) -> &HybridClock {
        self.stamps().clock()
    }

    /// Every commit stamped before this, by whichever process shares the engine, has been decided,
    /// and its dependents can be read.
    ///
    /// # Errors
    /// `Unavailable` if it can't be made sure now.
    async fn settled(&self) -> Result<Time> {
        Ok(self.stamps().settled_before())
    }

    /// Over how many partitions an ordered view is spread.
    fn view_shards(&self) -> u16 {
        1
    }

    /// Whether a read asks another machine: what saves one is then worth writing twice.
    fn reads_are_far(&self) -> bool {
        false
    }

    /// Sees to it that all that follows from the latest commit of a home can be read, whoever made it.
    ///
    /// # Errors
    /// `Unavailable` if it can't be made sure now.
    async fn follow_up(&self, _home: &Home) -> Result<()> {
        Ok(())
    }

    /// A bucket id that was never given before.
    ///
    /// # Errors
    /// `Unavailable` if it can't be made sure now.
    async fn new_bucket(&self) -> Result<BucketId>;

    /// Makes spaces, all or none; they are there for good once this answers.
    ///
    /// # Errors
    /// `Invalid` if the rules of one don't fit its kind, `Unsupported` if they are unknown.
    async fn create_spaces(&self, specs: Vec<SpaceSpec>) -> Result<Vec<SpaceId>>;

    /// Makes one.
    ///
    /// # Errors
    /// Those of [`Self::create_spaces`].
    async fn create_space(&self, spec: SpaceSpec) -> Result<SpaceId> {
        let made = self.create_spaces(vec![spec]).await?;
        made.first().copied().ok_or_else(|| Error::internal("no space was made"))
    }

    /// Drops spaces with all their cells, all or none. Dropping one again is no error.
    ///
    /// # Errors
    /// `NotFound` if there never was one of them.
    async fn drop_spaces(&self, spaces: Vec<SpaceId>) -> Result<()>;

    /// Gives a space other rules, which hold from then on, for what is there too. A merge rule
    /// can't be added or taken away: the cells would be of another kind.
    ///
    /// # Errors
    /// `NotFound` if there is no such space, `Invalid` or `Unsupported` if the rules don't fit or
    /// are unknown; `Unsupported` on engines whose spaces can't change.
    async fn change_rules(
        &self,
        space: SpaceId,
        _: Option<RuleSpec>,
        _: Option<RuleSpec>,
    ) -> Result<()> {
        Err(Error::unsupported("this engine can't change the rules of a space")
            .with("space", space.0))
    }

    /// All spaces ever made, dropped ones too, as far as this process knows.
    fn spaces(&self) -> Vec<SpaceRecord>;

    /// The same, and those that other processes have made until now.
    ///
    /// # Errors
    /// `Unavailable` if it can't be found out now.
    async fn all_spaces(&self) -> Result<Vec<SpaceRecord>> {
        Ok(self.spaces())
    }

    /// Does all of a commit, or nothing.
    ///
    /// # Errors
    /// `Invalid` if it breaks the contract; `Unavailable` if it can't be made durable now, in
    /// which case it is whole or absent.
    async fn commit(&self, commit: Commit) -> Result<Outcome>;

    /// The stored value of one cell, header included.
    ///
    /// # Errors
    /// `NotFound` if there is no such space.
    async fn read(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Begins a scan.
    ///
    /// # Errors
    /// `NotFound` if there is no such space.
    async fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>>;

    /// Cuts a space into at most `parts` ranges of about equal size.
    ///
    /// # Errors
    /// `NotFound` if there is no such space.
    async fn splits(&self, space: SpaceId, parts: usize) -> Result<Vec<Split>>;

    /// The part of a space with the partitions from `first` to `last`, both included; `None` where
    /// partitions have no order.
    fn partitions_between(&self, _: SpaceId, _first: &[u8], _last: &[u8]) -> Option<Split> {
        None
    }

    /// Whether commits can be made, as far as is known without trying.
    ///
    /// # Errors
    /// `Unavailable` once writing has stopped.
    fn writable(&self) -> Result<()> {
        Ok(())
    }

    /// The least partition of a space from `first` to `last`, both included, that shows a cell.
    ///
    /// # Errors
    /// `NotFound` if there is no such space.
    async fn first_partition(
        &self,
        space: SpaceId,
        first: &[u8],
        last: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let split = self.partitions_between(space, first, last);
        let split = split.ok_or_else(|| Error::internal("partitions have no order here"))?;
        let mut scan = self.scan(ScanRequest::split(space, split).limit(1)).await?;
        Ok(scan.next_block().await?.map(|block| block.get(0).partition().into_owned()))
    }

    /// Removes for good what the space's rules no longer keep.
    ///
    /// # Errors
    /// `NotFound` if there is no such space; else those of a commit.
    async fn sweep(&self, space: SpaceId) -> Result<Swept>;

    /// Folds and packs now what would be folded and packed in time.
    ///
    /// # Errors
    /// `NotFound` if there is no such space.
    async fn compact(&self, space: SpaceId) -> Result<()>;

    /// How large it is and what it has under way, for those who run it.
    ///
    /// # Errors
    /// `Unavailable` if it can't be found out now.
    async fn measures(&self) -> Result<Vec<Measure>> {
        let undecided = self.stamps().undecided();
        Ok(vec![Measure::now("commits_undecided", "commits under way", undecided)])
    }

    /// Copies the running store to a new directory.
    ///
    /// # Errors
    /// `Unsupported` where the engine has no directory; `Conflict` if `to` exists.
    async fn backup(&self, to: &Path) -> Result<()> {
        Err(Error::unsupported("this engine has no backup of its own").with("to", to.display()))
    }
}

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Cells whose time was over.
    pub expired: u64,
    /// Cells that were invalid, now in the quarantine.
    pub invalid: u64,
}
