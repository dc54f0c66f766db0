//! Conditional requests on items, buckets and domains.

use serde_json::json;

use super::{Reply, Server, open_bucket};

const ITEM: &str = "/v1/d.example/b/item";

cases! {
    items_are_created_updated_and_compared,
    dates_count_where_there_are_no_tags,
    compressed_answers_have_tags_of_their_own,
    domains_and_buckets_are_conditional_too,
    a_bucket_may_require_conditions,
    what_has_no_tag_is_there_all_the_same,
    a_list_of_domains_changes_with_what_its_reader_sees,
    dates_of_domains_and_buckets_move_with_their_use,
    conditions_that_are_there_twice_change_nothing,
}

fn items_are_created_updated_and_compared(server: &Server) {
    server.with_bucket(open_bucket());
    let created = server.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("one");
    assert_eq!(created.status, 201, "{created:?}");
    let first = created.etag().to_owned();
    server.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("two").demand_problem(412);
    server.ask("PUT", ITEM).admin().with("If-Match", "\"other\"").text("two").demand_problem(412);
    let weak = format!("W/{first}");
    server.ask("PUT", ITEM).admin().with("If-Match", &weak).text("two").demand_problem(412);
    server
        .ask("PUT", "/v1/d.example/b/none")
        .admin()
        .with("If-Match", "*")
        .text("x")
        .demand_problem(412);
    let list = format!("\"a\", {first}");
    let updated = server.ask("PUT", ITEM).admin().with("If-Match", &list).text("two");
    assert_eq!(updated.status, 200, "{updated:?}");
    let second = updated.etag().to_owned();
    assert!(second > first, "tids rise");

    let read = server.ask("GET", ITEM).send();
    assert_eq!((read.status, read.text(), read.etag()), (200, "two", &second[..]));
    assert_eq!(read.header("x-content-type-options"), Some("nosniff"));
    let same = server.ask("GET", ITEM).with("If-None-Match", &format!("W/{second}")).send();
    assert_eq!((same.status, same.bytes.len(), same.etag()), (304, 0, &second[..]));
    assert_eq!(server.ask("GET", ITEM).with("If-None-Match", &first).send().status, 200);
    server.ask("GET", ITEM).with("If-Match", &first).send().demand_problem(412);
    let head = server.ask("HEAD", ITEM).send();
    assert_eq!((head.status, head.header("content-length"), head.bytes.len()), (200, Some("3"), 0));
    assert_eq!(head.etag(), second);

    server.ask("DELETE", ITEM).admin().with("If-Match", &first).send().demand_problem(412);
    assert_eq!(server.ask("DELETE", ITEM).admin().with("If-Match", &second).send().status, 200);
    server.ask("GET", ITEM).send().demand_problem(404);
    server.ask("GET", ITEM).with("If-Match", "*").send().demand_problem(404);
    server.ask("DELETE", ITEM).admin().send().demand_problem(404);
    let again = server.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("three");
    assert_eq!(again.status, 201, "what was deleted can be created");
}

fn dates_count_where_there_are_no_tags(server: &Server) {
    server.with_bucket(open_bucket());
    let created = server.ask("PUT", ITEM).admin().text("one");
    let date = created.header("last-modified").unwrap().to_owned();
    let past = "Sun, 09 Sep 2001 01:46:40 GMT";
    assert_eq!(server.ask("GET", ITEM).with("If-Modified-Since", &date).send().status, 304);
    assert_eq!(server.ask("GET", ITEM).with("If-Modified-Since", past).send().status, 200);
    server.ask("GET", ITEM).with("If-Unmodified-Since", past).send().demand_problem(412);
    server
        .ask("PUT", ITEM)
        .admin()
        .with("If-Unmodified-Since", past)
        .text("two")
        .demand_problem(412);
    let both =
        server.ask("GET", ITEM).with("If-Modified-Since", &date).with("If-None-Match", "\"x\"");
    assert_eq!(both.send().status, 200);
}

