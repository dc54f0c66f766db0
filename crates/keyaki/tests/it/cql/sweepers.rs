//! Sweepers beside each other and beside the writers whose commits they settle, all of them processes of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyaki::settings::CqlSettings;
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::process::Task;
use super::proxy::{Fate, Proxy};
use super::{Keyspaces, demand_all, nodes, shared, store_on};

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
        let (back, returned) = std::sync::mpsc::channel();
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
