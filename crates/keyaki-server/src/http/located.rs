//! JSON turned into what it should be, with an eye on where that fails: a problem names the place as a pointer (RFC
//! 6901), `/acl/read/0`.
//!
//! Inside of what is told by its `type`, the place is that of the whole: such forms are read twice. No list is taken for
//! an object whose members are known by their order.

use std::cell::RefCell;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// The member that all such enums of ours are told by.
const TAG: &str = "type";

/// What is wrong, and where.
#[derive(Debug)]
pub struct Misplaced {
    pub at: String,
    pub why: Error,
}

/// Reads something that stands at `at` in its document, which is empty for the whole.
pub fn read<T: DeserializeOwned>(value: Value, at: &str) -> Result<T, Misplaced> {
    let place = RefCell::new(None);
    let located = Located { value, at: at.to_owned(), place: &place };
    T::deserialize(located).map_err(|why| {
        let at = place.take().unwrap_or_else(|| at.to_owned());
        Misplaced { at: if at.is_empty() { "/".to_owned() } else { at }, why }
    })
}

/// A value, and its place.
struct Located<'p> {
    value: Value,
    at: String,
    /// Where it failed: the first who notices is the deepest.
    place: &'p RefCell<Option<String>>,
}

fn note<T>(place: &RefCell<Option<String>>, at: &str, read: Result<T, Error>) -> Result<T, Error> {
    if read.is_err() {
        place.borrow_mut().get_or_insert_with(|| at.to_owned());
    }
    read
}

/// Whether an enum is read that is told by a member: serde would take the first of a list for it, and has no other word.
fn is_told_by_tag(expected: &dyn Expected) -> bool {
    expected.to_string().starts_with("internally tagged enum")
}

/// Whether it is told by something that is no name: serde would take a number for the place in a list of ours.
fn has_strange_tag(members: &Map<String, Value>) -> bool {
    members.get(TAG).is_some_and(|tag| !tag.is_string())
}

fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

impl<'de> Deserializer<'de> for Located<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { value, at, place } = self;
        let read = match value {
            Value::Array(_) if is_told_by_tag(&visitor) => {
                Err(Error::invalid_type(Unexpected::Seq, &visitor))
            }
            Value::Object(members) if is_told_by_tag(&visitor) && has_strange_tag(&members) => {
                let misplaced = Err(Error::custom("the type must be text"));
                return note(place, &below(&at, TAG), misplaced);
            }
            Value::Array(items) => {
                visitor.visit_seq(Items { items: items.into_iter(), next: 0, at: &at, place })
            }
            Value::Object(members) => visitor.visit_map(Members::new(members, &at, place)),
            alone => alone.deserialize_any(visitor),
        };
        note(place, &at, read)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// From an object alone.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(_) => {
                note(self.place, &self.at, Err(Error::invalid_type(Unexpected::Seq, &visitor)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let read = self.value.deserialize_enum(name, variants, visitor);
        note(self.place, &self.at, read)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'p> {
    items: std::vec::IntoIter<Value>,
    next: usize,
    at: &'p str,
    place: &'p RefCell<Option<String>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let at = format!("{}/{}", self.at, self.next);
        self.next += 1;
        let located = Located { value, at: at.clone(), place: self.place };
        note(self.place, &at, seed.deserialize(located)).map(Some)
    }
}

struct Members<'p> {
    members: serde_json::map::IntoIter,
    /// The value whose key was read, and where it is.
    value: Option<(Value, String)>,
    at: &'p str,
    place: &'p RefCell<Option<String>>,
}

impl<'p> Members<'p> {
    fn new(members: Map<String, Value>, at: &'p str, place: &'p RefCell<Option<String>>) -> Self {
        Self { members: members.into_iter(), value: None, at, place }
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        let at = below(self.at, &name);
        let key: StringDeserializer<Error> = name.into_deserializer();
        let read = note(self.place, &at, seed.deserialize(key));
        self.value = Some((value, at));
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (value, at) = self.value.take().expect("a value is asked for behind its key");
        let located = Located { value, at: at.clone(), place: self.place };
        note(self.place, &at, seed.deserialize(located))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is there to be read")]
    struct Form {
        name: String,
        #[serde(default)]
        inner: Option<Box<Form>>,
        #[serde(default)]
        list: Vec<Kind>,
        #[serde(default)]
        map: BTreeMap<String, u8>,
        #[serde(default)]
        any: Value,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "type", deny_unknown_fields)]
    #[expect(dead_code, reason = "it is there to be read")]
    enum Kind {
        A { x: u64 },
    }

    #[test]
    fn the_place_is_named() {
        for (form, place) in [
            (json!({}), "/"),
            (json!({"name": 5}), "/name"),
            (json!({"name": "n", "nmae": 5}), "/nmae"),
            (json!({"name": "n", "a/b~": 5}), "/a~1b~0"),
            (json!({"name": "n", "inner": {"name": null}}), "/inner/name"),
            (json!({"name": "n", "inner": {}}), "/inner"),
            (json!({"name": "n", "inner": ["m"]}), "/inner"),
            (json!({"name": "n", "list": [{"type": "A", "x": 1}, {"type": "B"}]}), "/list/1/type"),
            (json!({"name": "n", "list": [{"type": "A", "y": 1}]}), "/list/0"),
            (json!({"name": "n", "list": [["A", 1]]}), "/list/0"),
            (json!({"name": "n", "list": [{"type": 0, "x": 1}]}), "/list/0/type"),
            (json!({"name": "n", "list": 5}), "/list"),
            (json!({"name": "n", "map": {"a": 1, "b": 256}}), "/map/b"),
        ] {
            assert_eq!(read::<Form>(form.clone(), "").unwrap_err().at, place, "{form}");
        }
        assert_eq!(read::<Form>(json!({"name": 5}), "/options").unwrap_err().at, "/options/name");
    }

    #[test]
    fn what_is_right_is_read_whole() {
        let any: Value =
            serde_json::from_str("[1.50, {\"a\": [null, 123456789012345678901]}]").unwrap();
        let form =
            json!({"name": "n", "map": {"a": 1}, "any": any, "list": [{"type": "A", "x": 7}]});
        let read = read::<Form>(form, "").unwrap();
        assert_eq!((read.name.as_str(), read.map["a"], read.list.len()), ("n", 1, 1));
        assert_eq!(read.any.to_string(), "[1.50,{\"a\":[null,123456789012345678901]}]");
    }
}
