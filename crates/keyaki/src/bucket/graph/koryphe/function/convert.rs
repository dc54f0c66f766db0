//! Functions that make a value of another class.

use super::super::{date, wrong_class};
use super::Function;
use crate::bucket::graph::value::{
    Class, FreqMap, HyperLogLog, ListKind, Set, SetKind, Sketch, Text, Value,
};
use crate::error::Result;

pub(super) fn to(value: Value, class: Class) -> Result<Value> {
    match class {
        Class::ArrayList | Class::Array => return Ok(to_list(value, class)),
        Class::HashSet | Class::TreeSet => return Ok(to_set(value, class)),
        _ if value.is_null() => return Ok(Value::Null),
        _ => {}
    }
    let wrong = || wrong_class("a conversion", &value);
    let whole = || match &value {
        Value::String(text) => text.as_str().parse().map_err(|_| wrong()),
        other => {
            let whole = other.as_integer().or_else(|| other.as_double().map(|n| n as i64));
            whole.ok_or_else(wrong)
        }
    };
    let double = || match &value {
        Value::String(text) => text.as_str().trim().parse().map_err(|_| wrong()),
        other => other.as_double().ok_or_else(wrong),
    };
    Ok(match class {
        Class::String => match value {
            Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
            other => other.to_string().into(),
        },
        Class::Long => Value::Long(whole()?),
        Class::Integer => match &value {
            Value::String(_) => Value::Integer(whole()?.try_into().map_err(|_| wrong())?),
            _ => Value::Integer(whole()? as i32),
        },
        Class::Double => Value::Double(double()?),
        Class::Float => Value::Float(double()? as f32),
        Class::Boolean => match &value {
            Value::Boolean(bool) => Value::Boolean(*bool),
            Value::String(text) => Value::Boolean(text.as_str().eq_ignore_ascii_case("true")),
            _ => return Err(wrong()),
        },
        _ => value,
    })
}

fn items_of(value: Value) -> Vec<Value> {
    match value {
        Value::List(list) => list.items,
        Value::Set(set) => set.into_items(),
        other => vec![other],
    }
}

fn to_list(value: Value, class: Class) -> Value {
    let kind = if class == Class::Array { ListKind::Array } else { ListKind::List };
    Value::listed(kind, items_of(value))
}

fn to_set(value: Value, class: Class) -> Value {
    let kind = if class == Class::TreeSet { SetKind::Tree } else { SetKind::Hash };
    let items = match value {
        Value::Null if kind == SetKind::Tree => Vec::new(),
        other => items_of(other),
    };
    Value::Set(Box::new(Set::of(kind, items)))
}

pub(super) fn count(function: &Function, value: &Value) -> Result<Value> {
    Ok(match function {
        Function::ToSketch { class, size, many } => {
            let values = match (many, value) {
                (_, Value::Null) => &[],
                (true, value) => value.items().ok_or_else(|| wrong_class("a sketch", value))?,
                (false, value) => std::slice::from_ref(value),
            };
            if *class == Class::HyperLogLogPlus {
                let mut sketch = HyperLogLog::new(*size);
                values.iter().for_each(|value| sketch.offer(value));
                return Ok(Value::HyperLogLog(Box::new(sketch)));
            }
            let mut sketch = Sketch::new(*class, *size)?;
            sketch.offer(values)?;
            Value::Sketch(Box::new(sketch))
        }
        _ => {
            let mut map = FreqMap::new();
            let one = std::slice::from_ref(value);
            for item in value.items().unwrap_or(one) {
                *map.entry(Text::from(item.to_string())).or_insert(0) += 1;
            }
            Value::FreqMap(Box::new(map))
        }
    })
}

pub(super) fn date(function: &Function, value: &Value) -> Result<Value> {
    let millis = |text: &Text, format: &Option<Box<str>>, zone_ms| match format {
        Some(format) => date::parse_with(text.as_str(), format, zone_ms),
        None => date::parse(text.as_str(), zone_ms),
    };
    Ok(match (function, value) {
        (_, Value::Null) => Value::Null,
        (Function::ParseDate { format, zone_ms, microseconds }, Value::String(text)) => {
            let epoch = text.as_bytes().iter().all(u8::is_ascii_digit);
            let millis = millis(text, format, *zone_ms)?;
            Value::Date(if *microseconds && epoch { millis / 1000 } else { millis })
        }
        (Function::ParseTime { format, zone_ms, unit_ms }, Value::String(text)) => {
            Value::Long((millis(text, format, *zone_ms)? as f64 / unit_ms) as i64)
        }
        (Function::ToDateString(format), Value::Date(millis)) => match format {
            Some(format) => date::format_with(*millis, format).into(),
            None => {
                let pattern = match millis % 1000 {
                    0 => "yyyy-MM-ddTHH:mm:ssZ",
                    _ => "yyyy-MM-ddTHH:mm:ss.SSSZ",
                };
                date::format_with(*millis, pattern).into()
            }
        },
        (_, other) => return Err(wrong_class("a date", other)),
    })
}

/// What Java shows of a value; nothing of nothing.
pub(super) fn shown(value: &Value) -> Text {
    if value.is_null() { Text::default() } else { value.to_string().into() }
}
