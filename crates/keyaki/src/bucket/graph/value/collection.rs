//! Lists, sets and maps. Sets and maps of Java's hash and tree kinds are kept sorted, so that equal ones have
//! equal bytes; the linked kinds keep the order of insertion.

use std::collections::BTreeMap;

use super::{Text, Value};

/// How a list shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListKind {
    /// `java.util.ArrayList`
    List,
    /// `Object[]`
    Array,
    /// `java.util.Arrays$ArrayList`
    Fixed,
    /// The keys of a map.
    Keys(MapKind),
    /// The values of a map.
    Values(MapKind),
    /// What a predicate left, as Koryphe has it.
    Filtered,
    /// What a function made, as Koryphe has it.
    Mapped,
}

impl ListKind {
    /// The name that Java shows, which for some is one that nobody can ask for.
    #[must_use]
    pub fn java_name(self) -> &'static str {
        match self {
            Self::List => "java.util.ArrayList",
            Self::Array => "[Ljava.lang.Object;",
            Self::Fixed => "java.util.Arrays$ArrayList",
            Self::Keys(MapKind::Hash) => "java.util.HashMap$KeySet",
            Self::Keys(MapKind::Linked) => "java.util.LinkedHashMap$LinkedKeySet",
            Self::Keys(MapKind::Tree) => "java.util.TreeMap$KeySet",
            Self::Values(MapKind::Hash) => "java.util.HashMap$Values",
            Self::Values(MapKind::Linked) => "java.util.LinkedHashMap$LinkedValues",
            Self::Values(MapKind::Tree) => "java.util.TreeMap$Values",
            Self::Filtered => "uk.gov.gchq.koryphe.iterable.FilteredIterable",
            Self::Mapped => "uk.gov.gchq.koryphe.iterable.MappedIterable",
        }
    }
}

/// Values in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct List {
    /// How it shows itself.
    pub kind: ListKind,
    /// What is in it.
    pub items: Vec<Value>,
}

/// Which of Java's sets it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetKind {
    /// `java.util.TreeSet`
    Tree,
    /// `java.util.HashSet`
    Hash,
    /// `java.util.LinkedHashSet`
    Linked,
}

/// Values, each once.
#[derive(Debug, Clone)]
pub struct Set {
    /// Which of Java's sets it is.
    pub kind: SetKind,
    items: Vec<Value>,
}

impl Set {
    /// An empty set.
    #[must_use]
    pub fn new(kind: SetKind) -> Self {
        Self { kind, items: Vec::new() }
    }

    /// A set of these.
    #[must_use]
    pub fn of(kind: SetKind, items: Vec<Value>) -> Self {
        let mut set = Self::new(kind);
        set.extend(items);
        set
    }

    /// What is in it: sorted, or in order of insertion where it is linked.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Gives the items up.
    #[must_use]
    pub fn into_items(self) -> Vec<Value> {
        self.items
    }

    /// Whether it holds the value.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        match self.kind {
            SetKind::Linked => self.items.contains(value),
            _ => self.items.binary_search(value).is_ok(),
        }
    }

    /// Adds a value; a second time does nothing.
    pub fn insert(&mut self, value: Value) {
        match self.kind {
            SetKind::Linked if self.items.contains(&value) => {}
            SetKind::Linked => self.items.push(value),
            _ => {
                if let Err(place) = self.items.binary_search(&value) {
                    self.items.insert(place, value);
                }
            }
        }
    }

    /// Adds many.
    pub fn extend(&mut self, values: Vec<Value>) {
        if self.kind == SetKind::Linked || values.len() < 8 {
            return values.into_iter().for_each(|value| self.insert(value));
        }
        self.items.extend(values);
        self.items.sort();
        self.items.dedup();
    }

    /// Keeps what `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&Value) -> bool) {
        self.items.retain(keep);
    }
}

/// Which of Java's maps it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapKind {
    /// `java.util.TreeMap`
    Tree,
    /// `java.util.HashMap`
    Hash,
    /// `java.util.LinkedHashMap`
    Linked,
}

/// Values by key.
#[derive(Debug, Clone)]
pub struct Map {
    /// Which of Java's maps it is.
    pub kind: MapKind,
    entries: Vec<(Value, Value)>,
}

impl Map {
    /// An empty map.
    #[must_use]
    pub fn new(kind: MapKind) -> Self {
        Self { kind, entries: Vec::new() }
    }

    /// All entries: sorted by key, or in order of insertion where it is linked.
    #[must_use]
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    fn place(&self, key: &Value) -> Result<usize, usize> {
        match self.kind {
            MapKind::Linked => {
                self.entries.iter().position(|(own, _)| own == key).ok_or(self.entries.len())
            }
            _ => self.entries.binary_search_by(|(own, _)| own.cmp(key)),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.place(key).ok().map(|place| &self.entries[place].1)
    }

    /// The value of a key, to change in place; null if it was not there.
    pub fn entry(&mut self, key: Value) -> &mut Value {
        let place = self.place(&key).unwrap_or_else(|place| {
            self.entries.insert(place, (key, Value::Null));
            place
        });
        &mut self.entries[place].1
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: Value, value: Value) {
        *self.entry(key) = value;
    }

    /// Keeps what `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&(Value, Value)) -> bool) {
        self.entries.retain(keep);
    }
}

/// How often each string was seen.
pub type FreqMap = BTreeMap<Text, i64>;
