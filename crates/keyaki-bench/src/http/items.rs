//! What is stored and asked for: items of 1 KiB in a bucket of revisions.

use serde_json::json;

use super::child::Server;
use super::user::{BUCKET, User, role};
use crate::Result;

pub const CONTENT_BYTES: usize = 1 << 10;
pub const CONTENT_TYPE: &str = "application/octet-stream";

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

/// Makes the bucket, and a user of it.
pub async fn user(server: &Server) -> Result<User> {
    let bucket = json!({"type": "revisions", "acl": {"read": role(), "write": role()}});
    User::with_bucket(server, &bucket, &[]).await
}

/// A PUT of content under a condition, which is a header line without its end.
pub fn put(user: &User, key: &str, condition: &str, content: &[u8]) -> Vec<u8> {
    let headers = format!(
        "content-type: {CONTENT_TYPE}\r\ncontent-length: {}\r\n{condition}\r\n",
        content.len()
    );
    user.request("PUT", &format!("{BUCKET}/{key}"), &headers, content)
}
