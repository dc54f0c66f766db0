//! Graphs in the catalog: their options, what a chain of operations may cost whom, and how a schema follows another.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::record::{BucketKind, BucketSettings, ChangesOptions};
use super::snapshot::BucketEntry;
use super::span::Lasting;
use super::{Catalog, Inner};
use crate::bucket::CommonOptions;
use crate::bucket::graph::Graph;
use crate::bucket::graph::key::{self, KeyPackage};
use crate::bucket::graph::operation::Limits;
use crate::bucket::graph::schema::{Layout, Schema};
use crate::error::{Error, Kind, Result};
use crate::store::{Bucket, BucketSpec};

/// The place of the schema in a bucket's settings.
const SCHEMA: &str = "/options/schema";
/// Stands for everybody.
const ANY: &str = "*";

/// Options of graphs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GraphOptions {
    /// What may be in it: a schema in Gaffer's JSON, or a list of its parts.
    pub schema: Json,
    /// How keys are laid out; chosen when it is made.
    #[serde(default = "byte_entity")]
    pub key_package: String,
    /// How long operations are remembered; for ever unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_window: Option<Lasting>,
    /// What becomes of change records.
    #[serde(default)]
    pub changes: ChangesOptions,
    /// What a chain of operations may cost, by the caller's role; `*` is everybody's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, CostLimits>,
}

fn byte_entity() -> String {
    key::ByteEntity.name().to_owned()
}

/// What a chain of operations may cost; what is not said is as by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostLimits {
    /// Operations that are run, those inside others too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Items in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<u64>,
    /// Cells that are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned: Option<u64>,
    /// Items that one operation holds in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl CostLimits {
    /// What holds for everybody of whom nothing is said.
    pub const DEFAULT: Limits = Limits {
        operations: Some(100_000),
        results: Some(100_000_000),
        scanned: Some(1_000_000_000),
        held: Some(1_000_000),
        time_ms: Some(600_000),
    };
}

impl GraphOptions {
    /// What all types share.
    #[must_use]
    pub fn common(&self) -> CommonOptions {
        let default = CommonOptions::default();
        CommonOptions {
            require_conditions: false,
            replay_window: self.replay_window.and_then(Lasting::duration),
            changes_kept: self.changes.keep.map_or(default.changes_kept, Lasting::duration),
        }
    }

    /// The schema, compiled.
    ///
    /// # Errors
    /// `Invalid` with the reason.
    pub fn schema(&self, layout: Layout) -> Result<Schema> {
        Schema::with_layout(&self.schema, layout).map_err(|bad| {
            Error::invalid("the schema can't be used").with("at", SCHEMA).with("reason", bad)
        })
    }

    /// How keys are laid out.
    ///
    /// # Errors
    /// `Invalid` if there is no such way.
    pub fn package(&self) -> Result<&'static dyn KeyPackage> {
        key::by_name(&self.key_package).map_err(|bad| bad.with("at", "/options/keyPackage"))
    }

    /// What somebody with these roles may have a chain cost: of each, the most that one of them gives.
    #[must_use]
    pub fn limits_of(&self, roles: &[String]) -> Limits {
        let held = self.limits.iter();
        let held = held.filter(|(role, _)| *role == ANY || roles.contains(role));
        let given: Vec<_> = held.map(|(_, limits)| *limits).collect();
        let most = |of: fn(&CostLimits) -> Option<u64>, default: Option<u64>| {
            given.iter().filter_map(of).max().or(default)
        };
        let default = CostLimits::DEFAULT;
        Limits {
            operations: most(|limits| limits.operations, default.operations),
            results: most(|limits| limits.results, default.results),
            scanned: most(|limits| limits.scanned, default.scanned),
            held: most(|limits| limits.held, default.held),
            time_ms: most(|limits| limits.time_ms, default.time_ms),
        }
    }

    /// What such a bucket is made with.
    pub(super) fn spec(&self) -> Result<BucketSpec> {
        let schema = self.schema(Layout::default())?;
        Ok(Graph::spec(&self.common(), &schema, self.package()?))
    }

    /// The graph in its bucket.
    pub(super) fn open(&self, cells: Bucket, layout: Option<&Json>) -> Result<Graph> {
        let layout = layout.map(Layout::from_json).transpose()?.unwrap_or_default();
        let schema = Arc::new(self.schema(layout)?);
        Graph::new(cells, schema, self.package()?)
    }
}

impl BucketSettings {
    /// Refuses options of a graph that can't be used.
    pub(super) fn check_graph(&self) -> Result<()> {
        let BucketKind::Graph(options) = &self.kind else { return Ok(()) };
        options.package()?;
        options.schema(Layout::default()).map(drop)
    }

    /// The numbers of a graph that is about to be made.
    pub(super) fn first_layout(&self) -> Result<Option<Json>> {
        match &self.kind {
            BucketKind::Graph(options) => {
                options.schema(Layout::default()).map(|schema| Some(schema.layout().to_json()))
            }
            BucketKind::Revisions(_) => Ok(None),
        }
    }
}

impl Catalog {
    /// Makes room for what a changed schema needs, and answers the numbers it has then. The record follows, if it is
    /// still the one that was looked at; until then doing this again changes nothing.
    ///
    /// # Errors
    /// `Conflict` if stored elements would not fit, with the reason; those of the engine.
    pub(super) async fn follow_schema(
        &self,
        domain: &str,
        there: &BucketEntry,
        settings: &BucketSettings,
    ) -> Result<Option<Json>> {
        let (BucketKind::Graph(old), BucketKind::Graph(new)) =
            (&there.record.settings.kind, &settings.kind)
        else {
            return Ok(there.record.layout.clone());
        };
        if old.schema == new.schema {
            return Ok(there.record.layout.clone());
        }
        let open = self.inner.open_bucket(domain, there).await?;
        let changed =
            open.graph()?.changed(&new.schema).await.map_err(|error| match error.kind() {
                Kind::Invalid => Error::conflict("the schema can't follow the one that is there")
                    .with("at", SCHEMA)
                    .with("reason", error),
                _ => error,
            })?;
        Ok(Some(changed.schema().layout().to_json()))
    }
}

impl Inner {
    /// Puts the rules of a graph's schema back in force, where another change of it got half-way.
    pub(super) async fn restore_schema(&self, domain: &str, name: &str) -> Result<()> {
        let snapshot = self.refresh().await?;
        let entry = snapshot.domains.get(domain).and_then(|domain| domain.buckets.get(name));
        let Some(entry) = entry else { return Ok(()) };
        let BucketKind::Graph(options) = &entry.record.settings.kind else { return Ok(()) };
        let open = self.open_bucket(domain, entry).await?;
        open.graph()?.changed(&options.schema).await.map(drop)
    }
}
