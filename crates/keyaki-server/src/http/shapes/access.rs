//! Tokens and services' keys.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a new token is to give.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenForm {
    /// Who it speaks for.
    #[schema(schema_with = super::settings::name)]
    pub user: String,
    /// With which roles.
    #[serde(default)]
    #[schema(schema_with = super::settings::names)]
    pub roles: Vec<String>,
    /// And which authorisations, to see cells that carry a visibility.
    #[serde(default)]
    #[schema(schema_with = super::settings::names)]
    pub auths: Vec<String>,
    /// Until when, which is yet to come; for ever if it is not said.
    #[serde(default)]
    #[schema(schema_with = super::settings::time_to_come)]
    pub expires: Option<String>,
}

/// A token that has just been made.
#[derive(Serialize, ToSchema)]
pub struct TokenMade {
    #[schema(format = "uuid")]
    pub id: String,
    /// The token itself, shown this once.
    pub token: String,
}

/// A token, without itself.
#[derive(Serialize, ToSchema)]
pub struct TokenShown {
    #[schema(format = "uuid")]
    pub id: String,
    pub user: String,
    pub roles: Vec<String>,
    pub auths: Vec<String>,
    #[schema(format = DateTime, required = true)]
    pub expires: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub time: String,
}

/// A service's public key.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceForm {
    /// An Ed25519 key in base64, or as PEM.
    #[schema(
        pattern = r"^([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=|-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=\n-----END PUBLIC KEY-----\n)$",
        example = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    )]
    pub public_key: String,
    #[serde(default)]
    pub description: String,
}

/// A service's key, as it is kept.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceShown {
    /// SHA-256 of the raw key, in hexadecimal.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub fingerprint: String,
    pub public_key: String,
    pub description: String,
    #[schema(format = "uuid")]
    pub tid: String,
}
