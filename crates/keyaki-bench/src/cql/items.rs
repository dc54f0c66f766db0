//! What both sides write and read: items with a home cell and dependents, and partitions of derived cells.
//!
//! Everything follows from a number, but for what a side has stored at an item last. Values don't compress, and begin
//! with the engine's header on both sides, so that they are equally long.

use keyaki::cell::{Time, Value};

use crate::cells::mix;

/// The sort key of an item's home cell.
pub const SORT: &[u8] = b"item";
/// Bytes of a payload.
const PAYLOAD_BYTES: usize = 100;

/// An item, and what its side stored for it last.
pub struct Item {
    /// Which.
    pub number: usize,
    /// Its stored home cell.
    pub stored: Vec<u8>,
}

impl Item {
    /// So many that nobody has used; each call needs a range of its own.
    pub fn fresh(range: std::ops::Range<usize>) -> Vec<Self> {
        range.map(|number| Self { number, stored: Vec::new() }).collect()
    }

    pub fn partition(&self) -> [u8; 16] {
        name(self.number)
    }

    /// The partition of a dependent, its own.
    pub fn dependent_partition(&self, dependent: usize) -> [u8; 16] {
        name(usize::MAX - self.number * 8 - dependent)
    }

    /// What to write next; differs from what is there.
    pub fn payload(&self) -> [u8; PAYLOAD_BYTES] {
        payload(self.number ^ self.stored.len() ^ self.stored.last().map_or(0, |b| *b as usize))
    }

    /// Notes what is there now.
    pub fn store(&mut self, payload: &[u8], time: Time) {
        self.stored.clear();
        Value::open(payload).encode(time, &mut self.stored);
    }
}

/// A name of 16 bytes, somewhere on the ring.
pub fn name(number: usize) -> [u8; 16] {
    let mut name = [0; 16];
    name[..8].copy_from_slice(&mix(number).to_be_bytes());
    name[8..].copy_from_slice(&(number as u64).to_be_bytes());
    name
}

/// Bytes that look random.
pub fn payload(number: usize) -> [u8; PAYLOAD_BYTES] {
    let mut payload = [0; PAYLOAD_BYTES];
    for (salt, part) in payload.chunks_mut(8).enumerate() {
        part.copy_from_slice(&mix(mix(number) as usize ^ salt).to_be_bytes()[..part.len()]);
    }
    payload
}
