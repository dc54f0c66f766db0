//! Services that sign what they pass on (RFC 9421): each signature opens what it covers, and to a change but once.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keyaki::cell::{SystemWallClock, WallClock};
use serde_json::{Value, json};

use super::{Asked, Server, graph};
use crate::cql::within;

const ITEM: &str = "/v1/d.example/b/item";

cases! {
    a_signature_opens_what_it_covers,
    a_signature_opens_a_change_once,
    a_graph_takes_a_signed_change_once,
}

struct Service {
    pair: Ed25519KeyPair,
    fingerprint: String,
}

impl Service {
    /// One whose key is registered.
    fn registered(server: &Server) -> Self {
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).unwrap();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let public = pair.public_key().as_ref();
        let hash = digest(&SHA256, public);
        let fingerprint = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let service = Self { fingerprint, pair };
        let form = json!({"publicKey": STANDARD.encode(service.pair.public_key())});
        assert_eq!(server.ask("PUT", &service.path()).admin().json(&form).status, 201);
        service
    }

    fn path(&self) -> String {
        format!("/v1/_services/{}", self.fingerprint)
    }

    /// A request with its signature; `nonce` tells it from others of the same second.
    fn sign<'a>(
        &self,
        server: &'a Server,
        (method, path): (&'a str, &str),
        nonce: &str,
        body: &str,
    ) -> Signed<'a> {
        let authority = server.process.address.strip_prefix("http://").unwrap();
        let created = SystemWallClock.now_us() / 1_000_000;
        let claimed = format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body.as_bytes())));
        let covered = "\"@method\" \"@authority\" \"@path\" \"content-digest\"";
        let keyid = &self.fingerprint;
        let input = format!("({covered});created={created};keyid=\"{keyid}\";nonce=\"{nonce}\"");
        let base = format!(
            "\"@method\": {method}\n\"@authority\": {authority}\n\"@path\": {}\n\"content-digest\": {claimed}\n\
             \"@signature-params\": {input}",
            server.own(path)
        );
        let signature = STANDARD.encode(self.pair.sign(base.as_bytes()));
        let headers = [
            ("Content-Digest", claimed),
            ("Signature-Input", format!("s={input}")),
            ("Signature", format!("s=:{signature}:")),
        ];
        Signed { server, method, path: path.to_owned(), headers }
    }
}

/// A request that can be sent again as it is.
struct Signed<'a> {
    server: &'a Server,
    method: &'a str,
    path: String,
    headers: [(&'static str, String); 3],
}

impl<'a> Signed<'a> {
    fn ask(&self) -> Asked<'a> {
        self.ask_at(&self.path)
    }

    fn ask_at(&self, path: &str) -> Asked<'a> {
        self.put_on(self.server.ask(self.method, path))
    }

    /// The same request, to another server that is said to be this one.
    fn ask_another<'b>(&'b self, other: &'b Server) -> Asked<'b> {
        let authority = self.server.process.address.strip_prefix("http://").unwrap();
        self.put_on(other.ask(self.method, &self.path)).with("Host", authority)
    }

    fn put_on<'b>(&self, asked: Asked<'b>) -> Asked<'b> {
        self.headers.iter().fold(asked, |asked, (name, value)| asked.with(name, value))
    }
}

fn signed_by(service: &Service) -> Value {
    json!([[{"type": "serviceSignature", "allOf": [service.fingerprint]}]])
}

fn a_signature_opens_what_it_covers(server: &Server) {
    let service = Service::registered(server);
    let acl = json!({"read": signed_by(&service), "write": signed_by(&service)});
    server.with_bucket(json!({"type": "revisions", "acl": acl}));
    server.ask("PUT", ITEM).text("one").demand_problem(401);
    let signed = service.sign(server, ("PUT", ITEM), "1", "one");
    signed.ask().text("two").demand_problem(401);
    signed.ask_at("/v1/d.example/b/other").text("one").demand_problem(401);
    assert_eq!(signed.ask().text("one").status, 201, "what was refused has used nothing up");
    let read = service.sign(server, ("GET", ITEM), "2", "");
    assert_eq!((read.ask().send().text(), read.ask().send().text()), ("one", "one"));
    assert_eq!(server.ask("DELETE", &service.path()).admin().send().status, 204);
    read.ask().send().demand_problem(401);
}

