//! Folding operands into bases, so that reading a merged cell stays cheap.
//!
//! | step | what | if the process ends here |
//! |---|---|---|
//! | 1 | a transaction on the base: folded value, and the ids of the operands in it | the operands are listed, so nobody counts them twice |
//! | 2 | the operands' rows below the *floor* are deleted, all by one range | the next fold deletes them again |
//! | 3 | a minute later, their ids leave the list | the next fold puts them on this waiting list again |
//!
//! The floor is the time below which every process is settled: all operands below it are there, and no other ever
//! will be. So they are folded in the order of their commits, and a range deleted at the floor's time hits none that
//! was not; written again by whoever is late, they stay deleted. The minute is for readers who have seen the rows
//! and not yet the base.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cluster::Link;
use super::fault::Fate;
use super::merged::{self, MergedCell};
use super::own;
use super::rows::{Base, Operand, Place, Range};
use super::walk::{Names, directory_of};
use super::{Inner, at_once};
use crate::cell::{Tid, Time};
use crate::engine::space::{Space, SpaceId};
use crate::error::{Kind, Result};

/// Longer than a reader may take from the operands to the base.
const LISTED_FOR: Duration = Duration::from_secs(60);
const WAITING_MAX: usize = 10_000;
const CROWDED_MAX: usize = 1_000;
/// How long ids leave lists before others are folded.
const UNLISTING_MAX: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 32;
const OPERANDS_READ: i32 = 1_000;
/// Operands that are folded at once: they and their ids go through the cluster's transactions.
pub const FOLDED_AT_ONCE: usize = 256;
/// A base that lists so many ids waits until some of them have left.
const LISTED_MAX: usize = 50_000;

/// Cells that readers or writers found crowded, to be folded soon; a cell that finds no room here is found again.
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

    /// All that were asked for until now.
    pub fn take(&self) -> BTreeSet<CellName> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MergedCell<'_> {
    /// Moves its base on from a version. Answers whether it was still there.
    async fn write_base(
        self,
        link: &Link,
        version: Option<i64>,
        value: Option<&[u8]>,
        folded: &[Tid],
    ) -> Result<bool> {
        let bucket = self.space.record.spec.bucket.0 as i64;
        let next = version.unwrap_or(0) + 1;
        let ids = Base::encode_folded(folded);
        let place = (bucket, self.partition, self.space.id().0 as i32, self.sort);
        let values = (value, next, &ids[..], place.0, place.1, place.2, place.3, version);
        link.conditional(&link.statements.fold, values).await.map_err(Fate::into_error)
    }

    /// Deletes the rows of all operands below a floor.
    async fn delete_operands(self, link: &Link, floor: Time) -> Result<()> {
        let (from, to) =
            (own::operands_from(self.sort), own::operand(self.sort, Tid::new(floor, 0)));
        let at = floor.micros() as i64 - 1;
        let rows = (at, self.space.id().0 as i32, self.partition, &from[..], &to[..]);
        link.blind(&link.statements.delete_range, rows).await
    }
}

/// Cells whose bases list ids that may leave.
#[derive(Default)]
pub struct Waiting(Mutex<VecDeque<(Instant, Folded)>>);

/// A cell whose operands below a floor are folded, and their rows gone.
struct Folded {
    space: Arc<Space>,
    partition: Vec<u8>,
    sort: Vec<u8>,
    floor: Time,
}

impl Waiting {
    /// The next fold of a cell that finds no room here puts it here again.
    fn push(&self, cell: Folded) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push_back((Instant::now() + LISTED_FOR, cell));
        }
    }

    fn pop_due(&self) -> Option<Folded> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = waiting.front().is_some_and(|(due, _)| *due <= Instant::now());
        due.then(|| waiting.pop_front()).flatten().map(|(_, cell)| cell)
    }
}

