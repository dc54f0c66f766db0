//! Where a name in a selection points: a property's slot, an end of the element, or its group.

use std::borrow::Cow;

use super::element::{Element, Ends, Matched, Shape};
use super::koryphe::Predicate;
use super::value::Value;
use crate::error::{Error, Result};

/// A place in an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A property.
    Property(usize),
    /// An entity's vertex.
    Vertex,
    /// An edge's source.
    Source,
    /// An edge's destination.
    Destination,
    /// Whether an edge has a direction.
    Directed,
    /// The end that was a seed.
    MatchedVertex,
    /// The other end.
    AdjacentMatchedVertex,
    /// The group's name.
    Group,
    /// The element itself.
    Element,
    /// A property that the group has not.
    Absent,
}

impl Slot {
    /// A name that is not a property's.
    #[must_use]
    pub fn reserved(name: &str) -> Option<Self> {
        Some(match name {
            "VERTEX" => Self::Vertex,
            "SOURCE" => Self::Source,
            "DESTINATION" => Self::Destination,
            "DIRECTED" => Self::Directed,
            "MATCHED_VERTEX" => Self::MatchedVertex,
            "ADJACENT_MATCHED_VERTEX" => Self::AdjacentMatchedVertex,
            "GROUP" => Self::Group,
            "ELEMENT" => Self::Element,
            _ => return None,
        })
    }

    /// Where a name points in elements of a shape.
    #[must_use]
    pub fn named(name: &str, shape: &Shape) -> Self {
        let property = || shape.slot(name).map_or(Self::Absent, Self::Property);
        Self::reserved(name).unwrap_or_else(property)
    }

    /// What lies there.
    #[must_use]
    pub fn of(self, element: &Element) -> Cow<'_, Value> {
        static NULL: Value = Value::Null;
        match (self, &element.ends) {
            (Self::Property(slot), _) => {
                Cow::Borrowed(element.properties.get(slot).unwrap_or(&NULL))
            }
            (Self::Vertex, Ends::Vertex(vertex)) => Cow::Borrowed(vertex),
            (Self::Source, Ends::Edge { source, .. }) => Cow::Borrowed(source),
            (Self::Destination, Ends::Edge { destination, .. }) => Cow::Borrowed(destination),
            (Self::Directed, Ends::Edge { directed, .. }) => Cow::Owned(Value::Boolean(*directed)),
            (Self::MatchedVertex, Ends::Edge { source, destination, matched, .. }) => {
                Cow::Borrowed(match matched {
                    Some(Matched::Destination) => destination,
                    _ => source,
                })
            }
            (Self::AdjacentMatchedVertex, Ends::Edge { source, destination, matched, .. }) => {
                Cow::Borrowed(match matched {
                    Some(Matched::Destination) => source,
                    _ => destination,
                })
            }
            (Self::Group, _) => Cow::Owned(element.group().into()),
            (Self::Element, _) => Cow::Owned(Value::Element(Box::new(element.clone()))),
            _ => Cow::Borrowed(&NULL),
        }
    }

    /// Puts a value there.
    ///
    /// # Errors
    /// `Invalid` if it can't be changed, or not to that.
    pub fn put(self, element: &mut Element, value: Value) -> Result<()> {
        let wrong = || Error::invalid("can't be set on an element").with("value", &value);
        match (self, &mut element.ends) {
            (Self::Property(slot), _) => element.properties[slot] = value,
            (Self::Vertex, Ends::Vertex(vertex)) => *vertex = value,
            (Self::Source, Ends::Edge { source, .. }) => *source = value,
            (Self::Destination, Ends::Edge { destination, .. }) => *destination = value,
            (Self::Directed, Ends::Edge { directed, .. }) => match value {
                Value::Boolean(flag) => *directed = flag,
                _ => return Err(wrong()),
            },
            (Self::MatchedVertex, Ends::Edge { source, destination, matched, .. }) => {
                *(if *matched == Some(Matched::Destination) { destination } else { source }) =
                    value;
            }
            (Self::AdjacentMatchedVertex, Ends::Edge { source, destination, matched, .. }) => {
                *(if *matched == Some(Matched::Destination) { source } else { destination }) =
                    value;
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

impl Element {
    /// A property, an end or the group, by its name in a selection.
    #[must_use]
    pub fn component(&self, name: &str) -> Value {
        Slot::named(name, &self.shape).of(self).into_owned()
    }
}

/// A predicate on some places of an element.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Where it looks.
    pub selection: Vec<Slot>,
    /// What must hold.
    pub predicate: Predicate,
}

impl Filter {
    /// Whether it holds.
    ///
    /// # Errors
    /// Those of the predicate.
    pub fn holds(&self, element: &Element, now_ms: i64) -> Result<bool> {
        if let [slot] = self.selection.as_slice() {
            return self.predicate.test(&[&*slot.of(element)], now_ms);
        }
        let values: Vec<_> = self.selection.iter().map(|slot| slot.of(element)).collect();
        self.predicate.test(&values.iter().map(|value| &**value).collect::<Vec<_>>(), now_ms)
    }
}

/// Whether all of them hold.
///
/// # Errors
/// Those of the predicates.
pub fn all_hold(filters: &[Filter], element: &Element, now_ms: i64) -> Result<bool> {
    for filter in filters {
        if !filter.holds(element, now_ms)? {
            return Ok(false);
        }
    }
    Ok(true)
}
