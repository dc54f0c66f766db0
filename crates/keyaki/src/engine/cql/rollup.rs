//! Folding operands into bases, so that reading a merged cell stays cheap.
//!
//! | step | what | if the process ends here |
//! |---|---|---|
//! | 1 | a transaction on the base: folded value, and the ids of the operands in it | the operands are listed, so nobody counts them twice |
//! | 2 | the operands' rows are deleted, each at its own time | the next fold deletes them again |
//! | 3 | a minute later, the ids leave the list | the next fold puts them on this waiting list again |
//!
//! Only operands whose commit is settled are folded, and only up to the first that is not: commits of one home are
//! folded in their order. The minute is for readers who have seen the rows and not yet the base.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cluster::{Batched, Link};
use super::fault::Fate;
use super::intent::at;
use super::merged;
use super::nodes::{Listed, Nodes};
use super::own;
use super::rows::{Base, Operand, Place, Range};
use super::statements::Arg;
use super::walk::{Names, directory_of};
use super::{Inner, at_once};
use crate::cell::Tid;
use crate::engine::space::{Space, SpaceId};
use crate::error::{Kind, Result};

/// Longer than a reader may take from the operands to the base.
const LISTED_FOR: Duration = Duration::from_secs(60);
const WAITING_MAX: usize = 10_000;
const CROWDED_MAX: usize = 1_000;
const AT_ONCE: usize = 32;
const OPERANDS_READ: i32 = 5_000;
const ROWS_DELETED: usize = 100;

/// Cells that readers found crowded, to be folded soon; a cell that finds no room here is found again.
#[derive(Default)]
pub struct Crowded(Mutex<BTreeSet<CellName>>);

/// Space, partition and sort key.
type CellName = (SpaceId, Vec<u8>, Vec<u8>);

impl Crowded {
    /// Asks for a cell to be folded.
    pub fn note(&self, space: SpaceId, partition: &[u8], sort: Vec<u8>) {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cells.len() < CROWDED_MAX {
            cells.insert((space, partition.to_vec(), sort));
        }
    }

    fn take(&self) -> BTreeSet<CellName> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Cells whose bases list ids that may leave.
#[derive(Default)]
pub struct Waiting(Mutex<VecDeque<(Instant, Cell)>>);

struct Cell {
    space: Arc<Space>,
    partition: Vec<u8>,
    sort: Vec<u8>,
    folded: Vec<Tid>,
}

impl Waiting {
    /// The next fold of a cell that finds no room here puts it here again.
    fn push(&self, cell: Cell) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push_back((Instant::now() + LISTED_FOR, cell));
        }
    }

    fn pop_due(&self) -> Option<Cell> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = waiting.front().is_some_and(|(due, _)| *due <= Instant::now());
        due.then(|| waiting.pop_front()).flatten().map(|(_, cell)| cell)
    }
}

/// Deletes rows of one cell, each at its own time: whoever writes one of them again changes nothing.
async fn delete_operands(
    link: &Link,
    space: &Space,
    partition: &[u8],
    sort: &[u8],
    folded: &[Tid],
) -> Result<()> {
    let rows: Vec<Vec<u8>> = folded.iter().map(|tid| own::operand(sort, *tid)).collect();
    let place = [Arg::Int(space.id().0 as i32), Arg::Bytes(partition)];
    let mut batch = Batched::default();
    for (tid, row) in folded.iter().zip(&rows) {
        let values = [Arg::Long(at(*tid)), place[0], place[1], Arg::Bytes(row)];
        batch.push(&link.statements.delete_derived, values);
    }
    link.blind_batch(batch).await
}

impl Inner {
    /// Folds all operands of a space that can be.
    pub(super) async fn roll_up(&self, link: &Link, space: &Arc<Space>) -> Result<()> {
        let nodes = self.fresh_nodes(link).await?;
        let mut names = Names::all(directory_of(space));
        loop {
            let mut partitions = Vec::with_capacity(AT_ONCE);
            while partitions.len() < AT_ONCE
                && let Some((_, partition)) = names.next(link).await?
            {
                partitions.push(partition);
            }
            if partitions.is_empty() {
                return Ok(());
            }
            let folds = partitions
                .iter()
                .map(|partition| self.roll_up_partition(link, space, partition, &nodes));
            at_once(AT_ONCE, folds).await?;
        }
    }

