//! Bulk commits: sorted files of puts and merge operands, ingested as one.
//!
//! The caller's thread writes the files; the writer's thread decides the commit and takes them
//! in. Where a commit's cells come to lie among none, there is one file per space, so that each
//! covers a narrow range and sinks to the level where it overlaps nothing; else one for all.
//! RocksDB takes all files of one call in, or none (`docs/decisions/0002-bulk-files.md`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rocksdb::{DB, IngestExternalFileOptions, Options, Range, SstFileWriter};

use crate::engine::commit::{Sealed, StoredWrite, space_of};
use crate::engine::space::{SpaceId, Spaces};

/// How many files this process has begun, which names the next: commits may share their id, and
/// the folder is emptied at open.
static FILES: AtomicU64 = AtomicU64::new(0);

/// Files that hold one commit's cells. Dropping them removes what was not taken in.
pub struct BulkFiles {
    paths: Vec<PathBuf>,
}

impl Drop for BulkFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            // Gone if it was ingested; else the next open clears the folder.
            let _ = fs::remove_file(path);
        }
    }
}

/// How a commit's cells are spread over files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// A file for each space.
    BySpace,
    /// One file.
    Together,
}

impl Spread {
    /// Which is the better one for a commit. Where most of its cells come to lie among others, their file stays on the
    /// top level until the next compaction; those of the other spaces would lie there beside it and bring that about
    /// sooner. A file that holds all of them is hardly wider, unless other buckets lie in between.
    pub fn of(commit: &Sealed, db: &DB, spaces: &Spaces) -> Self {
        let Some((first, last, _)) = commit.ranges().max_by_key(|(_, _, cells)| *cells) else {
            return Self::BySpace;
        };
        let among_others = db.get_approximate_sizes(&[Range::new(first, last)])[0] > 0;
        match among_others && is_of_one_bucket(commit, spaces) {
            true => Self::Together,
            false => Self::BySpace,
        }
    }
}

/// Whether all spaces between a commit's first and last are of its bucket.
fn is_of_one_bucket(commit: &Sealed, spaces: &Spaces) -> bool {
    let (first, last) = (commit.spaces().next(), commit.spaces().last());
    let Some((first, last)) = first.zip(last) else { return true };
    (first.0..=last.0)
        .filter_map(|id| spaces.get(SpaceId(id)))
        .all(|space| space.record.retired || space.record.spec.bucket == commit.home().bucket)
}

/// Writes a commit's cells to files in `dir`, synced.
///
/// # Errors
/// RocksDB's, which names the file.
pub fn write_files(
    options: &Options,
    dir: &Path,
    commit: &Sealed,
    spread: Spread,
) -> Result<BulkFiles, rocksdb::Error> {
    let mut files = BulkFiles { paths: Vec::new() };
    let mut writes = commit.writes().peekable();
    while let Some((first, _)) = writes.peek() {
        let space = space_of(first);
        let path = dir.join(format!("{}.sst", FILES.fetch_add(1, Relaxed)));
        files.paths.push(path.clone());
        let belongs = |key: &[u8]| spread == Spread::Together || space_of(key) == space;
        write_file(options, &path, std::iter::from_fn(|| writes.next_if(|(key, _)| belongs(key))))?;
    }
    Ok(files)
}

fn write_file<'a>(
    options: &Options,
    path: &Path,
    writes: impl Iterator<Item = (&'a [u8], StoredWrite<'a>)>,
) -> Result<(), rocksdb::Error> {
    let mut writer = SstFileWriter::create(options);
    writer.open(path)?;
    for (key, write) in writes {
        match write {
            StoredWrite::Put(value) => writer.put(key, value)?,
            StoredWrite::Delete => writer.delete(key)?,
            StoredWrite::Merge(operand) => writer.merge(key, operand)?,
        }
    }
    writer.finish()
}

/// Takes all files in, or none.
pub fn ingest(db: &DB, files: &BulkFiles) -> Result<(), rocksdb::Error> {
    if files.paths.is_empty() {
        return Ok(());
    }
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    db.ingest_external_file_opts(&options, files.paths.iter().collect())
}
