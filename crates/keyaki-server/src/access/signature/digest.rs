//! `Content-Digest` (RFC 9530): does the body have the digest that the header claims?
//!
//! Every digest that we can compute must fit, and there must be one. Digests of other algorithms
//! are skipped, as the RFC asks. A signature makes the header trustworthy; this makes the body so.

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};

use super::error::{Fault, SignatureError};
use super::fields::dictionary;
use super::params::byte_sequence;

pub(super) const HEADER: HeaderName = HeaderName::from_static("content-digest");
const FIELD: &str = "Content-Digest";

/// Checks the body against the header.
pub fn check_content_digest(header: &HeaderValue, body: &[u8]) -> Result<(), SignatureError> {
    let unprintable = |_| Fault::Unprintable(format!("\"{HEADER}\""));
    let mut claimed = dictionary(FIELD, header.to_str().map_err(unprintable)?)?;
    let mut checked = false;
    for (name, algorithm) in [("sha-256", &SHA256), ("sha-512", &SHA512)] {
        let Some(entry) = claimed.swap_remove(name) else { continue };
        let bytes = byte_sequence(entry).ok_or(Fault::Member(FIELD))?;
        if bytes != digest(algorithm, body).as_ref() {
            return Err(Fault::Digest(name).into());
        }
        checked = true;
    }
    if checked { Ok(()) } else { Err(Fault::NoDigest.into()) }
}

/// The header's value for a body, as a client sends it.
pub fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body)))
}
