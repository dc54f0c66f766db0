//! Which revisions are kept. A revision is judged by its age and by the newer ones of its item, so the rule holds at
//! once for every reader, and the sweeper only makes it permanent.

use std::time::Duration;

use crate::cell::Time;

/// Which revisions of an item are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    /// All.
    #[default]
    All,
    /// The latest so many, and each other one for a while after it was one of them.
    Latest {
        /// How many.
        count: usize,
        /// How long after so many newer ones were there.
        grace: Duration,
    },
    /// The latest so many of each interval.
    Interval {
        /// How many.
        count: usize,
        /// Of which length, counted from the epoch.
        interval: Duration,
    },
    /// Each for so long after it was written.
    Ttl {
        /// How long.
        ttl: Duration,
    },
}

/// What is swept a little late costs a little room, and nothing else.
const LATE_PART: u32 = 10;
const SWEEPS_APART_MIN: Duration = Duration::from_secs(60);
/// What is to be gone soon is: others want its room.
const TTL_SWEEPS_APART_MIN: Duration = Duration::from_secs(5);
const SWEEPS_APART_MAX: Duration = Duration::from_secs(3_600);

impl Retention {
    /// How long sweeps may be apart. Where nothing ever goes they only look for renames that were cut short.
    #[must_use]
    pub fn sweeps_apart(&self) -> Duration {
        let lasts = match *self {
            Self::All => return SWEEPS_APART_MAX,
            Self::Ttl { ttl } => {
                return (ttl / LATE_PART).clamp(TTL_SWEEPS_APART_MIN, SWEEPS_APART_MAX);
            }
            Self::Latest { grace, .. } => grace,
            Self::Interval { interval, .. } => interval,
        };
        (lasts / LATE_PART).clamp(SWEEPS_APART_MIN, SWEEPS_APART_MAX)
    }

    /// How many newer revisions decide on one.
    #[must_use]
    pub fn window(&self) -> usize {
        match self {
            Self::All | Self::Ttl { .. } => 0,
            Self::Latest { count, .. } | Self::Interval { count, .. } => (*count).max(1),
        }
    }

    /// Whether a revision of `time` is kept, if these are the times of the newer ones, the next newer first; more of
    /// them than [`Self::window`] change nothing.
    #[must_use]
    pub fn keeps(&self, time: Time, newer: &[Time], now: Time) -> bool {
        match *self {
            Self::All => true,
            Self::Latest { count, grace } => {
                let pushed_out = newer.get(count.max(1) - 1);
                pushed_out.is_none_or(|at| at.saturating_add(grace) > now)
            }
            Self::Interval { count, interval } => {
                let length = (interval.as_micros() as u64).max(1);
                let same = |newer: &&Time| newer.micros() / length == time.micros() / length;
                newer.is_empty() || newer.iter().filter(same).count() < count.max(1)
            }
            Self::Ttl { ttl } => time.saturating_add(ttl) > now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(hours: u64) -> Time {
        Time::from_micros(hours * HOUR.as_micros() as u64)
    }

    #[test]
    fn latest_keeps_so_many_and_the_others_for_a_while() {
        let rule = Retention::Latest { count: 2, grace: HOUR };
        assert!(rule.keeps(at(1), &[], at(100)));
        assert!(rule.keeps(at(1), &[at(2)], at(100)));
        assert!(!rule.keeps(at(1), &[at(2), at(3)], at(100)));
        assert!(rule.keeps(at(1), &[at(2), at(3)], Time::from_micros(at(4).micros() - 1)));
        assert!(!rule.keeps(at(1), &[at(2), at(3)], at(4)), "an hour after the third came");
        assert!(rule.keeps(at(1), &[at(2), at(50)], at(50)), "however old it was then");
        assert_eq!(rule.window(), 2, "the second newer one decides");
    }

    #[test]
    fn interval_keeps_the_latest_of_each() {
        let rule = Retention::Interval { count: 1, interval: 10 * HOUR };
        assert!(rule.keeps(at(9), &[at(10), at(11)], at(100)), "the last of its interval");
        assert!(!rule.keeps(at(8), &[at(9), at(10)], at(100)));
        assert!(rule.keeps(at(11), &[], at(100)), "the latest of all");
    }

    #[test]
    fn ttl_ends_at_its_moment() {
        let rule = Retention::Ttl { ttl: HOUR };
        assert!(rule.keeps(at(1), &[], Time::from_micros(at(2).micros() - 1)));
        assert!(!rule.keeps(at(1), &[], at(2)));
    }
}
