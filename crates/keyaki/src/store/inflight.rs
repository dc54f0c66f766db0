//! Which stamps are out and not yet decided.
//!
//! Commits of different partitions may take in another order than they were stamped in. Whoever
//! reads in order of stamps, as the change feed does, must stop below the oldest stamp that is
//! still out, or it would pass by a commit that takes a moment later.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cell::{HybridClock, Tid, Time};

/// The stamps that are out.
#[derive(Default)]
pub struct Inflight {
    out: Mutex<BTreeSet<Time>>,
    newest: AtomicU64,
}

impl Inflight {
    /// Gives a stamp out; it counts as out until dropped.
    pub fn stamp(self: &Arc<Self>, clock: &HybridClock, node: u64) -> Stamp {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let time = clock.next();
        out.insert(time);
        Stamp { tid: Tid::new(time, node), inflight: self.clone() }
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
    pub fn settled_before(&self, clock: &HybridClock) -> Time {
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: whoever stamps next is later than this.
        out.first().copied().unwrap_or_else(|| clock.next())
    }
}

/// A commit's stamp while it is out.
pub struct Stamp {
    tid: Tid,
    inflight: Arc<Inflight>,
}

impl Stamp {
    /// The commit's id.
    pub fn tid(&self) -> Tid {
        self.tid
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        let mut out = self.inflight.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.remove(&self.tid.time());
    }
}
