//! What the catalog keeps: domains, buckets, tokens and services' keys, as JSON. Unknown fields are refused wherever
//! somebody sets one, so that a typing error doesn't pass in silence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::acl::Acl;
use super::graph::GraphOptions;
use super::span::{Lasting, Span};
use crate::bucket::CommonOptions;
use crate::bucket::revisions::Retention;
use crate::error::{Error, Result};

/// How much there may be; what is not said is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Buckets, in a domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64>,
    /// Items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Bytes of content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A domain as its owners set it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DomainSpec {
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Who may change it and all in it: users, and roles as `role:name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Who else may make buckets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bucket_creators: Vec<String>,
    /// How much there may be in it.
    #[serde(default)]
    pub quota: Quota,
    /// Holds for buckets that have no ACL of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Acl>,
}

/// A bucket as it is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SettingsForm", into = "SettingsForm")]
pub struct BucketSettings {
    /// What it means, with the options of that type.
    pub kind: BucketKind,
    /// Who may read and write it.
    pub acl: Option<Acl>,
    /// How much there may be in it.
    pub quota: Quota,
    /// Where it lives; chosen when it is made.
    pub backend: Option<String>,
    /// How often it is kept there; chosen when it is made.
    pub replication: Option<BTreeMap<String, u8>>,
}

/// Types of buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketKind {
    /// Raw content with its history.
    Revisions(RevisionsOptions),
    /// An aggregated property graph.
    Graph(GraphOptions),
}

/// The form of [`BucketSettings`]: the type says what the options are.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsForm {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    options: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acl: Option<Acl>,
    #[serde(default)]
    quota: Quota,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replication: Option<BTreeMap<String, u8>>,
}

impl TryFrom<SettingsForm> for BucketSettings {
    type Error = String;

    fn try_from(form: SettingsForm) -> Result<Self, String> {
        let SettingsForm { kind, options, acl, quota, backend, replication } = form;
        let bad = |bad: serde_json::Error| format!("/options: {bad}");
        let kind = match &kind[..] {
            "revisions" if options.is_null() => BucketKind::Revisions(RevisionsOptions::default()),
            "revisions" => BucketKind::Revisions(serde_json::from_value(options).map_err(bad)?),
            "graph" => BucketKind::Graph(serde_json::from_value(options).map_err(bad)?),
            other => return Err(format!("/type: no type of bucket is called `{other}`")),
        };
        Ok(Self { kind, acl, quota, backend, replication })
    }
}

impl From<BucketSettings> for SettingsForm {
    fn from(settings: BucketSettings) -> Self {
        let BucketSettings { kind, acl, quota, backend, replication } = settings;
        let options = match &kind {
            BucketKind::Revisions(options) => serde_json::to_value(options),
            BucketKind::Graph(options) => serde_json::to_value(options),
        };
        let options = options.expect("options are JSON");
        Self { kind: kind.name().to_owned(), options, acl, quota, backend, replication }
    }
}

/// Options of buckets of revisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevisionsOptions {
    /// Whether every write must carry a condition.
    #[serde(default)]
    pub require_conditions: bool,
    /// How long operations are remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_window: Option<Lasting>,
    /// What becomes of change records.
    #[serde(default)]
    pub changes: ChangesOptions,
    /// Which revisions are kept.
    #[serde(default)]
    pub retention: RetentionOption,
}

/// What becomes of change records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangesOptions {
    /// How long they are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Lasting>,
}

/// Which revisions are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum RetentionOption {
    /// All.
    #[default]
    All,
    /// The latest ones.
    Latest {
        /// How many.
        count: u32,
        /// And the others for a while.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace: Option<Span>,
    },
    /// The latest ones of each interval.
    Interval {
        /// How many.
        count: u32,
        /// How long it is.
        interval: Span,
    },
    /// Each for a while.
    Ttl {
        /// How long.
        ttl: Span,
    },
}

const COUNT_MAX: u32 = 1_000;

impl RevisionsOptions {
    /// What all types share.
    #[must_use]
    pub fn common(&self) -> CommonOptions {
        let default = CommonOptions::default();
        let or = |lasting: Option<Lasting>, default| lasting.map_or(default, Lasting::duration);
        CommonOptions {
            require_conditions: self.require_conditions,
            replay_window: or(self.replay_window, default.replay_window),
            changes_kept: or(self.changes.keep, default.changes_kept),
        }
    }

    /// Which revisions are kept.
    ///
    /// # Errors
    /// `Invalid` if a count is out of bounds.
    pub fn retention(&self) -> Result<Retention> {
        let counted = |count: u32| match (1..=COUNT_MAX).contains(&count) {
            true => Ok(count as usize),
            false => Err(Error::invalid("retention keeps 1 to 1000 revisions")
                .with("at", "/options/retention/count")
                .with("count", count)),
        };
        Ok(match self.retention {
            RetentionOption::All => Retention::All,
            RetentionOption::Latest { count, grace } => Retention::Latest {
                count: counted(count)?,
                grace: grace.map(Span::duration).unwrap_or_default(),
            },
            RetentionOption::Interval { count, interval } => {
                Retention::Interval { count: counted(count)?, interval: interval.duration() }
            }
            RetentionOption::Ttl { ttl } => Retention::Ttl { ttl: ttl.duration() },
        })
    }
}

impl BucketKind {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Revisions(_) => "revisions",
            Self::Graph(_) => "graph",
        }
    }

    /// What all types share.
    #[must_use]
    pub fn common(&self) -> CommonOptions {
        match self {
            Self::Revisions(options) => options.common(),
            Self::Graph(options) => options.common(),
        }
    }
}

/// A domain as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainRecord {
    /// The commit that set it last, or that made, set or deleted a bucket in it.
    pub tid: String,
    /// The commit that set it last, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// How it is set.
    pub spec: DomainSpec,
}

/// A bucket as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketRecord {
    /// The commit that set it last.
    pub tid: String,
    /// The commit that made it, where that is another and was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Who made it.
    pub creator: Option<String>,
    /// Which bucket of its store it is.
    pub id: u64,
    /// How it is set; its backend by its full name.
    pub settings: BucketSettings,
    /// What the numbers in a graph's cells stand for: they are given once, whatever the schema becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<serde_json::Value>,
}

/// A token as it is kept: never the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Who it speaks for.
    pub user: String,
    /// With which roles.
    pub roles: Vec<String>,
    /// And authorisations.
    pub auths: Vec<String>,
    /// Until when, in seconds since the epoch.
    pub expires: Option<u64>,
    /// The digest of the token.
    pub digest: String,
    /// Whether whoever starts servers chose it: the next one that they choose takes its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
}

/// A service's key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceRecord {
    /// The commit that set it last.
    pub tid: String,
    /// What it is for.
    pub description: String,
    /// The public key, in base64.
    pub public_key: String,
}

/// Where the cells of a bucket are that is not listed: it was deleted and is not yet purged, or is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grave {
    /// Where it lived.
    pub backend: String,
    /// With which replication.
    pub replication: Option<BTreeMap<String, u8>>,
    /// Which bucket of that store it was.
    pub id: u64,
}

impl Grave {
    /// Tells it from all others.
    pub(super) fn name(&self) -> Vec<u8> {
        let name = format!("{}#{}", self.backend, self.id);
        match &self.replication {
            Some(replication) => format!("{name}#{replication:?}").into_bytes(),
            None => name.into_bytes(),
        }
    }
}

/// A bucket that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// The commit that says so.
    pub tid: String,
    /// Where its cells will be.
    pub place: Grave,
}
