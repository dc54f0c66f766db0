//! Makes elements of other things, and keeps sets as long as a chain lasts.

use serde_json::json;

use super::super::{ElementGenerator, GraphTable, SetExport};
use super::{Executor, Output, Ready, collect};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::json::read_json;
use crate::bucket::graph::koryphe::{Definition, Function, date, wrong_class};
use crate::bucket::graph::value::{Class, Map, MapKind, Value};
use crate::error::{Error, Result};

impl Executor {
    pub(super) async fn generate(&self, how: &ElementGenerator, input: Output) -> Result<Output> {
        let input = collect(input.needed()?.into_values()?, &self.budget).await?;
        let elements = match how {
            ElementGenerator::Json => input.iter().map(from_json).collect::<Result<Vec<_>>>()?,
            ElementGenerator::Table(table) => table.elements(&input)?,
            ElementGenerator::Function(function) => {
                let made = function.apply_one(Value::list(input), self.budget.now_ms())?;
                return Ok(Output::Elements(Output::of(made).into_elements()?));
            }
        };
        self.budget.holding(elements.len() as u64)?;
        Ok(Output::Elements(Box::new(Ready::new(elements))))
    }

    /// Adds to a set, and gives on what was added.
    pub(super) async fn export(&self, key: &str, input: Output) -> Result<Output> {
        let value = input.into_value(&self.budget).await?;
        let mut exports = self.exports();
        let set = exports.entry(key.into()).or_default();
        match value.items() {
            Some(items) => items.iter().cloned().for_each(|item| set.insert(item)),
            None if value.is_null() => {}
            None => set.insert(value.clone()),
        }
        let held = set.len() as u64;
        drop(exports);
        self.budget.holding(held)?;
        Ok(Output::of(value))
    }

    pub(super) fn exported(&self, export: &SetExport) -> Vec<Value> {
        let (start, end) = export.range;
        let exports = self.exports();
        let items = exports.get(&export.key).into_iter().flat_map(|exported| &exported.items);
        let wanted = end.map_or(usize::MAX, |end| end.saturating_sub(start));
        items.skip(start).take(wanted).cloned().collect()
    }

    pub(super) fn all_exported(&self, exports: &[(Box<str>, SetExport)]) -> Output {
        let mut all = Map::new(MapKind::Linked);
        for (class, export) in exports {
            let key = format!("{class}: {}", export.key);
            all.insert(key.into(), Value::list(self.exported(export)));
        }
        Output::Value(Value::Map(Box::new(all)))
    }
}

/// What Gaffer says of a chain that was looked at.
pub(super) fn validation(wrong: Option<&str>) -> Output {
    let errors: Vec<&str> = wrong.into_iter().collect();
    let text = format!("Validation errors: \n{}", errors.join("\n"));
    Output::Json(json!({"valid": errors.is_empty(), "errors": errors, "errorString": text}))
}

fn from_json(value: &Value) -> Result<Element> {
    match value {
        Value::String(text) => Element::from_json(&read_json(text.as_str().as_bytes())?),
        other => Err(wrong_class("JSON of an element", other)),
    }
}

impl GraphTable {
    fn elements(&self, lines: &[Value]) -> Result<Vec<Element>> {
        let Some(first) = lines.first() else { return Ok(Vec::new()) };
        let Value::String(header) = first else { return Err(wrong_class("a header", first)) };
        let names = self.csv.record(header.as_str())?;
        let mut csv = self.csv.clone();
        csv.header = names.iter().map(|name| name.as_str().into()).collect();
        let [vertex, labels, kind, source, destination] = self.columns;
        let others = names.iter().filter(|name| !self.columns.contains(&name.as_str()));
        let properties: Vec<(String, &String)> =
            others.map(|name| (property(name), name)).collect();
        let own = properties.iter().map(|(name, column)| (name.as_str(), column.as_str()));
        let entity: Vec<_> = [("VERTEX", vertex)].into_iter().chain(own.clone()).collect();
        let ends = [("SOURCE", source), ("DESTINATION", destination), ("edge-id", vertex)];
        let edge: Vec<_> = ends.into_iter().chain(own).collect();
        let kinds = [Definition::mapped(labels, &entity), Definition::mapped(kind, &edge)];
        let Value::List(rows) = csv.maps(&Value::list(lines.to_vec()))? else {
            return Ok(Vec::new());
        };
        let mut elements = Vec::new();
        for row in rows.items {
            let row = typed(row, &names)?;
            elements.extend(kinds.iter().filter_map(|kind| kind.element(&row)));
        }
        Ok(elements)
    }
}

/// The name of a property, without what Gaffer does not allow in one.
fn property(column: &str) -> String {
    let name = column.split(':').next().unwrap_or_default().replace('_', "-");
    name.chars().filter(|char| char.is_ascii_alphanumeric() || "|-".contains(*char)).collect()
}

/// A row whose columns are of the types that stand behind their names.
fn typed(mut row: Value, columns: &[String]) -> Result<Value> {
    let Value::Map(map) = &mut row else { return Ok(row) };
    for column in columns {
        let kind = column.split(':').nth(1).unwrap_or_default();
        let class = match kind {
            "Int" | "Short" | "Byte" => Class::Integer,
            "Long" => Class::Long,
            "Double" => Class::Double,
            "Float" => Class::Float,
            "Boolean" => Class::Boolean,
            "DateTime" => Class::Date,
            _ => continue,
        };
        let cell = map.entry(column.as_str().into());
        let text = std::mem::take(cell);
        *cell = match (&text, class) {
            (Value::Null, _) => Value::Null,
            (Value::String(text), Class::Date) => Value::Long(date::parse(text.as_str(), 0)?),
            _ => Function::To(class)
                .apply_one(text, 0)
                .map_err(|error: Error| error.with("at", column))?,
        };
    }
    Ok(row)
}
