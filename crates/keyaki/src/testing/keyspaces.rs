//! Taking away what a test or a benchmark has made on a cluster.

use std::fmt::Display;
use std::time::{Duration, Instant};

use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::deserialize::row::DeserializeRow;
use scylla::response::query_result::QueryResult;

/// Nodes that have just come back may not agree yet on what there is to drop.
const PATIENCE: Duration = Duration::from_secs(60);

/// More than a request takes whose sender is gone.
const AFTERMATH: Duration = Duration::from_secs(1);

/// Drops all keyspaces whose name begins so, and which nobody uses any more.
///
/// Their tables go first, one by one: Cassandra 5 drops those of a keyspace in turn, and where a late write has reached
/// the first of them before it comes to the second, it finds a dirty table that it no longer has, and the node dies.
pub async fn drop_keyspaces(nodes: &[String], prefix: &str) {
    tokio::time::sleep(AFTERMATH).await;
    // It would read the tables of all others, too, who make and drop theirs meanwhile.
    let builder = SessionBuilder::new().known_nodes(nodes).fetch_schema_metadata(false);
    let session = patiently("connect", || builder.build()).await;
    let tables = "SELECT keyspace_name, table_name FROM system_schema.tables";
    for (keyspace, table) in names::<(String, String)>(&session, tables).await {
        if keyspace.starts_with(prefix) {
            ask(&session, &format!("DROP TABLE IF EXISTS {keyspace}.{table}")).await;
        }
    }
    let keyspaces = "SELECT keyspace_name FROM system_schema.keyspaces";
    for (keyspace,) in names::<(String,)>(&session, keyspaces).await {
        if keyspace.starts_with(prefix) {
            ask(&session, &format!("DROP KEYSPACE IF EXISTS {keyspace}")).await;
        }
    }
}

async fn names<R>(session: &Session, query: &str) -> Vec<R>
where
    R: for<'f, 'm> DeserializeRow<'f, 'm>,
{
    let rows = ask(session, query).await.into_rows_result().expect("rows");
    rows.rows::<R>().expect("such columns").map(|row| row.expect("a row")).collect()
}

async fn ask(session: &Session, statement: &str) -> QueryResult {
    patiently(statement, || session.query_unpaged(statement, &[])).await
}

async fn patiently<T, E, F>(what: &str, mut attempt: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{what}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
