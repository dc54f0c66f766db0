//! What all requests together may hold, and how many there may be.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::{ADMIN, Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";
const ITEM: &str = "/v1/d.example/b/item";

fn start(dir: &std::path::Path, limits: &str) -> Server {
    let config = dir.join("keyaki.toml");
    std::fs::write(&config, format!("[limits]\n{limits}\n")).unwrap();
    let server = Server::on(&dir.join("store"), &["--config", config.to_str().unwrap()]);
    server.with_bucket(open_bucket());
    server
}

#[track_caller]
fn soon(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < Duration::from_secs(40), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn streams_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), "event_streams = 2");
    let request =
        format!("GET {BUCKET}/_changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    let follow = || {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut begin = [0; 15];
        stream.read_exact(&mut begin).unwrap();
        (stream, String::from_utf8_lossy(&begin).into_owned())
    };
    let (one, other) = (follow(), follow());
    assert_eq!((&one.1[..], &other.1[..]), ("HTTP/1.1 200 OK", "HTTP/1.1 200 OK"));
    let feed = format!("{BUCKET}/_changes");
    let refused = server.ask("GET", &feed).with("Accept", "text/event-stream").send();
    refused.demand_problem(503);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(server.ask("GET", &feed).send().status, 200, "pages are no streams");
    drop(one);
    soon("a place is given back", || follow().1 == "HTTP/1.1 200 OK");
}

#[test]
fn bodies_share_their_room() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), "bodies_bytes = 1000000");
    let large = vec![b'x'; 700_000];
    assert_eq!(server.ask("PUT", ITEM).admin().body(&large).status, 201);
    let head = |key: &str| {
        let line = format!("PUT {BUCKET}/{key} HTTP/1.1\r\nHost: x\r\n");
        let line = format!("{line}Authorization: Bearer {ADMIN}\r\nExpect: 100-continue\r\n");
        format!("{line}Content-Length: 700000\r\n\r\n")
    };
    let mut slow = server.connect();
    slow.write_all(head("slow").as_bytes()).unwrap();
    // It is told to go on once it has its room.
    let mut told = [0; 25];
    slow.read_exact(&mut told).unwrap();
    server.ask("PUT", ITEM).admin().body(&large).demand_problem(503);
    let refused = server.ask("GET", ITEM).send();
    refused.demand_problem(503);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(server.ask("HEAD", ITEM).send().status, 200);
    assert_eq!(server.ask("PUT", &format!("{BUCKET}/small")).admin().text("x").status, 201);
    slow.write_all(&large).unwrap();
    let mut begin = [0; 12];
    slow.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 201");
    soon("room is given back", || server.ask("GET", ITEM).send().status == 200);
    let huge = vec![b'x'; 1_100_000];
    server.ask("PUT", ITEM).admin().body(&huge).demand_problem(503);
}

#[test]
fn more_requests_than_allowed_are_told_to_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let limits =
        "requests = 1\n[cors]\norigins = [\"https://app.example\"]\n[metrics]\npublic = true";
    let server = start(dir.path(), limits);
    let mut slow = server.connect();
    let head = format!("PUT {ITEM} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n");
    let head = format!("{head}Expect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    slow.write_all(head.as_bytes()).unwrap();
    // By then it is being answered.
    let mut told = [0; 25];
    slow.read_exact(&mut told).unwrap();
    let ask = |method: &'static str| {
        let asked = server.ask(method, BUCKET).with("Origin", "https://app.example");
        asked.with("X-Request-Id", "mine").send()
    };
    let refused = ask("GET");
    refused.demand_problem(503);
    for (name, value) in [
        ("retry-after", "1"),
        ("x-request-id", "mine"),
        ("x-content-type-options", "nosniff"),
        ("access-control-allow-origin", "https://app.example"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(refused.header(name), Some(value), "{name}");
    }
    let head = ask("HEAD");
    assert_eq!((head.status, head.bytes.len()), (503, 0));
    for watched in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.ask("GET", watched).send().status, 200, "{watched}");
    }
    let metrics = server.ask("GET", "/metrics").send();
    let counted = "keyaki_requests_total{method=\"GET\",route=\"busy\",status=\"503\"} 1";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    slow.write_all(b"x").unwrap();
    let mut begin = [0; 12];
    slow.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 201");
    soon("there is room again", || server.ask("GET", ITEM).send().status == 200);
}
