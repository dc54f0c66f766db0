//! Whether a recorded history of one register is linearisable: whether its operations can be put in an order in which
//! each finds what the one before left, and none comes before one that had ended when it began (Wing and Gong's
//! search, with Lowe's memory of what was tried).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// An operation, from when it was called to when it answered. Values are numbers; 0 is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub register: String,
    pub begun_us: u64,
    pub ended_us: u64,
    pub act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Found this.
    Read { found: u64 },
    /// Put one value in the place of another.
    Swap { from: u64, to: u64 },
    /// Did not, because this was there.
    Refused { from: u64, found: u64 },
    /// Did it or did not, then or ever.
    Unknown { from: u64, to: u64 },
}

impl Act {
    /// What it leaves behind, if it can be done where `value` is.
    fn on(self, value: u64) -> Option<u64> {
        match self {
            Self::Read { found } => (found == value).then_some(value),
            Self::Swap { from, to } | Self::Unknown { from, to } => (from == value).then_some(to),
            Self::Refused { from, found } => (found == value && from != value).then_some(value),
        }
    }

    fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

/// Whether these operations of one register have an order.
pub fn is_linearisable(operations: &[Operation]) -> bool {
    let mut search = Search { operations, tried: HashSet::new() };
    search.goes_on(&mut vec![false; operations.len()], 0)
}

struct Search<'a> {
    operations: &'a [Operation],
    tried: HashSet<(Vec<bool>, u64)>,
}

impl Search<'_> {
    fn goes_on(&mut self, done: &mut Vec<bool>, value: u64) -> bool {
        let left = || (0..done.len()).filter(|at| !done[*at]);
        let known = || left().filter(|at| !self.operations[*at].act.is_unknown());
        // The next one can't have begun after another that is left had ended.
        let Some(first_end) = known().map(|at| self.operations[at].ended_us).min() else {
            return true;
        };
        let next: Vec<_> = left().filter(|at| self.operations[*at].begun_us <= first_end).collect();
        if !self.tried.insert((done.clone(), value)) {
            return false;
        }
        for at in next {
            let Some(left_behind) = self.operations[at].act.on(value) else { continue };
            done[at] = true;
            if self.goes_on(done, left_behind) {
                return true;
            }
            done[at] = false;
        }
        false
    }
}

fn history(operations: &[(u64, u64, Act)]) -> Vec<Operation> {
    let operation = |&(begun_us, ended_us, act): &(u64, u64, Act)| Operation {
        register: String::new(),
        begun_us,
        ended_us,
        act,
    };
    operations.iter().map(operation).collect()
}

#[test]
fn an_order_is_found_where_there_is_one() {
    let swap = |from, to| Act::Swap { from, to };
    let concurrent = history(&[
        (0, 10, swap(1, 2)),
        (0, 10, swap(0, 1)),
        (5, 20, Act::Read { found: 1 }),
        (12, 30, Act::Refused { from: 1, found: 2 }),
        (0, 40, Act::Unknown { from: 2, to: 3 }),
        (50, 60, Act::Read { found: 3 }),
    ]);
    assert!(is_linearisable(&concurrent));
}

#[test]
fn no_order_is_found_where_there_is_none() {
    let swap = |from, to| Act::Swap { from, to };
    let read = |found| Act::Read { found };
    for impossible in [
        vec![(0, 1, swap(0, 1)), (2, 3, read(0))],
        vec![(0, 9, swap(0, 1)), (0, 9, swap(0, 2))],
        vec![(0, 1, swap(0, 1)), (2, 3, Act::Refused { from: 1, found: 1 })],
        vec![(0, 1, Act::Unknown { from: 0, to: 1 }), (2, 3, read(1)), (4, 5, read(0))],
        vec![(0, 9, swap(0, 1)), (1, 2, read(1)), (3, 4, read(0))],
        vec![(0, 1, read(7))],
    ] {
        assert!(!is_linearisable(&history(&impossible)), "{impossible:?}");
    }
}
