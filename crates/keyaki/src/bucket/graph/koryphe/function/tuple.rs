//! Functions on tuples: elements, and rows by the names of their columns.

use std::sync::Arc;

use serde_json::Value as Json;

use super::super::{Spec, wrong_class};
use super::Function;
use crate::bucket::graph::element::{Element, Ends, FOREIGN, Shape};
use crate::bucket::graph::select::Slot;
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

/// A function from some places of a tuple to others.
#[derive(Debug, Clone)]
pub struct Adapted {
    selection: Vec<Box<str>>,
    function: Function,
    projection: Vec<Box<str>>,
}

/// How an element is made of a tuple.
#[derive(Debug, Clone)]
pub struct Definition {
    group: Box<str>,
    /// Whether the group is the name of a place.
    mapped: bool,
    /// Places, or what stands for them, by what they are for.
    fields: Vec<(Box<str>, Field)>,
}

#[derive(Debug, Clone)]
enum Field {
    Place(Box<str>),
    Constant(Value),
}

impl Adapted {
    pub(super) fn from_json(json: &Json) -> Result<Self> {
        let spec = Spec::or_class(json, "TupleAdaptedFunction")?;
        // Places of a tuple without names are numbers.
        let names = |field| -> Result<Vec<Box<str>>> {
            match spec.get(field).and_then(Json::as_array) {
                Some(places) if places.iter().any(Json::is_u64) => {
                    Ok(places.iter().map(|place| place.to_string().into()).collect())
                }
                _ => Ok(spec.texts(field)?.into_iter().map(Into::into).collect()),
            }
        };
        Ok(Self {
            selection: names("selection")?,
            function: Function::from_json(spec.need("function")?)?,
            projection: names("projection")?,
        })
    }
}

/// A tuple, changed step by step.
pub(super) fn transform(steps: &[Adapted], mut tuple: Value, now_ms: i64) -> Result<Value> {
    if tuple.is_null() {
        return Ok(tuple);
    }
    for step in steps {
        let input = step.selection.iter().map(|name| place(&tuple, name)).collect();
        let output = step.function.apply(input, now_ms)?;
        let mut output = match output.as_slice() {
            [Value::List(list)] if step.projection.len() > 1 => list.items.clone(),
            _ => output,
        };
        output.resize(step.projection.len(), Value::Null);
        for (name, value) in step.projection.iter().zip(output) {
            put(&mut tuple, name, value)?;
        }
    }
    Ok(tuple)
}

/// What is at a place of a tuple.
pub(in super::super) fn place(tuple: &Value, name: &str) -> Value {
    match tuple {
        Value::Element(element) => element.component(name),
        Value::Map(map) => map.get(&name.into()).cloned().unwrap_or_default(),
        Value::List(list) => {
            let item = name.parse().ok().and_then(|place: usize| list.items.get(place));
            item.cloned().unwrap_or_default()
        }
        _ => Value::Null,
    }
}

/// Puts a value at a place of a tuple.
pub(in super::super) fn put(tuple: &mut Value, name: &str, value: Value) -> Result<()> {
    match tuple {
        Value::Element(element) => {
            let slot = match Slot::named(name, &element.shape) {
                Slot::Absent => {
                    let mut shape = Shape::clone(&element.shape);
                    shape.names.push(name.into());
                    element.properties.resize(shape.names.len(), Value::Null);
                    element.shape = Arc::new(shape);
                    Slot::named(name, &element.shape)
                }
                slot => slot,
            };
            slot.put(element, value)
        }
        Value::Map(map) => {
            map.insert(name.into(), value);
            Ok(())
        }
        Value::List(list) => {
            let wrong = || Error::invalid("a tuple has no such place").with("at", name);
            let place: usize = name.parse().map_err(|_| wrong())?;
            if place > list.items.len() {
                return Err(wrong());
            }
            list.items.resize(list.items.len().max(place + 1), Value::Null);
            list.items[place] = value;
            Ok(())
        }
        other => Err(wrong_class("a tuple", other)),
    }
}

