//! Values packed into the value of a cell.
//!
//! | class             | bytes                                                             |
//! |-------------------|-------------------------------------------------------------------|
//! | Boolean           | 00 or 01                                                          |
//! | Byte              | 1 byte                                                            |
//! | Short, Integer, Long, Date | zigzag varint                                            |
//! | Float, Double     | 4 or 8 bytes of IEEE 754, big endian                              |
//! | String, byte[]    | varint length, bytes                                              |
//! | lists and sets    | varint count, then each item tagged                               |
//! | maps              | varint count, then each key and value tagged                      |
//! | FreqMap           | varint count, then string and zigzag varint each                  |
//! | HyperLogLogPlus   | varint length, then see `hll`                                     |
//! | other sketches    | varint length, then Apache's bytes; see `sketch`                  |
//! | TypeValue, TypeSubTypeValue | two or three strings                                    |
//!
//! Where the schema gives one exact class, that is all. Elsewhere, in collections too, a value is *tagged*: one
//! byte for its class goes first (the numbers in `TAGS`), 00 for nothing. Varints are LEB128.

use super::{
    Class, FreqMap, HyperLogLog, ListKind, Map, MapKind, Set, SetKind, Sketch, Text, Value,
};
use crate::error::{Error, Result};

/// Tags are persisted: new ones go to the end.
const TAGS: [(u8, Class); 29] = [
    (1, Class::Boolean),
    (2, Class::Byte),
    (3, Class::Short),
    (4, Class::Integer),
    (5, Class::Long),
    (6, Class::Float),
    (7, Class::Double),
    (8, Class::Date),
    (9, Class::String),
    (10, Class::Bytes),
    (11, Class::ArrayList),
    (12, Class::Array),
    (13, Class::TreeSet),
    (14, Class::HashSet),
    (15, Class::LinkedHashSet),
    (16, Class::TreeMap),
    (17, Class::HashMap),
    (18, Class::LinkedHashMap),
    (19, Class::FreqMap),
    (20, Class::HyperLogLogPlus),
    (21, Class::HllSketch),
    (22, Class::TypeValue),
    (23, Class::TypeSubTypeValue),
    (24, Class::HllUnion),
    (25, Class::ThetaSketch),
    (26, Class::ThetaUnion),
    (27, Class::KllFloatsSketch),
    (28, Class::LongsSketch),
    (29, Class::ItemsSketch),
];

/// The most bytes of a number.
const VARINT_BYTES_MAX: usize = 10;
/// How deep collections may lie in collections.
const DEPTH_MAX: usize = 32;

pub(super) fn tag_of(class: Class) -> Option<u8> {
    TAGS.iter().find(|(_, own)| *own == class).map(|(tag, _)| *tag)
}

pub(super) fn class_of(tag: u8) -> Option<Class> {
    TAGS.get(usize::from(tag).checked_sub(1)?).map(|(_, class)| *class)
}

/// Appends a value whose class the reader will know; tagged if the class is not exact.
///
/// # Errors
/// `Invalid` for what is not of the class, or cannot be stored.
pub fn encode(value: &Value, class: Class, out: &mut Vec<u8>) -> Result<()> {
    if !class.is_exact() {
        return encode_tagged(value, out);
    }
    if value.class() != Some(class) {
        return Err(Error::invalid("a value is not of its class")
            .with("class", class.full_name())
            .with("value", value));
    }
    encode_content(value, out)
}

/// Appends a value that says its class.
///
/// # Errors
/// `Invalid` for what cannot be stored.
pub fn encode_tagged(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value.class() {
        None => out.push(0),
        Some(class) => {
            let not_stored = || Error::invalid("a value of this class can't be stored");
            out.push(tag_of(class).ok_or_else(|| not_stored().with("class", class.full_name()))?);
            encode_content(value, out)?;
        }
    }
    Ok(())
}

