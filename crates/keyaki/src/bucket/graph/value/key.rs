//! Values as parts of keys: bytes that sort as the values do.
//!
//! | class                       | content                                                  |
//! |-----------------------------|----------------------------------------------------------|
//! | Boolean                     | 00 or 01                                                 |
//! | Byte, Short, Integer, Long, Date | 1, 2, 4 or 8 bytes, big endian, the sign bit flipped |
//! | Float, Double               | 4 or 8 bytes; the sign bit flipped, or all bits if negative |
//! | String                      | UTF-8, so by code points                                 |
//! | byte[]                      | the bytes                                                |
//! | TypeValue, TypeSubTypeValue | `escape(part) 00` each                                   |
//! | lists and sets              | `01 escape(tag, content) 00` for each item               |
//!
//! A *vertex* is that content alone where the schema has one class of vertices, and a tag (see `codec`) before
//! it where it has several; whoever builds a key escapes it and puts an end to it. A *part* of group-by delimits
//! itself: 00 for nothing, else 01, the content (behind a tag where the class is not exact) and, where its length
//! varies, that escaped and closed with 00.

use super::codec::{class_of, tag_of};
use super::{Class, ListKind, Set, SetKind, Text, Value};
use crate::cell::key::{escape_into, unescape};
use crate::error::{Error, Result};

/// What ends an escaped part; see `cell::key`.
const END: u8 = 0x00;

/// How a graph writes its vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VertexEncoding {
    /// All vertices are of one class.
    Plain(Class),
    /// They say their class.
    Tagged,
}

/// Appends a vertex, neither escaped nor ended.
///
/// # Errors
/// `Invalid` if it is not of the class, or no key can hold it.
pub fn encode_vertex(value: &Value, encoding: VertexEncoding, out: &mut Vec<u8>) -> Result<()> {
    match encoding {
        VertexEncoding::Plain(class) if value.class() == Some(class) => encode_content(value, out),
        VertexEncoding::Plain(class) => Err(Error::invalid("a vertex is not of its class")
            .with("class", class.full_name())
            .with("vertex", value)),
        VertexEncoding::Tagged => encode_tagged(value, out),
    }
}

/// Appends a group-by value that delimits itself.
///
/// # Errors
/// `Invalid` if it is not of the class, or no key can hold it.
pub fn encode_part(value: &Value, class: Class, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(0);
        return Ok(());
    }
    if !value.is_a(class) {
        return Err(Error::invalid("a value is not of its class")
            .with("class", class.full_name())
            .with("value", value));
    }
    out.push(1);
    if class.is_exact() && width(class).is_some() {
        return encode_content(value, out);
    }
    if let (true, Value::String(text)) = (class.is_exact(), value) {
        escape_into(text.as_bytes(), out);
    } else {
        let mut content = Vec::new();
        match class.is_exact() {
            true => encode_content(value, &mut content)?,
            false => encode_tagged(value, &mut content)?,
        }
        escape_into(&content, out);
    }
    out.push(END);
    Ok(())
}

/// How many bytes every value of the class has.
#[inline]
fn width(class: Class) -> Option<usize> {
    Some(match class {
        Class::Boolean | Class::Byte => 1,
        Class::Short => 2,
        Class::Integer | Class::Float => 4,
        Class::Long | Class::Date | Class::Double => 8,
        _ => return None,
    })
}

fn encode_tagged(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    out.push(value.class().and_then(tag_of).ok_or_else(not_keyable)?);
    encode_content(value, out)
}

