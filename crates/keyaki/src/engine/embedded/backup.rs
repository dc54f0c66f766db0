//! Backup of a running store, and restore.
//!
//! A backup is a store directory of its own, made of hard links where the file system allows it:
//! it opens as it is. A restore copies every byte, so that backup and store share nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rocksdb::DB;
use rocksdb::checkpoint::Checkpoint;

use super::directory::{Directory, create_directory, failed, sync_directory};
use super::log;
use crate::error::{Error, Result};

/// Copies the running store to `to`, which must not be there yet.
pub fn backup(db: &DB, directory: &Directory, to: &Path) -> Result<()> {
    refuse_existing(to)?;
    create_directory(to).map_err(|e| failed("create directory", to, e))?;
    let cells = to.join("db");
    let incomplete = || Error::unavailable("backup failed").with("to", to.display());
    // It writes out what is in memory first, so that the log holds later commits only.
    Checkpoint::new(db)
        .and_then(|checkpoint| checkpoint.create_checkpoint(&cells))
        .map_err(|e| incomplete().because(e))?;
    log::end_copy(&cells).map_err(|e| incomplete().because(e))?;
    // The list of spaces comes after the cells: it may know more spaces than they use, never
    // fewer.
    directory.copy_lists(to)
}

/// Copies a backup to `to`, which must not be there yet.
///
/// # Errors
/// `NotFound` if `from` is no store, `Conflict` if `to` exists or an interrupted restore left its
/// work beside it, `Unavailable` if it can't be copied; then nothing is at `to`.
pub fn restore(from: &Path, to: &Path) -> Result<()> {
    let source = Directory::open(from)?;
    refuse_existing(to)?;
    let partial = beside(to)?;
    // Whatever is there, it is not ours to remove.
    refuse_existing(&partial)?;
    copy(&source, &partial).inspect_err(|_| {
        // The failure is told; what it left is only in the way.
        let _ = fs::remove_dir_all(&partial);
    })?;
    let place = || -> io::Result<()> {
        fs::rename(&partial, to)?;
        std::path::absolute(to)?.parent().map_or(Ok(()), sync_directory)
    };
    place().map_err(|e| failed("rename", to, e))
}

/// Where a copy grows until it is whole.
fn beside(to: &Path) -> Result<PathBuf> {
    let mut name = to
        .file_name()
        .ok_or_else(|| Error::invalid("destination has no name").with("to", to.display()))?
        .to_owned();
    name.push(".partial");
    Ok(to.with_file_name(name))
}

fn copy(source: &Directory, to: &Path) -> Result<()> {
    create_directory(to)
        .and_then(|()| copy_folder(&source.db(), &to.join("db")))
        .map_err(|e| failed("copy", to, e))?;
    source.copy_lists(to)
}

fn refuse_existing(to: &Path) -> Result<()> {
    match to.exists() {
        true => Err(Error::conflict("destination exists already").with("to", to.display())),
        false => Ok(()),
    }
}

/// RocksDB keeps no folders inside its own.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        fs::File::open(&copy)?.sync_all()?;
    }
    sync_directory(to)
}
