//! The keys of a configuration, each bound to its one algorithm.
//!
//! A `JwtKey` exists only if it is strong enough and of the kind it was announced as, so `verify`
//! never meets a weak one. Private keys and certificates are refused: they are not what a verifier
//! should hold, and taking them would hide a mistake.

use aws_lc_rs::signature::RsaParameters;
use jsonwebtoken::{Algorithm, DecodingKey, crypto};

use super::JwtError;

const SECRET_BYTES_MIN: usize = 32;
const RSA_BITS_MIN: u32 = 2048;
const RSA_BITS_MAX: u32 = 8192;
const PEM_BEGIN: &str = "-----BEGIN ";

/// A key for one algorithm. Printing it shows no secret.
#[derive(Debug, Clone)]
pub struct JwtKey {
    id: Option<String>,
    algorithm: Algorithm,
    decoding: DecodingKey,
    admin_role_allowed: bool,
}

impl JwtKey {
    /// A shared secret for HS256, of at least 32 bytes.
    pub fn hs256(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::ShortSecret(secret.len()));
        }
        // A public key pasted here would let everybody who knows it sign.
        if secret.trim_ascii_start().starts_with(PEM_BEGIN.as_bytes()) {
            return Err(KeyError::PemSecret);
        }
        Ok(Self::new(Algorithm::HS256, DecodingKey::from_secret(secret)))
    }

    /// An RSA public key of at least 2048 bits for RS256, as PEM (SPKI or PKCS #1).
    pub fn rs256(pem: &str) -> Result<Self, KeyError> {
        check_label(pem, &["PUBLIC KEY", "RSA PUBLIC KEY"])?;
        let key = DecodingKey::from_rsa_pem(pem.as_bytes()).map_err(|_| KeyError::NotRsa)?;
        let der = key.try_get_as_bytes().map_err(|_| KeyError::NotRsa)?;
        let bits = RsaParameters::public_modulus_len(der).map_err(|_| KeyError::NotRsa)?;
        if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
            return Err(KeyError::RsaBits(bits));
        }
        Ok(Self::new(Algorithm::RS256, key))
    }

    /// An Ed25519 public key for EdDSA, as PEM (SPKI).
    pub fn ed_dsa(pem: &str) -> Result<Self, KeyError> {
        check_label(pem, &["PUBLIC KEY"])?;
        let key = DecodingKey::from_ed_pem(pem.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
        let raw = key.try_get_as_bytes().map_err(|_| KeyError::NotEd25519)?;
        if raw.len() != 32 {
            return Err(KeyError::NotEd25519);
        }
        Ok(Self::new(Algorithm::EdDSA, key))
    }

    fn new(algorithm: Algorithm, decoding: DecodingKey) -> Self {
        Self { id: None, algorithm, decoding, admin_role_allowed: false }
    }

    /// Names the key. A token with a `kid` is verified only by the key of that id.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Lets tokens of this key grant the role `admin`, which is else dropped from their roles, and speak for the user of
    /// that name, which is else refused.
    pub fn allow_admin_role(mut self) -> Self {
        self.admin_role_allowed = true;
        self
    }

    /// The id that a token's `kid` must equal.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether the signature, in base64, is this key's by this key's algorithm.
    pub(super) fn has_signed(&self, message: &str, signature: &str) -> Result<bool, JwtError> {
        crypto::verify(signature, message.as_bytes(), &self.decoding, self.algorithm)
            .map_err(|_| JwtError::Malformed)
    }

    pub(super) fn admin_role_allowed(&self) -> bool {
        self.admin_role_allowed
    }
}

fn check_label(pem: &str, wanted: &[&str]) -> Result<(), KeyError> {
    let begin = pem.trim_start().strip_prefix(PEM_BEGIN).ok_or(KeyError::NotPem)?;
    let (label, _) = begin.split_once("-----").ok_or(KeyError::NotPem)?;
    if wanted.contains(&label) { Ok(()) } else { Err(KeyError::NotPublic(label.to_owned())) }
}

/// Why a configured key was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("an HS256 secret needs at least 32 bytes; this has {0}")]
    ShortSecret(usize),
    #[error("an HS256 secret can't be a PEM file: was a public key meant?")]
    PemSecret,
    #[error("the key is not PEM: it must start with -----BEGIN PUBLIC KEY-----")]
    NotPem,
    #[error("the PEM holds a {0}; a public key is needed")]
    NotPublic(String),
    #[error("the PEM holds no RSA public key")]
    NotRsa,
    #[error("an RSA key needs 2048 to 8192 bits; this has {0}")]
    RsaBits(u32),
    #[error("the PEM holds no Ed25519 public key")]
    NotEd25519,
    #[error("two keys have the id {0}")]
    RepeatedId(String),
}
