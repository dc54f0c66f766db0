//! A look at a store that changes nothing: opens it for reading only, walks every cell of every
//! space through all checksums, and tells what is wrong.
//!
//! It goes on behind damage where it can, so that one bad block doesn't hide the next. What the
//! cells mean is for the layers above, which look at each cell through a visitor.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksdb::{DB, DBRecoveryMode, ReadOptions};

use super::directory::Directory;
use super::fault::{open_failed, reading};
use super::log::LogSummary;
use super::{options, recovery, writer};
use crate::cell::{HybridClock, SystemWallClock, Time, key, visibility};
use crate::engine::commit::space_of;
use crate::engine::fold::{self, Presented};
use crate::engine::rules::{Rules, Unfoldable};
use crate::engine::scan::CellRef;
use crate::engine::space::{Space, SpaceId, SpaceRecord, Spaces};
use crate::error::{Error, Result};
use crate::settings::EmbeddedSettings;

/// The engine's own space.
const OWN: SpaceId = SpaceId(0);

/// A store opened for looking.
pub struct Inspection {
    db: DB,
    spaces: Arc<Spaces>,
    directory: Directory,
    log: LogSummary,
}

/// What a walk saw.
#[derive(Debug, Default)]
pub struct Report {
    /// Every space, with what is in it.
    pub spaces: Vec<SpaceReport>,
    /// Log files.
    pub log_files: usize,
    /// Whole records in the log.
    pub log_records: u64,
    /// Bytes at the log's end that never became a commit; harmless.
    pub log_torn_bytes: u64,
    /// Merged cells whose meaning nobody looked at.
    pub unchecked: Vec<Unchecked>,
    /// All that is wrong.
    pub problems: Vec<Error>,
}

/// Merged cells whose operands are sound, but can't be folded here: readers don't see them. That
/// is no damage; the rule may be known elsewhere, or one write was bad.
#[derive(Debug)]
pub struct Unchecked {
    /// Their space.
    pub record: SpaceRecord,
    /// How many.
    pub cells: u64,
    /// Why they can't be folded.
    pub reason: &'static str,
}

/// What is in a space.
#[derive(Debug)]
pub struct SpaceReport {
    /// The space.
    pub record: SpaceRecord,
    /// Cells in it.
    pub cells: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

impl Inspection {
    /// Opens the store in `dir`; it must not be open elsewhere.
    ///
    /// # Errors
    /// Those of opening a store; `Corrupt` names the damaged file.
    pub fn open(dir: &Path, rules: Rules) -> Result<Self> {
        let directory = Directory::open(dir)?;
        let spaces = Arc::new(Spaces::new(directory.read_spaces()?, rules));
        let log = recovery::verify(&directory.db())?;
        let clock = Arc::new(HybridClock::new(Arc::new(SystemWallClock)));
        let mut options = options::options(&EmbeddedSettings::default(), &spaces, &clock);
        // The logs' tails stay, and all that is in no tail can be read.
        options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
        let db = DB::open_for_read_only(&options, directory.db(), false)
            .map_err(|e| open_failed(e).with("dir", dir.display()))?;
        Ok(Self { db, spaces, directory, log })
    }

    /// The spaces, dropped ones too.
    #[must_use]
    pub fn spaces(&self) -> Vec<SpaceRecord> {
        self.spaces.records()
    }

    /// The stored value of a cell, folded if it can be, whether or not its space still keeps it.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn find(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut at = Vec::new();
        key::cell_key(space.0, partition, sort, &mut at);
        let Some(found) = reading(self.db.get(at))? else { return Ok(None) };
        let space = self.spaces.get(space);
        let merge = space.as_ref().and_then(|space| space.merge.as_deref());
        match fold::presentable(merge, &found)? {
            Presented::Whole(Cow::Owned(folded)) => Ok(Some(folded)),
            Presented::Whole(Cow::Borrowed(_)) | Presented::Unfoldable(_) => Ok(Some(found)),
        }
    }

