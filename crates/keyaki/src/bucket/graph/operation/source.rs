//! Where elements come from and go to, as operations see it. Storage is behind these traits.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use super::budget::Budget;
use super::named::{NameKind, Named};
use crate::bucket::graph::element::{Directed, EdgeId, Element};
use crate::bucket::graph::schema::GroupId;
use crate::bucket::graph::value::Value;
use crate::error::Result;

/// Things that come in batches; never an empty one.
#[async_trait]
pub trait Batches<T>: Send {
    /// The next ones; `None` at the end.
    ///
    /// # Errors
    /// Whatever ends the stream.
    async fn next(&mut self) -> Result<Option<Vec<T>>>;

    /// Whether it is known that nothing more comes; who does not know says no.
    fn is_over(&self) -> bool {
        false
    }
}

/// A stream of elements.
pub type Elements = Box<dyn Batches<Element>>;

/// A stream of values.
pub type Values = Box<dyn Batches<Value>>;

/// Which side of a seed an edge must be on. An edge without direction is on both sides of both its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// Any.
    #[default]
    Either,
    /// The seed is its source. A directed loop is one, and not the other.
    Outgoing,
    /// The seed is its destination.
    Incoming,
}

/// What of the graph is wanted.
#[derive(Debug, Clone)]
pub enum Target {
    /// Everything; each edge once.
    All,
    /// The entities at these vertices and the edges that touch them, with the matched end; a vertex that is named
    /// twice counts once.
    Vertices(Vec<Value>),
    /// The same, for all vertices from the first to the second, both included.
    Range(Value, Value),
    /// The edges with these ids. Those without direction match with their ends swapped too; with key packages
    /// whose flag comes last, an id of either direction finds directed edges the other way round as well.
    Edges {
        /// The ids.
        ids: Vec<EdgeId>,
        /// Whether the matched end is wanted: the id's source.
        matched: bool,
    },
}

/// By what of their keys edges under a vertex are told apart, beside their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// By so many of the group-by values.
    By(usize),
    /// By all there is.
    Wholly,
}

/// A scan, as storage gets it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What of the graph.
    pub target: Target,
    /// Which groups; nothing of the others need be read.
    pub groups: Vec<GroupId>,
    /// Which side of the seeds.
    pub side: Side,
    /// Which edges.
    pub directed: Directed,
    /// What it may cost: storage counts the cells it reads.
    pub budget: Arc<Budget>,
}

/// The graph, for reading.
///
/// Elements are aggregated as on ingest, valid by the schema, visible to the caller, on the wanted side, and in the
/// order of their keys: by row where storage keeps vertices in order, in any case all with the same place and group
/// after each other, sorted by group-by values and label.
#[async_trait]
pub trait Source: Send + Sync {
    /// Starts a scan.
    ///
    /// # Errors
    /// Those of storage.
    async fn scan(&self, plan: Plan) -> Result<Elements>;

    /// The vertices at the other ends of the edges that a plan for vertices finds, where storage can read them alone: one
    /// for all that are not told apart, which is said of each group. `None` if it can't.
    ///
    /// # Errors
    /// Those of storage.
    async fn adjacent(&self, _plan: &Plan, _apart: &[Apart]) -> Result<Option<Values>> {
        Ok(None)
    }

    /// Whether the way an edge lies is told behind its other end, and not before, so that it decides last which of two
    /// rows comes first.
    fn puts_flags_last(&self) -> bool {
        false
    }
}

/// The graph, for writing.
#[async_trait]
pub trait Sink: Send + Sync {
    /// Adds elements that have been checked against the schema.
    ///
    /// # Errors
    /// Those of storage.
    async fn add(&self, elements: Vec<Element>) -> Result<()>;

    /// Deletes the elements with these keys, whatever their other properties are.
    ///
    /// # Errors
    /// Those of storage.
    async fn delete(&self, elements: Vec<Element>) -> Result<()>;
}

/// What the graph keeps under names.
#[async_trait]
pub trait Register: Send + Sync {
    /// Keeps something under its name.
    ///
    /// # Errors
    /// `Conflict` if the name is taken and is not to be overwritten, `Forbidden` if the caller may not; those of storage.
    async fn add(&self, kind: NameKind, named: Named, overwrite: bool) -> Result<()>;

    /// Forgets a name; one that is not there is no fault.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not; those of storage.
    async fn delete(&self, kind: NameKind, name: &str) -> Result<()>;

    /// All that the caller may see, by name.
    ///
    /// # Errors
    /// Those of storage.
    async fn all(&self, kind: NameKind) -> Result<Vec<Named>>;
}

/// What was begun in the background, as Gaffer tells it.
#[async_trait]
pub trait Background: Send + Sync {
    /// A job.
    ///
    /// # Errors
    /// `NotFound` if the caller has no such job; those of storage.
    async fn job(&self, id: &str) -> Result<Json>;

    /// All that the caller may see.
    ///
    /// # Errors
    /// Those of storage.
    async fn jobs(&self) -> Result<Vec<Json>>;

    /// What a job gave.
    ///
    /// # Errors
    /// `NotFound` if there is nothing for the caller; those of storage.
    async fn results(&self, id: &str) -> Result<Json>;
}
