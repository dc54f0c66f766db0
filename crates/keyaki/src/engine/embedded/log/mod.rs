//! Reads RocksDB's write-ahead logs before RocksDB does, and says what recovery may do with them.
//!
//! The promise: a torn tail is cut, damage anywhere else is refused with file and offset, and no
//! acknowledged batch is passed over in silence. RocksDB alone doesn't keep it: told to tolerate
//! torn tails, it drops a record whose damaged length reaches past the end of the file together
//! with everything after it, skips the rest of a block that reads as zeros, and never says where.
//!
//! `manifest` does the same for the list of tables. `record` knows the format, `walk` what a healthy log looks like, `tail` how to tell a write that
//! was interrupted from one that was damaged later. What the batches say is left to RocksDB.

mod batches;
mod manifest;
mod record;
mod tail;
mod walk;

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub use manifest::verify_manifest;

use batches::History;
use walk::{Break, End};

/// What the logs hold.
#[derive(Debug, Default)]
pub struct LogSummary {
    /// Log files read.
    pub files: usize,
    /// Whole batches in them.
    pub records: u64,
    /// Bytes in them, torn ones included.
    pub bytes: u64,
    /// The write that a crash interrupted, at the end of the newest log: for [`cut`].
    pub torn_tail: Option<TornTail>,
    /// Writes that failed at the end of older logs, after which the process went on in the next
    /// log. They stay: RocksDB passes over them, and may have noted the size of their files.
    pub abandoned: Vec<TornTail>,
}

/// An unfinished record and all that follows it in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    pub file: PathBuf,
    /// Where the record's batch starts.
    pub offset: u64,
    /// From there to the end of the file.
    pub bytes: u64,
}

/// Why the logs can't be replayed.
#[derive(Debug)]
pub enum LogDamage {
    /// What was written at `offset` is not what is there now.
    Damaged { file: PathBuf, offset: u64, reason: &'static str },
    /// Not read, so nothing is known of it.
    Io { file: PathBuf, source: io::Error },
}

/// Reads every log in `dir`, oldest first, and changes nothing. A missing `dir` holds no logs.
///
/// It takes for granted what the engine's writer does: each batch is one record, synced before the
/// next is appended, so that a power cut can only hurt the last record of the newest log.
///
/// # Errors
/// The first damaged place, or the file that couldn't be read.
pub fn verify_logs(dir: &Path) -> Result<LogSummary, LogDamage> {
    let logs = list(dir).map_err(|source| LogDamage::Io { file: dir.to_owned(), source })?;
    let mut summary = LogSummary { files: logs.len(), ..LogSummary::default() };
    let mut history = History::default();
    for (at, file) in logs.iter().enumerate() {
        let newest = at + 1 == logs.len();
        verify(file, newest, &mut history, &mut summary)?;
    }
    summary.records = history.count();
    Ok(summary)
}

/// Removes a torn tail for good, so that RocksDB meets whole records only.
///
/// Only for the owner of the store: a log that another process is writing to may well look torn.
///
/// # Errors
/// Those of the file, and a file that changed since it was read.
pub fn cut(torn: &TornTail) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(&torn.file)?;
    if file.metadata()?.len() != torn.offset + torn.bytes {
        return Err(io::Error::other("the log changed while it was being recovered"));
    }
    file.set_len(torn.offset)?;
    file.sync_all()
}

fn verify(
    path: &Path,
    newest: bool,
    history: &mut History,
    summary: &mut LogSummary,
) -> Result<(), LogDamage> {
    let failed = |source| LogDamage::Io { file: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    summary.bytes += length;
    let damaged = |offset, reason| LogDamage::Damaged { file: path.to_owned(), offset, reason };
    let torn = |offset| TornTail { file: path.to_owned(), offset, bytes: length - offset };
    match walk::walk(file, history) {
        Ok(End::Clean) => {}
        Ok(End::CutShort(offset) | End::NeverWritten(offset)) if newest => {
            summary.torn_tail = Some(torn(offset));
        }
        Ok(End::CutShort(offset)) => summary.abandoned.push(torn(offset)),
        // An older log was synced before its successor was begun.
        Ok(End::NeverWritten(offset)) => return Err(damaged(offset, "zeros in a finished log")),
        Err(Break::Damaged(offset, reason)) => return Err(damaged(offset, reason)),
        Err(Break::Missing) => {
            let end = summary.abandoned.pop().expect("only an unfinished log can miss batches");
            let reason = "the log ends early: later logs don't follow on it";
            return Err(LogDamage::Damaged { file: end.file, offset: end.offset, reason });
        }
        Err(Break::Io(source)) => return Err(failed(source)),
    }
    Ok(())
}

/// The logs, in the order in which they were written.
fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut logs = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if let Some(number) = name.to_str().and_then(number) {
            logs.push((number, dir.join(name)));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

/// The number of a log called `name`: decimal digits and `.log`.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}
