//! Starting, stopping, and being killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;

use super::{ADMIN, Server, open_bucket, program};

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
fn a_token_that_was_chosen_takes_the_place_of_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let start = |token: &str| {
        let mut child = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("store"))
            .env("KEYAKI_ADMIN_TOKEN", token)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().map(|first| first.unwrap());
        let address = first.as_deref().and_then(|first| first.strip_prefix("Keyaki listens on "));
        let address = address.unwrap_or_default().to_owned();
        Server::of(child, address, None)
    };
    let admits = |server: &Server, token: &str| {
        server.ask("GET", "/v1/_tokens").bearer(token).send().status == 200
    };
    let (first, second) = ("the-first-admin-token", "the-second-admin-token");
    let server = start(first);
    let form = json!({"user": "ada", "roles": ["admin"]});
    let made = server.ask("POST", "/v1/_tokens").bearer(first).json(&form).value();
    let other = made["token"].as_str().unwrap();
    assert_eq!(server.stop(), Some(0));
    let server = start(second);
    assert!(admits(&server, second) && !admits(&server, first) && admits(&server, other));
    assert_eq!(server.stop(), Some(0));
    let server = start(second);
    let listed = server.ask("GET", "/v1/_tokens").bearer(second).send().value();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "it is the same as before");
    assert_eq!(server.stop(), Some(0));
    assert_ne!(start(other).stop(), Some(0), "somebody else has that token");
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

/// What a key is to say: of several chunks, and different from all others.
fn long_text(key: &str) -> String {
    format!("{key}.").repeat(1_000_000 / (key.len() + 1))
}

#[test]
fn writes_that_a_kill_cuts_short_are_whole_or_absent() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let server = &server;
            scope.spawn(move || {
                let mut done = Vec::new();
                loop {
                    let key = format!("{writer}-{}", done.len());
                    let asked = server.ask("PUT", &format!("{BUCKET}/{key}")).admin();
                    let asked = super::Asked { body: long_text(&key).into_bytes(), ..asked };
                    match asked.try_send() {
                        Ok(reply) => assert_eq!(reply.status, 201),
                        Err(_) => return done,
                    }
                    done.push(key);
                }
            })
        };
        let writers: Vec<_> = (0..4).map(write).collect();
        std::thread::sleep(std::time::Duration::from_millis(700));
        server.kill();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(!acknowledged.is_empty());
    let server = Server::on(&store, &[]);
    let listed = server.ask("GET", &format!("{BUCKET}/?limit=1000")).send().value();
    let items = listed["items"].as_array().unwrap();
    let keys: Vec<&str> = items.iter().map(|item| item["key"].as_str().unwrap()).collect();
    for key in &acknowledged {
        assert!(keys.contains(&&key[..]), "{key} was acknowledged");
    }
    assert!(keys.len() <= acknowledged.len() + 4, "each writer had one under way");
    for key in &keys {
        let said = server.ask("GET", &format!("{BUCKET}/{key}")).send();
        assert!(said.status == 200 && said.text() == long_text(key), "{key} is not whole");
    }
    let used = server.ask("GET", BUCKET).admin().send().value()["use"].clone();
    let bytes: usize = keys.iter().map(|key| long_text(key).len()).sum();
    assert_eq!(used, json!({"items": keys.len(), "bytes": bytes}));
}

#[test]
fn a_stop_waits_for_what_is_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    let mut slow = server.connect();
    let head =
        format!("PUT {BUCKET}/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n");
    let head = format!("{head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    slow.write_all(head.as_bytes()).unwrap();
    let mut told = [0; 25];
    slow.read_exact(&mut told).unwrap();
    slow.write_all(b"he").unwrap();
    let answer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(700));
        slow.write_all(b"llo").unwrap();
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(server.stop(), Some(0));
    let answer = answer.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let server = Server::on(&store, &[]);
    assert_eq!(server.ask("GET", &format!("{BUCKET}/slow")).send().text(), "hello");
}

#[test]
fn a_server_that_can_write_no_more_is_not_ready() {
    let dir = tempfile::tempdir().unwrap();
    // Files that would grow too large are to fail, and not to kill.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_keyaki")])
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path().join("store"))
        .env("KEYAKI_ADMIN_TOKEN", ADMIN)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let address = address.strip_prefix("Keyaki listens on ").unwrap().to_owned();
    let server = Server::of(child, address, None);
    server.with_bucket(open_bucket());
    let item = format!("{BUCKET}/item");
    assert_eq!(server.ask("PUT", &item).admin().text("one").status, 201);
    assert_eq!(server.ask("GET", "/readyz").send().value(), json!({"status": "ready"}));
    let limited = Command::new("prlimit").args(["--pid", &pid, "--fsize=1"]).status().unwrap();
    assert!(limited.success());
    server.ask("PUT", &item).admin().text("two").demand_problem(503);
    let ready = server.ask("GET", "/readyz").send();
    ready.demand_problem(503);
    assert_eq!(ready.header("retry-after"), Some("5"));
    assert_eq!(server.ask("GET", "/healthz").send().status, 200, "it is alive all the same");
    assert_eq!(server.ask("GET", &item).send().text(), "one", "and can be read");
}

