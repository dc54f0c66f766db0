//! How large the store is, on the disk and in memory, and how far its writing and packing have come.

use std::path::Path;

use rocksdb::properties::{
    BLOCK_CACHE_USAGE, CUR_SIZE_ALL_MEM_TABLES, ESTIMATE_NUM_KEYS,
    ESTIMATE_PENDING_COMPACTION_BYTES, IS_WRITE_STOPPED, NUM_RUNNING_COMPACTIONS, PropName,
};

use super::directory::failed;
use super::writer::Shared;
use crate::engine::measure::{Measure, Measured};
use crate::error::Result;

/// What RocksDB knows without looking for it.
const KNOWN: [(&str, &str, &PropName); 6] = [
    ("cells", "cells, as far as RocksDB can estimate", ESTIMATE_NUM_KEYS),
    ("write_memory_bytes", "memory of what is in no table yet", CUR_SIZE_ALL_MEM_TABLES),
    ("cache_bytes", "memory of blocks read from disk", BLOCK_CACHE_USAGE),
    ("compaction_pending_bytes", "what is due to be packed", ESTIMATE_PENDING_COMPACTION_BYTES),
    ("compactions", "compactions under way", NUM_RUNNING_COMPACTIONS),
    ("writes_stopped", "1 while writes wait for compactions", IS_WRITE_STOPPED),
];

/// Looks at the directory, too: for a thread that may wait.
///
/// # Errors
/// `Unavailable` if the directory can't be read.
pub fn measure(shared: &Shared) -> Result<Vec<Measure>> {
    let mut measures = vec![
        Measure {
            name: "commit_group_commits",
            meaning: "commits that were made durable together",
            value: Measured::Sizes(shared.groups.so_far()),
        },
        Measure::now(
            "disk_bytes",
            "tables, logs and all else in the directory",
            disk_bytes(&shared.directory.db())?,
        ),
    ];
    for (name, meaning, property) in KNOWN {
        if let Ok(Some(value)) = shared.db.property_int_value(property) {
            measures.push(Measure::now(name, meaning, value));
        }
    }
    let stopped = u64::from(shared.stopped.get().is_some());
    measures.push(Measure::now("failed", "1 once writing has ended for good", stopped));
    Ok(measures)
}

/// Files may come and go meanwhile.
fn disk_bytes(dir: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(dir).map_err(|e| failed("read directory", dir, e))?;
    let lengths = entries.flatten().filter_map(|entry| entry.metadata().ok());
    Ok(lengths.filter(|found| found.is_file()).map(|file| file.len()).sum())
}
