//! What there is: `/openapi.json` says it, `/docs` shows it, and every path answers as they say.

use serde_json::{Value, json};

use super::{Server, open_bucket};

/// Values that make paths of templates.
const VALUES: [(&str, &str); 10] = [
    ("domain", "d.example"),
    ("bucket", "b"),
    ("key", "item"),
    ("revision", "2036-01-01T00:00:00Z"),
    ("id", "01940000-0000-7000-8000-000000000000"),
    ("fingerprint", "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"),
    ("slug", "not-found"),
    ("topic", "storeTraits"),
    ("class", "GetElements"),
    ("about", "next"),
];

fn document(server: &Server) -> Value {
    let told = server.ask("GET", "/openapi.json").send();
    assert_eq!((told.status, told.header("content-type")), (200, Some("application/json")));
    told.value()
}

/// All paths that there are, with their templates.
fn paths(document: &Value) -> Vec<(String, String)> {
    let fill = |template: &String| {
        let filled = VALUES.iter().fold(template.clone(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), value)
        });
        (template.clone(), filled.replace("{asset}", "docs.js"))
    };
    document["paths"].as_object().unwrap().keys().map(fill).collect()
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn look(value: &Value, whole: &Value, found: &mut usize) {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').expect(reference);
            assert!(whole.pointer(pointer).is_some(), "{reference}");
            *found += 1;
        }
        let members = value.as_object().into_iter().flat_map(|members| members.values());
        let items = value.as_array().into_iter().flatten();
        members.chain(items).for_each(|inner| look(inner, whole, found));
    }
    let document = document(&Server::start());
    let mut found = 0;
    look(&document, &document, &mut found);
    assert!(found > 100, "{found}");
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[test]
fn every_path_has_the_methods_that_are_told_and_no_others() {
    let server = Server::start();
    server.with_bucket(open_bucket());
    super::graph::make(&server, "g", super::graph::schema());
    let document = document(&server);
    for (template, path) in paths(&document) {
        let told = document["paths"][&template].as_object().unwrap();
        let of_graph = told.values().any(|operation| operation["tags"][0] == "Graph");
        let path = if of_graph { path.replacen("/b/", "/g/", 1) } else { path };
        let mut allowed: Vec<String> = told.keys().map(|name| name.to_ascii_uppercase()).collect();
        if told.contains_key("get") {
            allowed.push("HEAD".to_owned());
        }
        allowed.push("OPTIONS".to_owned());
        allowed.sort();
        let options = server.ask("OPTIONS", &path).send();
        assert_eq!(options.status, 204, "{path}");
        for method in ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "TRACE", "PROPFIND"] {
            // Conditions that can't both hold, so that nothing is made or deleted on the way.
            let asked = server.ask(method, &path).admin();
            let answered = asked.with("If-Match", "\"0\"").with("If-None-Match", "*").send();
            match allowed.iter().any(|allowed| allowed == method) {
                true => assert_ne!(answered.status, 405, "{method} {path}"),
                false if method == "HEAD" => assert_eq!(answered.status, 405, "{path}"),
                false => answered.demand_problem(405),
            }
            if answered.status == 405 {
                assert_eq!(answered.header("allow"), options.header("allow"), "{path}");
            }
        }
        let mut listed: Vec<&str> = options.header("allow").unwrap().split(", ").collect();
        listed.sort_unstable();
        assert_eq!(listed, allowed, "{path}");
    }
}

#[test]
fn what_only_graphs_have_is_told_of_no_other_bucket() {
    let server = Server::start();
    server.with_bucket(open_bucket());
    let elements = |bucket: &str| server.ask("POST", &format!("/v1/d.example/{bucket}/elements"));
    let other = elements("b").admin().json(&json!([]));
    other.demand_problem(404);
    assert_eq!(other.value()["bucketType"], "revisions");
    elements("none").admin().json(&json!([])).demand_problem(404);
    elements("none").json(&json!([])).demand_problem(401);
    let jobs = server.ask("OPTIONS", "/v1/d.example/b/graph/jobs").send();
    assert_eq!(jobs.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
}

#[test]
fn whoever_may_see_nothing_may_see_the_document_and_the_page() {
    let server = Server::start();
    let page = server.ask("GET", "/docs").send();
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for said in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]
    {
        assert!(policy.contains(said), "{policy}");
    }
    let quoted = page.text().split('"').filter(|text| text.starts_with("/docs/"));
    let mut assets: Vec<&str> = quoted.collect();
    assert!(assets.len() >= 3, "{assets:?}");
    assets.push("/docs/request.js");
    for asset in assets {
        let kind = match asset.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        let got = server.ask("GET", asset).send();
        assert_eq!((got.status, got.header("content-type")), (200, Some(kind)), "{asset}");
        assert_eq!(got.header("content-security-policy"), Some(policy));
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
        assert!(!got.bytes.is_empty());
        for elsewhere in ["http://", "https://", "eval(", "innerHTML"] {
            let allowed = asset.ends_with(".svg") && elsewhere == "http://";
            assert!(allowed || !got.text().contains(elsewhere), "{asset} has {elsewhere}");
        }
    }
    server.ask("GET", "/docs/nothing.js").send().demand_problem(404);
    let head = server.ask("HEAD", "/docs").send();
    assert_eq!((head.status, head.bytes.len()), (200, 0));
}

#[test]
fn what_no_query_takes_is_refused() {
    let server = Server::start();
    server.with_bucket(open_bucket());
    for path in ["/v1/?x=1", "/v1/d.example?x=1", "/v1/d.example/b?limit=1", "/v1/_tokens?x=1"] {
        let refused = server.ask("GET", path).admin().send();
        refused.demand_problem(400);
        assert!(refused.value()["parameter"].is_string(), "{path}");
    }
}

#[test]
fn every_answer_says_what_caches_may_do_and_how_long_it_is() {
    let server = Server::start();
    server.with_bucket(open_bucket());
    server.ask("PUT", "/v1/d.example/b/item").admin().text("one");
    for (path, accept) in [
        ("/v1/d.example/b/item", "*/*"),
        ("/v1/d.example/b/nothing", "*/*"),
        ("/v1/d.example/b/", "*/*"),
        ("/v1/d.example/b/", "application/x-ndjson"),
        ("/v1/d.example/b", "*/*"),
        ("/v1/_tokens", "*/*"),
        ("/metrics", "*/*"),
        ("/nowhere", "*/*"),
    ] {
        let ask = |method: &'static str| server.ask(method, path).admin().with("Accept", accept);
        let (got, head) = (ask("GET").send(), ask("HEAD").send());
        assert_eq!((head.status, head.bytes.len()), (got.status, 0), "{path}");
        let caches = got.header("cache-control").expect(path);
        assert!(["private", "no-store"].iter().any(|word| caches.contains(word)), "{caches}");
        // What changes between two answers is not compared.
        let others = |reply: &super::Reply| -> Vec<(String, String)> {
            let mut changing = vec!["date", "x-request-id", "transfer-encoding"];
            if path == "/metrics" {
                changing.push("content-length");
            }
            let kept = reply.headers.iter().filter(|(name, _)| !changing.contains(&&name[..]));
            kept.cloned().collect()
        };
        assert_eq!(others(&head), others(&got), "{path}");
    }
    let anybody = server.ask("GET", "/v1/_tokens").send();
    let challenge = anybody.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer ") && !challenge.contains("error"), "{challenge}");
    let unknown = server.ask("GET", "/v1/_tokens").bearer("unknown").send();
    assert!(unknown.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
}
