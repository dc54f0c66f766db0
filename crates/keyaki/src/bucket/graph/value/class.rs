//! Java's names for our types, as Gaffer's JSON has them: short (`Long`) or full (`java.lang.Long`).

use super::{ListKind, MapKind, SetKind, Value};
use crate::error::{Error, Result};

/// The class of a value, or one that several classes of values share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Anything.
    Object,
    /// Anything with an order.
    Comparable,
    /// Any number.
    Number,
    /// Any list or set.
    Collection,
    /// Any list.
    List,
    /// Any set.
    Set,
    /// Any map.
    Map,
    String,
    Boolean,
    Byte,
    Short,
    Integer,
    Long,
    Float,
    Double,
    Date,
    Bytes,
    ArrayList,
    Array,
    TreeSet,
    HashSet,
    LinkedHashSet,
    TreeMap,
    HashMap,
    LinkedHashMap,
    FreqMap,
    HyperLogLogPlus,
    HllSketch,
    HllUnion,
    ThetaSketch,
    ThetaUnion,
    KllFloatsSketch,
    LongsSketch,
    ItemsSketch,
    TypeValue,
    TypeSubTypeValue,
    EntitySeed,
    EdgeSeed,
    Entity,
    Edge,
    Walk,
    Pair,
}

const NAMES: [(Class, &str); 43] = [
    (Class::Object, "java.lang.Object"),
    (Class::Comparable, "java.lang.Comparable"),
    (Class::Number, "java.lang.Number"),
    (Class::Collection, "java.util.Collection"),
    (Class::Collection, "java.lang.Iterable"),
    (Class::List, "java.util.List"),
    (Class::Set, "java.util.Set"),
    (Class::Map, "java.util.Map"),
    (Class::String, "java.lang.String"),
    (Class::Boolean, "java.lang.Boolean"),
    (Class::Byte, "java.lang.Byte"),
    (Class::Short, "java.lang.Short"),
    (Class::Integer, "java.lang.Integer"),
    (Class::Long, "java.lang.Long"),
    (Class::Float, "java.lang.Float"),
    (Class::Double, "java.lang.Double"),
    (Class::Date, "java.util.Date"),
    (Class::Bytes, "[B"),
    (Class::ArrayList, "java.util.ArrayList"),
    (Class::Array, "[Ljava.lang.Object;"),
    (Class::TreeSet, "java.util.TreeSet"),
    (Class::HashSet, "java.util.HashSet"),
    (Class::LinkedHashSet, "java.util.LinkedHashSet"),
    (Class::TreeMap, "java.util.TreeMap"),
    (Class::HashMap, "java.util.HashMap"),
    (Class::LinkedHashMap, "java.util.LinkedHashMap"),
    (Class::FreqMap, "uk.gov.gchq.gaffer.types.FreqMap"),
    (Class::HyperLogLogPlus, "com.clearspring.analytics.stream.cardinality.HyperLogLogPlus"),
    (Class::HllSketch, "org.apache.datasketches.hll.HllSketch"),
    (Class::HllUnion, "org.apache.datasketches.hll.Union"),
    (Class::ThetaSketch, "org.apache.datasketches.theta.Sketch"),
    (Class::ThetaUnion, "org.apache.datasketches.theta.Union"),
    (Class::KllFloatsSketch, "org.apache.datasketches.kll.KllFloatsSketch"),
    (Class::LongsSketch, "org.apache.datasketches.frequencies.LongsSketch"),
    (Class::ItemsSketch, "org.apache.datasketches.frequencies.ItemsSketch"),
    (Class::TypeValue, "uk.gov.gchq.gaffer.types.TypeValue"),
    (Class::TypeSubTypeValue, "uk.gov.gchq.gaffer.types.TypeSubTypeValue"),
    (Class::EntitySeed, "uk.gov.gchq.gaffer.operation.data.EntitySeed"),
    (Class::EdgeSeed, "uk.gov.gchq.gaffer.operation.data.EdgeSeed"),
    (Class::Entity, "uk.gov.gchq.gaffer.data.element.Entity"),
    (Class::Edge, "uk.gov.gchq.gaffer.data.element.Edge"),
    (Class::Walk, "uk.gov.gchq.gaffer.data.graph.Walk"),
    (Class::Pair, "uk.gov.gchq.gaffer.commonutil.pair.Pair"),
];

/// The last part of a class name: `Long` of `java.lang.Long`.
#[must_use]
pub fn short_name(class: &str) -> &str {
    let inner = class.strip_suffix(';').unwrap_or(class);
    let start = inner.rfind(['.', '$']).map_or(0, |dot| dot + 1);
    &class[start..]
}

