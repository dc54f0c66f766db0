//! Values as Gaffer's JSON has them. Where the class is not known from the place, a value comes wrapped in its
//! class (`{"java.lang.Long": 1}`), except strings, booleans, `Integer`s and `Double`s, which stand plain.
//! What is inside collections is always plain, so there a whole number is an `Integer` if it fits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::java::{double_text, float_text};
use super::{
    Class, FreqMap, HyperLogLog, ListKind, Map, MapKind, Set, SetKind, Sketch, Text, Value,
};
use crate::bucket::graph::element::{EdgeId, Element};
use crate::bucket::graph::walk::Walk;
use crate::error::{Error, Result};

impl Value {
    /// Reads a value that may be wrapped in its class.
    ///
    /// # Errors
    /// `Invalid` for an unknown class, or JSON that is not of its class.
    pub fn from_json(json: &Json) -> Result<Self> {
        match json {
            Json::Object(fields) => {
                if let Some(class) = fields.get("class").and_then(Json::as_str) {
                    return Self::from_json_as(json, Class::named(class)?);
                }
                match (fields.len(), fields.iter().next()) {
                    (1, Some((class, inner))) => Self::from_json_as(inner, Class::named(class)?),
                    _ => Err(Error::invalid("an object that names no class").with("json", json)),
                }
            }
            plain => Self::from_plain_json(plain),
        }
    }

