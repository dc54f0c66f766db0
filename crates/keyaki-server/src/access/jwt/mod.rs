//! Bearer JWTs: is this token ours to believe, and what does it claim?
//!
//! The invariant: the algorithm is that of the configured key. A token's header may choose among
//! our keys, by `kid` or by `alg`, but never how a key is used; so `none`, and an RSA public key
//! offered as an HMAC secret, find no key at all. Nothing in a token is fetched or followed (`jku`,
//! `x5u`, `jwk`), and claims are read only after the signature held. Time is an argument.

mod claims;
mod key;
#[cfg(test)]
mod tests;

pub use claims::{Claims, Required};
pub use key::{JwtKey, KeyError};

use jsonwebtoken::{Header, decode_header};
use keyaki::catalog::ADMIN;

use claims::RawClaims;

/// Longer tokens are refused unread.
const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// The keys that tokens may be signed with, and what their claims must say.
#[derive(Debug)]
pub struct JwtKeys {
    keys: Vec<JwtKey>,
    required: Required,
}

impl JwtKeys {
    /// Refuses two keys of one id, since a `kid` must choose one.
    pub fn new(keys: Vec<JwtKey>, required: Required) -> Result<Self, KeyError> {
        for (index, key) in keys.iter().enumerate() {
            if let Some(id) = key.id()
                && keys[..index].iter().any(|other| other.id() == Some(id))
            {
                return Err(KeyError::RepeatedId(id.to_owned()));
            }
        }
        Ok(Self { keys, required })
    }

    /// The claims of a token that one of the keys signed and that is valid at `now_s`.
    pub fn verify(&self, token: &str, now_s: u64) -> Result<Claims, JwtError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(JwtError::TooLong);
        }
        let header = decode_header(token).map_err(|_| JwtError::Header)?;
        // We understand no extension, and what is critical must be understood.
        if header.crit.is_some() {
            return Err(JwtError::Critical);
        }
        let (key, raw) = self.open(token, &header)?;
        let mut claims = raw.check(&self.required, now_s)?;
        if !key.admin_role_allowed() {
            // What the admin token has made is owned under this name.
            if claims.subject == ADMIN {
                return Err(JwtError::Admin);
            }
            claims.roles.retain(|role| role != ADMIN);
        }
        Ok(claims)
    }

    /// Finds the key whose signature this is, and only then reads the claims.
    fn open(&self, token: &str, header: &Header) -> Result<(&JwtKey, RawClaims), JwtError> {
        let (message, signature) = token.rsplit_once('.').ok_or(JwtError::Malformed)?;
        let (_, payload) = message.split_once('.').ok_or(JwtError::Malformed)?;
        for key in self.candidates(header)? {
            if key.has_signed(message, signature)? {
                return Ok((key, RawClaims::decode(payload)?));
            }
        }
        Err(JwtError::Signature)
    }

    fn candidates(&self, header: &Header) -> Result<Vec<&JwtKey>, JwtError> {
        let mut keys: Vec<_> = self.keys.iter().collect();
        if let Some(kid) = &header.kid {
            keys.retain(|key| key.id() == Some(kid));
            if keys.is_empty() {
                return Err(JwtError::UnknownKey);
            }
        }
        keys.retain(|key| key.algorithm() == header.alg);
        if keys.is_empty() { Err(JwtError::Algorithm) } else { Ok(keys) }
    }
}

/// Why a token was refused. The texts never repeat what the token says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    #[error("the token is longer than 8 KiB")]
    TooLong,
    #[error("the token's header is malformed or its algorithm is unknown")]
    Header,
    #[error("the token's header demands an extension that is not supported")]
    Critical,
    #[error("no key has the token's kid")]
    UnknownKey,
    #[error("no key that may verify the token has its algorithm")]
    Algorithm,
    #[error("the token's signature is wrong")]
    Signature,
    #[error("the token is malformed")]
    Malformed,
    #[error("the claim {0} is missing")]
    Missing(&'static str),
    #[error("the claim {claim} must be {expected}")]
    Type { claim: &'static str, expected: &'static str },
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYet,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    #[error("the subject is empty or has control characters")]
    Subject,
    #[error("the subject is `admin`, and the token's key may not speak for admins")]
    Admin,
}
