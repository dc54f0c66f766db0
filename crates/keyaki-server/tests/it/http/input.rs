//! Bad input gets the right answer, and changes nothing.

use serde_json::json;

use super::{ADMIN, Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";

cases! {
    numbers_keep_all_their_digits,
    what_is_asked_of_the_server_as_a_whole,
    paths_that_can_be_read_in_two_ways_are_refused,
    methods_types_and_sizes,
    bodies_that_are_no_json_are_refused,
    problems_name_the_place,
    headers_that_are_there_twice_are_refused,
    writes_tell_how_far_their_caller_has_seen,
}

/// Sends text as it is, and answers the status and all that comes back.
fn raw(server: &Server, request: &str) -> (u16, String) {
    let text = server.raw(request);
    (text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), text)
}

fn paths_that_can_be_read_in_two_ways_are_refused(server: &Server) {
    server.with_bucket(open_bucket());
    for path in [
        "/%",
        "/a%2",
        "/%zz",
        "/%ff%fe",
        "/a%00b",
        "/a%0Ab",
        "/../x",
        "/%2e%2e/x",
        "//x",
        "/a//b",
        "/_x",
    ] {
        let head =
            format!("PUT {BUCKET}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n");
        let (status, text) =
            raw(server, &format!("{head}Content-Length: 1\r\nConnection: close\r\n\r\nx"));
        assert_eq!(status, 400, "{path}: {text}");
        assert!(text.contains("application/problem+json"), "{text}");
    }
    let listed = server.ask("GET", &format!("{BUCKET}/")).send().value();
    assert_eq!(listed["items"], json!([]));
}

fn methods_types_and_sizes(server: &Server) {
    server.with_bucket(open_bucket());
    let item = format!("{BUCKET}/item");
    let wrong = server.ask("PATCH", &item).admin().text("x");
    wrong.demand_problem(405);
    assert_eq!(wrong.header("allow"), Some("GET, HEAD, PUT, DELETE, OPTIONS"));
    assert_eq!(server.ask("OPTIONS", &item).send().status, 204);
    let wrong = server.ask("POST", "/v1/_tokens").admin().text("x");
    wrong.demand_problem(415);
    assert_eq!(wrong.header("accept"), Some("application/json"));
    server.ask("PUT", &item).admin().with("Content-Encoding", "gzip").text("x").demand_problem(415);
    server
        .ask("PUT", &item)
        .admin()
        .with("Content-Range", "bytes 0-0/5")
        .text("x")
        .demand_problem(400);
    server
        .ask("PUT", &item)
        .admin()
        .with("Content-Type", "nonsense")
        .body(b"x")
        .demand_problem(415);
    server.ask("PUT", &item).admin().with("If-Match", "no tag").text("x").demand_problem(400);
    server
        .ask("PUT", &item)
        .admin()
        .with("Idempotency-Sequence", "-1")
        .text("x")
        .demand_problem(400);
    server
        .ask("PUT", &item)
        .admin()
        .with("Keyaki-Only-If-Changed", "yes")
        .text("x")
        .demand_problem(400);
    let key = "k".repeat(1025);
    server.ask("PUT", &format!("{BUCKET}/{key}")).admin().text("x").demand_problem(400);
    let head = format!("PUT {item} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n");
    let (status, _) =
        raw(server, &format!("{head}Content-Length: 99999999999\r\nConnection: close\r\n\r\n"));
    assert_eq!(status, 413);
    server.ask("GET", &item).send().demand_problem(404);
    server.ask("GET", "/nowhere").send().demand_problem(404);
    let meaning = server.ask("GET", "/problems/not-found").send();
    assert_eq!((meaning.status, meaning.value()["status"].as_u64()), (200, Some(404)));
}

fn bodies_that_are_no_json_are_refused(server: &Server) {
    let deep = format!("{{\"description\":{}1{}}}", "[".repeat(300), "]".repeat(300));
    for (body, status) in [
        ("{", 400),
        ("{}{}", 400),
        ("{\"description\":\"a\",\"description\":\"b\"}", 400),
        (&deep[..], 400),
        ("[]", 422),
        ("{\"description\":5}", 422),
        ("{\"descripton\":\"x\"}", 422),
        ("{\"quota\":{\"items\":-1}}", 422),
    ] {
        let asked =
            server.ask("PUT", "/v1/d.example").admin().with("Content-Type", "application/json");
        let refused = asked.body(body.as_bytes());
        assert_eq!(refused.status, status, "{body}: {}", refused.text());
        refused.demand_problem(status);
    }
    server.ask("GET", "/v1/d.example").admin().send().demand_problem(404);
}

