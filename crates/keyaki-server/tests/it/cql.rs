//! Servers over a cluster, which `KEYAKI_CQL=host:port[,…]` names: every case of the suite, and several servers at once.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use keyaki::engine::cql::CqlEngine;
use keyaki::engine::{Engine, Rules};
use keyaki::settings::{CqlSettings, Replication};
use keyaki::testing::keyspaces::drop_keyspaces;
use serde_json::json;

use super::http::{Server, cases, open_bucket, signatures};

const BUCKET: &str = "/v1/d.example/b";
/// Cases at once, so that one waits while another works.
const AT_ONCE: usize = 4;
const ITEM: &str = "/v1/d.example/b/item";
/// How late a loaded machine's nodes may answer.
const LATE_MS: u32 = 20_000;

/// Keyspaces that go when this does.
struct Cluster {
    nodes: Vec<String>,
    prefix: String,
    dir: tempfile::TempDir,
}

impl Cluster {
    fn new() -> Self {
        let nodes = std::env::var("KEYAKI_CQL").expect("KEYAKI_CQL names the cluster under test");
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().file_name().unwrap().to_str().unwrap();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Self {
            nodes: nodes.split(',').map(str::to_owned).collect(),
            prefix: format!("http_{}", name.to_lowercase()),
            dir,
        }
    }

    fn copies(&self) -> u8 {
        if self.nodes.len() >= 3 { 3 } else { 1 }
    }

    /// Buckets that have spaces, the catalog's own included.
    fn buckets(&self) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let settings = CqlSettings {
                nodes: self.nodes.clone(),
                keyspace_prefix: self.prefix.clone(),
                replication: Replication::Factor(self.copies()),
                ..CqlSettings::default()
            };
            let engine = CqlEngine::new(settings, Rules::default()).unwrap();
            engine.connect().await.unwrap();
            let live = engine.spaces().into_iter().filter(|space| !space.retired);
            let buckets = live.map(|space| space.spec.bucket).collect::<BTreeSet<_>>().len();
            engine.close().await.unwrap();
            buckets
        })
    }

    fn server(&self) -> Server {
        let copies = self.copies();
        let config = self.dir.path().join("keyaki.toml");
        let text = format!(
            "[backend.cql.main]\nnodes = {:?}\nkeyspace_prefix = {:?}\nreplication_factor = {copies}\n\
             request_timeout_ms = {LATE_MS}\n",
            self.nodes, self.prefix
        );
        std::fs::write(&config, text).unwrap();
        Server::on(self.dir.path(), &["--config", config.to_str().unwrap()])
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(drop_keyspaces(&self.nodes, &self.prefix));
    }
}

