//! JSON from text, strictly: an object that has a key twice is refused. And JSON whose order matters in one place,
//! the columns of a table: our objects are sorted by key, so while operations are read, the objects under `fields`
//! and `constants` become lists of pairs, and what is to be kept under a name stays the text that it is.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use super::value::short_name;
use crate::error::{Error, Result};

/// What serde_json calls a number whose digits it keeps.
pub(super) const NUMBER: &str = "$serde_json::private::Number";
const ORDERED: [&str; 2] = ["fields", "constants"];
const KEPT: [(&str, &str); 2] = [("AddNamedOperation", "operationChain"), ("AddNamedView", "view")];

/// Reads JSON.
///
/// # Errors
/// `Invalid` if it is not JSON, or an object has a key twice.
pub fn read_json(text: &[u8]) -> Result<Json> {
    read(text).map(|read| read.sorted(&[]))
}

/// Reads operations; columns keep their order.
///
/// # Errors
/// `Invalid` if it is not JSON, or an object has a key twice.
pub fn read_operation(text: &[u8]) -> Result<Json> {
    read(text).map(|read| read.sorted(&ORDERED))
}

fn read(text: &[u8]) -> Result<Read> {
    serde_json::from_slice(text).map_err(|error| Error::invalid("not JSON").because(error))
}

/// JSON with objects as they were written.
enum Read {
    Plain(Json),
    List(Vec<Read>),
    Object(Vec<(String, Read)>),
}

impl Read {
    fn sorted(self, ordered: &[&str]) -> Json {
        match self {
            Self::Plain(json) => json,
            Self::List(items) => items.into_iter().map(|item| item.sorted(ordered)).collect(),
            Self::Object(fields) => {
                let kept = if ordered.is_empty() { None } else { kept_field(&fields) };
                let field = |(name, value): (String, Self)| match value {
                    value if Some(&name[..]) == kept => (name, value.text().into()),
                    Self::Object(columns) if ordered.contains(&name.as_str()) => {
                        (name, columns.into_iter().map(pair).collect())
                    }
                    value => (name, value.sorted(ordered)),
                };
                Json::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
            }
        }
    }
}

impl Read {
    /// Compact text, everything in the order in which it was written.
    fn text(&self) -> String {
        let list = |items: Vec<String>| items.join(",");
        match self {
            Self::Plain(json) => json.to_string(),
            Self::List(items) => format!("[{}]", list(items.iter().map(Self::text).collect())),
            Self::Object(fields) => {
                let field = |(name, value): &(String, Self)| {
                    format!("{}:{}", Json::from(name.as_str()), value.text())
                };
                format!("{{{}}}", list(fields.iter().map(field).collect()))
            }
        }
    }
}

/// The field of an operation that keeps something under a name.
fn kept_field(fields: &[(String, Read)]) -> Option<&'static str> {
    let class = fields.iter().find_map(|(name, value)| match value {
        Read::Plain(Json::String(class)) if name == "class" => Some(short_name(class)),
        _ => None,
    })?;
    KEPT.into_iter().find(|(name, _)| *name == class).map(|(_, field)| field)
}

fn pair((name, value): (String, Read)) -> Json {
    Json::Array(vec![name.into(), value.sorted(&[])])
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Read;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> std::result::Result<Read, E> {
                Ok(Read::Plain(Json::Null))
            }

            fn visit_bool<E>(self, bool: bool) -> std::result::Result<Read, E> {
                Ok(Read::Plain(bool.into()))
            }

            fn visit_i64<E>(self, number: i64) -> std::result::Result<Read, E> {
                Ok(Read::Plain(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> std::result::Result<Read, E> {
                Ok(Read::Plain(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> std::result::Result<Read, E> {
                Ok(Read::Plain(number.into()))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Read, E> {
                Ok(Read::Plain(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> std::result::Result<Read, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Read::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut entries: A,
            ) -> std::result::Result<Read, A::Error> {
                let mut fields: Vec<(String, Read)> = Vec::new();
                while let Some(name) = entries.next_key::<String>()? {
                    if name == NUMBER {
                        let digits: String = entries.next_value()?;
                        let number: Number = digits.parse().map_err(A::Error::custom)?;
                        return Ok(Read::Plain(number.into()));
                    }
                    if fields.iter().any(|(own, _)| *own == name) {
                        return Err(A::Error::custom(format_args!("key {name:?} twice")));
                    }
                    fields.push((name, entries.next_value()?));
                }
                Ok(Read::Object(fields))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_keep_their_order_and_numbers_their_digits() {
        let text = br#"{"b": [1, 9007199254740993, 1.50, null, true], "a": {"fields": {"z": "1", "a": "2"}}}"#;
        let read = read_operation(text).unwrap();
        assert_eq!(read["a"]["fields"], json!([["z", "1"], ["a", "2"]]));
        assert_eq!(read["b"].to_string(), "[1,9007199254740993,1.50,null,true]");
        let text = br#"[{"class": "x.AddNamedView", "view": {"b": [1.50, {"z": null, "a": "\""}]}}, {"class": "x", "view": {}}]"#;
        let read = read_operation(text).unwrap();
        assert_eq!(read[0]["view"], json!(r#"{"b":[1.50,{"z":null,"a":"\""}]}"#));
        assert_eq!(read[1]["view"], json!({}), "others are read");
        assert!(read_operation(br#"{"a": 1, "a": 2}"#).is_err());
        assert!(read_operation(b"{").is_err());
    }
}
