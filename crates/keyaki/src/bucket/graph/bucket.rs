//! A graph in a bucket: each group has a space of its own, so that a query reads nothing of the groups that it does
//! not name.

use std::sync::Arc;

use serde_json::Value as Json;

use super::form::{Copies, Form};
use super::key::{KeyPackage, Ways};
use super::operation::Sink;
use super::rules;
use super::scan::Reader;
use super::schema::{Group, GroupId, Schema};
use super::value::Value;
use super::write::Writer;
use crate::bucket::{CommonOptions, Meter, Usage};
use crate::cell::Tid;
use crate::cell::visibility::Authorisations;
use crate::engine::{ScanRequest, SpaceId, SpaceSpec};
use crate::error::{Error, Result};
use crate::store::{Bucket, BucketSpec, Operation};

/// A bucket that holds a graph.
#[derive(Clone)]
pub struct Graph {
    inner: Arc<Inner>,
    meter: Arc<Meter>,
}

struct Inner {
    bucket: Bucket,
    schema: Arc<Schema>,
    package: &'static dyn KeyPackage,
    /// By group number.
    groups: Vec<Option<StoredGroup>>,
}

/// A group and where its elements are.
#[derive(Debug, Clone)]
pub(super) struct StoredGroup {
    pub form: Arc<Form>,
    pub space: SpaceId,
    /// How its edges can lie; there are no others to be seen.
    pub ways: Ways,
}

impl Graph {
    /// What such a bucket is made with.
    #[must_use]
    pub fn spec(
        common: &CommonOptions,
        schema: &Schema,
        package: &'static dyn KeyPackage,
    ) -> BucketSpec {
        let mut spaces = vec![Usage::space()];
        spaces.extend(group_spaces(schema, package));
        BucketSpec {
            replay_window: common.replay_window,
            changes_kept: common.changes_kept,
            spaces,
        }
    }

    /// One that is there.
    ///
    /// # Errors
    /// `NotFound` if a group of the schema has no space.
    pub fn new(
        bucket: Bucket,
        schema: Arc<Schema>,
        package: &'static dyn KeyPackage,
    ) -> Result<Self> {
        let mut groups = Vec::new();
        for group in schema.groups() {
            let number = usize::from(group.id().0);
            groups.resize(groups.len().max(number + 1), None);
            let space = bucket.space(&rules::label(group))?;
            let form = Arc::new(form(&schema, group, package));
            groups[number] = Some(StoredGroup { form, space, ways: rules::valid_ways(group) });
        }
        let inner = Arc::new(Inner { bucket, schema, package, groups });
        Ok(Self { inner, meter: Arc::default() })
    }

    /// The same graph, which holds so much and may hold no more than that.
    #[must_use]
    pub fn metered(self, meter: Arc<Meter>) -> Self {
        Self { meter, ..self }
    }

    /// The same graph with another schema: new groups get their spaces, changed ones their rules. The caller stores
    /// the schema and its layout; until then doing it again changes nothing.
    ///
    /// # Errors
    /// `Invalid` if stored elements would not fit, with the reason; `Unsupported` if the engine can't change rules.
    pub async fn changed(&self, schema: &Json) -> Result<Self> {
        let Inner { bucket, package, .. } = &*self.inner;
        let schema = Arc::new(self.inner.schema.changed(schema)?);
        let store = bucket.store();
        // Ours may be older than a change that got half-way.
        let bucket = &store.bucket(bucket.id())?;
        let wanted = group_spaces(&schema, *package);
        let records = store.engine().spaces();
        for space in &wanted {
            let Ok(id) = bucket.space(&space.label) else { continue };
            let now = records.iter().find(|record| record.id == id).map(|record| &record.spec);
            if now.is_some_and(|now| now.merge != space.merge || now.keep != space.keep) {
                let engine = store.engine();
                engine.change_rules(id, space.merge.clone(), space.keep.clone()).await?;
            }
        }
        let bucket = store.extend_bucket(bucket, wanted).await?;
        Ok(Self::new(bucket, schema, *package)?.metered(self.meter.clone()))
    }

    /// Its cells.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        &self.inner.bucket
    }

    /// What may be in it.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.schema
    }

    /// How its keys are laid out.
    #[must_use]
    pub fn package(&self) -> &'static dyn KeyPackage {
        self.inner.package
    }

    /// The graph as somebody sees it.
    #[must_use]
    pub fn seen_by(&self, authorisations: Authorisations) -> Reader {
        Reader::new(self.clone(), authorisations)
    }

    /// For writing. With an operation, each chunk that is written counts once, however often it is sent; chunks are
    /// told apart by their number, so they must be cut as they were.
    #[must_use]
    pub fn writer(&self, user: Option<String>, operation: Option<Operation>) -> Writer {
        Writer::new(self.clone(), user, operation)
    }

    /// Erases a vertex: its entities, and all edges that touch it, under both their ends, whoever may see them. Answers
    /// how many there were, and the last commit. It goes in steps; one that was interrupted is done again and finds what
    /// is left.
    ///
    /// # Errors
    /// `Invalid` if it can't be a vertex of the graph; those of storage.
    pub async fn erase(&self, vertex: &Value, user: Option<String>) -> Result<(u64, Option<Tid>)> {
        let writer = self.writer(user, None);
        let engine = self.bucket().store().engine();
        let mut erased = 0;
        for StoredGroup { form, space, .. } in self.inner.groups.iter().flatten() {
            for partition in form.partitions(&form.vertex(vertex)?) {
                let mut scan = engine.scan(ScanRequest::partition(*space, partition)).await?;
                while let Some(block) = scan.next_block().await? {
                    let mut elements = Vec::with_capacity(block.len());
                    for cell in block.iter() {
                        elements.extend(form.read(&cell, Ways::all(), Copies::Unmatched)?);
                    }
                    erased += elements.len() as u64;
                    writer.delete(elements).await?;
                }
            }
        }
        Ok((erased, writer.done().tid))
    }

    /// The space of a group, as `explain` and checks name it.
    ///
    /// # Errors
    /// `Invalid` if there is no such group.
    pub fn space(&self, group: GroupId) -> Result<SpaceId> {
        self.stored(group.0).map(|stored| stored.space)
    }

    /// How much it holds, and may.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// A group by number.
    pub(super) fn stored(&self, number: u16) -> Result<&StoredGroup> {
        let found = self.inner.groups.get(usize::from(number)).and_then(Option::as_ref);
        found.ok_or_else(|| Error::invalid("the graph has no such group").with("number", number))
    }

    /// Milliseconds by the engine's clock, which its rules go by.
    pub(super) fn now_ms(&self) -> i64 {
        (self.bucket().store().engine().clock().now().micros() / 1000) as i64
    }
}

fn form(schema: &Schema, group: &Arc<Group>, package: &'static dyn KeyPackage) -> Form {
    Form { group: Arc::clone(group), vertices: schema.vertices(), package }
}

fn group_spaces(schema: &Schema, package: &'static dyn KeyPackage) -> Vec<SpaceSpec> {
    schema.groups().map(|group| rules::space(schema, &form(schema, group, package))).collect()
}
