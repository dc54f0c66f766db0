//! The store's directory: what lies in it, whose it is, and who has it open.
//!
//! | name | content |
//! |---|---|
//! | `KEYAKI` | one line, `keyaki format 3`; written last when a store is made |
//! | `LOCK` | held by the one process that has the store open |
//! | `SPACES` | a line with a checksum, then a JSON line per space; replaced as a whole |
//! | `db/` | RocksDB's own files |
//! | `bulk/` | files about to be ingested; emptied at open |
//!
//! A directory that is not empty and not ours is left alone. One without `KEYAKI` that holds
//! nothing but our own names was interrupted while being made; nothing in it was acknowledged.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::engine::space::SpaceRecord;
use crate::error::{Error, Result};

/// The directory format this build reads and writes.
pub const FORMAT: u32 = 3;

const MARK: &str = "KEYAKI";
const MARK_PREFIX: &str = "keyaki format ";
const LOCK: &str = "LOCK";
const LOCK_TEXT: &[u8] = b"keyaki lock\n";
const SPACES: &str = "SPACES";
const SPACES_PREFIX: &str = "keyaki spaces 1 ";
const DB: &str = "db";
const BULK: &str = "bulk";

/// An open store directory; closing it lets others in.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    lock: File,
}

impl Drop for Directory {
    /// A process that this one is just starting shares the open file for a moment; closing alone
    /// would leave the lock to it.
    fn drop(&mut self) {
        // Closing is all that is left to do if this fails.
        let _ = self.lock.unlock();
    }
}

/// What a directory turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Store,
    Unmade,
}

impl Directory {
    /// Opens a store's directory, or begins one where nothing is yet. A new one is finished by
    /// [`Self::finish_making`].
    ///
    /// # Errors
    /// `Invalid` if it holds other things, `Unsupported` if it has another format,
    /// `Unavailable` if another process has it open.
    pub fn open_or_begin(path: &Path) -> Result<(Self, bool)> {
        create_directory(path).map_err(|e| failed("create directory", path, e))?;
        inspect(path)?;
        let directory = Self::lock(path)?;
        // Another process may have made the store before this one got the lock.
        match inspect(path)? {
            State::Store => Ok((directory, false)),
            State::Unmade => {
                directory.clear_unmade()?;
                Ok((directory, true))
            }
        }
    }

    /// Opens the directory of a store that is there.
    ///
    /// # Errors
    /// `NotFound` if there is none; else as [`Self::open_or_begin`].
    pub fn open(path: &Path) -> Result<Self> {
        require_store(path)?;
        Self::lock(path)
    }

    fn lock(path: &Path) -> Result<Self> {
        let at = path.join(LOCK);
        let mut options = File::options();
        let mut lock = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(&at)
            .map_err(|e| failed("open lock file", &at, e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::unavailable("another process has this store open")
                    .with("dir", path.display()));
            }
            Err(TryLockError::Error(e)) => return Err(failed("lock", &at, e)),
        }
        lock.write_all(LOCK_TEXT).map_err(|e| failed("write lock file", &at, e))?;
        Ok(Self { path: path.to_owned(), lock })
    }

    fn clear_unmade(&self) -> Result<()> {
        for name in [DB, BULK] {
            let at = self.path.join(name);
            if at.exists() {
                fs::remove_dir_all(&at).map_err(|e| failed("remove directory", &at, e))?;
            }
        }
        Ok(())
    }

    /// Says that the store is made.
    ///
    /// # Errors
    /// `Unavailable` if it can't be written.
    pub fn finish_making(&self) -> Result<()> {
        // Whoever made the directory may have died before its name was durable.
        sync_name(&self.path).map_err(|e| failed("sync", &self.path, e))?;
        self.write_spaces(&[])?;
        replace(&self.path, MARK, format!("{MARK_PREFIX}{FORMAT}\n").as_bytes())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where RocksDB's files are.
    pub fn db(&self) -> PathBuf {
        self.path.join(DB)
    }

    /// Where files wait to be ingested.
    pub fn bulk(&self) -> PathBuf {
        self.path.join(BULK)
    }

    /// Removes what an earlier process left to be ingested.
    ///
    /// # Errors
    /// `Unavailable` if it can't.
    pub fn clear_bulk(&self) -> Result<()> {
        let at = self.bulk();
        if at.exists() {
            fs::remove_dir_all(&at).map_err(|e| failed("remove directory", &at, e))?;
        }
        fs::create_dir(&at).map_err(|e| failed("create directory", &at, e))
    }

    /// The list of spaces.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn read_spaces(&self) -> Result<Vec<SpaceRecord>> {
        let at = self.path.join(SPACES);
        let text = fs::read_to_string(&at).map_err(|e| {
            Error::corrupt("list of spaces can't be read").with("file", at.display()).because(e)
        })?;
        let damaged = || Error::corrupt("list of spaces is damaged").with("file", at.display());
        let (first, lines) = text.split_once('\n').ok_or_else(damaged)?;
        if first.strip_prefix(SPACES_PREFIX) != Some(checksum(lines).as_str()) {
            return Err(damaged());
        }
        lines
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|e| damaged().because(e)))
            .collect()
    }

    /// Replaces the list of spaces.
    ///
    /// # Errors
    /// `Unavailable` if it can't be written.
    pub fn write_spaces(&self, records: &[SpaceRecord]) -> Result<()> {
        let mut lines = String::new();
        for record in records {
            let line = serde_json::to_string(record)
                .map_err(|e| Error::internal("space record is not JSON").because(e))?;
            lines.push_str(&line);
            lines.push('\n');
        }
        let text = format!("{SPACES_PREFIX}{}\n{lines}", checksum(&lines));
        replace(&self.path, SPACES, text.as_bytes())
    }

    /// Copies everything beside RocksDB's files to a finished store directory of its own.
    ///
    /// # Errors
    /// `Unavailable` if it can't.
    pub fn copy_lists(&self, to: &Path) -> Result<()> {
        for name in [SPACES, MARK] {
            let at = self.path.join(name);
            let content = fs::read(&at).map_err(|e| failed("read", &at, e))?;
            replace(to, name, &content)?;
        }
        Ok(())
    }
}

