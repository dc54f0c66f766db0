//! The whole table of cases against each engine of this crate.

use std::sync::Arc;

use async_trait::async_trait;
use keyaki::cell::{HybridClock, WallClock};
use keyaki::engine::Engine;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::memory::MemoryEngine;
use keyaki::settings::EmbeddedSettings;
use keyaki::testing::clock::FakeClock;
use keyaki::testing::conformance::{self, Fixture, Skip};
use tempfile::TempDir;

const START_US: u64 = 1_700_000_000_000_000;
const MEMORY_SKIPS: &[Skip] = &[];
const EMBEDDED_SKIPS: &[Skip] = &[];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_keeps_the_contract() {
    let failed = conformance::run(async || Box::new(Memory::new()) as _, MEMORY_SKIPS).await;
    assert!(failed.is_empty(), "{failed:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn embedded_keeps_the_contract() {
    let failed = conformance::run(async || Box::new(Embedded::new()) as _, EMBEDDED_SKIPS).await;
    assert!(failed.is_empty(), "{failed:#?}");
}

struct Memory {
    clock: Arc<FakeClock>,
    engine: Arc<dyn Engine>,
}

impl Memory {
    fn new() -> Self {
        let clock = Arc::new(FakeClock::at(START_US));
        let hybrid = HybridClock::new(clock.clone());
        let engine = Arc::new(MemoryEngine::with_clock(conformance::rules(), hybrid));
        Self { clock, engine }
    }
}

#[async_trait]
impl Fixture for Memory {
    fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    fn clock(&self) -> &FakeClock {
        &self.clock
    }

    async fn reopen(&mut self) {}
}

struct Embedded {
    dir: TempDir,
    clock: Arc<FakeClock>,
    engine: Option<Arc<dyn Engine>>,
}

impl Embedded {
    fn new() -> Self {
        let clock = Arc::new(FakeClock::at(START_US));
        let mut fixture = Self { dir: TempDir::new().unwrap(), clock, engine: None };
        fixture.open();
        fixture
    }

    fn open(&mut self) {
        // So little that cases meet tables, not only memory.
        let settings = EmbeddedSettings {
            cache_bytes: 8 << 20,
            write_memory_bytes: 8 << 20,
            ..EmbeddedSettings::default()
        };
        let wall: Arc<dyn WallClock> = self.clock.clone();
        let rules = conformance::rules();
        let opened = EmbeddedEngine::open_with_clock(self.dir.path(), &settings, rules, wall);
        self.engine = Some(Arc::new(opened.unwrap()));
    }
}

#[async_trait]
impl Fixture for Embedded {
    fn engine(&self) -> &Arc<dyn Engine> {
        self.engine.as_ref().unwrap()
    }

    fn clock(&self) -> &FakeClock {
        &self.clock
    }

    async fn reopen(&mut self) {
        let engine = self.engine.take().unwrap();
        assert_eq!(Arc::strong_count(&engine), 1, "the case keeps a handle of the engine");
        drop(engine);
        self.open();
    }
}
