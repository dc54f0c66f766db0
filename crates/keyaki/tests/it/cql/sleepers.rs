//! A process that is stopped in the middle of a commit for so long that others give it up, and then goes on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use keyaki::cell::{SystemWallClock, Time, WallClock};
use keyaki::engine::Engine;
use keyaki::settings::CqlSettings;
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::process::Task;
use super::proxy::{Fate, Proxy};
use super::{Keyspaces, demand_all, eventually, nodes, patiently, shared, store_on};

/// How often a process shows up until it has said all that it has learnt when it joined.
const SHOWN_UP: usize = 3;
/// More than a process takes to show up once it goes on.
const AWAKE_AFTER: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_the_feed_passes_by_no_commit_of_a_process_that_slept() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = CqlSettings { lease: Duration::from_secs(3), ..keyspaces.fresh() };
    let dir = tempfile::tempdir().unwrap();
    let engine = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings };
    let item = "item".to_owned();
    let mut writer = Task::new("writer of one", &proxied, dir.path()).on_items([item]).start();
    assert_eq!(writer.hear(), "ready");

    // Its commit is stamped and was let go on; its intent waits for this.
    let held = Held::default();
    let holding = held.clone();
    proxy.judge(move |request| {
        if !(request.text.starts_with("INSERT") && request.mentions(b"spans")) {
            return Fate::Pass;
        }
        hold(&holding)
    });
    writer.say("go");
    eventually("it is about to commit", async || !held.lock().unwrap().is_empty()).await;
    writer.signal("STOP");
    let stopped = Time::from_micros(SystemWallClock.now_us());
    eventually("it is given up", async || patiently(|| engine.settled()).await > stopped).await;
    // A position goes no further than what has happened.
    assert!(matches!(ledger.step("other").await.unwrap(), Committed::Done(_)));
    let (mut changes, mut since) = (Vec::new(), None);
    eventually("the feed goes on", async || {
        (changes, since) = ledger.changes(None).await;
        !changes.is_empty()
    })
    .await;
    assert_eq!(changes.iter().map(|change| &change.item[..]).collect::<Vec<_>>(), ["other"]);

    writer.signal("CONT");
    tokio::time::sleep(AWAKE_AFTER).await;
    proxy.let_pass();
    let_go(&held);
    assert_eq!(writer.hear(), "done");
    assert_eq!(ledger.survey("item").await, 1);
    eventually("the feed shows it", async || ledger.changes(since).await.0.len() == 1).await;
    drop(writer);
    keyspaces.drop_all().await;
}

/// It is cut off behind its decision for longer than a lease, and shows up again before it can do what follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_the_feed_waits_for_a_commit_though_its_process_joins_anew() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = CqlSettings { lease: Duration::from_secs(4), ..keyspaces.fresh() };
    let near = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&near, 1)).await;
    let proxy = Proxy::start(&nodes());
    let far = keyspaces.open(CqlSettings { nodes: proxy.nodes(), ..settings.clone() });
    patiently(|| far.connect()).await;
    let far_ledger = Ledger::find(&store_on(&far, 2));
    patiently(|| far.settled()).await;

    let (follows, rows): (Held, Held) = Default::default();
    let (decided, shown_up) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let awake = Arc::new(AtomicBool::new(false));
    proxy.judge({
        let (follows, rows, decided) = (follows.clone(), rows.clone(), decided.clone());
        let (awake, shown_up) = (awake.clone(), shown_up.clone());
        move |request| {
            if request.decides() {
                decided.store(true, SeqCst);
            }
            if !decided.load(SeqCst) || !request.text.starts_with("INSERT") {
                return Fate::Pass;
            }
            match (request.mentions(b"nodes"), awake.load(SeqCst)) {
                (true, true) => {
                    shown_up.fetch_add(1, SeqCst);
                    Fate::Pass
                }
                (true, false) => hold(&rows),
                (false, _) => hold(&follows),
            }
        }
    });
    let step = tokio::spawn({
        let ledger = far_ledger.clone();
        async move { ledger.step("item").await }
    });
    eventually("it is held up", async || !follows.lock().unwrap().is_empty()).await;
    // Shorter than others wait before they finish what it has begun.
    tokio::time::sleep(settings.lease + Duration::from_secs(1)).await;
    assert!(matches!(ledger.step("other").await.unwrap(), Committed::Done(_)));
    awake.store(true, SeqCst);
    let_go(&rows);
    let mut seen = Vec::new();
    eventually("it shows up again", async || {
        seen.extend(ledger.changes(None).await.0);
        shown_up.load(SeqCst) >= SHOWN_UP
    })
    .await;
    seen.extend(ledger.changes(None).await.0);
    assert!(seen.is_empty(), "what it has begun is not done: {seen:?}");
    proxy.let_pass();
    let_go(&follows);
    assert!(matches!(step.await.unwrap().unwrap(), Committed::Done(_)));
    demand_all(&ledger, &["item", "other"].map(str::to_owned), 2).await;
    keyspaces.drop_all().await;
}

/// Requests that wait until they may go on.
type Held = Arc<Mutex<Vec<mpsc::Sender<()>>>>;

fn hold(held: &Held) -> Fate {
    let (go_on, late) = mpsc::channel();
    held.lock().unwrap().push(go_on);
    Fate::Late(late)
}

fn let_go(held: &Held) {
    for go_on in held.lock().unwrap().drain(..) {
        // The driver may have sent it again elsewhere.
        let _ = go_on.send(());
    }
}
