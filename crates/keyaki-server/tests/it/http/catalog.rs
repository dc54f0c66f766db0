//! Domains, buckets and quotas.

use serde_json::json;

use super::{Server, open_bucket};

const BUCKET: &str = "/v1/d.example/b";

cases! {
    owners_and_creators_have_their_rights,
    quotas_are_enforced_and_shown,
    a_domains_quota_is_that_of_all_its_buckets,
    settings_that_make_no_sense_are_refused,
    hosts_name_buckets,
    settings_that_are_too_large_break_nothing,
    what_was_shown_can_be_sent_back,
    part_of_an_item_moves_only_where_there_is_room,
}

fn owners_and_creators_have_their_rights(server: &Server) {
    let (owner, maker) = (server.token("olga", &[], &[]), server.token("max", &["makers"], &[]));
    let spec =
        json!({"owners": ["olga"], "bucketCreators": ["role:makers"], "quota": {"buckets": 2}});
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&spec).status, 201);
    let put = |token: &str, path: &str| server.ask("PUT", path).bearer(token).json(&open_bucket());
    assert_eq!(put(&maker, BUCKET).status, 201);
    assert_eq!(put(&owner, "/v1/d.example/c").status, 201);
    put(&owner, "/v1/d.example/third").demand_problem(507);
    put(&maker, "/v1/d.example/c").demand_problem(403);
    assert_eq!(put(&maker, BUCKET).status, 200, "it made that one");
    server.ask("DELETE", "/v1/d.example").bearer(&maker).send().demand_problem(403);
    assert_eq!(server.ask("DELETE", "/v1/d.example").bearer(&owner).send().status, 204);
}

fn quotas_are_enforced_and_shown(server: &Server) {
    let mut settings = open_bucket();
    settings["quota"] = json!({"items": 2, "bytes": 20});
    server.with_bucket(settings);
    let put =
        |key: &str, text: &str| server.ask("PUT", &format!("{BUCKET}/{key}")).admin().text(text);
    assert_eq!((put("a", "12345").status, put("b", "12345").status), (201, 201));
    let full = put("c", "1");
    full.demand_problem(507);
    assert_eq!(full.value()["quota"], "items");
    assert_eq!(put("a", "12345").status, 200);
    put("a", "123456").demand_problem(507);
    let shown = server.ask("GET", BUCKET).admin().send().value();
    assert_eq!(shown["use"], json!({"items": 2, "bytes": 15}));
    assert_eq!(shown["quota"], json!({"items": 2, "bytes": 20}));
    let rename = server.ask("POST", &format!("{BUCKET}/_rename")).admin();
    let renamed = rename.json(&json!({"from": "b", "to": "moved"}));
    assert_eq!(renamed.status, 201, "it makes no more items: {renamed:?}");
    assert_eq!(server.ask("GET", BUCKET).admin().send().value()["use"]["items"], 2);
    assert_eq!(server.ask("DELETE", &format!("{BUCKET}/moved")).admin().send().status, 200);
    assert_eq!(put("c", "").status, 201);
}

fn a_domains_quota_is_that_of_all_its_buckets(server: &Server) {
    let domain = "/v1/d.example";
    let quota = json!({"buckets": 2, "items": 3, "bytes": 20});
    assert_eq!(server.ask("PUT", domain).admin().json(&json!({"quota": quota})).status, 201);
    let put = |path: &str, text: &str| server.ask("PUT", path).admin().text(text);
    for bucket in ["a", "b"] {
        let path = format!("{domain}/{bucket}");
        assert_eq!(server.ask("PUT", &path).admin().json(&open_bucket()).status, 201);
        assert_eq!(put(&format!("{path}/one"), "12345").status, 201);
    }
    let shown = server.ask("GET", domain).admin().send();
    assert_eq!(shown.value()["use"], json!({"buckets": 2, "items": 2, "bytes": 10}));
    let tag = shown.etag().to_owned();
    let same = server.ask("GET", domain).admin().with("If-None-Match", &tag);
    assert_eq!(same.send().status, 304);
    put("/v1/d.example/a/two", &"x".repeat(11)).demand_problem(507);
    assert_eq!(put("/v1/d.example/a/two", "x").status, 201);
    let full = put("/v1/d.example/b/two", "x");
    full.demand_problem(507);
    assert_eq!((&full.value()["quota"], &full.value()["of"]), (&json!("items"), &json!("domain")));
    let changed = server.ask("GET", domain).admin().with("If-None-Match", &tag).send();
    assert_eq!(changed.value()["use"], json!({"buckets": 2, "items": 3, "bytes": 11}));
    let settings = json!({"quota": quota, "description": "the same domain"});
    let put = server.ask("PUT", domain).admin().with("If-Match", &tag).json(&settings);
    assert_eq!(put.status, 200, "only settings are compared");
}

