//! Who stamps commits, and which stamps are out and not yet decided.
//!
//! Commits of different partitions may take in another order than they were stamped in. Whoever
//! reads in order of stamps, as the change feed does, must stop below the oldest stamp that is
//! still out, or it would pass by a commit that takes a moment later.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cell::{HybridClock, Tid, Time};

/// An engine's clock, and the stamps that are out.
pub struct Stamps {
    clock: Arc<HybridClock>,
    /// How often each time is held.
    out: Mutex<BTreeMap<Time, u32>>,
    newest: AtomicU64,
}

impl Stamps {
    /// None is out yet.
    #[must_use]
    pub fn new(clock: Arc<HybridClock>) -> Arc<Self> {
        Arc::new(Self { clock, out: Mutex::default(), newest: AtomicU64::new(0) })
    }

    /// The clock they are from.
    #[must_use]
    pub fn clock(&self) -> &Arc<HybridClock> {
        &self.clock
    }

    /// Gives a stamp out; it counts as out until dropped.
    pub fn stamp(self: &Arc<Self>, node: u64) -> Stamp {
        let mut out = self.out();
        let time = self.clock.next();
        out.insert(time, 1);
        Stamp { tid: Tid::new(time, node), stamps: self.clone() }
    }

    /// Keeps a stamp out until this is dropped, too, whoever gave it.
    #[cfg(feature = "cql")]
    pub fn hold(self: &Arc<Self>, tid: Tid) -> Stamp {
        *self.out().entry(tid.time()).or_insert(0) += 1;
        Stamp { tid, stamps: self.clone() }
    }

    /// Notes that a commit took.
    pub fn took(&self, time: Time) {
        self.newest.fetch_max(time.micros(), Relaxed);
    }

    /// The latest commit that is known to have taken. The clock goes on from there after a
    /// restart, whatever the wall clock says then: no position may be beyond it.
    pub fn newest(&self) -> Time {
        Time::from_micros(self.newest.load(Relaxed))
    }

    /// Every commit stamped before this has been decided.
    pub fn settled_before(&self) -> Time {
        let out = self.out();
        // Read under the lock: whoever stamps next is later than this.
        out.first_key_value().map_or_else(|| self.clock.next(), |(time, _)| *time)
    }

    /// How many stamps are out.
    pub fn undecided(&self) -> u64 {
        self.out().values().copied().map(u64::from).sum()
    }

    fn out(&self) -> MutexGuard<'_, BTreeMap<Time, u32>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A commit's stamp while it is out.
pub struct Stamp {
    tid: Tid,
    stamps: Arc<Stamps>,
}

impl Stamp {
    /// The commit's id.
    #[must_use]
    pub fn tid(&self) -> Tid {
        self.tid
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        let mut out = self.stamps.out();
        if let Some(holders) = out.get_mut(&self.tid.time()) {
            *holders -= 1;
            if *holders == 0 {
                out.remove(&self.tid.time());
            }
        }
    }
}
