//! The CQL engine on a real cluster, which `KEYAKI_CQL=host:port[,…]` names; `scripts/cassandra` starts one. Every test
//! has keyspaces of its own, and drops them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use keyaki::cell::WallClock;
use keyaki::engine::Rules;
use keyaki::engine::cql::CqlEngine;
use keyaki::settings::{CqlSettings, Replication};
use scylla::client::session_builder::SessionBuilder;

mod conformance;

/// The nodes of the cluster under test.
fn nodes() -> Vec<String> {
    let nodes = std::env::var("KEYAKI_CQL").expect("KEYAKI_CQL names the cluster under test");
    nodes.split(',').map(str::to_owned).collect()
}

/// Keyspaces that go when this is closed.
struct Keyspaces {
    prefix: String,
    given: AtomicU32,
}

impl Keyspaces {
    fn new() -> Self {
        let tag = uuid::Uuid::from_u128(rand()).simple().to_string();
        Self { prefix: format!("keyaki_{}", &tag[..10]), given: AtomicU32::new(0) }
    }

    /// Settings with a keyspace that nobody has used.
    fn fresh(&self) -> CqlSettings {
        let nodes = nodes();
        let copies = if nodes.len() >= 3 { 3 } else { 1 };
        CqlSettings {
            nodes,
            keyspace_prefix: format!("{}_{}", self.prefix, self.given.fetch_add(1, Relaxed)),
            replication: Replication::Factor(copies),
            ..CqlSettings::default()
        }
    }

    async fn drop_all(&self) {
        let session = SessionBuilder::new().known_nodes(nodes()).build().await.unwrap();
        let rows = session
            .query_unpaged("SELECT keyspace_name FROM system_schema.keyspaces", &[])
            .await
            .unwrap()
            .into_rows_result()
            .unwrap();
        for row in rows.rows::<(String,)>().unwrap() {
            let (name,) = row.unwrap();
            if name.starts_with(&self.prefix) {
                session.query_unpaged(format!("DROP KEYSPACE {name}"), &[]).await.unwrap();
            }
        }
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
