//! How the elements of one group are cells: keys by the key package, values by the group.
//!
//! | part      | content                                                                    |
//! |-----------|----------------------------------------------------------------------------|
//! | partition | the vertex, with a shard where the package has several                     |
//! | sort      | rest of the row, group-by values, label if the group has one; where equal elements are kept apart, the commit's id and a number (u32) |
//! | value     | the label as its visibility, the other properties as its payload           |

use std::borrow::Cow;
use std::sync::Arc;

use super::element::{Element, Ends, Matched, sort_ends};
use super::key::{EdgeSort, KeyPackage, Way, Ways};
use super::operation::Apart;
use super::schema::Group;
use super::value::{Class, KeyReader, Value, VertexEncoding, encode_part, encode_vertex};
use crate::cell::key::{escape_into, unescape};
use crate::engine::CellRef;
use crate::error::{Error, Result};

/// What ends a vertex before its shard.
const END: u8 = 0x00;

/// How one group is stored.
#[derive(Debug, Clone)]
pub struct Form {
    /// The group.
    pub group: Arc<Group>,
    /// How the graph writes its vertices.
    pub vertices: VertexEncoding,
    /// How it lays out rows.
    pub package: &'static dyn KeyPackage,
}

/// Where a cell is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The vertex.
    pub partition: Vec<u8>,
    /// The rest of its key.
    pub sort: Vec<u8>,
}

/// The cells of an element: one, or two for an edge between two vertices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    /// The cell, or that of the source.
    pub first: Place,
    /// That of the destination.
    pub second: Option<Place>,
}

impl Places {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

/// Where the parts of an element's keys end, from where the first begins: partition and sort key of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyEnds {
    /// Those of the cell, or that of the source.
    pub first: [u32; 2],
    /// Those of the destination's.
    pub second: Option<[u32; 2]>,
}

/// Room that is used again for each element.
#[derive(Debug, Default)]
pub struct Scratch {
    vertex: Vec<u8>,
    other: Vec<u8>,
    escaped: Vec<u8>,
    rest: Vec<u8>,
}

/// Which copies of its edges a scan wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// Under each vertex, and saying which end that is.
    Matched,
    /// Under each vertex, without saying so.
    Unmatched,
    /// Those at the sources alone: each edge once.
    Once,
}

impl Form {
    /// The keys of an element's cells.
    ///
    /// # Errors
    /// `Invalid` if a vertex or a group-by value can't be in a key.
    pub fn places(&self, element: &Element) -> Result<Places> {
        let mut bytes = Vec::new();
        let ends = self.encode(element, &mut Scratch::default(), &mut bytes)?;
        let mut at = 0;
        let mut part = |end: u32| bytes[std::mem::replace(&mut at, end as usize)..at].to_vec();
        let mut place =
            |[partition, sort]: [u32; 2]| Place { partition: part(partition), sort: part(sort) };
        Ok(Places { first: place(ends.first), second: ends.second.map(place) })
    }

