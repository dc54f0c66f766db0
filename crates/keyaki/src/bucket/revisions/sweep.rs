//! Making retention permanent, and finishing what was cut short.

use super::model::Revision;
use super::read::{Kept, tid_of};
use super::{HEAD, META, Revisions, content_sort, entry_key, items};
use crate::bucket::Usage;
use crate::cell::ValueRef;
use crate::engine::{Block, ScanRequest, Split};
use crate::error::Result;
use crate::store::Committed;

/// Revisions that go in one commit.
const AT_ONCE: usize = 100;
const SPLITS: usize = 64;

/// A sweep under way: what is still ahead of it.
#[derive(Debug, Default)]
pub struct Sweep {
    ahead: Option<Vec<Split>>,
}

impl Revisions {
    /// Removes the revisions that retention no longer keeps, a part of the bucket at a time, until it has looked at so
    /// many cells. Answers whether it is through.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn sweep(&self, sweep: &mut Sweep, cells: usize) -> Result<bool> {
        let engine = self.bucket.store().engine();
        if sweep.ahead.is_none() {
            self.finish_renames().await?;
            if self.retention == super::Retention::All {
                return Ok(true);
            }
            sweep.ahead = Some(engine.splits(self.bucket.primary(), SPLITS).await?);
        }
        let mut looked = 0;
        while let Some(split) = sweep.ahead.as_mut().and_then(Vec::pop) {
            looked += self.sweep_split(split).await?;
            if looked >= cells {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Answers how many cells it has looked at.
    async fn sweep_split(&self, split: Split) -> Result<usize> {
        let (engine, mut looked) = (self.bucket.store().engine(), 0);
        let mut scan = engine.scan(ScanRequest::split(self.bucket.primary(), split)).await?;
        let mut last: Option<Vec<u8>> = None;
        while let Some(block) = scan.next_block().await? {
            looked += block.iter().count();
            for partition in partitions(&block) {
                if last.as_ref() != Some(&partition) {
                    // One that is damaged doesn't keep the others.
                    if let Err(error) = self.sweep_item(&partition).await {
                        tracing::warn!(%error, "an item can't be swept");
                    }
                    last = Some(partition);
                }
            }
        }
        Ok(looked)
    }

    async fn sweep_item(&self, partition: &[u8]) -> Result<()> {
        let engine = self.bucket.store().engine();
        let request = ScanRequest::prefix(self.bucket.primary(), partition, &[META]).backward();
        let mut scan = engine.scan(request).await?;
        let mut kept = Kept::new(self.retention, self.now());
        let mut going = Vec::new();
        while let Some(block) = scan.next_block().await? {
            for cell in block.iter() {
                if !kept.next(&Revision::decode(cell.visibility(), cell.payload())?) {
                    going.push((cell.sort().to_vec(), cell.encoded().to_vec()));
                }
            }
        }
        self.sweep_head(partition).await?;
        for some in going.chunks(AT_ONCE) {
            self.remove(partition, some).await?;
        }
        Ok(())
    }

    /// Removes the head and the entries of an item of which nothing is kept.
    async fn sweep_head(&self, partition: &[u8]) -> Result<()> {
        let Ok(key) = std::str::from_utf8(partition) else { return Ok(()) };
        let head = self.settled_head(key).await?;
        let Some(stored) = &head.previous else { return Ok(()) };
        if head.revisions().any(|revision| self.is_fresh(revision)) {
            return Ok(());
        }
        let gone = Usage { items: -i64::from(head.is_live()), bytes: 0 };
        let committed = self.bucket.commit(partition, |draft| {
            draft.remove(HEAD, stored)?;
            for label in head.labels() {
                draft.remove_entry(&items(), &entry_key(key, label), HEAD)?;
            }
            gone.add(&self.bucket, draft)
        });
        if matches!(committed.await?, Committed::Done(_)) {
            self.meter.add(gone);
        }
        Ok(())
    }

    /// Removes revisions that are still as they were read; heads and listings don't show them.
    async fn remove(&self, partition: &[u8], going: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut contents = Vec::with_capacity(going.len());
        let mut bytes = 0;
        for (sort, meta) in going {
            let meta = ValueRef::decode(meta)?;
            bytes += Revision::decode(meta.visibility, meta.payload)?.stored.length as i64;
            let sort = content_sort(tid_of(sort)?);
            contents.push((sort.clone(), self.bucket.stored(partition, &sort).await?));
        }
        let gone = Usage { items: 0, bytes: -bytes };
        let committed = self.bucket.commit(partition, |draft| {
            for (sort, stored) in going {
                draft.remove(sort, stored)?;
            }
            for (sort, stored) in &contents {
                if let Some(stored) = stored {
                    draft.remove(sort, stored)?;
                }
            }
            gone.add(&self.bucket, draft)
        });
        // If it is refused, another sweeper was faster.
        if matches!(committed.await?, Committed::Done(_)) {
            self.meter.add(gone);
        }
        Ok(())
    }
}

fn partitions(block: &Block) -> Vec<Vec<u8>> {
    let mut partitions: Vec<Vec<u8>> = block.iter().map(|c| c.partition().into_owned()).collect();
    partitions.dedup();
    partitions
}
