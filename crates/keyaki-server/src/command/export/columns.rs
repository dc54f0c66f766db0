//! Values as Parquet's columns have them. A column is one leaf, or two where it is a map; a leaf holds what is there, and
//! by levels where nothing is:
//!
//! | column | level 0 | 1 | 2 | 3 |
//! |---|---|---|---|---|
//! | one value | nothing | a value | | |
//! | list | nothing | an empty list | nothing in a list | an item |
//! | map's keys | nothing | an empty map | a key | |
//! | map's values | nothing | an empty map | nothing for a key | a value |
//!
//! What Parquet has no type for is the text of its JSON.

use std::sync::Arc;

use keyaki::bucket::graph::value::{Class, Value};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{Type, TypePtr};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    /// A whole number of so many bits, up to 32.
    Small(i8),
    Long,
    Float,
    Double,
    Time,
    Text,
    Bytes,
    /// Text of JSON.
    Json,
    /// A list or a set, of texts: what else may be in one, no schema tells.
    List,
    /// A map of texts.
    Map,
    /// A map of whole numbers.
    Counts,
}

/// Whether a column may lack values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Always,
    Perhaps,
}

/// A column and what is in it so far.
pub struct Column {
    name: String,
    kind: Kind,
    presence: Presence,
    leaves: Vec<Leaf>,
}

/// Values of one type, with their levels.
pub struct Leaf {
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

enum Values {
    Booleans(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl Kind {
    /// That of a class.
    pub fn of(class: Class) -> Self {
        match class {
            Class::Boolean => Self::Boolean,
            Class::Byte => Self::Small(8),
            Class::Short => Self::Small(16),
            Class::Integer => Self::Small(32),
            Class::Long => Self::Long,
            Class::Float => Self::Float,
            Class::Double => Self::Double,
            Class::Date => Self::Time,
            Class::String => Self::Text,
            Class::Bytes => Self::Bytes,
            Class::Collection
            | Class::List
            | Class::ArrayList
            | Class::Array
            | Class::Set
            | Class::TreeSet
            | Class::HashSet
            | Class::LinkedHashSet => Self::List,
            Class::Map | Class::TreeMap | Class::HashMap | Class::LinkedHashMap => Self::Map,
            Class::FreqMap => Self::Counts,
            _ => Self::Json,
        }
    }

    fn values(self) -> Values {
        match self {
            Self::Boolean => Values::Booleans(Vec::new()),
            Self::Small(_) => Values::Ints(Vec::new()),
            Self::Long | Self::Time => Values::Longs(Vec::new()),
            Self::Float => Values::Floats(Vec::new()),
            Self::Double => Values::Doubles(Vec::new()),
            _ => Values::Bytes(Vec::new()),
        }
    }

    /// The type of one value.
    fn describe(self, name: &str, repetition: Repetition) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Self::Boolean => (Physical::BOOLEAN, None),
            Self::Small(32) => (Physical::INT32, None),
            Self::Small(bits) => (Physical::INT32, Some(LogicalType::integer(bits, true))),
            Self::Long => (Physical::INT64, None),
            Self::Float => (Physical::FLOAT, None),
            Self::Double => (Physical::DOUBLE, None),
            Self::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
            Self::Bytes => (Physical::BYTE_ARRAY, None),
            _ => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let primitive = Type::primitive_type_builder(name, physical);
        primitive.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    }
}

impl Column {
    pub fn new(name: &str, kind: Kind, presence: Presence) -> Self {
        let leaves = match kind {
            Kind::Map => vec![Leaf::of(Kind::Text), Leaf::of(Kind::Text)],
            Kind::Counts => vec![Leaf::of(Kind::Text), Leaf::of(Kind::Long)],
            Kind::List => vec![Leaf::of(Kind::Text)],
            one => vec![Leaf::of(one)],
        };
        Self { name: name.to_owned(), kind, presence, leaves }
    }

    /// As the file's schema has it.
    pub fn describe(&self) -> Result<TypePtr, ParquetError> {
        let (outer, inner, fields) = match self.kind {
            Kind::List => {
                let item = Kind::Text.describe("element", Repetition::OPTIONAL)?;
                (LogicalType::List, "list", vec![item])
            }
            Kind::Map | Kind::Counts => {
                let of = if self.kind == Kind::Map { Kind::Text } else { Kind::Long };
                let key = Kind::Text.describe("key", Repetition::REQUIRED)?;
                let value = of.describe("value", Repetition::OPTIONAL)?;
                (LogicalType::Map, "key_value", vec![key, value])
            }
            one => return one.describe(&self.name, self.repetition()),
        };
        let inner = Type::group_type_builder(inner).with_repetition(Repetition::REPEATED);
        let inner = Arc::new(inner.with_fields(fields).build()?);
        let outer = Type::group_type_builder(&self.name).with_logical_type(Some(outer));
        outer.with_repetition(Repetition::OPTIONAL).with_fields(vec![inner]).build().map(Arc::new)
    }

    fn repetition(&self) -> Repetition {
        match self.presence {
            Presence::Always => Repetition::REQUIRED,
            Presence::Perhaps => Repetition::OPTIONAL,
        }
    }