    /// One cell after the other: transactions on one partition would only make each other fail.
    async fn roll_up_partition(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        nodes: &[Listed],
    ) -> Result<()> {
        let mut range = Range::all();
        loop {
            let place = Place::of(space, partition);
            let operands = place.operands(link, &range, false, OPERANDS_READ).await?;
            let Some(last) = operands.last() else { return Ok(()) };
            range.from = [&last.sort[..], &[0]].concat();
            for cell in operands.chunk_by(|a, b| a.sort == b.sort) {
                self.roll_up_cell(link, space, partition, &cell[0].sort, nodes).await?;
            }
            if operands.len() < OPERANDS_READ as usize {
                return Ok(());
            }
        }
    }

    /// Folds cells that readers found crowded.
    pub(super) async fn roll_up_crowded(&self, link: &Link) -> Result<()> {
        let crowded = self.crowded.take();
        if crowded.is_empty() {
            return Ok(());
        }
        let nodes = self.listed(link).await?;
        for (space, partition, sort) in &crowded {
            if let Ok(space) = self.spaces.usable(*space) {
                self.roll_up_cell(link, &space, partition, sort, &nodes).await?;
            }
        }
        Ok(())
    }

    async fn fresh_nodes(&self, link: &Link) -> Result<Vec<Listed>> {
        self.keep_up(link).await?;
        self.listed(link).await
    }

    /// A transaction without an answer is followed by another look: what it has folded is listed.
    async fn roll_up_cell(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        sort: &[u8],
        nodes: &[Listed],
    ) -> Result<()> {
        let mut folded = Ok(());
        let mut attempts = self.attempts();
        while attempts.another().await {
            folded = self.fold_cell(link, space, partition, sort, nodes).await;
            if !folded.as_ref().is_err_and(|error| error.kind() == Kind::Unavailable) {
                break;
            }
        }
        folded
    }

    async fn fold_cell(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        sort: &[u8],
        nodes: &[Listed],
    ) -> Result<()> {
        let place = Place::of(space, partition);
        let operands = place.operands(link, &Range::one(sort), false, i32::MAX).await?;
        let base = place.base(link, sort).await?;
        let ready = operands.iter().take_while(|operand| {
            base.folded.contains(&operand.tid) || Nodes::is_settled(nodes, operand.tid)
        });
        let ready = &operands[..ready.count()];
        if ready.is_empty() {
            return Ok(());
        }
        let value = merged::folded(space, &base, ready);
        self.replace_base(link, space, partition, sort, &base, value.as_deref(), ready).await?;
        Ok(())
    }

    /// Moves a base on to a value that has these operands in it. Answers whether it did.
    #[expect(clippy::too_many_arguments, reason = "a cell, what it was, and what it becomes")]
    pub(super) async fn replace_base(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        sort: &[u8],
        base: &Base,
        value: Option<&[u8]>,
        operands: &[Operand],
    ) -> Result<bool> {
        let mut folded = base.folded.clone();
        folded.extend(operands.iter().map(|operand| operand.tid));
        folded.sort_unstable();
        folded.dedup();
        if !self.write_base(link, space, partition, sort, base.version, value, &folded).await? {
            return Ok(false);
        }
        for some in folded.chunks(ROWS_DELETED) {
            delete_operands(link, space, partition, sort, some).await?;
        }
        let (partition, sort) = (partition.to_vec(), sort.to_vec());
        self.waiting.push(Cell { space: space.clone(), partition, sort, folded });
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "a row, what it was, and what it becomes")]
    async fn write_base(
        &self,
        link: &Link,
        space: &Space,
        partition: &[u8],
        sort: &[u8],
        version: Option<i64>,
        value: Option<&[u8]>,
        folded: &[Tid],
    ) -> Result<bool> {
        let bucket = space.record.spec.bucket.0 as i64;
        let next = version.unwrap_or(0) + 1;
        let ids = Base::encode_folded(folded);
        let place = (bucket, partition, space.id().0 as i32, sort);
        let values = (value, next, &ids[..], place.0, place.1, place.2, place.3, version);
        link.conditional(&link.statements.fold, values).await.map_err(Fate::into_error)
    }

    /// Takes ids off lists where they have been long enough.
    pub(super) async fn unlist_due(&self, link: &Link) -> Result<()> {
        while let Some(cell) = self.waiting.pop_due() {
            let Cell { space, partition, sort, folded } = &cell;
            let base = Place::of(space, partition).base(link, sort).await?;
            let mut left = base.folded.clone();
            left.retain(|tid| !folded.contains(tid));
            let value = base.value.as_deref();
            self.write_base(link, space, partition, sort, base.version, value, &left).await?;
        }
        Ok(())
    }
}
