//! What a scan asks for and what it gives: cells in blocks, one buffer and offsets, so that
//! nothing is allocated per cell.

use std::borrow::Cow;
use std::ops::Bound;

use async_trait::async_trait;

use super::space::SpaceId;
use crate::cell::key::{self, BadKey, CellKey};
use crate::cell::{Time, ValueRef};
use crate::error::{Error, Result};

/// Which cells, in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRequest {
    /// The space whose cells are read.
    pub space: SpaceId,
    /// Where in it.
    pub area: Area,
    /// Which way.
    pub direction: Direction,
    /// Stop after this many cells.
    pub limit: Option<usize>,
    /// Whether others are likely to read the same soon.
    pub reading: Reading,
}

/// Whether what is read is worth keeping in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reading {
    /// It is: somebody may want it again.
    #[default]
    Shared,
    /// It is not: a walk over so much would push out all that is.
    Once,
}

/// Where in a space a scan goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// A range of sort keys in one partition.
    Partition {
        /// The partition.
        partition: Vec<u8>,
        /// Where the range begins.
        from: Bound<Vec<u8>>,
        /// Where it ends.
        to: Bound<Vec<u8>>,
    },
    /// A part of the whole space, as [`super::Engine::splits`] cut it.
    Split(Split),
}

/// A part of a space. What the bytes mean is the engine's own business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Where it begins.
    pub from: Vec<u8>,
    /// Where it ends.
    pub to: Vec<u8>,
}

impl Split {
    /// For engines that keep cells in the order of their stored keys.
    pub(super) fn of_partitions(space: SpaceId, first: &[u8], last: &[u8]) -> Self {
        let (from, _) = key::partition_range(space.0, first);
        let (_, to) = key::partition_range(space.0, last);
        Self { from, to }
    }
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Rising keys.
    Forward,
    /// Falling keys.
    Backward,
}

impl ScanRequest {
    /// All of one partition, forward.
    #[must_use]
    pub fn partition(space: SpaceId, partition: impl Into<Vec<u8>>) -> Self {
        Self::range(space, partition, Bound::Unbounded, Bound::Unbounded)
    }

    /// A range of one partition, forward.
    #[must_use]
    pub fn range(
        space: SpaceId,
        partition: impl Into<Vec<u8>>,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    ) -> Self {
        let area = Area::Partition { partition: partition.into(), from, to };
        Self { space, area, direction: Direction::Forward, limit: None, reading: Reading::Shared }
    }

    /// The sort keys of one partition that start with `prefix`, forward.
    #[must_use]
    pub fn prefix(space: SpaceId, partition: impl Into<Vec<u8>>, prefix: &[u8]) -> Self {
        let to = key::successor_of_prefix(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self::range(space, partition, Bound::Included(prefix.to_vec()), to)
    }

    /// A split, forward.
    #[must_use]
    pub fn split(space: SpaceId, split: Split) -> Self {
        let area = Area::Split(split);
        Self { space, area, direction: Direction::Forward, limit: None, reading: Reading::Shared }
    }

    /// In falling order.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// At most so many cells.
    #[must_use]
    pub fn limit(mut self, cells: usize) -> Self {
        self.limit = Some(cells);
        self
    }

    /// The range as whole cell keys, begin included, end excluded.
    #[must_use]
    pub fn key_range(&self) -> (Vec<u8>, Vec<u8>) {
        match &self.area {
            Area::Split(split) => (split.from.clone(), split.to.clone()),
            Area::Partition { partition, from, to } => {
                let begin = match from {
                    Bound::Unbounded => self.key(partition, &[], None),
                    Bound::Included(sort) => self.key(partition, sort, None),
                    Bound::Excluded(sort) => self.key(partition, sort, AFTER),
                };
                let end = match to {
                    Bound::Unbounded => key::partition_range(self.space.0, partition).1,
                    Bound::Included(sort) => self.key(partition, sort, AFTER),
                    Bound::Excluded(sort) => self.key(partition, sort, None),
                };
                (begin, end)
            }
        }
    }

    fn key(&self, partition: &[u8], sort: &[u8], more: Option<u8>) -> Vec<u8> {
        let mut key = Vec::with_capacity(partition.len() + sort.len() + KEY_BYTES_SPARE);
        key::cell_key(self.space.0, partition, sort, &mut key);
        key.extend(more);
        key
    }
}

/// What makes a key the next one in memcmp order.
const AFTER: Option<u8> = Some(0);
/// Room for what a key has beside its parts, and for a few bytes that take two.
const KEY_BYTES_SPARE: usize = 16;

/// A scan under way. Dropping it ends it.
#[async_trait]
pub trait Scan: Send {
    /// The next cells, never an empty block; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt` if what is stored is damaged, `Unavailable` if it can't be read now.
    async fn next_block(&mut self) -> Result<Option<Block>>;

    /// Whether it is known that no more blocks come; who does not know says no.
    fn is_over(&self) -> bool {
        false
    }
}

/// A cell, read in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef<'a> {
    /// `escape(partition) | 00 | sort`: what a stored key has behind its space.
    key: &'a [u8],
    /// Where the partition ends in it.
    separator: usize,
    encoded: &'a [u8],
    value: ValueRef<'a>,
}