fn encode_content(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Boolean(bool) => out.push((*bool).into()),
        Value::Byte(number) => out.push(*number as u8),
        Value::Short(number) => write_zigzag((*number).into(), out),
        Value::Integer(number) => write_zigzag((*number).into(), out),
        Value::Long(number) | Value::Date(number) => write_zigzag(*number, out),
        Value::Float(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::String(text) => write_bytes(text.as_bytes(), out),
        Value::Bytes(bytes) => write_bytes(bytes, out),
        Value::List(list) => return encode_items(&list.items, out),
        Value::Set(set) => return encode_items(set.items(), out),
        Value::Map(map) => {
            write_varint(map.entries().len() as u64, out);
            for (key, value) in map.entries() {
                encode_tagged(key, out)?;
                encode_tagged(value, out)?;
            }
        }
        Value::FreqMap(map) => {
            write_varint(map.len() as u64, out);
            for (key, count) in map.iter() {
                write_bytes(key.as_bytes(), out);
                write_zigzag(*count, out);
            }
        }
        Value::HyperLogLog(sketch) => write_bytes(&sketch.to_bytes(), out),
        Value::Sketch(sketch) => write_bytes(&sketch.to_bytes(), out),
        Value::TypeValue(parts) => parts.iter().for_each(|part| write_bytes(part.as_bytes(), out)),
        Value::TypeSubTypeValue(parts) => {
            parts.iter().for_each(|part| write_bytes(part.as_bytes(), out));
        }
        Value::Null
        | Value::EntityId(_)
        | Value::EdgeId(_)
        | Value::Element(_)
        | Value::Walk(_)
        | Value::Pair(_) => {
            return Err(Error::invalid("a value of this class can't be stored"));
        }
    }
    Ok(())
}

fn encode_items(items: &[Value], out: &mut Vec<u8>) -> Result<()> {
    write_varint(items.len() as u64, out);
    items.iter().try_for_each(|item| encode_tagged(item, out))
}

/// Reads what [`encode`] wrote into a place, and moves `bytes` past it.
///
/// # Errors
/// `Corrupt` if these are not its bytes.
#[inline]
pub fn decode(bytes: &mut &[u8], class: Class, place: &mut Value) -> Result<()> {
    match class {
        // Most are.
        Class::Long => place.set(Value::Long(read_zigzag(bytes)?)),
        class if class.is_exact() => place.set(decode_content(bytes, class, DEPTH_MAX)?),
        _ => place.set(decode_tagged(bytes)?),
    }
    Ok(())
}

/// Reads what [`encode_tagged`] wrote and moves `bytes` past it.
///
/// # Errors
/// `Corrupt` if these are not its bytes.
pub fn decode_tagged(bytes: &mut &[u8]) -> Result<Value> {
    decode_tagged_within(bytes, DEPTH_MAX)
}

fn decode_tagged_within(bytes: &mut &[u8], depth: usize) -> Result<Value> {
    let tag = read_array::<1>(bytes)?[0];
    if tag == 0 {
        return Ok(Value::Null);
    }
    decode_content(bytes, class_of(tag).ok_or_else(damaged)?, depth)
}

