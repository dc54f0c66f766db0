//! Koryphe's and Gaffer's functions in common use: what a view's transforms and the `Map` operation do with
//! values. A function takes the values that were selected and gives those to be projected.

mod cardinality;
mod check;
mod collection;
mod convert;
mod csv;
mod graph;
mod number;
mod parse;
mod related;
mod text;
mod time;
mod tuple;

use super::pattern::Pattern;
use super::{BinaryOperator, Predicate};
use crate::bucket::graph::json::read_json;
use crate::bucket::graph::select::Slot;
use crate::bucket::graph::value::{Class, Map, Set, SetKind, Text, Value};
use crate::error::{Error, Result};

pub use cardinality::Cardinality;
pub use csv::Csv;
pub use related::Related;
pub use time::TimeBucket;
pub use tuple::{Adapted, Definition};
pub(super) use tuple::{place, put};

/// A function.
#[derive(Debug, Clone)]
pub enum Function {
    Identity,
    SetValue(Value),
    ToNull,
    DefaultIfNull(Value),
    DefaultIfEmpty(Value),
    /// To a class of values: `ToLong`, `ToString` and their like.
    To(Class),
    Cast(Class),
    ToTuple,
    ToFreqMap,
    ToSketch {
        class: Class,
        /// How large it is, where that is said.
        size: Option<u8>,
        /// Whether the input is a collection of what was seen.
        many: bool,
    },
    Concat(Box<str>),
    Increment(Value),
    Multiply,
    MultiplyBy(i64),
    MultiplyLongBy(i64),
    Divide,
    DivideBy(i64),
    Size,
    Length(Option<i64>),
    IsEmpty,
    Longest,
    FirstItem,
    LastItem,
    NthItem(usize),
    FirstValid(Box<Predicate>),
    IterableConcat,
    IterableLongest,
    IterableFilter(Box<Predicate>),
    IterableFlatten(Box<BinaryOperator>),
    /// Each item through all of these.
    IterableFunction(Vec<Function>),
    FunctionMap(Box<Function>),
    ExtractKeys,
    ExtractValues,
    ExtractValue(Value),
    MapFilter(Box<[Option<Predicate>; 3]>),
    DictionaryLookup(Box<Map>),
    /// A binary operator on two inputs.
    Apply(Box<BinaryOperator>),
    Lower,
    Upper,
    Trim,
    Reverse,
    Append(Text),
    Prepend(Text),
    Replace(Box<str>, Box<str>),
    RegexReplace(Pattern, Box<str>),
    Split(Box<str>),
    RegexSplit(Pattern),
    Join(Box<str>),
    Truncate {
        length: usize,
        ellipses: bool,
    },
    ToBytes,
    Base64Decode,
    CurrentDate,
    CurrentTime,
    ParseDate {
        format: Option<Box<str>>,
        zone_ms: i64,
        microseconds: bool,
    },
    ParseTime {
        format: Option<Box<str>>,
        zone_ms: i64,
        unit_ms: f64,
    },
    ToDateString(Option<Box<str>>),
    If(Box<IfFunction>),
    /// One after the other.
    Chain(Vec<Function>),
    ExtractProperty(Box<str>),
    ExtractGroup,
    ExtractId(Box<str>),
    ToEntityId,
    FromEntityId,
    /// The ids of elements: of an edge, the end with this name.
    EntityIds(Slot),
    /// The ids of edges.
    EdgeIds,
    /// A range of vertices that begin with the text: up to it and what is put behind.
    ToWildcardPair(Box<str>),
    /// The counts whose keys pass.
    FreqMapFilter(Option<Box<Predicate>>),
    /// A sorted set of one thing.
    ToSingletonTreeSet,
    /// Entities that count what is at the other end of edges.
    Cardinality(Box<Cardinality>),
    ExtractWalkEdges(Option<usize>),
    ExtractWalkEntities(Option<usize>),
    ExtractWalkVertex,
    TypeValueParts,
    /// A type, and what is shown of a value.
    ToTypeValue(Text),
    /// A type, a type within it, and what is shown of a value.
    ToTypeSubTypeValue(Text, Text),
    /// Two or three strings.
    StringsToTypeValue,
    /// Lines of CSV as maps.
    CsvToMaps(Box<Csv>),
    /// What JSON in a string says.
    DeserialiseJson(Class),
    /// Changes to a tuple: an element, or a map.
    OnTuple(Vec<Adapted>),
    /// Elements made of a tuple, or of many.
    TupleToElements {
        definitions: Vec<Definition>,
        many: bool,
    },
    /// Elements at vertices that stand for others.
    ReduceRelated(Box<Related>),
    /// The start or the last millisecond of the time that something falls into.
    ToTimeBucket {
        bucket: TimeBucket,
        end: bool,
        /// Whether dates are wanted.
        date: bool,
    },
}

