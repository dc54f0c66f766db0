//! What may be in a graph? Gaffer's schema, compiled: names become slots, class names become classes, and JSON
//! becomes predicates and operators, once.
//!
//! `definition` reads and merges the JSON, `layout` gives groups and properties their numbers, `build` compiles
//! and checks, `group` is what the rest works with, `change` says which schema may follow which.

mod build;
mod change;
mod definition;
mod group;
mod layout;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

pub use definition::{Definition, GroupDefinition, TypeDefinition};
pub use group::{Group, GroupId};
pub use layout::Layout;

use super::element::Element;
use super::json::read_json;
use super::read;
use super::value::{Value, VertexEncoding};
use crate::error::{Error, Result};

/// Whether elements are validated when they come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// As of this time.
    At(i64),
    /// Not at all; the rules still hold when the graph is read.
    None,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    /// By number; a number whose group is gone holds nothing.
    groups: Vec<Option<Arc<Group>>>,
    by_name: HashMap<Box<str>, GroupId>,
    definition: Definition,
    layout: Layout,
    vertices: VertexEncoding,
}

impl Schema {
    /// Reads a schema from one part or a list of parts.
    ///
    /// # Errors
    /// `Invalid` with the reason, as Gaffer gives it.
    pub fn from_json(json: &Json) -> Result<Self> {
        Self::with_layout(json, Layout::default())
    }

    /// Reads a schema whose groups and properties have their numbers already, or follow those that have.
    ///
    /// # Errors
    /// `Invalid` with the reason, as Gaffer gives it.
    pub fn with_layout(json: &Json, layout: Layout) -> Result<Self> {
        Self::build(Definition::from_json(json)?, layout)
    }

    /// A group by name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Arc<Group>> {
        self.by_name.get(name).and_then(|id| self.group_by_id(*id))
    }

    /// A group by number.
    #[must_use]
    pub fn group_by_id(&self, id: GroupId) -> Option<&Arc<Group>> {
        self.groups.get(usize::from(id.0))?.as_ref()
    }

    /// All groups, in the order of their numbers.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.groups.iter().flatten()
    }

    /// How vertices are written in keys.
    #[must_use]
    pub fn vertices(&self) -> VertexEncoding {
        self.vertices
    }

    /// Refuses what can't be a vertex of this graph.
    ///
    /// # Errors
    /// `Invalid` with the class that it should be of.
    pub fn check_vertex(&self, vertex: &Value) -> Result<()> {
        match self.vertices {
            VertexEncoding::Plain(class) if vertex.class() != Some(class) => {
                Err(Error::invalid("a vertex is not of its class")
                    .with("class", class.full_name())
                    .with("vertex", vertex))
            }
            _ => Ok(()),
        }
    }

    /// The property that says who may see an element.
    #[must_use]
    pub fn visibility_property(&self) -> Option<&str> {
        self.definition.visibility_property.as_deref()
    }

    /// The numbers of groups and properties, to be stored beside the schema.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// As it was defined.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The schema as Gaffer shows it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut json = self.definition.to_json();
        for kind in ["entities", "edges"] {
            let groups = json.get_mut(kind).and_then(Json::as_object_mut);
            for group in groups.into_iter().flat_map(|groups| groups.values_mut()) {
                if group["groupBy"].as_array().is_some_and(Vec::is_empty) {
                    group.as_object_mut().map(|fields| fields.remove("groupBy"));
                }
            }
        }
        json
    }

    /// Reads an element of one of the groups.
    ///
    /// # Errors
    /// `Invalid` for an unknown group, or JSON that is not an element.
    pub fn element_from_json(&self, json: &Json) -> Result<Element> {
        let name = json.get("group").and_then(Json::as_str).unwrap_or_default();
        let unknown = || Error::invalid("No element definition found for").with("group", name);
        let group = self.group(name).ok_or_else(unknown)?;
        Element::from_json_shaped(json, group.shape())
    }

    /// Reads an element from text, at speed; it means the same as [`Self::element_from_json`].
    ///
    /// # Errors
    /// `Invalid` for what is not JSON, has a key twice, or is not an element of one of the groups.
    pub fn element_from_text(&self, text: &[u8]) -> Result<Element> {
        match read::element(text, self) {
            Some(element) => Ok(element),
            // Unusual, or wrong: the way through a tree knows all forms and all reasons.
            None => self.element_from_json(&read_json(text)?),
        }
    }

    /// Takes over an element that was made elsewhere: its properties find their slots, and those that the group
    /// has not are left out.
    ///
    /// # Errors
    /// `Invalid` for an unknown group.
    pub fn adopt(&self, element: Element) -> Result<Element> {
        let own = self.group_by_id(GroupId(element.shape.number));
        if own.is_some_and(|group| Arc::ptr_eq(group.shape(), &element.shape)) {
            return Ok(element);
        }
        let unknown =
            || Error::invalid("No element definition found for").with("group", element.group());
        let group = self.group(element.group()).ok_or_else(unknown)?;
        if element.is_edge() != group.shape().is_edge {
            return Err(Error::invalid("an element is not of its group's kind")
                .with("group", &element.shape.group));
        }
        let mut properties = vec![Value::Null; group.shape().names.len()];
        for (name, value) in element.shape.names.iter().zip(element.properties) {
            if let Some(slot) = group.shape().slot(name) {
                properties[slot] = value;
            }
        }
        Ok(Element { shape: Arc::clone(group.shape()), ends: element.ends, properties })
    }

    /// Makes an element ready to be stored: it is of its group's shape, has a label that can be read, is valid if
    /// that is asked for, and what Gaffer's serialisers read back for absent properties is in their place.
    ///
    /// # Errors
    /// `Invalid` with the reason.
    pub fn admit(&self, element: Element, checks: Checks) -> Result<Element> {
        let mut element = self.adopt(element)?;
        if let Some(group) = self.group_by_id(GroupId(element.shape.number)) {
            group.check_label(&element)?;
            if let Checks::At(now_ms) = checks {
                group.validate(&element, now_ms)?;
            }
            group.fill(&mut element.properties);
        }
        Ok(element)
    }
}
