//! The store, on every engine it can stand on: each test runs on memory with one and with four
//! view shards, and on the embedded engine.

mod buckets; // making and dropping them
pub mod changes; // the change feed
mod chunks; // large values
mod claims; // names that one may have
mod drafts; // what a commit may say, and what is refused
mod replay; // operations that are sent again
mod views; // ordered views, page by page

use std::sync::Arc;

use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{HybridClock, Tid, Value};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::memory::MemoryEngine;
use keyaki::engine::{Engine, Rules, ScanRequest, SpaceId};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Committed, Previous, Store};
use keyaki::testing::clock::FakeClock;
use tempfile::TempDir;

const NOVEMBER_2023_US: u64 = 1_700_000_000_000_000;
const CHUNK_BYTES: usize = 10;

/// A store on one of the engines, with its clock in the test's hand.
struct Ground {
    name: &'static str,
    store: Store,
    wall: Arc<FakeClock>,
    dir: Option<TempDir>,
}

fn settings() -> StoreSettings {
    StoreSettings { chunk_bytes: CHUNK_BYTES, sweep_every: None }
}

impl Ground {
    fn new(name: &'static str, engine: impl FnOnce(Arc<FakeClock>) -> Arc<dyn Engine>) -> Self {
        let wall = Arc::new(FakeClock::at(NOVEMBER_2023_US));
        // Node 0 makes the lowest ids there are, which is where off-by-ones live.
        let store = Store::new(engine(wall.clone()), settings(), 0);
        Self { name, store, wall, dir: None }
    }

    fn memory(name: &'static str, view_shards: u16) -> Self {
        Self::new(name, |wall| {
            let engine = MemoryEngine::with_clock(Rules::default(), HybridClock::new(wall));
            Arc::new(engine.with_view_shards(view_shards))
        })
    }

    fn embedded() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let ground = Self::new("embedded", |wall| embedded(&path, wall));
        Self { dir: Some(dir), ..ground }
    }

    /// Closes the store and opens it again, where it rests on a disk.
    fn reopen(self) -> Option<Self> {
        let Self { name, store, wall, dir } = self;
        drop(store);
        let dir = dir?;
        let store = Store::new(embedded(dir.path(), wall.clone()), settings(), 0);
        Some(Self { name, store, wall, dir: Some(dir) })
    }

    async fn bucket(&self) -> Bucket {
        self.store.create_bucket(BucketSpec::default()).await.unwrap()
    }
}

fn embedded(dir: &std::path::Path, wall: Arc<FakeClock>) -> Arc<dyn Engine> {
    let settings = EmbeddedSettings::default();
    Arc::new(EmbeddedEngine::open_with_clock(dir, &settings, Rules::default(), wall).unwrap())
}

/// Runs a test on every engine, and says on which it failed.
async fn on_each(test: impl AsyncFn(Ground)) {
    let one = Ground::memory("memory, one shard", 1);
    let four = Ground::memory("memory, four shards", 4);
    for ground in [one, four, Ground::embedded()] {
        println!("on {}", ground.name);
        test(ground).await;
    }
}

fn nobody() -> Authorisations {
    Authorisations::none()
}

fn holding(terms: &[&str]) -> Authorisations {
    Authorisations::new(terms.iter().copied()).unwrap()
}

/// Writes a new primary; it must take.
async fn create(bucket: &Bucket, partition: &[u8], sort: &[u8], payload: &[u8]) -> Tid {
    let put = put(bucket, partition, sort, Previous::Absent, payload);
    done(put.await)
}

async fn put(
    bucket: &Bucket,
    partition: &[u8],
    sort: &[u8],
    previous: Previous<'_>,
    payload: &[u8],
) -> Committed {
    let value = Value::open(payload);
    bucket.commit(partition, |draft| draft.put(sort, previous, value)).await.unwrap()
}

#[track_caller]
fn done(committed: Committed) -> Tid {
    match committed {
        Committed::Done(tid) => tid,
        other => panic!("did not take: {other:?}"),
    }
}

/// What stands against the only condition that was not met.
#[track_caller]
fn found(committed: Committed) -> Option<Vec<u8>> {
    match committed {
        Committed::Refused(mut refusals) if refusals.len() == 1 => refusals.remove(0).found,
        other => panic!("one refusal expected: {other:?}"),
    }
}

/// How many cells are in one of a bucket's spaces.
async fn cells(bucket: &Bucket, label: &str) -> usize {
    let (engine, space): (_, SpaceId) = (bucket.store().engine(), bucket.space(label).unwrap());
    let mut count = 0;
    for split in engine.splits(space, 1).await.unwrap() {
        let mut scan = engine.scan(ScanRequest::split(space, split)).await.unwrap();
        while let Some(block) = scan.next_block().await.unwrap() {
            count += block.len();
        }
    }
    count
}
