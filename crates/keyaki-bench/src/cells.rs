//! The cells that both sides store: 40 bytes of key, 24 of value, ten to a partition.
//!
//! Keys are text without a zero byte and scattered over the whole key space; values don't
//! compress. A cell follows from its number, so nothing has to be kept to check what is read.

/// Cells in one partition.
pub const PARTITION_CELLS: usize = 10;
const PARTITION_BYTES: usize = 16;
const KEY_BYTES: usize = 40;
const VALUE_BYTES: usize = 24;

/// What cells of a partition carry in turn.
const VISIBILITIES: [&str; 4] = ["", "a", "a&(b|c)", "d"];
/// What the reader holds: enough for all but the last of these.
pub const READER: [&str; 2] = ["a", "c"];

/// A cell. The bare engine knows one key; ours knows partition and sort.
pub struct Cell {
    key: [u8; KEY_BYTES],
    value: [u8; VALUE_BYTES],
    visibility: &'static str,
}

impl Cell {
    /// The cell with this number. Numbers that follow each other share partitions.
    pub fn numbered(number: usize) -> Self {
        Self::within(mix(number / PARTITION_CELLS), number % PARTITION_CELLS)
    }

    fn within(partition: u64, place: usize) -> Self {
        let mut key = [0; KEY_BYTES];
        let (first, sort) = key.split_at_mut(PARTITION_BYTES);
        hex(partition, first);
        let (placed, rest) = sort.split_at_mut(8);
        hex((place as u64) << 32, placed);
        hex(partition.rotate_left(32) ^ place as u64, rest);
        let mut value = [0; VALUE_BYTES];
        for (salt, part) in value.chunks_exact_mut(8).enumerate() {
            part.copy_from_slice(&mix(partition as usize ^ (place << 2 | salt)).to_be_bytes());
        }
        Self { key, value, visibility: VISIBILITIES[place % VISIBILITIES.len()] }
    }

    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn partition(&self) -> &[u8] {
        &self.key[..PARTITION_BYTES]
    }

    pub fn sort(&self) -> &[u8] {
        &self.key[PARTITION_BYTES..]
    }

    pub fn value(&self) -> &[u8] {
        &self.value
    }

    pub fn visibility(&self) -> &[u8] {
        self.visibility.as_bytes()
    }
}

/// How many of the cells in `partitions` whole partitions the reader sees.
pub fn visible_in(partitions: usize) -> usize {
    let hidden = (0..PARTITION_CELLS).filter(|place| place % VISIBILITIES.len() == 3).count();
    partitions * (PARTITION_CELLS - hidden)
}

/// All numbers below `count`, once each, far from their neighbours.
pub fn scattered(count: usize) -> impl Iterator<Item = usize> {
    const STRIDE: usize = 2_654_435_761;
    // A prime that does not divide the count visits every number before it comes back.
    let stride = if count.is_multiple_of(STRIDE) { 1 } else { STRIDE };
    (0..count).map(move |step| (step * stride) % count)
}

/// A chunk of cells in key order, all in a narrow range somewhere.
pub fn chunk(number: usize, count: usize) -> Vec<Cell> {
    const NARROW: u64 = 64;
    let partitions = count.div_ceil(PARTITION_CELLS) as u64;
    let step = u64::MAX / NARROW / partitions;
    let first = mix(usize::MAX - number) / NARROW * (NARROW - 1);
    let cell = |index: usize| {
        Cell::within(first + (index / PARTITION_CELLS) as u64 * step, index % PARTITION_CELLS)
    };
    (0..count).map(cell).collect()
}

/// A number that looks random, a different one for each (splitmix64's last step).
pub fn mix(number: usize) -> u64 {
    let mut bits = (number as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The highest digits of a number, so that texts order as numbers do.
fn hex(number: u64, out: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (place, byte) in out.iter_mut().enumerate() {
        *byte = DIGITS[(number >> (60 - 4 * place)) as usize & 0xf];
    }
}
