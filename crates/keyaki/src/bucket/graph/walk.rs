//! A walk through the graph: the edges of each hop, and the vertices passed with the entities found at them.

use std::fmt;

use serde_json::Value as Json;

use super::element::Element;
use super::value::{Value, write_string};
use crate::error::{Error, Result};

/// Hops from vertex to vertex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Walk {
    /// The edge taken in each hop; several if they join the same vertices.
    pub edges: Vec<Vec<Element>>,
    /// Each vertex passed, in order, with its entities; one more than there are hops.
    pub vertices: Vec<(Value, Vec<Element>)>,
}

impl Walk {
    pub(super) fn from_json(json: &Json) -> Result<Self> {
        let wrong = || Error::invalid("not a walk").with("json", json);
        let list = |name| json.get(name).and_then(Json::as_array).ok_or_else(wrong);
        let elements = |json: &Json| {
            let items = json.as_array().ok_or_else(wrong)?;
            items.iter().map(Element::from_json).collect::<Result<Vec<_>>>()
        };
        let edges = list("edges")?.iter().map(elements).collect::<Result<_>>()?;
        let mut vertices = Vec::new();
        for entry in list("entities")? {
            let (vertex, found) =
                entry.as_object().and_then(|e| e.iter().next()).ok_or_else(wrong)?;
            vertices.push((vertex.as_str().into(), elements(found)?));
        }
        Ok(Self { edges, vertices })
    }

    /// Writes it as Gaffer does.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"edges\":[");
        for (i, hop) in self.edges.iter().enumerate() {
            separate(i, out);
            write_elements(hop, out);
        }
        out.extend_from_slice(b"],\"entities\":[");
        for (i, (vertex, entities)) in self.vertices.iter().enumerate() {
            separate(i, out);
            out.push(b'{');
            write_string(&vertex.to_string(), out);
            out.push(b':');
            write_elements(entities, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
}

fn write_elements(elements: &[Element], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, element) in elements.iter().enumerate() {
        separate(i, out);
        element.write_json(out);
    }
    out.push(b']');
}

fn separate(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.push(b',');
    }
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vertices: Vec<_> = self.vertices.iter().map(|(vertex, _)| vertex.to_string()).collect();
        write!(f, "Walk[{}]", vertices.join(" --> "))
    }
}
