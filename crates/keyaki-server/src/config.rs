//! `keyaki.toml`: where to listen, where buckets live, who signs tokens, and how much is too much. Unknown settings are
//! refused, so that a typing error doesn't pass in silence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

/// What a file may say; flags go over it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port.
    pub listen: Option<String>,
    /// Where the embedded store is, if no backend is configured.
    pub data: Option<PathBuf>,
    /// The backend of buckets that name none, and of the catalog.
    pub default_backend: Option<String>,
    #[serde(default)]
    pub backend: BackendTables,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub metrics: MetricsTable,
    pub tls: Option<TlsTable>,
    #[serde(default)]
    pub cors: CorsTable,
    #[serde(default)]
    pub jwt: JwtTable,
}

/// Backends by engine and name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackendTables {
    #[serde(default)]
    pub embedded: BTreeMap<String, EmbeddedTable>,
    #[serde(default)]
    pub cql: BTreeMap<String, CqlTable>,
}

/// An embedded store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddedTable {
    pub data: PathBuf,
    #[serde(default)]
    pub cache_mib: Option<usize>,
    /// Acknowledges before the disk has it, at most so long.
    #[serde(default)]
    pub sync_interval_ms: Option<u64>,
}

/// A cluster.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CqlTable {
    pub nodes: Vec<String>,
    #[serde(default)]
    pub keyspace_prefix: Option<String>,
    #[serde(default)]
    pub replication_factor: Option<u8>,
    #[serde(default)]
    pub datacenter: Option<String>,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub password: Option<String>,
    #[serde(default)]
    pub tls_ca: Option<PathBuf>,
    #[serde(default)]
    pub consistency: ConsistencyName,
    #[serde(default)]
    pub serial_consistency: SerialConsistencyName,
    #[serde(default)]
    pub request_timeout_ms: Option<u64>,
}

/// How many replicas answer.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsistencyName {
    #[default]
    LocalQuorum,
    Quorum,
    EachQuorum,
    All,
}

/// Among which replicas conditions are decided.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SerialConsistencyName {
    #[default]
    LocalSerial,
    Serial,
}

/// How much is too much.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Bytes of all bodies in memory, those that come and those that go.
    pub bodies_bytes: usize,
    /// Streams that follow a feed, at once.
    pub event_streams: usize,
    /// Bytes of a request's target.
    pub uri_bytes: usize,
    /// How long a request's head may take to arrive, and a connection be idle.
    pub head_seconds: u64,
    /// Connections at once.
    pub connections: usize,
    /// Requests being answered at once; more are told to come back.
    pub requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            bodies_bytes: 512 << 20,
            event_streams: 1_000,
            uri_bytes: 16 << 10,
            head_seconds: 10,
            connections: 10_000,
            requests: 2_000,
        }
    }
}

/// Who may read `/metrics`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsTable {
    pub public: bool,
}

/// Whose pages may ask: origins such as `https://app.example`, or `*`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorsTable {
    pub origins: Vec<String>,
}

/// What to show callers who speak TLS.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Whose JWTs are honoured.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JwtTable {
    pub issuer: Option<String>,
    pub audience: Option<String>,
    pub keys: Vec<JwtKeyTable>,
}

/// One key; the secret or the public key is in the file that is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtKeyTable {
    #[serde(default)]
    pub id: Option<String>,
    /// `HS256`, `RS256` or `EdDSA`.
    pub algorithm: String,
    pub file: PathBuf,
    #[serde(default)]
    pub allow_admin: bool,
}

impl BackendTables {
    /// Whether none is named: then there is one embedded store.
    pub fn is_empty(&self) -> bool {
        self.embedded.is_empty() && self.cql.is_empty()
    }
}

impl Config {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| told(&error))?;
        toml::from_str(&text).map_err(|error| told(&error))
    }
}

impl EmbeddedTable {
    pub fn settings(&self) -> keyaki::settings::EmbeddedSettings {
        let mut settings = keyaki::settings::EmbeddedSettings::default();
        if let Some(mebibytes) = self.cache_mib {
            settings.cache_bytes = mebibytes << 20;
        }
        if let Some(millis) = self.sync_interval_ms {
            let interval = Duration::from_millis(millis);
            settings.durability = keyaki::settings::Durability::Interval(interval);
        }
        settings
    }
}
