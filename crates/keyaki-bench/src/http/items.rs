//! What is stored and asked for: a bucket that a user may use by its role, and items of 1 KiB.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::child::Server;
use super::wire::Connection;
use crate::Result;

pub const CONTENT_BYTES: usize = 1 << 10;
pub const CONTENT_TYPE: &str = "application/octet-stream";
const DOMAIN: &str = "/v1/bench.example";
pub const BUCKET: &str = "/v1/bench.example/items";

/// The content of an item: bytes that no compression makes smaller, others for every item.
pub fn content(item: u64) -> Vec<u8> {
    let mut state = item.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..CONTENT_BYTES / 8).flat_map(|_| next().to_be_bytes()).collect()
}

/// Who asks: where, and with which token.
#[derive(Clone)]
pub struct User {
    pub address: SocketAddr,
    token: String,
}

impl User {
    /// Makes a bucket, and a user who may read and write in it by a role.
    pub async fn with_bucket(server: &Server) -> Result<Self> {
        let admin = Self { address: server.address, token: server.admin().to_owned() };
        let mut connection = Connection::open(server.address).await?;
        let role = json!([[{"type": "role", "anyOf": ["bench"]}]]);
        let bucket = json!({"type": "revisions", "acl": {"read": role, "write": role}});
        for (path, form) in [(DOMAIN, json!({})), (BUCKET, bucket)] {
            connection.ask(&admin.form("PUT", path, &form)).await?.demand(201)?;
        }
        let user = json!({"user": "bench", "roles": ["bench"], "auths": []});
        let made = connection.ask(&admin.form("POST", "/v1/_tokens", &user)).await?.demand(201)?;
        let made: Value = serde_json::from_slice(made.body)?;
        let token = made["token"].as_str().ok_or("no token was made")?.to_owned();
        Ok(Self { address: server.address, token })
    }

    /// The same user after a restart, which may have moved the server.
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, token: self.token.clone() }
    }

    /// A request with further header lines, each with its end.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let Self { address, token } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{headers}\r\n"
        );
        [head.as_bytes(), body].concat()
    }

    fn form(&self, method: &str, path: &str, form: &Value) -> Vec<u8> {
        let form = form.to_string();
        let headers =
            format!("content-type: application/json\r\ncontent-length: {}\r\n", form.len());
        self.request(method, path, &headers, form.as_bytes())
    }

    /// A PUT of content under a condition, which is a header line without its end.
    pub fn put(&self, key: &str, condition: &str, content: &[u8]) -> Vec<u8> {
        let headers = format!(
            "content-type: {CONTENT_TYPE}\r\ncontent-length: {}\r\n{condition}\r\n",
            content.len()
        );
        self.request("PUT", &format!("{BUCKET}/{key}"), &headers, content)
    }
}
