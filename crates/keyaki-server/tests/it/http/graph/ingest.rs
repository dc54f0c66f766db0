//! Elements in every form, broken off and sent again.

use std::fmt::Write as _;
use std::io::{Read, Write};

use serde_json::{Value, json};

use super::super::{ADMIN, Reply, Server};
use super::{all, edge, with_graph};

const ELEMENTS: &str = "/v1/d.example/g/elements";
/// More than two chunks.
const MANY: usize = 120_000;

cases! {
    every_form_means_the_same,
    what_is_wrong_is_told_with_its_place,
    a_body_that_breaks_off_and_comes_again_counts_once,
}

fn send(server: &Server, path: &str, kind: &str, body: &str) -> Reply {
    server.ask("POST", path).admin().with("Content-Type", kind).body(body.as_bytes())
}

fn every_form_means_the_same(server: &Server) {
    with_graph(server);
    let edges = [edge("a", "b", 1), edge("a", "b", 2), edge("b", "c", 4)];
    let lines = edges.iter().fold(String::new(), |text, edge| text + &edge.to_string() + "\n");
    let sent = send(server, ELEMENTS, "application/json", &json!(edges).to_string());
    let told = json!({"accepted": 3, "aggregated": 1, "rejected": 0, "reasons": [], "chunks": 1, "replayed": 0});
    assert_eq!((sent.status, sent.value()), (200, told.clone()), "{sent:?}");
    let once = all(server);
    assert_eq!(once.as_array().map(Vec::len), Some(2));
    let delete = json!({"class": "DeleteElements", "input": edges});
    let execute = "/v1/d.example/g/graph/operations/execute";
    let csv = "group,source,destination,directed,count\nknows,a,b,true,1\nknows,a,b,true,2\nknows,b,c,true,4\n";
    let mapped = format!("{ELEMENTS}?group=knows&map=from:source,to:destination,n:count");
    for (path, kind, body) in [
        (ELEMENTS, "application/x-ndjson", lines.as_str()),
        (ELEMENTS, "text/csv; charset=utf-8", csv),
        (&mapped, "text/csv", "from,to,n\na,b,1\na,b,2\nb,c,4"),
    ] {
        assert_eq!(server.ask("POST", execute).admin().json(&delete).status, 200);
        assert_eq!(all(server), json!([]));
        let sent = send(server, path, kind, body);
        assert_eq!((sent.status, sent.value()), (200, told.clone()), "{kind}: {sent:?}");
        assert_eq!(all(server), once, "{kind}");
    }
    let changes = server.ask("GET", "/v1/d.example/g/_changes").settled().send().value();
    assert_eq!(changes["items"][0]["after"], json!({"elements": 3}));
    assert_eq!(changes["items"].as_array().map(Vec::len), Some(7));
}

fn what_is_wrong_is_told_with_its_place(server: &Server) {
    with_graph(server);
    let good = edge("a", "b", 1).to_string();
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let wrong = r#"{"group":"knows","source":"a","destination":"b","directed":true,"properties":{"count":"x"}}"#;
    for (kind, body, status) in [
        ("application/json", "{}".to_owned(), 422),
        ("application/json", String::new(), 400),
        ("application/json", format!("[{good}"), 400),
        ("application/json", format!("[{good},]"), 422),
        ("application/json", format!("[{good},{deep}]"), 422),
        ("application/x-ndjson", format!("{good}\n{{\n"), 422),
        ("application/x-ndjson", format!("{good}\n{wrong}\n"), 422),
        ("application/x-ndjson", format!("{good}\n{{\"group\":\"nope\",\"vertex\":\"a\"}}"), 422),
        ("text/csv", "nothing\n".to_owned(), 422),
        ("text/csv", "group,vertex,count\nperson,a,many\n".to_owned(), 422),
        ("text/plain", good.clone(), 415),
    ] {
        let refused = send(server, ELEMENTS, kind, &body);
        assert_eq!(refused.status, status, "{kind} {body}: {}", refused.text());
        refused.demand_problem(status);
    }
    let refused = send(server, ELEMENTS, "application/x-ndjson", &format!("{good}\n\n{wrong}\n"));
    assert_eq!(refused.value()["index"], "1", "empty lines are nothing: {refused:?}");
    for query in ["skipInvalidElements=1", "map=a", "group=knows", "nope=1"] {
        let path = format!("{ELEMENTS}?{query}");
        send(server, &path, "application/json", "[]").demand_problem(400);
    }
    assert_eq!(all(server), json!([]), "a chunk is written whole or not at all");
    let path = format!("{ELEMENTS}?skipInvalidElements=true");
    let skipped =
        send(server, &path, "application/x-ndjson", &format!("{good}\n{wrong}\nx\n{good}"));
    assert_eq!(skipped.status, 200, "{skipped:?}");
    let told = skipped.value();
    assert_eq!((&told["accepted"], &told["rejected"]), (&json!(2), &json!(2)), "{told}");
    assert_eq!(
        (&told["reasons"][0]["index"], &told["reasons"][1]["index"]),
        (&json!(1), &json!(2))
    );
    let reader = server.token("rita", &["reader"], &[]);
    server.ask("POST", ELEMENTS).bearer(&reader).json(&json!([])).demand_problem(403);
    server.ask("POST", ELEMENTS).json(&json!([])).demand_problem(401);
}

fn a_body_that_breaks_off_and_comes_again_counts_once(server: &Server) {
    with_graph(server);
    let mut lines = String::new();
    for i in 0..MANY {
        writeln!(lines, "{}", edge(&format!("a{}", i % 100), &format!("b{}", i % 7), 1)).unwrap();
    }
    // So much that chunks are written before it breaks off.
    let mut stream = server.connect();
    let head = format!(
        "POST {ELEMENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nIdempotency-Key: file\r\n\
         Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n\r\n",
        lines.len()
    );
    stream.write_all(server.own(&head).as_bytes()).unwrap();
    stream.write_all(&lines.as_bytes()[..lines.len() * 3 / 4]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    drop(stream);
    let sum = |server: &Server| -> i64 {
        let all = all(server);
        let counts = all.as_array().unwrap().iter();
        counts.map(|edge| edge["properties"]["count"]["java.lang.Long"].as_i64().unwrap()).sum()
    };
    let broken = sum(server);
    assert!(broken > 0 && broken < MANY as i64, "{broken}");
    let again = |key: &str| -> Value {
        let asked = server.ask("POST", ELEMENTS).admin().with("Idempotency-Key", key);
        let sent = asked.with("Content-Type", "application/x-ndjson").body(lines.as_bytes());
        assert_eq!(sent.status, 200, "{sent:?}");
        sent.value()
    };
    let told = again("file");
    assert_eq!((&told["accepted"], &told["chunks"]), (&json!(MANY), &json!(3)), "{told}");
    assert!(told["replayed"].as_u64().unwrap() >= 1, "{told}");
    assert_eq!(sum(server), MANY as i64);
    assert_eq!(again("file")["replayed"], 3);
    assert_eq!(sum(server), MANY as i64);
    again("another");
    assert_eq!(sum(server), 2 * MANY as i64);
}
