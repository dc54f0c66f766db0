//! A BTreeMap behind a mutex: the right answer in every test, and nothing more.
//!
//! It keeps the whole contract, snapshots included, in the plainest way there is; durability and
//! speed it leaves to others. Its clock and its number of view shards can be set, so that tests
//! meet what other engines do.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::commit::{Sealed, StoredWrite, space_of};
use super::scan::{Block, CellRef, Direction, Scan, ScanRequest, Split};
use super::sight::{self, Sight};
use super::space::{BucketId, Space, SpaceId, SpaceRecord, SpaceSpec, Spaces};
use super::sweep::Condemned;
use super::{Commit, Engine, Measure, Outcome, RuleSpec, Rules, Stamps, Swept, fold};
use crate::cell::{HybridClock, SystemWallClock, Time, key};
use crate::error::Result;

/// Cells per block: few, so that tests meet block boundaries.
const BLOCK_CELLS: usize = 64;

/// An engine that forgets everything.
pub struct MemoryEngine {
    stamps: Arc<Stamps>,
    view_shards: u16,
    spaces: Spaces,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cells: BTreeMap<Vec<u8>, Vec<u8>>,
    latest: HashMap<(BucketId, Vec<u8>), Time>,
}

impl MemoryEngine {
    /// An empty engine on the system's clock.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with_clock(rules, HybridClock::new(Arc::new(SystemWallClock)))
    }

    /// An empty engine on a clock of the caller's.
    #[must_use]
    pub fn with_clock(rules: Rules, clock: HybridClock) -> Self {
        Self {
            stamps: Stamps::new(Arc::new(clock)),
            view_shards: 1,
            spaces: Spaces::new(Vec::new(), rules),
            state: Mutex::default(),
        }
    }

    /// With ordered views over so many partitions.
    #[must_use]
    pub fn with_view_shards(mut self, shards: u16) -> Self {
        self.view_shards = shards.max(1);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cell as a reader sees it: folded, and absent if its space doesn't keep it.
    fn seen(&self, space: Arc<Space>, state: &State, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(value) = state.cells.get(key) else { return Ok(None) };
        sight::seen(space, self.clock(), key, value.clone())
    }

    fn apply(&self, state: &mut State, commit: &Sealed) -> Result<()> {
        for (key, write) in commit.writes() {
            match write {
                StoredWrite::Put(value) => {
                    state.cells.insert(key.to_vec(), value.to_vec());
                }
                StoredWrite::Delete => {
                    state.cells.remove(key);
                }
                StoredWrite::Merge(operand) => {
                    let space = self.spaces.usable(space_of(key))?;
                    let folded = match state.cells.get(key) {
                        Some(base) => fold::fold_or_list(space.merge.as_deref(), &[base, operand]),
                        None => operand.to_vec(),
                    };
                    state.cells.insert(key.to_vec(), folded);
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Engine for MemoryEngine {
    fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    fn view_shards(&self) -> u16 {
        self.view_shards
    }

    async fn new_bucket(&self) -> Result<BucketId> {
        Ok(self.spaces.new_bucket())
    }

    async fn create_spaces(&self, specs: Vec<SpaceSpec>) -> Result<Vec<SpaceId>> {
        let _serial = self.state();
        let records = self.spaces.admit(specs)?;
        Ok(self.spaces.set_all(records))
    }

    async fn drop_spaces(&self, spaces: Vec<SpaceId>) -> Result<()> {
        let mut state = self.state();
        let retired = self.spaces.retire(&spaces)?;
        self.spaces.set_all(retired);
        state.cells.retain(|key, _| !spaces.contains(&space_of(key)));
        Ok(())
    }

    async fn change_rules(
        &self,
        space: SpaceId,
        merge: Option<RuleSpec>,
        keep: Option<RuleSpec>,
    ) -> Result<()> {
        let _serial = self.state();
        self.spaces.set(self.spaces.with_rules(space, merge, keep)?);
        Ok(())
    }

    fn spaces(&self) -> Vec<SpaceRecord> {
        self.spaces.records()
    }

    async fn commit(&self, commit: Commit) -> Result<Outcome> {
        let mut state = self.state();
        let commit = commit.seal(&self.spaces)?;
        let home = (commit.home().bucket, commit.home().partition.clone());
        if state.latest.get(&home).is_some_and(|latest| *latest >= commit.tid().time()) {
            return Ok(Outcome::Stale);
        }
        let refusals = commit.refusals(|key| {
            let space = self.spaces.usable(space_of(key))?;
            self.seen(space, &state, key)
        })?;
        if !refusals.is_empty() {
            return Ok(Outcome::Refused(refusals));
        }
        self.apply(&mut state, &commit)?;
        state.latest.insert(home, commit.tid().time());
        Ok(Outcome::Done)
    }

    async fn read(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        let space = self.spaces.usable(space)?;
        let mut key = Vec::new();
        key::cell_key(space.id().0, partition, sort, &mut key);
        self.seen(space, &self.state(), &key)
    }

    async fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let space = self.spaces.usable(request.space)?;
        let (from, to) = request.key_range();
        let (mut sight, state) = (Sight::new(space, self.clock()), self.state());
        let mut cells = Vec::new();
        if from < to {
            for (key, value) in state.cells.range((Bound::Included(from), Bound::Excluded(to))) {
                if let Some(value) = sight.see(key, value)? {
                    cells.push((key.clone(), value.into_owned()));
                }
            }
        }
        if request.direction == Direction::Backward {
            cells.reverse();
        }
        cells.truncate(request.limit.unwrap_or(usize::MAX));
        Ok(Box::new(MemoryScan { cells: cells.into_iter() }))
    }

    async fn splits(&self, space: SpaceId, parts: usize) -> Result<Vec<Split>> {
        self.spaces.usable(space)?;
        let (from, to) = key::space_range(space.0);
        let to = to.unwrap_or_else(|| vec![u8::MAX; key::KEY_BYTES_MAX + 1]);
        let state = self.state();
        let range = (Bound::Included(from.clone()), Bound::Excluded(to.clone()));
        let keys: Vec<&Vec<u8>> = state.cells.range(range).map(|(key, _)| key).collect();
        let step = keys.len().div_ceil(parts.max(1)).max(1);
        let mut bounds = vec![from];
        bounds.extend(keys.into_iter().step_by(step).skip(1).cloned());
        bounds.push(to);
        let split = |pair: &[Vec<u8>]| Split { from: pair[0].clone(), to: pair[1].clone() };
        Ok(bounds.windows(2).map(split).collect())
    }

    fn partitions_between(&self, space: SpaceId, first: &[u8], last: &[u8]) -> Option<Split> {
        Some(Split::of_partitions(space, first, last))
    }

    async fn sweep(&self, space: SpaceId) -> Result<Swept> {
        let space = self.spaces.usable(space)?;
        let (now, mut state) = (self.clock().now(), self.state());
        let mut condemned = Vec::new();
        for (key, value) in state.cells.iter().filter(|(key, _)| space_of(key) == space.id()) {
            condemned.extend(Condemned::judge(&space, key, value, now)?);
        }
        let mut swept = Swept::default();
        for cell in condemned.into_iter().filter(|cell| cell.may_go(&self.spaces)) {
            cell.count(&mut swept);
            state.cells.remove(&cell.key);
            state.cells.extend(cell.quarantined.into_iter().flat_map(|invalid| invalid.cells));
        }
        Ok(swept)
    }

    async fn compact(&self, space: SpaceId) -> Result<()> {
        self.spaces.existing(space).map(drop)
    }

    async fn measures(&self) -> Result<Vec<Measure>> {
        let cells = self.state().cells.len() as u64;
        Ok(vec![Measure::now("cells", "cells that are there", cells)])
    }
}

/// A scan over a copy of the range, which is what makes it a snapshot.
struct MemoryScan {
    cells: std::vec::IntoIter<(Vec<u8>, Vec<u8>)>,
}

#[async_trait]
impl Scan for MemoryScan {
    async fn next_block(&mut self) -> Result<Option<Block>> {
        let mut block = Block::default();
        for (key, value) in self.cells.by_ref().take(BLOCK_CELLS) {
            block.push(&CellRef::decode(&key, &value)?);
        }
        Ok((!block.is_empty()).then_some(block))
    }
}
