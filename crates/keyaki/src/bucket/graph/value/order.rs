//! Java's equality and order, and one order over everything that keeps sets and maps sorted.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Map, MapKind, Set, SetKind, Value};

impl Value {
    /// Java's `compareTo`: none if the classes differ or have no order.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Byte(a), Self::Byte(b)) => Some(a.cmp(b)),
            (Self::Short(a), Self::Short(b)) => Some(a.cmp(b)),
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Long(a), Self::Long(b)) | (Self::Date(a), Self::Date(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(a.total_cmp(b)),
            (Self::Double(a), Self::Double(b)) => Some(a.total_cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            (Self::TypeValue(a), Self::TypeValue(b)) => Some(a.cmp(b)),
            (Self::TypeSubTypeValue(a), Self::TypeSubTypeValue(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// The place of its kind among all kinds.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Boolean(_) => 1,
            Self::Byte(_) => 2,
            Self::Short(_) => 3,
            Self::Integer(_) => 4,
            Self::Long(_) => 5,
            Self::Float(_) => 6,
            Self::Double(_) => 7,
            Self::Date(_) => 8,
            Self::String(_) => 9,
            Self::Bytes(_) => 10,
            Self::List(_) => 11,
            Self::Set(_) => 12,
            Self::Map(_) => 13,
            Self::FreqMap(_) => 14,
            Self::HyperLogLog(_) => 15,
            Self::TypeValue(_) => 16,
            Self::TypeSubTypeValue(_) => 17,
            Self::EntityId(_) => 18,
            Self::EdgeId(_) => 19,
            Self::Element(_) => 20,
            Self::Walk(_) => 21,
            Self::Pair(_) => 22,
            Self::Sketch(_) => 23,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        if let Some(order) = self.compare(other) {
            return order;
        }
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => a.cmp(b),
            (Self::Set(a), Self::Set(b)) => a.sorted().cmp(&b.sorted()),
            (Self::Map(a), Self::Map(b)) => a.sorted().cmp(&b.sorted()),
            (Self::FreqMap(a), Self::FreqMap(b)) => a.cmp(b),
            (Self::HyperLogLog(a), Self::HyperLogLog(b)) => a.cmp(b),
            (Self::EntityId(a), Self::EntityId(b)) => a.cmp(b),
            (Self::EdgeId(a), Self::EdgeId(b)) => a.cmp(b),
            (Self::Element(a), Self::Element(b)) => a.cmp(b),
            (Self::Walk(a), Self::Walk(b)) => a.cmp(b),
            (Self::Pair(a), Self::Pair(b)) => a.cmp(b),
            (Self::Sketch(a), Self::Sketch(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Whether texts are equal is sooner found than which comes first.
            (Self::String(a), Self::String(b)) => a == b,
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Self::Null => {}
            Self::Boolean(bool) => bool.hash(state),
            Self::Byte(number) => number.hash(state),
            Self::Short(number) => number.hash(state),
            Self::Integer(number) => number.hash(state),
            Self::Long(number) | Self::Date(number) => number.hash(state),
            Self::Float(number) => number.to_bits().hash(state),
            Self::Double(number) => number.to_bits().hash(state),
            Self::String(text) => text.hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
            Self::List(list) => list.hash(state),
            Self::Set(set) => set.sorted().hash(state),
            Self::Map(map) => map.sorted().hash(state),
            Self::FreqMap(map) => map.hash(state),
            Self::HyperLogLog(sketch) => sketch.hash(state),
            Self::TypeValue(parts) => parts.hash(state),
            Self::TypeSubTypeValue(parts) => parts.hash(state),
            Self::EntityId(vertex) => vertex.hash(state),
            Self::EdgeId(id) => id.hash(state),
            Self::Element(element) => element.hash(state),
            Self::Walk(walk) => walk.hash(state),
            Self::Pair(pair) => pair.hash(state),
            Self::Sketch(sketch) => sketch.hash(state),
        }
    }
}

impl Set {
    /// The items in one order, whatever the kind: sets of different kinds can be equal.
    fn sorted(&self) -> Vec<&Value> {
        let mut items: Vec<_> = self.items().iter().collect();
        if self.kind == SetKind::Linked {
            items.sort();
        }
        items
    }
}

impl Map {
    fn sorted(&self) -> Vec<&(Value, Value)> {
        let mut entries: Vec<_> = self.entries().iter().collect();
        if self.kind == MapKind::Linked {
            entries.sort();
        }
        entries
    }
}
