//! The baseline: RocksDB itself, with the library's options and nothing above it.

use std::path::{Path, PathBuf};

use keyaki::settings::EmbeddedSettings;
use rocksdb::{
    BottommostLevelCompaction, CompactOptions, DB, IngestExternalFileOptions, MergeOperands,
    Options, PrefixRange, ReadOptions, SstFileWriter, WaitForCompactOptions, WriteBatch,
    WriteOptions,
};

use crate::Result;
use crate::cells::Cell;

mod group;
mod options;

pub use group::{Conditional, GroupCommit};
pub use options::{options, same};

/// A bare database.
pub struct Bare {
    db: DB,
    options: Options,
    sync: WriteOptions,
    dir: PathBuf,
}

impl Bare {
    pub fn open(dir: &Path, settings: &EmbeddedSettings) -> Result<Self> {
        let mut options = options(settings);
        options.set_merge_operator_associative("sum", sum);
        let db = DB::open(&options, dir)?;
        let mut sync = WriteOptions::default();
        sync.set_sync(true);
        Ok(Self { db, options, sync, dir: dir.to_owned() })
    }

    pub fn db(&self) -> &DB {
        &self.db
    }

    /// Writes a batch, synced.
    pub fn put(&self, cells: impl Iterator<Item = Cell>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for cell in cells {
            batch.put(cell.key(), cell.value());
        }
        Ok(self.db.write_opt(batch, &self.sync)?)
    }

    /// Adds to the sums at these cells, synced.
    pub fn increment(&self, sums: impl Iterator<Item = (Cell, i64)>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (cell, amount) in sums {
            batch.merge(cell.key(), amount.to_be_bytes());
        }
        Ok(self.db.write_opt(batch, &self.sync)?)
    }

    /// Writes a file of cells, which are in order, and takes it in.
    pub fn bulk(&self, cells: &[Cell]) -> Result<()> {
        let path = self.dir.join("bulk.sst");
        let mut file = SstFileWriter::create(&self.options);
        file.open(&path)?;
        for cell in cells {
            file.put(cell.key(), cell.value())?;
        }
        file.finish()?;
        let mut taking = IngestExternalFileOptions::default();
        taking.set_move_files(true);
        Ok(self.db.ingest_external_file_opts(&taking, vec![&path])?)
    }

    /// Shows every key and value that starts with `prefix`.
    pub fn scan(&self, prefix: &[u8], visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        show(&self.db, &ReadRange::Prefix(prefix), visit)
    }

    /// Shows every key and value.
    pub fn scan_all(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        show(&self.db, &ReadRange::All, visit)
    }

    /// Waits until no compaction is left to do.
    pub fn settle(&self) -> Result<()> {
        settle(&self.db)
    }

    /// Packs everything into one sorted run.
    pub fn compact(&self) {
        compact(&self.db);
    }
}

/// What of a store is shown.
pub enum ReadRange<'a> {
    Prefix(&'a [u8]),
    All,
}

/// Shows keys and values in order.
pub fn show(db: &DB, range: &ReadRange<'_>, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
    let mut options = ReadOptions::default();
    match range {
        ReadRange::Prefix(prefix) => options.set_iterate_range(PrefixRange(*prefix)),
        ReadRange::All => options.set_readahead_size(1 << 20),
    }
    let mut iterator = db.raw_iterator_opt(options);
    iterator.seek_to_first();
    while let Some((key, value)) = iterator.item() {
        visit(key, value);
        iterator.next();
    }
    Ok(iterator.status()?)
}

/// Waits until no compaction is left to do.
pub fn settle(db: &DB) -> Result<()> {
    let mut options = WaitForCompactOptions::default();
    options.set_flush(true);
    Ok(db.wait_for_compact(&options)?)
}

/// Packs everything into one sorted run.
pub fn compact(db: &DB) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
}

fn sum(_: &[u8], base: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut sum = 0_i64;
    for operand in base.into_iter().chain(operands) {
        sum = sum.wrapping_add(i64::from_be_bytes(operand.try_into().ok()?));
    }
    Some(sum.to_be_bytes().to_vec())
}
