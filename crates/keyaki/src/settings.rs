//! Plain options with defaults; nothing here does work.

#[cfg(feature = "cql")]
use std::collections::BTreeMap;
#[cfg(feature = "cql")]
use std::path::PathBuf;
use std::time::Duration;

/// How the embedded engine runs.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Memory for blocks read from disk, their indexes and filters.
    pub cache_bytes: usize,
    /// Memory for what is written but not yet in a table.
    pub write_memory_bytes: usize,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// How tables are compressed.
    pub compression: Compression,
    /// Commits that may wait for the writer before callers have to.
    pub queue_commits_max: usize,
    /// Bytes of such commits; one larger commit may wait alone.
    pub queue_bytes_max: usize,
    /// Bulk commits whose files may be written at a time.
    pub bulk_commits_max: usize,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            cache_bytes: 512 << 20,
            write_memory_bytes: 192 << 20,
            durability: Durability::Sync,
            compression: Compression::Lz4ThenZstd,
            queue_commits_max: 1024,
            queue_bytes_max: 64 << 20,
            bulk_commits_max: 2,
        }
    }
}

/// When a commit is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it: it survives power loss.
    Sync,
    /// When the operating system has it: it survives a killed process, and the disk has it
    /// after at most this long.
    Interval(Duration),
}

/// How tables are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Lz4 on every level.
    Lz4,
    /// Lz4 above, zstd on the last level, where most data rests.
    Lz4ThenZstd,
}

/// How the CQL engine reaches its cluster and what it demands of it.
#[cfg(feature = "cql")]
#[derive(Clone)]
pub struct CqlSettings {
    /// Nodes to begin with, `host:port`; the others are learnt from them.
    pub nodes: Vec<String>,
    /// What its keyspaces' names begin with.
    pub keyspace_prefix: String,
    /// How often everything is kept; one keyspace each.
    pub replication: Replication,
    /// Whose nodes are asked, if there are several datacenters.
    pub datacenter: Option<String>,
    /// Who logs in.
    pub user: Option<String>,
    /// With what.
    pub password: Option<String>,
    /// Speaks TLS to nodes whose certificates are signed by one in this file.
    pub tls_ca: Option<PathBuf>,
    /// How many replicas answer for reads, and for writes that need no condition.
    pub consistency: Consistency,
    /// Among which replicas conditions are decided.
    pub serial_consistency: SerialConsistency,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How long a process that doesn't show up is waited for before others finish its commits.
    pub lease: Duration,
    /// Over how many partitions an ordered view is spread.
    pub view_shards: u16,
}

#[cfg(feature = "cql")]
impl Default for CqlSettings {
    fn default() -> Self {
        Self {
            nodes: vec!["127.0.0.1:9042".to_owned()],
            keyspace_prefix: "keyaki".to_owned(),
            replication: Replication::Factor(3),
            datacenter: None,
            user: None,
            password: None,
            tls_ca: None,
            consistency: Consistency::LocalQuorum,
            serial_consistency: SerialConsistency::LocalSerial,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(5),
            lease: Duration::from_secs(10),
            view_shards: 4,
        }
    }
}

#[cfg(feature = "cql")]
impl std::fmt::Debug for CqlSettings {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CqlSettings")
            .field("nodes", &self.nodes)
            .field("keyspace_prefix", &self.keyspace_prefix)
            .field("replication", &self.replication)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// How often everything is kept.
#[cfg(feature = "cql")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replication {
    /// So often in every datacenter.
    Factor(u8),
    /// So often in each of these.
    Datacenters(BTreeMap<String, u8>),
}

/// How many replicas answer for a read or a write.
#[cfg(feature = "cql")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Most of those in the local datacenter.
    LocalQuorum,
    /// Most of all.
    Quorum,
    /// Most of those in every datacenter.
    EachQuorum,
    /// All.
    All,
}

/// Among which replicas a condition is decided.
#[cfg(feature = "cql")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialConsistency {
    /// Those in the local datacenter: right if all writers are there.
    LocalSerial,
    /// All.
    Serial,
}

/// How the store runs, on whichever engine.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Values longer than this are kept in several cells.
    pub chunk_bytes: usize,
    /// How often what the spaces' rules no longer keep is removed for good; `None`: only on call.
    pub sweep_every: Option<Duration>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { chunk_bytes: 512 << 10, sweep_every: Some(Duration::from_secs(600)) }
    }
}
