//! What a chain of operations may cost, and what it has cost so far. Exceeding it is an error that says which
//! limit it was.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bucket::graph::schema::GroupId;
use crate::cell::WallClock;
use crate::error::{Error, Result};

/// Limits of a chain; none is unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Operations in the chain, those inside others too.
    pub operations: Option<u64>,
    /// Items in the answer.
    pub results: Option<u64>,
    /// Cells that are read.
    pub scanned: Option<u64>,
    /// Items that are held in memory at once by an operation that needs them all.
    pub held: Option<u64>,
    /// Milliseconds.
    pub time_ms: Option<u64>,
}

/// The cost of a chain while it runs.
pub struct Budget {
    limits: Limits,
    clock: Arc<dyn WallClock>,
    started_us: u64,
    operations: AtomicU64,
    results: AtomicU64,
    scanned: AtomicU64,
    /// They are few.
    by_group: Mutex<Vec<(GroupId, u64)>>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Budget {
    /// Starts the clock.
    #[must_use]
    pub fn new(limits: Limits, clock: Arc<dyn WallClock>) -> Self {
        let started_us = clock.now_us();
        let zero = || AtomicU64::new(0);
        Self {
            limits,
            clock,
            started_us,
            operations: zero(),
            results: zero(),
            scanned: zero(),
            by_group: Mutex::default(),
        }
    }

    /// The time at which the chain started; all its functions see this one.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        (self.started_us / 1000) as i64
    }

    /// Counts an operation.
    ///
    /// # Errors
    /// `Invalid` if that is one too many.
    pub fn operation(&self) -> Result<()> {
        spend(&self.operations, 1, self.limits.operations, "operations")?;
        self.time()
    }

    /// Counts cells that were read, those that stay hidden too.
    ///
    /// # Errors
    /// `Invalid` if those are too many, or it has taken too long.
    pub fn scanned(&self, cells: u64) -> Result<()> {
        spend(&self.scanned, cells, self.limits.scanned, "scanned cells")?;
        self.time()
    }

    /// Notes of which group the cells were that the reader may see: of others nobody is told.
    pub fn seen_of(&self, group: GroupId, cells: u64) {
        let mut by_group = self.by_group.lock().unwrap_or_else(PoisonError::into_inner);
        match by_group.iter_mut().find(|(known, _)| *known == group) {
            Some((_, sum)) => *sum += cells,
            None => by_group.push((group, cells)),
        }
    }

    /// Counts items of the answer.
    ///
    /// # Errors
    /// `Invalid` if those are too many, or it has taken too long.
    pub fn results(&self, items: u64) -> Result<()> {
        spend(&self.results, items, self.limits.results, "results")?;
        self.time()
    }

    /// Checks how many items an operation holds.
    ///
    /// # Errors
    /// `Invalid` if those are too many.
    pub fn holding(&self, items: u64) -> Result<()> {
        check(items, self.limits.held, "held items")?;
        self.time()
    }

    /// How many cells were read so far, those that stay hidden too.
    #[must_use]
    pub fn cells_scanned(&self) -> u64 {
        self.scanned.load(Ordering::Relaxed)
    }

    /// How many of them the reader may see, by group.
    #[must_use]
    pub fn cells_by_group(&self) -> BTreeMap<GroupId, u64> {
        self.by_group.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// How many operations were run so far.
    #[must_use]
    pub fn operations_run(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// How many items the answer has so far.
    #[must_use]
    pub fn results_given(&self) -> u64 {
        self.results.load(Ordering::Relaxed)
    }

    /// Where time is not limited nobody looks at the clock.
    fn time(&self) -> Result<()> {
        if self.limits.time_ms.is_none() {
            return Ok(());
        }
        let taken_ms = self.clock.now_us().saturating_sub(self.started_us) / 1000;
        check(taken_ms, self.limits.time_ms, "milliseconds")
    }
}

fn spend(spent: &AtomicU64, more: u64, limit: Option<u64>, what: &'static str) -> Result<()> {
    check(spent.fetch_add(more, Ordering::Relaxed) + more, limit, what)
}

fn check(value: u64, limit: Option<u64>, what: &'static str) -> Result<()> {
    match limit {
        Some(limit) if value > limit => {
            Err(Error::invalid("a chain of operations costs more than it may")
                .with("limit", limit)
                .with("of", what))
        }
        _ => Ok(()),
    }
}
