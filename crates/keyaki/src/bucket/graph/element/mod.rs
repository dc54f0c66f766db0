//! Entities, edges and their ids.
//!
//! An element holds no names: its `Shape` does, which all elements of a group share, and its properties lie in
//! the shape's slots. An absent property is `Value::Null`. The ends of an undirected edge are kept sorted.

mod id;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value as Json;

pub(super) use id::sort_ends;
pub use id::{Directed, EdgeId, Matched};

use super::value::{Class, Value, write_string};
use crate::error::{Error, Result};
use id::{directed_from_json, end, write_matched};

/// The number of groups that no schema knows.
pub const FOREIGN: u16 = u16::MAX;

/// What all elements of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The group's number in the schema; [`FOREIGN`] for elements that are not of it.
    pub number: u16,
    /// The group's name; empty if an element was given without one.
    pub group: Box<str>,
    /// Whether they are edges.
    pub is_edge: bool,
    /// The properties' names, by slot.
    pub names: Vec<Box<str>>,
}

impl Shape {
    /// Where a property lies.
    #[must_use]
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| &**own == name)
    }
}

/// Where an element is in the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ends {
    /// An entity's vertex.
    Vertex(Value),
    /// An edge's ends.
    Edge {
        /// Where it starts; the lesser end, if it has no direction.
        source: Value,
        /// Where it ends.
        destination: Value,
        /// Whether it has a direction.
        directed: bool,
        /// Which end was a seed.
        matched: Option<Matched>,
    },
}

/// An entity or an edge.
#[derive(Debug, Clone)]
pub struct Element {
    /// Its group and what its slots hold.
    pub shape: Arc<Shape>,
    /// Where it is.
    pub ends: Ends,
    /// Its properties, by slot.
    pub properties: Vec<Value>,
}

impl Element {
    /// The group's name.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.shape.group
    }

    /// Whether it is an edge.
    #[must_use]
    pub fn is_edge(&self) -> bool {
        matches!(self.ends, Ends::Edge { .. })
    }

    /// A property by name.
    #[must_use]
    pub fn property(&self, name: &str) -> &Value {
        self.shape.slot(name).map_or(&Value::Null, |slot| &self.properties[slot])
    }

    /// Reads an element on its own: its shape has just the properties that are there.
    ///
    /// # Errors
    /// `Invalid` if the JSON is not that of an element.
    pub fn from_json(json: &Json) -> Result<Self> {
        let group = json.get("group").and_then(Json::as_str).unwrap_or_default();
        let ends = Ends::from_json(json)?;
        let is_edge = matches!(ends, Ends::Edge { .. });
        let mut shape = Shape { number: FOREIGN, group: group.into(), is_edge, names: Vec::new() };
        let mut properties = Vec::new();
        for (name, value) in properties_of(json)? {
            shape.names.push(name.as_str().into());
            properties.push(property_from_json(name, value)?);
        }
        Ok(Self { shape: Arc::new(shape), ends, properties })
    }

    /// Reads an element of a known shape. As in Gaffer, properties that the shape has not are left out.
    ///
    /// # Errors
    /// `Invalid` if the JSON is not that of such an element.
    pub fn from_json_shaped(json: &Json, shape: &Arc<Shape>) -> Result<Self> {
        let ends = Ends::from_json(json)?;
        if matches!(ends, Ends::Edge { .. }) != shape.is_edge {
            return Err(
                Error::invalid("an element is not of its group's kind").with("group", &shape.group)
            );
        }
        let mut properties = vec![Value::Null; shape.names.len()];
        for (name, value) in properties_of(json)? {
            if let Some(slot) = shape.slot(name) {
                properties[slot] = property_from_json(name, value)?;
            }
        }
        Ok(Self { shape: Arc::clone(shape), ends, properties })
    }

    /// Writes it as Gaffer does.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let class = if self.is_edge() { Class::Edge } else { Class::Entity };
        out.extend_from_slice(b"{\"class\":\"");
        out.extend_from_slice(class.full_name().as_bytes());
        out.push(b'"');
        if !self.shape.group.is_empty() {
            out.extend_from_slice(b",\"group\":");
            write_string(&self.shape.group, out);
        }
        match &self.ends {
            Ends::Vertex(vertex) => {
                out.extend_from_slice(b",\"vertex\":");
                vertex.write_typed(out);
            }
            Ends::Edge { source, destination, directed, matched } => {
                out.extend_from_slice(b",\"source\":");
                source.write_typed(out);
                out.extend_from_slice(b",\"destination\":");
                destination.write_typed(out);
                out.extend_from_slice(b",\"directed\":");
                out.extend_from_slice(if *directed { b"true" } else { b"false" });
                write_matched(*matched, out);
            }
        }
        out.extend_from_slice(b",\"properties\":{");
        let mut first = true;
        for (name, value) in self.shape.names.iter().zip(&self.properties) {
            if value.is_null() {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            write_string(name, out);
            out.push(b':');
            value.write_typed(out);
        }
        out.extend_from_slice(b"}}");
    }

    /// What decides equality and order: names and values of the properties that are there, sorted.
    fn named(&self) -> Vec<(&str, &Value)> {
        let names = self.shape.names.iter().map(|name| &**name);
        let mut named: Vec<_> =
            names.zip(&self.properties).filter(|(_, value)| !value.is_null()).collect();
        named.sort();
        named
    }
}