    /// Appends the keys of an element's cells, one part after the other, and answers where each of these ends.
    ///
    /// # Errors
    /// `Invalid` if a vertex or a group-by value can't be in a key; what was appended is then worth nothing.
    pub fn encode(
        &self,
        element: &Element,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<KeyEnds> {
        let Scratch { vertex, other, escaped, rest } = scratch;
        rest.clear();
        for slot in self.group.group_by() {
            encode_part(&element.properties[*slot], self.group.classes()[*slot], rest)?;
        }
        if let Some(slot) = self.group.visibility_slot() {
            encode_part(&element.properties[slot], Class::String, rest)?;
        }
        let start = out.len();
        let so_far = |out: &Vec<u8>| (out.len() - start) as u32;
        let (source, destination, directed) = match &element.ends {
            Ends::Vertex(value) => {
                vertex.clear();
                encode_vertex(value, self.vertices, vertex)?;
                self.partition(vertex, 0, out);
                let partition = so_far(out);
                self.package.entity(out);
                out.extend_from_slice(rest);
                return Ok(KeyEnds { first: [partition, so_far(out)], second: None });
            }
            Ends::Edge { source, destination, directed, .. } => (source, destination, *directed),
        };
        vertex.clear();
        encode_vertex(source, self.vertices, vertex)?;
        other.clear();
        encode_vertex(destination, self.vertices, other)?;
        let (there, back) = match directed {
            true => (Way::Out, Way::In),
            false => (Way::Undirected, Way::Undirected),
        };
        let mut copy = |vertex: &[u8], way, other: &[u8]| {
            self.partition(vertex, self.shard(other), out);
            let partition = so_far(out);
            escaped.clear();
            escape_into(other, escaped);
            self.package.edge(way, escaped, out);
            out.extend_from_slice(rest);
            [partition, so_far(out)]
        };
        let first = copy(vertex, there, other);
        let second = (vertex != other).then(|| copy(other, back, vertex));
        Ok(KeyEnds { first, second })
    }

    /// Appends the partition of a shard of a vertex.
    fn partition(&self, vertex: &[u8], shard: u8, out: &mut Vec<u8>) {
        if self.package.shards() == 1 {
            out.extend_from_slice(vertex);
            return;
        }
        escape_into(vertex, out);
        out.extend_from_slice(&[END, shard]);
    }

    /// Which shard an edge is in, under one end, by the other.
    fn shard(&self, other: &[u8]) -> u8 {
        match self.package.shards() {
            1 => 0,
            shards => (crc32c::crc32c(other) % u32::from(shards)) as u8,
        }
    }

    /// The partition of the edges between a vertex and another.
    #[must_use]
    pub fn partition_of_edge(&self, vertex: &[u8], other: &[u8]) -> Vec<u8> {
        let mut partition = Vec::with_capacity(vertex.len() + 2);
        self.partition(vertex, self.shard(other), &mut partition);
        partition
    }

    /// The partitions of a vertex in which elements of the group may be.
    pub fn partitions(&self, vertex: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let shards = if self.group.shape().is_edge { self.package.shards() } else { 1 };
        (0..shards).map(move |shard| {
            let mut partition = Vec::with_capacity(vertex.len() + 2);
            self.partition(vertex, shard, &mut partition);
            partition
        })
    }

    /// The first partition of a vertex, and the last.
    #[must_use]
    pub fn partition_range(&self, first: &[u8], last: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        self.partition(first, 0, &mut from);
        self.partition(last, self.package.shards() - 1, &mut to);
        (from, to)
    }

    /// The vertex that a cell lies under.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn vertex_of(&self, cell: &CellRef<'_>) -> Result<Value> {
        let partition = cell.partition();
        KeyReader::new(&self.vertex_bytes(&partition, cell)?).vertex(self.vertices)
    }

    fn vertex_bytes<'a>(&self, partition: &'a [u8], cell: &CellRef<'_>) -> Result<Cow<'a, [u8]>> {
        if self.package.shards() == 1 {
            return Ok(Cow::Borrowed(partition));
        }
        let escaped = partition.split_last_chunk::<2>().filter(|(_, [end, _])| *end == END);
        let (escaped, _) = escaped.ok_or_else(|| damaged(cell))?;
        unescape(escaped).map_err(|_| damaged(cell))
    }

