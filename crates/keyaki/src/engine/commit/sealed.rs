//! A sealed commit, as engines take it: conditions to check, and writes as they are stored.

use super::{Companions, Condition, Expect, Home, Refusal, Slot, SlotKind, space_of};
use crate::cell::{Tid, ValueRef};
use crate::engine::space::SpaceId;
#[cfg(feature = "cql")]
use crate::engine::space::SpaceKind;
use crate::error::Result;

/// A commit that keeps the contract: sorted, at most one write per cell.
#[derive(Debug)]
pub struct Sealed {
    pub(super) tid: Tid,
    pub(super) home: Home,
    pub(super) expectations: Vec<(Vec<u8>, Expect)>,
    pub(super) claims: Vec<SealedClaim>,
    pub(super) bytes: Vec<u8>,
    pub(super) slots: Vec<Slot>,
    pub(super) companions: Companions,
}

/// A name that a commit takes or gives back.
#[derive(Debug)]
pub struct SealedClaim {
    /// The stored key of the cell that says who has it.
    pub key: Vec<u8>,
    /// Who takes it, or gives it back.
    pub owner: Vec<u8>,
    /// Whether it is taken.
    #[cfg(feature = "cql")]
    pub taken: bool,
}

/// A cell's change as it is stored: whole key, value with header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredWrite<'a> {
    /// The cell gets this value.
    Put(&'a [u8]),
    /// The cell goes.
    Delete,
    /// This operand is folded into it.
    Merge(&'a [u8]),
}

impl Sealed {
    /// Its id, which holds its time.
    #[must_use]
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Its home.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// As [`super::Commit::carry`].
    pub fn carry(&mut self, companion: impl Send + Sync + 'static) {
        self.companions.0.push(Box::new(companion));
    }

    /// Bytes of keys and values, those of its conditions too.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let expected = |expect: &Expect| match expect {
            Expect::Equals(value) => value.len(),
            Expect::Absent | Expect::Present => 0,
        };
        let conditions = self.expectations.iter().map(|(key, e)| key.len() + expected(e));
        self.bytes.len() + conditions.sum::<usize>()
    }

    /// Cells it writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it writes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The writes, by rising key.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        self.slots.iter().map(|slot| self.stored(slot))
    }

    /// The writes that conditions of later commits may look at: home cells and claims.
    pub fn watched_writes(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        self.slots.iter().filter(|slot| slot.watched).map(|slot| self.stored(slot))
    }

    /// The writes to its home, by rising key.
    #[cfg(feature = "cql")]
    pub fn home_writes(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        self.slots.iter().filter(|slot| slot.role == SpaceKind::Home).map(|slot| self.stored(slot))
    }

    /// The writes that follow from those, claims too, by rising key.
    #[cfg(feature = "cql")]
    pub fn dependents(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        let derived = |slot: &&Slot| slot.role == SpaceKind::Derived;
        self.slots.iter().filter(derived).map(|slot| self.stored(slot))
    }

    /// What it demands of home cells, by their stored keys.
    #[cfg(feature = "cql")]
    pub fn expectations(&self) -> &[(Vec<u8>, Expect)] {
        &self.expectations
    }

    /// The names it takes or gives back.
    #[cfg(feature = "cql")]
    pub fn claims(&self) -> &[SealedClaim] {
        &self.claims
    }

    fn stored(&self, slot: &Slot) -> (&[u8], StoredWrite<'_>) {
        let value = slot.value.of(&self.bytes);
        let write = match slot.kind {
            SlotKind::Put => StoredWrite::Put(value),
            SlotKind::Delete => StoredWrite::Delete,
            SlotKind::Merge => StoredWrite::Merge(value),
        };
        (slot.key.of(&self.bytes), write)
    }

    /// The spaces it writes to, by rising id.
    pub fn spaces(&self) -> impl Iterator<Item = SpaceId> {
        self.ranges().map(|(first, _, _)| space_of(first))
    }

    /// The first key, the last, and how many there are, of each space.
    pub fn ranges(&self) -> impl Iterator<Item = (&[u8], &[u8], usize)> {
        let key = |slot: &Slot| slot.key.of(&self.bytes);
        let mut rest = self.slots.as_slice();
        std::iter::from_fn(move || {
            let first = key(rest.first()?);
            let run = rest.partition_point(|slot| space_of(key(slot)) == space_of(first));
            let last = key(&rest[run - 1]);
            rest = &rest[run..];
            Some((first, last, run))
        })
    }

    /// Checks every condition against what `read` finds under a stored key.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn refusals(
        &self,
        mut read: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
    ) -> Result<Vec<Refusal>> {
        let mut refusals = Vec::new();
        for (index, (key, expect)) in self.expectations.iter().enumerate() {
            let found = read(key)?;
            let met = match expect {
                Expect::Absent => found.is_none(),
                Expect::Present => found.is_some(),
                Expect::Equals(value) => found.as_deref() == Some(value),
            };
            if !met {
                refusals.push(Refusal { condition: Condition::Expectation(index), found });
            }
        }
        for (index, claim) in self.claims.iter().enumerate() {
            let Some(found) = read(&claim.key)? else { continue };
            if ValueRef::decode(&found)?.payload != claim.owner {
                let condition = Condition::Claim(index);
                refusals.push(Refusal { condition, found: Some(found) });
            }
        }
        Ok(refusals)
    }
}
