//! Every operation that we know, as data: what Gaffer's REST interface tells of them, and which of them may follow
//! which. The parser knows exactly these.

mod control;
mod graph;
mod named;
mod stream;

use std::sync::LazyLock;

use crate::bucket::graph::value::short_name;

/// An operation.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// Its full class name.
    pub class: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// What can be said in its JSON, besides the class.
    pub fields: &'static [Field],
    /// What it takes; none if it takes nothing.
    pub input: Option<Type>,
    /// What it gives; none if it gives nothing.
    pub output: Option<Type>,
    /// Java's name of that.
    pub output_class: Option<&'static str>,
    /// JSON that any schema with an edge understands.
    pub example: &'static str,
}

/// A field of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Java's name of its class.
    pub class_name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What may be said, where only a few things may.
    pub options: &'static [&'static str],
    /// What it means.
    pub summary: Option<&'static str>,
}

/// What goes from one operation to the next, as coarsely as Gaffer looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Not said, so anything may be meant.
    Open,
    /// Java's `Object`: takes anything, but nothing else takes it.
    Object,
    /// A stream.
    Iterable,
    /// A set or list, which is a stream as well.
    Collection,
    /// Java's own stream, which is not.
    Stream,
    /// A pair of streams.
    Pair,
    /// One thing that no operation takes.
    One,
}

static ALL: LazyLock<Vec<Described>> = LazyLock::new(|| {
    let mut all =
        [graph::OPERATIONS, stream::OPERATIONS, control::OPERATIONS, named::OPERATIONS].concat();
    all.sort_by_key(|described| described.class);
    all
});

/// All of them, by class name.
#[must_use]
pub fn all() -> &'static [Described] {
    &ALL
}

/// Finds one by its short or full class name.
#[must_use]
pub fn find(class: &str) -> Option<&'static Described> {
    all().iter().find(|described| described.class == class || described.short() == class)
}

impl Described {
    /// The last part of its class name.
    #[must_use]
    pub fn short(&self) -> &'static str {
        short_name(self.class)
    }

    /// The full class names of what may come after it in a chain.
    pub fn next(&self) -> impl Iterator<Item = &'static str> {
        all().iter().filter(|next| self.feeds(next)).map(|next| next.class)
    }

    /// Whether the other may come after it.
    #[must_use]
    pub fn feeds(&self, next: &Self) -> bool {
        match (self.output, next.input) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(output), Some(input)) => input.takes(output),
        }
    }
}

impl Type {
    fn takes(self, output: Self) -> bool {
        match (self, output) {
            (Self::Open | Self::Object, _) | (_, Self::Open) => true,
            (Self::Iterable, Self::Collection) => true,
            (input, output) => input == output,
        }
    }
}

const fn field(name: &'static str, class_name: &'static str) -> Field {
    Field { name, class_name, required: false, options: &[], summary: None }
}

const fn required(name: &'static str, class_name: &'static str) -> Field {
    Field { required: true, ..field(name, class_name) }
}

const fn choice(
    name: &'static str,
    options: &'static [&'static str],
    summary: &'static str,
) -> Field {
    Field { options, summary: Some(summary), ..field(name, TEXT) }
}

const TEXT: &str = "java.lang.String";
const FLAG: &str = "java.lang.Boolean";
const INTEGER: &str = "java.lang.Integer";
const TEXTS: &str = "java.util.List<java.lang.String>";
const OPERATION: &str = "uk.gov.gchq.gaffer.operation.Operation";
const ELEMENTS: &str = "java.lang.Iterable<uk.gov.gchq.gaffer.data.element.Element>";
const VIEW: &str = "uk.gov.gchq.gaffer.data.elementdefinition.view.View";
const ANYTHING: &str = "java.lang.Object";
const ITERABLE: &str = "java.lang.Iterable<java.lang.Object>";

const OPTIONS: Field = field("options", "java.util.Map<java.lang.String,java.lang.String>");
const INPUT_ELEMENTS: Field = field("input", "uk.gov.gchq.gaffer.data.element.Element[]");
const INPUT_ANY: Field = field("input", "java.lang.Object[]");
const INPUT_ONE: Field = field("input", ANYTHING);
const CONDITIONAL: Field = field("conditional", "uk.gov.gchq.gaffer.operation.util.Conditional");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::bucket::graph::operation::{NoNames, Step};
    use crate::bucket::graph::schema::Schema;

    #[test]
    fn each_example_is_understood_and_says_only_what_is_described() {
        let schema = Schema::from_json(&json!({
            "entities": {"person": {"vertex": "name"}},
            "edges": {"knows": {"source": "name", "destination": "name", "directed": "flag"}},
            "types": {"name": {"class": "java.lang.String"}, "flag": {"class": "java.lang.Boolean"}}
        }))
        .unwrap();
        for described in all() {
            let example: Json = serde_json::from_str(described.example)
                .unwrap_or_else(|error| panic!("{}: {error}", described.class));
            assert_eq!(example["class"], described.class);
            let names: BTreeSet<&str> = described.fields.iter().map(|it| it.name).collect();
            assert_eq!(names.len(), described.fields.len(), "{}", described.class);
            assert!(names.contains("options"), "{}", described.class);
            for name in example.as_object().unwrap().keys().filter(|name| *name != "class") {
                assert!(names.contains(name.as_str()), "{}: {name}", described.class);
            }
            for required in described.fields.iter().filter(|it| it.required) {
                assert!(example.get(required.name).is_some(), "{}", described.class);
            }
            let named = described.short() == "NamedOperation";
            let read = Step::from_json(&example, &schema, &NoNames);
            assert_eq!(read.is_ok(), !named, "{}: {read:?}", described.class);
            assert_eq!(described.output.is_some(), described.output_class.is_some());
            assert_eq!(find(described.short()).unwrap().class, described.class, "found by name");
        }
    }

    #[test]
    fn what_comes_next_takes_what_came_before() {
        let feeds = |before, after| find(before).unwrap().feeds(find(after).unwrap());
        assert!(feeds("GetElements", "GetElements"));
        assert!(feeds("ToSet", "Count"));
        assert!(feeds("Count", "DiscardOutput"));
        assert!(feeds("Count", "Map"));
        assert!(feeds("AddElements", "GetAllElements"));
        assert!(!feeds("Count", "GetElements"));
        assert!(!feeds("GetElements", "GetAllElements"), "which takes nothing");
        assert!(!feeds("ToStream", "Count"));
        assert!(!feeds("GetVariable", "GetElements"));
        let next: Vec<_> = find("Max").unwrap().next().map(short_name).collect();
        assert!(next.contains(&"ToSingletonList") && !next.contains(&"Limit"), "{next:?}");
    }
}
