//! Processes that end in good order: nobody waits for them, and whoever comes later commits later.

use std::sync::Arc;
use std::time::Duration;

use keyaki::cell::Time;
use keyaki::engine::{Engine, Rules};
use keyaki::settings::CqlSettings;
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::{Keyspaces, Skewed, eventually, open, patiently, shared, store_on};

/// Longer than anything is waited for here.
const LEASE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_who_leaves_holds_up_nobody_and_misses_nothing() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = CqlSettings { lease: LEASE, ..keyspaces.fresh() };
    let early = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&early, 1)).await;
    step(&ledger).await;
    early.close().await.unwrap();

    // Five minutes ahead of all others.
    let ahead = open(settings.clone(), Rules::default(), Arc::new(Skewed { ahead_s: 300 }));
    patiently(|| ahead.connect()).await;
    let reader = Ledger::find(&store_on(&ahead, 2));
    eventually("the feed shows it", async || reader.changes(None).await.0.len() == 1).await;
    let passed = patiently(|| ahead.settled()).await;
    ahead.close().await.unwrap();

    // Who joins after that was read, or again, commits later than what was read.
    let late = keyspaces.open(settings);
    patiently(|| late.connect()).await;
    let joined = step(&Ledger::find(&store_on(&late, 3))).await;
    let joined_again = step(&ledger).await;
    assert!(passed < joined && joined < joined_again, "{passed:?} {joined:?} {joined_again:?}");
    late.close().await.unwrap();
    eventually("the feed is whole", async || ledger.changes(None).await.0.len() == 3).await;
    keyspaces.drop_all().await;
}

async fn step(ledger: &Ledger) -> Time {
    match ledger.step("item").await.unwrap() {
        Committed::Done(tid) => tid.time(),
        other => panic!("nobody else writes: {other:?}"),
    }
}
