//! What a verified token says, checked claim by claim.
//!
//! Claims arrive as any JSON and leave typed: a wrong type is refused by name and never read as
//! absence, and a claim given twice is refused by the decoder. `check` runs on claims whose
//! signature held; it trusts the signer but not the signer's care.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::JwtError;

/// How far our clock and the issuer's may differ.
const LEEWAY_S: u64 = 30;
/// Above this a JSON number with a fraction has no exact second.
const FRACTION_S_MAX: f64 = 9.0e15;

/// Who a token speaks for, and what it grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Whom the token is about: not empty, no control characters.
    pub subject: String,
    /// Roles, without `admin` unless the key may grant it.
    pub roles: Vec<String>,
    /// Authorisations to see cells.
    pub auths: Vec<String>,
    /// The second after which the token is no longer valid, leeway aside.
    pub expires: u64,
}

/// What claims must say for a token to be meant for us; `None` demands nothing.
#[derive(Debug, Clone, Default)]
pub struct Required {
    pub issuer: Option<String>,
    pub audience: Option<String>,
}

/// The claims we look at, as they came.
#[derive(Deserialize)]
pub(super) struct RawClaims {
    #[serde(default, deserialize_with = "present")]
    sub: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    exp: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    nbf: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    iss: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    aud: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    roles: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    auths: Option<Value>,
}

/// Keeps a `null` apart from a claim that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl RawClaims {
    /// Reads the middle part of a token. The library's own reader would look at the system's clock.
    pub(super) fn decode(payload: &str) -> Result<Self, JwtError> {
        let json = URL_SAFE_NO_PAD.decode(payload).map_err(|_| JwtError::Malformed)?;
        // Else an array would be read as the claims in their order here.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(JwtError::Malformed);
        }
        serde_json::from_slice(&json).map_err(|_| JwtError::Malformed)
    }

    /// The claims, if they are whole, timely and meant for us.
    pub(super) fn check(self, required: &Required, now_s: u64) -> Result<Claims, JwtError> {
        let expires = seconds("exp", self.exp.as_ref().ok_or(JwtError::Missing("exp"))?)?;
        if now_s >= expires.saturating_add(LEEWAY_S) {
            return Err(JwtError::Expired);
        }
        if let Some(nbf) = &self.nbf
            && seconds("nbf", nbf)? > now_s.saturating_add(LEEWAY_S)
        {
            return Err(JwtError::NotYet);
        }
        check_issuer(self.iss, required)?;
        check_audience(self.aud, required)?;
        let subject = text("sub", self.sub.ok_or(JwtError::Missing("sub"))?)?;
        if subject.is_empty() || subject.chars().any(char::is_control) {
            return Err(JwtError::Subject);
        }
        let roles = texts("roles", self.roles)?;
        let auths = texts("auths", self.auths)?;
        Ok(Claims { subject, roles, auths, expires })
    }
}

fn check_issuer(iss: Option<Value>, required: &Required) -> Result<(), JwtError> {
    let Some(wanted) = &required.issuer else { return Ok(()) };
    let issuer = text("iss", iss.ok_or(JwtError::Missing("iss"))?)?;
    if issuer == *wanted { Ok(()) } else { Err(JwtError::Issuer) }
}

fn check_audience(aud: Option<Value>, required: &Required) -> Result<(), JwtError> {
    let Some(wanted) = &required.audience else { return Ok(()) };
    let audiences = match aud.ok_or(JwtError::Missing("aud"))? {
        Value::String(one) => vec![one],
        many => texts("aud", Some(many))?,
    };
    if audiences.contains(wanted) { Ok(()) } else { Err(JwtError::Audience) }
}

/// A point in time. RFC 7519 allows a fraction, and some issuers send one.
fn seconds(claim: &'static str, value: &Value) -> Result<u64, JwtError> {
    let fraction = || value.as_f64().filter(|s| (0.0..FRACTION_S_MAX).contains(s));
    value
        .as_u64()
        .or_else(|| fraction().map(|s| s as u64))
        .ok_or(JwtError::Type { claim, expected: "a number of seconds" })
}

fn text(claim: &'static str, value: Value) -> Result<String, JwtError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(JwtError::Type { claim, expected: "a string" }),
    }
}

fn texts(claim: &'static str, value: Option<Value>) -> Result<Vec<String>, JwtError> {
    let wrong = JwtError::Type { claim, expected: "an array of strings" };
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            values.into_iter().map(|value| text(claim, value).map_err(|_| wrong.clone())).collect()
        }
        Some(_) => Err(wrong),
    }
}