impl<'a> CellRef<'a> {
    /// Reads a cell from its stored key and value.
    ///
    /// # Errors
    /// `Corrupt` if either is damaged.
    #[inline(always)]
    pub fn decode(key: &'a [u8], encoded: &'a [u8]) -> Result<Self> {
        let CellKey { partition_escaped, sort, .. } =
            key::split_cell_key(key).map_err(|bad| damaged(key, bad))?;
        let value = ValueRef::decode(encoded).map_err(|e| e.with_bytes("key", key))?;
        let separator = partition_escaped.len();
        let key = &key[key.len() - sort.len() - 1 - separator..];
        Ok(Self { key, separator, encoded, value })
    }

    /// The same, where it is known how long the partition is in the stored key.
    #[inline(always)]
    pub(super) fn decode_under(
        partition_len: usize,
        key: &'a [u8],
        encoded: &'a [u8],
    ) -> Result<Self> {
        let value = ValueRef::decode(encoded).map_err(|e| e.with_bytes("key", key))?;
        Ok(Self { key: &key[key::SPACE_BYTES..], separator: partition_len, encoded, value })
    }

    /// Its partition.
    #[must_use]
    pub fn partition(&self) -> Cow<'a, [u8]> {
        let escaped = self.partition_escaped();
        key::unescape(escaped).unwrap_or(Cow::Borrowed(escaped))
    }

    /// Its partition as keys hold it, which differs where partitions do; to compare, no more.
    #[must_use]
    pub fn partition_escaped(&self) -> &'a [u8] {
        &self.key[..self.separator]
    }

    /// Its sort key.
    #[must_use]
    pub fn sort(&self) -> &'a [u8] {
        &self.key[self.separator + 1..]
    }

    /// Appends its stored key but for the space.
    pub(super) fn append_key(&self, key: &mut Vec<u8>) {
        key.extend_from_slice(self.key);
    }

    /// Its value with the header, as expectations want it.
    #[must_use]
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> ValueRef<'a> {
        self.value
    }

    /// When it was written.
    #[must_use]
    pub fn time(&self) -> Time {
        self.value.time
    }

    /// Who may see it.
    #[must_use]
    pub fn visibility(&self) -> &'a [u8] {
        self.value.visibility
    }

    /// What it says.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.value.payload
    }
}

#[cold]
fn damaged(key: &[u8], bad: BadKey) -> Error {
    Error::corrupt("stored key is damaged").with_bytes("key", key).because(bad)
}

/// Some cells of one space in scan order.
#[derive(Debug, Clone, Default)]
pub struct Block {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

/// Where a cell lies in a block's bytes: `key | value`, next to each other.
#[derive(Debug, Clone, Copy)]
struct Slot {
    key: u32,
    /// From where the key begins.
    separator: u32,
    encoded: u32,
    visibility: u32,
    payload: u32,
    end: u32,
}

impl Block {
    /// An empty block with room.
    #[must_use]
    pub fn with_capacity(bytes: usize, cells: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), slots: Vec::with_capacity(cells) }
    }

    /// Cells in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Copies a cell in.
    #[inline]
    pub fn push(&mut self, cell: &CellRef<'_>) {
        let key = self.bytes.len();
        cell.append_key(&mut self.bytes);
        let encoded = self.bytes.len();
        self.bytes.extend_from_slice(cell.encoded);
        let end = u32::try_from(self.bytes.len()).expect("a block holds less than 4 GiB");
        let payload = self.bytes.len() - cell.value.payload.len();
        self.slots.push(Slot {
            key: key as u32,
            separator: cell.separator as u32,
            encoded: encoded as u32,
            visibility: (payload - cell.value.visibility.len()) as u32,
            payload: payload as u32,
            end,
        });
    }

    /// Copies the cells of another block in behind its own.
    pub fn append(&mut self, other: &Self) {
        for cell in other.iter() {
            self.push(&cell);
        }
    }

    /// The cell at `index`, which must be below [`Self::len`].
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> CellRef<'_> {
        let slot = self.slots[index];
        let part = |from: u32, to: u32| &self.bytes[from as usize..to as usize];
        let encoded = part(slot.encoded, slot.end);
        let header = ValueRef::header(encoded);
        CellRef {
            key: part(slot.key, slot.encoded),
            separator: slot.separator as usize,
            encoded,
            value: ValueRef {
                time: header.0,
                flags: header.1,
                visibility: part(slot.visibility, slot.payload),
                payload: part(slot.payload, slot.end),
            },
        }
    }

    /// The cells in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CellRef<'_>> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Keeps the cells that `keep` says yes to; the bytes of the others go with the block.
    pub fn retain(&mut self, mut keep: impl FnMut(CellRef<'_>) -> bool) {
        let mut kept = 0;
        for index in 0..self.slots.len() {
            if keep(self.get(index)) {
                self.slots[kept] = self.slots[index];
                kept += 1;
            }
        }
        self.slots.truncate(kept);
    }

    /// Keeps the first `cells`.
    pub fn truncate(&mut self, cells: usize) {
        self.slots.truncate(cells);
    }
}