fn settings_that_make_no_sense_are_refused(server: &Server) {
    server.ask("PUT", "/v1/d.example").admin().json(&json!({}));
    for (bad, status) in [
        (json!({}), 422),
        (json!({"type": "moon"}), 422),
        (json!({"type": "revisions", "optoins": {}}), 422),
        (json!({"type": "revisions", "options": {"retension": {}}}), 422),
        (json!({"type": "revisions", "options": {"retention": {"type": "latest"}}}), 422),
        (
            json!({"type": "revisions", "options": {"retention": {"type": "latest", "count": 0}}}),
            422,
        ),
        (
            json!({"type": "revisions", "options": {"retention": {"type": "ttl", "ttl": "soon"}}}),
            422,
        ),
        (json!({"type": "revisions", "backend": "moon/base"}), 422),
        (json!({"type": "revisions", "acl": {"read": [[{"type": "pathRegExp", "re": "("}]]}}), 422),
        (
            json!({"type": "revisions", "acl": {"read": [[{"type": "pathRegExp", "re": "(a{1000}){1000}"}]]}}),
            422,
        ),
        (json!({"type": "revisions", "acl": {"read": [[{"type": "age", "over": 18}]]}}), 422),
    ] {
        let refused = server.ask("PUT", BUCKET).admin().json(&bad);
        assert_eq!(refused.status, status, "{bad}: {}", refused.text());
    }
    for name in ["B", "_b", "a.b", &"b".repeat(65)] {
        let refused =
            server.ask("PUT", &format!("/v1/d.example/{name}")).admin().json(&open_bucket());
        assert!([400, 422].contains(&refused.status), "{name}: {}", refused.text());
    }
    for name in ["D.example", "-d", "d..e", "d_e"] {
        let refused = server.ask("PUT", &format!("/v1/{name}")).admin().json(&json!({}));
        assert!([400, 422].contains(&refused.status), "{name}: {}", refused.text());
    }
    assert_eq!(server.ask("GET", "/v1/d.example").admin().send().value()["buckets"], json!([]));
}

fn hosts_name_buckets(server: &Server) {
    server.with_bucket(open_bucket());
    server.ask("PUT", "/v1/d.example/b/item").admin().text("one");
    let by_host = server.ask("GET", "/item").with("Host", &server.own("b.d.example")).send();
    assert_eq!((by_host.status, by_host.text()), (200, "one"));
    server.ask("GET", "/item").with("Host", &server.own("c.d.example")).send().demand_problem(404);
}

