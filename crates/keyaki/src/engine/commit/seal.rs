//! Sealing: everything about a commit that can be decided without reading.
//!
//! What breaks the contract is refused with its place; what is left is sorted, with at most one
//! write per cell.

use std::sync::Arc;

use super::sealed::{Sealed, SealedClaim};
use super::{
    BULK_BYTES_MAX, COMMIT_BYTES_MAX, Commit, PAYLOAD_BYTES_MAX, Route, Slot, SlotKind, Span,
    Write, space_of, too_large,
};
use crate::cell::key::{self, KEY_BYTES_MAX, SPACE_BYTES, prefix};
use crate::cell::value::Flags;
use crate::cell::{Value, ValueRef, visibility};
use crate::engine::fold;
use crate::engine::space::{BucketId, Space, SpaceId, SpaceKind, Spaces};
use crate::error::{Error, Result};

impl Commit {
    /// Checks everything that can be checked without reading, sorts the cells and folds
    /// repeated merges.
    ///
    /// # Errors
    /// `Invalid` for what breaks the contract, with the place; `NotFound` for unknown spaces.
    pub fn seal(mut self, spaces: &Spaces) -> Result<Sealed> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut checker =
            Checker { spaces, home: self.home.bucket, last: None, visibility: Vec::new() };
        let mut expectations = Vec::with_capacity(self.expectations.len());
        for (space, sort, expect) in std::mem::take(&mut self.expectations) {
            checker.space(space, SpaceKind::Home)?;
            let key = checker.key(space, &self.home.partition, &sort)?;
            expectations.push((key, expect));
        }
        for slot in &self.slots {
            checker.slot(slot, &self.bytes)?;
        }
        let claims = self.seal_claims(&mut checker)?;
        self.check_size()?;
        self.sort_and_fold(spaces)?;
        Ok(Sealed {
            tid: self.tid,
            home: self.home,
            expectations,
            claims,
            bytes: self.bytes,
            slots: self.slots,
            companions: self.companions,
        })
    }

    fn check_size(&self) -> Result<()> {
        let limit = match self.route {
            Route::Log => COMMIT_BYTES_MAX,
            Route::Bulk => BULK_BYTES_MAX,
        };
        if self.bytes.len() > limit {
            return Err(too_large(self.bytes.len(), limit));
        }
        Ok(())
    }

    /// Claims become cells like others; what they demand is checked by the engine.
    fn seal_claims(&mut self, checker: &mut Checker<'_>) -> Result<Vec<SealedClaim>> {
        let mut sealed = Vec::with_capacity(self.claims.len());
        for claim in std::mem::take(&mut self.claims) {
            checker.space(claim.space, SpaceKind::Derived)?;
            let key = checker.key(claim.space, &claim.name, b"")?;
            let write = match claim.taken {
                true => Write::Put(Value::open(&claim.owner)),
                false => Write::Delete,
            };
            self.dependent(claim.space, &claim.name, b"", write);
            self.fault.take().map_or(Ok(()), Err)?;
            let slot = self.slots.last_mut().expect("a slot was just pushed");
            slot.watched = true;
            checker.slot(slot, &self.bytes)?;
            sealed.push(SealedClaim {
                key,
                owner: claim.owner,
                #[cfg(feature = "cql")]
                taken: claim.taken,
            });
        }
        Ok(sealed)
    }

    fn sort_and_fold(&mut self, spaces: &Spaces) -> Result<()> {
        let key = |slot: &Slot| slot.key.of(&self.bytes);
        if self.slots.is_sorted_by(|a, b| key(a) < key(b)) {
            return Ok(());
        }
        let repeats;
        (self.slots, repeats) = sorted(&self.slots, &self.bytes);
        if repeats { self.fold_repeats(spaces) } else { Ok(()) }
    }

    fn fold_repeats(&mut self, spaces: &Spaces) -> Result<()> {
        let mut kept: Vec<Slot> = Vec::with_capacity(self.slots.len());
        let slots = std::mem::take(&mut self.slots);
        let mut rest = slots.as_slice();
        while let Some(first) = rest.first() {
            let key = first.key.of(&self.bytes);
            let run = rest.partition_point(|slot| slot.key.of(&self.bytes) == key);
            let (same, after) = rest.split_at(run);
            let mut slot = *first;
            if same.len() > 1 {
                let folded = self.fold_run(spaces, key, same)?;
                let at = self.bytes.len();
                if folded.len() > u32::MAX as usize - at {
                    return Err(too_large(at + folded.len(), BULK_BYTES_MAX));
                }
                self.bytes.extend_from_slice(&folded);
                slot.value = Span::new(at, self.bytes.len());
            }
            kept.push(slot);
            rest = after;
        }
        self.slots = kept;
        Ok(())
    }

    fn fold_run(&self, spaces: &Spaces, key: &[u8], same: &[Slot]) -> Result<Vec<u8>> {
        if same.iter().any(|slot| slot.kind != SlotKind::Merge) {
            return Err(Error::invalid("commit writes a cell twice").with_bytes("key", key));
        }
        let space = spaces.usable(space_of(key))?;
        let values: Vec<&[u8]> = same.iter().map(|slot| slot.value.of(&self.bytes)).collect();
        Ok(fold::fold_or_list(space.merge.as_deref(), &values))
    }
}

