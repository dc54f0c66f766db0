//! Values of mixed JSON types as parts of keys, in one order:
//! null < false < true < numbers < strings < arrays.
//!
//! | value           | bytes                                                     |
//! |-----------------|-----------------------------------------------------------|
//! | null            | 10                                                        |
//! | false, true     | 20, 21                                                    |
//! | negative number | 30, then see `number`                                     |
//! | zero            | 31                                                        |
//! | positive number | 32, then see `number`                                     |
//! | string          | 40, `escape(UTF-8)`, 00: the order is that of code points |
//! | array           | 50, its elements, 00: element by element, a prefix first  |
//!
//! Invariant: equal values have equal bytes, other values other bytes, none a prefix of another; the
//! reader takes nothing the writer would not have written. Objects have no order and are refused.
//! Arrays nest at most [`DEPTH_MAX`] deep, by construction, which bounds every recursion here.

use std::borrow::Cow;

use serde_json::Value;

use super::key::{BadKey, END, escape_into};
use super::number::{self, Number};
use super::parts::PartsReader;

/// How deep arrays may lie in arrays: `[]` is 1 deep.
pub const DEPTH_MAX: usize = 128;

const NULL: u8 = 0x10;
const FALSE: u8 = 0x20;
const TRUE: u8 = 0x21;
pub(super) const STRING: u8 = 0x40;
const ARRAY: u8 = 0x50;

/// A value that may be part of a key. It borrows its strings where it can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedValue<'a> {
    /// Before everything else.
    Null,
    /// False before true.
    Bool(bool),
    /// By value: 1 is 1.0.
    Number(Number),
    /// By code points.
    String(Cow<'a, str>),
    /// By elements.
    Array(Array<'a>),
}

/// The elements of an array; it knows its depth, so that no array is deeper than [`DEPTH_MAX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<'a> {
    items: Vec<TypedValue<'a>>,
    depth: usize,
}

/// Why a value cannot be part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKeyable {
    /// What is wrong with it.
    pub reason: &'static str,
}

impl std::fmt::Display for NotKeyable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not usable in a key: {}", self.reason)
    }
}

impl std::error::Error for NotKeyable {}

const TOO_DEEP: NotKeyable = NotKeyable { reason: "arrays are nested more than 128 deep" };

impl<'a> Array<'a> {
    /// Refuses what would be too deep.
    pub fn new(items: Vec<TypedValue<'a>>) -> Result<Self, NotKeyable> {
        let depth = 1 + items.iter().map(TypedValue::depth).max().unwrap_or(0);
        if depth > DEPTH_MAX { Err(TOO_DEEP) } else { Ok(Self { items, depth }) }
    }

    /// The elements, in order.
    #[must_use]
    pub fn items(&self) -> &[TypedValue<'a>] {
        &self.items
    }
}

impl<'a> TypedValue<'a> {
    /// Refuses objects, arrays nested too deep and numbers that [`Number`] does not hold.
    pub fn from_json(json: &'a Value) -> Result<Self, NotKeyable> {
        Self::from_json_within(json, DEPTH_MAX)
    }

    fn from_json_within(json: &'a Value, depth_left: usize) -> Result<Self, NotKeyable> {
        Ok(match json {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => Self::Number(Number::from_json(number)?),
            Value::String(string) => Self::String(Cow::Borrowed(string)),
            Value::Array(items) => {
                let depth_left = depth_left.checked_sub(1).ok_or(TOO_DEEP)?;
                let items = items.iter().map(|item| Self::from_json_within(item, depth_left));
                Self::Array(Array::new(items.collect::<Result<_, _>>()?)?)
            }
            Value::Object(_) => {
                return Err(NotKeyable { reason: "objects have no order" });
            }
        })
    }

    /// Appends the value's bytes to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(NULL),
            Self::Bool(false) => out.push(FALSE),
            Self::Bool(true) => out.push(TRUE),
            Self::Number(number) => number.encode_into(out),
            Self::String(string) => {
                out.push(STRING);
                escape_into(string.as_bytes(), out);
                out.push(END);
            }
            Self::Array(array) => {
                out.push(ARRAY);
                array.items.iter().for_each(|item| item.encode_into(out));
                out.push(END);
            }
        }
    }

    /// Reads one value and leaves the reader behind it.
    pub(super) fn decode(reader: &mut PartsReader<'a>) -> Result<Self, BadKey> {
        Self::decode_within(reader, DEPTH_MAX)
    }

    fn decode_within(reader: &mut PartsReader<'a>, depth_left: usize) -> Result<Self, BadKey> {
        let unknown = reader.bad("no type has this tag");
        let [tag] = *reader.fixed()?;
        Ok(match tag {
            NULL => Self::Null,
            FALSE => Self::Bool(false),
            TRUE => Self::Bool(true),
            number::NEGATIVE | number::ZERO | number::POSITIVE => {
                Self::Number(Number::decode(tag, reader)?)
            }
            STRING => Self::String(decode_string(reader)?),
            ARRAY => Self::Array(decode_array(reader, depth_left)?),
            _ => return Err(unknown),
        })
    }

    fn depth(&self) -> usize {
        if let Self::Array(array) = self { array.depth } else { 0 }
    }
}

fn decode_string<'a>(reader: &mut PartsReader<'a>) -> Result<Cow<'a, str>, BadKey> {
    let not_utf8 = reader.bad("a string is not UTF-8");
    match reader.bytes()? {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| not_utf8),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| not_utf8),
    }
}

fn decode_array<'a>(reader: &mut PartsReader<'a>, depth_left: usize) -> Result<Array<'a>, BadKey> {
    let too_deep = reader.bad(TOO_DEEP.reason);
    let depth_left = depth_left.checked_sub(1).ok_or(too_deep)?;
    let mut items = Vec::new();
    while !reader.skip_if(END) {
        items.push(TypedValue::decode_within(reader, depth_left)?);
    }
    Array::new(items).map_err(|_| too_deep)
}

impl From<bool> for TypedValue<'_> {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<Number> for TypedValue<'_> {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for TypedValue<'a> {
    fn from(string: &'a str) -> Self {
        Self::String(Cow::Borrowed(string))
    }
}
