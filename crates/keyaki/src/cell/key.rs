//! The bytes of a cell's key: one string per `(space, partition, sort)` that orders as the tuple.
//!
//! | bytes    | content                                                           |
//! |----------|-------------------------------------------------------------------|
//! | 4        | space, big endian                                                 |
//! | variable | `escape(partition)`: 00 -> 01 01, 01 -> 01 02, others as they are |
//! | 1        | 00, the only zero byte between space and sort                     |
//! | the rest | sort, raw                                                         |
//!
//! Invariant: `escape` never yields 00 and keeps order, so no partition's keys lie between another's.
//! What sort keys consist of is the business of `parts`; that keys stay below [`KEY_BYTES_MAX`], of
//! the engine.

use std::borrow::Cow;
use std::fmt;

/// The longest encoded key an engine accepts.
pub const KEY_BYTES_MAX: usize = 32 * 1024;

/// Ends an escaped byte string; sorts below everything `escape` yields, so that a prefix comes first.
pub(super) const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;
pub(crate) const SPACE_BYTES: usize = size_of::<u32>();

/// Bytes that no encoder of this module and its neighbours has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadKey {
    /// Where in the given bytes the trouble lies.
    pub offset: usize,
    /// What the trouble is.
    pub reason: &'static str,
}

impl BadKey {
    /// The same trouble, told to someone who holds `bytes` more in front.
    pub(super) fn further_by(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed key: {} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for BadKey {}

/// A cell's key taken apart, without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellKey<'a> {
    /// The space's id.
    pub space: u32,
    /// Compares as the partition does; see [`CellKey::partition`].
    pub partition_escaped: &'a [u8],
    /// The sort key, as the writer gave it.
    pub sort: &'a [u8],
}

impl<'a> CellKey<'a> {
    /// The partition as the writer gave it; borrowed unless it holds escaped bytes.
    pub fn partition(&self) -> Result<Cow<'a, [u8]>, BadKey> {
        unescape(self.partition_escaped).map_err(|bad| bad.further_by(SPACE_BYTES))
    }
}

/// Appends a cell's key to `out`.
pub fn cell_key(space: u32, partition: &[u8], sort: &[u8], out: &mut Vec<u8>) {
    out.reserve(SPACE_BYTES + partition.len() + 1 + sort.len());
    out.extend_from_slice(&space.to_be_bytes());
    escape_into(partition, out);
    out.push(END);
    out.extend_from_slice(sort);
}

/// Takes a cell's key apart. The partition is left escaped: most callers only compare it.
#[inline(always)]
pub fn split_cell_key(key: &[u8]) -> Result<CellKey<'_>, BadKey> {
    let (space, rest) = key
        .split_first_chunk()
        .ok_or(BadKey { offset: key.len(), reason: "the space is cut short" })?;
    let partition_len = leading_run(rest, |byte| byte != END);
    let (partition_escaped, end_and_sort) = rest.split_at(partition_len);
    let (_, sort) = end_and_sort
        .split_first()
        .ok_or(BadKey { offset: key.len(), reason: "the partition has no end" })?;
    Ok(CellKey { space: u32::from_be_bytes(*space), partition_escaped, sort })
}

/// The keys of one partition: from the first, up to and without the second.
#[must_use]
pub fn partition_range(space: u32, partition: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut start = Vec::new();
    cell_key(space, partition, &[], &mut start);
    let mut end = start.clone();
    *end.last_mut().expect("a cell key ends its partition with a byte") = END + 1;
    (start, end)
}

/// The keys of one space: from the first, up to and without the second. The last space has no end.
#[must_use]
pub fn space_range(space: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    let end = space.checked_add(1).map(|next| next.to_be_bytes().to_vec());
    (space.to_be_bytes().to_vec(), end)
}

/// The smallest key above all keys that start with `prefix`; none if there is no such key.
#[must_use]
pub fn successor_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

/// The first sixteen bytes as a number: it orders as they do, and where two are equal the rest decides.
#[must_use]
pub fn prefix(key: &[u8]) -> u128 {
    let mut first = [0; 16];
    let len = key.len().min(first.len());
    first[..len].copy_from_slice(&key[..len]);
    u128::from_be_bytes(first)
}

/// How many bytes [`escape_into`] appends.
pub(crate) fn escaped_len(bytes: &[u8]) -> usize {
    bytes.len() + bytes.iter().filter(|byte| !is_plain(**byte)).count()
}

/// Appends `bytes` to `out` without zero bytes, in the same order: 00 -> 01 01, 01 -> 01 02.
pub fn escape_into(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    loop {
        let (plain, special) = rest.split_at(leading_run(rest, is_plain));
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else {
            return;
        };
        out.extend_from_slice(&[ESCAPE, byte + 1]);
        rest = after;
    }
}

/// Undoes [`escape_into`]; borrows when there is nothing to undo, which is the usual case.
pub fn unescape(escaped: &[u8]) -> Result<Cow<'_, [u8]>, BadKey> {
    let mut at = leading_run(escaped, is_plain);
    if at == escaped.len() {
        return Ok(Cow::Borrowed(escaped));
    }
    let mut bytes = Vec::with_capacity(escaped.len());
    bytes.extend_from_slice(&escaped[..at]);
    while at < escaped.len() {
        match escaped[at..] {
            [ESCAPE, code @ (1 | 2), ..] => bytes.push(code - 1),
            [ESCAPE, ..] => {
                return Err(BadKey { offset: at, reason: "an unknown escape" });
            }
            _ => {
                return Err(BadKey { offset: at, reason: "a zero byte inside an escaped string" });
            }
        }
        at += 2;
        let run = leading_run(&escaped[at..], is_plain);
        bytes.extend_from_slice(&escaped[at..at + run]);
        at += run;
    }
    Ok(Cow::Owned(bytes))
}

fn is_plain(byte: u8) -> bool {
    byte > ESCAPE
}

/// How many bytes at the front pass `keep`. Looks at whole blocks without branching inside them, which
/// the compiler turns into vector code: this runs for every cell written or read.
#[inline]
pub(super) fn leading_run(bytes: &[u8], keep: impl Fn(u8) -> bool) -> usize {
    let (blocks, _) = bytes.as_chunks::<16>();
    let whole = blocks
        .iter()
        .take_while(|block| block.iter().fold(true, |all, byte| all & keep(*byte)))
        .count();
    let start = whole * 16;
    let more = bytes[start..].iter().position(|byte| !keep(*byte));
    more.map_or(bytes.len(), |more| start + more)
}