fn compressed_answers_have_tags_of_their_own(server: &Server) {
    server.with_bucket(open_bucket());
    let long = "A tree of Japan. ".repeat(500);
    let tag = server.ask("PUT", ITEM).admin().text(&long).etag().to_owned();
    let plain = server.ask("GET", ITEM).with("Accept-Encoding", "identity").send();
    assert_eq!(
        (plain.text(), plain.etag(), plain.header("content-encoding")),
        (&long[..], &tag[..], None)
    );
    let zipped = server.ask("GET", ITEM).with("Accept-Encoding", "gzip").send();
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert!(zipped.bytes.len() < long.len() / 10);
    assert_ne!(zipped.etag(), tag);
    let zipped_tag = zipped.etag().to_owned();
    let same =
        server.ask("GET", ITEM).with("Accept-Encoding", "gzip").with("If-None-Match", &zipped_tag);
    assert_eq!(same.send().status, 304);
    let has_plain =
        server.ask("GET", ITEM).with("Accept-Encoding", "gzip").with("If-None-Match", &tag).send();
    assert_eq!((has_plain.status, has_plain.etag()), (304, &tag[..]), "it is told what it has");
    let has_zipped = server.ask("GET", ITEM).with("If-None-Match", &zipped_tag).send();
    assert_eq!((has_zipped.status, has_zipped.etag()), (200, &tag[..]), "it can't use what it has");
    let written = server.ask("PUT", ITEM).admin().with("If-Match", &zipped_tag).text("short");
    assert_eq!(written.status, 200, "the tag of a compressed answer names the same item");
    server.ask("GET", ITEM).with("Accept-Encoding", "identity;q=0").send().demand_problem(406);
}

fn domains_and_buckets_are_conditional_too(server: &Server) {
    let (domain, bucket) = ("/v1/d.example", "/v1/d.example/b");
    let made = server.ask("PUT", domain).admin().with("If-None-Match", "*").json(&json!({}));
    assert_eq!(made.status, 201);
    assert_eq!(made.header("location"), Some(&server.own(domain)[..]));
    let tag = made.etag().to_owned();
    let put = |path: &str, header: &str, value: &str, body: &serde_json::Value| {
        server.ask("PUT", path).admin().with(header, value).json(body)
    };
    put(domain, "If-None-Match", "*", &json!({})).demand_problem(412);
    put(domain, "If-Match", "\"x\"", &json!({})).demand_problem(412);
    assert_eq!(put(domain, "If-Match", &tag, &json!({"description": "new"})).status, 200);
    let shown = server.ask("GET", domain).admin().send();
    assert_eq!(shown.value()["description"], "new");
    let shown_tag = shown.etag().to_owned();
    let unchanged = server.ask("GET", domain).admin().with("If-None-Match", &shown_tag).send();
    assert_eq!(unchanged.status, 304);

    let made = put(bucket, "If-None-Match", "*", &open_bucket());
    assert_eq!(made.status, 201);
    let same = server.ask("GET", bucket).admin().with("If-None-Match", made.etag()).send();
    assert_eq!((same.status, same.etag()), (304, made.etag()), "it was told its tag");
    let changed = server.ask("GET", domain).admin().with("If-None-Match", &shown_tag).send();
    assert_eq!(changed.status, 200, "a domain shows its buckets");
    put(bucket, "If-None-Match", "*", &open_bucket()).demand_problem(412);
    let shown = server.ask("GET", bucket).admin().send();
    let before = shown.etag().to_owned();
    assert_eq!(server.ask("PUT", "/v1/d.example/b/x").admin().text("12345").status, 201);
    let used = server.ask("GET", bucket).admin().with("If-None-Match", &before).send();
    assert_eq!((used.status, used.value()["use"]["bytes"].as_i64()), (200, Some(5)));
    assert_eq!(
        put(bucket, "If-Match", &before, &open_bucket()).status,
        200,
        "only settings are compared"
    );
    server.ask("DELETE", bucket).admin().with("If-Match", &before).send().demand_problem(412);
    assert_eq!(server.ask("DELETE", bucket).admin().send().status, 204);
    server.ask("GET", bucket).admin().send().demand_problem(404);
    assert_eq!(server.ask("DELETE", domain).admin().send().status, 204);
    server.ask("GET", domain).admin().send().demand_problem(404);
}

fn what_has_no_tag_is_there_all_the_same(server: &Server) {
    server.with_bucket(open_bucket());
    for path in ["/v1/d.example/b/", "/v1/d.example/b/_changes", "/openapi.json"] {
        let ask = |name: &str, value: &str| server.ask("GET", path).with(name, value).send();
        assert_eq!(ask("If-None-Match", "*").status, 304, "{path}");
        ask("If-Match", "\"x\"").demand_problem(412);
        assert_eq!(ask("If-Match", "*").status, 200, "{path}");
        assert_eq!(ask("If-None-Match", "\"x\"").status, 200, "{path}");
    }
}

