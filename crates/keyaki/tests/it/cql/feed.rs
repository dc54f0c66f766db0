//! The change feed, where hours of the log have no order among themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use keyaki::cell::Value;
use keyaki::engine::{Engine, Rules};
use keyaki::settings::CqlSettings;
use keyaki::store::{BucketSpec, Committed, Previous};
use keyaki::testing::clock::FakeClock;

use super::ledger::Ledger;
use super::proxy::{Fate, Proxy};
use super::{Keyspaces, eventually, nodes, open, patiently, shared, store_on};
use crate::store::changes::{demand_what_is_far_behind, record_far_apart};

/// Longer than anything else takes here.
const HELD_UP_FOR: Duration = Duration::from_secs(60);
/// So many that others don't clear all of them first.
const BUCKETS: usize = 5;
const STARTS_US: [u64; 3] = [1_700_000_000_000_000, 1_710_000_000_000_000, 1_720_000_000_000_000];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_reader_finds_what_is_far_behind() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    // The earliest hour may be listed before all others by chance; not every time.
    for start in STARTS_US {
        let wall = Arc::new(FakeClock::at(start));
        let engine = open(keyspaces.fresh(), Rules::default(), wall.clone());
        patiently(|| engine.connect()).await;
        let bucket = store_on(&engine, 1).create_bucket(BucketSpec::default()).await.unwrap();
        let ids = record_far_apart(&bucket, &wall).await;
        patiently(|| engine.close()).await;
        demand_what_is_far_behind(&bucket, &ids).await;
        patiently(|| engine.close()).await;
    }
    keyspaces.drop_all().await;
}

/// A process that is held up by what was dropped still says how far it is settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_the_feed_waits_for_nobody_who_clears() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = CqlSettings { lease: HELD_UP_FOR, ..keyspaces.fresh() };
    let near = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&near, 1)).await;
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), request_timeout: HELD_UP_FOR, ..settings };
    let far = keyspaces.open(proxied);
    patiently(|| far.connect()).await;
    let store = store_on(&far, 2);
    let mut buckets = Vec::new();
    for _ in 0..BUCKETS {
        let bucket = patiently(|| store.create_bucket(BucketSpec::default())).await;
        let put =
            bucket.commit(b"p", |draft| draft.put(b"s", Previous::Absent, Value::open(b"here")));
        assert!(matches!(put.await.unwrap(), Committed::Done(_)));
        buckets.push(bucket.id());
    }
    // Listed, so that others wait for it.
    patiently(|| far.settled()).await;
    let held_up = Arc::new(AtomicBool::new(false));
    let met = held_up.clone();
    proxy.judge(move |request| match request.decides() && !request.mentions(b"spaces") {
        true => {
            met.store(true, SeqCst);
            Fate::never()
        }
        false => Fate::Pass,
    });
    for bucket in buckets {
        store.drop_bucket(bucket).await.unwrap();
    }
    eventually("it is held up", async || held_up.load(SeqCst)).await;
    let begun = Instant::now();
    assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));
    eventually("the feed goes on", async || ledger.changes(None).await.0.len() == 1).await;
    assert!(begun.elapsed() < HELD_UP_FOR / 2, "{:?}", begun.elapsed());
    proxy.let_pass();
    keyspaces.drop_all().await;
}