    /// Reads JSON as it stands: objects are maps, arrays lists.
    ///
    /// # Errors
    /// `Invalid` for a number that fits no class.
    pub fn from_plain_json(json: &Json) -> Result<Self> {
        Ok(match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Boolean(*bool),
            Json::String(text) => text.as_str().into(),
            Json::Number(number) => return plain_number(number),
            Json::Array(items) => Self::list(plain_items(items)?),
            Json::Object(fields) => {
                let mut map = Map::new(MapKind::Linked);
                for (key, value) in fields {
                    map.insert(key.as_str().into(), Self::from_plain_json(value)?);
                }
                Self::Map(Box::new(map))
            }
        })
    }

    /// Reads JSON of a known class.
    ///
    /// # Errors
    /// `Invalid` if it is not of that class.
    pub fn from_json_as(json: &Json, class: Class) -> Result<Self> {
        let wrong = || {
            Error::invalid("a value is not of its class")
                .with("class", class.full_name())
                .with("value", json)
        };
        let integer = || json.as_i64().or_else(|| json.as_str()?.parse().ok()).ok_or_else(wrong);
        let double = || match json.as_str() {
            Some("NaN") => Ok(f64::NAN),
            Some("Infinity") => Ok(f64::INFINITY),
            Some("-Infinity") => Ok(f64::NEG_INFINITY),
            Some(text) => text.parse().map_err(|_| wrong()),
            None => json.as_f64().ok_or_else(wrong),
        };
        let items = || plain_items(json.as_array().ok_or_else(wrong)?);
        if json.is_null() {
            return Ok(Self::Null);
        }
        Ok(match class {
            Class::Object | Class::Comparable | Class::Number => return Self::from_json(json),
            Class::String => json.as_str().ok_or_else(wrong)?.into(),
            Class::Boolean => Self::Boolean(json.as_bool().ok_or_else(wrong)?),
            Class::Byte => Self::Byte(integer()?.try_into().map_err(|_| wrong())?),
            Class::Short => Self::Short(integer()?.try_into().map_err(|_| wrong())?),
            Class::Integer => Self::Integer(integer()?.try_into().map_err(|_| wrong())?),
            Class::Long => Self::Long(integer()?),
            Class::Float => Self::Float(double()? as f32),
            Class::Double => Self::Double(double()?),
            Class::Date => Self::Date(integer()?),
            Class::Bytes => {
                let text = json.as_str().ok_or_else(wrong)?;
                Self::Bytes(STANDARD.decode(text).map_err(|_| wrong())?.into())
            }
            Class::Collection | Class::List | Class::ArrayList => Self::list(items()?),
            Class::Array => Self::listed(ListKind::Array, items()?),
            Class::TreeSet => Self::Set(Box::new(Set::of(SetKind::Tree, items()?))),
            Class::HashSet | Class::Set => Self::Set(Box::new(Set::of(SetKind::Hash, items()?))),
            Class::LinkedHashSet => Self::Set(Box::new(Set::of(SetKind::Linked, items()?))),
            Class::TreeMap => plain_map(json, MapKind::Tree)?.ok_or_else(wrong)?,
            Class::HashMap | Class::Map => plain_map(json, MapKind::Hash)?.ok_or_else(wrong)?,
            Class::LinkedHashMap => plain_map(json, MapKind::Linked)?.ok_or_else(wrong)?,
            Class::FreqMap => Self::FreqMap(Box::new(freq_map(json).ok_or_else(wrong)?)),
            Class::HyperLogLogPlus => Self::HyperLogLog(Box::new(HyperLogLog::from_json(json)?)),
            Class::HllSketch
            | Class::HllUnion
            | Class::ThetaSketch
            | Class::ThetaUnion
            | Class::KllFloatsSketch
            | Class::LongsSketch
            | Class::ItemsSketch => Self::Sketch(Box::new(Sketch::from_json(json, class)?)),
            Class::TypeValue => {
                Self::TypeValue(Box::new(["type", "value"].map(|name| text_field(json, name))))
            }
            Class::TypeSubTypeValue => Self::TypeSubTypeValue(Box::new(
                ["type", "subType", "value"].map(|name| text_field(json, name)),
            )),
            Class::EntitySeed => {
                let vertex = json.get("vertex").ok_or_else(wrong)?;
                Self::EntityId(Box::new(Self::from_json(vertex)?))
            }
            Class::EdgeSeed => Self::EdgeId(Box::new(EdgeId::from_json(json)?)),
            Class::Entity | Class::Edge => Self::Element(Box::new(Element::from_json(json)?)),
            Class::Walk => Self::Walk(Box::new(Walk::from_json(json)?)),
            Class::Pair => {
                let end = |name| json.get(name).map_or(Ok(Self::Null), Self::from_json);
                Self::Pair(Box::new([end("first")?, end("second")?]))
            }
        })
    }

    /// Writes the value wrapped in its class, where Gaffer does.
    pub fn write_typed(&self, out: &mut Vec<u8>) {
        let Some(class) = self.class() else { return out.extend_from_slice(b"null") };
        let plain =
            matches!(self, Self::String(_) | Self::Boolean(_) | Self::Integer(_) | Self::Double(_));
        if plain {
            return self.write_plain(out);
        }
        let name = match self {
            Self::List(list) => list.kind.java_name(),
            _ => class.full_name(),
        };
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        self.write_plain(out);
        out.push(b'}');
    }

    /// Writes the value as it stands, where its class is known or of no matter.
    pub fn write_plain(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Boolean(bool) => out.extend_from_slice(if *bool { b"true" } else { b"false" }),
            Self::Byte(number) => write_integer((*number).into(), out),
            Self::Short(number) => write_integer((*number).into(), out),
            Self::Integer(number) => write_integer((*number).into(), out),
            Self::Long(number) | Self::Date(number) => write_integer(*number, out),
            Self::Float(number) if number.is_finite() => out.extend(float_text(*number).bytes()),
            Self::Double(number) if number.is_finite() => out.extend(double_text(*number).bytes()),
            Self::Float(number) => write_string(&float_text(*number), out),
            Self::Double(number) => write_string(&double_text(*number), out),
            Self::String(text) => write_string(text.as_str(), out),
            Self::Bytes(bytes) => write_string(&STANDARD.encode(bytes), out),
            Self::List(list) => write_items(list.items.iter(), out),
            Self::Set(set) => write_items(set.listed().into_iter(), out),
            Self::Map(map) => write_entries(
                map.listed().into_iter().map(|(key, value)| (key.to_string(), value)),
                |value, out| value.write_plain(out),
                out,
            ),
            Self::FreqMap(map) => write_entries(
                map.iter().map(|(key, count)| (key.to_string(), count)),
                |count, out| write_integer(*count, out),
                out,
            ),
            Self::HyperLogLog(sketch) => sketch.write_json(out),
            Self::Sketch(sketch) => sketch.write_json(out),
            Self::TypeValue(parts) => write_fields(&["type", "value"], parts.as_slice(), out),
            Self::TypeSubTypeValue(parts) => {
                write_fields(&["type", "subType", "value"], parts.as_slice(), out);
            }
            Self::EntityId(vertex) => {
                out.extend_from_slice(b"{\"class\":\"");
                out.extend_from_slice(Class::EntitySeed.full_name().as_bytes());
                out.extend_from_slice(b"\",\"vertex\":");
                vertex.write_typed(out);
                out.push(b'}');
            }
            Self::EdgeId(id) => id.write_json(out),
            Self::Element(element) => element.write_json(out),
            Self::Walk(walk) => walk.write_json(out),
            Self::Pair(pair) => {
                out.extend_from_slice(b"{\"first\":");
                pair[0].write_typed(out);
                out.extend_from_slice(b",\"second\":");
                pair[1].write_typed(out);
                out.push(b'}');
            }
        }
    }

    /// The value as JSON, wrapped in its class where Gaffer does; for what is not written often.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut out = Vec::new();
        self.write_typed(&mut out);
        serde_json::from_slice(&out).unwrap_or_default()
    }
}

