//! Two engines that get the same work on the same clock, and the comparison of what they say.

use std::sync::Arc;
use std::time::Duration;

use keyaki::cell::{HybridClock, Tid};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::memory::MemoryEngine;
use keyaki::engine::{Engine, Outcome, RuleSpec, ScanRequest, SpaceId, SpaceSpec};
use keyaki::settings::{Compression, Durability, EmbeddedSettings};
use keyaki::testing::clock::FakeClock;
use keyaki::testing::conformance::{self, BUCKET, steps};
use keyaki::testing::random::Random;
use keyaki::{Error, Kind};
use tempfile::TempDir;

use super::plan::{self, CommitPlan, Operand, Places};

pub struct World {
    random: Random,
    places: Places,
    wall: Arc<FakeClock>,
    /// Stamps for both: one commit is the same commit to each.
    clock: HybridClock,
    memory: MemoryEngine,
    embedded: Option<EmbeddedEngine>,
    dir: TempDir,
}

impl World {
    pub async fn new(seed: u64) -> Self {
        let wall = Arc::new(FakeClock::at(1_700_000_000_000_000));
        let dir = TempDir::new().unwrap();
        let hybrid = HybridClock::new(wall.clone());
        let memory = MemoryEngine::with_clock(conformance::rules(), hybrid);
        let embedded = open(&dir, &wall, Compression::Lz4ThenZstd);
        let places = make_spaces(&memory).await;
        for record in memory.spaces() {
            assert_eq!(embedded.create_space(record.spec).await.unwrap(), record.id);
        }
        let clock = HybridClock::new(wall.clone());
        let random = Random::seeded(seed);
        Self { random, places, wall, clock, memory, embedded: Some(embedded), dir }
    }

    fn embedded(&self) -> &EmbeddedEngine {
        self.embedded.as_ref().unwrap()
    }

    pub async fn step(&mut self, step: u64) {
        self.tick();
        match self.random.below(100) {
            0..60 => self.commit(step).await,
            60..76 => self.scan().await,
            76..88 => self.read().await,
            88..92 => self.sweep().await,
            92..94 => self.compact().await,
            94 => self.splits().await,
            95 => self.replace_space().await,
            96..98 => self.jump(),
            98 => self.reopen().await,
            _ => self.compare_everything().await,
        }
    }

    /// Both engines see time pass alike, also the one whose clock began anew.
    fn tick(&mut self) {
        self.wall.advance(Duration::from_millis(1 + self.random.below(2_000) as u64));
        let now = self.clock.now();
        self.memory.clock().observe(now);
        self.embedded().clock().observe(now);
    }

    async fn commit(&mut self, step: u64) {
        let plan = CommitPlan::random(&mut self.random, &self.places);
        let mut found = Vec::new();
        for (space, sort, _) in &plan.demands {
            found.push(steps::stored(&self.memory, *space, plan.partition, sort).await);
        }
        let tid = Tid::new(self.clock.next(), step);
        let build = || plan.build(tid, &found, self.places.names);
        let right = self.memory.commit(build()).await;
        let ours = self.embedded().commit(build()).await;
        assert!(!matches!(right, Ok(Outcome::Stale)), "times rise");
        assert_eq!(comparable(ours), comparable(right), "step {step}: {plan:?}");
    }

    async fn scan(&mut self) {
        let request = plan::scan(&mut self.random, &self.places);
        self.compare(&request).await;
    }

    async fn compare(&self, request: &ScanRequest) {
        let right = steps::block(&self.memory, request.clone()).await;
        let ours = steps::block(self.embedded(), request.clone()).await;
        assert!(right.iter().eq(ours.iter()), "{request:?}\n{right:?}\n{ours:?}");
    }

    async fn read(&mut self) {
        let (space, partition, sort) = plan::cell(&mut self.random, &self.places);
        let right = steps::stored(&self.memory, space, partition, sort).await;
        let ours = steps::stored(self.embedded(), space, partition, sort).await;
        assert_eq!(ours, right, "{space:?} {partition:?} {sort:?}");
    }

    async fn sweep(&mut self) {
        let space = self.random.pick(&self.places.all());
        // What compaction has dropped before is no longer there to be counted.
        let right = self.memory.sweep(space).await.unwrap();
        let ours = self.embedded().sweep(space).await.unwrap();
        assert_eq!(ours.invalid, right.invalid);
        assert!(ours.expired <= right.expired, "{ours:?} {right:?}");
    }

    async fn compact(&mut self) {
        let space = self.random.pick(&self.places.all());
        self.embedded().compact(space).await.unwrap();
        self.memory.compact(space).await.unwrap();
    }

