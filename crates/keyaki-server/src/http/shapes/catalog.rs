//! Domains and buckets: how they are set, and how they are shown.

use std::collections::BTreeMap;

use keyaki::bucket::Usage;
use keyaki::catalog::{BucketEntry, BucketKind, BucketSettings, DomainSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::graph::GraphForm;
use super::settings::{AclForm, QuotaForm, RevisionsForm};
use crate::http::catalog::time;
use crate::http::json;
use crate::http::problem::{self, Problem};

/// A domain as its owners set it.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DomainForm {
    /// What it is for.
    #[serde(default)]
    #[schema(example = "A shop")]
    pub description: String,
    /// Who may change it and all in it: users, and roles as `role:name`.
    #[serde(default)]
    #[schema(schema_with = super::settings::owners)]
    pub owners: Vec<String>,
    /// Who else may make buckets.
    #[serde(default)]
    #[schema(schema_with = super::settings::owners)]
    pub bucket_creators: Vec<String>,
    #[serde(default)]
    pub quota: QuotaForm,
    /// Holds for buckets that have none.
    #[serde(default)]
    pub acl: Option<AclForm>,
}

impl From<DomainForm> for DomainSpec {
    fn from(form: DomainForm) -> Self {
        Self {
            description: form.description,
            owners: form.owners,
            bucket_creators: form.bucket_creators,
            quota: form.quota.into(),
            acl: form.acl.map(Into::into),
        }
    }
}

/// A domain in the list of all.
#[derive(Serialize, ToSchema)]
pub struct DomainListed {
    pub key: String,
    #[schema(format = "uuid")]
    pub tid: String,
    #[schema(format = DateTime)]
    pub time: String,
    pub description: String,
}

/// A domain. What only its owners and those who make buckets may know is left out for others.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainShown {
    pub name: String,
    #[schema(format = "uuid")]
    pub tid: String,
    #[schema(format = DateTime)]
    pub time: String,
    pub description: String,
    pub quota: QuotaForm,
    pub buckets: Vec<BucketListed>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub used: Option<DomainUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owners: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bucket_creators: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub acl: Option<AclForm>,
}

/// How much of its quota a domain uses. What all buckets hold together is counted if there is a limit to it.
#[derive(Serialize, ToSchema)]
pub struct DomainUse {
    pub buckets: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub items: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bytes: Option<i64>,
}

/// A bucket in its domain.
#[derive(Serialize, ToSchema)]
pub struct BucketListed {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[schema(format = "uuid")]
    pub tid: String,
}

/// A bucket as it is set: the type says what the options are.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketForm {
    #[serde(rename = "type")]
    #[schema(pattern = "^(revisions|graph)$", example = "revisions")]
    pub kind: String,
    #[serde(default)]
    #[schema(value_type = Option<OptionsForm>)]
    pub options: Value,
    /// Who may read and write; the domain's holds if there is none.
    #[serde(default)]
    pub acl: Option<AclForm>,
    #[serde(default)]
    pub quota: BucketQuota,
    /// Where it lives, such as `embedded/default`; chosen when it is made.
    #[serde(default)]
    #[schema(example = "default")]
    pub backend: Option<String>,
    /// How often a cluster keeps it: `{"factor": 3}`, or copies by datacenter; chosen when it is made.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, u8>>)]
    pub replication: Option<BTreeMap<String, u8>>,
}

/// The options of one type or another.
#[derive(ToSchema, Serialize)]
#[serde(untagged)]
#[schema(as = Options)]
#[expect(dead_code, reason = "it is there to be described")]
pub enum OptionsForm {
    #[schema(title = "Revisions")]
    Revisions(RevisionsForm),
    #[schema(title = "Graph")]
    Graph(GraphForm),
}

/// How much there may be in a bucket.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketQuota {
    /// Items.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub items: Option<u64>,
    /// Bytes of content.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub bytes: Option<u64>,
}

impl TryFrom<BucketForm> for BucketSettings {
    type Error = Problem;

    fn try_from(form: BucketForm) -> Result<Self, Problem> {
        let kind = match &form.kind[..] {
            "revisions" => {
                let options: Option<RevisionsForm> = json::form(form.options, "/options")?;
                BucketKind::Revisions(options.unwrap_or_default().into())
            }
            "graph" => {
                let options: GraphForm = json::form(form.options, "/options")?;
                BucketKind::Graph(options.into())
            }
            other => {
                let why = format!("no type of bucket is called `{other}`");
                return Err(Problem::new(&problem::INVALID, why).with("at", "/type"));
            }
        };
        let BucketQuota { items, bytes } = form.quota;
        Ok(Self {
            kind,
            acl: form.acl.map(Into::into),
            quota: keyaki::catalog::Quota { buckets: None, items, bytes },
            backend: form.backend,
            replication: form.replication,
        })
    }
}

/// A bucket. What only its owners may know is left out for others.
#[derive(Serialize, ToSchema)]
pub struct BucketShown {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[schema(format = "uuid")]
    pub tid: String,
    #[schema(format = DateTime)]
    pub time: String,
    #[schema(value_type = OptionsForm)]
    pub options: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub acl: Option<AclForm>,
    pub quota: BucketQuota,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub replication: Option<BTreeMap<String, u8>>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub used: Option<BucketUse>,
}

/// How much there is in a bucket.
#[derive(Serialize, ToSchema)]
pub struct BucketUse {
    pub items: i64,
    pub bytes: i64,
}

impl BucketShown {
    /// As its owners see it, or others: ACL and use tell of what others may not see.
    pub fn new(name: &str, bucket: &BucketEntry, used: Usage, owned: bool) -> Self {
        let settings = &bucket.record.settings;
        let options = match &settings.kind {
            BucketKind::Revisions(options) => json!(RevisionsForm::from(options)),
            BucketKind::Graph(options) => json!(GraphForm::from(options)),
        };
        Self {
            name: name.to_owned(),
            kind: settings.kind.name(),
            tid: bucket.tid.to_string(),
            time: time(bucket.tid),
            options,
            acl: settings.acl.as_ref().filter(|_| owned).map(Into::into),
            quota: BucketQuota { items: settings.quota.items, bytes: settings.quota.bytes },
            backend: settings.backend.clone(),
            replication: settings.replication.clone(),
            used: owned.then_some(BucketUse { items: used.items, bytes: used.bytes }),
        }
    }
}
