//! Items of buckets of revisions.

use std::time::Duration;

use serde_json::json;

use super::{Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";
const ITEM: &str = "/v1/d.example/b/item";

cases! {
    of_many_renames_one_takes,
    a_rename_and_a_conditional_write_do_not_both_take,
    content_comes_back_byte_for_byte_with_its_headers,
    content_may_be_large_on_every_engine,
    history_is_read_by_tid_and_by_time,
    a_rename_shows_in_both_histories,
    retention_holds_at_once,
    unchanged_content_makes_no_revision,
    listings_go_by_prefix_range_and_page,
    a_repeat_changes_nothing_and_gets_the_first_answer,
    repeats_are_answered_before_anything_else_is_asked,
    a_rename_whose_source_was_changed_takes_nothing_away,
    everything_comes_as_lines_compressed_on_request,
    retention_goes_by_time_too,
}

fn content_comes_back_byte_for_byte_with_its_headers(server: &Server) {
    server.with_bucket(open_bucket());
    let bytes: Vec<u8> = (0..=255).cycle().take(700_000).collect();
    let stored = server
        .ask("PUT", ITEM)
        .admin()
        .with("Content-Type", "image/x-odd; a=\"b\"")
        .with("Content-Language", "de, en")
        .with("Content-Disposition", "attachment; filename=\"x\"")
        .with("Keyaki-Store-X-Colour", "green")
        .body(&bytes);
    assert_eq!(stored.status, 201, "{stored:?}");
    assert_eq!(stored.header("location"), Some(&server.own(ITEM)[..]));
    let read = server.ask("GET", ITEM).send();
    assert_eq!(read.bytes, bytes);
    for (name, value) in [
        ("content-type", "image/x-odd; a=\"b\""),
        ("content-language", "de, en"),
        ("content-disposition", "attachment; filename=\"x\""),
        ("x-colour", "green"),
    ] {
        assert_eq!(read.header(name), Some(value), "{name}");
    }
    for name in [
        "Set-Cookie",
        "Transfer-Encoding",
        "Content-Length",
        "Access-Control-Allow-Origin",
        "ETag",
        "Authentication-Info",
        "Integrity-Policy",
        "Integrity-Policy-Report-Only",
        "Expect-CT",
        "Accept-Signature",
        "Accept-Encoding",
    ] {
        let smuggled =
            server.ask("PUT", ITEM).admin().with(&format!("Keyaki-Store-{name}"), "x").text("y");
        smuggled.demand_problem(400);
    }
}

fn content_may_be_large_on_every_engine(server: &Server) {
    server.with_bucket(open_bucket());
    let most: Vec<u8> = (0..251).cycle().take(32 << 20).collect();
    let put = |bytes: &[u8]| {
        server.ask("PUT", ITEM).admin().with("Content-Type", "image/x-odd").body(bytes)
    };
    assert_eq!(put(&most).status, 201);
    assert!(server.ask("GET", ITEM).send().bytes == most, "not what was written");
    put(&[&most[..], b"x"].concat()).demand_problem(413);
}

fn history_is_read_by_tid_and_by_time(server: &Server) {
    server.with_bucket(open_bucket());
    let one = server.ask("PUT", ITEM).admin().text("one").value();
    std::thread::sleep(Duration::from_millis(5));
    let two = server.ask("PUT", ITEM).admin().text("two").value();
    server.ask("DELETE", ITEM).admin().send();
    let at = |which: &str| server.ask("GET", &format!("{ITEM}/{which}")).send();
    assert_eq!(at(one["tid"].as_str().unwrap()).text(), "one");
    assert_eq!(at(two["tid"].as_str().unwrap()).text(), "two");
    assert_eq!(at(one["time"].as_str().unwrap()).text(), "one");
    at("2001-01-01T00:00:00Z").demand_problem(404);
    at("2999-01-01T00:00:00Z").demand_problem(404);
    at("yesterday").demand_problem(400);

    let all = server.ask("GET", &format!("{ITEM}/")).send().value();
    let deleted: Vec<_> =
        all["items"].as_array().unwrap().iter().map(|r| r["deleted"].clone()).collect();
    assert_eq!(deleted, [true, false, false], "newest first");
    let page = server.ask("GET", &format!("{ITEM}/?limit=2")).send();
    let next = page.value()["next"].as_str().unwrap().to_owned();
    assert!(page.header("link").unwrap().contains("rel=\"next\""));
    let rest = server.ask("GET", &format!("{ITEM}/?limit=2&cursor={next}")).send().value();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert_eq!(rest["items"][0]["tid"], one["tid"]);
    let elsewhere = server.ask("GET", &format!("{BUCKET}/?cursor={next}")).send();
    elsewhere.demand_problem(400);
}

fn a_rename_shows_in_both_histories(server: &Server) {
    server.with_bucket(open_bucket());
    let rename = |form| server.ask("POST", &format!("{BUCKET}/_rename")).admin().json(&form);
    rename(json!({"from": "old", "to": "new"})).demand_problem(404);
    server
        .ask("PUT", &format!("{BUCKET}/old"))
        .admin()
        .with("Content-Type", "text/x-y")
        .body(b"content");
    server.ask("PUT", &format!("{BUCKET}/taken")).admin().text("taken");
    let refused = server
        .ask("POST", &format!("{BUCKET}/_rename"))
        .admin()
        .with("If-None-Match", "*")
        .json(&json!({"from": "old", "to": "taken"}));
    refused.demand_problem(412);
    let renamed = rename(json!({"from": "old", "to": "new"}));
    assert_eq!(renamed.status, 201);
    let there = server.own(&format!("{BUCKET}/new"));
    assert_eq!(renamed.header("location"), Some(&there[..]));
    let moved = server.ask("GET", &format!("{BUCKET}/new")).send();
    assert_eq!((moved.text(), moved.header("content-type")), ("content", Some("text/x-y")));
    server.ask("GET", &format!("{BUCKET}/old")).send().demand_problem(404);
    let history = |key: &str| server.ask("GET", &format!("{BUCKET}/{key}/")).send().value();
    assert_eq!(history("new")["items"][0]["renamedFrom"], "old");
    assert_eq!(history("old")["items"][0]["renamedTo"], "new");
    rename(json!({"from": "new", "to": "new"})).demand_problem(409);
    for nowhere in ["", ".", "..", "_x", "a\u{0}b", &"k".repeat(1025)] {
        rename(json!({"from": "new", "to": nowhere})).demand_problem(400);
    }
}

fn retention_holds_at_once(server: &Server) {
    let mut settings = open_bucket();
    settings["options"] = json!({"retention": {"type": "latest", "count": 2}});
    server.with_bucket(settings);
    let tids: Vec<String> = ["one", "two", "three"]
        .iter()
        .map(|text| {
            let stored = server.ask("PUT", ITEM).admin().text(text).value();
            stored["tid"].as_str().unwrap().to_owned()
        })
        .collect();
    server.ask("GET", &format!("{ITEM}/{}", tids[0])).send().demand_problem(404);
    assert_eq!(server.ask("GET", &format!("{ITEM}/{}", tids[1])).send().text(), "two");
    let history = server.ask("GET", &format!("{ITEM}/")).send().value();
    assert_eq!(history["items"].as_array().unwrap().len(), 2);
}

fn retention_goes_by_time_too(server: &Server) {
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    for (name, retention) in [
        ("graced", json!({"type": "latest", "count": 2, "grace": "2s"})),
        ("aged", json!({"type": "ttl", "ttl": "2s"})),
        ("each", json!({"type": "interval", "count": 1, "interval": "1s"})),
        ("once", json!({"type": "interval", "count": 1, "interval": "1000d"})),
    ] {
        let mut settings = open_bucket();
        settings["options"] = json!({"retention": retention});
        let made = server.ask("PUT", &format!("/v1/d.example/{name}")).admin().json(&settings);
        assert_eq!(made.status, 201, "{made:?}");
    }
    let put = |bucket: &str, text: &str| {
        let stored = server.ask("PUT", &format!("/v1/d.example/{bucket}/item")).admin().text(text);
        format!("/v1/d.example/{bucket}/item/{}", stored.value()["tid"].as_str().unwrap())
    };
    let says = |path: &str| server.ask("GET", path).send().text().to_owned();
    let gone = |path: &str| server.ask("GET", path).send().demand_problem(404);
    let graced = [put("graced", "one"), put("graced", "two")];
    let (each, once) = (put("each", "one"), put("once", "one"));
    put("once", "two");
    gone(&once);
    let aged = put("aged", "one");
    assert_eq!(says(&aged), "one");
    std::thread::sleep(Duration::from_millis(2_100));
    for path in [&aged[..], "/v1/d.example/aged/item", "/v1/d.example/aged/item/"] {
        gone(path);
    }
    let listed = server.ask("GET", "/v1/d.example/aged/").settled().send().value();
    assert_eq!(listed["items"], json!([]));
    put("each", "two");
    assert_eq!(says(&each), "one", "another interval has its own");
    put("graced", "three");
    assert_eq!(says(&graced[0]), "one", "it is one of two no more since just now");
    let begun = std::time::Instant::now();
    while server.ask("GET", &graced[0]).send().status != 404 {
        assert!(begun.elapsed() < Duration::from_secs(20), "its grace does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(says(&graced[1]), "two");
}

fn unchanged_content_makes_no_revision(server: &Server) {
    server.with_bucket(open_bucket());
    let put = |text: &str| {
        server.ask("PUT", ITEM).admin().with("Keyaki-Only-If-Changed", "true").text(text)
    };
    let first = put("same");
    assert_eq!((first.status, first.header("keyaki-unchanged")), (201, None));
    let second = put("same");
    assert_eq!((second.status, second.header("keyaki-unchanged")), (200, Some("true")));
    assert_eq!(first.etag(), second.etag());
    assert_ne!(put("other").etag(), first.etag());
}

fn listings_go_by_prefix_range_and_page(server: &Server) {
    server.with_bucket(open_bucket());
    for key in ["a", "b%2F1", "b%2F2", "b%2F3", "c", "%C3%A4"] {
        assert_eq!(server.ask("PUT", &format!("{BUCKET}/{key}")).admin().text(key).status, 201);
    }
    let keys = |query: &str| -> Vec<String> {
        let page = server.ask("GET", &format!("{BUCKET}/{query}")).settled().send().value();
        let keys =
            page["items"].as_array().unwrap().iter().map(|i| i["key"].as_str().unwrap().to_owned());
        keys.collect()
    };
    assert_eq!(keys(""), ["a", "b/1", "b/2", "b/3", "c", "ä"]);
    assert_eq!(keys("?prefix=b%2F"), ["b/1", "b/2", "b/3"]);
    assert_eq!(keys("?from=b%2F2&to=c"), ["b/2", "b/3"]);
    let mut seen = Vec::new();
    let mut path = format!("{BUCKET}/?limit=4");
    loop {
        let page = server.ask("GET", &path).settled().send().value();
        seen.extend(page["items"].as_array().unwrap().iter().map(|i| i["key"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("{BUCKET}/?limit=4&cursor={next}");
    }
    assert_eq!(seen.len(), 6);
    let all = server.ask("GET", &format!("{BUCKET}/")).with("Accept", "application/x-ndjson");
    assert_eq!(all.settled().send().text().lines().count(), 6);
    let first = server.ask("GET", &format!("{BUCKET}/?limit=4")).send().value();
    let lines = |query: &str, accept: &str| {
        server.ask("GET", &format!("{BUCKET}/{query}")).with("Accept", accept).send()
    };
    let rest = format!("?cursor={}", first["next"].as_str().unwrap());
    assert_eq!(lines(&rest, "application/x-ndjson").text().lines().count(), 2);
    lines("?cursor=x", "application/x-ndjson").demand_problem(400);
    lines("?limit=4", "application/x-ndjson").demand_problem(400);
    let rather = lines("", "application/x-ndjson;q=0.1, application/json");
    assert_eq!(rather.header("content-type"), Some("application/json"));
    server.ask("DELETE", &format!("{BUCKET}/c")).admin().send();
    assert_eq!(keys("?from=c"), ["ä"], "what is deleted is not listed");
    server.ask("GET", &format!("{BUCKET}/?limit=0")).send().demand_problem(400);
    server.ask("GET", &format!("{BUCKET}/?lmit=5")).send().demand_problem(400);
    server.ask("GET", &format!("{BUCKET}/")).with("Accept", "text/html").send().demand_problem(406);
}

fn a_repeat_changes_nothing_and_gets_the_first_answer(server: &Server) {
    server.with_bucket(open_bucket());
    let put = || {
        let asked = server.ask("PUT", ITEM).admin().with("Idempotency-Key", "op-1");
        asked.with("If-None-Match", "*").text("one")
    };
    let first = put();
    assert_eq!((first.status, first.header("idempotency-replayed")), (201, None));
    server.ask("PUT", ITEM).admin().text("two");
    let repeat = put();
    assert_eq!((repeat.status, repeat.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(repeat.value(), first.value());
    assert_eq!(server.ask("GET", ITEM).send().text(), "two");
    let delete = || server.ask("DELETE", ITEM).admin().with("Idempotency-Key", "op-2").send();
    assert_eq!((delete().status, delete().status), (200, 200));
    let changes = server.ask("GET", &format!("{BUCKET}/_changes")).settled().send().value();
    let actions: Vec<_> =
        changes["items"].as_array().unwrap().iter().map(|c| c["action"].clone()).collect();
    assert_eq!(actions, ["create", "update", "delete"]);
    assert_eq!(changes["items"][0]["operation"]["id"], "op-1");
    let since = changes["items"][1]["id"].as_str().unwrap();
    let rest =
        server.ask("GET", &format!("{BUCKET}/_changes?since={since}")).settled().send().value();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
}

fn repeats_are_answered_before_anything_else_is_asked(server: &Server) {
    let mut settings = open_bucket();
    settings["quota"] = json!({"bytes": 10});
    server.with_bucket(settings);
    let put = |operation: &str, text: &str| {
        let asked = server.ask("PUT", ITEM).admin().with("Idempotency-Key", operation);
        asked.with("Keyaki-Only-If-Changed", "true").text(text)
    };
    assert_eq!(put("one", "12345").status, 201);
    let unchanged = put("two", "12345");
    assert_eq!((unchanged.status, unchanged.header("keyaki-unchanged")), (200, Some("true")));
    assert_eq!(put("three", "67890").status, 200, "now the quota is used up");
    for (operation, text, status) in
        [("one", "12345", 201), ("two", "12345", 200), ("three", "67890", 200)]
    {
        let repeat = put(operation, text);
        assert_eq!(
            (repeat.status, repeat.header("idempotency-replayed")),
            (status, Some("true")),
            "{operation}"
        );
    }
    assert_eq!(server.ask("GET", ITEM).send().text(), "67890");
}

fn a_rename_whose_source_was_changed_takes_nothing_away(server: &Server) {
    let mut settings = open_bucket();
    settings["options"] = json!({"retention": {"type": "latest", "count": 1}});
    server.with_bucket(settings);
    let from = format!("{BUCKET}/from");
    let said = std::thread::scope(|scope| {
        for round in 0..20 {
            let to = json!({"from": "from", "to": format!("to{round}")});
            server.ask("PUT", &from).admin().text("first");
            let renamed = scope.spawn({
                move || server.ask("POST", &format!("{BUCKET}/_rename")).admin().json(&to).status
            });
            let put = server.ask("PUT", &from).admin().text("second").status;
            assert!([200, 201].contains(&put));
            assert!([200, 201].contains(&renamed.join().unwrap()));
        }
        server.ask("GET", &from).send()
    });
    assert!([200, 404].contains(&said.status), "{said:?}");
    let now = "2100-01-01T00:00:00Z";
    let at = server.ask("GET", &format!("{from}/{now}")).send();
    assert_eq!(at.status, said.status, "{at:?}");
    assert!(said.status == 404 || at.bytes == said.bytes);
}

fn of_many_renames_one_takes(server: &Server) {
    server.with_bucket(open_bucket());
    for round in 0..6 {
        let from = format!("from{round}");
        server.ask("PUT", &format!("{BUCKET}/{from}")).admin().text("content");
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let rename = |number: usize| {
                let form = json!({"from": from, "to": format!("{from}-{number}")});
                scope.spawn(move || {
                    server.ask("POST", &format!("{BUCKET}/_rename")).admin().json(&form).status
                })
            };
            let renames: Vec<_> = (0..6).map(rename).collect();
            renames.into_iter().map(|rename| rename.join().unwrap()).collect()
        });
        let took: Vec<usize> = (0..6).filter(|number| statuses[*number] == 201).collect();
        assert_eq!(took.len(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [201, 404].contains(status)), "{statuses:?}");
        for number in 0..6 {
            let to = server.ask("GET", &format!("{BUCKET}/{from}-{number}")).send();
            assert_eq!(to.status, if took[0] == number { 200 } else { 404 });
        }
        server.ask("GET", &format!("{BUCKET}/{from}")).send().demand_problem(404);
    }
    let used = server.ask("GET", BUCKET).admin().send().value()["use"]["items"].clone();
    assert_eq!(used, 6);
}

fn a_rename_and_a_conditional_write_do_not_both_take(server: &Server) {
    server.with_bucket(open_bucket());
    for round in 0..10 {
        let (from, to) = (format!("{BUCKET}/from{round}"), format!("{BUCKET}/to{round}"));
        let tag = server.ask("PUT", &from).admin().text("first").etag().to_owned();
        let form = json!({"from": format!("from{round}"), "to": format!("to{round}")});
        let (renamed, put) = std::thread::scope(|scope| {
            let renamed = scope
                .spawn(|| server.ask("POST", &format!("{BUCKET}/_rename")).admin().json(&form));
            let put = server.ask("PUT", &from).admin().with("If-Match", &tag).text("second");
            (renamed.join().unwrap(), put)
        });
        assert_eq!(renamed.status, 201, "{renamed:?}");
        let expected = match put.status {
            200 => "second",
            412 => "first",
            other => panic!("{other}: {put:?}"),
        };
        assert_eq!(server.ask("GET", &to).send().text(), expected);
        server.ask("GET", &from).send().demand_problem(404);
    }
}

fn everything_comes_as_lines_compressed_on_request(server: &Server) {
    use std::io::Read as _;
    server.with_bucket(open_bucket());
    for number in 0..30 {
        assert!(server.ask("PUT", ITEM).admin().text(&format!("{number}")).status < 300);
    }
    for (path, count) in [("/", 1), ("/item/", 30), ("/_changes", 30)] {
        let ask = |path: &str| {
            let asked = server.ask("GET", &format!("{BUCKET}{path}"));
            asked.settled().with("Accept", "application/x-ndjson")
        };
        let lines = ask(path).send();
        assert_eq!(lines.status, 200, "{lines:?}");
        assert_eq!(lines.text().lines().count(), count, "{path}");
        let paged =
            server.ask("GET", &format!("{BUCKET}{path}?limit=1000")).settled().send().value();
        let read = lines.text().lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(read.collect::<Vec<serde_json::Value>>(), *paged["items"].as_array().unwrap());
        ask(&format!("{path}?limit=5")).send().demand_problem(400);
        let gzip = ask(path).with("Accept-Encoding", "gzip").send();
        assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{path}");
        assert!(gzip.header("vary").unwrap().contains("accept-encoding"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(&gzip.bytes[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, lines.text(), "{path}");
        ask(path).with("Accept-Encoding", "identity;q=0").send().demand_problem(406);
        ask(path).with("If-Match", "\"x\"").send().demand_problem(412);
        let head =
            server.ask("HEAD", &format!("{BUCKET}{path}")).with("Accept", "application/x-ndjson");
        let head = head.send();
        assert_eq!((head.status, head.header("content-type")), (200, Some("application/x-ndjson")));
    }
    let none = server.ask("GET", &format!("{BUCKET}/none/")).with("Accept", "application/x-ndjson");
    none.send().demand_problem(404);
}