/// A function that is one of two others.
#[derive(Debug, Clone)]
pub struct IfFunction {
    pub(super) condition: Option<bool>,
    pub(super) predicate: Option<Predicate>,
    pub(super) then: Option<Function>,
    pub(super) otherwise: Option<Function>,
}

impl Function {
    /// Applies it to what was selected.
    ///
    /// # Errors
    /// `Invalid` if a value is of a class that it can't take.
    pub fn apply(&self, mut input: Vec<Value>, now_ms: i64) -> Result<Vec<Value>> {
        match self {
            Self::Identity => return Ok(input),
            Self::Concat(separator) => return Ok(vec![concat(&input, separator)]),
            Self::Divide | Self::Multiply => return number::on_two(self, &input),
            Self::DivideBy(by) => return number::divide(&one(input), *by),
            Self::Longest => return collection::longest(input),
            Self::Apply(operator) => {
                let mut values = input.into_iter();
                let mut state = values.next().unwrap_or_default();
                operator.apply(&mut state, values.next().unwrap_or_default())?;
                return Ok(vec![state]);
            }
            Self::If(parts) => {
                let chosen = parts.choose(&input, now_ms)?;
                return chosen.map_or(Ok(input.clone()), |it| it.apply(input.clone(), now_ms));
            }
            Self::Chain(functions) => {
                for function in functions {
                    input = function.apply(input, now_ms)?;
                }
                return Ok(input);
            }
            Self::TypeValueParts => {
                return Ok(match one(input) {
                    Value::TypeValue(parts) => parts.map(Value::String).to_vec(),
                    Value::TypeSubTypeValue(parts) => parts.map(Value::String).to_vec(),
                    other => vec![other],
                });
            }
            Self::StringsToTypeValue => {
                let shown = |value: &Value| Text::from(value.to_string());
                return Ok(vec![match input.as_slice() {
                    [a, b] => Value::TypeValue(Box::new([a, b].map(shown))),
                    [a, b, c] => Value::TypeSubTypeValue(Box::new([a, b, c].map(shown))),
                    _ => return Err(no_input("a type and a value")),
                }]);
            }
            _ => {}
        }
        self.apply_to_one(one(input), now_ms).map(|value| vec![value])
    }

    /// Applies it to one value, for one value.
    ///
    /// # Errors
    /// `Invalid` if the value is of a class that it can't take.
    pub fn apply_one(&self, value: Value, now_ms: i64) -> Result<Value> {
        let mut output = self.apply(vec![value], now_ms)?;
        Ok(match output.len() {
            0 => Value::Null,
            1 => output.remove(0),
            _ => Value::list(output),
        })
    }

