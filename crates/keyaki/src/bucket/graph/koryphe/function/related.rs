//! Elements whose vertices are said to be one: edges of some groups tell which vertices belong together, and all other
//! elements are put at one of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::super::{BinaryOperator, Spec};
use crate::bucket::graph::element::{Element, Ends, Shape};
use crate::bucket::graph::value::{Set, SetKind, Value};
use crate::error::{Error, Result};

/// What is said of vertices that belong together.
#[derive(Debug, Clone)]
pub struct Related {
    /// Which of them stands for all.
    vertex: BinaryOperator,
    /// The groups of edges that tell.
    groups: BTreeSet<Box<str>>,
}

impl Related {
    pub(super) fn from_spec(spec: &Spec<'_>) -> Result<Self> {
        let operator = spec.get("vertexAggregator").map(BinaryOperator::from_json).transpose()?;
        Ok(Self {
            vertex: operator.unwrap_or(BinaryOperator::First),
            groups: spec.texts("relatedVertexGroups")?.into_iter().map(Into::into).collect(),
        })
    }

    /// The other elements, edges first.
    pub(super) fn reduce(&self, elements: &[Value]) -> Result<Value> {
        if self.groups.is_empty() {
            return Ok(Value::list(elements.to_vec()));
        }
        let mut together = Together::default();
        let (mut edges, mut entities) = (Vec::new(), Vec::new());
        for value in elements.iter().filter(|value| !value.is_null()) {
            let Value::Element(element) = value else {
                return Err(Error::invalid("elements are wanted").with("value", value));
            };
            match &element.ends {
                Ends::Edge { source, destination, .. } if self.groups.contains(element.group()) => {
                    together.join(source, destination);
                }
                Ends::Edge { .. } => edges.push((**element).clone()),
                Ends::Vertex(_) => entities.push((**element).clone()),
            }
        }
        let mut reduced = Vec::with_capacity(edges.len() + entities.len());
        for element in edges.into_iter().chain(entities) {
            reduced.push(Value::Element(Box::new(self.moved(element, &together)?)));
        }
        Ok(Value::list(reduced))
    }

    fn moved(&self, mut element: Element, together: &Together) -> Result<Element> {
        let (ends, found): (Ends, Vec<(&str, Vec<Value>)>) = match element.ends.clone() {
            Ends::Vertex(vertex) => {
                let (vertex, others) = self.one_of(vertex, together)?;
                (Ends::Vertex(vertex), vec![("relatedVertices", others)])
            }
            Ends::Edge { source, destination, directed, matched } => {
                let (source, sources) = self.one_of(source, together)?;
                let (destination, destinations) = self.one_of(destination, together)?;
                let others = vec![
                    ("sourceRelatedVertices", sources),
                    ("destinationRelatedVertices", destinations),
                ];
                let ends = match directed {
                    true => Ends::Edge { source, destination, directed, matched },
                    false => Ends::edge(source, destination, false),
                };
                (ends, others)
            }
        };
        element.ends = ends;
        for (name, others) in found.into_iter().filter(|(_, others)| !others.is_empty()) {
            let mut shape = Shape::clone(&element.shape);
            let slot = shape.slot(name).unwrap_or_else(|| {
                shape.names.push(name.into());
                shape.names.len() - 1
            });
            element.properties.resize(shape.names.len(), Value::Null);
            element.properties[slot] = Value::Set(Box::new(Set::of(SetKind::Hash, others)));
            element.shape = Arc::new(shape);
        }
        Ok(element)
    }

    /// The vertex that stands for one and all that belong to it, and the others.
    fn one_of(&self, vertex: Value, together: &Together) -> Result<(Value, Vec<Value>)> {
        let Some(all) = together.with(&vertex) else { return Ok((vertex, Vec::new())) };
        let mut chosen = vertex;
        for other in all {
            self.vertex.apply(&mut chosen, other.clone())?;
        }
        let others = all.iter().filter(|other| **other != chosen).cloned().collect();
        Ok((chosen, others))
    }
}

/// Vertices that belong together.
#[derive(Default)]
struct Together {
    /// Which of the sets below a vertex is in.
    place: HashMap<Value, usize>,
    sets: BTreeMap<usize, BTreeSet<Value>>,
}

impl Together {
    fn join(&mut self, one: &Value, other: &Value) {
        let next = self.sets.last_key_value().map_or(0, |(last, _)| last + 1);
        let places = [one, other].map(|vertex| self.place.get(vertex).copied());
        let into = places[0].or(places[1]).unwrap_or(next);
        let mut moved: BTreeSet<Value> = [one.clone(), other.clone()].into();
        for place in places.into_iter().flatten().filter(|place| *place != into) {
            moved.extend(self.sets.remove(&place).unwrap_or_default());
        }
        for vertex in moved {
            self.place.insert(vertex.clone(), into);
            self.sets.entry(into).or_default().insert(vertex);
        }
    }

    fn with(&self, vertex: &Value) -> Option<&BTreeSet<Value>> {
        self.sets.get(self.place.get(vertex)?)
    }
}
