//! HTTP message signatures (RFC 9421) with Ed25519: who signed this request?
//!
//! The invariant: `verify_all` names a keyid only if that key signed this very request, recently,
//! and one bad signature of a known key refuses the request whole. Signatures of keys unknown here
//! (a proxy's, say) are ignored, whatever they cover, as long as the fields are well formed.
//!
//! Nothing is remembered here: a `nonce` is part of what is signed, but the same request verifies
//! again until `created` is too old. Whoever lets it change something remembers its digest. The body
//! is `check_content_digest`'s matter: a signature covers only the digest that the header claims.
//!
//! `fields` reads header lines, `params` pairs labels and judges time, `base` builds what is
//! signed.

mod base;
mod digest;
mod error;
mod fields;
mod key;
mod params;
mod query;
#[cfg(test)]
mod tests;

pub use digest::{check_content_digest, content_digest};
pub use error::{Fault, SignatureError};
pub use key::{fingerprint, parse_public_key};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use sfv::KeyRef;

use base::Component;
use params::{Signature, Times};

/// A request as the signer saw it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub method: &'a str,
    pub scheme: &'a str,
    /// The host, and the port if it is not the scheme's own.
    pub authority: &'a str,
    /// Raw, as on the wire.
    pub path: &'a str,
    /// Raw and without its question mark; `Some("")` if there is nothing but the mark.
    pub query: Option<&'a str>,
    pub headers: &'a HeaderMap,
    pub has_body: bool,
}

/// What a signature must be like, beyond being right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The age in seconds from which on a signature is too old.
    pub max_age_s: u64,
    pub coverage: Coverage,
}

impl Default for Policy {
    fn default() -> Self {
        Self { max_age_s: 300, coverage: Coverage::Request }
    }
}

/// Which components a signature must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All that makes a request do what it does: `@method`, `@authority`, one of `@path`,
    /// `@target-uri` and `@request-target`, `@query` if there is one, `content-digest` if there is
    /// a body.
    Request,
    /// What the signer chose: not enough to act on a request.
    Chosen,
}

/// A signature that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub keyid: String,
    /// SHA-256 of what was signed, by which it is known again.
    pub digest: [u8; 32],
}

/// Who has signed, each once: two labels of one key are still one signer.
pub fn signers(signed: &[Signed]) -> Vec<String> {
    let mut keyids: Vec<String> = Vec::new();
    for Signed { keyid, .. } in signed {
        if !keyids.contains(keyid) {
            keyids.push(keyid.clone());
        }
    }
    keyids
}

/// The signatures on the message that hold; none if nothing is signed.
///
/// `keys` answers the public key of a keyid, or `None` for one that is unknown here. A signature
/// without a keyid is nobody's and ignored too.
pub fn verify_all(
    message: &Message<'_>,
    keys: &dyn Fn(&str) -> Option<[u8; 32]>,
    now_s: u64,
    policy: &Policy,
) -> Result<Vec<Signed>, SignatureError> {
    let mut verified = Vec::new();
    for signature in params::signatures(message.headers)? {
        let at = |fault: Fault| fault.of(&signature.label);
        let Some(keyid) = signature.keyid().map_err(at)? else { continue };
        let Some(key) = keys(keyid) else { continue };
        let digest = verify(message, &signature, &key, now_s, policy).map_err(at)?;
        verified.push(Signed { keyid: keyid.to_owned(), digest });
    }
    Ok(verified)
}

fn verify(
    message: &Message<'_>,
    signature: &Signature,
    key: &[u8; 32],
    now_s: u64,
    policy: &Policy,
) -> Result<[u8; 32], Fault> {
    Times::of(&signature.input)?.check(now_s, policy.max_age_s)?;
    let components = base::components(&signature.input)?;
    if policy.coverage == Coverage::Request {
        check_coverage(message, &components)?;
    }
    let base = base::signature_base(message, &signature.input, &components)?;
    UnparsedPublicKey::new(&ED25519, key)
        .verify(base.as_bytes(), &signature.bytes)
        .map_err(|_| Fault::Wrong)?;
    let digest = digest(&SHA256, base.as_bytes());
    Ok(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

fn check_coverage(message: &Message<'_>, covered: &[Component]) -> Result<(), Fault> {
    let demand = |name, any_of: &[Component]| {
        let is_covered = any_of.iter().any(|component| covered.contains(component));
        if is_covered { Ok(()) } else { Err(Fault::NotCovered(name)) }
    };
    demand("@method", &[Component::Method])?;
    demand("@authority", &[Component::Authority])?;
    demand("@path", &[Component::Path, Component::TargetUri, Component::RequestTarget])?;
    if message.query.is_some() {
        demand("@query", &[Component::Query])?;
    }
    if message.has_body {
        demand("content-digest", &[Component::Field(digest::HEADER)])?;
    }
    Ok(())
}

/// Signs as a client does: answers the values of `Signature-Input` and `Signature`.
///
/// A component is a name such as `@method` or `content-digest`, with parameters behind it if it has
/// any: `@query-param;name="q"`. A second signature is another line of the same two headers.
pub fn sign(
    request: &Message<'_>,
    label: &str,
    components: &[&str],
    key: &Ed25519KeyPair,
    created: u64,
    keyid: &str,
) -> Result<(String, String), SignatureError> {
    let at = |fault: Fault| fault.of(label);
    KeyRef::from_str(label).map_err(|_| at(Fault::Label))?;
    let input = params::input(components, created, keyid).map_err(at)?;
    let covered = base::components(&input).map_err(at)?;
    let base = base::signature_base(request, &input, &covered).map_err(at)?;
    let bytes = STANDARD.encode(key.sign(base.as_bytes()));
    Ok((format!("{label}={}", base::serialize(&input)), format!("{label}=:{bytes}:")))
}