/// Makes sure that a store is in `path`, for those who would not make one there.
///
/// # Errors
/// `NotFound` if there is none, `Invalid` if it holds other things, `Unsupported` if it has another
/// format.
pub fn require_store(path: &Path) -> Result<()> {
    if !path.exists() || inspect(path)? == State::Unmade {
        return Err(Error::not_found("no store in this directory").with("dir", path.display()));
    }
    Ok(())
}

fn inspect(path: &Path) -> Result<State> {
    match fs::read_to_string(path.join(MARK)) {
        Ok(text) => check_format(path, &text).map(|()| State::Store),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let ours = holds_only_ours(path).map_err(|e| failed("read directory", path, e))?;
            match ours {
                false => Err(not_ours(path)),
                true if lists_spaces(path) => Err(Error::corrupt("format file is missing")
                    .with("file", path.join(MARK).display())),
                true => Ok(State::Unmade),
            }
        }
        Err(e) if e.kind() == io::ErrorKind::InvalidData => {
            Err(Error::corrupt("format file is damaged").with("file", path.join(MARK).display()))
        }
        Err(e) => Err(failed("read format file", &path.join(MARK), e)),
    }
}

fn check_format(path: &Path, text: &str) -> Result<()> {
    let format =
        text.strip_prefix(MARK_PREFIX).and_then(|rest| rest.trim_end().parse::<u32>().ok());
    match format {
        Some(FORMAT) => Ok(()),
        Some(other) => Err(Error::unsupported("store has a format that this build doesn't read")
            .with("dir", path.display())
            .with("format", other)
            .with("supported", FORMAT)),
        None => {
            Err(Error::corrupt("format file is damaged").with("file", path.join(MARK).display()))
        }
    }
}

/// Empty, or begun by us: then our lock file is there, and nothing but our own names.
fn holds_only_ours(path: &Path) -> io::Result<bool> {
    let mut empty = true;
    for entry in fs::read_dir(path)? {
        empty = false;
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".new").unwrap_or(&name);
        if ![LOCK, SPACES, MARK, DB, BULK].contains(&name) {
            return Ok(false);
        }
    }
    let locked = || fs::read(path.join(LOCK)).is_ok_and(|text| is_lock(&text));
    Ok(empty || locked())
}

/// The lock file is cut short, or has zeros in it, if the power failed before the disk had it all.
fn is_lock(text: &[u8]) -> bool {
    text.len() <= LOCK_TEXT.len()
        && text.iter().zip(LOCK_TEXT).all(|(byte, meant)| byte == meant || *byte == 0)
}

/// Spaces are made in finished stores only.
fn lists_spaces(path: &Path) -> bool {
    fs::read(path.join(SPACES)).is_ok_and(|text| text.iter().filter(|&&b| b == b'\n').count() > 1)
}

fn not_ours(path: &Path) -> Error {
    Error::invalid("directory is not empty and not a Keyaki store").with("dir", path.display())
}

fn checksum(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Writes a file as a whole: it has the old content or the new, whatever happens.
fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<()> {
    let at = dir.join(name);
    let new = dir.join(format!("{name}.new"));
    let write = || -> io::Result<File> {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        Ok(file)
    };
    let file = write().map_err(|e| failed("write", &new, e))?;
    file.sync_all().map_err(|e| sync_failed(&new, e))?;
    fs::rename(&new, &at).map_err(|e| failed("rename", &at, e))?;
    sync_directory(dir).map_err(|e| sync_failed(dir, e))
}

/// Makes a directory and those above it, so that they are there after a power loss too.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let missing: Vec<&Path> = path.ancestors().take_while(|dir| !dir.exists()).collect();
    fs::create_dir_all(&path)?;
    missing.iter().filter_map(|dir| dir.parent()).try_for_each(sync_directory)
}

/// Makes the name of `path` durable.
fn sync_name(path: &Path) -> io::Result<()> {
    std::path::absolute(path)?.parent().map_or(Ok(()), sync_directory)
}

/// Makes a directory's names durable.
pub fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The message of a sync that failed: nobody knows what the disk has.
pub const SYNC_FAILED: &str = "sync failed; writing stops until reopened";

fn sync_failed(at: &Path, source: io::Error) -> Error {
    Error::unavailable(SYNC_FAILED).with("file", at.display()).because(source)
}

/// A file operation that failed.
pub fn failed(what: &'static str, at: &Path, source: io::Error) -> Error {
    Error::unavailable("file operation failed")
        .with("operation", what)
        .with("file", at.display())
        .because(source)
}
