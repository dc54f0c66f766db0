//! What all JWT tests share: keys of each kind, and tokens with any header and claims.

mod claims;
mod headers;
mod keys;

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::*;

const NOW_S: u64 = 1_700_000_000;
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// A key pair as PEM.
struct Pair {
    public: String,
    private: String,
}

static RSA: LazyLock<Pair> = LazyLock::new(|| {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let private = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    let public = AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
    Pair {
        public: pem("PUBLIC KEY", public.as_ref()),
        private: pem("PRIVATE KEY", private.as_ref()),
    }
});

static ED: LazyLock<Pair> = LazyLock::new(|| {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[1; 32]).unwrap();
    let public = AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
    Pair {
        public: pem("PUBLIC KEY", public.as_ref()),
        private: pem("PRIVATE KEY", pair.to_pkcs8v1().unwrap().as_ref()),
    }
});

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// A key for each algorithm, without ids.
fn keys() -> JwtKeys {
    let keys = [JwtKey::hs256(SECRET), JwtKey::rs256(&RSA.public), JwtKey::ed_dsa(&ED.public)];
    keys_of(keys.into_iter().map(Result::unwrap).collect())
}

fn keys_of(keys: Vec<JwtKey>) -> JwtKeys {
    JwtKeys::new(keys, Required::default()).unwrap()
}

fn signing(algorithm: Algorithm) -> EncodingKey {
    match algorithm {
        Algorithm::EdDSA => EncodingKey::from_ed_pem(ED.private.as_bytes()).unwrap(),
        Algorithm::RS256 | Algorithm::RS512 | Algorithm::PS256 => {
            EncodingKey::from_rsa_pem(RSA.private.as_bytes()).unwrap()
        }
        _ => EncodingKey::from_secret(SECRET),
    }
}

/// A token with this header, whatever it says, that `algorithm` signs.
fn token_of(header: &Value, claims: &str, algorithm: Algorithm, key: &EncodingKey) -> String {
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// An honest token.
fn token(algorithm: Algorithm, claims: &Value) -> String {
    let header = json!({"typ": "JWT", "alg": algorithm});
    token_of(&header, &claims.to_string(), algorithm, &signing(algorithm))
}

fn good_claims() -> Value {
    json!({"sub": "ann", "exp": NOW_S + 60})
}

/// Good claims with one of them changed.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = good_claims();
    claims[name] = value;
    claims
}
