//! Entities at both ends of each edge, with a sketch of what is at the other end. Aggregated, they tell of each vertex
//! how many others it is joined to.

use std::sync::Arc;

use super::super::{Spec, wrong_class};
use super::Function;
use crate::bucket::graph::element::{Element, Ends, FOREIGN, Shape};
use crate::bucket::graph::value::{Class, Set, SetKind, Value};
use crate::error::Result;

/// What such entities look like.
#[derive(Debug, Clone)]
pub struct Cardinality {
    /// The class of their sketches.
    class: Class,
    group: Box<str>,
    sketch: Box<str>,
    /// The property that is 1.
    count: Option<Box<str>>,
    /// The property with the group of the edge.
    edge_group: Option<Box<str>>,
    /// Properties that are the edge's.
    copied: Vec<Box<str>>,
    /// What becomes of a vertex before it is noted.
    converter: Option<Function>,
}

impl Cardinality {
    pub(super) fn from_spec(spec: &Spec<'_>, class: Class) -> Result<Self> {
        let name = |field| Ok::<_, crate::error::Error>(spec.text(field)?.map(Into::into));
        Ok(Self {
            class,
            group: name("group")?.unwrap_or_else(|| "Cardinality".into()),
            sketch: name("cardinalityPropertyName")?.unwrap_or_else(|| "cardinality".into()),
            count: name("countProperty")?,
            edge_group: name("edgeGroupProperty")?,
            copied: spec.texts("propertiesToCopy")?.into_iter().map(Into::into).collect(),
            converter: spec.get("vertexValueConverter").map(Function::from_json).transpose()?,
        })
    }

    /// All elements, and behind each edge the entities at its ends.
    pub(super) fn entities(&self, elements: &Value, now_ms: i64) -> Result<Value> {
        let items = elements.items().ok_or_else(|| wrong_class("elements", elements))?;
        let mut made = Vec::new();
        for item in items.iter().filter(|item| !item.is_null()) {
            let Value::Element(element) = item else { return Err(wrong_class("an element", item)) };
            made.push(item.clone());
            if let Ends::Edge { source, destination, .. } = &element.ends {
                for (vertex, other) in [(source, destination), (destination, source)] {
                    let entity = self.entity(vertex.clone(), other.clone(), element, now_ms)?;
                    made.push(Value::Element(Box::new(entity)));
                }
            }
        }
        Ok(Value::list(made))
    }

    fn entity(&self, vertex: Value, other: Value, edge: &Element, now_ms: i64) -> Result<Element> {
        let other = match &self.converter {
            Some(function) => function.apply_one(other, now_ms)?,
            None => other,
        };
        let sketch = Function::ToSketch { class: self.class, size: None, many: false };
        let mut properties = vec![(self.sketch.clone(), sketch.apply_one(other, now_ms)?)];
        for name in &self.copied {
            let value = edge.property(name);
            if !value.is_null() {
                properties.push((name.clone(), value.clone()));
            }
        }
        if let Some(name) = &self.count {
            properties.push((name.clone(), Value::Long(1)));
        }
        if let Some(name) = &self.edge_group {
            let group = Set::of(SetKind::Tree, vec![edge.group().into()]);
            properties.push((name.clone(), Value::Set(Box::new(group))));
        }
        let (names, properties) = properties.into_iter().unzip();
        let shape = Shape { number: FOREIGN, group: self.group.clone(), is_edge: false, names };
        Ok(Element { shape: Arc::new(shape), ends: Ends::Vertex(vertex), properties })
    }
}