fn encode_content(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Boolean(bool) => out.push((*bool).into()),
        Value::Byte(number) => out.push(*number as u8 ^ 0x80),
        Value::Short(number) => out.extend(((*number as u16) ^ 1 << 15).to_be_bytes()),
        Value::Integer(number) => out.extend(((*number as u32) ^ 1 << 31).to_be_bytes()),
        Value::Long(number) | Value::Date(number) => {
            out.extend(((*number as u64) ^ 1 << 63).to_be_bytes());
        }
        Value::Float(number) => {
            let bits = number.to_bits();
            let flip = if bits >> 31 == 0 { 1 << 31 } else { u32::MAX };
            out.extend((bits ^ flip).to_be_bytes());
        }
        Value::Double(number) => {
            let bits = number.to_bits();
            let flip = if bits >> 63 == 0 { 1 << 63 } else { u64::MAX };
            out.extend((bits ^ flip).to_be_bytes());
        }
        Value::String(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::TypeValue(parts) => encode_texts(parts.as_slice(), out),
        Value::TypeSubTypeValue(parts) => encode_texts(parts.as_slice(), out),
        Value::List(list) => return encode_items(&list.items, out),
        Value::Set(set) => return encode_items(set.items(), out),
        _ => return Err(not_keyable()),
    }
    Ok(())
}

fn encode_texts(texts: &[Text], out: &mut Vec<u8>) {
    for text in texts {
        escape_into(text.as_bytes(), out);
        out.push(END);
    }
}

fn encode_items(items: &[Value], out: &mut Vec<u8>) -> Result<()> {
    let mut content = Vec::new();
    for item in items {
        content.clear();
        encode_tagged(item, &mut content)?;
        out.push(1);
        escape_into(&content, out);
        out.push(END);
    }
    Ok(())
}

/// Reads vertices and parts of keys.
#[derive(Debug, Clone)]
pub struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// All that is left, as a vertex.
    ///
    /// # Errors
    /// `Corrupt` if it is none.
    #[inline]
    pub fn vertex(self, encoding: VertexEncoding) -> Result<Value> {
        let mut vertex = Value::Null;
        self.vertex_into(encoding, &mut vertex)?;
        Ok(vertex)
    }

    /// The same, written where it stays.
    ///
    /// # Errors
    /// `Corrupt` if it is none.
    #[inline]
    pub fn vertex_into(self, encoding: VertexEncoding, place: &mut Value) -> Result<()> {
        match encoding {
            VertexEncoding::Plain(class) => decode_content(self.0, class, place),
            VertexEncoding::Tagged => decode_tagged(self.0, place),
        }
    }

    /// Reads the next part of group-by into an empty place.
    ///
    /// # Errors
    /// `Corrupt` if it is none.
    #[inline]
    pub fn part(&mut self, class: Class, place: &mut Value) -> Result<()> {
        let (there, rest) = self.0.split_first().ok_or_else(damaged)?;
        self.0 = rest;
        if *there == 0 {
            return Ok(());
        }
        if let Some(width) = width(class) {
            let (content, rest) = self.0.split_at_checked(width).ok_or_else(damaged)?;
            self.0 = rest;
            return decode_content(content, class, place);
        }
        let content = self.closed()?;
        match class.is_exact() {
            true => decode_content(&content, class, place),
            false => decode_tagged(&content, place),
        }
    }

    /// Passes over the next part of group-by.
    ///
    /// # Errors
    /// `Corrupt` if it is none.
    pub fn skip(&mut self, class: Class) -> Result<()> {
        let (there, rest) = self.0.split_first().ok_or_else(damaged)?;
        let len = match (there, width(class)) {
            (0, _) => 0,
            (_, Some(width)) => width,
            (_, None) => 1 + rest.iter().position(|byte| *byte == END).ok_or_else(damaged)?,
        };
        self.0 = rest.get(len..).ok_or_else(damaged)?;
        Ok(())
    }

    /// What lies before the next zero byte, unescaped.
    #[inline]
    fn closed(&mut self) -> Result<std::borrow::Cow<'a, [u8]>> {
        let len = self.0.iter().position(|byte| *byte == END).ok_or_else(damaged)?;
        let (content, rest) = self.0.split_at(len);
        self.0 = &rest[1..];
        unescape(content).map_err(|_| damaged())
    }

    /// What has not been read.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

