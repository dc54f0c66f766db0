//! JSON bodies, read strictly: a key that is there twice is refused, so that no two readers can see different
//! things, depth is bounded, and numbers keep all their digits.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::located;
use super::problem::{self, Problem};

/// Reads a body as what it should be.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let malformed = |bad: serde_json::Error| {
        Problem::bad_request(&format!("the body is not JSON: {bad}"))
            .with("at", &format!("line {} column {}", bad.line(), bad.column()))
    };
    // Duplicates are looked for in a pass of its own: numbers pass through maps, which hides them.
    let mut reader = serde_json::Deserializer::from_slice(body);
    Unique.deserialize(&mut reader).map_err(malformed)?;
    reader.end().map_err(malformed)?;
    let value: Value = serde_json::from_slice(body).map_err(malformed)?;
    if !value.is_object() {
        return Err(Problem::new(&problem::INVALID, "the body is no JSON object").with("at", "/"));
    }
    form(value, "")
}

/// Reads what stands at a place of a body as what it should be.
pub fn form<T: DeserializeOwned>(value: Value, at: &str) -> Result<T, Problem> {
    located::read(value, at)
        .map_err(|bad| Problem::new(&problem::INVALID, bad.why.to_string()).with("at", &bad.at))
}

/// Reads anything, and fails at a key that is there twice.
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = std::collections::HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(Self)?;
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            keys.insert(key);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_depth_and_tails_are_refused() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for bad in
            [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"a":1}}]"#, "{} {}", "{", "", "\u{feff}{}", &deep]
        {
            assert!(read::<Value>(bad.as_bytes()).is_err(), "{bad}");
        }
        let large: Value = read(b"{\"a\":12345678901234567890123.5}").unwrap_or_default();
        assert_eq!(large.to_string(), "{\"a\":12345678901234567890123.5}");
    }
}
