//! JSON from text, strictly: an object that has a key twice is refused. And JSON whose order matters in one place,
//! the columns of a table: our objects are sorted by key, so while operations are read, the objects under `fields`
//! and `constants` become lists of pairs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, Result};

/// What serde_json calls a number whose digits it keeps.
pub(super) const NUMBER: &str = "$serde_json::private::Number";
const ORDERED: [&str; 2] = ["fields", "constants"];

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
                let field = |(name, value): (String, Self)| match value {
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
        assert!(read_operation(br#"{"a": 1, "a": 2}"#).is_err());
        assert!(read_operation(b"{").is_err());
    }
}
