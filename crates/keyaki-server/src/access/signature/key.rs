//! Ed25519 public keys: how they are written, and how they are named.
//!
//! A key is named by its fingerprint, which is the `keyid` of its signatures: a keyid can't be
//! taken by another key, and nobody has to hand out names.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::{Fault, SignatureError};

const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";

/// The DER in front of the 32 bytes: a sequence of the algorithm 1.3.101.112 and a bit string.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// The points of small order, in every encoding, without the sign bit: nobody owns such a key, and
/// anybody can make signatures that it accepts. All zeros, a likely placeholder, is one of them.
const WEAK_KEYS: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// The lower-case hex SHA-256 of the raw key.
pub fn fingerprint(public_key: &[u8; 32]) -> String {
    hex(digest(&SHA256, public_key).as_ref())
}

/// Reads a key: its 32 bytes in base64, or a PEM file (SPKI).
pub fn parse_public_key(text: &str) -> Result<[u8; 32], SignatureError> {
    let text = text.trim();
    if !text.starts_with("-----") {
        return raw_key(&decode(text)?);
    }
    let body = text
        .strip_prefix(PEM_BEGIN)
        .and_then(|rest| rest.strip_suffix(PEM_END))
        .ok_or(Fault::PublicKey("the PEM is not one PUBLIC KEY"))?;
    let der = decode(&body.split_ascii_whitespace().collect::<String>())?;
    let raw = der.strip_prefix(&SPKI_PREFIX);
    raw_key(raw.ok_or(Fault::PublicKey("the key is of another kind"))?)
}

fn decode(text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|_| Fault::PublicKey("the base64 is malformed"))
}

fn raw_key(bytes: &[u8]) -> Result<[u8; 32], SignatureError> {
    let key: [u8; 32] = bytes.try_into().map_err(|_| Fault::PublicKey("the length is wrong"))?;
    let mut point = key;
    point[31] &= 0x7f;
    if WEAK_KEYS.contains(&hex(&point).as_str()) {
        return Err(Fault::PublicKey("anybody could sign with this key").into());
    }
    Ok(key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