    /// Where the other cell of an edge is; none of a loop or an entity.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn other_place(&self, cell: &CellRef<'_>) -> Result<Option<Place>> {
        if !self.group.shape().is_edge {
            return Ok(None);
        }
        let parts = self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?;
        let partition = cell.partition();
        let vertex = self.vertex_bytes(&partition, cell)?;
        let other = unescape(parts.other).map_err(|_| damaged(cell))?;
        let back = match parts.way {
            Way::Out => Way::In,
            Way::In => Way::Out,
            Way::Undirected => Way::Undirected,
        };
        Ok((vertex != other).then(|| Place {
            partition: self.partition_of_edge(&other, &vertex),
            sort: self.edge_sort(back, &vertex, parts.rest),
        }))
    }

    /// A vertex's bytes.
    ///
    /// # Errors
    /// `Invalid` if it can't be one.
    pub fn vertex(&self, vertex: &Value) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(16);
        encode_vertex(vertex, self.vertices, &mut bytes)?;
        Ok(bytes)
    }

    /// The sort key of an edge under one end, or the beginning of those that share it.
    #[must_use]
    pub fn edge_sort(&self, way: Way, other: &[u8], rest: &[u8]) -> Vec<u8> {
        let mut escaped = Vec::with_capacity(other.len() + 2);
        escape_into(other, &mut escaped);
        let mut sort = Vec::with_capacity(escaped.len() + rest.len() + 4);
        self.package.edge(way, &escaped, &mut sort);
        sort.extend_from_slice(rest);
        sort
    }

    /// Reads an element; none if this copy of it is not wanted.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn read(&self, cell: &CellRef<'_>, ways: Ways, copies: Copies) -> Result<Option<Element>> {
        let mut read = Vec::new();
        self.read_under(&self.vertex_of(cell)?, cell, ways, copies, &mut read)?;
        Ok(read.pop())
    }

    /// Appends the element of a cell, where it is known which vertex this lies under, unless this copy is not wanted.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn read_under(
        &self,
        vertex: &Value,
        cell: &CellRef<'_>,
        ways: Ways,
        copies: Copies,
        elements: &mut Vec<Element>,
    ) -> Result<()> {
        let group = &self.group;
        // Everything is written where it stays: what was just written is slow to move.
        elements.push(Element {
            shape: Arc::clone(group.shape()),
            ends: Ends::blank(group.shape().is_edge),
            properties: Vec::with_capacity(group.classes().len()),
        });
        let Some(Element { ends, properties, .. }) = elements.last_mut() else { return Ok(()) };
        let Some(rest) = self.read_ends(vertex, cell, ways, copies, ends)? else {
            elements.pop();
            return Ok(());
        };
        properties.resize_with(group.classes().len(), Value::default);
        let mut reader = KeyReader::new(rest);
        for slot in group.group_by() {
            reader.part(group.classes()[*slot], &mut properties[*slot])?;
        }
        if let Some(slot) = group.visibility_slot() {
            reader.part(Class::String, &mut properties[slot])?;
        }
        group.decode_properties(cell.payload(), properties)?;
        group.fill(properties);
        Ok(())
    }

    /// Reads the other end of an edge; none if it lies another way, or is not told apart from the last, whose key is kept
    /// in `last`. The cells of one scan have the same vertex.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn read_other(
        &self,
        cell: &CellRef<'_>,
        ways: Ways,
        apart: Apart,
        last: &mut Vec<u8>,
    ) -> Result<Option<Value>> {
        let parts = self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?;
        let key = self.told_apart(cell.sort(), &parts, apart)?;
        if !ways.has(parts.way) || key == last.as_slice() {
            return Ok(None);
        }
        last.clear();
        last.extend_from_slice(key);
        let other = unescape(parts.other).map_err(|_| damaged(cell))?;
        KeyReader::new(&other).vertex(self.vertices).map(Some)
    }

    /// As much of a sort key as tells edges apart.
    fn told_apart<'a>(&self, sort: &'a [u8], parts: &EdgeSort<'_>, by: Apart) -> Result<&'a [u8]> {
        let Apart::By(kept) = by else { return Ok(sort) };
        let mut reader = KeyReader::new(parts.rest);
        for slot in &self.group.group_by()[..kept] {
            reader.skip(self.group.classes()[*slot])?;
        }
        Ok(&sort[..sort.len() - reader.rest().len()])
    }

    /// Whether it is the one cell of an edge that counts, where it has two.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn is_first(&self, cell: &CellRef<'_>) -> Result<bool> {
        if !self.group.shape().is_edge {
            return Ok(true);
        }
        match self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?.way {
            Way::Out => Ok(true),
            Way::In => Ok(false),
            Way::Undirected => {
                let (vertex, mut ends) = (self.vertex_of(cell)?, Ends::blank(true));
                Ok(self.read_ends(&vertex, cell, Ways::all(), Copies::Once, &mut ends)?.is_some())
            }
        }
    }

    /// Reads where an element is into blank ends, and answers the rest of its key; none if this copy of it is not wanted.
    #[inline]
    fn read_ends<'a>(
        &self,
        vertex: &Value,
        cell: &CellRef<'a>,
        ways: Ways,
        copies: Copies,
        ends: &mut Ends,
    ) -> Result<Option<&'a [u8]>> {
        let (source, destination, directed, matched) = match ends {
            Ends::Vertex(own) => {
                let rest = self.package.entity_rest(cell.sort()).ok_or_else(|| damaged(cell))?;
                own.set_copy(vertex);
                return Ok(Some(rest));
            }
            Ends::Edge { source, destination, directed, matched } => {
                (source, destination, directed, matched)
            }
        };
        let parts = self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?;
        if !ways.has(parts.way) {
            return Ok(None);
        }
        let (at, own, other) = match parts.way {
            Way::In => (Matched::Destination, &mut *destination, &mut *source),
            Way::Out | Way::Undirected => (Matched::Source, &mut *source, &mut *destination),
        };
        own.set_copy(vertex);
        let name = unescape(parts.other).map_err(|_| damaged(cell))?;
        KeyReader::new(&name).vertex_into(self.vertices, other)?;
        *directed = parts.way != Way::Undirected;
        *matched = Some(at);
        if !*directed {
            sort_ends(source, destination, matched);
        }
        if copies == Copies::Once && *matched == Some(Matched::Destination) {
            return Ok(None);
        }
        if copies != Copies::Matched {
            *matched = None;
        }
        Ok(Some(parts.rest))
    }
}

#[cold]
fn damaged(cell: &CellRef<'_>) -> Error {
    Error::corrupt("the key of an element can't be read").with_bytes("sort", cell.sort())
}
