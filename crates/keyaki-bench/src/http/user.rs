//! Who asks: a bucket, and a user who may read and write in it by a role.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::child::Server;
use super::wire::Connection;
use crate::Result;

const DOMAIN: &str = "/v1/bench.example";
pub const BUCKET: &str = "/v1/bench.example/items";
const ROLE: &str = "bench";

/// Who has the user's role, as ACLs say it.
pub fn role() -> Value {
    json!([[{"type": "role", "anyOf": [ROLE]}]])
}

/// Who asks: where, and with which token.
#[derive(Clone)]
pub struct User {
    pub address: SocketAddr,
    token: String,
}

impl User {
    /// Makes the bucket, and a user with the role and these authorisations.
    pub async fn with_bucket(server: &Server, bucket: &Value, auths: &[&str]) -> Result<Self> {
        let admin = Self { address: server.address, token: server.admin().to_owned() };
        let mut connection = Connection::open(server.address).await?;
        for (path, form) in [(DOMAIN, &json!({})), (BUCKET, bucket)] {
            connection.ask(&admin.form("PUT", path, form)).await?.demand(201)?;
        }
        let user = json!({"user": "bench", "roles": [ROLE], "auths": auths});
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

    /// A request whose body is JSON.
    pub fn form(&self, method: &str, path: &str, form: &Value) -> Vec<u8> {
        let form = form.to_string();
        let headers =
            format!("content-type: application/json\r\ncontent-length: {}\r\n", form.len());
        self.request(method, path, &headers, form.as_bytes())
    }
}
