//! The manifest: RocksDB's list of its tables, a log of changes in the same records as the
//! write-ahead log, and `CURRENT`, the file that names it.
//!
//! A change that was being appended when the process died may be torn: then it never took effect,
//! and RocksDB leaves it out. A damaged length makes a whole change look torn, and RocksDB would
//! leave that out too, with every table it names.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::LogDamage;
use super::walk::{self, Break};

/// Reads the manifest of the store in `db`, and changes nothing. Answers the number of the first
/// write-ahead log that is needed: all that those before it hold is in tables.
///
/// # Errors
/// The first damaged place, or the file that couldn't be read.
pub fn verify_manifest(db: &Path) -> Result<u64, LogDamage> {
    let file = current(db)?;
    let manifest = File::open(&file).map_err(|source| unreadable(&file, source))?;
    match walk::walk_manifest(manifest) {
        Ok(first_log) => Ok(first_log),
        Err(Break::Damaged(offset, reason)) => Err(LogDamage::Damaged { file, offset, reason }),
        Err(Break::Missing) => unreachable!("only numbered batches can be missed"),
        Err(Break::Io(source)) => Err(LogDamage::Io { file, source }),
    }
}

/// The manifest that `CURRENT` names.
fn current(db: &Path) -> Result<PathBuf, LogDamage> {
    let file = db.join("CURRENT");
    let bytes = fs::read(&file).map_err(|source| unreadable(&file, source))?;
    let line = str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
    match line.filter(|name| name.starts_with("MANIFEST-")) {
        Some(name) => Ok(db.join(name)),
        None => Err(LogDamage::Damaged { file, offset: 0, reason: "not a manifest's name" }),
    }
}

fn unreadable(file: &Path, source: io::Error) -> LogDamage {
    let file = file.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => {
            LogDamage::Damaged { file, offset: 0, reason: "the file is missing" }
        }
        _ => LogDamage::Io { file, source },
    }
}
