//! How long the writer waits for more commits before it syncs those it has.
//!
//! A sync costs the same for one commit and for fifty. Callers who were just answered are likely to come back, so it
//! waits a quarter as long as the last group took, unless as many are there as in the last two groups together. Whoever
//! commits alone never waits; of those who commit at once, half would have missed the group and waited for the next.
//! Where the disk is slow, a quarter is time enough for them to come back. Where it is quick, the writer had better work
//! while the next commits are made, and a thread sleeps longer than it was told.

use std::time::Duration;

/// The longest wait, however slow the disk is.
const WAIT_MAX: Duration = Duration::from_millis(1);
/// The shortest that is worth it.
const WAIT_MIN: Duration = Duration::from_micros(200);

/// What the last groups were like.
#[derive(Debug, Default)]
pub struct Pace {
    /// How many commits the last two had.
    sizes: [usize; 2],
    /// How long the last one took to be written.
    took: Duration,
}

impl Pace {
    /// How long to wait before so many are written.
    pub fn wait_with(&self, waiting: usize) -> Duration {
        let wait = (self.took / 4).min(WAIT_MAX);
        match waiting < self.expected() && wait >= WAIT_MIN {
            true => wait,
            false => Duration::ZERO,
        }
    }

    /// Notes a group that was written.
    pub fn note(&mut self, commits: usize, took: Duration) {
        self.sizes = [commits, self.sizes[0]];
        self.took = took;
    }

    fn expected(&self) -> usize {
        match self.sizes {
            [0 | 1, 0 | 1] => 1,
            [last, before] => last + before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_commits_alone_never_waits_and_others_but_a_little() {
        let mut pace = Pace::default();
        let sync = Duration::from_millis(3);
        assert_eq!(pace.wait_with(1), Duration::ZERO);
        pace.note(1, sync);
        pace.note(1, sync);
        assert_eq!(pace.wait_with(1), Duration::ZERO);
        pace.note(5, sync);
        pace.note(2, sync);
        assert_eq!(pace.wait_with(6), sync / 4);
        assert_eq!(pace.wait_with(7), Duration::ZERO);
        pace.note(2, Duration::from_secs(9));
        assert_eq!(pace.wait_with(1), WAIT_MAX);
        pace.note(2, Duration::from_micros(300));
        assert_eq!(pace.wait_with(1), Duration::ZERO);
    }
}
