//! Sweepers beside each other and beside the writers whose commits they settle, all of them processes of their own.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use keyaki::settings::CqlSettings;
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::process::Task;
use super::proxy::{Fate, Proxy};
use super::{Keyspaces, demand_all, eventually, nodes, patiently, shared, store_on};

const STEPS: u64 = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_commit_that_a_sweeper_overtakes_is_stamped_anew() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let dir = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings.clone() };
    let engine = keyspaces.open(proxied);
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let mut sweeper = Task::new("sweeper", &settings, dir.path()).start();
    assert_eq!(sweeper.hear(), "ready");
    for step in 1..=3 {
        let settled = Arc::new(Mutex::new(None));
        let (told, mut sweeper_once) = (settled.clone(), Some(sweeper));
        let (back, returned) = mpsc::channel();
        proxy.judge(move |request| {
            if request.decides()
                && let Some(mut sweeper) = sweeper_once.take()
            {
                // The transaction waits here while the sweeper bars it.
                sweeper.say("settle");
                *told.lock().unwrap() = Some(sweeper.hear());
                back.send(sweeper).unwrap();
            }
            Fate::Pass
        });
        let done = ledger.step("item").await.unwrap();
        assert!(matches!(done, Committed::Done(_)), "{done:?}");
        sweeper = returned.recv().unwrap();
        assert_eq!(settled.lock().unwrap().take().as_deref(), Some("settled 1"));
        assert_eq!(ledger.survey("item").await, step);
    }
    keyspaces.drop_all().await;
}

/// A sweeper finds an intent that is still being written, and asks for the commit's fate when it has taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_sweeper_may_find_an_intent_before_it_is_whole() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let proxies = [Proxy::start(&nodes()), Proxy::start(&nodes())];
    let [writing, sweeping] = proxies
        .each_ref()
        .map(|proxy| keyspaces.open(CqlSettings { nodes: proxy.nodes(), ..settings.clone() }));
    let ledger = Ledger::create(&store_on(&writing, 1)).await;
    patiently(|| sweeping.connect()).await;
    let ([go_write, go_bar], [may_write, may_bar]) = {
        let (pair, other) = (mpsc::channel(), mpsc::channel());
        ([pair.0, other.0], [pair.1, other.1])
    };
    let [parts, barring] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (met, mut may_write) = (parts.clone(), Some(may_write));
    proxies[0].judge(move |request| match request.mentions(b"part") {
        // Before this, the intent says that it grows.
        true if request.text.starts_with("INSERT") => {
            met.store(true, SeqCst);
            may_write.take().map_or(Fate::Pass, Fate::Late)
        }
        _ => Fate::Pass,
    });
    let (met, mut may_bar) = (barring.clone(), Some(may_bar));
    proxies[1].judge(move |request| match request.mentions(b"aborted") {
        true => {
            met.store(true, SeqCst);
            may_bar.take().map_or(Fate::Pass, Fate::Late)
        }
        false => Fate::Pass,
    });
    let step = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.step_heavily("item").await }
    });
    eventually("parts are written", async || parts.load(SeqCst)).await;
    let settle = tokio::spawn(async move { sweeping.settle().await });
    eventually("it is about to be barred", async || barring.load(SeqCst)).await;
    go_write.send(()).unwrap();
    let done = step.await.unwrap().unwrap();
    assert!(matches!(done, Committed::Done(_)), "{done:?}");
    go_bar.send(()).unwrap();
    assert_eq!(settle.await.unwrap().unwrap(), 1);
    ledger.weigh("item", true).await;
    assert_eq!(ledger.survey("item").await, 1);
    keyspaces.drop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_sweepers_may_run_beside_each_other_and_beside_writers() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    // The feed waits three leases for processes that are gone.
    let settings = CqlSettings { lease: Duration::from_secs(4), ..keyspaces.fresh() };
    let dir = tempfile::tempdir().unwrap();
    let engine = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let task = |role| Task::new(role, &settings, dir.path());
    let mut sweepers = [(); 2].map(|()| task("restless sweeper").start());
    let mut writers = ["a", "b"].map(|own| {
        let items = [own, "shared", own, "shared too"].map(str::to_owned);
        task("writer").on_items(items).times(STEPS).start()
    });
    for process in sweepers.iter_mut().chain(&mut writers) {
        assert_eq!(process.hear(), "ready");
    }
    for writer in &mut writers {
        writer.say("go");
    }
    // Merged cells are folded meanwhile.
    let folding = tokio::spawn({
        let ledger = ledger.clone();
        async move {
            loop {
                ledger.fold().await.unwrap();
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    });
    let mut done = 0;
    for writer in &mut writers {
        let told = writer.hear();
        println!("{told}");
        let parsed = told.strip_prefix("done ").and_then(|rest| rest.strip_suffix(" failed 0"));
        let parsed: u64 = parsed.unwrap_or_else(|| panic!("{told}")).parse().unwrap();
        done += parsed;
    }
    assert!(!folding.is_finished(), "{:?}", folding.await);
    folding.abort();
    let settled: Vec<_> = sweepers.iter().map(|sweeper| sweeper.notes().len() - 1).collect();
    println!("{done} steps took, sweepers found something {settled:?} times");
    assert!(settled.iter().all(|settled| *settled > 0), "{settled:?}");
    for sweeper in &sweepers {
        let failed = sweeper.notes().into_iter().find(|note| note.starts_with("failed"));
        assert_eq!(failed, None);
    }
    drop((sweepers, writers));
    assert_eq!(engine.settle().await.unwrap(), 0);
    let items = ["a", "b", "shared", "shared too"].map(str::to_owned);
    demand_all(&ledger, &items, done).await;
    ledger.fold().await.unwrap();
    demand_all(&ledger, &items, done).await;
    keyspaces.drop_all().await;
}
