//! Before RocksDB reads its manifest and replays its log: a torn tail and an older log's remains are
//! cut off, any other damage is refused with its file and offset. Left to itself RocksDB names
//! neither, and takes damage for the end.

use std::io;
use std::path::Path;

use super::directory::failed;
use super::log::{self, LogDamage, LogSummary, Part};
use crate::error::{Error, Result};

/// Reads the manifest and all logs in `db`, and changes nothing.
///
/// # Errors
/// `Corrupt` if one is damaged anywhere but in its unfinished tail.
pub fn verify(db: &Path) -> Result<LogSummary> {
    let verified = log::verify_manifest(db).and_then(|first| log::verify_logs(db, first));
    verified.map_err(|damage| match damage {
        LogDamage::Damaged { file, offset, reason } => Error::corrupt("log is damaged")
            .with("file", file.display())
            .with("offset", offset)
            .with("reason", reason),
        LogDamage::Io { file, source } => {
            Error::unavailable("log can't be read").with("file", file.display()).because(source)
        }
    })
}

/// Makes the logs ready to be replayed.
///
/// # Errors
/// As [`verify`]; `Unavailable` if a log can't be changed.
pub fn recover(db: &Path) -> Result<()> {
    let LogSummary { tails, strays, unneeded, .. } = verify(db)?;
    for log in unneeded {
        std::fs::remove_file(&log).map_err(|e| failed("remove log", &log, e))?;
    }
    for stray in strays {
        stray.blank().map_err(|e| unready(&stray, e))?;
    }
    for tail in tails {
        tail.cut().map_err(|e| unready(&tail, e))?;
        tracing::info!(file = %tail.file.display(), tail.offset, tail.bytes, "cut a log's tail");
    }
    Ok(())
}

fn unready(part: &Part, why: io::Error) -> Error {
    Error::unavailable("log can't be made ready")
        .with("file", part.file.display())
        .with("offset", part.offset)
        .because(why)
}
