//! Several stores behind one server, and what they may be called.

use std::path::Path;

use serde_json::json;

use super::{Server, open_bucket};

/// A server with two embedded stores, neither of which is called `default`.
fn start(dir: &Path) -> Server {
    let mut text = "default_backend = \"embedded/fast\"\n".to_owned();
    for name in ["archive", "fast"] {
        text += &format!("[backend.embedded.{name}]\ndata = {:?}\n", dir.join(name));
    }
    let config = dir.join("keyaki.toml");
    std::fs::write(&config, text).unwrap();
    Server::on(&dir.join("nowhere"), &["--config", config.to_str().unwrap()])
}

#[test]
fn buckets_live_where_they_are_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path());
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    let places = [
        ("a", json!(null), "embedded/fast"),
        ("b", json!("default"), "embedded/fast"),
        ("c", json!("embedded/fast"), "embedded/fast"),
        // An engine's first is its default, if none is called so.
        ("d", json!("embedded"), "embedded/archive"),
        ("e", json!("embedded/default"), "embedded/archive"),
        ("f", json!("embedded/archive"), "embedded/archive"),
    ];
    for (name, backend, place) in &places {
        let path = format!("/v1/d.example/{name}");
        let mut settings = open_bucket();
        settings["backend"] = backend.clone();
        let put = || server.ask("PUT", &path).admin().json(&settings);
        let made = put();
        assert_eq!((made.status, &made.value()["backend"]), (201, &json!(place)), "{name}");
        assert_eq!(put().status, 200, "under the same alias: {name}");
        let item = server.ask("PUT", &format!("{path}/item")).admin().text(name);
        assert_eq!(item.status, 201, "{item:?}");
    }
    let mut settings = open_bucket();
    for unknown in ["embedded/slow", "cql", "fast"] {
        settings["backend"] = json!(unknown);
        let refused = server.ask("PUT", "/v1/d.example/g").admin().json(&settings);
        refused.demand_problem(422);
        assert_eq!(refused.value()["at"], "/backend");
    }
    settings["backend"] = json!("embedded/archive");
    server.ask("PUT", "/v1/d.example/a").admin().json(&settings).demand_problem(409);
    let metrics = server.ask("GET", "/metrics").admin().send();
    for place in ["embedded/fast", "embedded/archive"] {
        let measured = format!("keyaki_engine_disk_bytes{{backend=\"{place}\"}}");
        assert!(metrics.text().contains(&measured), "{place}");
    }
    assert_eq!(server.stop(), Some(0));
    assert!(!dir.path().join("nowhere").exists(), "nothing is kept there");
    let server = start(dir.path());
    for (name, ..) in &places {
        let item = server.ask("GET", &format!("/v1/d.example/{name}/item")).send();
        assert_eq!((item.status, item.text()), (200, *name));
    }
    assert_eq!(server.ask("DELETE", "/v1/d.example/f").admin().send().status, 204);
    server.ask("GET", "/v1/d.example/f/item").admin().send().demand_problem(404);
}
