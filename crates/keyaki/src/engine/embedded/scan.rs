//! Scans and reads on RocksDB.
//!
//! What is in memory is answered on the spot; what needs the disk, or is long, crosses to a
//! blocking thread. One iterator serves a whole scan, and an iterator sees one state of the
//! store. The next block is made while the caller works on the last one.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use rocksdb::{DB, DBRawIterator, ReadOptions, ReadTier};
use self_cell::self_cell;
use tokio::task::JoinHandle;

use super::fault::{needs_disk, read_failed, reading};
use super::{begin_blocking, blocking};
use crate::cell::Time;
use crate::engine::scan::{Block, CellRef, Direction, Scan, ScanRequest};
use crate::engine::space::Space;
use crate::error::{Error, Result};

/// A scan that is answered on the spot looks at no more than this.
const SPOT_BYTES_MAX: usize = 32 << 10;
/// …and steps over no more deleted cells than this.
const SPOT_SKIPS_MAX: u64 = 1_000;
const BLOCK_BYTES: usize = 256 << 10;
const READ_AHEAD_BYTES: usize = 1 << 20;

/// What a scan needs to know on every thread it runs on.
struct Plan {
    space: Arc<Space>,
    from: Vec<u8>,
    to: Vec<u8>,
    direction: Direction,
    now: Time,
}

self_cell!(
    /// An iterator and the database it reads, which it keeps open.
    struct Cursor {
        owner: Arc<DB>,
        #[not_covariant]
        dependent: DBRawIterator,
    }
);

/// Begins a scan.
pub async fn begin(
    db: &Arc<DB>,
    space: Arc<Space>,
    request: &ScanRequest,
    now: Time,
) -> Result<Box<dyn Scan>> {
    let (from, to) = request.key_range();
    let left = request.limit.unwrap_or(usize::MAX);
    if from >= to || left == 0 {
        return Ok(Box::new(EmbeddedScan::Done));
    }
    let plan = Plan { space, from, to, direction: request.direction, now };
    if let Some(block) = on_the_spot(db, &plan, left)? {
        return Ok(Box::new(EmbeddedScan::Spot(block)));
    }
    let db = db.clone();
    let next = begin_blocking(move || {
        let cursor = plan.cursor(db);
        advance(Progress { plan, cursor, left })
    });
    Ok(Box::new(EmbeddedScan::Running(next)))
}

/// One cell's stored value, as readers see it.
pub async fn read(
    db: &Arc<DB>,
    space: Arc<Space>,
    key: Vec<u8>,
    now: Time,
) -> Result<Option<Vec<u8>>> {
    let mut in_memory = ReadOptions::default();
    in_memory.set_read_tier(ReadTier::BlockCache);
    let found = match db.get_opt(&key, &in_memory) {
        Err(error) if needs_disk(&error) => {
            let (db, key) = (db.clone(), key.clone());
            blocking(move || reading(db.get(key))).await?
        }
        answer => reading(answer)?,
    };
    let Some(value) = found else { return Ok(None) };
    Ok(match space.seen(&key, &value, now)? {
        Some(Cow::Owned(folded)) => Some(folded),
        Some(Cow::Borrowed(_)) => Some(value),
        None => None,
    })
}

impl Plan {
    fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.set_iterate_range(self.from.clone()..self.to.clone());
        options
    }

    fn cursor(&self, db: Arc<DB>) -> Cursor {
        let mut options = self.options();
        options.set_readahead_size(READ_AHEAD_BYTES);
        Cursor::new(db, |db| {
            let mut iterator = db.raw_iterator_opt(options);
            self.seek(&mut iterator);
            iterator
        })
    }

    fn seek(&self, iterator: &mut DBRawIterator<'_>) {
        match self.direction {
            Direction::Forward => iterator.seek_to_first(),
            Direction::Backward => iterator.seek_to_last(),
        }
    }

    /// Copies cells until the range, the limit or the budget ends; answers whether more may be
    /// there.
    fn fill(
        &self,
        iterator: &mut DBRawIterator<'_>,
        block: &mut Block,
        left: usize,
        budget: usize,
    ) -> Result<bool, Stop> {
        let plain = self.space.keep.is_none() && !self.space.merges();
        let mut examined = 0;
        while let Some((key, value)) = iterator.item() {
            if examined >= budget || block.len() == left {
                return Ok(block.len() < left);
            }
            examined += key.len() + value.len();
            if plain {
                block.push(&CellRef::decode(key, value)?);
            } else if let Some(seen) = self.space.seen(key, value, self.now)? {
                block.push(&CellRef::decode(key, &seen)?);
            }
            match self.direction {
                Direction::Forward => iterator.next(),
                Direction::Backward => iterator.prev(),
            }
        }
        iterator.status().map_err(Stop::Storage)?;
        Ok(false)
    }
}

/// Why filling a block stopped early.
enum Stop {
    Storage(rocksdb::Error),
    Cell(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Cell(error)
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Storage(error) => read_failed(error),
            Stop::Cell(error) => error,
        }
    }
}

/// All that a short scan asks for, if it is in memory.
fn on_the_spot(db: &DB, plan: &Plan, left: usize) -> Result<Option<Block>> {
    let mut options = plan.options();
    options.set_read_tier(ReadTier::BlockCache);
    options.set_max_skippable_internal_keys(SPOT_SKIPS_MAX);
    let mut iterator = db.raw_iterator_opt(options);
    plan.seek(&mut iterator);
    let mut block = Block::default();
    match plan.fill(&mut iterator, &mut block, left, SPOT_BYTES_MAX) {
        Ok(false) => Ok(Some(block)),
        Ok(true) => Ok(None),
        Err(Stop::Storage(error)) if needs_disk(&error) => Ok(None),
        Err(stop) => Err(stop.into()),
    }
}

struct Progress {
    plan: Plan,
    cursor: Cursor,
    left: usize,
}

/// The next block, and the scan if it goes on.
fn advance(mut scan: Progress) -> Result<(Block, Option<Progress>)> {
    let mut block = Block::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 4, BLOCK_BYTES / 64);
    let Progress { plan, cursor, left } = &mut scan;
    let more = cursor.with_dependent_mut(|_, iterator| {
        // Hidden cells alone don't end a block: an empty one would end the scan.
        loop {
            let more = plan.fill(iterator, &mut block, *left, BLOCK_BYTES)?;
            if !more || !block.is_empty() {
                return Ok::<_, Stop>(more);
            }
        }
    })?;
    scan.left -= block.len();
    Ok((block, more.then_some(scan)))
}

enum EmbeddedScan {
    Spot(Block),
    Running(JoinHandle<Result<(Block, Option<Progress>)>>),
    Done,
}

#[async_trait]
impl Scan for EmbeddedScan {
    async fn next_block(&mut self) -> Result<Option<Block>> {
        let block = match self {
            Self::Done => return Ok(None),
            Self::Spot(block) => {
                let block = std::mem::take(block);
                *self = Self::Done;
                block
            }
            Self::Running(next) => {
                // Awaited in place: a caller that gives up in between loses no block.
                let finished = next.await;
                *self = Self::Done;
                let (block, more) = finished.map_err(super::interrupted)??;
                if let Some(scan) = more {
                    *self = Self::Running(begin_blocking(|| advance(scan)));
                }
                block
            }
        };
        Ok((!block.is_empty()).then_some(block))
    }
}
