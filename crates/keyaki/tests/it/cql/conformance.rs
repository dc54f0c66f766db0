//! The whole table of cases on a cluster.

use std::sync::Arc;

use async_trait::async_trait;
use keyaki::engine::Engine;
use keyaki::engine::cql::CqlEngine;
use keyaki::settings::CqlSettings;
use keyaki::testing::clock::FakeClock;
use keyaki::testing::conformance::{self, Fixture, Skip};

use super::{Keyspaces, open, patiently, shared};

const START_US: u64 = 1_700_000_000_000_000;
const SKIPS: &[Skip] = &[
    Skip { case: "dependents appear with their home writes", reason: "they trail for a moment" },
    Skip { case: "a scan shows one snapshot", reason: "each page shows its own time" },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_keeps_the_contract() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let connected = async || {
        let trial = Cql::new(keyspaces.fresh());
        patiently(|| trial.cql.connect()).await;
        Box::new(trial) as _
    };
    let failed = conformance::run(connected, SKIPS).await;
    keyspaces.drop_all().await;
    assert!(failed.is_empty(), "{failed:#?}");
}

struct Cql {
    settings: CqlSettings,
    clock: Arc<FakeClock>,
    cql: Arc<CqlEngine>,
    engine: Arc<dyn Engine>,
}

impl Cql {
    fn new(settings: CqlSettings) -> Self {
        let clock = Arc::new(FakeClock::at(START_US));
        let cql = open(settings.clone(), conformance::rules(), clock.clone());
        Self { settings, clock, engine: cql.clone(), cql }
    }
}

#[async_trait]
impl Fixture for Cql {
    fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    fn clock(&self) -> &FakeClock {
        &self.clock
    }

    async fn reopen(&mut self) {
        patiently(|| self.cql.close()).await;
        self.cql = open(self.settings.clone(), conformance::rules(), self.clock.clone());
        self.engine = self.cql.clone();
        patiently(|| self.cql.connect()).await;
    }

    async fn settle(&self) {
        patiently(|| self.cql.close()).await;
    }
}
