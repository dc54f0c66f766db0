//! Requests that no client library would send, byte by byte: each is refused with a problem, and changes nothing.

use std::io::{Read, Write};
use std::net::Shutdown;

use serde_json::{Value, json};

use super::{ADMIN, Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";

cases! {
    heads_of_http2_are_bounded_too,
    targets_of_http2_are_ascii_too,
    content_that_would_be_in_vain_is_not_asked_for,
    malformed_heads_are_refused_with_a_problem,
    bodies_with_two_ends_are_refused,
    broken_chunks_store_nothing,
    refusals_wait_their_turn,
    requests_may_come_in_pieces_and_pipelines,
    a_body_that_is_too_large_gets_its_answer,
}

/// The answers in what came back: status, head and body of each.
fn answers(text: &str) -> Vec<(u16, String, String)> {
    let mut answers = Vec::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once("\r\n\r\n") {
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let (body, tail) = tail.split_at(length);
        answers.push((status.unwrap(), head.to_owned(), body.to_owned()));
        rest = tail;
    }
    assert_eq!(rest, "", "{text}");
    answers
}

/// Demands that the answer is one problem of this status, and that the connection is closed behind it.
#[track_caller]
fn refused(server: &Server, request: &str, status: u16) {
    let text = server.raw(request);
    let [(found, head, body)] = &answers(&text)[..] else { panic!("{request:?}: {text}") };
    assert_eq!(*found, status, "{request:?}: {text}");
    assert!(head.contains("content-type: application/problem+json"), "{request:?}: {text}");
    assert!(head.contains("x-content-type-options: nosniff"), "{request:?}: {text}");
    assert!(head.contains("x-request-id: "), "{request:?}: {text}");
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["status"], status, "{request:?}: {text}");
}

#[track_caller]
fn nothing_is_there(server: &Server) {
    let listed = server.ask("GET", &format!("{BUCKET}/")).settled().send().value();
    assert_eq!(listed["items"], json!([]));
}

/// A request that would write, with more header lines and a body.
fn put(more: &str, body: &str) -> String {
    let line = format!("PUT {BUCKET}/item HTTP/1.1\r\nHost: x\r\n");
    format!("{line}Authorization: Bearer {ADMIN}\r\n{more}\r\n{body}")
}

fn malformed_heads_are_refused_with_a_problem(server: &Server) {
    server.with_bucket(open_bucket());
    for request in [
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "GET\r\n\r\n",
        "GET /healthz\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1 \r\nHost: x\r\n\r\n",
        "GET /healthz http/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/11\r\nHost: x\r\n\r\n",
        "G(T /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /heal\tthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /\u{e4} HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: u@x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [zz]\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [::1]x\r\n\r\n",
        "GET /healthz#x HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\u{0}b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
        "GET /healthz HTTP/1.1\nHost: x\n\n",
    ] {
        refused(server, request, 400);
    }
    refused(server, "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505);
    refused(server, "GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", 505);
    refused(server, "REFUSED / HTTP/1.1\r\nHost: x\r\n\r\n", 501);
    let long = "a".repeat(20_000);
    refused(server, &format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    refused(server, &format!("GET /?{long} HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    refused(
        server,
        &format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", long.repeat(5)),
        431,
    );
    refused(
        server,
        &format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(101)),
        431,
    );
    let expecting = put("Content-Length: 1\r\nConnection: close\r\nExpect: a-miracle\r\n", "x");
    refused(server, &expecting, 417);
    nothing_is_there(server);
}

fn bodies_with_two_ends_are_refused(server: &Server) {
    server.with_bucket(open_bucket());
    let hidden = put("Content-Length: 1\r\n", "x");
    let chunked = format!("0\r\n\r\n{hidden}");
    for (more, body) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", &chunked[..]),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", &chunked),
        ("Content-Length: 1\r\nContent-Length: 2\r\n", "xy"),
        ("Content-Length: 1\r\nContent-Length: 1\r\n", "x"),
        ("Content-Length: 1, 1\r\n", "x"),
        ("Content-Length: +1\r\n", "x"),
        ("Content-Length: -1\r\n", "x"),
        ("Content-Length: 0x1\r\n", "x"),
        ("Content-Length: 1 \u{b}\r\n", "x"),
        ("Content-Length:\r\n", "x"),
        ("Content-Length: 99999999999999999999\r\n", "x"),
        ("Content-Length : 1\r\n", "x"),
        ("Transfer-Encoding: identity\r\n", &chunked),
        ("Transfer-Encoding: chunked, identity\r\n", &chunked),
        ("Transfer-Encoding: chunked, chunked\r\n", &chunked),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", &chunked),
        ("Transfer-Encoding: xchunked\r\n", &chunked),
        ("Transfer-Encoding: \"chunked\"\r\n", &chunked),
        ("Transfer-Encoding:\r\n", &chunked),
        ("Transfer-Encoding : chunked\r\n", &chunked),
        ("X: y\r\n Transfer-Encoding: chunked\r\n", &chunked),
    ] {
        refused(server, &put(more, body), 400);
    }
    refused(server, &put("Transfer-Encoding: gzip, chunked\r\n", &chunked), 501);
    let old = put("Transfer-Encoding: chunked\r\n", &chunked).replace("HTTP/1.1", "HTTP/1.0");
    refused(server, &old, 400);
    nothing_is_there(server);
}