    /// Visits every cell once, by rising key, and tells what it saw. What `visit` finds wrong
    /// goes into the report.
    pub fn walk(&self, mut visit: impl FnMut(&SpaceRecord, &CellRef<'_>) -> Result<()>) -> Report {
        let mut walk = Walk::new(&self.spaces);
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        options.set_readahead_size(2 << 20);
        let mut iterator = self.db.raw_iterator_opt(options);
        iterator.seek_to_first();
        let mut last = Vec::new();
        loop {
            while let Some((key, value)) = iterator.item() {
                last.clear();
                last.extend_from_slice(key);
                if let Err(problem) = walk.cell(key, value, &mut visit) {
                    walk.problems.push(problem);
                }
                iterator.next();
            }
            let Err(error) = iterator.status() else { break };
            walk.problems.push(self.damage(error, &last));
            match self.file_after(&last) {
                Some(start) => {
                    iterator.seek(&start);
                    last = start;
                }
                None => break,
            }
        }
        self.report(walk)
    }

    fn report(&self, walk: Walk<'_>) -> Report {
        let spaces = self.spaces.records().into_iter().map(|record| {
            let (cells, bytes) = walk.seen.get(&record.id).copied().unwrap_or_default();
            SpaceReport { record, cells, bytes }
        });
        let unchecked = walk.unfolded.iter().filter_map(|(&(space, reason), &cells)| {
            let record = self.spaces.get(space)?.record.clone();
            Some(Unchecked { record, cells, reason })
        });
        Report {
            spaces: spaces.collect(),
            unchecked: unchecked.collect(),
            log_files: self.log.files,
            log_records: self.log.records,
            log_torn_bytes: self.log.torn_bytes,
            problems: walk.problems,
        }
    }

    fn damage(&self, error: rocksdb::Error, last: &[u8]) -> Error {
        super::fault::read_failed(error)
            .with("dir", self.directory.path().display())
            .with_bytes("after_key", last)
    }

    /// Where the next table begins, for going on behind a damaged one.
    fn file_after(&self, last: &[u8]) -> Option<Vec<u8>> {
        let files = self.db.live_files().ok()?;
        files
            .into_iter()
            .filter_map(|file| file.start_key)
            .filter(|start| start.as_slice() > last)
            .min()
    }
}

struct Walk<'a> {
    spaces: &'a Spaces,
    seen: BTreeMap<SpaceId, (u64, u64)>,
    /// Cells that can't be folded, by space and reason.
    unfolded: BTreeMap<(SpaceId, &'static str), u64>,
    problems: Vec<Error>,
}

impl<'a> Walk<'a> {
    fn new(spaces: &'a Spaces) -> Self {
        Self { spaces, seen: BTreeMap::new(), unfolded: BTreeMap::new(), problems: Vec::new() }
    }

    fn cell(
        &mut self,
        key: &[u8],
        value: &[u8],
        visit: &mut impl FnMut(&SpaceRecord, &CellRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let id = space_of(key);
        if id == OWN {
            return inspect_own(key, value);
        }
        let space = self.spaces.get(id).ok_or_else(|| {
            Error::corrupt("cell belongs to no space").with("space", id.0).with_bytes("key", key)
        })?;
        if space.record.retired {
            return Ok(());
        }
        let (cells, bytes) = self.seen.entry(id).or_default();
        *cells += 1;
        *bytes += (key.len() + value.len()) as u64;
        let inspected = inspect(&space, key, value, visit)
            .map_err(|problem| problem.with("space", id.0).with_bytes("key", key))?;
        if let Some(Unfoldable(reason)) = inspected {
            *self.unfolded.entry((id, reason)).or_default() += 1;
        }
        Ok(())
    }
}

/// The engine's own space holds the clock and nothing else.
fn inspect_own(key: &[u8], value: &[u8]) -> Result<()> {
    match key == writer::clock_key() && value.len() == size_of::<Time>() {
        true => Ok(()),
        false => Err(Error::corrupt("cell of the engine's own is unknown or damaged")
            .with_bytes("key", key)
            .with_bytes("value", value)),
    }
}

/// Looks at a cell; answers why, if its operands can't be folded and only they could be seen.
fn inspect(
    space: &Space,
    key: &[u8],
    value: &[u8],
    visit: &mut impl FnMut(&SpaceRecord, &CellRef<'_>) -> Result<()>,
) -> Result<Option<Unfoldable>> {
    match fold::presentable(space.merge.as_deref(), value)? {
        Presented::Whole(shown) => {
            visit(&space.record, &sound(key, &shown)?)?;
            Ok(None)
        }
        Presented::Unfoldable(_) if !space.merges() => {
            Err(Error::corrupt("operands lie in a space that has no merge rule"))
        }
        Presented::Unfoldable(why) => {
            for operand in fold::operands(value)? {
                sound(key, operand?)?;
            }
            Ok(Some(why))
        }
    }
}

/// Reads a cell with all that can be wrong with its bytes.
fn sound<'a>(key: &'a [u8], value: &'a [u8]) -> Result<CellRef<'a>> {
    let cell = CellRef::decode(key, value)?;
    key::unescape(&key[4..key.len() - cell.sort().len() - 1])
        .map_err(|bad| Error::corrupt("stored key is damaged").because(bad))?;
    visibility::validate(cell.visibility())
        .map_err(|bad| Error::corrupt("stored visibility is malformed").because(bad))?;
    Ok(cell)
}
