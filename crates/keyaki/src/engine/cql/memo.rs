//! Small memories of fixed size that forget what they must: losing an entry costs a request, or a reader the promise
//! that it never goes back.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::cell::Time;
use crate::engine::commit::Home;
use crate::engine::space::BucketId;

const SLOTS: usize = 1 << 16;

/// Directory entries that are known to be written.
pub struct Known(Mutex<Vec<u128>>);

impl Default for Known {
    fn default() -> Self {
        Self(Mutex::new(vec![0; SLOTS]))
    }
}

impl Known {
    /// Whether it is remembered.
    pub fn holds(&self, name: u128) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[slot(name as u64)] == name
    }

    /// Remembers it in place of another.
    pub fn note(&self, name: u128) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[slot(name as u64)] = name;
    }
}

/// Heads of home partitions as they were left, with nothing pending. A wrong one makes a conditional write fail,
/// and then the head is read.
pub struct Heads {
    hasher: RandomState,
    slots: Mutex<Vec<(u64, Time)>>,
}

impl Default for Heads {
    fn default() -> Self {
        Self { hasher: RandomState::new(), slots: Mutex::new(vec![(0, Time::ZERO); SLOTS]) }
    }
}

impl Heads {
    /// The time of the latest commit, if it is remembered.
    pub fn latest(&self, home: &Home) -> Option<Time> {
        let hash = self.hash(home);
        let (found, time) = self.slots.lock().unwrap_or_else(PoisonError::into_inner)[slot(hash)];
        (found == hash && time > Time::ZERO).then_some(time)
    }

    /// Remembers a head, or forgets it.
    pub fn note(&self, home: &Home, latest: Option<Time>) {
        let hash = self.hash(home);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots[slot(hash)] = (hash, latest.unwrap_or(Time::ZERO));
    }

    fn hash(&self, home: &Home) -> u64 {
        self.hasher.hash_one((home.bucket, &home.partition))
    }
}

/// How often this process has merged into cells. One whose count is lost is counted anew.
pub struct Merges {
    hasher: RandomState,
    slots: Mutex<Vec<(u64, usize)>>,
}

impl Default for Merges {
    fn default() -> Self {
        Self { hasher: RandomState::new(), slots: Mutex::new(vec![(0, 0); SLOTS]) }
    }
}

impl Merges {
    /// Counts one. Answers whether it is the last of `most`, and begins anew then.
    pub fn count(&self, cell: impl Hash, most: usize) -> bool {
        let hash = self.hasher.hash_one(cell);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, merges) = &mut slots[slot(hash)];
        *merges = if *found == hash { *merges + 1 } else { 1 };
        *found = hash;
        let last = *merges == most;
        if last {
            *merges = 0;
        }
        last
    }
}

/// How new home partitions have been shown to readers of this process. While a transaction is being applied, one
/// quorum may show it and the next not yet; whoever has seen it must not be shown less.
pub struct Shown {
    hasher: RandomState,
    slots: Mutex<Vec<Newest>>,
}

#[derive(Clone, Copy)]
struct Newest {
    home: u64,
    shown: Time,
    /// Up to here every quorum shows it.
    settled: Time,
}

impl Default for Shown {
    fn default() -> Self {
        let none = Newest { home: 0, shown: Time::ZERO, settled: Time::ZERO };
        Self { hasher: RandomState::new(), slots: Mutex::new(vec![none; SLOTS]) }
    }
}

impl Shown {
    /// Notes the newest commit that a read has shown. Answers the one that an earlier read has shown, if that is newer
    /// and this read may not have reached it.
    pub fn note(&self, bucket: BucketId, partition: &[u8], newest: Time) -> Option<Time> {
        self.change(bucket, partition, |slot| {
            slot.shown = slot.shown.max(newest);
            (slot.shown > newest.max(slot.settled)).then_some(slot.shown)
        })
    }

    /// Notes that every read from now on shows this commit.
    pub fn settle(&self, bucket: BucketId, partition: &[u8], time: Time) {
        self.change(bucket, partition, |slot| slot.settled = slot.settled.max(time));
    }

    fn change<T>(
        &self,
        bucket: BucketId,
        partition: &[u8],
        with: impl FnOnce(&mut Newest) -> T,
    ) -> T {
        let home = self.hasher.hash_one((bucket, partition));
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let found = &mut slots[slot(home)];
        if found.home != home {
            *found = Newest { home, shown: Time::ZERO, settled: Time::ZERO };
        }
        with(found)
    }
}

fn slot(hash: u64) -> usize {
    hash as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_behind_if_an_earlier_one_was_newer() {
        let (shown, bucket) = (Shown::default(), BucketId(3));
        let [old, new, newest] = [1, 2, 3].map(Time::from_micros);
        assert_eq!(shown.note(bucket, b"p", new), None);
        assert_eq!(shown.note(bucket, b"p", new), None);
        assert_eq!(shown.note(bucket, b"p", old), Some(new));
        assert_eq!(shown.note(bucket, b"q", old), None, "another home");
        shown.settle(bucket, b"p", new);
        assert_eq!(shown.note(bucket, b"p", old), None, "every quorum shows it");
        assert_eq!(shown.note(bucket, b"p", newest), None);
        assert_eq!(shown.note(bucket, b"p", new), Some(newest));
    }

    #[test]
    fn one_merge_in_so_many_is_the_last() {
        let merges = Merges::default();
        let counted: Vec<bool> = (0..6).map(|_| merges.count(b"cell", 3)).collect();
        assert_eq!(counted, [false, false, true, false, false, true]);
    }
}
