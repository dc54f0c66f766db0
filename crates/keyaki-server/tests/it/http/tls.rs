//! HTTPS by configuration, asked by curl.

use std::path::Path;
use std::process::Command;

use super::{ADMIN, Server};

/// A key and a certificate for it that only itself vouches for.
fn certify(dir: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem"])
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

#[test]
fn https_is_spoken_by_configuration() {
    let dir = tempfile::tempdir().unwrap();
    certify(dir.path());
    let path = |name: &str| dir.path().join(name).display().to_string();
    let config = path("keyaki.toml");
    let (certificate, key) = (path("cert.pem"), path("key.pem"));
    std::fs::write(&config, format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n"))
        .unwrap();
    let server = Server::on(&dir.path().join("store"), &["--config", &config]);
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
fn a_certificate_that_is_none_is_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    std::fs::write(&config, "[tls]\ncertificate = \"none.pem\"\nkey = \"none.pem\"\n").unwrap();
    let store = dir.path().join("store");
    let arguments =
        ["serve", "--data", store.to_str().unwrap(), "--config", config.to_str().unwrap()];
    crate::keyaki(&arguments).expect(2, &["tls"]);
}