fn broken_chunks_store_nothing(server: &Server) {
    server.with_bucket(open_bucket());
    let hidden = put("Content-Length: 1\r\n", "x");
    for body in [
        "5\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5;\u{0}\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n a: b\r\n\r\n",
        "5\r\nhello\r\n0\r\na: b\n\r\n",
    ] {
        let request = put("Transfer-Encoding: chunked\r\n", &format!("{body}{hidden}"));
        refused(server, &request, 400);
    }
    nothing_is_there(server);
    let whole = put(
        "Transfer-Encoding: chunked\r\nConnection: close\r\n",
        "5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
    );
    assert_eq!(answers(&server.raw(&whole))[0].0, 201);
    assert_eq!(server.ask("GET", &format!("{BUCKET}/item")).send().text(), "hello");
}

fn refusals_wait_their_turn(server: &Server) {
    server.with_bucket(open_bucket());
    let good = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let bad = "GET /healthz HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n";
    let all = answers(&server.raw(&format!("{good}{good}{bad}{good}")));
    let statuses: Vec<u16> = all.iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, [200, 200, 400], "what comes behind a refusal is not read");
    let stored = put("Content-Length: 3\r\n", "one");
    let all = answers(&server.raw(&format!("{stored}{bad}")));
    assert_eq!((all[0].0, all[1].0, all.len()), (201, 400, 2));
}

fn requests_may_come_in_pieces_and_pipelines(server: &Server) {
    server.with_bucket(open_bucket());
    let get = format!("GET {BUCKET}/item HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let pieces = put("Content-Length: 5\r\n", "hello");
    let chunked = put("Transfer-Encoding: chunked\r\n", "2\r\nwo\r\n3\r\nrld\r\n0\r\n\r\n");
    let mut stream = server.connect();
    stream.set_nodelay(true).unwrap();
    for piece in server.own(&format!("\r\n{pieces}{chunked}{get}")).as_bytes().chunks(7) {
        stream.write_all(piece).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let all = answers(&text);
    let statuses: Vec<u16> = all.iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, [201, 200, 200], "{text}");
    assert_eq!(all[2].2, "world");
}

fn a_body_that_is_too_large_gets_its_answer(server: &Server) {
    server.with_bucket(open_bucket());
    let length = 40 << 20;
    let mut stream = server.connect();
    let head = server.own(&put(&format!("Content-Length: {length}\r\n"), ""));
    stream.write_all(head.as_bytes()).unwrap();
    // It may stop listening, but must not take its answer back.
    let _ = stream.write_all(&vec![b'x'; length]);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(answers(&text)[0].0, 413, "{text}");
    nothing_is_there(server);
}

fn content_that_would_be_in_vain_is_not_asked_for(server: &Server) {
    server.with_bucket(open_bucket());
    let expecting = |more: &str| {
        put(
            &format!("Expect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n{more}"),
            "",
        )
    };
    refused(server, &expecting("If-Match: *\r\n"), 412);
    refused(server, &expecting("").replace(ADMIN, "wrong"), 401);
    let large = expecting("").replace("Content-Length: 1", "Content-Length: 99999999");
    refused(server, &large, 413);
    nothing_is_there(server);
    let mut stream = server.connect();
    stream.write_all(server.own(&expecting("If-None-Match: *\r\n")).as_bytes()).unwrap();
    let mut told = [0; 25];
    stream.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"x").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(answers(&text)[0].0, 201, "{text}");
}

