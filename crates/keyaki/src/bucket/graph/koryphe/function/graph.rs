//! Functions on elements, ids and walks.

use super::super::wrong_class;
use super::Function;
use crate::bucket::graph::element::{Directed, EdgeId, Element, Ends, Matched};
use crate::bucket::graph::select::Slot;
use crate::bucket::graph::value::{Set, SetKind, Value};
use crate::bucket::graph::walk::Walk;
use crate::error::{Error, Result};

pub(super) fn apply(function: &Function, value: Value) -> Result<Value> {
    Ok(match (function, value) {
        (Function::ToEntityId, Value::Null) => Value::Null,
        (Function::ToEntityId, value @ Value::EntityId(_)) => value,
        // An entity is an id already.
        (Function::ToEntityId, Value::Element(element)) if !element.is_edge() => {
            Value::Element(element)
        }
        (Function::ToEntityId, value) => Value::EntityId(Box::new(value)),
        (Function::FromEntityId, Value::EntityId(vertex)) => *vertex,
        (Function::FromEntityId, Value::Element(element)) => match element.ends {
            Ends::Vertex(vertex) => vertex,
            Ends::Edge { .. } => Value::Element(element),
        },
        (Function::FromEntityId, other) => other,
        (_, Value::Null) => Value::Null,
        (Function::ToWildcardPair(end), Value::String(from)) => {
            let seed = |text: String| Value::EntityId(Box::new(text.into()));
            let to = format!("{}{end}", from.as_str());
            Value::Pair(Box::new([seed(from.as_str().to_owned()), seed(to)]))
        }
        (Function::EntityIds(_) | Function::EdgeIds, elements) => ids(function, elements)?,
        (Function::ExtractProperty(name), Value::Element(element)) => {
            element.property(name).clone()
        }
        (Function::ExtractGroup, Value::Element(element)) => element.group().into(),
        (Function::ExtractId(name), Value::Element(element)) => element.component(name),
        (Function::ExtractId(name), Value::EntityId(vertex)) if **name == *"VERTEX" => *vertex,
        (Function::ExtractId(name), Value::EdgeId(id)) => match &**name {
            "SOURCE" => id.source,
            "DESTINATION" => id.destination,
            _ => Value::Null,
        },
        (Function::ExtractWalkVertex, Value::Walk(walk)) => {
            walk.vertices.into_iter().next().map(|(vertex, _)| vertex).unwrap_or_default()
        }
        (Function::ExtractWalkEdges(hop), Value::Walk(walk)) => edges(*walk, *hop)?,
        (Function::ExtractWalkEntities(hop), Value::Walk(walk)) => entities(*walk, *hop)?,
        (_, other) => return Err(wrong_class("a function on elements", &other)),
    })
}

/// The ids of elements, which come in a collection.
fn ids(function: &Function, elements: Value) -> Result<Value> {
    let items = elements.items().ok_or_else(|| wrong_class("elements", &elements))?;
    let id = |item: &Value| match (item, function) {
        (Value::Element(element), Function::EntityIds(end)) => {
            let end = if element.is_edge() { *end } else { Slot::Vertex };
            if element.is_edge() && end == Slot::Vertex {
                return Err(Error::invalid("an edge has no such vertex"));
            }
            Ok(Value::EntityId(Box::new(end.of(element).into_owned())))
        }
        (Value::Element(element), _) => match &element.ends {
            Ends::Edge { source, destination, directed, .. } => {
                let directed = if *directed { Directed::Directed } else { Directed::Undirected };
                let (source, destination) = (source.clone(), destination.clone());
                let matched = Some(Matched::Source);
                Ok(Value::EdgeId(Box::new(EdgeId { source, destination, directed, matched })))
            }
            Ends::Vertex(_) => Err(Error::invalid("an entity has no id of an edge")),
        },
        (other, _) => Err(wrong_class("an element", other)),
    };
    items.iter().map(id).collect::<Result<_>>().map(Value::list)
}

fn set(elements: Vec<Element>) -> Value {
    let elements = elements.into_iter().map(|element| Value::Element(Box::new(element)));
    Value::Set(Box::new(Set::of(SetKind::Hash, elements.collect())))
}

fn edges(mut walk: Walk, hop: Option<usize>) -> Result<Value> {
    match hop {
        None => Ok(Value::list(walk.edges.into_iter().map(set).collect())),
        Some(hop) if hop < walk.edges.len() => Ok(set(walk.edges.swap_remove(hop))),
        Some(hop) => Err(Error::invalid("a walk has fewer hops").with("hop", hop)),
    }
}

fn entities(mut walk: Walk, hop: Option<usize>) -> Result<Value> {
    match hop {
        None => {
            Ok(Value::list(walk.vertices.into_iter().map(|(_, entities)| set(entities)).collect()))
        }
        Some(hop) if hop < walk.vertices.len() => Ok(set(walk.vertices.swap_remove(hop).1)),
        Some(hop) => Err(Error::invalid("a walk has fewer hops").with("hop", hop)),
    }
}