/// Waits until something is true.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_every_case_of_the_suite() {
    let cluster = Cluster::new();
    let server = cluster.server();
    let waiting = Mutex::new(cases().enumerate());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some((number, (name, case))) = next else { break };
                    let server = server.in_domain(format!("c{number}.example"));
                    if catch_unwind(AssertUnwindSafe(|| case(&server))).is_err() {
                        failed.lock().unwrap().push(name);
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner().unwrap(), [""; 0], "these fail");
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_two_servers_are_one_service() {
    let cluster = Cluster::new();
    let (one, other) = (cluster.server(), cluster.server());
    one.with_bucket(open_bucket());
    let a_while = Duration::from_secs(5);
    within(a_while, "the other server knows the bucket", || {
        other.ask("GET", BUCKET).admin().send().status == 200
    });
    let created = one.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("one");
    assert_eq!(created.status, 201, "{created:?}");
    let first = created.etag().to_owned();
    assert_eq!(other.ask("GET", ITEM).send().text(), "one");
    other.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("x").demand_problem(412);
    assert_eq!(other.ask("PUT", ITEM).admin().with("If-Match", &first).text("two").status, 200);
    one.ask("PUT", ITEM).admin().with("If-Match", &first).text("x").demand_problem(412);

    let written = one.ask("PUT", "/v1/d.example/b/next").admin().text("next");
    let session = written.header("keyaki-session").unwrap().to_owned();
    let listed = other.ask("GET", "/v1/d.example/b/").with("Keyaki-Session", &session).send();
    assert_eq!(listed.value()["items"].as_array().map(Vec::len), Some(2), "{listed:?}");
    let feed = "/v1/d.example/b/_changes";
    let changes = other.ask("GET", feed).with("Keyaki-Session", &session).send().value();
    let actions: Vec<_> =
        changes["items"].as_array().unwrap().iter().map(|c| &c["action"]).collect();
    assert_eq!(actions, ["create", "update", "create"]);
    assert_eq!((one.stop(), other.stop()), (Some(0), Some(0)));
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_a_revoked_token_is_honoured_by_no_server() {
    let cluster = Cluster::new();
    let (one, other) = (cluster.server(), cluster.server());
    one.with_bucket(json!({"type": "revisions", "acl": {
        "read": [[{"type": "role", "anyOf": ["reader"]}]],
    }}));
    one.ask("PUT", ITEM).admin().text("one");
    let (path, token) = one.issue("rita", &["reader"], &[]);
    let get = |server: &Server| server.ask("GET", ITEM).bearer(&token).send().status;
    assert_eq!(get(&one), 200);
    within(Duration::from_secs(5), "the other server knows the token", || get(&other) == 200);
    assert_eq!(one.ask("DELETE", &path).admin().send().status, 204);
    assert_eq!((get(&other), get(&one)), (401, 401), "once it is acknowledged, nobody honours it");
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_a_signature_opens_a_change_at_one_server() {
    let cluster = Cluster::new();
    signatures::a_signature_is_used_up_at_every_server(&cluster.server(), &cluster.server());
}

/// What all items of the bucket say, in order.
fn contents(server: &Server) -> Vec<String> {
    let listed = server.ask("GET", &format!("{BUCKET}/?limit=1000")).settled().send().value();
    let paths = listed["items"].as_array().unwrap().iter();
    let paths = paths.map(|item| format!("{BUCKET}/{}", item["key"].as_str().unwrap()));
    let read = paths.map(|path| server.ask("GET", &path).send());
    let mut said: Vec<String> =
        read.filter(|read| read.status == 200).map(|read| read.text().to_owned()).collect();
    said.sort();
    said
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_a_rename_happens_once_whichever_server_is_asked() {
    let cluster = Cluster::new();
    let (one, other) = (cluster.server(), cluster.server());
    one.with_bucket(open_bucket());
    let rename = format!("{BUCKET}/_rename");
    within(Duration::from_secs(5), "the other server knows the bucket", || {
        other.ask("GET", BUCKET).admin().send().status == 200
    });
    for round in 0..4 {
        let from = format!("from{round}");
        one.ask("PUT", &format!("{BUCKET}/{from}")).admin().text(&from);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let rename = |number: usize| {
                let server = if number.is_multiple_of(2) { &one } else { &other };
                let form = json!({"from": from, "to": format!("to{round}-{number}")});
                let path = &rename;
                scope.spawn(move || server.ask("POST", path).admin().json(&form).status)
            };
            let renames: Vec<_> = (0..4).map(rename).collect();
            renames.into_iter().map(|rename| rename.join().unwrap()).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [201, 404].contains(status)), "{statuses:?}");
    }
    let expected: Vec<String> = (0..4).map(|round| format!("from{round}")).collect();
    assert_eq!(contents(&other), expected);

    // One server dies at it, and the other sees it through.
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (one, rename) = (&one, &rename);
            scope.spawn(move || {
                for step in 0.. {
                    let key = |step: usize| match step {
                        0 => format!("from{writer}"),
                        step => format!("{writer}-{step}"),
                    };
                    if step == 0 {
                        one.ask("PUT", &format!("{BUCKET}/{}", key(0))).admin().text("moving");
                    }
                    let form = json!({"from": key(step), "to": key(step + 1)});
                    if one.ask("POST", rename).admin().with_json(&form).try_send().is_err() {
                        break;
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(1_500));
        one.kill();
    });
    let expected: Vec<String> =
        expected.into_iter().chain((0..4).map(|_| "moving".to_owned())).collect();
    within(Duration::from_secs(60), "each is at one key, and at one only", || {
        contents(&other) == expected
    });
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(contents(&other), expected);
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_a_bucket_that_another_server_deletes_leaves_nothing() {
    let cluster = Cluster::new();
    let (one, other) = (cluster.server(), cluster.server());
    one.with_bucket(open_bucket());
    for number in 0..4 {
        let path = format!("/v1/d.example/short-{number}");
        assert_eq!(one.ask("PUT", &path).admin().json(&open_bucket()).status, 201);
        within(Duration::from_secs(5), "the other server deletes it", || {
            other.ask("DELETE", &path).admin().send().status == 204
        });
    }
    within(Duration::from_secs(30), "all that is left is the catalog and a bucket", || {
        cluster.buckets() == 2
    });
    assert_eq!(one.ask("PUT", ITEM).admin().text("one").status, 201, "it is the right one");
}
