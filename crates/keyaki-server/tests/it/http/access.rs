//! Who may do what, and see what.

use serde_json::json;

use super::{Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";
const ITEM: &str = "/v1/d.example/b/item";

cases! {
    spellings_of_a_label_are_one,
    an_operation_is_its_callers,
    without_a_right_nothing_is_open,
    roles_paths_and_revocation,
    hidden_revisions_are_as_if_they_were_not_there,
    a_revision_is_as_closed_as_its_item,
    rights_that_end_while_a_body_arrives_have_ended,
    what_is_hidden_is_not_counted_for_others,
    listings_and_feeds_show_only_what_may_be_read,
    a_feed_does_not_move_with_what_is_hidden,
    a_token_that_has_expired_is_not_made,
    a_domain_does_not_move_with_buckets_that_are_hidden,
    a_rename_needs_rights_at_both_ends,
}

fn without_a_right_nothing_is_open(server: &Server) {
    server.with_bucket(json!({"type": "revisions"}));
    server.ask("PUT", ITEM).admin().text("one");
    let stranger = server.token("stranger", &[], &[]);
    for (method, path) in [
        ("GET", ITEM),
        ("HEAD", ITEM),
        ("PUT", ITEM),
        ("DELETE", ITEM),
        ("GET", "/v1/d.example/b/item/"),
        ("GET", "/v1/d.example/b/"),
        ("GET", "/v1/d.example/b/_changes"),
        ("POST", "/v1/d.example/b/_rename"),
        ("GET", BUCKET),
        ("PUT", BUCKET),
        ("DELETE", BUCKET),
        ("GET", "/v1/d.example"),
        ("PUT", "/v1/d.example"),
        ("DELETE", "/v1/d.example"),
        ("PUT", "/v1/new.example"),
        ("GET", "/v1/_tokens"),
        ("POST", "/v1/_tokens"),
        ("GET", "/v1/_services"),
        ("GET", "/metrics"),
    ] {
        let body = json!({"from": "item", "to": "x", "type": "revisions", "user": "u"});
        let (anybody, known) = match method {
            "PUT" | "POST" => (
                server.ask(method, path).json(&body),
                server.ask(method, path).bearer(&stranger).json(&body),
            ),
            _ => {
                (server.ask(method, path).send(), server.ask(method, path).bearer(&stranger).send())
            }
        };
        assert_eq!((anybody.status, known.status), (401, 403), "{method} {path}");
        let challenge = anybody.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer ") && !challenge.contains("error"), "{challenge}");
        let challenge = known.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    }
    for path in [format!("{ITEM}?x=1"), format!("{BUCKET}/?limit=0")] {
        server.ask("GET", &path).send().demand_problem(401);
        server.ask("GET", &path).bearer(&stranger).send().demand_problem(403);
    }
    let seen = server.ask("GET", "/v1/").bearer(&stranger).send();
    assert!(!seen.text().contains(&server.own("d.example")), "{}", seen.text());
    server.ask("GET", ITEM).bearer("wrong").send().demand_problem(401);
    assert_eq!(server.ask("GET", ITEM).admin().send().text(), "one");
}

fn roles_paths_and_revocation(server: &Server) {
    let mut settings = open_bucket();
    settings["acl"]["read"] = json!([
        [{"type": "pathRegExp", "re": "public/.*"}, {"type": "role", "anyOf": ["*"]}],
        [{"type": "role", "anyOf": ["editor"]}],
    ]);
    server.with_bucket(settings);
    let (path, editor) = server.issue("ed", &["editor"], &[]);
    let put =
        |key: &str| server.ask("PUT", &format!("{BUCKET}/{key}")).bearer(&editor).text("x").status;
    assert_eq!((put("public%2Fa"), put("private"), put("not%2Fpublic%2Fa")), (201, 201, 201));
    let get = |key: &str| server.ask("GET", &format!("{BUCKET}/{key}")).send().status;
    assert_eq!(get("public%2Fa"), 200);
    for closed in ["private", "not%2Fpublic%2Fa", "public", "publicx%2Fa"] {
        assert_eq!(get(closed), 401, "{closed}");
    }
    let tokens = server.ask("GET", "/v1/_tokens").admin().send().value();
    assert!(!tokens.to_string().contains(&editor), "tokens are never shown again");
    assert_eq!(server.ask("DELETE", &path).admin().send().status, 204);
    server.ask("PUT", ITEM).bearer(&editor).text("x").demand_problem(401);
    server.ask("DELETE", &path).admin().send().demand_problem(404);
}

fn hidden_revisions_are_as_if_they_were_not_there(server: &Server) {
    server.with_bucket(open_bucket());
    let spy = server.token("spy", &["editor"], &["secret"]);
    let clerk = server.token("clerk", &["editor"], &[]);
    let open = server.ask("PUT", ITEM).bearer(&clerk).text("open");
    let put =
        server.ask("PUT", ITEM).bearer(&spy).with("Keyaki-Visibility", "secret").text("hidden");
    assert_eq!(put.status, 200, "{put:?}");
    let other = "/v1/d.example/b/other";
    server.ask("PUT", other).bearer(&spy).with("Keyaki-Visibility", "secret").text("hidden");
    assert_eq!(server.ask("GET", ITEM).bearer(&spy).send().text(), "hidden");
    let seen = server.ask("GET", ITEM).bearer(&clerk).send();
    assert_eq!((seen.text(), seen.etag()), ("open", open.etag()));
    server.ask("GET", other).bearer(&clerk).send().demand_problem(404);
    let narrowed = server.ask("GET", ITEM).bearer(&spy).with("Keyaki-Auths", "").send();
    assert_eq!(narrowed.text(), "open");
    server
        .ask("GET", ITEM)
        .bearer(&clerk)
        .with("Keyaki-Auths", "secret")
        .send()
        .demand_problem(403);
    let hides =
        server.ask("PUT", ITEM).bearer(&clerk).with("Keyaki-Visibility", "secret").text("x");
    hides.demand_problem(403);
    server
        .ask("PUT", ITEM)
        .bearer(&spy)
        .with("Keyaki-Visibility", "a&|")
        .text("x")
        .demand_problem(400);
    for path in ["/v1/d.example/b/", "/v1/d.example/b/_changes", "/v1/d.example/b/item/"] {
        let seen = server.ask("GET", path).bearer(&clerk).settled().send();
        assert!(
            !seen.text().contains("other") && !seen.text().contains("secret"),
            "{}",
            seen.text()
        );
        assert_eq!(seen.value()["items"].as_array().unwrap().len(), 1, "{path}");
    }
    let replaced =
        server.ask("PUT", ITEM).bearer(&clerk).with("If-Match", open.etag()).text("newer");
    assert_eq!(replaced.status, 200, "what is hidden is in nobody's way");
    assert_eq!(server.ask("GET", ITEM).bearer(&spy).send().text(), "newer");
}

#[test]
fn pages_of_other_sites_are_let_in_by_configuration_only() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    std::fs::write(&config, "[cors]\norigins = [\"https://app.example\"]\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let server = Server::on(&dir.path().join("store"), &arguments);
    server.with_bucket(open_bucket());
    server.ask("PUT", ITEM).admin().text("one");
    let get = |origin: &str| server.ask("GET", ITEM).with("Origin", origin).send();
    let allowed = "access-control-allow-origin";
    assert_eq!(get("https://app.example").header(allowed), Some("https://app.example"));
    assert_eq!(get("https://evil.example").header(allowed), None);
    let preflight = |origin: &str| {
        let asked = server.ask("OPTIONS", ITEM).with("Origin", origin);
        asked.with("Access-Control-Request-Method", "PUT").send()
    };
    let let_in = preflight("https://app.example");
    assert_eq!((let_in.status, let_in.header(allowed)), (204, Some("https://app.example")));
    let vary: Vec<_> = let_in.headers.iter().filter(|(name, _)| name == "vary").collect();
    assert_eq!(vary.len(), 2, "{vary:?}");
    assert!(let_in.header("x-request-id").is_some());
    assert_eq!(let_in.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(preflight("https://evil.example").header(allowed), None);
}

fn a_revision_is_as_closed_as_its_item(server: &Server) {
    let mut settings = open_bucket();
    settings["acl"]["read"] =
        json!([[{"type": "pathRegExp", "re": "team/.*"}, {"type": "role", "anyOf": ["*"]}]]);
    server.with_bucket(settings);
    let tid =
        server.ask("PUT", "/v1/d.example/b/team").admin().text("secret").value()["tid"].clone();
    for path in
        ["team", "team/", "team/2100-01-01T00:00:00Z", &format!("team/{}", tid.as_str().unwrap())]
    {
        server.ask("GET", &format!("{BUCKET}/{path}")).send().demand_problem(401);
    }
    server.ask("PUT", "/v1/d.example/b/team%2Fa").admin().text("open");
    assert_eq!(server.ask("GET", "/v1/d.example/b/team%2Fa/").send().status, 200);
}

fn rights_that_end_while_a_body_arrives_have_ended(server: &Server) {
    use std::io::{Read, Write};
    server.with_bucket(open_bucket());
    let (path, editor) = server.issue("ed", &["editor"], &[]);
    let mut stream = server.connect();
    let head = format!("PUT {ITEM} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {editor}\r\n");
    stream
        .write_all(
            server
                .own(&format!("{head}Connection: close\r\nContent-Length: 2\r\n\r\na"))
                .as_bytes(),
        )
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(server.ask("DELETE", &path).admin().send().status, 204);
    stream.write_all(b"b").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    server.ask("GET", ITEM).send().demand_problem(404);
}

fn what_is_hidden_is_not_counted_for_others(server: &Server) {
    server.with_bucket(open_bucket());
    let spy = server.token("spy", &["editor"], &["secret"]);
    let seen = |path: &str| {
        let reply = server.ask("GET", path).send();
        (reply.header("etag").map(str::to_owned), reply.bytes)
    };
    let before = seen(BUCKET);
    server.ask("PUT", ITEM).bearer(&spy).with("Keyaki-Visibility", "secret").text("hidden");
    assert_eq!(seen(BUCKET), before);
    server.ask("PUT", ITEM).bearer(&spy).text("open");
    let feed = server.ask("GET", &format!("{BUCKET}/_changes")).settled().send().value();
    assert_eq!(feed["items"][0]["action"], "create", "nobody is told of what was hidden");
}

fn spellings_of_a_label_are_one(server: &Server) {
    server.with_bucket(open_bucket());
    let spy = server.token("spy", &["editor"], &["a", "b", "c"]);
    let put = |label: &str, text: &str| {
        let asked = server.ask("PUT", ITEM).bearer(&spy).with("Keyaki-Visibility", label);
        asked.with("Keyaki-Only-If-Changed", "true").text(text)
    };
    assert_eq!(put("b&a", "one").value()["visibility"], "a&b");
    for same in ["a&b", "(b)&(a)", "\"a\"&b", "a&b&a"] {
        assert_eq!(put(same, "one").header("keyaki-unchanged"), Some("true"), "{same}");
    }
    assert_eq!(put("a&(c|b)", "one").value()["visibility"], "(b|c)&a");
    let long = vec!["a"; 5_000].join("&");
    put(&long, "one").demand_problem(400);
}

fn an_operation_is_its_callers(server: &Server) {
    server.with_bucket(open_bucket());
    let (spy, clerk) =
        (server.token("spy", &["editor"], &["secret"]), server.token("clerk", &["editor"], &[]));
    let put = |token: &str, label: &str| {
        let asked = server.ask("PUT", ITEM).bearer(token).with("Idempotency-Key", "same");
        asked.with("Keyaki-Visibility", label).text("content")
    };
    let hidden = put(&spy, "secret");
    assert_eq!(hidden.status, 201);
    let open = put(&clerk, "");
    assert_eq!((open.status, open.header("idempotency-replayed")), (201, None));
    assert_ne!(open.etag(), hidden.etag());
    put(&clerk, "secret").demand_problem(403);
    let outsider = server.token("outsider", &[], &[]);
    put(&outsider, "").demand_problem(403);
}

fn listings_and_feeds_show_only_what_may_be_read(server: &Server) {
    let mut settings = open_bucket();
    settings["acl"]["read"] = json!([
        [{"type": "pathRegExp", "re": "public/.*|/|_changes"}, {"type": "role", "anyOf": ["*"]}],
        [{"type": "pathRegExp", "re": "team/.*"}, {"type": "role", "anyOf": ["staff"]}],
    ]);
    server.with_bucket(settings);
    for number in 0..4 {
        for place in ["private", "public", "team"] {
            let path = format!("{BUCKET}/{place}%2F{number}");
            assert_eq!(server.ask("PUT", &path).admin().text("x").status, 201);
        }
    }
    let staff = server.token("sam", &["staff"], &[]);
    let ask = |path: &str, token: Option<&str>| {
        let asked = server.ask("GET", &format!("{BUCKET}{path}")).settled();
        match token {
            Some(token) => asked.bearer(token),
            None => asked,
        }
    };
    let keys = |value: &serde_json::Value, name: &str| -> Vec<String> {
        let items = value["items"].as_array().unwrap().iter();
        items.map(|item| item[name].as_str().unwrap().to_owned()).collect()
    };
    for (token, places) in [(None, vec!["public"]), (Some(&staff[..]), vec!["public", "team"])] {
        let wanted: Vec<String> = places
            .iter()
            .flat_map(|place| (0..4).map(move |number| format!("{place}/{number}")))
            .collect();
        assert_eq!(keys(&ask("/", token).send().value(), "key"), wanted);
        let lines = ask("/", token).with("Accept", "application/x-ndjson").send();
        assert_eq!(lines.text().lines().count(), wanted.len());
        assert!(!lines.text().contains("private"));
        let (mut paged, mut path) = (Vec::new(), "/?limit=3".to_owned());
        loop {
            let page = ask(&path, token).send().value();
            paged.extend(keys(&page, "key"));
            let Some(next) = page["next"].as_str() else { break };
            assert_eq!(page["items"].as_array().unwrap().len(), 3, "pages are full");
            path = format!("/?limit=3&cursor={next}");
        }
        assert_eq!(paged, wanted);
        let mut changed = keys(&ask("/_changes", token).send().value(), "item");
        changed.sort();
        assert_eq!(changed, wanted);
    }
    let all = server.ask("GET", &format!("{BUCKET}/")).admin().settled().send().value();
    assert_eq!(keys(&all, "key").len(), 12);
}

fn a_feed_does_not_move_with_what_is_hidden(server: &Server) {
    let mut settings = open_bucket();
    settings["acl"]["read"] = json!([[{"type": "pathRegExp", "re": "public.*|_changes"}, {"type": "role", "anyOf": ["*"]}]]);
    server.with_bucket(settings);
    let spy = server.token("spy", &["editor"], &["secret"]);
    let hide = || {
        let put = |key: &str, label: &str| {
            let asked = server.ask("PUT", &format!("{BUCKET}/{key}")).bearer(&spy);
            assert!(asked.with("Keyaki-Visibility", label).text("x").status < 300);
        };
        put("public-1", "secret");
        put("private", "");
    };
    let read = |query: &str| {
        let reply = server.ask("GET", &format!("{BUCKET}/_changes{query}")).settled().send();
        (reply.value(), reply.header("link").map(str::to_owned))
    };
    let nothing = read("");
    hide();
    assert_eq!(read(""), nothing);
    for number in 0..4 {
        let path = format!("{BUCKET}/public-{number}");
        assert!(server.ask("PUT", &path).bearer(&spy).text("x").status < 300);
        hide();
    }
    let all = read("").0;
    let ids: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), &all["since"], all.get("next")), (4, &json!(ids[3]), None));
    assert_eq!(read(&format!("?since={}", ids[3])).0, json!({"items": [], "since": ids[3]}));
    let (page, link) = read("?limit=2");
    assert_eq!((&page["next"], &page["since"]), (&json!(ids[1]), &json!(ids[1])));
    assert!(link.unwrap().contains(ids[1]));
    let (page, link) = read(&format!("?limit=2&since={}", ids[1]));
    assert_eq!((page["items"].as_array().unwrap().len(), page.get("next"), link), (2, None, None));
    let lines =
        server.ask("GET", &format!("{BUCKET}/_changes")).with("Accept", "application/x-ndjson");
    let lines = lines.settled().send();
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let shown = lines.text().lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(shown.collect::<Vec<serde_json::Value>>(), *all["items"].as_array().unwrap());
}

