//! What Java shows of a value: `toString`, and the order in which its hash sets and maps list themselves.

use std::fmt;

use super::text::java_hash;
use super::{MapKind, Set, SetKind, Value};

/// Java's `toString`; nothing shows as `null`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(bool) => write!(f, "{bool}"),
            Self::Byte(number) => write!(f, "{number}"),
            Self::Short(number) => write!(f, "{number}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Long(number) => write!(f, "{number}"),
            Self::Float(number) => f.write_str(&float_text(*number)),
            Self::Double(number) => f.write_str(&double_text(*number)),
            Self::Date(millis) => f.write_str(&date_text(*millis)),
            Self::String(text) => f.write_str(text.as_str()),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
            Self::List(list) => write_items(f, list.items.iter()),
            Self::Set(set) => write_items(f, set.listed().into_iter()),
            Self::Map(map) => write_entries(f, map.listed().into_iter()),
            Self::FreqMap(map) => write_entries(f, map.iter()),
            Self::HyperLogLog(sketch) => write!(f, "{}", sketch.estimate()),
            Self::Sketch(sketch) => f.write_str(&double_text(sketch.estimate())),
            Self::TypeValue(parts) => {
                write!(f, "TypeValue[type={},value={}]", parts[0], parts[1])
            }
            Self::TypeSubTypeValue(parts) => write!(
                f,
                "TypeSubTypeValue[type={},subType={},value={}]",
                parts[0], parts[1], parts[2]
            ),
            Self::EntityId(vertex) => write!(f, "EntitySeed[vertex={vertex}]"),
            Self::EdgeId(id) => write!(f, "{id}"),
            Self::Element(element) => write!(f, "{element}"),
            Self::Walk(walk) => write!(f, "{walk}"),
            Self::Pair(pair) => write!(f, "Pair[first={},second={}]", pair[0], pair[1]),
        }
    }
}

fn write_items<'a>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = &'a Value>,
) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}

fn write_entries<K: fmt::Display, V: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    entries: impl Iterator<Item = (K, V)>,
) -> fmt::Result {
    f.write_str("{")?;
    for (i, (key, value)) in entries.enumerate() {
        write!(f, "{}{key}={value}", if i == 0 { "" } else { ", " })?;
    }
    f.write_str("}")
}

/// `Double.toString`: plain between 0.001 and 10,000,000, else with an exponent.
pub(super) fn double_text(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ if number == 0.0 || (1e-3..1e7).contains(&number.abs()) => format!("{number:?}"),
        _ => with_exponent(&format!("{number:e}")),
    }
}

pub(super) fn float_text(number: f32) -> String {
    match number {
        _ if number.is_nan() || number.is_infinite() => double_text(number.into()),
        _ if number == 0.0 || (1e-3..1e7).contains(&number.abs()) => format!("{number:?}"),
        _ => with_exponent(&format!("{number:e}")),
    }
}

/// `1e10` becomes `1.0E10`.
fn with_exponent(scientific: &str) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// `Date.toString`, in UTC.
fn date_text(millis: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = millis.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = crate::bucket::graph::koryphe::date::civil_from_days(days);
    let (weekday, month) = (DAYS[days.rem_euclid(7) as usize], MONTHS[month as usize - 1]);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// `hashCode`, for the classes whose order in a hash set we can know.
fn hash_code(value: &Value) -> i32 {
    let folded = |bits: u64| (bits ^ (bits >> 32)) as i32;
    match value {
        Value::Boolean(bool) => {
            if *bool {
                1231
            } else {
                1237
            }
        }
        Value::Byte(number) => (*number).into(),
        Value::Short(number) => (*number).into(),
        Value::Integer(number) => *number,
        Value::Long(number) | Value::Date(number) => folded(*number as u64),
        Value::Float(number) => number.to_bits() as i32,
        Value::Double(number) => folded(number.to_bits()),
        Value::String(text) => java_hash(text.as_str()),
        _ => 0,
    }
}

/// The bucket of a hash table that has grown to hold `len` entries.
fn bucket(value: &Value, len: usize) -> u32 {
    let capacity = (len * 4).div_ceil(3).next_power_of_two().max(16) as u32;
    let hash = hash_code(value) as u32;
    (hash ^ (hash >> 16)) & (capacity - 1)
}

impl Set {
    /// The items in the order in which Java lists them.
    #[must_use]
    pub fn listed(&self) -> Vec<&Value> {
        let mut items: Vec<_> = self.items().iter().collect();
        if self.kind == SetKind::Hash {
            items.sort_by_key(|item| bucket(item, self.items().len()));
        }
        items
    }
}

impl super::Map {
    /// The entries in the order in which Java lists them.
    #[must_use]
    pub fn listed(&self) -> Vec<(&Value, &Value)> {
        let mut entries: Vec<_> = self.entries().iter().map(|(key, value)| (key, value)).collect();
        if self.kind == MapKind::Hash {
            entries.sort_by_key(|(key, _)| bucket(key, self.entries().len()));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_show_as_in_java() {
        let shown = |value: Value| value.to_string();
        assert_eq!(shown(Value::Double(1e10)), "1.0E10");
        assert_eq!(shown(Value::Double(1234567.5)), "1234567.5");
        assert_eq!(shown(Value::Double(0.0001)), "1.0E-4");
        assert_eq!(shown(Value::Double(-0.0)), "-0.0");
        assert_eq!(shown(Value::Float(3.0)), "3.0");
        assert_eq!(shown(Value::Date(0)), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(shown(Value::Date(1_704_067_200_000)), "Mon Jan 01 00:00:00 UTC 2024");
        assert_eq!(shown(Value::list(vec![1.into(), "a".into()])), "[1, a]");
    }

    #[test]
    fn hash_sets_list_as_in_java() {
        let set = Set::of(SetKind::Hash, ["apple", "banana", "cherry"].map(Value::from).to_vec());
        let listed: Vec<_> = set.listed().into_iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["banana", "apple", "cherry"], "buckets 0, 1 and 1");
    }
}
