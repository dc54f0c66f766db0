//! RocksDB as the library runs it, without the library.
//!
//! These lines must say what `crates/keyaki/src/engine/embedded/options.rs` says. That is
//! checked in every run: RocksDB writes the options it runs with beside its tables, and
//! [`same`] compares what the two stores have written.

use std::fs;
use std::path::Path;

use keyaki::settings::{Compression, EmbeddedSettings};
use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, Options};

use crate::Result;

const MEMTABLES: usize = 3;

pub fn options(settings: &EmbeddedSettings) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_recycle_log_file_num(MEMTABLES - 1);
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    options.set_block_based_table_factory(&tables(settings));
    let memtable = settings.write_memory_bytes / MEMTABLES;
    options.set_write_buffer_size(memtable);
    options.set_max_write_buffer_number(MEMTABLES as i32);
    options.set_db_write_buffer_size(settings.write_memory_bytes);
    options.set_max_bytes_for_level_base(4 * memtable as u64);
    let (above, last) = match settings.compression {
        Compression::None => (DBCompressionType::None, DBCompressionType::None),
        Compression::Lz4 => (DBCompressionType::Lz4, DBCompressionType::Lz4),
        Compression::Lz4ThenZstd => (DBCompressionType::Lz4, DBCompressionType::Zstd),
    };
    options.set_compression_type(above);
    options.set_bottommost_compression_type(last);
    if last == DBCompressionType::Zstd {
        options.set_bottommost_compression_options(-14, 1, 0, 0, true);
    }
    options.set_target_file_size_base(64 << 20);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    options.set_max_background_jobs(cores.clamp(2, 16) as i32);
    options.set_bytes_per_sync(1 << 20);
    options.set_max_open_files(512);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(8 << 20);
    options.set_stats_dump_period_sec(0);
    options
}

fn tables(settings: &EmbeddedSettings) -> BlockBasedOptions {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_size(16 << 10);
    tables.set_bloom_filter(10.0, false);
    tables.set_block_cache(&Cache::new_hyper_clock_cache(settings.cache_bytes, 0));
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_pin_l0_filter_and_index_blocks_in_cache(true);
    tables
}

/// What the two stores may differ in: ours has rules of its own. Because of the filter RocksDB
/// would compact files again after thirty days.
const OWN: [&str; 3] =
    ["merge_operator=", "compaction_filter_factory=", "periodic_compaction_seconds="];

/// Refuses to compare two stores that run with different options.
pub fn same(ours: &Path, bare: &Path) -> Result<()> {
    let (ours, bare) = (written(ours)?, written(bare)?);
    if ours.len() != bare.len() {
        return Err("bare/options.rs is not what the library runs with: a section differs".into());
    }
    for (ours, bare) in ours.iter().zip(&bare) {
        if ours != bare {
            let text = format!("bare/options.rs says {bare}, but the library runs with {ours}");
            return Err(text.into());
        }
    }
    Ok(())
}

/// The lines of the newest options file of a database.
fn written(db: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(db)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("OPTIONS-") {
            files.push(path);
        }
    }
    let newest = files.iter().max().ok_or("the database has written no options")?;
    let text = fs::read_to_string(newest)?;
    let shared = |line: &&str| !OWN.iter().any(|own| line.starts_with(own));
    Ok(text.lines().map(str::trim).filter(shared).map(str::to_owned).collect())
}
