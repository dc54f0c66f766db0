//! A cluster that lets nobody in without TLS and a password.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use keyaki::Kind;
use keyaki::cell::SystemWallClock;
use keyaki::engine::Rules;
use keyaki::settings::{CqlSettings, Replication};
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::proxy::free_port;
use super::{open, patiently, shared, store_on};

const HOST: &str = "127.0.0.1";
/// How far below the CQL port the port between nodes is, unless told otherwise.
const STORAGE_PORT_BELOW: u16 = 2042;

/// One node of its own, until dropped.
struct Guarded {
    port: u16,
    run: tempfile::TempDir,
}

impl Guarded {
    fn start() -> Self {
        let address = [format!("{HOST}:0")];
        let is_free = |port: &u16| std::net::TcpListener::bind((HOST, *port)).is_ok();
        let port = std::iter::repeat_with(|| free_port(&address))
            .find(|port| is_free(&(port - STORAGE_PORT_BELOW)))
            .unwrap();
        let guarded = Self { port, run: tempfile::tempdir().unwrap() };
        guarded.script("start");
        guarded
    }

    fn script(&self, command: &str) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cassandra");
        let done = Command::new(script)
            .arg(command)
            .env("KEYAKI_CASSANDRA_PORT", self.port.to_string())
            .env("KEYAKI_CASSANDRA_RUN", self.run.path())
            .envs([("KEYAKI_CASSANDRA_AUTH", "1"), ("KEYAKI_CASSANDRA_TLS", "1")])
            .output()
            .unwrap();
        assert!(done.status.success() || std::thread::panicking(), "{command}: {done:?}");
    }

    fn authority(&self) -> PathBuf {
        self.run.path().join(self.port.to_string()).join("ca.pem")
    }

    /// As somebody with the right to come in would set it.
    fn settings(&self) -> CqlSettings {
        CqlSettings {
            nodes: vec![format!("{HOST}:{}", self.port)],
            replication: Replication::Factor(1),
            user: Some("cassandra".to_owned()),
            password: Some("cassandra".to_owned()),
            tls_ca: Some(self.authority()),
            ..CqlSettings::default()
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.script("stop");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_guarded_cluster_lets_in_who_can_log_in() {
    let _cluster = shared().await;
    let guarded = Guarded::start();
    let right = guarded.settings();
    let engine = open(right.clone(), Rules::default(), Arc::new(SystemWallClock));
    patiently(|| engine.connect()).await;
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    assert!(matches!(ledger.step("item").await.unwrap(), Committed::Done(_)));
    assert_eq!(ledger.survey("item").await, 1);

    for (what, wrong) in [
        ("a wrong password", CqlSettings { password: Some("guess".to_owned()), ..right.clone() }),
        ("no password", CqlSettings { user: None, password: None, ..right.clone() }),
        ("no TLS", CqlSettings { tls_ca: None, ..right.clone() }),
    ] {
        let engine = open(wrong, Rules::default(), Arc::new(SystemWallClock));
        let error = engine.connect().await.expect_err(what);
        assert_eq!(error.kind(), Kind::Unavailable, "{what}: {error:?}");
        assert!(!format!("{error:?}").contains("guess"), "{error:?}");
    }
    let unreadable = CqlSettings { tls_ca: Some(guarded.run.path().join("none.pem")), ..right };
    let engine = open(unreadable, Rules::default(), Arc::new(SystemWallClock));
    assert_eq!(engine.connect().await.unwrap_err().kind(), Kind::Invalid);
}
