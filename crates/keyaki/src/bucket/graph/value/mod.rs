//! What may a vertex or a property be? Java's everyday types, as Gaffer's JSON and serialisers know them.
//!
//! `class` names them, `order` compares them as Java does, `json` reads and writes them as Gaffer does, `codec`
//! packs them for the value of a cell and `key` for its sort key. A value is 24 bytes; strings of up to 22 bytes
//! lie in it. Equality is Java's: a `Long` is never an `Integer`.

mod class;
mod codec;
mod collection;
mod hll;
mod java;
mod json;
mod key;
mod order;
mod sketch;
#[cfg(test)]
mod tests;
mod text;

pub use class::{Class, short_name};
pub use codec::{decode, decode_tagged, encode, encode_tagged, read_varint, write_varint};
pub use collection::{FreqMap, List, ListKind, Map, MapKind, Set, SetKind};
pub use hll::HyperLogLog;
pub use json::write_string;
pub use key::{KeyReader, VertexEncoding, encode_part, encode_vertex};
pub use sketch::Sketch;
pub use text::Text;

use super::element::{EdgeId, Element};
use super::walk::Walk;

/// A vertex, a property, or something a chain of operations passes on.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Nothing; a property that is not there.
    #[default]
    Null,
    /// `java.lang.Boolean`
    Boolean(bool),
    /// `java.lang.Byte`
    Byte(i8),
    /// `java.lang.Short`
    Short(i16),
    /// `java.lang.Integer`
    Integer(i32),
    /// `java.lang.Long`
    Long(i64),
    /// `java.lang.Float`
    Float(f32),
    /// `java.lang.Double`
    Double(f64),
    /// `java.util.Date`: milliseconds since 1970
    Date(i64),
    /// `java.lang.String`
    String(Text),
    /// `byte[]`
    Bytes(Box<[u8]>),
    /// A list or an array.
    List(Box<List>),
    /// A set.
    Set(Box<Set>),
    /// A map.
    Map(Box<Map>),
    /// Gaffer's map of counts.
    FreqMap(Box<FreqMap>),
    /// Clearspring's sketch of how many different things were seen.
    HyperLogLog(Box<HyperLogLog>),
    /// One of Apache's sketches.
    Sketch(Box<Sketch>),
    /// Gaffer's typed vertex.
    TypeValue(Box<[Text; 2]>),
    /// Gaffer's typed vertex, in three parts.
    TypeSubTypeValue(Box<[Text; 3]>),
    /// The id of an entity: its vertex.
    EntityId(Box<Value>),
    /// The id of an edge.
    EdgeId(Box<EdgeId>),
    /// An element.
    Element(Box<Element>),
    /// A walk through the graph.
    Walk(Box<Walk>),
    /// Gaffer's pair: the ends of a range, or two sets of seeds.
    Pair(Box<[Value; 2]>),
}

impl Value {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Writes a value here. What was just written is slow to move, so who reads many of them writes each where it stays;
    /// and as a place is mostly empty, nothing is looked at to be dropped.
    #[inline]
    pub(super) fn set(&mut self, value: Self) {
        match self {
            Self::Null => std::mem::forget(std::mem::replace(self, value)),
            _ => *self = value,
        }
    }

    /// Writes a string here; answers whether the bytes are one.
    #[inline]
    fn set_text(&mut self, utf8: &[u8]) -> bool {
        self.set(Self::String(Text::default()));
        match self {
            Self::String(own) => own.set(utf8),
            _ => false,
        }
    }

    /// Writes a copy of a value here.
    #[inline]
    pub(super) fn set_copy(&mut self, value: &Self) {
        match value {
            Self::String(text) => self.set(Self::String(text.clone())),
            other => self.set(other.clone()),
        }
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text.as_str()) } else { None }
    }

    /// A list of values.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::listed(ListKind::List, items)
    }

    /// A list that shows itself as one of a kind.
    #[must_use]
    pub fn listed(kind: ListKind, items: Vec<Self>) -> Self {
        Self::List(Box::new(List { kind, items }))
    }

    /// What is in a list, a set or an array, in order.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(&list.items),
            Self::Set(set) => Some(set.items()),
            _ => None,
        }
    }

    /// A whole number of any width.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Byte(number) => Some((*number).into()),
            Self::Short(number) => Some((*number).into()),
            Self::Integer(number) => Some((*number).into()),
            Self::Long(number) => Some(*number),
            _ => None,
        }
    }

    /// Any number, perhaps rounded.
    #[must_use]
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some((*number).into()),
            Self::Double(number) => Some(*number),
            other => other.as_integer().map(|number| number as f64),
        }
    }

    /// What Gaffer's serialisers make of a property that is not there, when they read it back.
    #[must_use]
    pub fn when_absent(class: Class) -> Self {
        match class {
            Class::String => Self::String(Text::default()),
            Class::Boolean => Self::Boolean(false),
            Class::Bytes => Self::Bytes(Box::default()),
            Class::TreeSet => Self::Set(Box::new(Set::new(SetKind::Tree))),
            Class::FreqMap => Self::FreqMap(Box::default()),
            Class::TypeSubTypeValue => Self::TypeSubTypeValue(Box::default()),
            _ => Self::Null,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Long(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Boolean(bool)
    }
}