impl Ends {
    /// Ends of which nothing is known but whether they are those of an edge.
    #[inline]
    pub(super) fn blank(is_edge: bool) -> Self {
        let (source, destination) = (Value::Null, Value::Null);
        match is_edge {
            true => Self::Edge { source, destination, directed: true, matched: None },
            false => Self::Vertex(Value::Null),
        }
    }

    /// An edge's ends, sorted if it has no direction.
    #[must_use]
    pub fn edge(mut source: Value, mut destination: Value, directed: bool) -> Self {
        if !directed {
            sort_ends(&mut source, &mut destination, &mut None);
        }
        Self::Edge { source, destination, directed, matched: None }
    }

    /// The place alone, without the end that was a seed.
    fn key(&self) -> (&Value, Option<(&Value, bool)>) {
        match self {
            Self::Vertex(vertex) => (vertex, None),
            Self::Edge { source, destination, directed, .. } => {
                (source, Some((destination, *directed)))
            }
        }
    }

    fn from_json(json: &Json) -> Result<Self> {
        if json.get("vertex").is_some() {
            return Ok(Self::Vertex(end(json, "vertex")?));
        }
        let (mut source, mut destination) = (end(json, "source")?, end(json, "destination")?);
        let mut matched = Matched::from_json(json.get("matchedVertex"))?;
        let directed = directed_from_json(json)?.unwrap_or_default() != Directed::Undirected;
        if !directed {
            sort_ends(&mut source, &mut destination, &mut matched);
        }
        Ok(Self::Edge { source, destination, directed, matched })
    }
}

fn properties_of(json: &Json) -> Result<impl Iterator<Item = (&String, &Json)>> {
    let fields = match json.get("properties") {
        None | Some(Json::Null) => None,
        Some(Json::Object(fields)) => Some(fields),
        Some(other) => {
            return Err(Error::invalid("properties are an object").with("properties", other));
        }
    };
    // Gaffer's own class name may stand among them.
    Ok(fields.into_iter().flatten().filter(|(name, _)| *name != "class"))
}

fn property_from_json(name: &str, json: &Json) -> Result<Value> {
    Value::from_json(json).map_err(|error| error.with("at", name))
}

/// As Gaffer shows it in its messages.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ends {
            Ends::Vertex(vertex) => write!(f, "Entity[vertex={vertex}")?,
            Ends::Edge { source, destination, directed, .. } => {
                write!(f, "Edge[source={source},destination={destination},directed={directed}")?;
            }
        }
        write!(f, ",group={},properties=Properties[", self.group())?;
        for (i, (name, value)) in self.named().into_iter().enumerate() {
            let class = value.class().map_or("null", Class::full_name);
            write!(f, "{}{name}=<{class}>{value}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]]")
    }
}

/// Elements are the same if group, place and properties are; which end was a seed is no part of that.
impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = || self.ends.key().cmp(&other.ends.key());
        let group = self.group().cmp(other.group());
        group.then_with(ends).then_with(|| self.named().cmp(&other.named()))
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl Hash for Element {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.group(), self.ends.key(), self.named()).hash(state);
    }
}