fn a_list_of_domains_changes_with_what_its_reader_sees(server: &Server) {
    let (open, hidden) = ("/v1/d.example", "/v1/hidden.d.example");
    let mine = json!({"acl": {"read": [[{"type": "role", "anyOf": ["mine"]}]]}});
    assert_eq!(server.ask("PUT", open).admin().json(&mine).status, 201);
    let token = server.token("rita", &["mine"], &[]);
    let ask = || server.ask("GET", "/v1/").bearer(&token);
    let list = || ask().send();
    let has_hidden = |list: &Reply| list.text().contains("\"hidden.");
    let before = list();
    assert_eq!(server.ask("PUT", hidden).admin().json(&json!({})).status, 201);
    let after = list();
    assert!(!has_hidden(&after), "what others have is nothing to rita: {after:?}");
    // On a server that cases share, domains that anybody may see come and go meanwhile.
    assert_eq!(before.etag() == after.etag(), before.bytes == after.bytes, "{before:?} {after:?}");
    let again = ask().with("If-None-Match", before.etag()).send();
    assert!(again.status == 304 || again.bytes != before.bytes, "{before:?} {again:?}");
    assert_eq!(server.ask("PUT", hidden).admin().json(&mine).status, 200);
    let shown = list();
    assert!(has_hidden(&shown) && shown.etag() != after.etag(), "{shown:?}");
}

fn a_bucket_may_require_conditions(server: &Server) {
    let mut settings = open_bucket();
    settings["options"] = json!({"requireConditions": true});
    server.with_bucket(settings);
    server.ask("PUT", ITEM).admin().text("one").demand_problem(428);
    assert_eq!(server.ask("PUT", ITEM).admin().with("If-None-Match", "*").text("one").status, 201);
    server.ask("DELETE", ITEM).admin().send().demand_problem(428);
}

fn dates_of_domains_and_buckets_move_with_their_use(server: &Server) {
    const PAST: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
    let domain = "/v1/d.example";
    let bucket = "/v1/d.example/b";
    let limited = json!({"quota": {"items": 100}});
    assert_eq!(server.ask("PUT", domain).admin().json(&limited).status, 201);
    assert_eq!(server.ask("PUT", bucket).admin().json(&open_bucket()).status, 201);
    let get = |path: &str, name: &str, date: &str| {
        server.ask("GET", path).admin().with(name, date).send()
    };
    let date = |reply: &Reply| reply.header("last-modified").unwrap().to_owned();
    let before = [domain, bucket].map(|path| {
        let before = date(&server.ask("GET", path).admin().send());
        assert_eq!(get(path, "If-Modified-Since", &before).status, 304, "{path}");
        assert_eq!(get(path, "If-Modified-Since", PAST).status, 200, "{path}");
        assert_eq!(get(path, "If-Unmodified-Since", &before).status, 200, "{path}");
        get(path, "If-Unmodified-Since", PAST).demand_problem(412);
        before
    });
    let others = date(&server.ask("GET", bucket).send());
    // Dates have seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(server.ask("PUT", ITEM).admin().text("one").status, 201);
    for (path, before) in [domain, bucket].into_iter().zip(&before) {
        let changed = get(path, "If-Modified-Since", before);
        assert_eq!(changed.status, 200, "its use has changed: {path}");
        assert_eq!(changed.value()["use"]["items"], 1);
        get(path, "If-Unmodified-Since", before).demand_problem(412);
        assert_eq!(get(path, "If-Modified-Since", &date(&changed)).status, 304, "{path}");
    }
    assert_eq!(date(&server.ask("GET", bucket).send()), others, "others are shown no use");
    for (path, settings) in [(bucket, open_bucket()), (domain, limited)] {
        let put = |since: &str| {
            server.ask("PUT", path).admin().with("If-Unmodified-Since", since).json(&settings)
        };
        put(PAST).demand_problem(412);
        let delete = server.ask("DELETE", path).admin().with("If-Unmodified-Since", PAST);
        delete.send().demand_problem(412);
        let now = date(&server.ask("GET", path).admin().send());
        assert_eq!(put(&now).status, 200, "{path}");
    }
}

fn conditions_that_are_there_twice_change_nothing(server: &Server) {
    const DATE: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
    server.with_bucket(open_bucket());
    assert_eq!(server.ask("PUT", ITEM).admin().text("one").status, 201);
    for name in ["If-Unmodified-Since", "If-Modified-Since"] {
        let twice = |method: &'static str, path: &str| {
            server.ask(method, path).admin().with(name, DATE).with(name, DATE)
        };
        for refused in [
            twice("PUT", ITEM).text("two"),
            twice("DELETE", ITEM).send(),
            twice("PUT", "/v1/d.example/b").json(&open_bucket()),
            twice("DELETE", "/v1/d.example/b").send(),
            twice("DELETE", "/v1/d.example").send(),
        ] {
            refused.demand_problem(400);
            assert_eq!(refused.value()["header"], name.to_ascii_lowercase());
        }
        assert_eq!(twice("GET", ITEM).send().text(), "one", "as RFC 9110 has it");
    }
}