/// The slots by rising key, those of one key in their order, and whether there are such. Most keys differ in the bytes
/// that lie in the list itself, so that few of the comparisons have to look for them elsewhere; slots that come in order
/// need no sorting but among the others.
fn sorted(slots: &[Slot], bytes: &[u8]) -> (Vec<Slot>, bool) {
    let place = |(index, slot): (usize, &Slot)| {
        let (space, rest) = slot.key.of(bytes).split_at(SPACE_BYTES);
        (space_of(space).0, prefix(rest), index as u32)
    };
    let mut places: Vec<(u32, u128, u32)> = slots.iter().enumerate().map(place).collect();
    let compare = |one: &(u32, u128, u32), other: &(u32, u128, u32)| {
        let key = |place: &(u32, u128, u32)| slots[place.2 as usize].key.of(bytes);
        (one.0, one.1).cmp(&(other.0, other.1)).then_with(|| key(one).cmp(key(other)))
    };
    places.sort_by(compare);
    let repeats = places.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_eq());
    (places.into_iter().map(|(_, _, index)| slots[index as usize]).collect(), repeats)
}

/// Looks each space up once per run of cells, and each visibility likewise.
struct Checker<'a> {
    spaces: &'a Spaces,
    home: BucketId,
    last: Option<Arc<Space>>,
    visibility: Vec<u8>,
}

impl Checker<'_> {
    fn space(&mut self, id: SpaceId, role: SpaceKind) -> Result<&Space> {
        if self.last.as_ref().is_none_or(|space| space.id() != id) {
            self.last = Some(self.spaces.usable(id)?);
        }
        let space = self.last.as_deref().expect("a space was just looked up");
        let spec = &space.record.spec;
        if spec.kind != role {
            let message = match role {
                SpaceKind::Home => "a derived space can only be written as a dependent",
                SpaceKind::Derived => "a home space can't be written as a dependent",
            };
            return Err(Error::invalid(message).with("space", id.0).with("label", &spec.label));
        }
        if role == SpaceKind::Home && spec.bucket != self.home {
            return Err(Error::invalid("a home space of another bucket")
                .with("space", id.0)
                .with("bucket", self.home.0));
        }
        Ok(space)
    }

    fn key(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(partition.len() + sort.len() + 8);
        key::cell_key(space.0, partition, sort, &mut key);
        check_key(&key)?;
        Ok(key)
    }

    fn slot(&mut self, slot: &Slot, bytes: &[u8]) -> Result<()> {
        let key = slot.key.of(bytes);
        check_key(key)?;
        let space = self.space(space_of(key), slot.role)?;
        let fits = match slot.kind {
            SlotKind::Put => !space.merges(),
            SlotKind::Merge => space.merges(),
            SlotKind::Delete => true,
        };
        if !fits {
            let message = match slot.kind {
                SlotKind::Merge => "a space without a merge rule takes no merges",
                _ => "a space with a merge rule takes no puts",
            };
            return Err(Error::invalid(message).with_bytes("key", key));
        }
        match slot.kind {
            SlotKind::Delete => Ok(()),
            _ => self.value(slot.value.of(bytes)).map_err(|e| e.with_bytes("key", key)),
        }
    }

    fn value(&mut self, encoded: &[u8]) -> Result<()> {
        let value = ValueRef::decode(encoded)?;
        if value.flags.contains(Flags::UNFOLDED) {
            return Err(Error::invalid("only engines leave operands unfolded"));
        }
        if value.payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::invalid("value is too large")
                .with("bytes", value.payload.len())
                .with("most", PAYLOAD_BYTES_MAX));
        }
        if value.visibility.is_empty() || value.visibility == self.visibility {
            return Ok(());
        }
        check_visibility(value.visibility)?;
        self.visibility.clear();
        self.visibility.extend_from_slice(value.visibility);
        Ok(())
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid("key is too large")
            .with("bytes", key.len())
            .with("most", KEY_BYTES_MAX)
            .with_bytes("key", key));
    }
    Ok(())
}

/// Refuses a visibility that nobody could read by.
///
/// # Errors
/// `Invalid`, with the place.
pub fn check_visibility(expression: &[u8]) -> Result<()> {
    visibility::validate(expression).map_err(|malformed| {
        Error::invalid("visibility is malformed")
            .with_bytes("visibility", expression)
            .because(malformed)
    })
}
