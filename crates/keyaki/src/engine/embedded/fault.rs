//! What RocksDB's errors mean to us. It tells them by text, so this is the one place that reads
//! it.

use rocksdb::ErrorKind;

use crate::error::{Error, Result};

/// A failed read.
pub fn read_failed(error: rocksdb::Error) -> Error {
    match error.kind() {
        ErrorKind::Corruption => Error::corrupt("stored data is damaged").because(error),
        _ if misses_a_file(&error) => Error::corrupt("store has lost a file").because(error),
        _ => Error::unavailable("read failed").because(error),
    }
}

/// A store that could not be opened.
pub fn open_failed(error: rocksdb::Error) -> Error {
    match error.kind() {
        ErrorKind::Corruption => Error::corrupt("store is damaged").because(error),
        _ if misses_a_file(&error) => Error::corrupt("store has lost a file").because(error),
        _ if is_full(&error) => Error::unavailable("the disk is full").because(error),
        _ => Error::unavailable("store can't be opened").because(error),
    }
}

/// Whether a file is gone that must be there.
fn misses_a_file(error: &rocksdb::Error) -> bool {
    error.to_string().contains("No such file")
}

/// Whether a read stopped at the edge of what is in memory.
pub fn needs_disk(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::Incomplete
}

/// Whether it was a sync that failed.
pub fn is_sync(error: &rocksdb::Error) -> bool {
    let text = error.to_string();
    ["While fsync", "While fdatasync"].iter().any(|call| text.contains(call))
}

/// Whether a write came back because it would have had to wait.
pub fn is_held_back(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::Incomplete
}

/// Whether there was no room; it is also said of a write that would have had to wait for a
/// compaction that may lack it.
pub fn is_full(error: &rocksdb::Error) -> bool {
    if is_held_back(error) {
        return true;
    }
    let text = error.to_string();
    ["No space left on device", "NoSpace", "Disk quota exceeded"].iter().any(|s| text.contains(s))
}

/// How a write failed.
pub enum WriteFault {
    /// The disk is full: nothing was acknowledged, and writing can go on when there is room.
    Full(Error),
    /// The disk may have lost what it was given: only reopening tells what it has.
    Fatal(Error),
}

impl WriteFault {
    /// Reads RocksDB's mind.
    pub fn from(error: rocksdb::Error) -> Self {
        if is_full(&error) && !is_sync(&error) {
            Self::Full(Error::unavailable("the disk is full").because(error))
        } else {
            Self::Fatal(
                Error::unavailable("write failed; writing stops until reopened").because(error),
            )
        }
    }
}

/// Runs a read and tells its failure in our words.
pub fn reading<T>(result: Result<T, rocksdb::Error>) -> Result<T> {
    result.map_err(read_failed)
}