impl Class {
    /// Finds a class by its short or full name.
    ///
    /// # Errors
    /// `Invalid`, naming a class that we do not have.
    pub fn named(name: &str) -> Result<Self> {
        let alias = match name {
            "byte[]" => "[B",
            "Object[]" | "java.lang.Object[]" => "[Ljava.lang.Object;",
            "java.util.LinkedList" | "LinkedList" | "java.util.Arrays$ArrayList" => "ArrayList",
            other => other,
        };
        let unknown = || Error::invalid("an unknown class of values").with("class", name);
        if let Some((class, _)) = NAMES.iter().find(|(_, full)| *full == alias) {
            return Ok(*class);
        }
        let mut short = NAMES.iter().filter(|(_, full)| short_name(full) == alias);
        match (short.next(), short.next()) {
            (Some((class, _)), None) => Ok(*class),
            // A short name that two classes have says nothing.
            _ => Err(unknown()),
        }
    }

    /// Java's full name.
    #[must_use]
    pub fn full_name(self) -> &'static str {
        NAMES.iter().find(|(class, _)| *class == self).map_or("java.lang.Object", |(_, full)| full)
    }

    /// Whether a value of this class is a value of `wider` too.
    #[must_use]
    pub fn is_a(self, wider: Self) -> bool {
        match wider {
            Self::Object => true,
            Self::Comparable => self.is_comparable(),
            Self::Number => self.is_number(),
            Self::Collection => self.is_list() || self.is_set() || self == wider,
            Self::List => self.is_list(),
            Self::Set => self.is_set(),
            Self::Map | Self::HashMap => {
                matches!(self, Self::LinkedHashMap | Self::HashMap | Self::FreqMap)
                    || (wider == Self::Map && matches!(self, Self::Map | Self::TreeMap))
            }
            Self::HashSet => matches!(self, Self::HashSet | Self::LinkedHashSet),
            _ => self == wider,
        }
    }

    /// Whether all values of the class are of one kind, so that they need no tag when encoded.
    #[must_use]
    pub fn is_exact(self) -> bool {
        !matches!(
            self,
            Self::Object
                | Self::Comparable
                | Self::Number
                | Self::Collection
                | Self::List
                | Self::Set
                | Self::Map
                | Self::HashMap
                | Self::HashSet
        )
    }

    /// Whether it has an order.
    #[must_use]
    pub fn is_comparable(self) -> bool {
        self.is_number() && self != Self::Number
            || matches!(
                self,
                Self::Comparable
                    | Self::String
                    | Self::Boolean
                    | Self::Date
                    | Self::TypeValue
                    | Self::TypeSubTypeValue
            )
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(
            self,
            Self::Number
                | Self::Byte
                | Self::Short
                | Self::Integer
                | Self::Long
                | Self::Float
                | Self::Double
        )
    }

    fn is_list(self) -> bool {
        matches!(self, Self::List | Self::ArrayList)
    }

    fn is_set(self) -> bool {
        matches!(self, Self::Set | Self::TreeSet | Self::HashSet | Self::LinkedHashSet)
    }
}

impl Value {
    /// The value's class; none of nothing.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        Some(match self {
            Self::Null => return None,
            Self::Boolean(_) => Class::Boolean,
            Self::Byte(_) => Class::Byte,
            Self::Short(_) => Class::Short,
            Self::Integer(_) => Class::Integer,
            Self::Long(_) => Class::Long,
            Self::Float(_) => Class::Float,
            Self::Double(_) => Class::Double,
            Self::Date(_) => Class::Date,
            Self::String(_) => Class::String,
            Self::Bytes(_) => Class::Bytes,
            Self::List(list) => match list.kind {
                ListKind::Array => Class::Array,
                _ => Class::ArrayList,
            },
            Self::Set(set) => match set.kind {
                SetKind::Tree => Class::TreeSet,
                SetKind::Hash => Class::HashSet,
                SetKind::Linked => Class::LinkedHashSet,
            },
            Self::Map(map) => match map.kind {
                MapKind::Tree => Class::TreeMap,
                MapKind::Hash => Class::HashMap,
                MapKind::Linked => Class::LinkedHashMap,
            },
            Self::FreqMap(_) => Class::FreqMap,
            Self::HyperLogLog(_) => Class::HyperLogLogPlus,
            Self::Sketch(sketch) => sketch.class(),
            Self::TypeValue(_) => Class::TypeValue,
            Self::TypeSubTypeValue(_) => Class::TypeSubTypeValue,
            Self::EntityId(_) => Class::EntitySeed,
            Self::EdgeId(_) => Class::EdgeSeed,
            Self::Element(element) if element.is_edge() => Class::Edge,
            Self::Element(_) => Class::Entity,
            Self::Walk(_) => Class::Walk,
            Self::Pair(_) => Class::Pair,
        })
    }

    /// Whether the value is of the class, as Java's `instanceof` sees it; nothing is of any class.
    #[must_use]
    pub fn is_a(&self, class: Class) -> bool {
        self.class().is_none_or(|own| own == class || own.is_a(class))
    }
}
