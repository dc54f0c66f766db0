//! Which stamps are out and not yet decided.
//!
//! Commits of different partitions may take in another order than they were stamped in. Whoever
//! reads in order of stamps, as the change feed does, must stop below the oldest stamp that is
//! still out, or it would pass by a commit that takes a moment later.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cell::{HybridClock, Tid, Time};

/// The stamps that are out.
#[derive(Default)]
pub struct Inflight {
    out: Mutex<BTreeSet<Time>>,
}

impl Inflight {
    /// Gives a stamp out; it counts as out until dropped.
    pub fn stamp(self: &Arc<Self>, clock: &HybridClock, node: u64) -> Stamp {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let time = clock.next();
        out.insert(time);
        Stamp { tid: Tid::new(time, node), inflight: self.clone() }
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
