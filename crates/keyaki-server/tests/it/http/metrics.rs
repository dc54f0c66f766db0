//! What those who run it are told.

use std::collections::BTreeMap;

use super::{Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";
const ENGINE: &str = "{backend=\"embedded/default\"}";

/// Every line that says a number, by its name and labels.
fn metrics(server: &Server) -> BTreeMap<String, f64> {
    let reply = server.ask("GET", "/metrics").admin().send();
    assert_eq!(reply.status, 200);
    let lines = reply.text().lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut found = BTreeMap::new();
    for line in lines {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let before = found.insert(name.to_owned(), value.parse().unwrap());
        assert!(before.is_none(), "{name} is told twice");
    }
    found
}

#[test]
fn answers_are_counted_by_route_and_status() {
    let server = Server::start();
    server.with_bucket(open_bucket());
    let item = format!("{BUCKET}/item");
    server.ask("PUT", &item).admin().text("one");
    for _ in 0..3 {
        assert_eq!(server.ask("GET", &item).send().status, 200);
    }
    server.ask("GET", &format!("{BUCKET}/other")).send().demand_problem(404);
    let metrics = metrics(&server);
    let counted = |method: &str, status: u16| {
        let labels = format!("{{method=\"{method}\",route=\"item\",status=\"{status}\"}}");
        metrics.get(&format!("keyaki_requests_total{labels}")).copied()
    };
    assert_eq!([counted("PUT", 201), counted("GET", 200)], [Some(1.0), Some(3.0)]);
    assert_eq!(counted("GET", 404), Some(1.0));
    assert_eq!(metrics["keyaki_request_seconds_count{route=\"item\"}"], 5.0);
    assert_eq!(metrics["keyaki_requests_in_flight"], 1.0, "this very request");
    assert!(metrics["keyaki_connections"] >= 1.0);
    assert_eq!(metrics["keyaki_event_streams"], 0.0);
}

#[test]
fn refusals_are_counted_too() {
    let server = Server::start();
    server.raw("nonsense\r\n\r\n");
    server.raw("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let metrics = metrics(&server);
    for labels in [
        "{method=\"other\",route=\"refused\",status=\"400\"}",
        "{method=\"OPTIONS\",route=\"server\",status=\"204\"}",
    ] {
        assert_eq!(metrics.get(&format!("keyaki_requests_total{labels}")), Some(&1.0), "{labels}");
    }
}

#[test]
fn engines_tell_their_sizes_and_how_commits_were_grouped() {
    const WRITES: usize = 40;
    let server = Server::start();
    server.with_bucket(open_bucket());
    let engine = |name: &str| format!("keyaki_engine_{name}{ENGINE}");
    let groups = engine("commit_group_commits_count");
    let commits = engine("commit_group_commits_sum");
    let before = metrics(&server);
    for number in 0..WRITES {
        let put = server.ask("PUT", &format!("{BUCKET}/{number}")).admin().text(&"x".repeat(4096));
        assert_eq!(put.status, 201);
    }
    let after = metrics(&server);
    // One after the other, so each is a group of its own.
    assert_eq!(after[&commits] - before[&commits], WRITES as f64);
    assert_eq!(after[&groups] - before[&groups], WRITES as f64);
    let alone = "keyaki_engine_commit_group_commits_bucket{backend=\"embedded/default\",le=\"1\"}";
    let all = "keyaki_engine_commit_group_commits_bucket{backend=\"embedded/default\",le=\"+Inf\"}";
    assert_eq!((after[alone], after[all]), (after[&groups], after[&groups]));
    let grown = |name: &str| after[&engine(name)] - before[&engine(name)];
    // Head, revision, content, listing entry and change record of each.
    assert!(grown("cells") >= 5.0 * WRITES as f64, "{}", grown("cells"));
    assert!(grown("disk_bytes") >= 4096.0 * WRITES as f64, "{}", grown("disk_bytes"));
    // Memory is taken in large pieces.
    assert!(after[&engine("write_memory_bytes")] >= 4096.0 * WRITES as f64);
    for name in ["commits_undecided", "commits_waiting", "writes_stopped", "failed"] {
        assert_eq!(after[&engine(name)], 0.0, "{name}");
    }
    for name in ["cache_bytes", "compaction_pending_bytes", "compactions"] {
        assert!(after.contains_key(&engine(name)), "{name}");
    }
}

#[test]
fn they_are_not_for_everybody() {
    let server = Server::start();
    server.ask("GET", "/metrics").send().demand_problem(401);
    let token = server.token("ada", &["editor"], &[]);
    server.ask("GET", "/metrics").bearer(&token).send().demand_problem(403);
}
