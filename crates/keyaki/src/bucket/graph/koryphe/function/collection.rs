//! Functions on lists, sets and maps.

use super::super::predicate::length;
use super::super::{Predicate, wrong_class};
use super::{Function, no_input};
use crate::bucket::graph::value::{FreqMap, ListKind, Map, MapKind, Value};
use crate::error::{Error, Result};

pub(super) fn apply(function: &Function, value: Value, now_ms: i64) -> Result<Value> {
    match function {
        Function::Length(max) => {
            let len = length(&value)?.unwrap_or(0);
            let len = max.map_or(len, |max| len.min(max));
            return Ok(Value::Integer(len.try_into().unwrap_or(i32::MAX)));
        }
        Function::DefaultIfEmpty(default) => {
            return Ok(if length(&value)? == Some(0) { default.clone() } else { value });
        }
        Function::ExtractKeys
        | Function::ExtractValues
        | Function::ExtractValue(_)
        | Function::MapFilter(_)
        | Function::FunctionMap(_) => return on_map(function, value, now_ms),
        Function::DictionaryLookup(dictionary) => {
            return Ok(dictionary.get(&value).cloned().unwrap_or_default());
        }
        _ => {}
    }
    if value.is_null() {
        return match function {
            Function::Size
            | Function::IsEmpty
            | Function::FirstItem
            | Function::LastItem
            | Function::NthItem(_) => Err(no_input("a collection")),
            _ => Ok(Value::Null),
        };
    }
    let items = value.items().ok_or_else(|| wrong_class("a collection", &value))?;
    on_items(function, items, now_ms)
}

fn on_items(function: &Function, items: &[Value], now_ms: i64) -> Result<Value> {
    Ok(match function {
        Function::Size => Value::Integer(items.len().try_into().unwrap_or(i32::MAX)),
        Function::IsEmpty => Value::Boolean(items.is_empty()),
        Function::FirstItem => items.first().cloned().unwrap_or_default(),
        Function::LastItem => items.last().cloned().unwrap_or_default(),
        Function::NthItem(place) => {
            let missing = || Error::invalid("there are fewer items").with("selection", place);
            items.get(*place).cloned().ok_or_else(missing)?
        }
        Function::FirstValid(predicate) => {
            for item in items {
                if predicate.test(&[item], now_ms)? {
                    return Ok(item.clone());
                }
            }
            Value::Null
        }
        Function::IterableFilter(predicate) => {
            let mut kept = Vec::new();
            for item in items {
                if predicate.test(&[item], now_ms)? {
                    kept.push(item.clone());
                }
            }
            Value::listed(ListKind::Filtered, kept)
        }
        Function::IterableFlatten(operator) => {
            let mut state = Value::Null;
            for item in items {
                operator.apply(&mut state, item.clone())?;
            }
            state
        }
        Function::IterableFunction(functions) => {
            let apply = |item: &Value| {
                functions.iter().try_fold(item.clone(), |item, it| it.apply_one(item, now_ms))
            };
            Value::listed(ListKind::Mapped, items.iter().map(apply).collect::<Result<_>>()?)
        }
        Function::IterableConcat => {
            let mut all = Vec::new();
            for item in items.iter().filter(|item| !item.is_null()) {
                let inner = item.items().ok_or_else(|| wrong_class("IterableConcat", item))?;
                all.extend_from_slice(inner);
            }
            Value::list(all)
        }
        Function::IterableLongest => {
            let mut longest = (0, &Value::Null);
            for item in items {
                let len = length(item)?.unwrap_or(0);
                if len > longest.0 {
                    longest = (len, item);
                }
            }
            longest.1.clone()
        }
        Function::Join(delimiter) => {
            let shown: Vec<String> = items.iter().map(ToString::to_string).collect();
            shown.join(delimiter).into()
        }
        other => {
            return Err(Error::internal("a function is not one on collections")
                .with("function", format!("{other:?}")));
        }
    })
}

fn on_map(function: &Function, value: Value, now_ms: i64) -> Result<Value> {
    let counts = matches!(value, Value::FreqMap(_));
    let map = match value {
        Value::Null => return Ok(Value::Null),
        Value::Map(map) => *map,
        Value::FreqMap(counts) => {
            let mut map = Map::new(MapKind::Hash);
            counts
                .into_iter()
                .for_each(|(key, count)| map.insert(Value::String(key), count.into()));
            map
        }
        other => return Err(wrong_class("a function on maps", &other)),
    };
    Ok(match function {
        Function::ExtractKeys => {
            let keys = map.listed().into_iter().map(|(key, _)| key.clone()).collect();
            Value::listed(ListKind::Keys(map.kind), keys)
        }
        Function::ExtractValues => {
            let values = map.listed().into_iter().map(|(_, value)| value.clone()).collect();
            Value::listed(ListKind::Values(map.kind), values)
        }
        Function::ExtractValue(key) => map.get(key).cloned().unwrap_or_default(),
        Function::FunctionMap(function) => {
            let mut applied = Map::new(MapKind::Hash);
            for (key, value) in map.entries() {
                applied.insert(key.clone(), function.apply_one(value.clone(), now_ms)?);
            }
            Value::Map(Box::new(applied))
        }
        Function::MapFilter(predicates) => {
            let [key_holds, value_holds, both_hold] = &**predicates;
            let mut kept = Map::new(map.kind);
            for (key, value) in map.entries() {
                let tests: [(&Option<_>, &[&Value]); 3] =
                    [(key_holds, &[key]), (value_holds, &[value]), (both_hold, &[key, value])];
                let mut holds = true;
                for (predicate, input) in tests {
                    if let Some(predicate) = predicate {
                        holds &= predicate.test(input, now_ms)?;
                    }
                }
                if holds {
                    kept.insert(key.clone(), value.clone());
                }
            }
            if counts { counted(&kept) } else { Value::Map(Box::new(kept)) }
        }
        _ => Value::Map(Box::new(map)),
    })
}

/// A map of counts, as one again.
fn counted(map: &Map) -> Value {
    let count = |(key, count): &(Value, Value)| match key {
        Value::String(key) => Some((key.clone(), count.as_integer()?)),
        _ => None,
    };
    Value::FreqMap(Box::new(map.entries().iter().filter_map(count).collect()))
}

/// The counts whose keys pass.
pub(super) fn filter_counts(
    predicate: &Option<Box<Predicate>>,
    counts: FreqMap,
    now_ms: i64,
) -> Result<Value> {
    let mut kept = FreqMap::new();
    for (key, count) in counts {
        let holds = match predicate {
            Some(predicate) => predicate.test(&[&Value::String(key.clone())], now_ms)?,
            None => true,
        };
        if holds {
            kept.insert(key, count);
        }
    }
    Ok(Value::FreqMap(Box::new(kept)))
}

/// The second, if they are equally long.
pub(super) fn longest(mut input: Vec<Value>) -> Result<Vec<Value>> {
    input.resize(2, Value::Null);
    let len = |value: &Value| Ok::<_, Error>(length(value)?.unwrap_or(0));
    let place = if len(&input[0])? > len(&input[1])? { 0 } else { 1 };
    Ok(vec![input.swap_remove(place)])
}
