//! Two small memories of fixed size that forget what they must: losing an entry costs a request, never the truth.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::cell::Time;
use crate::engine::commit::Home;

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

fn slot(hash: u64) -> usize {
    hash as usize % SLOTS
}
