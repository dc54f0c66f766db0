//! Processes that fold merged cells and are held up in the middle of it.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use keyaki::settings::CqlSettings;
use keyaki::store::Committed;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

use super::ledger::Ledger;
use super::proxy::{Fate, Proxy};
use super::{Keyspaces, eventually, nodes, patiently, shared, store_on};

const STEPS: u64 = 3;
const WRITERS: u64 = 8;
/// More than twice as many as are folded at once.
const MERGES: u64 = 640;
/// Ids of folded operands stay listed for a minute.
const LISTED_MAX: Duration = Duration::from_secs(120);

/// One that is held up for so long between its two reads that all of another's fold is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_merges_count_once_though_a_folder_is_held_up() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = CqlSettings { request_timeout: LISTED_MAX * 2, ..keyspaces.fresh() };
    let near = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&near, 1)).await;
    for _ in 0..STEPS {
        assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));
    }
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings.clone() };
    let far = keyspaces.open(proxied);
    patiently(|| far.connect()).await;
    let far_ledger = Ledger::find(&store_on(&far, 2));
    let steps = async || far_ledger.changes(None).await.0.len() as u64;
    eventually("all steps are settled", async || steps().await == STEPS).await;

    let (go_on, late) = mpsc::channel();
    let (held, is_held) = mpsc::channel();
    let (mut reads, mut late) = (0, Some(late));
    proxy.judge(move |request| {
        let text = &request.text;
        let of_operands = text.starts_with("SELECT sort, value FROM")
            && text.contains(".derived ")
            && text.contains("sort < ?");
        reads += usize::from(of_operands || text.contains("version, folded FROM"));
        match late.take_if(|_| reads == 2) {
            Some(late) => {
                held.send(()).unwrap();
                Fate::Late(late)
            }
            None => Fate::Pass,
        }
    });
    let folding = tokio::spawn({
        let ledger = far_ledger.clone();
        async move { ledger.fold().await }
    });
    eventually("it is held up", async || is_held.try_recv().is_ok()).await;
    ledger.fold().await.unwrap();
    let begun = Instant::now();
    let session = SessionBuilder::new().known_nodes(nodes()).build().await.unwrap();
    while lists_ids(&session, &settings).await {
        assert!(begun.elapsed() < LISTED_MAX, "ids stay listed");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    println!("ids were listed for {:?}", begun.elapsed());
    go_on.send(()).unwrap();
    folding.await.unwrap().unwrap();
    for state in ["as they were left", "folded once more"] {
        assert_eq!((ledger.survey("item").await, ledger.total().await), (STEPS, STEPS), "{state}");
        ledger.fold().await.unwrap();
    }
    keyspaces.drop_all().await;
}

/// Nobody reads a cell that many merge into; then it has more operands than are folded at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_cell_that_nobody_reads_is_folded_in_slices() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh_and_punctual();
    let proxy = Proxy::start(&nodes());
    let engine = keyspaces.open(CqlSettings { nodes: proxy.nodes(), ..settings.clone() });
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let asked = Arc::new(AtomicBool::new(false));
    let met = asked.clone();
    proxy.judge(move |request| match request.text.contains("IF version = ?") {
        true => {
            met.store(true, SeqCst);
            Fate::never()
        }
        false => Fate::Pass,
    });
    let writers = (0..WRITERS).map(|writer| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            for _ in 0..MERGES / WRITERS {
                let merged = ledger.merge(&format!("item{writer}")).await.unwrap();
                assert!(matches!(merged, Committed::Done(_)), "{merged:?}");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    eventually("it is to be folded", async || asked.load(SeqCst)).await;
    proxy.let_pass();
    let session = SessionBuilder::new().known_nodes(nodes()).build().await.unwrap();
    for state in ["as merged", "folded"] {
        assert_eq!(ledger.total().await, MERGES, "{state}");
        patiently(|| ledger.fold()).await;
    }
    assert!(lists_ids(&session, &settings).await, "nothing was folded");
    keyspaces.drop_all().await;
}

/// Whether the base of any merged cell lists what is folded in it.
async fn lists_ids(session: &Session, settings: &CqlSettings) -> bool {
    let copies = if nodes().len() >= 3 { 3 } else { 1 };
    let query = format!("SELECT folded FROM {}_rf{copies}.home", settings.keyspace_prefix);
    let rows = session.query_unpaged(query, &[]).await.unwrap().into_rows_result().unwrap();
    let mut rows = rows.rows::<(Option<Vec<u8>>,)>().unwrap();
    rows.any(|row| row.unwrap().0.is_some_and(|ids| !ids.is_empty()))
}
