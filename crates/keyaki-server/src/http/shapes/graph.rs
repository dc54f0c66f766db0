//! Graphs: their options, what became of elements, and what a chain of operations cost.

use std::collections::BTreeMap;

use keyaki::bucket::graph::Summary;
use keyaki::catalog::{ChangesOptions, CostLimits, GraphOptions, Lasting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, SchemaType, Type,
};
use utoipa::openapi::{RefOr, Schema};

use super::settings::ChangesForm;

/// Of a schema.
const MEMBERS: [&str; 4] = ["entities", "edges", "types", "config"];
const TEXTS: [&str; 3] = ["visibilityProperty", "timestampProperty", "description"];
const PACKAGES: [&str; 3] = ["byteEntity", "classic", "sharded"];

/// Options of a graph.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = GraphOptions)]
pub struct GraphForm {
    /// What may be in it: a schema in Gaffer's JSON, or a list of its parts.
    #[schema(schema_with = gaffer_schema)]
    pub schema: Value,
    /// How keys are laid out, `byteEntity` unless it is said; chosen when the bucket is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = key_package)]
    pub key_package: Option<String>,
    /// How long operations are remembered, for ever unless it is said; chosen when the bucket is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = super::settings::lasting)]
    pub replay_window: Option<Lasting>,
    #[serde(default)]
    pub changes: ChangesForm,
    /// What a chain of operations may cost, by the caller's role; `*` is everybody's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, CostForm>,
}

/// Its members, but not what they have to do with each other: OpenAPI has no word for that.
fn gaffer_schema() -> Schema {
    let object = || ObjectBuilder::new().schema_type(Type::Object);
    let part = MEMBERS.iter().fold(object(), |part, name| part.property(*name, object()));
    let part = TEXTS.iter().fold(part, |part, name| part.property(*name, text()));
    let part = part.property("vertexSerialiser", ObjectBuilder::new());
    let part =
        Schema::from(part.additional_properties(Some(AdditionalProperties::FreeForm(false))));
    let parts = ArrayBuilder::new().items(RefOr::T(part.clone())).min_items(Some(1));
    AnyOfBuilder::new().item(part).item(Schema::from(parts)).into()
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn key_package() -> Schema {
    let names = PACKAGES.iter().map(|name| Value::from(*name)).chain([Value::Null]);
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).enum_values(Some(names)).into()
}

/// What a chain of operations may cost; what is not said is as by default.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CostLimits)]
pub struct CostForm {
    /// Operations that are run, those inside others too.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub operations: Option<u64>,
    /// Items in the answer.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub results: Option<u64>,
    /// Cells that are read.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub scanned: Option<u64>,
    /// Items that one operation holds in memory.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub held: Option<u64>,
    /// Milliseconds.
    #[serde(
        default,
        deserialize_with = "super::settings::perhaps_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub time_ms: Option<u64>,
}

impl From<GraphForm> for GraphOptions {
    fn from(form: GraphForm) -> Self {
        let limits = |(role, CostForm { operations, results, scanned, held, time_ms })| {
            (role, CostLimits { operations, results, scanned, held, time_ms })
        };
        Self {
            schema: form.schema,
            key_package: form.key_package.unwrap_or_else(|| "byteEntity".to_owned()),
            replay_window: form.replay_window,
            changes: ChangesOptions { keep: form.changes.keep },
            limits: form.limits.into_iter().map(limits).collect(),
        }
    }
}

impl From<&GraphOptions> for GraphForm {
    fn from(options: &GraphOptions) -> Self {
        let limits = |(role, limits): (&String, &CostLimits)| {
            let CostLimits { operations, results, scanned, held, time_ms } = *limits;
            (role.clone(), CostForm { operations, results, scanned, held, time_ms })
        };
        Self {
            schema: options.schema.clone(),
            key_package: Some(options.key_package.clone()),
            replay_window: options.replay_window,
            changes: ChangesForm { keep: options.changes.keep },
            limits: options.limits.iter().map(limits).collect(),
        }
    }
}

/// What became of elements that were sent.
#[derive(Serialize, ToSchema)]
pub struct IngestSummary {
    /// Elements that came into the graph, now or when they were first sent.
    pub accepted: u64,
    /// Those that became one with others of their chunk; others may yet, with what was there.
    pub aggregated: u64,
    /// Elements that were left out.
    pub rejected: u64,
    /// Why, for the first of them.
    pub reasons: Vec<Reason>,
    /// Commits that they were written in.
    pub chunks: u64,
    /// Those of them that had been written before, and changed nothing now.
    pub replayed: u64,
}

/// Why an element was left out.
#[derive(Serialize, ToSchema)]
pub struct Reason {
    /// Its place in what was sent, from 0.
    pub index: u64,
    pub reason: String,
}

impl From<Summary> for IngestSummary {
    fn from(summary: Summary) -> Self {
        let reason = |rejection: keyaki::bucket::graph::Rejection| Reason {
            index: rejection.index,
            reason: rejection.reason,
        };
        Self {
            accepted: summary.accepted,
            aggregated: summary.aggregated,
            rejected: summary.rejected,
            reasons: summary.reasons.into_iter().map(reason).collect(),
            chunks: summary.chunks,
            replayed: summary.replayed,
        }
    }
}

/// A part of a graph.
#[derive(Serialize, ToSchema)]
pub struct SplitShown {
    /// `edges` or `entities`.
    pub kind: &'static str,
    /// The group that its elements are of.
    pub group: String,
    /// What to ask `/elements` for.
    pub split: String,
}

/// What became of a vertex.
#[derive(Serialize, ToSchema)]
pub struct Erased {
    /// Elements that were there.
    pub erased: u64,
}

/// What a chain of operations cost.
#[derive(Serialize, ToSchema)]
pub struct Explained {
    /// Operations that were run.
    pub operations: u64,
    /// Items of its answer.
    pub results: u64,
    /// Cells that were read and that the caller may see.
    pub scanned: u64,
    /// Those of each group; nothing of the others was read.
    pub groups: BTreeMap<String, u64>,
    /// How long it took.
    #[serde(rename = "timeMs")]
    pub time_ms: u64,
}
