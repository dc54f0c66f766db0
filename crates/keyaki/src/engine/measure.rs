//! What an engine tells of itself to those who run it: how large it is, and what it has under way. Names are short and
//! say their unit; whoever shows them puts its own before them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One thing that is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// What it is called: lower case, with its unit last.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// How it stands.
    pub value: Measured,
}

/// How something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measured {
    /// So much of it is there now.
    Now(u64),
    /// So many sizes were noted since the engine was opened.
    Sizes(Distribution),
}

impl Measure {
    /// Something of which there is so much now.
    #[must_use]
    pub fn now(name: &'static str, meaning: &'static str, value: u64) -> Self {
        Self { name, meaning, value: Measured::Now(value) }
    }
}

/// Sizes by powers of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// How many were at most 1, 2, 4 and so on, each with those before it; larger ones are in `count` alone.
    pub at_most: Vec<(u64, u64)>,
    /// All of them together.
    pub sum: u64,
    /// How many there were.
    pub count: u64,
}

/// Powers of two that are told apart: up to 512.
const POWERS: usize = 10;

/// Notes sizes, from any thread and without waiting.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// By the least power of two that holds them; the last one holds all that are larger.
    counts: [AtomicU64; POWERS + 1],
    sum: AtomicU64,
}

impl Sizes {
    pub fn note(&self, size: usize) {
        let power = size.max(1).next_power_of_two().trailing_zeros() as usize;
        self.counts[power.min(POWERS)].fetch_add(1, Relaxed);
        self.sum.fetch_add(size as u64, Relaxed);
    }

    pub fn so_far(&self) -> Distribution {
        let sum = self.sum.load(Relaxed);
        let mut count = 0;
        let mut at_most = Vec::with_capacity(POWERS);
        for (power, counted) in self.counts.iter().enumerate() {
            count += counted.load(Relaxed);
            if power < POWERS {
                at_most.push((1 << power, count));
            }
        }
        Distribution { at_most, sum, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_under_the_least_power_that_holds_them() {
        let sizes = Sizes::default();
        for size in [1, 1, 2, 3, 4, 512, 513, 9000] {
            sizes.note(size);
        }
        let noted = sizes.so_far();
        assert_eq!((noted.count, noted.sum), (8, 10_036));
        let below = |most| noted.at_most.iter().find(|(size, _)| *size == most).unwrap().1;
        assert_eq!([1, 2, 4, 256, 512].map(below), [2, 3, 5, 5, 6]);
        assert_eq!(noted.at_most.len(), POWERS);
    }
}
