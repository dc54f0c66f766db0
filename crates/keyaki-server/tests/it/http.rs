//! The server, asked over HTTP by a client that nobody here wrote.
//!
//! A case is written once, over a server that it has to itself or shares: it stays in its own domain, which it calls
//! `d.example`. On the embedded engine each case is a test with a server of its own; `cql.rs` runs all of them against
//! one server over a cluster. What needs a server that is stopped, killed or configured is a plain test.

/// Lists the cases of a file; one that is not listed is dead code.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub const CASES: &[super::Case] = &[$((stringify!($case), $case)),*];

        mod embedded {
            use super::super::Server;
            $(#[test]
            fn $case() {
                super::$case(&Server::start());
            })*
        }
    };
}

mod access; // tokens, ACLs, visibility, who may do what
mod backends; // several stores, and what they may be called
mod bounds; // how much at once
mod catalog; // domains, buckets, quotas
mod conditions; // RFC 9110, section 13
mod graph; // elements, chains of operations, Gaffer's own answers
mod input; // malformed, hostile and oversized requests
mod items; // revisions: content, history, renames, retention, listings
mod jwt; // JWTs by configuration
mod lifetime; // starting, stopping, being killed
mod metrics; // what /metrics tells
mod range; // RFC 9110, section 14
pub mod signatures; // RFC 9421
mod surface; // the document, the page to try it, and which methods there are
mod tls; // HTTPS by configuration
mod wire; // requests byte by byte, as no library would send them

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program;

const ADMIN: &str = "admin-token-of-these-tests";
/// What every case calls its domain.
const DOMAIN: &str = "d.example";

/// What a case is called, and what it does.
pub type Case = (&'static str, fn(&Server));

/// All that must hold on every engine.
pub fn cases() -> impl Iterator<Item = Case> {
    let files = [
        access::CASES,
        catalog::CASES,
        conditions::CASES,
        graph::CASES,
        graph::erase::CASES,
        graph::ingest::CASES,
        graph::jobs::CASES,
        graph::moves::CASES,
        graph::names::CASES,
        input::CASES,
        items::CASES,
        range::CASES,
        signatures::CASES,
        wire::CASES,
    ];
    files.into_iter().flatten().copied()
}

/// A server, and the domain that a case has there.
pub struct Server {
    process: Arc<Process>,
    domain: String,
    /// Of the last write that was acknowledged.
    session: Mutex<Option<String>>,
}

/// Ends with the last who asks it.
struct Process {
    child: Mutex<Child>,
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
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (child, address) = launch(&dir.path().join("store"), &[]);
        Self::of(child, address, Some(dir))
    }

    pub fn on(store: &Path, arguments: &[&str]) -> Self {
        let (child, address) = launch(store, arguments);
        Self::of(child, address, None)
    }

    fn of(child: Child, address: String, dir: Option<tempfile::TempDir>) -> Self {
        let process = Arc::new(Process { child: Mutex::new(child), address, _dir: dir });
        Self { process, domain: DOMAIN.to_owned(), session: Mutex::default() }
    }

    /// The same server, for a case that calls this domain its own.
    pub fn in_domain(&self, domain: String) -> Self {
        Self { process: self.process.clone(), domain, session: Mutex::default() }
    }

    /// What a case writes, with its own domain in it.
    pub fn own(&self, text: &str) -> String {
        text.replace(DOMAIN, &self.domain)
    }

    pub fn ask<'a>(&'a self, method: &'a str, path: &str) -> Asked<'a> {
        let path = self.own(path);
        Asked { server: self, method, path, headers: Vec::new(), body: Vec::new() }
    }

    /// A connection on which anything can be said.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.process.address.strip_prefix("http://").unwrap()).unwrap()
    }

    /// Sends text as it is, and answers all that comes back.
    pub fn raw(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(self.own(request).as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A domain and a bucket in it that anybody may read.
    pub fn with_bucket(&self, settings: Value) {
        assert_eq!(self.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
        let made = self.ask("PUT", "/v1/d.example/b").admin().json(&settings);
        assert_eq!(made.status, 201, "{made:?}");
    }

    /// A token of a user.
    pub fn token(&self, user: &str, roles: &[&str], auths: &[&str]) -> String {
        self.issue(user, roles, auths).1
    }

    /// A token of a user, behind where it can be revoked.
    pub fn issue(&self, user: &str, roles: &[&str], auths: &[&str]) -> (String, String) {
        let form = json!({"user": user, "roles": roles, "auths": auths});
        let made = self.ask("POST", "/v1/_tokens").admin().json(&form);
        assert_eq!(made.status, 201, "{made:?}");
        let (made, text) = (made.value(), |value: &Value| value.as_str().unwrap().to_owned());
        (format!("/v1/_tokens/{}", text(&made["id"])), text(&made["token"]))
    }

    pub fn kill(&self) {
        let mut child = self.process.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks it to stop, and answers its exit code.
    pub fn stop(self) -> Option<i32> {
        let mut child = self.process.child.lock().unwrap();
        let pid = child.id().to_string();
        let told = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(told.success());
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "it does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn launch(store: &Path, arguments: &[&str]) -> (Child, String) {
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
    (child, first.strip_prefix("Keyaki listens on ").expect(&first).to_owned())
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
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

    /// Demands an answer that shows all writes of this case.
    pub fn settled(self) -> Self {
        let session = self.server.session.lock().unwrap().clone();
        match session {
            Some(session) => self.with("Keyaki-Session", &session),
            None => self,
        }
    }

    pub fn json(self, body: &Value) -> Reply {
        self.with_json(body).send()
    }

    pub fn with_json(self, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { body, ..self.with("Content-Type", "application/json") }
    }

    pub fn text(self, body: &str) -> Reply {
        self.with("Content-Type", "text/plain").body(body.as_bytes())
    }

    pub fn body(mut self, body: &[u8]) -> Reply {
        self.body = body.to_vec();
        self.send()
    }

    pub fn send(self) -> Reply {
        self.try_send().unwrap()
    }

    /// The answer, if the server lives to give one.
    pub fn try_send(self) -> Result<Reply, ureq::Error> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build()
            .into();
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(format!("{}{}", self.server.process.address, self.path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = match self.body.is_empty() {
            true => agent.run(request.body(()).unwrap())?,
            false => agent.run(request.body(self.body).unwrap())?,
        };
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value)));
        let reply = Reply {
            status: response.status().as_u16(),
            headers: headers.collect(),
            bytes: response.body_mut().with_config().limit(64 << 20).read_to_vec()?,
        };
        if let Some(session) = reply.header("keyaki-session") {
            *self.server.session.lock().unwrap() = Some(session.to_owned());
        }
        Ok(reply)
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
