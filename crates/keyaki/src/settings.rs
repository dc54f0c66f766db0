//! Plain options with defaults; nothing here does work.

use std::time::Duration;

/// How the embedded engine runs.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Memory for blocks read from disk, their indexes and filters.
    pub cache_bytes: usize,
    /// Memory for what is written but not yet in a table.
    pub write_memory_bytes: usize,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// How tables are compressed.
    pub compression: Compression,
    /// Commits that may wait for the writer before callers have to.
    pub queue_commits_max: usize,
    /// Bytes of such commits; one larger commit may wait alone.
    pub queue_bytes_max: usize,
    /// Bulk commits whose files may be written at a time.
    pub bulk_commits_max: usize,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            cache_bytes: 512 << 20,
            write_memory_bytes: 192 << 20,
            durability: Durability::Sync,
            compression: Compression::Lz4ThenZstd,
            queue_commits_max: 1024,
            queue_bytes_max: 64 << 20,
            bulk_commits_max: 2,
        }
    }
}

/// When a commit is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it: it survives power loss.
    Sync,
    /// When the operating system has it: it survives a killed process, and the disk has it
    /// after at most this long.
    Interval(Duration),
}

/// How tables are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Lz4 on every level.
    Lz4,
    /// Lz4 above, zstd on the last level, where most data rests.
    Lz4ThenZstd,
}

/// How the store runs, on whichever engine.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Values longer than this are kept in several cells.
    pub chunk_bytes: usize,
    /// How often what the spaces' rules no longer keep is removed for good; `None`: only on call.
    pub sweep_every: Option<Duration>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { chunk_bytes: 512 << 10, sweep_every: Some(Duration::from_secs(600)) }
    }
}