/// An `Integer` if it fits, else a `Long`, else a `Double`; with a point or an exponent always a `Double`.
fn plain_number(number: &serde_json::Number) -> Result<Value> {
    if let Some(integer) = number.as_i64() {
        return Ok(i32::try_from(integer).map_or(Value::Long(integer), Value::Integer));
    }
    let wrong = || Error::invalid("a number fits no class").with("number", number);
    number.as_f64().filter(|double| double.is_finite()).map(Value::Double).ok_or_else(wrong)
}

fn plain_items(items: &[Json]) -> Result<Vec<Value>> {
    items.iter().map(item_from_json).collect()
}

/// Inside a collection a value is plain, but what carries a class of its own is understood too.
fn item_from_json(json: &Json) -> Result<Value> {
    match json {
        Json::Object(fields) if fields.contains_key("class") => Value::from_json(json),
        Json::Object(fields) if fields.len() == 1 => {
            let known = fields.keys().next().is_some_and(|name| Class::named(name).is_ok());
            if known { Value::from_json(json) } else { Value::from_plain_json(json) }
        }
        plain => Value::from_plain_json(plain),
    }
}

fn plain_map(json: &Json, kind: MapKind) -> Result<Option<Value>> {
    let Some(fields) = json.as_object() else { return Ok(None) };
    let mut map = Map::new(kind);
    for (key, value) in fields {
        map.insert(key.as_str().into(), item_from_json(value)?);
    }
    Ok(Some(Value::Map(Box::new(map))))
}

fn freq_map(json: &Json) -> Option<FreqMap> {
    let count = |(key, count): (&String, &Json)| Some((Text::from(key.as_str()), count.as_i64()?));
    json.as_object()?.iter().map(count).collect()
}

fn text_field(json: &Json, name: &str) -> Text {
    json.get(name).and_then(Json::as_str).unwrap_or_default().into()
}

/// Writes a JSON string.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a vector takes everything");
}

fn write_integer(number: i64, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &number).expect("a vector takes everything");
}

fn write_items<'a>(items: impl Iterator<Item = &'a Value>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        item.write_plain(out);
    }
    out.push(b']');
}

fn write_entries<V>(
    entries: impl Iterator<Item = (String, V)>,
    write: impl Fn(V, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (i, (key, value)) in entries.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(&key, out);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

fn write_fields(names: &[&str], texts: &[Text], out: &mut Vec<u8>) {
    let entries = names.iter().zip(texts).map(|(name, text)| ((*name).to_owned(), text));
    write_entries(entries, |text, out| write_string(text.as_str(), out), out);
}