/// All definitions of `{"elements": [{"GROUP": …, "VERTEX": …}, …], "useGroupMapping": …}`.
pub(super) fn definitions(spec: &Spec<'_>) -> Result<Vec<Definition>> {
    let mapped = spec.flag("useGroupMapping")?.unwrap_or(false);
    let read = |json: &Json| {
        let wrong = || spec.wrong("an object with a GROUP is wanted", "elements");
        let fields = json.as_object().ok_or_else(wrong)?;
        let group = fields.get("GROUP").and_then(Json::as_str).ok_or_else(wrong)?;
        let field = |(name, json): (&String, &Json)| {
            let field = match json {
                Json::String(place) => Field::Place(place.as_str().into()),
                constant => Field::Constant(Value::from_json(constant)?),
            };
            Ok((name.as_str().into(), field))
        };
        let others = fields.iter().filter(|(name, json)| *name != "GROUP" && !json.is_null());
        let fields = others.map(field).collect::<Result<_>>()?;
        Ok(Definition { group: group.into(), mapped, fields })
    };
    spec.list("elements")?.unwrap_or_default().iter().map(read).collect()
}

/// The elements that a tuple makes up.
pub(super) fn elements(definitions: &[Definition], tuple: &Value) -> Result<Vec<Value>> {
    if tuple.is_null() {
        return Err(Error::invalid("Input cannot be null").with("at", "a tuple"));
    }
    let made = definitions.iter().filter_map(|definition| definition.element(tuple));
    Ok(made.map(|element| Value::Element(Box::new(element))).collect())
}

impl Definition {
    /// A group, places for its ends or its vertex, and properties with theirs.
    pub(in crate::bucket::graph) fn mapped(group: &str, fields: &[(&str, &str)]) -> Self {
        let field = |(name, place): &(&str, &str)| ((*name).into(), Field::Place((*place).into()));
        Self { group: group.into(), mapped: true, fields: fields.iter().map(field).collect() }
    }

    /// The element, if all that it needs is there.
    pub(in crate::bucket::graph) fn element(&self, tuple: &Value) -> Option<Element> {
        let of = |name: &str| {
            let found = self.fields.iter().find(|(own, _)| **own == *name);
            found.map_or(Value::Null, |(_, field)| field.value(tuple))
        };
        let there = |value: Value| (!value.is_null()).then_some(value);
        let group: Box<str> = match self.mapped {
            true => match place(tuple, &self.group) {
                Value::String(group) => group.as_str().into(),
                _ => return None,
            },
            false => self.group.clone(),
        };
        let is_edge = !self.fields.iter().any(|(name, _)| **name == *"VERTEX");
        let ends = match is_edge {
            false => Ends::Vertex(there(of("VERTEX"))?),
            true => {
                let directed = match of("DIRECTED") {
                    Value::Null => true,
                    Value::Boolean(directed) => directed,
                    Value::String(text) => text.as_str().eq_ignore_ascii_case("true"),
                    _ => false,
                };
                Ends::edge(there(of("SOURCE"))?, there(of("DESTINATION"))?, directed)
            }
        };
        let (mut names, mut properties) = (Vec::new(), Vec::new());
        for (name, field) in self.fields.iter().filter(|(name, _)| Slot::reserved(name).is_none()) {
            match field.value(tuple) {
                Value::Null => {}
                Value::String(text) if text.as_str().is_empty() => {}
                value => {
                    names.push(name.clone());
                    properties.push(value);
                }
            }
        }
        let shape = Arc::new(Shape { number: FOREIGN, group, is_edge, names });
        Some(Element { shape, ends, properties })
    }
}

impl Field {
    fn value(&self, tuple: &Value) -> Value {
        match self {
            Self::Place(name) => place(tuple, name),
            Self::Constant(value) => value.clone(),
        }
    }
}