fn decode_content(bytes: &mut &[u8], class: Class, depth: usize) -> Result<Value> {
    let depth = depth.checked_sub(1).ok_or_else(damaged)?;
    Ok(match class {
        Class::Boolean => Value::Boolean(read_array::<1>(bytes)?[0] != 0),
        Class::Byte => Value::Byte(read_array::<1>(bytes)?[0] as i8),
        Class::Short => Value::Short(read_zigzag(bytes)?.try_into().map_err(|_| damaged())?),
        Class::Integer => Value::Integer(read_zigzag(bytes)?.try_into().map_err(|_| damaged())?),
        Class::Long => Value::Long(read_zigzag(bytes)?),
        Class::Date => Value::Date(read_zigzag(bytes)?),
        Class::Float => Value::Float(f32::from_be_bytes(read_array(bytes)?)),
        Class::Double => Value::Double(f64::from_be_bytes(read_array(bytes)?)),
        Class::String => Value::String(read_text(bytes)?),
        Class::Bytes => Value::Bytes(read_bytes(bytes)?.into()),
        Class::ArrayList => Value::list(decode_items(bytes, depth)?),
        Class::Array => {
            let items = decode_items(bytes, depth)?;
            Value::listed(ListKind::Array, items)
        }
        Class::TreeSet => decode_set(bytes, SetKind::Tree, depth)?,
        Class::HashSet => decode_set(bytes, SetKind::Hash, depth)?,
        Class::LinkedHashSet => decode_set(bytes, SetKind::Linked, depth)?,
        Class::TreeMap => decode_map(bytes, MapKind::Tree, depth)?,
        Class::HashMap => decode_map(bytes, MapKind::Hash, depth)?,
        Class::LinkedHashMap => decode_map(bytes, MapKind::Linked, depth)?,
        Class::FreqMap => {
            let mut map = FreqMap::new();
            for _ in 0..read_varint(bytes)? {
                map.insert(read_text(bytes)?, read_zigzag(bytes)?);
            }
            Value::FreqMap(Box::new(map))
        }
        Class::HyperLogLogPlus => {
            let sketch = HyperLogLog::from_bytes(read_bytes(bytes)?).ok_or_else(damaged)?;
            Value::HyperLogLog(Box::new(sketch))
        }
        class if class.is_sketch() => {
            let sketch = Sketch::from_bytes(read_bytes(bytes)?, class);
            Value::Sketch(Box::new(sketch.map_err(|error| damaged().because(error))?))
        }
        Class::TypeValue => Value::TypeValue(Box::new([read_text(bytes)?, read_text(bytes)?])),
        Class::TypeSubTypeValue => Value::TypeSubTypeValue(Box::new([
            read_text(bytes)?,
            read_text(bytes)?,
            read_text(bytes)?,
        ])),
        _ => return Err(damaged()),
    })
}

fn decode_items(bytes: &mut &[u8], depth: usize) -> Result<Vec<Value>> {
    let count = read_varint(bytes)?;
    (0..count).map(|_| decode_tagged_within(bytes, depth)).collect()
}

fn decode_set(bytes: &mut &[u8], kind: SetKind, depth: usize) -> Result<Value> {
    Ok(Value::Set(Box::new(Set::of(kind, decode_items(bytes, depth)?))))
}

fn decode_map(bytes: &mut &[u8], kind: MapKind, depth: usize) -> Result<Value> {
    let mut map = Map::new(kind);
    for _ in 0..read_varint(bytes)? {
        map.insert(decode_tagged_within(bytes, depth)?, decode_tagged_within(bytes, depth)?);
    }
    Ok(Value::Map(Box::new(map)))
}

/// Appends a number in LEB128.
pub fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number in LEB128 and moves `bytes` past it.
///
/// # Errors
/// `Corrupt` if it is cut short or too long.
#[inline]
pub fn read_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for (place, byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Ok(number);
        }
    }
    Err(damaged())
}

fn write_zigzag(number: i64, out: &mut Vec<u8>) {
    write_varint(((number << 1) ^ (number >> 63)) as u64, out);
}

#[inline]
fn read_zigzag(bytes: &mut &[u8]) -> Result<i64> {
    let number = read_varint(bytes)?;
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn read_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = usize::try_from(read_varint(bytes)?).map_err(|_| damaged())?;
    let (read, rest) = bytes.split_at_checked(len).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(read)
}

fn read_text(bytes: &mut &[u8]) -> Result<Text> {
    str::from_utf8(read_bytes(bytes)?).map(Text::from).map_err(|_| damaged())
}

#[inline]
fn read_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (read, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    *bytes = rest;
    Ok(*read)
}

#[cold]
fn damaged() -> Error {
    Error::corrupt("the properties of an element can't be read")
}