fn decode_tagged(bytes: &[u8], place: &mut Value) -> Result<()> {
    let (tag, content) = bytes.split_first().ok_or_else(damaged)?;
    decode_content(content, class_of(*tag).ok_or_else(damaged)?, place)
}

/// What most keys are made of is read on the spot.
#[inline]
fn decode_content(bytes: &[u8], class: Class, place: &mut Value) -> Result<()> {
    match class {
        Class::Long => {
            let bytes = bytes.try_into().map_err(|_| damaged())?;
            place.set(Value::Long((u64::from_be_bytes(bytes) ^ 1 << 63) as i64));
        }
        Class::String if place.set_text(bytes) => {}
        Class::String => return Err(damaged()),
        other => place.set(decode_other(bytes, other)?),
    }
    Ok(())
}

fn decode_other(bytes: &[u8], class: Class) -> Result<Value> {
    fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| damaged())
    }
    Ok(match class {
        Class::Boolean => Value::Boolean(array::<1>(bytes)?[0] != 0),
        Class::Byte => Value::Byte((array::<1>(bytes)?[0] ^ 0x80) as i8),
        Class::Short => Value::Short((u16::from_be_bytes(array(bytes)?) ^ 1 << 15) as i16),
        Class::Integer => Value::Integer((u32::from_be_bytes(array(bytes)?) ^ 1 << 31) as i32),
        Class::Date => Value::Date((u64::from_be_bytes(array(bytes)?) ^ 1 << 63) as i64),
        Class::Float => {
            let bits = u32::from_be_bytes(array(bytes)?);
            let flip = if bits >> 31 == 1 { 1 << 31 } else { u32::MAX };
            Value::Float(f32::from_bits(bits ^ flip))
        }
        Class::Double => {
            let bits = u64::from_be_bytes(array(bytes)?);
            let flip = if bits >> 63 == 1 { 1 << 63 } else { u64::MAX };
            Value::Double(f64::from_bits(bits ^ flip))
        }
        Class::Bytes => Value::Bytes(bytes.into()),
        Class::TypeValue => Value::TypeValue(Box::new(decode_texts(bytes)?)),
        Class::TypeSubTypeValue => Value::TypeSubTypeValue(Box::new(decode_texts(bytes)?)),
        Class::ArrayList => Value::list(decode_items(bytes)?),
        Class::Array => Value::listed(ListKind::Array, decode_items(bytes)?),
        Class::TreeSet => Value::Set(Box::new(Set::of(SetKind::Tree, decode_items(bytes)?))),
        Class::HashSet => Value::Set(Box::new(Set::of(SetKind::Hash, decode_items(bytes)?))),
        Class::LinkedHashSet => {
            Value::Set(Box::new(Set::of(SetKind::Linked, decode_items(bytes)?)))
        }
        _ => return Err(damaged()),
    })
}

fn decode_texts<const N: usize>(bytes: &[u8]) -> Result<[Text; N]> {
    let mut reader = KeyReader(bytes);
    let mut texts = std::array::from_fn(|_| Text::default());
    for text in &mut texts {
        *text = str::from_utf8(&reader.closed()?).map_err(|_| damaged())?.into();
    }
    Ok(texts)
}

fn decode_items(bytes: &[u8]) -> Result<Vec<Value>> {
    let mut reader = KeyReader(bytes);
    let mut items = Vec::new();
    while let Some(rest) = reader.0.strip_prefix(&[1]) {
        reader.0 = rest;
        let mut item = Value::Null;
        decode_tagged(&reader.closed()?, &mut item)?;
        items.push(item);
    }
    Ok(items)
}

#[cold]
fn damaged() -> Error {
    Error::corrupt("the key of an element can't be read")
}

#[cold]
fn not_keyable() -> Error {
    Error::invalid("a value of this class can't be a vertex or a group-by property")
}
