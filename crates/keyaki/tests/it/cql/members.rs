//! Nodes of the cluster that are killed and come back, and a cluster that is away altogether.
//!
//! Who takes nodes away has the cluster for itself, and gives it back whole, whatever happens.

use std::fmt::Debug;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use keyaki::Kind;
use keyaki::engine::cql::CqlEngine;
use keyaki::settings::CqlSettings;
use keyaki::store::Committed;
use tokio::task::JoinSet;

use super::ledger::Ledger;
use super::proxy::{Proxy, at_port, free_port};
use super::{CLUSTER, Keyspaces, demand_all, eventually, nodes, shared, store_on};

const WRITERS: usize = 4;
/// After this a node heeds what a table says of asking another replica: its `read_request_timeout`, and a little. Until
/// then it waits for half of that timeout, and whoever reads twice in a call runs into the driver's.
const HEEDED: Duration = Duration::from_secs(6);
/// What a loaded machine adds to a timeout.
const A_LITTLE: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL, and KEYAKI_CASSANDRA_PORT of a cluster of three"]
async fn cql_nodes_go_and_come_back() {
    let _cluster = CLUSTER.write().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh_and_punctual();
    let engine = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    one_is_killed_under_load(&ledger, &settings).await;
    two_are_gone(&ledger, &settings).await;
    keyspaces.drop_all().await;
}

/// Nodes that are dead until this is dropped.
struct Killed(Vec<u8>);

impl Killed {
    fn kill(nodes: &[u8]) -> Self {
        for node in nodes {
            assert!(cassandra("kill9", *node).wait().unwrap().success(), "node {node}");
        }
        Self(nodes.to_vec())
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let restarted: Vec<_> = self.0.iter().map(|node| cassandra("restart", *node)).collect();
        let restarted: Vec<_> = restarted.into_iter().map(|mut child| child.wait()).collect();
        let failed = restarted.iter().any(|status| !status.as_ref().is_ok_and(|s| s.success()));
        assert!(!failed || std::thread::panicking(), "{restarted:?}");
    }
}

fn cassandra(command: &str, node: u8) -> Child {
    let port = std::env::var("KEYAKI_CASSANDRA_PORT").expect("KEYAKI_CASSANDRA_PORT is set");
    assert!(nodes().len() == 3 && nodes()[0].ends_with(&port), "another cluster is meant");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cassandra");
    Command::new(script).args([command, &node.to_string()]).spawn().unwrap()
}

/// What a writer did.
struct Account {
    item: String,
    done: u64,
    last_done: Instant,
    /// Calls that failed, which may or may not have been done: when, and why.
    failed: Vec<(Instant, String)>,
}

/// Nothing acknowledged is lost, and errors stop within a timeout.
async fn one_is_killed_under_load(ledger: &Ledger, settings: &CqlSettings) {
    let over = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(ledger.clone(), format!("item{writer}"), over.clone()));
    }
    tokio::time::sleep(HEEDED).await;
    let killed_at = Instant::now();
    let killed = Killed::kill(&[2]);
    tokio::time::sleep(settings.request_timeout + Duration::from_secs(5)).await;
    over.store(true, SeqCst);
    let accounts = writers.join_all().await;
    let after = |at: Instant| at.saturating_duration_since(killed_at);
    let mut last = None;
    for account in &accounts {
        println!(
            "{} took {} steps, the last after {:?}",
            account.item,
            account.done,
            after(account.last_done)
        );
        for (at, error) in &account.failed {
            println!("  failed after {:?}: {error}", after(*at));
            last = last.max(Some(after(*at)));
        }
    }
    assert!(last.is_none_or(|last| last < settings.request_timeout + A_LITTLE), "{last:?}");
    let mut steps = 0;
    for account in &accounts {
        assert!(account.last_done > killed_at + settings.request_timeout, "{}", account.item);
        let number = ledger.survey(&account.item).await;
        let most = account.done + account.failed.len() as u64;
        assert!((account.done..=most).contains(&number), "{}: {number}", account.item);
        steps += number;
    }
    let items: Vec<String> = accounts.into_iter().map(|account| account.item).collect();
    demand_all(ledger, &items, steps).await;
    drop(killed);
    demand_all(ledger, &items, steps).await;
}

