//! Keyspaces that an older build has made: brought up to date by who finds them, and left alone after that.

use keyaki::Error;
use keyaki::store::Committed;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

use super::ledger::Ledger;
use super::{Keyspaces, nodes, patiently, shared, store_on};

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

    let finder = keyspaces.open(settings.clone());
    patiently(|| finder.connect()).await;
    assert_eq!(read_repair(&session, &keyspace).await, "NONE");
    let ledger = Ledger::create(&store_on(&finder, 1)).await;
    assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));

    let follower = keyspaces.open(settings);
    patiently(|| follower.connect()).await;
    let followed = Ledger::find(&store_on(&follower, 2));
    assert!(matches!(followed.step("item").await.unwrap(), Committed::Done(_)));
    ledger.fold().await.unwrap();
    assert_eq!(ledger.survey("item").await, 2);
    keyspaces.drop_all().await;
}

async fn read_repair(session: &Session, keyspace: &str) -> String {
    let query = "SELECT read_repair FROM system_schema.tables \
                 WHERE keyspace_name = ? AND table_name = 'home'";
    let rows = session.query_unpaged(query, (keyspace,)).await.unwrap();
    rows.into_rows_result().unwrap().first_row::<(String,)>().unwrap().0
}
