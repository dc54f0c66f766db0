//! The latest commit time of each home partition, in bounded memory.
//!
//! A table of small sets: a partition's hash picks its set, which remembers the partitions of its
//! latest commits by their whole hash. What a set forgets raises its floor, and a partition it
//! doesn't know may have committed as late as that. Invariant: [`LatestTimes::of`] is never below
//! the partition's latest commit, and a set's floor is never above what it remembers; two
//! partitions of one hash are taken for one.
//!
//! So a commit that was under way for long is taken for stale without need only if more than
//! [`WAYS`] other partitions of its set have committed since it was stamped. With 10,000 such
//! commits on as many partitions that happens to one in 50 million, with 50,000 to one in 200.

use crate::cell::Time;

const SETS: usize = 1 << 14;
const WAYS: usize = 8;

/// See above.
pub struct LatestTimes {
    sets: Vec<Set>,
}

#[derive(Clone, Copy)]
struct Set {
    floor: Time,
    recent: [Recent; WAYS],
}

/// A partition that committed.
#[derive(Clone, Copy)]
struct Recent {
    hash: u64,
    time: Time,
}

impl LatestTimes {
    /// Any partition may have committed as late as `newest`.
    pub fn new(newest: Time) -> Self {
        let nobody = Recent { hash: 0, time: newest };
        Self { sets: vec![Set { floor: newest, recent: [nobody; WAYS] }; SETS] }
    }

    /// A time at or after the latest commit of the partition with this hash.
    pub fn of(&self, hash: u64) -> Time {
        let set = &self.sets[place(hash)];
        let known = set.recent.iter().filter(|recent| recent.hash == hash);
        known.fold(set.floor, |latest, recent| latest.max(recent.time))
    }

    /// Notes a commit, which is later than [`Self::of`] its partition.
    pub fn rise(&mut self, hash: u64, time: Time) {
        debug_assert!(time > self.of(hash), "commit time rises");
        let set = &mut self.sets[place(hash)];
        let risen = Recent { hash, time };
        if let Some(known) = set.recent.iter_mut().find(|recent| recent.hash == hash) {
            *known = risen;
            return;
        }
        let earliest = set.recent.iter_mut().min_by_key(|recent| recent.time);
        let earliest = earliest.expect("a set has room for some");
        let forgotten = match earliest.time < time {
            true => std::mem::replace(earliest, risen),
            false => risen,
        };
        set.floor = set.floor.max(forgotten.time);
    }
}

fn place(hash: u64) -> usize {
    hash as usize % SETS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::testing::random::Random;

    /// How many of `waiting` partitions that were stamped at `stamp` are taken for stale.
    fn stale(latest: &LatestTimes, random: &mut Random, waiting: usize, stamp: Time) -> usize {
        (0..waiting).filter(|_| latest.of(random.number()) >= stamp).count()
    }

    #[test]
    fn no_partition_is_ever_later_than_it_is_said_to_be() {
        let mut random = Random::seeded(7);
        let newest = Time::from_micros(1_000);
        let (mut latest, mut right) = (LatestTimes::new(newest), HashMap::new());
        // Few sets, each met by more partitions than it remembers; hash 0 is one of them.
        let hash = |random: &mut Random| (random.below(3) + random.below(20) * SETS) as u64;
        let mut stamps = 1_000;
        for _ in 0..100_000 {
            let hash = hash(&mut random);
            stamps += random.below(3) as u64;
            // Commits are not decided in the order of their stamps.
            let time = Time::from_micros(stamps - random.below(40) as u64);
            let said = latest.of(hash);
            assert!(said >= *right.get(&hash).unwrap_or(&newest));
            if said < time {
                latest.rise(hash, time);
                right.insert(hash, time);
            }
        }
        assert!(right.len() > 50, "many have committed");
    }

    #[test]
    fn a_partition_that_is_remembered_has_its_own_time() {
        let mut latest = LatestTimes::new(Time::ZERO);
        let hashes: Vec<u64> = (0..WAYS).map(|way| (way * SETS) as u64).collect();
        for (at, hash) in (1..).zip(&hashes) {
            latest.rise(*hash, Time::from_micros(at));
        }
        for (at, hash) in (1..).zip(&hashes) {
            assert_eq!(latest.of(*hash), Time::from_micros(at));
        }
        let stranger = (WAYS * SETS) as u64;
        assert_eq!(latest.of(stranger), Time::ZERO, "nothing is forgotten yet");
        latest.rise(stranger, Time::from_micros(100));
        assert_eq!(latest.of(hashes[0]), Time::from_micros(1), "the earliest is the floor now");
        assert_eq!(latest.of(hashes[1]), Time::from_micros(2));
        assert_eq!(latest.of(stranger), Time::from_micros(100));
    }

    #[test]
    fn commits_on_other_partitions_rarely_make_one_stale() {
        let mut random = Random::seeded(7);
        let stamp = Time::from_micros(1_000);
        let mut latest = LatestTimes::new(Time::ZERO);
        let mut now = 1_000;
        for (commits, most) in [(10_000, 0), (40_000, 1_000)] {
            for _ in 0..commits {
                now += 1;
                latest.rise(random.number(), Time::from_micros(now));
            }
            let unlucky = stale(&latest, &mut random, 100_000, stamp);
            assert!(unlucky <= most, "{unlucky} after {} commits", now - 1_000);
        }
    }
}
