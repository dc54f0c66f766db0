//! Elements from text without a tree of JSON in between. Takes what ingest sees all day; for anything else, right
//! or wrong, it gives up and lets the slow way decide.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

use super::element::{Element, Ends};
use super::json::NUMBER;
use super::schema::Schema;
use super::value::{Class, Value};

type Read<T, E> = Result<T, E>;

/// The element, if it is in one of the usual forms.
pub(super) fn element(text: &[u8], schema: &Schema) -> Option<Element> {
    let parts: Parts<'_> = serde_json::from_slice(text).ok()?;
    let group = schema.group(&parts.group?)?;
    let ends = match (parts.vertex, parts.source, parts.destination) {
        (Some(vertex), None, None) => Ends::Vertex(vertex),
        (None, Some(source), Some(destination)) => Ends::edge(source, destination, parts.directed?),
        _ => return None,
    };
    if matches!(ends, Ends::Edge { .. }) != group.shape().is_edge {
        return None;
    }
    let mut properties = vec![Value::Null; group.shape().names.len()];
    for (name, value) in parts.properties {
        if let Some(slot) = group.shape().slot(&name) {
            // A key that comes twice finds its place taken.
            if !std::mem::replace(&mut properties[slot], value).is_null() {
                return None;
            }
        }
    }
    Some(Element { shape: group.shape().clone(), ends, properties })
}

