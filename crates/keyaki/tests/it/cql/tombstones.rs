//! How many tombstones the engine's own reads meet after one item was updated very often, as the nodes count them.

use std::sync::Arc;
use std::time::Duration;

use keyaki::engine::Engine;
use keyaki::settings::CqlSettings;
use keyaki::store::{BucketSpec, Change, Committed};
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::host_filter::AllowListHostFilter;

use super::ledger::Ledger;
use super::{Keyspaces, nodes, patiently, shared, store_on};

const UPDATES: u64 = 600;
const FOLD_EVERY: u64 = 40;
const CHANGES: u64 = 2_000;
const CHANGES_AT_ONCE: u64 = 100;
const KEPT: Duration = Duration::from_secs(2);
/// Per read. Cassandra warns at 1,000 and gives up at 100,000.
const TOMBSTONES_MAX: f64 = 50.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_many_updates_leave_few_tombstones_to_read() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let engine = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    for update in 0..UPDATES {
        let updated = ledger.update("item").await.unwrap();
        assert!(matches!(updated, Committed::Done(_)), "{updated:?}");
        if update % FOLD_EVERY == 0 {
            ledger.fold().await.unwrap();
        }
    }
    engine.close().await.unwrap();
    assert_eq!(engine.settle().await.unwrap(), 0);
    assert_eq!(ledger.number("item").await.unwrap().0, UPDATES);
    ledger.fold().await.unwrap();
    assert_eq!(ledger.total().await, UPDATES);
    assert_eq!(ledger.changes(None).await.0.len() as u64, UPDATES);
    let met = tombstones(&settings).await;
    keyspaces.drop_all().await;
    println!("most tombstones of a read: {met:?}");
    assert_eq!(met.len(), 2 * nodes().len());
    assert!(met.iter().all(|(_, most)| *most <= TOMBSTONES_MAX), "{met:?}");
}

/// Change records go by age. They lie side by side, so few deletions do for many.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_many_changes_that_age_leave_few_tombstones_to_read() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let engine = keyspaces.open(settings.clone());
    let spec = BucketSpec { changes_kept: Some(KEPT), ..BucketSpec::default() };
    let store = store_on(&engine, 1);
    let bucket = patiently(|| store.create_bucket(spec.clone())).await;
    for commit in 0..CHANGES / CHANGES_AT_ONCE {
        let home = commit.to_be_bytes();
        let record = bucket.commit(&home, |draft| {
            (0..CHANGES_AT_ONCE).try_for_each(|number| {
                let item = format!("{commit}-{number}");
                draft.change(&Change { item, ..Change::default() }, b"", b"")
            })
        });
        assert!(matches!(record.await.unwrap(), Committed::Done(_)));
    }
    tokio::time::sleep(KEPT).await;
    let changes = bucket.space("changes").unwrap();
    let mut expired = 0;
    for _ in 0..3 {
        expired += patiently(|| engine.sweep(changes)).await.expired;
    }
    assert_eq!(expired, CHANGES);
    let met = tombstones(&settings).await;
    keyspaces.drop_all().await;
    println!("most tombstones of a read: {met:?}");
    assert!(met.iter().all(|(_, most)| *most <= TOMBSTONES_MAX), "{met:?}");
}

/// The most that a read has met, of each table, on each node.
async fn tombstones(settings: &CqlSettings) -> Vec<(String, f64)> {
    let mut met = Vec::new();
    for node in nodes() {
        let only = AllowListHostFilter::new([&node]).unwrap();
        let session = SessionBuilder::new()
            .known_node(&node)
            .fetch_schema_metadata(false)
            .host_filter(Arc::new(only))
            .build()
            .await
            .unwrap();
        let query = "SELECT keyspace_name, table_name, max FROM system_views.tombstones_per_read";
        let rows = session.query_unpaged(query, &[]).await.unwrap().into_rows_result().unwrap();
        for row in rows.rows::<(String, String, f64)>().unwrap() {
            let (keyspace, table, most) = row.unwrap();
            if keyspace.starts_with(&settings.keyspace_prefix) {
                met.push((format!("{node} {table}"), most));
            }
        }
    }
    met
}
