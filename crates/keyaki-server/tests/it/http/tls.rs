//! HTTPS by configuration, asked by curl.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{ADMIN, Server};

/// A key and a certificate for it that only itself vouches for.
fn certify(dir: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key.pem"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-out", "cert.pem"])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn curl(dir: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let asked = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20"])
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    (asked.status.code(), String::from_utf8_lossy(&asked.stdout).into_owned())
}

/// A server that speaks HTTPS, with its certificate in `dir`.
fn start(dir: &Path) -> Server {
    certify(dir);
    let path = |name: &str| dir.join(name).display().to_string();
    let config = path("keyaki.toml");
    let (certificate, key) = (path("cert.pem"), path("key.pem"));
    std::fs::write(&config, format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n"))
        .unwrap();
    Server::on(&dir.join("store"), &["--config", &config])
}

#[test]
fn https_is_spoken_by_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path());
    let address = server.process.address.clone();
    assert!(address.starts_with("https://"), "{address}");
    let bearer = format!("Authorization: Bearer {ADMIN}");
    let trusting = ["--cacert", "cert.pem", "--write-out", " %{http_code} %{http_version}"];
    for (version, said) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let health = format!("{address}/healthz");
        let (code, text) = curl(dir.path(), &[&trusting[..], &[version, &health]].concat());
        assert_eq!(
            (code, &text[..]),
            (Some(0), &format!("{{\"status\":\"alive\"}} 200 {said}")[..])
        );
    }
    let domain = format!("{address}/v1/d.example");
    let made = ["--request", "PUT", "--header", &bearer, "--data", "{}"];
    let json = ["--header", "Content-Type: application/json", &domain];
    let (_, text) = curl(dir.path(), &[&trusting[..], &made, &json].concat());
    assert!(text.ends_with(" 201 2"), "{text}");
    let (code, _) = curl(dir.path(), &[&domain]);
    assert_eq!(code, Some(60), "nobody else vouches for it");
    let plain = address.replace("https://", "http://");
    let (code, _) = curl(dir.path(), &[&format!("{plain}/healthz")]);
    assert_ne!(code, Some(0), "and nothing is said in the clear");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_program_asks_a_server_over_https() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path());
    let address = &server.process.address;
    let bearer = format!("Authorization: Bearer {ADMIN}");
    let put = |path: &str, settings: &Value| {
        let (url, settings) = (format!("{address}{path}"), settings.to_string());
        let asked = ["--cacert", "cert.pem", "--request", "PUT", "--header", &bearer];
        let body = ["--header", "Content-Type: application/json", "--data", &settings];
        let (code, text) = curl(dir.path(), &[&asked[..], &body, &["--fail", &url]].concat());
        assert_eq!(code, Some(0), "{text}");
    };
    put("/v1/d.example", &json!({}));
    let graph = json!({"type": "graph", "options": {"schema": super::graph::schema()}});
    put("/v1/d.example/g", &graph);
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (from, to, ca) = (path("from.ndjson"), path("to"), path("cert.pem"));
    std::fs::write(&from, super::graph::edge("a", "b", 1).to_string()).unwrap();
    let remote = ["--server", address, "--token", ADMIN];
    let trusting = [&remote[..], &["--ca", &ca]].concat();
    let import = |remote: &[&str]| {
        crate::keyaki(&[&["import", "d.example/g", &from, "--retries", "0"], remote].concat())
    };
    import(&trusting).expect(0, &["1"]);
    let export = ["export", "d.example/g", &to, "--format", "ndjson"];
    crate::keyaki(&[&export[..], &trusting].concat()).expect(0, &["exported 1"]);
    // Nobody else vouches for it, and nothing is said in the clear.
    assert_ne!(import(&remote).code, Some(0));
    let plain = address.replace("https://", "http://");
    let plain = ["--server", &plain, "--token", ADMIN];
    assert_ne!(import(&plain).code, Some(0));
}

#[test]
fn a_certificate_that_is_none_is_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    std::fs::write(&config, "[tls]\ncertificate = \"none.pem\"\nkey = \"none.pem\"\n").unwrap();
    let store = dir.path().join("store");
    let arguments =
        ["serve", "--data", store.to_str().unwrap(), "--config", config.to_str().unwrap()];
    crate::keyaki(&arguments).expect(2, &["tls"]);
}