/// The fields of an element.
#[derive(Default)]
struct Parts<'a> {
    group: Option<Cow<'a, str>>,
    vertex: Option<Value>,
    source: Option<Value>,
    destination: Option<Value>,
    directed: Option<bool>,
    properties: Vec<(Cow<'a, str>, Value)>,
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Read<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an element")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Read<Parts<'de>, A::Error> {
                let mut parts = Parts::default();
                let mut class_seen = false;
                while let Some(Text(name)) = fields.next_key()? {
                    let twice = match &*name {
                        "class" => {
                            fields.next_value::<IgnoredAny>()?;
                            std::mem::replace(&mut class_seen, true)
                        }
                        "group" => {
                            parts.group.replace(fields.next_value::<Text<'_>>()?.0).is_some()
                        }
                        "vertex" => parts.vertex.replace(end(&mut fields)?).is_some(),
                        "source" => parts.source.replace(end(&mut fields)?).is_some(),
                        "destination" => parts.destination.replace(end(&mut fields)?).is_some(),
                        "directed" => parts.directed.replace(fields.next_value()?).is_some(),
                        "properties" => {
                            let Properties(read) = fields.next_value()?;
                            !std::mem::replace(&mut parts.properties, read).is_empty()
                        }
                        _ => true,
                    };
                    if twice {
                        return Err(unusual());
                    }
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

fn end<'de, A: MapAccess<'de>>(fields: &mut A) -> Read<Value, A::Error> {
    let Typed(vertex) = fields.next_value()?;
    if vertex.is_null() { Err(unusual()) } else { Ok(vertex) }
}

struct Properties<'a>(Vec<(Cow<'a, str>, Value)>);

impl<'de> Deserialize<'de> for Properties<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Read<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Properties<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("properties")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Read<Self::Value, A::Error> {
                let mut properties = Vec::with_capacity(8);
                while let Some(Text(name)) = fields.next_key()? {
                    let Typed(value) = fields.next_value()?;
                    if name == "class" || value.is_null() {
                        return Err(unusual());
                    }
                    properties.push((name, value));
                }
                Ok(Properties(properties))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A value in its wrapper, or one that needs none.
struct Typed(Value);

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Read<Self, D::Error> {
        struct Wrapped;
        impl<'de> Visitor<'de> for Wrapped {
            type Value = Typed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_bool<E>(self, bool: bool) -> Read<Typed, E> {
                Ok(Typed(bool.into()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Read<Typed, E> {
                plain(&number.into()).map(Typed)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Read<Typed, E> {
                plain(&number.into()).map(Typed)
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Read<Typed, E> {
                plain(&number.into()).map(Typed)
            }

            fn visit_str<E>(self, text: &str) -> Read<Typed, E> {
                Ok(Typed(text.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Read<Typed, A::Error> {
                let Some(Text(name)) = fields.next_key()? else { return Err(unusual()) };
                let value = match &*name {
                    NUMBER => {
                        let digits: String = fields.next_value()?;
                        let number: serde_json::Number =
                            digits.parse().map_err(A::Error::custom)?;
                        return plain(&Json::Number(number)).map(Typed);
                    }
                    "java.lang.Long" | "Long" => Value::Long(fields.next_value()?),
                    name => {
                        let class = Class::named(name).map_err(|_| unusual())?;
                        if !is_scalar(class) {
                            return Err(unusual());
                        }
                        let json: Json = fields.next_value()?;
                        Value::from_json_as(&json, class).map_err(|_| unusual())?
                    }
                };
                match fields.next_key::<IgnoredAny>()? {
                    None => Ok(Typed(value)),
                    Some(_) => Err(unusual()),
                }
            }
        }
        deserializer.deserialize_any(Wrapped)
    }
}

/// Whether the class's JSON has no keys that could come twice.
fn is_scalar(class: Class) -> bool {
    class.is_number() && class != Class::Number
        || matches!(class, Class::String | Class::Boolean | Class::Date | Class::Bytes)
}

fn plain<E: serde::de::Error>(json: &Json) -> Read<Value, E> {
    Value::from_plain_json(json).map_err(|_| unusual())
}

/// A string, borrowed from the text where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Read<Self, D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Read<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Read<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowed)
    }
}

#[cold]
fn unusual<E: serde::de::Error>() -> E {
    E::custom("not a usual form")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let types = json!({"v": {"class": "String"}, "b": {"class": "Boolean"}, "n": {"class": "Long"}, "o": {"class": "Object"}});
        let properties = json!({"n": "n", "o": "o", "s": "v"});
        Schema::from_json(&json!({
            "edges": {"e": {"source": "v", "destination": "v", "directed": "b", "properties": properties, "aggregate": false}},
            "entities": {"p": {"vertex": "v", "properties": properties, "aggregate": false}},
            "types": types
        }))
        .unwrap()
    }

    #[test]
    fn the_fast_way_and_the_slow_way_read_the_same() {
        let schema = schema();
        for (text, is_usual) in [
            (
                r#"{"class":"x.Edge","group":"e","source":"b","destination":"a","directed":false,"properties":{"n":{"java.lang.Long":9007199254740993},"s":"x\n"}}"#,
                true,
            ),
            (
                r#"{"group":"e","source":"b","destination":"a","directed":true,"properties":{"o":7,"nope":1}}"#,
                true,
            ),
            (r#"{"group":"p","vertex":"b","properties":{"o":1.5}}"#, true),
            (r#"{"group":"p","vertex":"b","properties":{"o":{"java.lang.Integer":5}}}"#, true),
            (r#"{"group":"p","vertex":"b","properties":{"o":{"java.util.TreeSet":["a"]}}}"#, false),
            (r#"{"group":"p","vertex":"b","properties":{"n":{"Long":"5"},"s":null}}"#, false),
            (r#"{"group":"e","source":"b","destination":"a","matchedVertex":"SOURCE"}"#, false),
            (r#"{"group":"p","vertex":"b"}"#, true),
        ] {
            let slow = schema.element_from_json(&serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!(schema.element_from_text(text.as_bytes()).unwrap(), slow, "{text}");
            assert_eq!(element(text.as_bytes(), &schema).is_some(), is_usual, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_reason() {
        let schema = schema();
        for (text, reason) in [
            (r#"{"group":"nope","vertex":"b"}"#, "nope"),
            (r#"{"group":"p","vertex":"b","vertex":"c"}"#, "twice"),
            (r#"{"group":"p","vertex":"b","properties":{"s":"x","s":"y"}}"#, "twice"),
            (r#"{"group":"p","vertex":"b","properties":{"o":{"HashMap":{"a":1,"a":2}}}}"#, "twice"),
            (r#"{"group":"p","vertex":"b","properties":{"n":{"a.b.Thing":1}}}"#, "a.b.Thing"),
            (r#"{"group":"p","source":"b","destination":"c"}"#, "kind"),
            (r#"{"group":"p"}"#, "vertex"),
            (r#"{"group":"p","vertex":"b"} x"#, "not JSON"),
            ("", "not JSON"),
        ] {
            let error = schema.element_from_text(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }
}