fn a_token_that_has_expired_is_not_made(server: &Server) {
    let make = |expires: &str| {
        let form = json!({"user": "u", "expires": expires});
        server.ask("POST", "/v1/_tokens").admin().json(&form)
    };
    for expired in ["2001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"] {
        let refused = make(expired);
        refused.demand_problem(422);
        assert_eq!(refused.value()["at"], "/expires");
    }
    assert_eq!(make("2999-01-01T00:00:00Z").status, 201);
}

fn a_domain_does_not_move_with_buckets_that_are_hidden(server: &Server) {
    server.with_bucket(open_bucket());
    let clerk = server.token("clerk", &[], &[]);
    let domain = "/v1/d.example";
    let seen = |path: &str| {
        let reply = server.ask("GET", path).bearer(&clerk).send();
        assert_eq!((reply.status, reply.header("last-modified")), (200, None));
        (reply.etag().to_owned(), reply.text().to_owned())
    };
    let (before, admins) = (seen(domain), server.ask("GET", domain).admin().send());
    let hidden = server.ask("PUT", "/v1/d.example/hidden").admin();
    assert_eq!(hidden.json(&json!({"type": "revisions"})).status, 201);
    assert_eq!(seen(domain), before);
    assert_ne!(server.ask("GET", domain).admin().send().etag(), admins.etag(), "admins see it");
    assert_eq!(server.ask("DELETE", "/v1/d.example/hidden").admin().send().status, 204);
    assert_eq!(seen(domain), before);
    assert_eq!(server.ask("PUT", "/v1/d.example/c").admin().json(&open_bucket()).status, 201);
    let both = seen(domain);
    assert_ne!(both.0, before.0);
    assert_eq!(server.ask("DELETE", "/v1/d.example/c").admin().send().status, 204);
    assert_eq!(seen(domain), before, "what it sees is what it saw");
}

fn a_rename_needs_rights_at_both_ends(server: &Server) {
    let mut settings = open_bucket();
    let own = json!([[{"type": "pathRegExp", "re": "own/.*"}, {"type": "role", "anyOf": ["*"]}]]);
    settings["acl"] = json!({"read": own, "write": own});
    server.with_bucket(settings);
    assert_eq!(server.ask("PUT", &format!("{BUCKET}/own%2Fa")).text("one").status, 201);
    let clerk = server.token("clerk", &[], &[]);
    for (from, to) in [("own/a", "other"), ("other", "own/b"), ("own/a", "_x")] {
        let form = json!({"from": from, "to": to});
        let rename = || server.ask("POST", &format!("{BUCKET}/_rename")).with_json(&form);
        let anybody = rename().send();
        anybody.demand_problem(401);
        assert!(anybody.header("www-authenticate").is_some());
        let known = rename().bearer(&clerk).send();
        known.demand_problem(403);
        assert_eq!(known.value()["detail"], "nothing allows you that");
    }
    let form = json!({"from": "own/a", "to": "own/b"});
    assert_eq!(server.ask("POST", &format!("{BUCKET}/_rename")).json(&form).status, 201);
}
