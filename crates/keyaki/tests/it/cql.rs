//! The CQL engine on a real cluster, which `KEYAKI_CQL=host:port[,…]` names; `scripts/cassandra` starts one. Every test
//! has keyspaces of its own, and drops them.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use keyaki::Kind;
use keyaki::cell::{SystemWallClock, WallClock};
use keyaki::engine::Rules;
use keyaki::engine::cql::CqlEngine;
use keyaki::settings::{CqlSettings, Replication, StoreSettings};
use keyaki::store::Store;
use keyaki::testing::keyspaces::drop_keyspaces;
use tokio::sync::{RwLock, RwLockReadGuard};

mod clocks; // processes whose clocks differ
mod conformance; // the table of what every engine must do
mod feed; // the change feed
mod folders; // who folds merged cells, held up
mod graph; // graphs: the cases that every engine has
mod guarded; // a cluster that wants a password
mod history; // whether what was recorded could have happened
mod large; // values beyond one transaction
mod leavers; // processes that end in good order
mod ledger; // what the fault tests write
mod lost; // answers that never arrive
mod members; // nodes of the cluster that go and come back
mod older; // keyspaces that an older build has made
mod process; // other processes on the same cluster
mod proxy; // what stands between an engine and the cluster
mod sleepers; // processes that stand still for a while
mod strangers; // spaces that not everybody knows of
mod sweepers; // sweepers beside each other and beside writers
mod tombstones; // what reading costs after many updates
mod writer; // a writer killed at every step

use ledger::Ledger;

/// More than a loaded machine needs for anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Held for writing by a test that takes nodes away, for reading by all others.
static CLUSTER: RwLock<()> = RwLock::const_new(());

/// The right to use the cluster beside others.
async fn shared() -> RwLockReadGuard<'static, ()> {
    CLUSTER.read().await
}

/// The nodes of the cluster under test.
fn nodes() -> Vec<String> {
    let nodes = std::env::var("KEYAKI_CQL").expect("KEYAKI_CQL names the cluster under test");
    nodes.split(',').map(str::to_owned).collect()
}

/// How late a loaded machine's nodes may answer where a test is about what they answer, not when.
const LATE: Duration = Duration::from_secs(20);

/// Keyspaces that go when this is closed, and the engines on them.
struct Keyspaces {
    prefix: String,
    given: AtomicU32,
    engines: Mutex<Vec<Weak<CqlEngine>>>,
}

impl Keyspaces {
    fn new() -> Self {
        let tag = uuid::Uuid::from_u128(rand()).simple().to_string();
        Self {
            prefix: format!("keyaki_{}", &tag[..10]),
            given: AtomicU32::new(0),
            engines: Mutex::default(),
        }
    }

    /// Settings with a keyspace that nobody has used.
    fn fresh(&self) -> CqlSettings {
        let nodes = nodes();
        let copies = if nodes.len() >= 3 { 3 } else { 1 };
        CqlSettings {
            nodes,
            keyspace_prefix: format!("{}_{}", self.prefix, self.given.fetch_add(1, Relaxed)),
            replication: Replication::Factor(copies),
            connect_timeout: LATE,
            request_timeout: LATE,
            ..CqlSettings::default()
        }
    }

    /// The same for a test that waits for answers which never come.
    fn fresh_and_punctual(&self) -> CqlSettings {
        let CqlSettings { connect_timeout, request_timeout, .. } = CqlSettings::default();
        CqlSettings { connect_timeout, request_timeout, ..self.fresh() }
    }

    fn open(&self, settings: CqlSettings) -> Arc<CqlEngine> {
        let engine = open(settings, Rules::default(), Arc::new(SystemWallClock));
        self.engines.lock().unwrap().push(Arc::downgrade(&engine));
        engine
    }

    /// Engines that are left end first: one that shows up in a table that is being dropped may kill a node.
    async fn drop_all(&self) {
        let engines = std::mem::take(&mut *self.engines.lock().unwrap());
        for engine in engines.iter().filter_map(Weak::upgrade) {
            patiently(|| engine.close()).await;
        }
        drop_keyspaces(&nodes(), &self.prefix).await;
    }
}

/// Differs in every process and every time.
fn rand() -> u128 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

fn open(settings: CqlSettings, rules: Rules, clock: Arc<dyn WallClock>) -> Arc<CqlEngine> {
    Arc::new(CqlEngine::with_clock(settings, rules, clock).unwrap())
}

/// A store that sweeps only when told to.
fn store_on(engine: &Arc<CqlEngine>, node: u64) -> Store {
    let settings = StoreSettings { sweep_every: None, ..StoreSettings::default() };
    Store::new(engine.clone(), settings, node)
}

/// The machine's clock, set wrong.
struct Skewed {
    ahead_s: i64,
}

impl WallClock for Skewed {
    fn now_us(&self) -> u64 {
        SystemWallClock.now_us().saturating_add_signed(self.ahead_s * 1_000_000)
    }
}

/// Asks until there is an answer: a loaded machine's nodes may be late.
async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = keyaki::Result<T>>,
{
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) if error.kind() == Kind::Unavailable && begun.elapsed() < PATIENCE => {}
            Err(error) => panic!("{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits for what comes true by itself.
async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_true().await {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Demands all that follows from so many steps of these items, and that the feed has each of them once, in order. It
/// waits for the feed: a process that was killed holds it up until it is given up.
async fn demand_all(ledger: &Ledger, items: &[String], steps: u64) {
    let mut expected = Vec::new();
    for item in items {
        let number = ledger.survey(item).await;
        expected.extend((1..=number).map(|number| (item.clone(), number)));
    }
    assert_eq!((expected.len() as u64, ledger.total().await), (steps, steps));
    expected.sort();
    eventually("the feed is complete", async || {
        let (changes, _) = ledger.changes(None).await;
        assert!(changes.is_sorted_by(|a, b| a.id < b.id), "{changes:?}");
        let mut found: Vec<_> = changes.into_iter().map(|c| (c.item, c.number)).collect();
        // Stable: what is out of order in an item stays so.
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(found.len() < expected.len() || found == expected, "{found:?}");
        found == expected
    })
    .await;
}
