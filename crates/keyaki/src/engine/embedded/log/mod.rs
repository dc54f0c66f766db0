//! Reads RocksDB's write-ahead logs before RocksDB does, and says what recovery may do with them.
//!
//! The promise: a torn tail is cut, damage anywhere else is refused with file and offset, and no
//! acknowledged batch is passed over in silence. RocksDB alone doesn't keep it: told to tolerate
//! torn tails, it drops a record whose damaged length reaches past the end of the file together
//! with everything after it, skips the rest of a block that reads as zeros, and never says where.
//! Told to recover a point in time, it takes any damage for the end.
//!
//! `manifest` does the same for the list of tables. `record` knows the format, `walk` what a healthy
//! log looks like, `tail` how to tell a write that was interrupted, or an older log's remains, from
//! what was damaged later. What the batches say is left to RocksDB.

mod batches;
mod manifest;
mod record;
mod tail;
mod walk;

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use manifest::verify_manifest;

use batches::History;
use walk::{Break, End, Walked};

/// What the logs hold.
#[derive(Debug, Default)]
pub struct LogSummary {
    /// Log files read.
    pub files: usize,
    /// Whole batches in them.
    pub records: u64,
    /// Bytes in them, torn ones included.
    pub bytes: u64,
    /// What lies behind the last whole batches of its files and holds none: for [`Part::cut`].
    /// RocksDB must not meet it: it would take an older log's remains, or a write that failed before
    /// the process went on in the next log, for the end of all.
    pub tails: Vec<Part>,
    /// Where the newest log's tail begins with a write that a crash interrupted, the bytes of it.
    pub torn_bytes: u64,
    /// Padding that should be zeros: for [`Part::blank`].
    pub strays: Vec<Part>,
    /// Logs that are not needed: RocksDB kept them to write over, and would remove them only once it
    /// has opened, for which their room may be wanted.
    pub unneeded: Vec<PathBuf>,
}

/// A part of a log's file that holds no batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub file: PathBuf,
    /// Where it starts.
    pub offset: u64,
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

/// Reads the logs in `dir` from number `first` on, oldest first, and changes nothing. A missing
/// `dir` holds no logs. Those before are not needed, and may be half written over.
///
/// It takes for granted what the engine's writer does: each batch is one record, synced before the
/// next is appended, so that a power cut can only hurt the last record of the newest log.
///
/// # Errors
/// The first damaged place, or the file that couldn't be read.
pub fn verify_logs(dir: &Path, first: u64) -> Result<LogSummary, LogDamage> {
    let logs = list(dir).map_err(|source| LogDamage::Io { file: dir.to_owned(), source })?;
    let (unneeded, logs) = logs.split_at(logs.partition_point(|(number, _)| *number < first));
    let unneeded = unneeded.iter().map(|(_, file)| file.clone()).collect();
    let mut summary = LogSummary { files: logs.len(), unneeded, ..LogSummary::default() };
    let mut history = History::default();
    let mut ends = Vec::<(&Path, u64)>::new();
    for (number, file) in logs {
        let newest = ends.len() + 1 == logs.len();
        let damaged = |file: &Path, offset, reason| {
            Err(LogDamage::Damaged { file: file.to_owned(), offset, reason })
        };
        match verify(file, *number, newest, &mut history, &mut summary) {
            Ok(end) => ends.push((file, end)),
            Err(Break::Damaged(offset, reason)) => return damaged(file, offset, reason),
            Err(Break::Missing) => {
                let (older, end) = ends.last().copied().unwrap_or((file, 0));
                return damaged(older, end, "the log ends early: later logs don't follow on it");
            }
            Err(Break::Io(source)) => return Err(LogDamage::Io { file: file.clone(), source }),
        }
    }
    summary.records = history.count();
    Ok(summary)
}

/// Only for the owner of the store: a log that another process is writing to may well look torn.
impl Part {
    /// Removes the end of a file for good.
    ///
    /// # Errors
    /// Those of the file, and a file that changed since it was read.
    pub fn cut(&self) -> io::Result<()> {
        let file = self.open()?;
        if file.metadata()?.len() != self.offset + self.bytes {
            return Err(io::Error::other("the log changed while it was being recovered"));
        }
        end_at(&file, self.offset)
    }

    /// Fills it with zeros.
    ///
    /// # Errors
    /// Those of the file.
    pub fn blank(&self) -> io::Result<()> {
        let mut file = self.open()?;
        file.seek(SeekFrom::Start(self.offset))?;
        io::copy(&mut io::repeat(0).take(self.bytes), &mut file)?;
        file.sync_all()
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.file)
    }
}

/// Ends a copy of logs, taken while the newest was being written, before the first place of that
/// one which can't be read: pages were read before they were written, and others after that.
///
/// # Errors
/// Those of the files.
pub fn end_copy(dir: &Path) -> io::Result<()> {
    let Some((number, path)) = list(dir)?.pop() else { return Ok(()) };
    let end = match walk::walk(File::open(&path)?, number as u32, &mut History::default()) {
        Ok(Walked { end: End::Before(offset) | End::Torn(offset), .. })
        | Err(Break::Damaged(offset, _)) => offset,
        Ok(Walked { end: End::Clean, .. }) | Err(Break::Missing) => return Ok(()),
        Err(Break::Io(source)) => return Err(source),
    };
    end_at(&OpenOptions::new().write(true).open(&path)?, end)
}

fn end_at(file: &File, offset: u64) -> io::Result<()> {
    file.set_len(offset)?;
    file.sync_all()
}

/// Answers where the log's last whole batch ends.
fn verify(
    path: &Path,
    number: u64,
    newest: bool,
    history: &mut History,
    summary: &mut LogSummary,
) -> Result<u64, Break> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    summary.bytes += length;
    // Records name their log by the lower half of its number.
    let Walked { end, strays } = walk::walk(file, number as u32, history)?;
    let part = |range: Range<u64>| {
        let bytes = range.end - range.start;
        Part { file: path.to_owned(), offset: range.start, bytes }
    };
    summary.strays.extend(strays.into_iter().map(part));
    let (End::Before(offset) | End::Torn(offset)) = end else { return Ok(length) };
    summary.tails.push(part(offset..length));
    if newest && end == End::Torn(offset) {
        summary.torn_bytes = length - offset;
    }
    Ok(offset)
}

/// The logs and their numbers, in the order in which they were written.
fn list(dir: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
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
    Ok(logs)
}

/// The number of a log called `name`: decimal digits and `.log`.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}