fn a_signature_opens_a_change_once(server: &Server) {
    let service = Service::registered(server);
    let acl = json!({"read": [[{"type": "role", "anyOf": ["*"]}]], "write": signed_by(&service)});
    server.with_bucket(json!({"type": "revisions", "acl": acl}));
    let one = service.sign(server, ("PUT", ITEM), "1", "one");
    assert_eq!(one.ask().text("one").status, 201);
    one.ask().text("one").demand_problem(401);
    // Another key of an operation makes it no other request.
    one.ask().with("Idempotency-Key", "mine").text("one").demand_problem(401);
    let again = service.sign(server, ("PUT", ITEM), "2", "one");
    assert_eq!(again.ask().text("one").status, 200);
    let delete = service.sign(server, ("DELETE", ITEM), "3", "");
    assert_eq!(delete.ask().send().status, 200);
    assert_eq!(service.sign(server, ("PUT", ITEM), "4", "two").ask().text("two").status, 201);
    delete.ask().send().demand_problem(401);
    let revisions = server.ask("GET", &format!("{ITEM}/")).send().value();
    assert_eq!(revisions["items"].as_array().unwrap().len(), 4, "{revisions}");
    let form = json!({"from": "item", "to": "new"});
    let path = "/v1/d.example/b/_rename";
    let rename = service.sign(server, ("POST", path), "5", &form.to_string());
    assert_eq!(rename.ask().json(&form).status, 201);
    service.sign(server, ("PUT", ITEM), "6", "one").ask().text("one");
    rename.ask().json(&form).demand_problem(401);
    // Whoever needs no signature may send one as often as it likes.
    let signed = service.sign(server, ("PUT", ITEM), "7", "x");
    assert_eq!(signed.ask().admin().text("x").status, 200);
    assert_eq!(signed.ask().admin().text("x").status, 200);
}

/// Servers of one catalog, at which one signature is used.
pub fn a_signature_is_used_up_at_every_server(one: &Server, other: &Server) {
    let service = Service::registered(one);
    let acl = json!({"read": [[{"type": "role", "anyOf": ["*"]}]], "write": signed_by(&service)});
    one.with_bucket(json!({"type": "revisions", "acl": acl}));
    let put = service.sign(one, ("PUT", ITEM), "1", "one");
    assert_eq!(put.ask().text("one").status, 201);
    let delete = service.sign(one, ("DELETE", ITEM), "2", "");
    within(Duration::from_secs(5), "the other server knows bucket and key", || {
        delete.ask_another(other).send().status == 200
    });
    put.ask_another(other).text("one").demand_problem(401);
    delete.ask().send().demand_problem(401);
    assert_eq!(one.ask("GET", ITEM).send().status, 404, "nothing was done twice");
}

fn a_graph_takes_a_signed_change_once(server: &Server) {
    let service = Service::registered(server);
    graph::with_graph(server);
    let path = "/v1/d.example/g";
    let mut settings = server.ask("GET", path).admin().send().value();
    settings["acl"]["write"] = signed_by(&service);
    let kept = ["type", "options", "acl"].map(|name| (name.to_owned(), settings[name].clone()));
    let settings = Value::Object(kept.into_iter().collect());
    assert_eq!(server.ask("PUT", path).admin().json(&settings).status, 200);
    let elements = json!([graph::edge("a", "b", 1)]);
    let chain = json!({"class": "AddElements", "input": elements});
    for (path, body) in [("elements", &elements), ("graph/operations/execute", &chain)] {
        let path = format!("/v1/d.example/g/{path}");
        let signed = service.sign(server, ("POST", &path), "", &body.to_string());
        let first = signed.ask().json(body);
        assert_eq!(first.status, 200, "{first:?}");
        signed.ask().json(body).demand_problem(401);
    }
}
