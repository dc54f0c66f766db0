//! Before RocksDB reads its manifest and replays its log: a torn tail is cut off, any other damage
//! is refused with its file and offset. Left to itself RocksDB names neither, and may take damage
//! for a torn tail.

use std::path::Path;

use super::log::{self, LogDamage, LogSummary};
use crate::error::{Error, Result};

/// Reads the manifest and all logs in `db`, and changes nothing.
///
/// # Errors
/// `Corrupt` if one is damaged anywhere but in its unfinished tail.
pub fn verify(db: &Path) -> Result<LogSummary> {
    let verified = log::verify_manifest(db).and_then(|()| log::verify_logs(db));
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
/// As [`verify`]; `Unavailable` if the tail can't be cut.
pub fn recover(db: &Path) -> Result<()> {
    if let Some(torn) = verify(db)?.torn_tail {
        log::cut(&torn).map_err(|e| {
            Error::unavailable("torn log tail can't be cut")
                .with("file", torn.file.display())
                .because(e)
        })?;
        tracing::info!(file = %torn.file.display(), torn.offset, torn.bytes, "cut a torn log tail");
    }
    Ok(())
}
