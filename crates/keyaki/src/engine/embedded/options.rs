//! RocksDB as we run it. Every line that is not a default is here, with its reason.

use std::sync::Arc;

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, Options, WriteOptions};

use super::merge;
use crate::cell::HybridClock;
use crate::engine::space::Spaces;
use crate::settings::{Compression, Durability, EmbeddedSettings};

const BLOCK_BYTES: usize = 16 << 10;
const BLOOM_BITS_PER_KEY: f64 = 10.0;
const TABLE_BYTES: u64 = 64 << 20;
/// Memtables: one filling, the others being written out.
const MEMTABLES: usize = 3;
const OPEN_FILES_MAX: i32 = 512;
const ZSTD_LEVEL: i32 = 1;
/// What zstd's levels say themselves; the default for others.
const ANY_WINDOW: i32 = -14;

/// Options for the store's one column family and for the files that are ingested into it.
pub fn options(
    settings: &EmbeddedSettings,
    spaces: &Arc<Spaces>,
    clock: &Arc<HybridClock>,
) -> Options {
    let mut options = Options::default();
    merge::install(&mut options, spaces, clock);
    // A log written over an old one need not grow at every sync, which is then much quicker. RocksDB
    // wants this mode for it, which takes all damage for the end of the log: see `recovery`, which
    // finds missing logs, too. (RocksDB would write their sizes to the manifest, but while a memtable
    // is written out it would do so, and sync, with every group.)
    options.set_recycle_log_file_num(MEMTABLES - 1);
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    options.set_block_based_table_factory(&tables(settings));
    memory(&mut options, settings);
    compression(&mut options, settings.compression);
    options.set_target_file_size_base(TABLE_BYTES);
    options.set_max_background_jobs(background_jobs());
    // Write tables out as they grow, not in one burst that commits would wait behind.
    options.set_bytes_per_sync(1 << 20);
    options.set_max_open_files(OPEN_FILES_MAX);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(8 << 20);
    options.set_stats_dump_period_sec(0);
    options
}

/// The same for files of bulk commits: quick to write, for compaction will soon write them anew. RocksDB would compress
/// them as the last level's.
pub fn file_options(
    settings: &EmbeddedSettings,
    spaces: &Arc<Spaces>,
    clock: &Arc<HybridClock>,
) -> Options {
    let mut options = options(settings, spaces, clock);
    if settings.compression == Compression::Lz4ThenZstd {
        compression(&mut options, Compression::Lz4);
    }
    options
}

/// How a commit group is written.
pub fn write_options(durability: Durability) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(durability == Durability::Sync);
    options
}

fn tables(settings: &EmbeddedSettings) -> BlockBasedOptions {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_size(BLOCK_BYTES);
    tables.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
    tables.set_block_cache(&Cache::new_hyper_clock_cache(settings.cache_bytes, 0));
    // Indexes and filters count against the cache: memory stays what the settings say.
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_pin_l0_filter_and_index_blocks_in_cache(true);
    tables
}

fn memory(options: &mut Options, settings: &EmbeddedSettings) {
    let memtable = (settings.write_memory_bytes / MEMTABLES).max(1 << 20);
    options.set_write_buffer_size(memtable);
    options.set_max_write_buffer_number(MEMTABLES as i32);
    options.set_db_write_buffer_size(settings.write_memory_bytes);
    options.set_max_bytes_for_level_base(4 * memtable as u64);
}

fn compression(options: &mut Options, compression: Compression) {
    let (above, last) = match compression {
        Compression::None => (DBCompressionType::None, DBCompressionType::None),
        Compression::Lz4 => (DBCompressionType::Lz4, DBCompressionType::Lz4),
        Compression::Lz4ThenZstd => (DBCompressionType::Lz4, DBCompressionType::Zstd),
    };
    options.set_compression_type(above);
    options.set_bottommost_compression_type(last);
    if last == DBCompressionType::Zstd {
        // Level 3 is the default. Compaction shares the CPU with those who write.
        options.set_bottommost_compression_options(ANY_WINDOW, ZSTD_LEVEL, 0, 0, true);
    }
}

fn background_jobs() -> i32 {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    i32::try_from(cores.clamp(2, 16)).unwrap_or(2)
}
