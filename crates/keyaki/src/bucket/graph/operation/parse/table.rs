//! Operations that make rows of elements.

use serde_json::Value as Json;

use super::super::{CsvStyle, Operation, Table};
use super::generate::{NEO4J, NEPTUNE};
use super::{Parser, Spec};
use crate::bucket::graph::value::Class;
use crate::error::Result;

impl Parser<'_> {
    pub(super) fn to_csv(&self, spec: &Spec<'_>) -> Result<Operation> {
        let generator = spec.get("csvGenerator").or_else(|| spec.get("elementGenerator"));
        let generator = generator.ok_or_else(|| {
            spec.wrong("ToCsv operation requires a generator", "elementGenerator")
        })?;
        let generator = Spec::or_class(generator, "CsvGenerator")?;
        let mut table = table(&generator)?;
        match generator.short() {
            "CsvGenerator" => {
                if generator.flag("includeSchemaProperties")?.unwrap_or(false) {
                    self.add_properties(&mut table, |name, _| name.into());
                }
            }
            "Neo4jCsvGenerator" => self.as_graph_table(&mut table, NEO4J),
            "NeptuneCsvGenerator" => self.as_graph_table(&mut table, NEPTUNE),
            _ => return Err(generator.unknown("generator")),
        }
        let style = CsvStyle {
            header: spec.flag("includeHeader")?.unwrap_or(true),
            quoted: generator.flag("quoted")?.unwrap_or(false),
            comma: match generator.get("commaReplacement") {
                Some(_) => generator.text("commaReplacement")?.map(Into::into),
                None => Some(" ".into()),
            },
        };
        Ok(Operation::ToCsv(table, style))
    }

    pub(super) fn to_map(&self, spec: &Spec<'_>) -> Result<Operation> {
        let generator = Spec::or_class(spec.need("elementGenerator")?, "MapGenerator")?;
        if generator.short() != "MapGenerator" {
            return Err(generator.unknown("generator"));
        }
        Ok(Operation::ToMap(table(&generator)?))
    }

    /// The columns of ends and groups, and all properties with their types.
    fn as_graph_table(&self, table: &mut Table, headings: [&str; 5]) {
        let names = ["VERTEX", "ENTITY_GROUP", "EDGE_GROUP", "SOURCE", "DESTINATION"];
        let fields = names.into_iter().zip(headings);
        table.fields = fields.map(|(name, heading)| (name.into(), heading.into())).collect();
        self.add_properties(table, |name, class| format!("{name}:{}", cypher_type(class)).into());
    }

    fn add_properties(&self, table: &mut Table, heading: impl Fn(&str, Class) -> Box<str>) {
        for group in self.schema.groups() {
            let directed = group.shape().is_edge.then(|| (Box::from("DIRECTED"), Class::Boolean));
            let own = group.shape().names.iter().cloned().zip(group.classes().iter().copied());
            for (name, class) in own.chain(directed) {
                if !table.fields.iter().any(|(own, _)| *own == name) {
                    let heading = heading(&name, class);
                    table.fields.push((name, heading));
                }
            }
        }
    }
}

/// What Neo4j calls a class.
fn cypher_type(class: Class) -> &'static str {
    match class {
        Class::Integer => "Int",
        Class::Date => "Date",
        Class::Short => "Short",
        Class::Byte => "Byte",
        Class::Long => "Long",
        Class::Double => "Double",
        Class::Float => "Float",
        Class::Boolean => "Boolean",
        _ => "String",
    }
}

/// Columns are an object, or a list of pairs where their order was kept (see `json`).
fn table(generator: &Spec<'_>) -> Result<Table> {
    let pairs = |name| -> Result<Vec<(Box<str>, Box<str>)>> {
        let wrong = || generator.wrong("names and headings are wanted", name);
        let text = |key: &str, value: &Json| {
            let value = value.as_str().ok_or_else(wrong)?;
            Ok((key.into(), value.into()))
        };
        match generator.get(name) {
            None => Ok(Vec::new()),
            Some(Json::Object(fields)) => fields.iter().map(|(k, v)| text(k, v)).collect(),
            Some(Json::Array(list)) => {
                let pair = |pair: &Json| {
                    let key = pair.get(0).and_then(Json::as_str).ok_or_else(wrong)?;
                    text(key, pair.get(1).ok_or_else(wrong)?)
                };
                list.iter().map(pair).collect()
            }
            Some(_) => Err(wrong()),
        }
    };
    Ok(Table { fields: pairs("fields")?, constants: pairs("constants")? })
}
