//! Keyaki as a program would use it: a store on the embedded engine, one bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyaki::cell::Value;
use keyaki::cell::visibility::Authorisations;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{BucketId, Engine, RuleSpec, Rules, ScanRequest, SpaceId, SpaceSpec, Write};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Cells, Draft, Store};
use tokio::runtime::Runtime;

use crate::Result;
use crate::cells::{Cell, READER};

/// The home partition of what is written without conditions.
const LOADER: &[u8] = b"loader";

/// A store and the runtime that its callers stand on.
pub struct Ours {
    runtime: Runtime,
    engine: Arc<EmbeddedEngine>,
    bucket: Bucket,
    cells: SpaceId,
    sums: SpaceId,
    reader: Authorisations,
    dir: PathBuf,
}

impl Ours {
    pub fn open(dir: &Path, settings: &EmbeddedSettings) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
        let engine = Arc::new(EmbeddedEngine::open(dir, settings, Rules::default())?);
        let quiet = StoreSettings { sweep_every: None, ..StoreSettings::default() };
        let store = Store::new(engine.clone(), quiet, 1);
        // The store fills the bucket's id in.
        let cells = SpaceSpec::derived(BucketId(0), "cells");
        let sums = SpaceSpec::derived(BucketId(0), "sums").merging(RuleSpec::named("sum"));
        let spec = BucketSpec { spaces: vec![cells, sums], ..BucketSpec::default() };
        let bucket = runtime.block_on(store.create_bucket(spec))?;
        Ok(Self {
            cells: bucket.space("cells")?,
            sums: bucket.space("sums")?,
            reader: Authorisations::new(READER)?,
            dir: dir.to_owned(),
            runtime,
            engine,
            bucket,
        })
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Where its RocksDB is.
    pub fn db_dir(&self) -> PathBuf {
        self.dir.join("db")
    }

    /// Puts a cell among those that are scanned.
    pub fn put(&self, draft: &mut Draft<'_>, cell: &Cell) {
        let value = Value::visible_to(cell.visibility(), cell.value());
        draft.dependent(self.cells, cell.partition(), cell.sort(), Write::Put(value));
    }

    /// Adds to the sum at a cell.
    pub fn increment(&self, draft: &mut Draft<'_>, cell: &Cell, amount: i64) {
        let operand = amount.to_be_bytes();
        let write = Write::Merge(Value::open(&operand));
        draft.dependent(self.sums, cell.partition(), cell.sort(), write);
    }

    /// Commits what `draft` says, unconditionally, and waits for it.
    pub fn load(&self, mut draft: impl FnMut(&mut Draft<'_>) + Send) -> Result<()> {
        let commit = self.bucket.commit(LOADER, |paper| {
            draft(paper);
            Ok(())
        });
        self.runtime.block_on(commit)?.tid()?;
        Ok(())
    }

    /// What the reader sees of one partition.
    pub async fn scan(&self, partition: &[u8]) -> Result<Cells<'_>> {
        let request = ScanRequest::partition(self.cells, partition);
        Ok(self.bucket.scan(&self.reader, request).await?)
    }

    /// What the reader sees of all cells.
    pub async fn scan_cells(&self) -> Result<Cells<'_>> {
        self.scan_space(self.cells).await
    }

    /// All sums.
    pub async fn scan_sums(&self) -> Result<Cells<'_>> {
        self.scan_space(self.sums).await
    }

    async fn scan_space(&self, space: SpaceId) -> Result<Cells<'_>> {
        let mut splits = self.engine.splits(space, 1).await?;
        let whole = splits.pop().ok_or("a space has at least one split")?;
        Ok(self.bucket.scan(&self.reader, ScanRequest::split(space, whole)).await?)
    }

    /// Waits until no compaction is left to do.
    pub fn settle(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.engine.settle())?)
    }

    /// Packs the cells into one sorted run.
    pub fn compact(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.engine.compact(self.cells))?)
    }
}
