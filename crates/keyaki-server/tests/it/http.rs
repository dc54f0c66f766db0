//! The server, asked over HTTP by a client that nobody here wrote.

mod access; // tokens, ACLs, visibility, who may do what
mod catalog; // domains, buckets, quotas
mod conditions; // RFC 9110, section 13
mod input; // malformed, hostile and oversized requests
mod items; // revisions: content, history, renames, retention, listings
mod lifetime; // starting, stopping, being killed
mod metrics; // what /metrics tells

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program;

const ADMIN: &str = "admin-token-of-these-tests";

/// A server that ends with its test.
pub struct Server {
    child: Child,
    address: String,
    /// Where its store is, unless it is kept elsewhere.
    _dir: Option<tempfile::TempDir>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub bytes: Vec<u8>,
}

/// A request on its way.
pub struct Asked<'a> {
    server: &'a Server,
    method: &'a str,
    path: &'a str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Self::on(&dir.path().join("store"), &[]);
        server._dir = Some(dir);
        server
    }

    pub fn on(store: &Path, arguments: &[&str]) -> Self {
        let mut child = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(store)
            .args(arguments)
            .env("KEYAKI_ADMIN_TOKEN", ADMIN)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says where it listens").unwrap();
        let address = first.strip_prefix("Keyaki listens on ").expect(&first).to_owned();
        Self { child, address, _dir: None }
    }

    pub fn ask<'a>(&'a self, method: &'a str, path: &'a str) -> Asked<'a> {
        Asked { server: self, method, path, headers: Vec::new(), body: Vec::new() }
    }

    /// A domain and a bucket in it that anybody may read.
    pub fn with_bucket(self, settings: Value) -> Self {
        assert_eq!(self.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
        let made = self.ask("PUT", "/v1/d.example/b").admin().json(&settings);
        assert_eq!(made.status, 201, "{made:?}");
        self
    }

    /// A token of a user.
    pub fn token(&self, user: &str, roles: &[&str], auths: &[&str]) -> String {
        let form = json!({"user": user, "roles": roles, "auths": auths});
        let made = self.ask("POST", "/v1/_tokens").admin().json(&form);
        assert_eq!(made.status, 201, "{made:?}");
        made.value()["token"].as_str().unwrap().to_owned()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and answers its exit code.
    pub fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let told = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(told.success());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "it does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Asked<'_> {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn admin(self) -> Self {
        self.bearer(ADMIN)
    }

    pub fn bearer(self, token: &str) -> Self {
        let value = format!("Bearer {token}");
        self.with("Authorization", &value)
    }

    pub fn json(self, body: &Value) -> Reply {
        self.with("Content-Type", "application/json").body(body.to_string().as_bytes())
    }

    pub fn text(self, body: &str) -> Reply {
        self.with("Content-Type", "text/plain").body(body.as_bytes())
    }

    pub fn body(mut self, body: &[u8]) -> Reply {
        self.body = body.to_vec();
        self.send()
    }

    pub fn send(self) -> Reply {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build()
            .into();
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(format!("{}{}", self.server.address, self.path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = match self.body.is_empty() {
            true => agent.run(request.body(()).unwrap()).unwrap(),
            false => agent.run(request.body(self.body).unwrap()).unwrap(),
        };
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value)));
        Reply {
            status: response.status().as_u16(),
            headers: headers.collect(),
            bytes: response.body_mut().with_config().limit(64 << 20).read_to_vec().unwrap(),
        }
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &value[..])
    }

    pub fn etag(&self) -> &str {
        self.header("etag").expect("there is a tag")
    }

    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    /// Demands a problem document of this status.
    #[track_caller]
    pub fn demand_problem(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.value();
        assert_eq!(problem["status"], status);
        for member in ["type", "title", "detail", "instance"] {
            assert!(problem[member].is_string(), "{problem}");
        }
    }
}

/// Settings of a bucket that anybody may read, and editors write.
pub fn open_bucket() -> Value {
    json!({"type": "revisions", "acl": {
        "read": [[{"type": "role", "anyOf": ["*"]}]],
        "write": [[{"type": "role", "anyOf": ["editor"]}]],
    }})
}
