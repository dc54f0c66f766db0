//! Koryphe's predicates: whether something holds of a value, or of several selected together.
//!
//! `parse` reads them, `check` says what they can be asked about, `range` holds the ranges. Times are compared
//! with a `now` that comes in from outside.

mod check;
mod parse;
mod range;
#[cfg(test)]
mod tests;

pub use parse::filters;
pub use range::{Range, TimeRange};

use super::pattern::Pattern;
use super::{Function, wrong_class};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::value::{Class, Set, Text, Value};
use crate::error::Result;

/// A predicate.
#[derive(Debug, Clone)]
pub enum Predicate {
    /// It is there.
    Exists,
    /// It is of the class, or not there.
    IsA(Class),
    /// It is this.
    IsEqual(Value),
    /// It is one of these.
    IsIn(Set),
    /// It is more.
    IsMoreThan(Value, OrEqual),
    /// It is less.
    IsLessThan(Value, OrEqual),
    /// It is the truth.
    IsTrue,
    /// It is not the truth.
    IsFalse,
    /// The whole string matches.
    Regex(Pattern),
    /// The whole string matches one of them.
    MultiRegex(Vec<Pattern>),
    /// The string holds another.
    StringContains {
        /// What it holds.
        value: Text,
        /// Whether case is of no matter.
        ignore_case: bool,
    },
    /// The time is at most so many milliseconds ago.
    AgeOff(i64),
    /// The first, a time, is at most as many days ago as the second says.
    AgeOffFromDays,
    /// It is longer.
    IsLongerThan(i64, OrEqual),
    /// It is shorter.
    IsShorterThan(i64, OrEqual),
    /// The first of two is more.
    IsXMoreThanY,
    /// The first of two is less.
    IsXLessThanY,
    /// Both are the same.
    AreEqual,
    /// All of a collection are among these.
    AreIn {
        /// What is allowed.
        values: Option<Set>,
        /// The answer if that is nothing.
        accept_when_empty: bool,
    },
    /// The collection holds this.
    CollectionContains(Value),
    /// The map has this key.
    MapContains(Text),
    /// The map has a key of which this holds.
    MapContainsPredicate(Box<Predicate>),
    /// This holds of the map's value of that key.
    Map(Value, Box<Predicate>),
    /// It lies in the range, or overlaps it.
    InRange(Box<Range>),
    /// It lies in a range of times.
    InTimeRange(Box<TimeRange>),
    /// Fewer different things were seen.
    SketchIsLessThan(i64, OrEqual),
    /// All hold.
    And(Vec<Predicate>),
    /// One holds.
    Or(Vec<Predicate>),
    /// It does not hold.
    Not(Box<Predicate>),
    /// One of two others, by a condition.
    If(Box<[Option<Predicate>; 3]>, Option<bool>),
    /// Of some of the selected values alone.
    Selected(Vec<usize>, Box<Predicate>),
    /// Of what a function makes of it.
    Adapted(Box<Function>, Box<Predicate>),
    /// Of an element's properties or ends, by name.
    OnElement(Vec<(Vec<Box<str>>, Predicate)>),
}

/// Whether a bound is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrEqual(pub bool);

