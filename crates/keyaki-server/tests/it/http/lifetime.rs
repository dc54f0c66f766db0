//! Starting, stopping, and being killed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;

use super::{Server, open_bucket, program};

const BUCKET: &str = "/v1/d.example/b";

#[test]
fn the_first_start_shows_a_token_once() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        let mut child = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("store"))
            .env_remove("KEYAKI_ADMIN_TOKEN")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let address = address.strip_prefix("Keyaki listens on ").unwrap().to_owned();
        (Server::of(child, address, None), lines)
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let failed = program()
        .args(["serve", "--listen", &taken.local_addr().unwrap().to_string(), "--data"])
        .arg(dir.path().join("store"))
        .env_remove("KEYAKI_ADMIN_TOKEN")
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(2), "a start that fails makes no token");
    let (server, mut lines) = start();
    let line = lines.next().unwrap().unwrap();
    let token = line.strip_prefix("Admin token, shown this once: ").unwrap().to_owned();
    assert_eq!(server.ask("GET", "/v1/_tokens").bearer(&token).send().status, 200);
    assert_eq!(server.stop(), Some(0));
    assert!(lines.next().is_none());
    let (server, mut lines) = start();
    assert_eq!(server.ask("GET", "/v1/_tokens").bearer(&token).send().status, 200);
    assert_eq!(server.stop(), Some(0));
    assert!(lines.next().is_none(), "the second start shows none");
}

#[test]
fn tags_and_data_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    let tag = server.ask("PUT", &format!("{BUCKET}/item")).admin().text("one").etag().to_owned();
    assert_eq!(server.ask("GET", "/readyz").send().status, 200);
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(&store, &[]);
    let same = server.ask("GET", &format!("{BUCKET}/item")).with("If-None-Match", &tag).send();
    assert_eq!(same.status, 304);
    let shown = server.ask("GET", BUCKET).admin().send().value();
    assert_eq!(shown["use"], json!({"items": 1, "bytes": 3}));
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    let over = AtomicBool::new(false);
    let acknowledged: Vec<Vec<String>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (server, over) = (&server, &over);
                scope.spawn(move || {
                    let mut done = Vec::new();
                    while !over.load(Relaxed) {
                        let key = format!("{writer}-{}", done.len());
                        let put = server.ask("PUT", &format!("{BUCKET}/{key}")).admin().text(&key);
                        assert_eq!(put.status, 201);
                        done.push(key);
                    }
                    done
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(700));
        over.store(true, Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    server.kill();
    let server = Server::on(&store, &[]);
    let lines =
        server.ask("GET", &format!("{BUCKET}/")).with("Accept", "application/x-ndjson").send();
    let listed: Vec<String> = lines
        .text()
        .lines()
        .map(|line| {
            let item: serde_json::Value = serde_json::from_str(line).unwrap();
            item["key"].as_str().unwrap().to_owned()
        })
        .collect();
    let mut expected: Vec<String> = acknowledged.into_iter().flatten().collect();
    expected.sort();
    assert!(expected.len() > 20, "too little was written: {}", expected.len());
    assert_eq!(listed, expected);
}

#[test]
fn a_deleted_bucket_stays_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    server.ask("PUT", &format!("{BUCKET}/item")).admin().text("one");
    assert_eq!(server.ask("DELETE", BUCKET).admin().send().status, 204);
    server.ask("GET", &format!("{BUCKET}/item")).admin().send().demand_problem(404);
    server.kill();
    let server = Server::on(&store, &[]);
    server.ask("GET", BUCKET).admin().send().demand_problem(404);
    assert_eq!(server.ask("PUT", BUCKET).admin().json(&open_bucket()).status, 201);
    server.ask("GET", &format!("{BUCKET}/item")).send().demand_problem(404);
}

#[test]
fn a_rename_that_is_killed_moves_its_content_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    let rename = format!("{BUCKET}/_rename");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (server, rename) = (&server, &rename);
            let key = move |step: usize| format!("{writer}-{step}");
            server.ask("PUT", &format!("{BUCKET}/{}", key(0))).admin().text(&writer.to_string());
            scope.spawn(move || {
                for step in 0.. {
                    let form = json!({"from": key(step), "to": key(step + 1)});
                    match server.ask("POST", rename).admin().with_json(&form).try_send() {
                        Ok(reply) => assert_eq!(reply.status, 201),
                        Err(_) => break,
                    }
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
        server.kill();
    });
    let server = Server::on(&store, &[]);
    let listed = server.ask("GET", &format!("{BUCKET}/?limit=1000")).send().value();
    let mut said: Vec<String> = Vec::new();
    for item in listed["items"].as_array().unwrap() {
        let path = format!("{BUCKET}/{}", item["key"].as_str().unwrap());
        let read = server.ask("GET", &path).send();
        if read.status == 200 {
            said.push(read.text().to_owned());
        }
    }
    said.sort();
    assert_eq!(said, ["0", "1", "2", "3"], "each is at one key, and at one only");
}
