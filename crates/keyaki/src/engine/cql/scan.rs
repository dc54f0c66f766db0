//! Scans, page by page. A page is one request (two for merged cells), and goes on behind the last sort key of the one
//! before: there is nothing to keep open between pages, and each shows the state of its own time.

use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;

use super::Inner;
use super::cluster::Link;
use super::merged;
use super::rollup::Crowded;
use super::rows::{Place, Range, behind};
use super::walk::Walk;
use crate::cell::key;
use crate::engine::scan::{Area, Block, Direction, Scan, ScanRequest};
use crate::engine::sight::Sight;
use crate::engine::space::Space;
use crate::error::Result;

/// Rows of a page before anything is known about a space's cells.
const ROWS_AT_FIRST: usize = 512;
const ROWS_MAX: usize = 2_000;
const ROWS_MIN: usize = 16;
/// Bytes that a page should have.
const PAGE_BYTES: usize = 1 << 20;

/// The cells of one partition, being read.
pub struct PartitionScan {
    space: Arc<Space>,
    partition: Vec<u8>,
    range: Range,
    backward: bool,
    ended: bool,
    rows: usize,
    /// A page that was read and not yet asked for.
    ahead: Option<Page>,
    crowded: Vec<Vec<u8>>,
}

/// Keys and values.
type Page = Vec<(Vec<u8>, Vec<u8>)>;

impl PartitionScan {
    /// Nothing is read yet.
    pub fn new(space: &Arc<Space>, partition: Vec<u8>, range: Range, backward: bool) -> Self {
        Self {
            space: space.clone(),
            partition,
            ended: range.is_empty(),
            range,
            backward,
            rows: ROWS_AT_FIRST,
            ahead: None,
            crowded: Vec::new(),
        }
    }

    /// Reads the next page before it is asked for. Answers its bytes.
    pub async fn read_ahead(&mut self, link: &Link) -> Result<usize> {
        self.ahead = self.next_stored(link, usize::MAX).await?;
        let cells = self.ahead.iter().flatten();
        Ok(cells.map(|(key, value)| key.len() + value.len()).sum())
    }

    /// About `most` next cells as they are stored, hidden ones too, with whole keys; `None` at the end.
    pub async fn next_stored(&mut self, link: &Link, most: usize) -> Result<Option<Page>> {
        if let Some(page) = self.ahead.take() {
            return Ok(Some(page));
        }
        if self.ended {
            return Ok(None);
        }
        let rows = self.rows.min(most).max(1);
        let mut cells = match self.space.merges() {
            true => self.merged_page(link, rows.max(ROWS_MIN)).await?,
            false => self.plain_page(link, rows).await?,
        };
        self.adapt(&cells);
        for (sort, _) in &mut cells {
            let mut stored = Vec::with_capacity(self.partition.len() + sort.len() + 8);
            key::cell_key(self.space.id().0, &self.partition, sort, &mut stored);
            *sort = stored;
        }
        Ok(Some(cells))
    }

    async fn plain_page(&mut self, link: &Link, rows: usize) -> Result<Page> {
        let place = Place::of(&self.space, &self.partition);
        let cells = place.rows(link, &self.range, self.backward, rows as i32).await?;
        self.ended = cells.len() < rows;
        if let Some((last, _)) = cells.last() {
            match self.backward {
                false => self.range.from = behind(last),
                true => self.range.to = Some(last.clone()),
            }
        }
        Ok(cells)
    }

    async fn merged_page(&mut self, link: &Link, rows: usize) -> Result<Page> {
        let (space, partition) = (&self.space, &self.partition);
        let page =
            merged::page(link, space, partition, &self.range, self.backward, rows as i32).await?;
        self.ended = page.covered == self.range;
        self.crowded.extend(page.crowded);
        match (self.backward, page.covered.to) {
            (false, Some(to)) => self.range.from = to,
            (false, None) => {}
            (true, _) => self.range.to = Some(page.covered.from),
        }
        Ok(page.cells)
    }

    /// Asks for crowded cells that it has met to be folded.
    fn report(&mut self, crowded: &Crowded) {
        for sort in self.crowded.drain(..) {
            crowded.note(self.space.id(), &self.partition, sort);
        }
    }

    /// Makes the next page about as large as pages should be.
    fn adapt(&mut self, cells: &[(Vec<u8>, Vec<u8>)]) {
        let bytes: usize = cells.iter().map(|(sort, value)| sort.len() + value.len()).sum();
        if !cells.is_empty() {
            let each = (bytes / cells.len()).max(1);
            self.rows = (PAGE_BYTES / each).clamp(ROWS_MIN, ROWS_MAX);
        }
    }

    /// The next cells as readers see them; `None` at the end.
    async fn next_block(
        &mut self,
        link: &Link,
        sight: &mut Sight,
        most: usize,
    ) -> Result<Option<Block>> {
        while let Some(cells) = self.next_stored(link, most).await? {
            let mut block = Block::default();
            for (stored, value) in &cells {
                sight.show(stored, value, &mut block)?;
                if block.len() == most {
                    break;
                }
            }
            if !block.is_empty() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }
}

/// A scan under way.
struct CqlScan {
    inner: Arc<Inner>,
    over: Over,
    sight: Sight,
    left: usize,
}

enum Over {
    Partition(PartitionScan),
    Split(Box<Walk>),
}

/// Begins a scan.
pub fn begin(
    inner: &Arc<Inner>,
    space: &Arc<Space>,
    request: ScanRequest,
) -> Result<Box<dyn Scan>> {
    let backward = request.direction == Direction::Backward;
    let over = match request.area {
        Area::Partition { partition, from, to } => {
            let range = range(from, to);
            Over::Partition(PartitionScan::new(space, partition, range, backward))
        }
        Area::Split(split) => Over::Split(Box::new(Walk::of_split(space, &split, backward)?)),
    };
    let sight = Sight::new(space.clone(), inner.stamps.clock());
    let left = request.limit.unwrap_or(usize::MAX);
    Ok(Box::new(CqlScan { inner: inner.clone(), over, sight, left }))
}

fn range(from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Range {
    Range {
        from: match from {
            Bound::Unbounded => Vec::new(),
            Bound::Included(sort) => sort,
            Bound::Excluded(sort) => behind(&sort),
        },
        to: match to {
            Bound::Unbounded => None,
            Bound::Included(sort) => Some(behind(&sort)),
            Bound::Excluded(sort) => Some(sort),
        },
    }
}

#[async_trait]
impl Scan for CqlScan {
    async fn next_block(&mut self) -> Result<Option<Block>> {
        if self.left == 0 {
            return Ok(None);
        }
        let link = self.inner.cluster.link().await?;
        let block = match &mut self.over {
            Over::Partition(scan) => {
                let block = scan.next_block(link, &mut self.sight, self.left).await?;
                scan.report(&self.inner.crowded);
                block
            }
            Over::Split(walk) => loop {
                let Some(scan) = walk.current(link).await? else { break None };
                let block = scan.next_block(link, &mut self.sight, self.left).await?;
                scan.report(&self.inner.crowded);
                match block {
                    Some(block) => break Some(block),
                    None => walk.step(),
                }
            },
        };
        self.left -= block.as_ref().map_or(0, Block::len);
        Ok(block)
    }
}