impl Predicate {
    /// Whether it holds of what was selected.
    ///
    /// # Errors
    /// `Invalid` if a value is of a class it can't be asked about, or too few were selected.
    pub fn test(&self, input: &[&Value], now_ms: i64) -> Result<bool> {
        Ok(match self {
            Self::And(predicates) => {
                for predicate in predicates {
                    if !predicate.test(input, now_ms)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Or(predicates) => {
                for predicate in predicates {
                    if predicate.test(input, now_ms)? {
                        return Ok(true);
                    }
                }
                false
            }
            Self::Not(predicate) => !predicate.test(input, now_ms)?,
            Self::If(parts, condition) => {
                let [predicate, then, otherwise] = &**parts;
                let holds = |predicate: &Option<Self>| {
                    predicate.as_ref().map_or(Ok(false), |it| it.test(input, now_ms))
                };
                let condition = condition.map_or_else(|| holds(predicate), Ok)?;
                holds(if condition { then } else { otherwise })?
            }
            Self::Selected(places, predicate) => {
                let picked: Vec<&Value> = match input {
                    [Value::List(tuple)] => {
                        places.iter().map(|place| pick(&tuple.items, *place)).collect()
                    }
                    _ => places
                        .iter()
                        .map(|place| input.get(*place).copied().unwrap_or(&Value::Null))
                        .collect(),
                };
                predicate.test(&picked, now_ms)?
            }
            Self::Adapted(function, predicate) => {
                let input = input.iter().map(|value| (*value).clone()).collect();
                let output = function.apply(input, now_ms)?;
                predicate.test(&output.iter().collect::<Vec<_>>(), now_ms)?
            }
            Self::IsXMoreThanY | Self::IsXLessThanY | Self::AreEqual | Self::AgeOffFromDays => {
                let [x, y] = pair(input);
                self.test_pair(x, y, now_ms)?
            }
            Self::InRange(range) => {
                let [start, end] = pair(input);
                range.holds(start, end)?
            }
            Self::InTimeRange(range) => {
                let [start, end] = pair(input);
                range.at(now_ms).holds(start, end)?
            }
            _ => self.test_one(input.first().copied().unwrap_or(&Value::Null), now_ms)?,
        })
    }

    fn test_pair(&self, x: &Value, y: &Value, now_ms: i64) -> Result<bool> {
        const DAY_MS: i64 = 86_400_000;
        Ok(match self {
            Self::IsXMoreThanY => x.compare(y).is_some_and(|order| order.is_gt()),
            Self::IsXLessThanY => x.compare(y).is_some_and(|order| order.is_lt()),
            Self::AgeOffFromDays => match (x, y) {
                (Value::Long(time), Value::Integer(days)) => {
                    now_ms - i64::from(*days) * DAY_MS < *time
                }
                (Value::Null, _) | (_, Value::Null) => false,
                (_, days) => return Err(wrong_class("AgeOffFromDays", days)),
            },
            _ => x == y,
        })
    }

    fn test_one(&self, value: &Value, now_ms: i64) -> Result<bool> {
        Ok(match self {
            Self::Exists => !value.is_null(),
            Self::IsA(class) => value.is_a(*class),
            Self::IsEqual(wanted) => wanted == value,
            Self::IsIn(wanted) => wanted.contains(value),
            Self::IsMoreThan(bound, OrEqual(equal)) => {
                value.compare(bound).is_some_and(|o| o.is_gt() || (*equal && o.is_eq()))
            }
            Self::IsLessThan(bound, OrEqual(equal)) => {
                value.compare(bound).is_some_and(|o| o.is_lt() || (*equal && o.is_eq()))
            }
            Self::IsTrue => *value == Value::Boolean(true),
            Self::IsFalse => *value == Value::Boolean(false),
            Self::Regex(pattern) => value.as_str().is_some_and(|text| pattern.matches(text)),
            Self::MultiRegex(patterns) => {
                value.as_str().is_some_and(|text| patterns.iter().any(|it| it.matches(text)))
            }
            Self::StringContains { value: part, ignore_case } => match value {
                Value::Null => false,
                Value::String(text) if *ignore_case => {
                    text.as_str().to_lowercase().contains(&part.as_str().to_lowercase())
                }
                Value::String(text) => text.as_str().contains(part.as_str()),
                other => return Err(wrong_class("StringContains", other)),
            },
            Self::AgeOff(age_ms) => match value {
                Value::Null => false,
                Value::Long(time) => now_ms.saturating_sub(*time) < *age_ms,
                other => return Err(wrong_class("AgeOff", other)),
            },
            Self::IsLongerThan(bound, OrEqual(equal)) => {
                length(value)?.is_none_or(|len| len > *bound || (*equal && len == *bound))
            }
            Self::IsShorterThan(bound, OrEqual(equal)) => {
                length(value)?.is_none_or(|len| len < *bound || (*equal && len == *bound))
            }
            Self::SketchIsLessThan(bound, OrEqual(equal)) => match value {
                Value::HyperLogLog(sketch) => {
                    let seen = sketch.estimate() as i64;
                    seen < *bound || (*equal && seen == *bound)
                }
                Value::Sketch(sketch) => {
                    let seen = sketch.estimate().round() as i64;
                    seen < *bound || (*equal && seen == *bound)
                }
                _ => false,
            },
            _ => return self.test_collection(value, now_ms),
        })
    }

    fn test_collection(&self, value: &Value, now_ms: i64) -> Result<bool> {
        Ok(match self {
            Self::AreIn { values, accept_when_empty } => match (values, value.items()) {
                (None, _) => *accept_when_empty,
                (Some(allowed), _) if allowed.items().is_empty() => *accept_when_empty,
                (Some(allowed), Some(items)) => items.iter().all(|item| allowed.contains(item)),
                (Some(_), None) => false,
            },
            Self::CollectionContains(wanted) => {
                value.items().is_some_and(|items| items.contains(wanted))
            }
            Self::MapContains(key) => match value {
                Value::FreqMap(map) => map.contains_key(key),
                Value::Map(map) => map.get(&Value::String(key.clone())).is_some(),
                other => return Err(wrong_class("MapContains", other)),
            },
            Self::MapContainsPredicate(predicate) => {
                for key in map_keys(value) {
                    if predicate.test(&[&key], now_ms)? {
                        return Ok(true);
                    }
                }
                false
            }
            Self::Map(key, predicate) => match value {
                Value::Map(map) => {
                    predicate.test(&[map.get(key).unwrap_or(&Value::Null)], now_ms)?
                }
                Value::FreqMap(map) => {
                    let count = match key {
                        Value::String(text) => map.get(text).copied(),
                        _ => None,
                    };
                    predicate.test(&[&count.map_or(Value::Null, Value::Long)], now_ms)?
                }
                Value::Null => false,
                other => return Err(wrong_class("PredicateMap", other)),
            },
            Self::OnElement(filters) => match value {
                Value::Element(element) => return holds_of(filters, element, now_ms),
                other => return Err(wrong_class("ElementFilter", other)),
            },
            _ => false,
        })
    }
}

fn holds_of(
    filters: &[(Vec<Box<str>>, Predicate)],
    element: &Element,
    now_ms: i64,
) -> Result<bool> {
    for (selection, predicate) in filters {
        let picked: Vec<Value> = selection.iter().map(|name| element.component(name)).collect();
        if !predicate.test(&picked.iter().collect::<Vec<_>>(), now_ms)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One selected value stands for both of a pair.
fn pair<'a>(input: &[&'a Value]) -> [&'a Value; 2] {
    match input {
        [Value::List(tuple)] if tuple.items.len() == 2 => [&tuple.items[0], &tuple.items[1]],
        [x, y, ..] => [x, y],
        [x] => [x, x],
        [] => [&Value::Null, &Value::Null],
    }
}

fn pick(items: &[Value], place: usize) -> &Value {
    items.get(place).unwrap_or(&Value::Null)
}

fn map_keys(value: &Value) -> Vec<Value> {
    match value {
        Value::Map(map) => map.entries().iter().map(|(key, _)| key.clone()).collect(),
        Value::FreqMap(map) => map.keys().map(|key| Value::String(key.clone())).collect(),
        _ => Vec::new(),
    }
}

/// Koryphe's `Length`: of a string in UTF-16 units, of a collection or map in entries; none of nothing.
///
/// # Errors
/// `Invalid` for something without a length.
pub fn length(value: &Value) -> Result<Option<i64>> {
    let len = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.as_str().encode_utf16().count(),
        Value::Map(map) => map.entries().len(),
        Value::FreqMap(map) => map.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Walk(walk) => walk.edges.len(),
        other => other.items().ok_or_else(|| wrong_class("Length", other))?.len(),
    };
    Ok(Some(len as i64))
}