    fn apply_to_one(&self, value: Value, now_ms: i64) -> Result<Value> {
        Ok(match self {
            Self::SetValue(value) => value.clone(),
            Self::ToNull => Value::Null,
            Self::DefaultIfNull(default) if value.is_null() => default.clone(),
            Self::DefaultIfNull(_) => value,
            Self::CurrentDate => Value::Date(now_ms),
            Self::CurrentTime => Value::Long(now_ms),
            Self::Increment(by) => return number::increment(&value, by),
            Self::MultiplyBy(by) => return number::multiply_by(&value, *by),
            Self::MultiplyLongBy(by) => match value {
                Value::Null => Value::Null,
                Value::Long(number) => Value::Long(number.wrapping_mul(*by)),
                other => return Err(super::wrong_class("MultiplyLongBy", &other)),
            },
            Self::To(class) => return convert::to(value, *class),
            Self::Cast(class) if value.is_a(*class) => value,
            Self::Cast(_) => return Err(super::wrong_class("Cast", &value)),
            Self::ToTuple => value,
            Self::ToTypeValue(kind) => {
                Value::TypeValue(Box::new([kind.clone(), convert::shown(&value)]))
            }
            Self::ToTypeSubTypeValue(kind, inner) => {
                let parts = [kind.clone(), inner.clone(), convert::shown(&value)];
                Value::TypeSubTypeValue(Box::new(parts))
            }
            Self::CsvToMaps(_) | Self::DeserialiseJson(_) if value.is_null() => Value::Null,
            Self::CsvToMaps(csv) => return csv.maps(&value),
            Self::DeserialiseJson(class) => return deserialised(&value, *class),
            Self::OnTuple(steps) => return tuple::transform(steps, value, now_ms),
            Self::TupleToElements { definitions, many } => {
                return made_elements(definitions, *many, &value);
            }
            Self::ReduceRelated(_) if value.is_null() => Value::Null,
            Self::ReduceRelated(related) => {
                let items = value.items().ok_or_else(|| super::wrong_class("elements", &value))?;
                return related.reduce(items);
            }
            Self::ToTimeBucket { bucket, end, date } => {
                return bucket.apply(&value, *end, *date);
            }
            Self::ToFreqMap | Self::ToSketch { .. } => return convert::count(self, &value),
            Self::ToSingletonTreeSet => Value::Set(Box::new(Set::of(SetKind::Tree, vec![value]))),
            Self::Cardinality(how) => return how.entities(&value, now_ms),
            Self::FreqMapFilter(predicate) => match value {
                Value::FreqMap(map) => return collection::filter_counts(predicate, *map, now_ms),
                other => return Err(super::wrong_class("FreqMapPredicator", &other)),
            },
            Self::ParseDate { .. } | Self::ParseTime { .. } | Self::ToDateString(_) => {
                return convert::date(self, &value);
            }
            Self::ExtractProperty(_)
            | Self::ExtractGroup
            | Self::ExtractId(_)
            | Self::ToEntityId
            | Self::FromEntityId
            | Self::EntityIds(_)
            | Self::EdgeIds
            | Self::ToWildcardPair(_)
            | Self::ExtractWalkEdges(_)
            | Self::ExtractWalkEntities(_)
            | Self::ExtractWalkVertex => return graph::apply(self, value),
            Self::Lower
            | Self::Upper
            | Self::Trim
            | Self::Reverse
            | Self::Append(_)
            | Self::Prepend(_)
            | Self::Replace(..)
            | Self::RegexReplace(..)
            | Self::Split(_)
            | Self::RegexSplit(_)
            | Self::Truncate { .. }
            | Self::ToBytes
            | Self::Base64Decode => return text::apply(self, value),
            _ => return collection::apply(self, value, now_ms),
        })
    }
}

impl IfFunction {
    fn choose(&self, input: &[Value], now_ms: i64) -> Result<Option<&Function>> {
        let holds = match (self.condition, &self.predicate) {
            (Some(condition), _) => condition,
            (None, Some(predicate)) => predicate.test(&input.iter().collect::<Vec<_>>(), now_ms)?,
            (None, None) => false,
        };
        Ok(if holds { self.then.as_ref() } else { self.otherwise.as_ref() })
    }
}

/// Several selected values are one tuple to a function that takes one value.
fn one(mut input: Vec<Value>) -> Value {
    match input.len() {
        0 => Value::Null,
        1 => input.remove(0),
        _ => Value::list(input),
    }
}

fn deserialised(value: &Value, class: Class) -> Result<Value> {
    let Value::String(text) = value else {
        return Err(super::wrong_class("DeserialiseJson", value));
    };
    let json = read_json(text.as_str().as_bytes())?;
    match class {
        Class::Object => Value::from_plain_json(&json),
        class => Value::from_json_as(&json, class),
    }
}

fn made_elements(definitions: &[Definition], many: bool, value: &Value) -> Result<Value> {
    if !many {
        return tuple::elements(definitions, value).map(Value::list);
    }
    let mut made = Vec::new();
    for item in value.items().ok_or_else(|| super::wrong_class("tuples", value))? {
        made.extend(tuple::elements(definitions, item)?);
    }
    Ok(Value::list(made))
}

fn concat(input: &[Value], separator: &str) -> Value {
    let items = match input {
        [one] => one.items().unwrap_or(input),
        _ => input,
    };
    let shown: Vec<String> =
        items.iter().filter(|value| !value.is_null()).map(ToString::to_string).collect();
    if shown.is_empty() { Value::Null } else { shown.join(separator).into() }
}

#[cold]
fn no_input(what: &'static str) -> Error {
    Error::invalid("Input cannot be null").with("at", what)
}

#[cfg(test)]
mod tests;
