//! Lines of CSV as maps, by the names of their columns.

use super::super::{Spec, wrong_class};
use crate::bucket::graph::value::{Map, MapKind, Value};
use crate::error::{Error, Result};

/// How lines are read.
#[derive(Debug, Clone)]
pub struct Csv {
    /// The names of the columns.
    pub header: Vec<Box<str>>,
    /// How many lines come before the first that counts.
    pub first_row: usize,
    /// What stands between fields.
    pub delimiter: char,
    /// What stands around fields that have it in them.
    pub quote: char,
    /// Whether spaces around fields are left out.
    pub trim: bool,
    /// What a field says that says nothing.
    pub null: Option<Box<str>>,
}

impl Csv {
    pub(in crate::bucket::graph) fn from_spec(spec: &Spec<'_>) -> Result<Self> {
        let char = |name, default: char| {
            let mut chars = spec.text(name)?.unwrap_or_default().chars();
            match (chars.next(), chars.next()) {
                (None, _) => Ok(default),
                (Some(char), None) => Ok(char),
                _ => Err(spec.wrong("one character is wanted", name)),
            }
        };
        Ok(Self {
            header: spec.texts("header")?.into_iter().map(Into::into).collect(),
            first_row: spec.integer("firstRow")?.unwrap_or(0).max(0) as usize,
            delimiter: char("delimiter", ',')?,
            quote: char("quoteChar", '"')?,
            trim: spec.flag("trim")?.unwrap_or(false),
            null: spec.text("nullString")?.map(Into::into),
        })
    }

    /// A map for each line that counts; the lines are strings of their own, or one string.
    pub(in crate::bucket::graph) fn maps(&self, value: &Value) -> Result<Value> {
        if let Value::String(text) = value {
            return self.rows(self.records(text.as_str())?);
        }
        let lines = value.items().ok_or_else(|| wrong_class("lines of CSV", value))?;
        let record = |line: &Value| match line {
            Value::String(text) => self.record(text.as_str()),
            other => Err(wrong_class("a line of CSV", other)),
        };
        self.rows(lines.iter().map(record).collect::<Result<_>>()?)
    }

    fn rows(&self, records: Vec<Vec<String>>) -> Result<Value> {
        let row = |record: Vec<String>| {
            let mut row = Map::new(MapKind::Linked);
            for (name, field) in self.header.iter().zip(record) {
                row.insert((&**name).into(), self.value(field));
            }
            Value::Map(Box::new(row))
        };
        Ok(Value::list(records.into_iter().skip(self.first_row).map(row).collect()))
    }

    fn value(&self, field: String) -> Value {
        let field = if self.trim { field.trim().to_owned() } else { field };
        if self.null.as_deref() == Some(&field[..]) { Value::Null } else { field.into() }
    }

    /// The fields of a line.
    ///
    /// # Errors
    /// `Invalid` if a quoted field does not end.
    pub fn record(&self, line: &str) -> Result<Vec<String>> {
        let mut records = self.records(line)?;
        Ok(if records.is_empty() { Vec::new() } else { records.remove(0) })
    }

    fn records(&self, text: &str) -> Result<Vec<Vec<String>>> {
        let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        let (mut quoted, mut any) = (false, false);
        while let Some(char) = chars.next() {
            any = true;
            match char {
                char if char == self.quote && quoted => match chars.peek() {
                    Some(next) if *next == self.quote => {
                        field.push(char);
                        chars.next();
                    }
                    _ => quoted = false,
                },
                char if quoted => field.push(char),
                char if char == self.quote && field.is_empty() => quoted = true,
                char if char == self.delimiter => record.push(std::mem::take(&mut field)),
                '\r' if chars.peek() == Some(&'\n') => {}
                '\n' => {
                    record.push(std::mem::take(&mut field));
                    records.push(std::mem::take(&mut record));
                    any = false;
                }
                char => field.push(char),
            }
        }
        if quoted {
            return Err(Error::invalid("a quoted field does not end"));
        }
        if any {
            record.push(field);
            records.push(record);
        }
        Ok(records)
    }
}