    /// Where they cut is their own business; what the parts hold together is not.
    async fn splits(&mut self) {
        let space = self.random.pick(&self.places.all());
        let parts = self.random.below(6);
        let mut ours = keyaki::engine::Block::default();
        for split in self.embedded().splits(space, parts).await.unwrap() {
            ours.append(&steps::block(self.embedded(), ScanRequest::split(space, split)).await);
        }
        let right = self.whole(space).await;
        assert!(right.iter().eq(ours.iter()), "{space:?} in {parts} parts");
    }

    async fn whole(&self, space: SpaceId) -> keyaki::engine::Block {
        let [split] = &self.memory.splits(space, 1).await.unwrap()[..] else {
            panic!("one part was asked for")
        };
        steps::block(&self.memory, ScanRequest::split(space, split.clone())).await
    }

    /// Drops a derived space and makes another like it in its place.
    async fn replace_space(&mut self) {
        let index = self.random.below(self.places.derived.len());
        let dropped = self.places.derived[index];
        let spec = SpaceSpec::derived(BUCKET, "derived");
        self.memory.drop_spaces(vec![dropped]).await.unwrap();
        self.embedded().drop_spaces(vec![dropped]).await.unwrap();
        let made = self.memory.create_space(spec.clone()).await.unwrap();
        assert_eq!(self.embedded().create_space(spec).await.unwrap(), made);
        assert_eq!(self.memory.spaces(), self.embedded().spaces());
        self.places.derived[index] = made;
    }

    fn jump(&mut self) {
        let far = Duration::from_secs(self.random.below(1_000) as u64);
        match self.random.once_in(2) {
            true => self.wall.advance(far),
            false => self.wall.jump_back(far),
        }
    }

    async fn reopen(&mut self) {
        drop(self.embedded.take());
        let kinds = [Compression::None, Compression::Lz4, Compression::Lz4ThenZstd];
        let compression = self.random.pick(&kinds);
        self.embedded = Some(open(&self.dir, &self.wall, compression));
        assert_eq!(self.memory.spaces(), self.embedded().spaces());
        self.tick();
    }

    pub async fn compare_everything(&self) {
        for space in self.places.all() {
            let right = self.whole(space).await;
            let splits = self.embedded().splits(space, 1).await.unwrap();
            let ours = ScanRequest::split(space, splits[0].clone());
            let ours = steps::block(self.embedded(), ours).await;
            assert!(right.iter().eq(ours.iter()), "{space:?}\n{right:?}\n{ours:?}");
        }
    }
}

/// An outcome, or the kind and message of a refusal.
fn comparable(answer: Result<Outcome, Error>) -> Result<Outcome, (Kind, &'static str)> {
    answer.map_err(|error| (error.kind(), error.message()))
}

fn open(dir: &TempDir, wall: &Arc<FakeClock>, compression: Compression) -> EmbeddedEngine {
    let settings = EmbeddedSettings {
        cache_bytes: 4 << 20,
        write_memory_bytes: 3 << 20,
        compression,
        // Nothing here is about the disk's syncs, and most of the time would go to them.
        durability: Durability::Interval(Duration::from_secs(1)),
        ..EmbeddedSettings::default()
    };
    let rules = conformance::rules();
    EmbeddedEngine::open_with_clock(dir.path(), &settings, rules, wall.clone()).unwrap()
}

/// One space for each rule and kind: plain, judged, ageing, and one for each merge.
async fn make_spaces(engine: &MemoryEngine) -> Places {
    let make = |spec| steps::create(engine, spec);
    let quarantine = make(SpaceSpec::derived(BUCKET, "quarantine")).await;
    let sound = || RuleSpec::named("conformance.sound");
    let minutes = |minutes: u64| RuleSpec::new("age", (minutes * 60_000_000).to_string());
    let merging = |rule: &str| SpaceSpec::derived(BUCKET, rule).merging(RuleSpec::named(rule));
    let bounded = merging("sum")
        .keeping(RuleSpec::new("conformance.at-most", "9"))
        .quarantined_in(quarantine);
    Places {
        homes: [
            make(SpaceSpec::home(BUCKET, "plain")).await,
            make(SpaceSpec::home(BUCKET, "judged").keeping(sound()).quarantined_in(quarantine))
                .await,
            make(SpaceSpec::home(BUCKET, "ageing").keeping(minutes(3))).await,
        ],
        derived: [
            make(SpaceSpec::derived(BUCKET, "derived")).await,
            make(SpaceSpec::derived(BUCKET, "derived")).await,
        ],
        merging: [
            (make(bounded).await, Operand::Number),
            (make(merging("max")).await, Operand::Bytes),
            (make(merging("union")).await, Operand::Set),
            (make(merging("append")).await, Operand::Bytes),
            (make(merging("append").keeping(minutes(5))).await, Operand::Bytes),
        ],
        names: make(SpaceSpec::derived(BUCKET, "names")).await,
        quarantine,
    }
}