#[test]
fn data_that_the_configuration_leaves_no_room_for_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    let backend = format!("[backend.embedded.main]\ndata = {:?}\n", dir.path().join("main"));
    for (text, told) in [(&backend[..], true), ("", false)] {
        std::fs::write(&config, text).unwrap();
        let mut child = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("other"))
            .arg("--config")
            .arg(&config)
            .env("KEYAKI_ADMIN_TOKEN", ADMIN)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("Keyaki listens on "));
        assert_eq!(dir.path().join("other").exists(), !told);
        child.kill().unwrap();
        let log = child.wait_with_output().unwrap().stderr;
        let log = String::from_utf8(log).unwrap();
        assert_eq!(log.contains("the configuration names backends"), told, "{log}");
    }
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
    let said = || -> Vec<String> {
        let listed = server.ask("GET", &format!("{BUCKET}/?limit=1000")).send().value();
        let paths = listed["items"].as_array().unwrap().iter();
        let paths = paths.map(|item| format!("{BUCKET}/{}", item["key"].as_str().unwrap()));
        let read = paths.map(|path| server.ask("GET", &path).send());
        read.filter(|read| read.status == 200).map(|read| read.text().to_owned()).collect()
    };
    // Whoever reads a key that was leaving sees it off.
    said();
    let mut said = said();
    said.sort();
    assert_eq!(said, ["0", "1", "2", "3"], "each is at one key, and at one only");
}

/// Spaces of a store that nobody has open, dropped ones left out.
fn spaces(store: &std::path::Path) -> Vec<serde_json::Value> {
    let ran = crate::keyaki(&["stat".as_ref(), store.as_os_str(), "--json".as_ref()]);
    let report = ran.expect(0, &[]).json();
    let spaces = report["spaces"].as_array().unwrap().iter();
    spaces.filter(|space| space["dropped"] == false).cloned().collect()
}

#[test]
fn a_bucket_whose_making_is_killed_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    assert_eq!(server.stop(), Some(0));
    for round in 0..8 {
        let server = Server::on(&store, &[]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    let path = format!("/v1/d.example/b{round}-{number}");
                    let made = server.ask("PUT", &path).admin().with_json(&open_bucket());
                    if made.try_send().is_err() {
                        break;
                    }
                }
            });
            std::thread::sleep(std::time::Duration::from_millis(60 + 7 * round));
            server.kill();
        });
    }
    let server = Server::on(&store, &[]);
    let domain = server.ask("GET", "/v1/d.example").admin().send().value();
    let listed = domain["buckets"].as_array().unwrap().len();
    for bucket in domain["buckets"].as_array().unwrap() {
        let path = format!("/v1/d.example/{}/item", bucket["name"].as_str().unwrap());
        assert_eq!(server.ask("PUT", &path).admin().text("x").status, 201, "it is whole");
    }
    assert_eq!(server.stop(), Some(0));
    let mut buckets: Vec<u64> =
        spaces(&store).iter().map(|space| space["bucket"].as_u64().unwrap()).collect();
    buckets.sort_unstable();
    buckets.dedup();
    assert_eq!(buckets.len(), listed + 1, "those that are listed, and the catalog's own");
}

#[test]
fn buckets_that_nobody_uses_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    let mut settings = open_bucket();
    settings["options"] = json!({"retention": {"type": "ttl", "ttl": "1s"}});
    server.with_bucket(settings);
    for number in 0..20 {
        let put = server.ask("PUT", &format!("{BUCKET}/item{number}")).admin().text("x");
        assert_eq!(put.status, 201);
    }
    assert_eq!(server.stop(), Some(0));
    let cells = || {
        let all = spaces(&store);
        let of = |label: &str| {
            let some = all.iter().filter(|space| space["label"] == label);
            some.map(|space| space["cells"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        (of("primary"), of("views"))
    };
    let before = cells();
    assert!(before.0.contains(&60), "{before:?}");
    let begun = std::time::Instant::now();
    loop {
        let server = Server::on(&store, &[]);
        std::thread::sleep(std::time::Duration::from_secs(9));
        assert_eq!(server.stop(), Some(0));
        let (primary, views) = cells();
        // The catalog's own bucket has cells, and no views.
        if primary.iter().filter(|cells| **cells > 0).count() == 1 {
            assert!(views.iter().all(|cells| *cells == 0), "{views:?}");
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{primary:?}");
    }
}