impl Inner {
    /// Folds all operands of a space that can be.
    pub(super) async fn roll_up(&self, link: &Link, space: &Arc<Space>) -> Result<()> {
        let floor = self.settled_by_all(link).await?;
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
                .map(|partition| self.roll_up_partition(link, space, partition, floor));
            at_once(AT_ONCE, folds).await?;
        }
    }

    /// One cell after the other: transactions on one partition would only make each other fail.
    async fn roll_up_partition(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        floor: Time,
    ) -> Result<()> {
        let mut range = Range::all();
        loop {
            let place = Place::of(space, partition);
            let operands = place.operands(link, &range, false, OPERANDS_READ).await?;
            let Some(last) = operands.last() else { return Ok(()) };
            range.from = [&last.sort[..], &[0]].concat();
            for cell in operands.chunk_by(|a, b| a.sort == b.sort) {
                let cell = MergedCell { space, partition, sort: &cell[0].sort };
                self.roll_up_cell(link, cell, floor).await?;
            }
            if operands.len() < OPERANDS_READ as usize {
                return Ok(());
            }
        }
    }

    /// Folds cells that were found crowded.
    pub(super) async fn roll_up_crowded(&self, link: &Link) -> Result<()> {
        let leaving = self.leaving.lock().await;
        let crowded = self.crowded.take();
        if crowded.is_empty() {
            return Ok(());
        }
        let floor = self.settled_by_all(link).await?;
        drop(leaving);
        let mut outcome = Ok(());
        for (space, partition, sort) in &crowded {
            if let Ok(space) = self.spaces.usable(*space) {
                let cell = MergedCell { space: &space, partition, sort };
                // One that can't be folded is in no other's way.
                outcome = outcome.and(self.roll_up_cell(link, cell, floor).await);
            }
        }
        outcome
    }

    /// Folds all operands of a cell that can be. A transaction without an answer is followed by another look: what it has
    /// folded is listed.
    pub(super) async fn roll_up_cell(
        &self,
        link: &Link,
        cell: MergedCell<'_>,
        floor: Time,
    ) -> Result<()> {
        let mut more = Ok(false);
        let mut attempts = self.attempts();
        while attempts.another().await {
            more = self.fold_cell(link, cell, floor).await;
            match &more {
                Ok(true) => attempts = self.attempts(),
                Err(error) if error.kind() == Kind::Unavailable => {}
                _ => break,
            }
        }
        more.map(drop)
    }

    /// Folds the oldest operands of a cell. Answers whether it did, and more may be left.
    async fn fold_cell(&self, link: &Link, cell: MergedCell<'_>, floor: Time) -> Result<bool> {
        let (base, mut operands) = cell.to_fold(link, FOLDED_AT_ONCE).await?;
        // All below the last that was read were read: it is as good a floor.
        let cut = operands.get(FOLDED_AT_ONCE - 1).map(|last| last.tid.time());
        let floor = cut.map_or(floor, |cut| floor.min(cut));
        operands.retain(|operand| operand.tid.time() < floor);
        if operands.is_empty() {
            return Ok(false);
        }
        if base.folded.len() + operands.len() > LISTED_MAX {
            // Whoever listed so many may be gone: their rows are, from here on, and they leave in a minute.
            let new = operands.iter().find(|operand| !base.lists(operand.tid));
            self.delete_folded(link, cell, new.map_or(floor, |new| new.tid.time())).await?;
            return Ok(false);
        }
        let value = merged::folded(cell.space, &base, &operands);
        let value = value.as_deref();
        let replaced = self.replace_base(link, cell, &base, value, &operands, floor).await?;
        Ok(replaced && cut.is_some())
    }

    /// Moves a base on to a value that has these operands in it. Answers whether it did. The floor must have been
    /// one before they were read.
    pub(super) async fn replace_base(
        &self,
        link: &Link,
        cell: MergedCell<'_>,
        base: &Base,
        value: Option<&[u8]>,
        operands: &[Operand],
        floor: Time,
    ) -> Result<bool> {
        let mut folded = base.folded.clone();
        folded.extend(operands.iter().map(|operand| operand.tid));
        folded.sort_unstable();
        folded.dedup();
        if !cell.write_base(link, base.version, value, &folded).await? {
            return Ok(false);
        }
        self.delete_folded(link, cell, floor).await.map(|()| true)
    }

    /// Deletes the rows of operands below a floor, all of which a base lists; later they leave its list.
    async fn delete_folded(&self, link: &Link, cell: MergedCell<'_>, floor: Time) -> Result<()> {
        cell.delete_operands(link, floor).await?;
        let MergedCell { space, partition, sort } = cell;
        let (partition, sort) = (partition.to_vec(), sort.to_vec());
        self.waiting.push(Folded { space: space.clone(), partition, sort, floor });
        Ok(())
    }

    /// Takes ids off lists where they have been long enough, for a while: others are to be folded, too.
    pub(super) async fn unlist_due(&self, link: &Link) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < UNLISTING_MAX
            && let Some(Folded { space, partition, sort, floor }) = self.waiting.pop_due()
        {
            let cell = MergedCell { space: &space, partition: &partition, sort: &sort };
            let base = cell.place().base(link, cell.sort).await?;
            let mut left = base.folded.clone();
            left.retain(|tid| tid.time() >= floor);
            cell.write_base(link, base.version, base.value.as_deref(), &left).await?;
        }
        Ok(())
    }
}
