//! Keyspaces that an older build has made: brought up to date by however many find them at once.

use futures_util::future::join_all;
use keyaki::Error;
use keyaki::store::Committed;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

use super::ledger::Ledger;
use super::{Keyspaces, eventually, nodes, patiently, shared, store_on};

const AT_ONCE: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_older_tables_are_brought_up_to_date() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let copies = if nodes().len() >= 3 { 3 } else { 1 };
    let keyspace = format!("{}_rf{copies}", settings.keyspace_prefix);
    let session = SessionBuilder::new().known_nodes(nodes()).fetch_schema_metadata(false);
    let session = session.build().await.unwrap();
    // Without the columns of merged cells, and with repairs that could tear a transaction.
    for made in [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.home (bucket bigint, partition blob, space int, sort blob, \
             value blob, latest bigint, pending blob, PRIMARY KEY ((bucket, partition), space, sort))"
        ),
    ] {
        patiently(|| async {
            let made = session.query_unpaged(made.clone(), &[]).await;
            made.map_err(|e| Error::unavailable("not yet").because(e))
        })
        .await;
    }
    assert_eq!(read_repair(&session, &keyspace).await, "BLOCKING");

    let engines: Vec<_> = (0..AT_ONCE).map(|_| keyspaces.open(settings.clone())).collect();
    join_all(engines.iter().map(|engine| patiently(|| engine.connect()))).await;
    eventually("nothing is repaired by reads", async || {
        read_repair(&session, &keyspace).await == "NONE"
    })
    .await;
    let created = Ledger::create(&store_on(&engines[0], 1)).await;
    assert!(matches!(created.step("item").await.unwrap(), Committed::Done(_)));
    for (node, engine) in engines.iter().enumerate().skip(1) {
        patiently(|| engine.connect()).await;
        let ledger = Ledger::find(&store_on(engine, node as u64 + 1));
        assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));
    }
    created.fold().await.unwrap();
    assert_eq!(created.survey("item").await, AT_ONCE);
    keyspaces.drop_all().await;
}

async fn read_repair(session: &Session, keyspace: &str) -> String {
    let query = "SELECT read_repair FROM system_schema.tables \
                 WHERE keyspace_name = ? AND table_name = 'home'";
    let rows = session.query_unpaged(query, (keyspace,)).await.unwrap();
    rows.into_rows_result().unwrap().first_row::<(String,)>().unwrap().0
}
