//! Large values: a head among the primaries, and chunks of bounded size that follow from it.
//!
//! The head's payload is the length of the whole (u64) and of a chunk (u32), big endian. Its chunks have a partition of
//! their own, `partition of the head as a part | its sort as a part | its commit time (u64)`, so that two versions never
//! share one, and lie there by number (u32). They are dependents: however large a value is, little is decided with its
//! home. They go in the commit that replaces their head.

use super::Bucket;
use super::commit::Previous;
use crate::cell::parts::Parts;
use crate::cell::value::Flags;
use crate::cell::{Time, Value, ValueRef};
use crate::engine::{Commit, ScanRequest, SpaceId, Write};
use crate::error::{Error, Result};

/// How heads are marked.
pub const HEAD: Flags = Flags::CHUNKED;

/// What a head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the whole.
    pub length: u64,
    /// Bytes of each chunk but the last.
    pub chunk: u32,
}

impl Head {
    /// Reads a head's payload.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let read = || {
            let (length, chunk) = payload.split_first_chunk()?;
            let chunk = u32::from_be_bytes(chunk.try_into().ok()?);
            let length = u64::from_be_bytes(*length);
            (chunk > 0).then_some(Self { length, chunk })
        };
        // Chunks are numbered by a u32.
        read().filter(|head| head.chunks() <= u32::MAX.into()).ok_or_else(|| {
            Error::corrupt("head of a large value is damaged").with_bytes("payload", payload)
        })
    }

    fn encode(self) -> Vec<u8> {
        [&self.length.to_be_bytes()[..], &self.chunk.to_be_bytes()].concat()
    }

    /// How many chunks follow.
    pub fn chunks(self) -> u64 {
        self.length.div_ceil(self.chunk.into())
    }
}

/// Where the chunks of a head are, each at its number.
pub fn partition(home: &[u8], sort: &[u8], time: Time) -> Vec<u8> {
    Parts::new().bytes(home).bytes(sort).u64(time.micros()).into_bytes()
}

/// Writes the chunks of a value; answers the payload of its head.
pub fn put(
    space: SpaceId,
    commit: &mut Commit,
    sort: &[u8],
    value: Value<'_>,
    most: usize,
) -> Vec<u8> {
    let there = partition(&commit.home().partition, sort, commit.tid().time());
    for (number, part) in value.payload.chunks(most).enumerate() {
        let chunk = Value { flags: Flags::CHUNK, visibility: value.visibility, payload: part };
        commit.dependent(space, &there, &(number as u32).to_be_bytes(), Write::Put(chunk));
    }
    Head { length: value.payload.len() as u64, chunk: most as u32 }.encode()
}

/// Deletes the chunks of what is replaced.
pub fn delete(
    space: SpaceId,
    commit: &mut Commit,
    sort: &[u8],
    previous: Previous<'_>,
) -> Result<()> {
    let Previous::Stored(stored) = previous else { return Ok(()) };
    let value = ValueRef::decode(stored)?;
    if value.flags.contains(HEAD) {
        let there = partition(&commit.home().partition, sort, value.time);
        for number in 0..Head::decode(value.payload)?.chunks() {
            commit.dependent(space, &there, &(number as u32).to_be_bytes(), Write::Delete);
        }
    }
    Ok(())
}

/// The whole value of a head; `None` if chunks are missing.
pub async fn read(
    bucket: &Bucket,
    home: &[u8],
    sort: &[u8],
    head: &ValueRef<'_>,
) -> Result<Option<Vec<u8>>> {
    let length = Head::decode(head.payload)?.length;
    let request = ScanRequest::partition(bucket.chunks, partition(home, sort, head.time));
    let mut scan = bucket.engine().scan(request).await?;
    let mut whole = Vec::new();
    while let Some(block) = scan.next_block().await? {
        for cell in block.iter() {
            whole.extend_from_slice(cell.payload());
        }
    }
    Ok((whole.len() as u64 == length).then_some(whole))
}

/// A head whose chunks are gone.
pub fn missing(partition: &[u8], sort: &[u8]) -> Error {
    Error::corrupt("chunks of a large value are missing")
        .with_bytes("partition", partition)
        .with_bytes("sort", sort)
}