fn numbers_keep_all_their_digits(server: &Server) {
    server.with_bucket(open_bucket());
    let put = |number: &str| {
        let body = format!("{{\"quota\":{{\"bytes\":{number}}}}}");
        let asked = server.ask("PUT", "/v1/d.example").admin();
        asked.with("Content-Type", "application/json").body(body.as_bytes())
    };
    for exact in ["9007199254740993", "9223372036854775807"] {
        assert_eq!(put(exact).status, 200);
        let shown = server.ask("GET", "/v1/d.example").admin().send();
        assert!(shown.text().contains(&format!("\"bytes\":{exact}")), "{}", shown.text());
    }
    for bad in ["9223372036854775808", "1.5", "-1", "\"1\""] {
        put(bad).demand_problem(422);
    }
    for bad in ["01", "+1", "0x1", "1e", "NaN"] {
        put(bad).demand_problem(400);
    }
}

fn what_is_asked_of_the_server_as_a_whole(server: &Server) {
    server.with_bucket(open_bucket());
    let all = "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(server, all).0, 204);
    let get = "GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(server, get).0, 400);
    let absolute = "GET http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(server, absolute).0, 200);
    for method in ["PUT", "DELETE"] {
        let asked = server.ask(method, &format!("{BUCKET}/item?dry-run=1")).admin();
        asked.text("x").demand_problem(400);
    }
}

fn problems_name_the_place(server: &Server) {
    server.ask("PUT", "/v1/d.example").admin().json(&json!({}));
    let role = json!({"type": "role", "anyOf": ["*"]});
    for (bad, place) in [
        (json!({}), "/"),
        (json!({"type": 5}), "/type"),
        (json!({"type": "moon"}), "/type"),
        (json!({"type": "revisions", "optoins": {}}), "/optoins"),
        (json!({"type": "revisions", "options": {"retension": {}}}), "/options/retension"),
        (json!({"type": "revisions", "acl": {"reed": []}}), "/acl/reed"),
        (
            json!({"type": "revisions", "acl": {"read": [[role, {"type": "moon"}]]}}),
            "/acl/read/0/1/type",
        ),
        (json!({"type": "revisions", "acl": {"write": [[role], 5]}}), "/acl/write/1"),
        (json!({"type": "revisions", "acl": {"write": [[["role", ["*"]]]]}}), "/acl/write/0/0"),
        (
            json!({"type": "revisions", "acl": {"read": [[{"type": 1, "anyOf": ["*"]}]]}}),
            "/acl/read/0/0/type",
        ),
        (
            json!({"type": "revisions", "options": {"retention": {"type": 0}}}),
            "/options/retention/type",
        ),
        (
            json!({"type": "revisions", "options": {"retention": {"type": "all", "count": 1}}}),
            "/options/retention",
        ),
        (json!({"type": "revisions", "quota": {"items": -1}}), "/quota/items"),
        (json!({"type": "revisions", "quota": [1, 2]}), "/quota"),
        (json!({"type": "graph", "options": {"shcema": {}}}), "/options/shcema"),
    ] {
        let refused = server.ask("PUT", BUCKET).admin().json(&bad);
        refused.demand_problem(422);
        assert_eq!(refused.value()["at"], place, "{bad}");
    }
    server.ask("GET", BUCKET).admin().send().demand_problem(404);
}

fn headers_that_are_there_twice_are_refused(server: &Server) {
    server.with_bucket(open_bucket());
    let item = format!("{BUCKET}/item");
    let session = server.ask("PUT", &item).admin().text("one");
    let session = session.header("keyaki-session").unwrap().to_owned();
    let (json, plain) = ("application/json", "text/plain");
    for (method, path, name, values) in [
        ("PUT", &item[..], "Content-Type", [plain, json]),
        ("PUT", "/v1/d.example", "Content-Type", [json, json]),
        ("POST", "/v1/_tokens", "Content-Type", [json, plain]),
        ("GET", &format!("{BUCKET}/"), "Keyaki-Session", [&session[..]; 2]),
        ("GET", &format!("{BUCKET}/_changes"), "Keyaki-Session", [&session[..]; 2]),
    ] {
        let asked = server.ask(method, path).admin().with(name, values[0]).with(name, values[1]);
        let refused = if method == "GET" { asked.send() } else { asked.body(b"{}") };
        refused.demand_problem(400);
        assert_eq!(refused.value()["header"], name.to_ascii_lowercase(), "{method} {path}");
    }
    assert_eq!(server.ask("GET", &item).send().text(), "one");
}

fn writes_tell_how_far_their_caller_has_seen(server: &Server) {
    server.with_bucket(open_bucket());
    let (token, _) = server.issue("ada", &[], &[]);
    let item = format!("{BUCKET}/item");
    server.ask("PUT", &item).admin().text("one");
    let mut before = String::new();
    for path in [&token[..], &item, BUCKET, "/v1/d.example"] {
        let gone = server.ask("DELETE", path).admin().send();
        assert!([200, 204].contains(&gone.status), "{gone:?}");
        let session = gone.header("keyaki-session").expect(path);
        assert!(session > &before[..], "{path}");
        assert_eq!(gone.header("etag"), None, "what is gone has no tag");
        before = session.to_owned();
    }
}