async fn write(ledger: Ledger, item: String, over: Arc<AtomicBool>) -> Account {
    let mut account = Account { item, done: 0, last_done: Instant::now(), failed: Vec::new() };
    while !over.load(SeqCst) {
        match ledger.step(&account.item).await {
            Ok(Committed::Done(_)) => {
                account.done += 1;
                account.last_done = Instant::now();
            }
            Ok(other) => panic!("nobody else writes {}: {other:?}", account.item),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unavailable, "{error:?}");
                account.failed.push((Instant::now(), format!("{error:?}")));
            }
        }
    }
    account
}

/// Whatever is asked is `Unavailable` in time, and all is well again when the nodes are back.
async fn two_are_gone(ledger: &Ledger, settings: &CqlSettings) {
    let (item, alone) = ("item0", "alone");
    ledger.step_alone(alone).await.unwrap();
    let before = (ledger.number(item).await.unwrap(), ledger.number(alone).await.unwrap());
    let killed = Killed::kill(&[2, 3]);
    let begun = Instant::now();
    while begun.elapsed() < settings.request_timeout * 3 {
        let (item_found, alone_found) = before.clone();
        demand_in_time(settings, "read", ledger.number(item)).await;
        demand_in_time(settings, "commit", ledger.step_from(item, item_found)).await;
        demand_in_time(settings, "home only", ledger.step_alone_from(alone, alone_found)).await;
    }
    drop(killed);
    eventually("commits take again", async || {
        ledger.step(item).await.is_ok() && ledger.step_alone(alone).await.is_ok()
    })
    .await;
    // All attempts were the same step, which one of them may have taken.
    let ((item_before, _), (alone_before, _)) = before;
    let after = (ledger.survey(item).await, ledger.number(alone).await.unwrap().0);
    println!("{before_all:?} became {after:?}", before_all = (item_before, alone_before));
    assert!(after.0 > item_before && after.1 > alone_before);
}

async fn demand_in_time<T: Debug>(
    settings: &CqlSettings,
    what: &str,
    call: impl Future<Output = keyaki::Result<T>>,
) {
    let called = Instant::now();
    let error = call.await.unwrap_err();
    println!("{what}: {:?} after {:?}", error.kind(), called.elapsed());
    assert_eq!(error.kind(), Kind::Unavailable, "{what}: {error:?}");
    let most = settings.request_timeout + A_LITTLE;
    assert!(called.elapsed() < most, "{what}: {:?}", called.elapsed());
}

/// A cluster that is away at the start, and goes away later.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_cluster_that_is_away_is_said_to_be_and_comes_back() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let port = free_port(&nodes());
    let settings = CqlSettings { nodes: at_port(&nodes(), port), ..keyspaces.fresh_and_punctual() };
    let engine = keyspaces.open(settings.clone());
    for _ in 0..3 {
        demand_unavailable(&engine, settings.connect_timeout).await;
    }
    let proxy = Proxy::start_at(&nodes(), port);
    eventually("the cluster is reached", async || engine.connect().await.is_ok()).await;
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));

    drop(proxy);
    for _ in 0..3 {
        let asked = Instant::now();
        assert_eq!(ledger.step("item").await.unwrap_err().kind(), Kind::Unavailable);
        demand_unavailable(&engine, settings.request_timeout).await;
        assert!(asked.elapsed() < (settings.request_timeout + A_LITTLE) * 2);
    }
    let proxy = Proxy::start_at(&nodes(), port);
    eventually("the cluster is back", async || ledger.step("item").await.is_ok()).await;
    assert_eq!(ledger.survey("item").await, 2);
    keyspaces.drop_all().await;
    drop(proxy);
}

async fn demand_unavailable(engine: &CqlEngine, timeout: Duration) {
    let asked = Instant::now();
    let away = engine.connect().await.unwrap_err();
    println!("away: {away:?} after {:?}", asked.elapsed());
    assert_eq!(away.kind(), Kind::Unavailable, "{away:?}");
    assert!(asked.elapsed() < timeout + A_LITTLE, "{:?}", asked.elapsed());
}
