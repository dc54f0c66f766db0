//! How the elements of one group are cells: keys by the key package, values by the group.
//!
//! | part      | content                                                                    |
//! |-----------|----------------------------------------------------------------------------|
//! | partition | the vertex                                                                 |
//! | sort      | rest of the row, group-by values, label if the group has one; where equal elements are kept apart, the commit's id and a number (u32) |
//! | value     | the label as its visibility, the other properties as its payload           |

use std::sync::Arc;

use super::element::{Element, Ends, Matched};
use super::key::{KeyPackage, Way};
use super::schema::Group;
use super::value::{Class, KeyReader, Value, VertexEncoding, encode_part, encode_vertex};
use crate::cell::key::{escape_into, unescape};
use crate::engine::CellRef;
use crate::error::{Error, Result};

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
        let mut rest = Vec::new();
        for slot in self.group.group_by() {
            encode_part(&element.properties[*slot], self.group.classes()[*slot], &mut rest)?;
        }
        if let Some(slot) = self.group.visibility_slot() {
            encode_part(&element.properties[slot], Class::String, &mut rest)?;
        }
        match &element.ends {
            Ends::Vertex(vertex) => {
                let mut sort = Vec::with_capacity(rest.len() + 1);
                self.package.entity(&mut sort);
                sort.extend_from_slice(&rest);
                Ok(Places { first: Place { partition: self.vertex(vertex)?, sort }, second: None })
            }
            Ends::Edge { source, destination, directed, .. } => {
                let (source, destination) = (self.vertex(source)?, self.vertex(destination)?);
                let (out, back) = match directed {
                    true => (Way::Out, Way::In),
                    false => (Way::Undirected, Way::Undirected),
                };
                let first = self.edge_sort(out, &destination, &rest);
                let second = (source != destination)
                    .then(|| self.edge_sort(back, &source, &rest))
                    .map(|sort| Place { partition: destination, sort });
                Ok(Places { first: Place { partition: source, sort: first }, second })
            }
        }
    }

    /// A vertex as a partition.
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

    /// How an edge lies; none for an entity.
    ///
    /// # Errors
    /// `Corrupt` if the key is not one of ours.
    pub fn way(&self, cell: &CellRef<'_>) -> Result<Option<Way>> {
        if !self.group.shape().is_edge {
            return Ok(None);
        }
        let parts = self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?;
        Ok(Some(parts.way))
    }

    /// Reads an element; none if this copy of it is not wanted.
    ///
    /// # Errors
    /// `Corrupt` if the cell is not one of ours.
    pub fn read(&self, cell: &CellRef<'_>, copies: Copies) -> Result<Option<Element>> {
        let (ends, rest) = self.ends(cell, copies)?;
        let Some(ends) = ends else { return Ok(None) };
        let group = &self.group;
        let mut properties = vec![Value::Null; group.classes().len()];
        let mut reader = KeyReader::new(rest);
        for slot in group.group_by() {
            properties[*slot] = reader.part(group.classes()[*slot])?;
        }
        if let Some(slot) = group.visibility_slot() {
            properties[slot] = reader.part(Class::String)?;
        }
        group.decode_properties(cell.payload(), &mut properties)?;
        let mut element = Element { shape: Arc::clone(group.shape()), ends, properties };
        group.fill(&mut element);
        Ok(Some(element))
    }

    fn ends<'a>(&self, cell: &CellRef<'a>, copies: Copies) -> Result<(Option<Ends>, &'a [u8])> {
        let vertex = KeyReader::new(&cell.partition()).vertex(self.vertices)?;
        if !self.group.shape().is_edge {
            let rest = self.package.entity_rest(cell.sort()).ok_or_else(|| damaged(cell))?;
            return Ok((Some(Ends::Vertex(vertex)), rest));
        }
        let parts = self.package.edge_parts(cell.sort()).ok_or_else(|| damaged(cell))?;
        let other = unescape(parts.other).map_err(|_| damaged(cell))?;
        let other = KeyReader::new(&other).vertex(self.vertices)?;
        let (mut ends, at) = match parts.way {
            Way::Out => (Ends::edge(vertex, other, true), Matched::Source),
            Way::In => (Ends::edge(other, vertex, true), Matched::Destination),
            Way::Undirected => {
                let ends = Ends::edge(vertex.clone(), other, false);
                let first = matches!(&ends, Ends::Edge { source, .. } if *source == vertex);
                (ends, if first { Matched::Source } else { Matched::Destination })
            }
        };
        if copies == Copies::Once && at == Matched::Destination {
            return Ok((None, parts.rest));
        }
        if let (Ends::Edge { matched, .. }, Copies::Matched) = (&mut ends, copies) {
            *matched = Some(at);
        }
        Ok((Some(ends), parts.rest))
    }
}

#[cold]
fn damaged(cell: &CellRef<'_>) -> Error {
    Error::corrupt("the key of an element can't be read").with_bytes("sort", cell.sort())
}
