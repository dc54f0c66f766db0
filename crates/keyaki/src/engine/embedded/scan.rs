//! Scans and reads on RocksDB.
//!
//! What is in memory is answered on the spot; what needs the disk, or is long, is begun anew on a
//! blocking thread, where the next block is made while the caller works on the last one. One
//! iterator reads all that is answered, so that it is one state of the store. (An iterator that went
//! on behind the one on the spot would need a snapshot, and every short scan would wait for
//! RocksDB's own lock twice, for the sake of the few long ones.)

use std::sync::Arc;

use async_trait::async_trait;
use rocksdb::{DB, DBRawIterator, ReadOptions, ReadTier};
use self_cell::self_cell;
use tokio::task::JoinHandle;

use super::fault::{needs_disk, read_failed, reading};
use super::writer::Shared;
use super::{begin_blocking, blocking};
use crate::engine::scan::{Block, Direction, Reading, Scan, ScanRequest};
use crate::engine::sight::{self, Sight};
use crate::engine::space::Space;
use crate::error::{Error, Result};

/// A scan that is answered on the spot looks at no more than this.
const SPOT_BYTES_MAX: usize = 32 << 10;
/// …begins with room for so much
const SPOT_BYTES: usize = 4 << 10;
const SPOT_CELLS: usize = 40;
/// …and steps over no more deleted cells than this.
const SPOT_SKIPS_MAX: u64 = 1_000;
const BLOCK_BYTES: usize = 256 << 10;
const READ_AHEAD_BYTES: usize = 1 << 20;

/// What a scan needs to know on every thread it runs on.
struct Plan {
    sight: Sight,
    direction: Direction,
    reading: Reading,
}

/// Whole keys, the first included, the second not.
type Range = (Vec<u8>, Vec<u8>);

self_cell!(
    /// An iterator and the store it reads, which stays open and locked as long.
    struct Cursor {
        owner: Arc<Shared>,
        #[not_covariant]
        dependent: DBRawIterator,
    }
);

/// Begins a scan.
pub fn begin(
    shared: &Arc<Shared>,
    space: Arc<Space>,
    request: &ScanRequest,
) -> Result<Box<dyn Scan>> {
    let (from, to) = request.key_range();
    let left = request.limit.unwrap_or(usize::MAX);
    if from >= to || left == 0 {
        return Ok(Box::new(EmbeddedScan::Done));
    }
    let sight = Sight::over(space, &shared.clock, &request.area);
    let mut plan = Plan { sight, direction: request.direction, reading: request.reading };
    if let Some(block) = on_the_spot(&shared.db, &mut plan, (from, to), left)? {
        return Ok(Box::new(match block.is_empty() {
            true => EmbeddedScan::Done,
            false => EmbeddedScan::Found(block),
        }));
    }
    let cursor = plan.cursor(shared.clone(), request.key_range());
    Ok(Box::new(EmbeddedScan::Waiting(Progress { plan, cursor, left, sought: false })))
}

/// How a cell is read that is in memory: made once, for all readers.
pub fn in_memory() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_read_tier(ReadTier::BlockCache);
    options
}

/// One cell's stored value, as readers see it.
pub async fn read(shared: &Shared, space: Arc<Space>, key: Vec<u8>) -> Result<Option<Vec<u8>>> {
    let found = match shared.db.get_opt(&key, &shared.in_memory) {
        Err(error) if needs_disk(&error) => {
            let (db, key) = (shared.db.clone(), key.clone());
            blocking(move || reading(db.get(key))).await?
        }
        answer => reading(answer)?,
    };
    let Some(value) = found else { return Ok(None) };
    sight::seen(space, &shared.clock, &key, value)
}

impl Plan {
    /// An iterator that has read nothing yet.
    fn cursor(&self, shared: Arc<Shared>, range: Range) -> Cursor {
        let mut options = options(range);
        match self.reading {
            Reading::Shared => options.set_readahead_size(READ_AHEAD_BYTES),
            Reading::Once => {
                options.set_readahead_size(BLOCK_BYTES);
                options.fill_cache(false);
            }
        }
        Cursor::new(shared, |shared| shared.db.raw_iterator_opt(options))
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
        &mut self,
        iterator: &mut DBRawIterator<'_>,
        block: &mut Block,
        left: usize,
        budget: usize,
    ) -> Result<bool, Stop> {
        let mut examined = 0;
        while let Some((key, value)) = iterator.item() {
            if examined >= budget || block.len() == left {
                return Ok(block.len() < left);
            }
            examined += key.len() + value.len();
            self.sight.show(key, value, block)?;
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

fn options((from, to): Range) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_iterate_range(from..to);
    options
}

/// All that a scan asks for, if it is in memory and not long.
fn on_the_spot(db: &DB, plan: &mut Plan, range: Range, left: usize) -> Result<Option<Block>> {
    let mut options = options(range);
    options.set_read_tier(ReadTier::BlockCache);
    options.set_max_skippable_internal_keys(SPOT_SKIPS_MAX);
    let mut iterator = db.raw_iterator_opt(options);
    plan.seek(&mut iterator);
    let mut block = Block::with_capacity(SPOT_BYTES, SPOT_CELLS);
    match plan.fill(&mut iterator, &mut block, left, SPOT_BYTES_MAX) {
        Ok(more) => Ok((!more).then_some(block)),
        Err(Stop::Storage(error)) if needs_disk(&error) => Ok(None),
        Err(stop) => Err(stop.into()),
    }
}

struct Progress {
    plan: Plan,
    cursor: Cursor,
    left: usize,
    sought: bool,
}

/// The next block, and the scan if it goes on.
fn advance(mut scan: Progress) -> Result<(Block, Option<Progress>)> {
    let mut block = Block::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 4, BLOCK_BYTES / 64);
    let Progress { plan, cursor, left, sought } = &mut scan;
    let more = cursor.with_dependent_mut(|_, iterator| {
        if !std::mem::replace(sought, true) {
            plan.seek(iterator);
        }
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
    /// All of it.
    Found(Block),
    /// What is left to read, if somebody wants it.
    Waiting(Progress),
    Running(JoinHandle<Result<(Block, Option<Progress>)>>),
    Done,
}

impl EmbeddedScan {
    fn go_on(scan: Progress) -> Self {
        Self::Running(begin_blocking(|| advance(scan)))
    }

    /// What is left, begun on at once unless it is read once: who walks over much often stops at the end of a page, and
    /// nobody would take what was made beyond it.
    fn go_on_early(rest: Option<Progress>) -> Self {
        match rest {
            None => Self::Done,
            Some(rest) if rest.plan.reading == Reading::Once => Self::Waiting(rest),
            Some(rest) => Self::go_on(rest),
        }
    }
}

#[async_trait]
impl Scan for EmbeddedScan {
    async fn next_block(&mut self) -> Result<Option<Block>> {
        match std::mem::replace(self, Self::Done) {
            Self::Found(block) => return Ok(Some(block)),
            Self::Waiting(scan) => *self = Self::go_on(scan),
            running_or_done => *self = running_or_done,
        }
        let Self::Running(next) = self else { return Ok(None) };
        // Awaited in place: a caller that gives up in between loses no block.
        let finished = next.await;
        *self = Self::Done;
        let (block, more) = finished.map_err(super::interrupted)??;
        *self = Self::go_on_early(more);
        Ok((!block.is_empty()).then_some(block))
    }

    fn is_over(&self) -> bool {
        matches!(self, Self::Done)
    }
}
