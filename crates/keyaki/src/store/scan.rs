//! Reading: a scan with a stack of stages over it, visibility always at the bottom.
//!
//! Whoever asks for others must scan with their authorisations; stages above see only visible
//! cells, block by block: filters, aggregations, transformations. What a bucket type needs to write
//! over a cell ([`Bucket::stored`], refusals) is for the bucket type alone.

use super::Bucket;
use crate::cell::visibility::{Authorisations, Decisions};
use crate::engine::{Block, Scan, ScanRequest};
use crate::error::Result;

/// One layer of the stack.
pub trait Stage: Send {
    /// Turns a block into what is left or made of it; it may be empty, if the stage collects.
    ///
    /// # Errors
    /// Whatever ends the scan.
    fn block(&mut self, block: Block) -> Result<Block>;

    /// What was collected, once the scan is over.
    ///
    /// # Errors
    /// Whatever ends the scan.
    fn finish(&mut self) -> Result<Block> {
        Ok(Block::default())
    }
}

/// Visible cells in scan order.
pub struct Cells<'a> {
    scan: Option<Box<dyn Scan>>,
    decisions: Decisions,
    read: u64,
    stages: Vec<Box<dyn Stage + 'a>>,
}

impl Bucket {
    /// Scans what the authorisations open.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn scan<'a>(
        &self,
        authorisations: &Authorisations,
        request: ScanRequest,
    ) -> Result<Cells<'a>> {
        let mut cells = Cells::of_nothing(authorisations);
        cells.turn_to(self, request).await?;
        Ok(cells)
    }
}

impl<'a> Cells<'a> {
    /// No cells, until it turns to a scan.
    #[must_use]
    pub fn of_nothing(authorisations: &Authorisations) -> Self {
        let decisions = Decisions::new(authorisations.clone());
        Self { scan: None, decisions, read: 0, stages: Vec::new() }
    }

    /// Goes on with another scan, whose cells come instead of what was left of the last. What the authorisations open
    /// is not decided anew.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn turn_to(&mut self, bucket: &Bucket, request: ScanRequest) -> Result<()> {
        self.scan = Some(bucket.engine().scan(request).await?);
        Ok(())
    }

    /// Puts a stage on top of the stack.
    #[must_use]
    pub fn through(mut self, stage: impl Stage + 'a) -> Self {
        self.stages.push(Box::new(stage));
        self
    }

    /// How many cells were read so far, those that stay hidden too.
    #[must_use]
    pub fn cells_read(&self) -> u64 {
        self.read
    }

    /// Whether it is known that no more blocks come, which is not always known.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stages.is_empty() && self.scan.as_ref().is_none_or(|scan| scan.is_over())
    }

    /// The next cells, never an empty block; `None` at the end.
    ///
    /// # Errors
    /// Those of the engine and of the stages.
    pub async fn next_block(&mut self) -> Result<Option<Block>> {
        while let Some(scan) = &mut self.scan {
            let block = match scan.next_block().await? {
                Some(mut block) => {
                    self.read += block.len() as u64;
                    block.retain(|cell| self.decisions.visible(cell.visibility()));
                    self.rise(block, 0)?
                }
                None => {
                    self.scan = None;
                    self.finish()?
                }
            };
            if !block.is_empty() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    fn rise(&mut self, block: Block, from: usize) -> Result<Block> {
        self.stages[from..].iter_mut().try_fold(block, |block, stage| stage.block(block))
    }

    /// What each stage collected goes through the stages above it.
    fn finish(&mut self) -> Result<Block> {
        let mut last = Block::default();
        for stage in 0..self.stages.len() {
            let collected = self.stages[stage].finish()?;
            let risen = self.rise(collected, stage + 1)?;
            last.append(&risen);
        }
        Ok(last)
    }
}
