//! Where elements lie among each other: under a vertex, an entity before all edges, and these by how they lie and by
//! their other end, as Gaffer's key packages have it. Each group has a space of its own, so what comes from several
//! is brought into that order here.

use std::cmp::Ordering;

use async_trait::async_trait;

use super::element::{Element, Ends, Matched};
use super::key::Way;
use super::operation::{Batches, Elements};
use super::value::Value;
use crate::error::Result;

/// Elements in a batch, at least, unless fewer are left.
const BATCH: usize = 1_000;

/// Where something lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row<V = Value> {
    pub vertex: V,
    pub edge: Option<EdgeRow<V>>,
}

/// The flag comes before the other end or behind it; the other place is 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EdgeRow<V = Value> {
    pub before: u8,
    pub other: Other<V>,
    pub behind: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Other<V = Value> {
    Least,
    Is(V),
    Most,
}

impl Row {
    /// The same without owning it.
    pub fn as_ref(&self) -> Row<&Value> {
        let edge = self.edge.as_ref().map(|edge| EdgeRow {
            before: edge.before,
            other: match &edge.other {
                Other::Least => Other::Least,
                Other::Is(other) => Other::Is(other),
                Other::Most => Other::Most,
            },
            behind: edge.behind,
        });
        Row { vertex: &self.vertex, edge }
    }
}

/// As `byteEntity` has it; an entity's is 1.
pub(super) fn flag(way: Way) -> u8 {
    match way {
        Way::Out => 2,
        Way::In => 3,
        Way::Undirected => 4,
    }
}

/// Where this copy of an element lies: under its matched end.
pub(super) fn row_of(element: &Element, flag_last: bool) -> Row<&Value> {
    let (source, destination, directed, matched) = match &element.ends {
        Ends::Vertex(vertex) => return Row { vertex, edge: None },
        Ends::Edge { source, destination, directed, matched } => {
            (source, destination, directed, matched)
        }
    };
    let (vertex, other, way) = match (directed, matched) {
        (true, Some(Matched::Destination)) => (destination, source, Way::In),
        (true, _) => (source, destination, Way::Out),
        (false, Some(Matched::Destination)) => (destination, source, Way::Undirected),
        (false, _) => (source, destination, Way::Undirected),
    };
    let (before, behind) = match (flag_last, way) {
        (false, way) => (flag(way), 0),
        (true, Way::Undirected) => (0, 1),
        (true, way) => (0, flag(way)),
    };
    let edge = EdgeRow { before, other: Other::Is(other), behind };
    Row { vertex, edge: Some(edge) }
}

/// Streams that are each in the order of rows, as one that is; of one row, what comes from the first of them comes first.
pub(super) fn merged(mut streams: Vec<Elements>, flag_last: bool) -> Elements {
    if streams.len() == 1
        && let Some(only) = streams.pop()
    {
        return only;
    }
    let stream = |inner| Stream { inner, batch: Vec::new() };
    Box::new(Merged { streams: streams.into_iter().map(stream).collect(), flag_last })
}

struct Merged {
    streams: Vec<Stream>,
    flag_last: bool,
}

struct Stream {
    inner: Elements,
    /// What has been read of it, the last first.
    batch: Vec<Element>,
}

impl Merged {
    /// Reads on where nothing is left, and forgets streams that are over.
    async fn fill(&mut self) -> Result<()> {
        let mut place = 0;
        while let Some(stream) = self.streams.get_mut(place) {
            if stream.batch.is_empty() {
                match stream.inner.next().await? {
                    Some(batch) => {
                        stream.batch = batch;
                        stream.batch.reverse();
                    }
                    None => {
                        self.streams.remove(place);
                        continue;
                    }
                }
            }
            place += 1;
        }
        Ok(())
    }

    /// Moves what comes first, until more of some stream has to be read.
    fn take(&mut self, out: &mut Vec<Element>) {
        while let Some(element) = self.first().and_then(|stream| stream.batch.pop()) {
            out.push(element);
        }
    }

    /// The stream whose next element comes first; none if one has to be read before that is known.
    fn first(&mut self) -> Option<&mut Stream> {
        let mut first: Option<(usize, Row<&Value>)> = None;
        for (place, stream) in self.streams.iter().enumerate() {
            let row = row_of(stream.batch.last()?, self.flag_last);
            if first.as_ref().is_none_or(|(_, before)| row.cmp(before) == Ordering::Less) {
                first = Some((place, row));
            }
        }
        let place = first?.0;
        self.streams.get_mut(place)
    }
}

#[async_trait]
impl Batches<Element> for Merged {
    async fn next(&mut self) -> Result<Option<Vec<Element>>> {
        let mut out = Vec::new();
        loop {
            self.fill().await?;
            match self.streams.as_mut_slice() {
                [] => break,
                [only] => {
                    let mut batch = std::mem::take(&mut only.batch);
                    batch.reverse();
                    out.append(&mut batch);
                    break;
                }
                _ => self.take(&mut out),
            }
            if out.len() >= BATCH {
                break;
            }
        }
        Ok(if out.is_empty() { None } else { Some(out) })
    }

    fn is_over(&self) -> bool {
        let over = |stream: &Stream| stream.batch.is_empty() && stream.inner.is_over();
        self.streams.iter().all(over)
    }
}
