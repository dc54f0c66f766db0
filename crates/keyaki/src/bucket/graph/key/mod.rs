//! Which keys do elements have? A key package says, as Gaffer's do; `tests/it/graph/key.rs` holds the bytes.
//!
//! A row is `vertex | 00 | the rest`: the vertex is the cell's partition, which engines escape and end with 00, and
//! the rest begins its sort key. With several shards the partition is `escape(vertex) | 00 | shard`. An entity is one cell, an edge two, one under each end; a loop is one. Behind the
//! row come the values of group-by and the label, and where equal elements are kept apart, the commit and a number.
//! Each group has a space of its own, so a package never has to tell the rows of entities from those of edges.

mod byte_entity;
mod classic;
mod sharded;

use std::fmt::Debug;
use std::ops::Bound;

pub use byte_entity::ByteEntity;
pub use classic::Classic;
pub use sharded::Sharded;

use super::element::Directed;
use super::operation::Side;
use crate::error::{Error, Result};

/// How an edge lies under the vertex of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// It has a direction, and the vertex is its source.
    Out,
    /// It has a direction, and the vertex is its destination.
    In,
    /// It has none.
    Undirected,
}

/// Some of the ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways(u8);

impl Ways {
    const ALL: [Way; 3] = [Way::Out, Way::In, Way::Undirected];

    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::such(|_| true)
    }

    /// Those that hold.
    pub fn such(holds: impl Fn(Way) -> bool) -> Self {
        let bit = |way: &Way| 1 << *way as u8;
        Self(Self::ALL.iter().filter(|way| holds(**way)).map(bit).sum())
    }

    /// Those that a query for seeds wants.
    #[must_use]
    pub fn of(side: Side, directed: Directed) -> Self {
        Self::such(|way| {
            let on_side = match way {
                Way::Out => side != Side::Incoming,
                Way::In => side != Side::Outgoing,
                Way::Undirected => true,
            };
            on_side && directed.admits(way != Way::Undirected)
        })
    }

    /// Those of them that are among others too.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn has(self, way: Way) -> bool {
        self.0 & (1 << way as u8) != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Way> {
        Self::ALL.into_iter().filter(move |way| self.has(*way))
    }
}

/// An edge's sort key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeSort<'a> {
    /// How it lies.
    pub way: Way,
    /// The other end, escaped.
    pub other: &'a [u8],
    /// What comes behind the row.
    pub rest: &'a [u8],
}

/// A range of sort keys.
pub type SortRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A way to lay out rows.
pub trait KeyPackage: Debug + Send + Sync {
    /// As buckets name it.
    fn name(&self) -> &'static str;

    /// Over how many partitions the edges of a vertex are spread; entities are always in the first.
    fn shards(&self) -> u8 {
        1
    }

    /// Whether the flag of an edge lies only behind its other end.
    fn flags_last(&self) -> bool {
        false
    }

    /// Begins the sort key of an entity.
    fn entity(&self, sort: &mut Vec<u8>);

    /// Begins the sort key of an edge; the other end is escaped.
    fn edge(&self, way: Way, other: &[u8], sort: &mut Vec<u8>);

    /// What comes behind the row of an entity.
    fn entity_rest<'a>(&self, sort: &'a [u8]) -> Option<&'a [u8]>;

    /// Takes the sort key of an edge apart.
    fn edge_parts<'a>(&self, sort: &'a [u8]) -> Option<EdgeSort<'a>>;

    /// Where the edges under a vertex lie that go these ways. There may be others among them, unless…
    fn edges(&self, ways: Ways) -> Vec<SortRange>;

    /// …edges of different ways lie apart.
    fn ways_lie_apart(&self) -> bool;

    /// Which ways an edge may lie that a seed asks for by both its ends, the first of which is the vertex.
    fn seeded(&self, directed: Directed, side: Side) -> Ways;

    /// Whether such a seed finds a directed edge from a vertex to itself.
    fn finds_loops(&self, _: Side) -> bool {
        true
    }
}

/// The package of that name.
///
/// # Errors
/// `Invalid` if there is none.
pub fn by_name(name: &str) -> Result<&'static dyn KeyPackage> {
    const PACKAGES: [&dyn KeyPackage; 3] = [&ByteEntity, &Classic, &Sharded];
    let found = PACKAGES.into_iter().find(|package| package.name() == name);
    found.ok_or_else(|| Error::invalid("no such key package").with("keyPackage", name))
}

/// What ends a part of a row.
const END: u8 = 0x00;

/// The bytes before the next end, and those behind it.
fn closed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = bytes.iter().position(|byte| *byte == END)?;
    Some((&bytes[..len], &bytes[len + 1..]))
}
