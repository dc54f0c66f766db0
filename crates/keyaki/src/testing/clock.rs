//! A wall clock that says what a test tells it to, jumps included. It never moves by itself.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::cell::time::WallClock;

/// Shared through an `Arc`: the test keeps one handle and gives the other to the clock under test.
#[derive(Debug, Default)]
pub struct FakeClock {
    now_us: AtomicU64,
}

impl FakeClock {
    /// Stands at `now_us`, in microseconds since the Unix epoch.
    #[must_use]
    pub fn at(now_us: u64) -> Self {
        Self { now_us: AtomicU64::new(now_us) }
    }

    /// Jumps to `now_us`, forwards or back.
    pub fn set(&self, now_us: u64) {
        self.now_us.store(now_us, Relaxed);
    }

    /// Jumps forwards.
    pub fn advance(&self, by: Duration) {
        self.now_us.update(Relaxed, Relaxed, |now| now.saturating_add(micros(by)));
    }

    /// Jumps back, no further than the epoch.
    pub fn jump_back(&self, by: Duration) {
        self.now_us.update(Relaxed, Relaxed, |now| now.saturating_sub(micros(by)));
    }
}

impl WallClock for FakeClock {
    fn now_us(&self) -> u64 {
        self.now_us.load(Relaxed)
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