#[test]
fn a_head_that_dawdles_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    std::fs::write(&config, "[limits]\nhead_seconds = 1\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let server = Server::on(&dir.path().join("store"), &arguments);
    refused(&server, "GET /healthz HTTP/1.1\r\nHost:", 408);
    assert_eq!(server.raw(""), "", "who says nothing is told nothing");
    let begun = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /heal";
    let statuses: Vec<u16> = answers(&server.raw(begun)).iter().map(|(s, ..)| *s).collect();
    assert_eq!(statuses, [200, 408]);
}

/// What a server answers to a head of HTTP/2 with these fields: its status and its media type.
async fn ask_by_http2(address: &str, path: &str, fields: &[(String, String)]) -> (u16, String) {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = shaken.await.unwrap();
    tokio::spawn(connection);
    let asked = http::Request::get(format!("http://{address}{path}"));
    let asked = fields.iter().fold(asked, |asked, (name, value)| asked.header(name, value));
    let answered = sender.send_request(asked.body(axum::body::Body::empty()).unwrap());
    let (head, _) = answered.await.unwrap().into_parts();
    assert!(head.headers.contains_key("x-request-id"), "{head:?}");
    assert_eq!(head.headers["x-content-type-options"], "nosniff");
    let kind = head.headers["content-type"].to_str().unwrap();
    (head.status.as_u16(), kind.to_owned())
}

fn heads_of_http2_are_bounded_too(server: &Server) {
    let fields = |count: usize, bytes: usize| -> Vec<_> {
        (0..count).map(|number| (format!("x-{number}"), "x".repeat(bytes))).collect()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = server.process.address.strip_prefix("http://").unwrap();
    for (fields, status, kind) in [
        (fields(90, 100), 200, "application/json"),
        (fields(101, 1), 431, "application/problem+json"),
        (fields(20, 3_500), 431, "application/problem+json"),
        (fields(20, 11_000), 431, "application/problem+json"),
    ] {
        let answered = runtime.block_on(ask_by_http2(address, "/healthz", &fields));
        assert_eq!(answered, (status, kind.to_owned()), "{}", fields.len());
    }
}

fn targets_of_http2_are_ascii_too(server: &Server) {
    server.with_bucket(open_bucket());
    for number in 0..3 {
        server.ask("PUT", &format!("{BUCKET}/%C3%A4{number}")).admin().text("x");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = server.process.address.strip_prefix("http://").unwrap();
    for (path, status) in [
        ("/?limit=1&prefix=%C3%A4", 200),
        ("/?limit=1&prefix=\u{e4}", 400),
        ("/_changes?limit=1&since=\u{e4}", 400),
        ("/\u{e4}0", 400),
    ] {
        let path = server.own(&format!("{BUCKET}{path}"));
        let (found, _) = runtime.block_on(ask_by_http2(address, &path, &[]));
        assert_eq!(found, status, "{path}");
    }
}
