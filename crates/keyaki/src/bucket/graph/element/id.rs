//! The ids of edges: their ends, and which of them are meant.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value as Json;

use crate::bucket::graph::value::{Class, Value, write_string};
use crate::error::{Error, Result};

/// Which end of an edge a seed was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Matched {
    /// The source.
    Source,
    /// The destination.
    Destination,
}

impl Matched {
    /// As Gaffer writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "SOURCE",
            Self::Destination => "DESTINATION",
        }
    }

    pub(super) fn from_json(json: Option<&Json>) -> Result<Option<Self>> {
        match json.and_then(Json::as_str) {
            None => Ok(None),
            Some("SOURCE") => Ok(Some(Self::Source)),
            Some("DESTINATION") => Ok(Some(Self::Destination)),
            Some(other) => {
                Err(Error::invalid("not an end of an edge").with("matchedVertex", other))
            }
        }
    }

    fn swapped(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }
}

/// Which edges are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Directed {
    /// All.
    #[default]
    Either,
    /// Those with a direction.
    Directed,
    /// Those without.
    Undirected,
}

impl Directed {
    /// Reads Gaffer's name for it.
    ///
    /// # Errors
    /// `Invalid` for another.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "EITHER" => Ok(Self::Either),
            "DIRECTED" => Ok(Self::Directed),
            "UNDIRECTED" => Ok(Self::Undirected),
            _ => Err(Error::invalid("not a type of direction").with("directedType", name)),
        }
    }

    /// As Gaffer writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Either => "EITHER",
            Self::Directed => "DIRECTED",
            Self::Undirected => "UNDIRECTED",
        }
    }

    /// Whether it takes in such an edge.
    #[must_use]
    pub fn admits(self, directed: bool) -> bool {
        match self {
            Self::Either => true,
            Self::Directed => directed,
            Self::Undirected => !directed,
        }
    }

    /// What both take in; none if that is nothing.
    #[must_use]
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Either, other) | (other, Self::Either) => Some(other),
            (one, other) => (one == other).then_some(one),
        }
    }
}

/// The id of an edge, as a seed has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId {
    /// Where it starts.
    pub source: Value,
    /// Where it ends.
    pub destination: Value,
    /// Which edges are meant.
    pub directed: Directed,
    /// Which end was a seed.
    pub matched: Option<Matched>,
}

impl EdgeId {
    /// Reads an `EdgeSeed`, or the id of an edge.
    ///
    /// # Errors
    /// `Invalid` if an end is missing or the direction is not one.
    pub fn from_json(json: &Json) -> Result<Self> {
        let directed = directed_from_json(json)?.unwrap_or_default();
        let mut id = Self {
            source: end(json, "source")?,
            destination: end(json, "destination")?,
            directed,
            matched: Matched::from_json(json.get("matchedVertex"))?,
        };
        if id.directed == Directed::Undirected {
            sort_ends(&mut id.source, &mut id.destination, &mut id.matched);
        }
        Ok(id)
    }

    /// Writes it as an `EdgeSeed`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"class\":\"");
        out.extend_from_slice(Class::EdgeSeed.full_name().as_bytes());
        out.extend_from_slice(b"\",\"source\":");
        self.source.write_typed(out);
        out.extend_from_slice(b",\"destination\":");
        self.destination.write_typed(out);
        out.extend_from_slice(b",\"directedType\":");
        write_string(self.directed.name(), out);
        write_matched(self.matched, out);
        out.push(b'}');
    }
}

impl fmt::Display for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, directed, .. } = self;
        let directed = directed.name();
        write!(f, "EdgeSeed[source={source},destination={destination},directed={directed}]")
    }
}

/// Puts the ends of an edge without a direction in order: Gaffer compares what it can compare, and else what is shown.
pub(in crate::bucket::graph) fn sort_ends(
    source: &mut Value,
    destination: &mut Value,
    matched: &mut Option<Matched>,
) {
    let by_text = || source.to_string().cmp(&destination.to_string());
    if source.compare(destination).unwrap_or_else(by_text) == Ordering::Greater {
        std::mem::swap(source, destination);
        *matched = matched.map(Matched::swapped);
    }
}

pub(super) fn end(json: &Json, name: &'static str) -> Result<Value> {
    match json.get(name) {
        None | Some(Json::Null) => {
            Err(Error::invalid("an element lacks a vertex").with("at", name).with("element", json))
        }
        Some(vertex) => Value::from_json(vertex).map_err(|error| error.with("at", name)),
    }
}

/// `directed` or `directedType`, not both; an edge that says neither is directed, a seed looks for either.
pub(super) fn directed_from_json(json: &Json) -> Result<Option<Directed>> {
    let there = |name| json.get(name).filter(|json| !json.is_null());
    match (there("directed"), there("directedType")) {
        (None, None) => Ok(None),
        (Some(Json::Bool(true)), None) => Ok(Some(Directed::Directed)),
        (Some(Json::Bool(false)), None) => Ok(Some(Directed::Undirected)),
        (None, Some(Json::String(name))) => Directed::named(name).map(Some),
        (Some(_), Some(_)) => {
            Err(Error::invalid("Use either 'directed' or 'directedType' - not both"))
        }
        (Some(wrong), None) | (None, Some(wrong)) => {
            Err(Error::invalid("not a direction").with("directed", wrong))
        }
    }
}

pub(super) fn write_matched(matched: Option<Matched>, out: &mut Vec<u8>) {
    if let Some(matched) = matched {
        out.extend_from_slice(b",\"matchedVertex\":");
        write_string(matched.name(), out);
    }
}
