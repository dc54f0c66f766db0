//! Room on the disk. A commit is refused while there is too little, before RocksDB runs into it.
//!
//! RocksDB survives a full disk, but dearly: a log that could not be written to is given up, and
//! nothing is accepted until a memtable's worth is free and what was in memory is in tables. So a
//! group is written only if there would still be room to write out all that memory holds; and
//! memory holds no more than a small part of the disk, or on a small disk that room would never
//! come. Others may fill the disk all the same: then RocksDB meets it, and recovers by itself.
//!
//! Where room is scarce a compaction may have to wait for it, and a write that is held back until
//! compaction has caught up would wait as long. Such a write is soon refused instead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rocksdb::{DB, properties};

use super::directory::failed;
use crate::error::{Error, Result};
use crate::settings::EmbeddedSettings;

/// Of the disk, memory for writes takes at most one part in so many.
const DISK_SHARES: u64 = 6;
/// Room for so many times the memory for writes is enough for compactions not to run out of it.
const AMPLE_MEMORIES: u64 = 8;
/// How long a write waits for a compaction that may be waiting for room. Another may wait behind
/// it and then as long itself, and both are to be refused within a second.
const SCARCE_PATIENCE: Duration = Duration::from_millis(300);
/// Left to the manifest, to what tables hold beside cells, and to blocks that are not full.
const SLACK_BYTES: u64 = 1 << 20;

/// What a new store takes, with room for its first commits and for what follows from them.
const NEW_STORE_BYTES: u64 = 4 << 20;

/// What is asked before anything is written.
pub struct Reserve {
    dir: PathBuf,
    memory_bytes: u64,
}

impl Reserve {
    /// For a store in `dir`, which must be there; answers the settings that suit its disk, too.
    ///
    /// # Errors
    /// `Unavailable` if nothing is to be learnt about the disk.
    pub fn new(dir: &Path, settings: &EmbeddedSettings) -> Result<(Self, EmbeddedSettings)> {
        let Disk { bytes, .. } = Disk::of(dir)?;
        let share = usize::try_from(bytes / DISK_SHARES).unwrap_or(usize::MAX);
        let mut settings = settings.clone();
        settings.write_memory_bytes = settings.write_memory_bytes.min(share);
        let memory_bytes = settings.write_memory_bytes as u64;
        Ok((Self { dir: dir.to_owned(), memory_bytes }, settings))
    }

    /// Refuses to make a store where it could not be used.
    ///
    /// # Errors
    /// `Unavailable` if there is no room for it.
    pub fn admit_new(&self) -> Result<()> {
        let Disk { free, .. } = Disk::of(&self.dir)?;
        match free >= NEW_STORE_BYTES {
            true => Ok(()),
            false => Err(Error::unavailable("too little room on the disk for a new store")
                .with("dir", self.dir.display())
                .with("free_bytes", free)
                .with("needed_bytes", NEW_STORE_BYTES)),
        }
    }

    /// What room there is to write `bytes`, to the log now and to a table later.
    ///
    /// # Errors
    /// `Unavailable` if nothing is to be learnt about the disk.
    pub fn look(&self, db: &DB, bytes: usize) -> Result<Outlook> {
        let Disk { free, .. } = Disk::of(&self.dir)?;
        let ask = |property| db.property_int_value(property).ok().flatten();
        let own = 2 * bytes as u64 + SLACK_BYTES;
        let waiting = ask(properties::ESTIMATE_PENDING_COMPACTION_BYTES).unwrap_or(0);
        if free >= own + AMPLE_MEMORIES * self.memory_bytes + 2 * waiting {
            return Ok(Outlook::Ample);
        }
        let in_memory = ask(properties::CUR_SIZE_ALL_MEM_TABLES).unwrap_or(self.memory_bytes);
        let needed = own + in_memory;
        Ok(match free >= needed {
            true => Outlook::Scarce,
            false => Outlook::Full(
                Error::unavailable("the disk is full")
                    .with("dir", self.dir.display())
                    .with("free_bytes", free)
                    .with("needed_bytes", needed),
            ),
        })
    }
}

/// Whether RocksDB slows writes down for compaction's sake, without stopping them yet.
pub fn slows_down(db: &DB) -> bool {
    db.property_int_value(properties::ACTUAL_DELAYED_WRITE_RATE).is_ok_and(|rate| rate > Some(0))
}

/// What room there is for a write.
pub enum Outlook {
    /// For it and for whatever follows from it.
    Ample,
    /// For it, and perhaps not for the compactions that are due.
    Scarce,
    /// Not enough, and why.
    Full(Error),
}

impl Outlook {
    /// How long a write may wait for compaction to catch up.
    pub fn patience(&self) -> Duration {
        match self {
            Self::Ample => Duration::MAX,
            Self::Scarce | Self::Full(_) => SCARCE_PATIENCE,
        }
    }
}

struct Disk {
    bytes: u64,
    free: u64,
}

impl Disk {
    fn of(dir: &Path) -> Result<Self> {
        let disk = rustix::fs::statvfs(dir).map_err(|e| failed("look at disk", dir, e.into()))?;
        Ok(match disk.f_blocks {
            // Some file systems don't tell.
            0 => Self { bytes: u64::MAX, free: u64::MAX },
            blocks => Self { bytes: blocks * disk.f_frsize, free: disk.f_bavail * disk.f_frsize },
        })
    }
}
