//! Keys of what the engine keeps for itself, in space 0, and of the rows that merged cells are made of.
//!
//! | table | partition | sort | what |
//! |---|---|---|---|
//! | `home` | any home | empty | its head: time of the latest commit, and the commit whose dependents may be missing |
//! | `home` | any home | commit id | that commit's mark: `done` or `aborted` |
//! | `home` | bucket 0, `spaces` | space id | the list of spaces; its head, empty, counts the changes |
//! | `home` | bucket 0, `buckets` | empty | the last bucket id given |
//! | `home` | bucket 0, `format` | empty | the version of this layout |
//! | `derived` | `spans`, node | ten seconds | in which ten seconds it may have intents |
//! | `derived` | `intent`, node, ten seconds | commit id | an intent |
//! | `derived` | `part`, commit id, block | number | a part of a large intent |
//! | `derived` | `nodes` | node | who writes, and how far it is settled |
//! | `derived` | `homes`, bucket, shard | partition | which home partitions there are |
//! | `derived` | `cells`, space, shard | partition | which partitions a derived space has |

use std::borrow::Cow;

use crate::cell::key::{escape_into, unescape};
use crate::cell::parts::Parts;
use crate::cell::{Tid, Time};
use crate::engine::space::{BucketId, SpaceId};
use crate::error::{Error, Result};

/// The engine's own space.
pub const OWN: i32 = 0;
/// An empty key or value.
pub const NOTHING: &[u8] = &[];
/// A bucket that no caller has.
pub const OWN_BUCKET: i64 = 0;
/// Where the list of spaces is.
pub const SPACES: &[u8] = b"spaces";
/// Where bucket ids are counted.
pub const BUCKETS: &[u8] = b"buckets";
/// Where the layout's version is.
pub const FORMATS: &[u8] = b"format";
/// Over so many partitions a directory is spread.
pub const DIRECTORY_SHARDS: u16 = 64;

const INTENTS_SPAN_US: u64 = 10_000_000;
const PARTS_PER_BLOCK: u32 = 32;

/// Which ten seconds a time is in.
pub fn span(time: Time) -> u64 {
    time.micros() / INTENTS_SPAN_US
}

/// The timestamp that covers all intents of ten seconds.
pub fn span_end(span: u64) -> i64 {
    ((span + 1) * INTENTS_SPAN_US - 1) as i64
}

/// Where it is listed in which ten seconds a node may have intents.
pub fn spans(node: u64) -> Vec<u8> {
    Parts::new().bytes(b"spans").u64(node).into_bytes()
}

/// Where a node's intents of ten seconds are.
pub fn intents(node: u64, span: u64) -> Vec<u8> {
    Parts::new().bytes(b"intent").u64(node).u64(span).into_bytes()
}

/// Where the intent of a commit is.
pub fn intent_of(tid: Tid) -> Vec<u8> {
    intents(tid.node(), span(tid.time()))
}

/// Where a part of a large intent is: blocks keep partitions small.
pub fn part(tid: Tid, number: u32) -> Vec<u8> {
    Parts::new().bytes(b"part").fixed(tid.as_bytes()).u32(number / PARTS_PER_BLOCK).into_bytes()
}

/// How many blocks so many parts make.
pub fn part_blocks(parts: u32) -> impl Iterator<Item = u32> {
    (0..parts).step_by(PARTS_PER_BLOCK as usize)
}

/// Where the nodes are listed.
pub fn nodes() -> Vec<u8> {
    Parts::new().bytes(b"nodes").into_bytes()
}

/// A directory of partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Directory {
    /// Home partitions of a bucket.
    Homes(BucketId),
    /// Partitions of a derived space.
    Cells(SpaceId),
}

impl Directory {
    /// The shard that lists a partition.
    pub fn shard_of(partition: &[u8]) -> u16 {
        let [high, low, ..] = *blake3::hash(partition).as_bytes();
        u16::from_be_bytes([high, low]) % DIRECTORY_SHARDS
    }

    /// Where a shard is.
    pub fn partition(self, shard: u16) -> Vec<u8> {
        let parts = match self {
            Self::Homes(bucket) => Parts::new().bytes(b"homes").u64(bucket.0),
            Self::Cells(space) => Parts::new().bytes(b"cells").u32(space.0),
        };
        parts.fixed(&shard.to_be_bytes()).into_bytes()
    }
}

/// The row of one operand: cells keep their order, and operands that of their commits.
pub fn operand(sort: &[u8], tid: Tid) -> Vec<u8> {
    let mut row = operands_from(sort);
    row.extend_from_slice(tid.as_bytes());
    row
}

/// Where the operands of a cell begin.
pub fn operands_from(sort: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(sort.len() + 18);
    escape_into(sort, &mut row);
    row.push(0);
    row
}

/// The cell and the commit of an operand's row.
///
/// # Errors
/// `Corrupt` if it is none.
pub fn split_operand(row: &[u8]) -> Result<(Cow<'_, [u8]>, Tid)> {
    let parse = || {
        let (rest, tid) = row.split_last_chunk::<16>()?;
        let (0, escaped) = rest.split_last()? else { return None };
        Some((unescape(escaped).ok()?, Tid::from_bytes(*tid).ok()?))
    };
    parse().ok_or_else(|| Error::corrupt("operand's key is damaged").with_bytes("sort", row))
}

/// A directory's entry in so few bytes that it can be remembered, and so many that no two are alike.
pub fn fingerprint(directory: Directory, partition: &[u8]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&directory.partition(0));
    hasher.update(partition);
    let [bytes @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
        *hasher.finalize().as_bytes();
    u128::from_be_bytes(bytes)
}