    /// Adds a row.
    pub fn push(&mut self, value: &Value) -> Result<(), ParquetError> {
        match (self.kind, value, &mut self.leaves[..]) {
            (Kind::List, value, [items]) => push_list(value, items),
            (Kind::Map | Kind::Counts, value, [keys, values]) => push_map(value, keys, values),
            (kind, value, [leaf]) => {
                let there = !value.is_null();
                if self.presence == Presence::Perhaps {
                    leaf.definitions.push(there.into());
                }
                match there {
                    true => leaf.values.push(value, kind),
                    false if self.presence == Presence::Perhaps => Ok(()),
                    false => Err(strange(value)),
                }
            }
            _ => Err(strange(value)),
        }
        .map_err(|error| ParquetError::General(format!("column {}: {error}", self.name)))
    }

    /// Its leaves, in the order of the file's.
    pub fn leaves(&mut self) -> impl Iterator<Item = &mut Leaf> {
        self.leaves.iter_mut()
    }
}

fn push_list(value: &Value, leaf: &mut Leaf) -> Result<(), ParquetError> {
    if value.is_null() {
        leaf.level(0, 0);
        return Ok(());
    }
    let items = value.items().ok_or_else(|| strange(value))?;
    if items.is_empty() {
        leaf.level(1, 0);
    }
    for (place, item) in items.iter().enumerate() {
        leaf.level(if item.is_null() { 2 } else { 3 }, (place > 0).into());
        if !item.is_null() {
            leaf.values.push(&text_of(item), Kind::Text)?;
        }
    }
    Ok(())
}

fn push_map(value: &Value, keys: &mut Leaf, values: &mut Leaf) -> Result<(), ParquetError> {
    let entries: Vec<(Value, Value)> = match value {
        Value::Null => {
            keys.level(0, 0);
            values.level(0, 0);
            return Ok(());
        }
        Value::FreqMap(map) => {
            map.iter().map(|(key, count)| (key.as_str().into(), (*count).into())).collect()
        }
        Value::Map(map) => {
            map.entries().iter().map(|(key, value)| (text_of(key), text_of(value))).collect()
        }
        other => return Err(strange(other)),
    };
    if entries.is_empty() {
        keys.level(1, 0);
        values.level(1, 0);
    }
    for (place, (key, value)) in entries.iter().enumerate() {
        keys.level(2, (place > 0).into());
        keys.values.push(key, Kind::Text)?;
        values.level(if value.is_null() { 2 } else { 3 }, (place > 0).into());
        if !value.is_null() {
            let kind = if value.as_integer().is_some() { Kind::Long } else { Kind::Text };
            values.values.push(value, kind)?;
        }
    }
    Ok(())
}

/// Strings as they are, nothing as nothing, all else as its JSON.
fn text_of(value: &Value) -> Value {
    match value {
        Value::Null | Value::String(_) => value.clone(),
        other => {
            let mut text = Vec::new();
            other.write_plain(&mut text);
            String::from_utf8_lossy(&text).into_owned().into()
        }
    }
}

fn strange(value: &Value) -> ParquetError {
    ParquetError::General(format!("a value is not of its class: {value}"))
}

impl Leaf {
    fn of(kind: Kind) -> Self {
        Self { values: kind.values(), definitions: Vec::new(), repetitions: Vec::new() }
    }

    fn level(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }

    /// Writes all of it, and is empty then.
    pub fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = (take(&mut self.definitions), take(&mut self.repetitions));
        match &mut self.values {
            Values::Booleans(values) => write::<BoolType>(writer, values, levels),
            Values::Ints(values) => write::<Int32Type>(writer, values, levels),
            Values::Longs(values) => write::<Int64Type>(writer, values, levels),
            Values::Floats(values) => write::<FloatType>(writer, values, levels),
            Values::Doubles(values) => write::<DoubleType>(writer, values, levels),
            Values::Bytes(values) => write::<ByteArrayType>(writer, values, levels),
        }
    }
}

/// No levels at all where there can be but one.
fn take(levels: &mut Vec<i16>) -> Option<Vec<i16>> {
    (!levels.is_empty()).then(|| std::mem::take(levels))
}

fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    (definitions, repetitions): (Option<Vec<i16>>, Option<Vec<i16>>),
) -> Result<(), ParquetError> {
    let writer = writer.typed::<T>();
    writer.write_batch(values, definitions.as_deref(), repetitions.as_deref())?;
    values.clear();
    Ok(())
}

impl Values {
    fn push(&mut self, value: &Value, kind: Kind) -> Result<(), ParquetError> {
        match (self, value) {
            (Self::Booleans(values), Value::Boolean(one)) => values.push(*one),
            (Self::Ints(values), Value::Byte(one)) => values.push((*one).into()),
            (Self::Ints(values), Value::Short(one)) => values.push((*one).into()),
            (Self::Ints(values), Value::Integer(one)) => values.push(*one),
            (Self::Longs(values), Value::Long(one) | Value::Date(one)) => values.push(*one),
            (Self::Floats(values), Value::Float(one)) => values.push(*one),
            (Self::Doubles(values), Value::Double(one)) => values.push(*one),
            (Self::Bytes(values), Value::Bytes(one)) if kind == Kind::Bytes => {
                values.push(one.to_vec().into());
            }
            (Self::Bytes(values), Value::String(one)) if kind == Kind::Text => {
                values.push(one.as_str().into());
            }
            (Self::Bytes(values), other) if kind == Kind::Json => {
                let mut text = Vec::new();
                other.write_typed(&mut text);
                values.push(text.into());
            }
            (_, other) => return Err(strange(other)),
        }
        Ok(())
    }
}