#[test]
fn a_domains_quota_is_for_all_its_buckets() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    server.with_bucket(open_bucket());
    server.ask("PUT", "/v1/d.example").admin().json(&json!({"quota": {"bytes": 10}}));
    assert_eq!(server.ask("PUT", "/v1/d.example/c").admin().json(&open_bucket()).status, 201);
    assert_eq!(server.ask("PUT", &format!("{BUCKET}/x")).admin().text("123456").status, 201);
    let full = server.ask("PUT", "/v1/d.example/c/x").admin().text("123456");
    full.demand_problem(507);
    assert_eq!(full.value()["of"], "domain");
    drop(server);
    let server = Server::on(&store, &[]);
    server.ask("PUT", "/v1/d.example/c/x").admin().text("123456").demand_problem(507);
    assert_eq!(server.ask("DELETE", BUCKET).admin().send().status, 204);
    let begun = std::time::Instant::now();
    while server.ask("PUT", "/v1/d.example/c/x").admin().text("123456").status != 201 {
        assert!(begun.elapsed().as_secs() < 20, "what was deleted still counts");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

fn settings_that_are_too_large_break_nothing(server: &Server) {
    let large = json!({"description": "d".repeat(600_000)});
    server.ask("PUT", "/v1/large.example").admin().json(&large).demand_problem(422);
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    assert_eq!(
        server.ask("PUT", "/v1/d.example").admin().json(&json!({"quota": {"bytes": 3}})).status,
        200
    );
    assert_eq!(server.ask("PUT", BUCKET).admin().json(&open_bucket()).status, 201);
    server.ask("PUT", &format!("{BUCKET}/x")).admin().text("12345").demand_problem(507);
    assert_eq!(
        server.ask("PUT", "/v1/d.example").admin().json(&json!({"quota": {"bytes": 9}})).status,
        200
    );
    assert_eq!(server.ask("PUT", &format!("{BUCKET}/x")).admin().text("12345").status, 201);
}

fn what_was_shown_can_be_sent_back(server: &Server) {
    let domain = json!({"description": "d", "owners": ["ada", "role:staff"], "quota": {"items": 9},
                        "acl": {"read": [[{"type": "role", "anyOf": ["*"]}]]}});
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&domain).status, 201);
    let mut settings = open_bucket();
    settings["options"] = json!({"retention": {"type": "latest", "count": 3}});
    settings["backend"] = json!("default");
    assert_eq!(server.ask("PUT", BUCKET).admin().json(&settings).status, 201);
    assert_eq!(server.ask("PUT", BUCKET).admin().json(&settings).status, 200, "and once more");
    for path in ["/v1/d.example", BUCKET] {
        let shown = server.ask("GET", path).admin().send();
        let sent = shown.value();
        server.ask("PUT", "/v1/d.example/b/x").admin().text("its use has changed");
        let put = server.ask("PUT", path).admin().with("If-Match", shown.etag()).json(&sent);
        assert_eq!(put.status, 200, "{put:?}");
        let set = |mut shown: serde_json::Value| {
            shown
                .as_object_mut()
                .unwrap()
                .retain(|name, _| !["tid", "time", "use", "buckets"].contains(&name.as_str()));
            shown
        };
        assert_eq!(set(put.value()), set(sent.clone()), "nothing else has changed");
        let late = server.ask("PUT", path).admin().with("If-Match", shown.etag()).json(&sent);
        late.demand_problem(412);
        let refused = server.ask("PUT", path).admin().json(&sent);
        refused.demand_problem(422);
        assert_eq!(refused.value()["at"], "/tid", "it has another by now");
        for (name, value) in [("name", json!("other")), ("use", json!(0)), ("nmae", json!("b"))] {
            let mut wrong = json!({"type": "revisions"});
            if path != BUCKET {
                wrong = json!({});
            }
            wrong[name] = value;
            let refused = server.ask("PUT", path).admin().json(&wrong);
            refused.demand_problem(422);
            assert_eq!(refused.value()["at"], format!("/{name}"));
        }
    }
    let new = json!({"type": "revisions", "name": "new"});
    assert_eq!(server.ask("PUT", "/v1/d.example/new").admin().json(&new).status, 201);
}

fn part_of_an_item_moves_only_where_there_is_room(server: &Server) {
    let mut settings = open_bucket();
    settings["quota"] = json!({"items": 1});
    server.with_bucket(settings);
    let spy = server.token("spy", &["editor"], &["secret"]);
    let item = format!("{BUCKET}/item");
    assert_eq!(server.ask("PUT", &item).admin().text("open").status, 201);
    let hide = || {
        let hidden = server.ask("PUT", &item).bearer(&spy).with("Keyaki-Visibility", "secret");
        hidden.text("hidden").status
    };
    assert_eq!(hide(), 200);
    let rename = || {
        let asked = server.ask("POST", &format!("{BUCKET}/_rename")).bearer(&spy);
        asked.json(&json!({"from": "item", "to": "moved"}))
    };
    let full = rename();
    full.demand_problem(507);
    assert_eq!(full.value()["quota"], "items");
    assert_eq!(server.ask("GET", &item).bearer(&spy).send().text(), "hidden");
    assert_eq!(server.ask("GET", BUCKET).admin().send().value()["use"]["items"], 1);
    assert_eq!(server.ask("DELETE", &item).admin().send().status, 200);
    assert_eq!(hide(), 201);
    assert_eq!(rename().status, 201, "now all of it moves");
    assert_eq!(server.ask("GET", BUCKET).admin().send().value()["use"]["items"], 1);
}
