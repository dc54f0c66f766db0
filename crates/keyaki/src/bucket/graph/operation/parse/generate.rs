//! Operations that make elements of other things, and other things of elements; and sets that last as long as a chain.

use serde_json::Value as Json;

use super::super::{ElementGenerator, GraphTable, Operation, SetExport};
use super::{Parser, Spec};
use crate::bucket::graph::json::read_operation;
use crate::bucket::graph::koryphe::{Csv, Function};
use crate::bucket::graph::value::short_name;
use crate::error::Result;

/// What exports are called that have no name.
const ALL: &str = "ALL";
/// Vertex, group of entities, group of edges, source, destination.
pub(super) const NEO4J: [&str; 5] = ["_id", "_labels", "_type", "_start", "_end"];
pub(super) const NEPTUNE: [&str; 5] = [":ID", ":LABEL", ":TYPE", ":START_ID", ":END_ID"];

impl Parser<'_> {
    pub(super) fn generate(&self, spec: &Spec<'_>) -> Result<Option<Operation>> {
        Ok(Some(match spec.short() {
            "GenerateElements" => Operation::GenerateElements(generator(spec)?),
            "GenerateObjects" => self.generate_objects(spec)?,
            "ValidateOperationChain" => {
                let chain = match spec.need("operationChain")? {
                    Json::String(text) => read_operation(text.as_bytes())?,
                    json => json.clone(),
                };
                let wrong = self.step(&chain).err().map(|error| error.to_string().into());
                Operation::ValidateChain(wrong)
            }
            "GetGraphCreatedTime" => Operation::GetGraphCreatedTime,
            "ExportToSet" => Operation::ExportToSet(key(spec)?),
            "GetSetExport" => Operation::GetSetExport(export(spec)?),
            "GetExports" => {
                let list = spec.list("getExports")?.unwrap_or_default();
                let exports = list.iter().map(|json| {
                    let spec = Spec::new(json)?;
                    match spec.short() {
                        "GetSetExport" => Ok((spec.class.into(), export(&spec)?)),
                        _ => Err(spec.unknown("export")),
                    }
                });
                Operation::GetExports(exports.collect::<Result<_>>()?)
            }
            _ => return Ok(None),
        }))
    }

    /// As rows without a header.
    fn generate_objects(&self, spec: &Spec<'_>) -> Result<Operation> {
        let json = spec.need("elementGenerator")?;
        match short_name(Spec::new(json)?.class) {
            "CsvGenerator" | "Neo4jCsvGenerator" | "NeptuneCsvGenerator" => {
                let mut operation = self.to_csv(spec)?;
                if let Operation::ToCsv(_, style) = &mut operation {
                    style.header = false;
                }
                Ok(operation)
            }
            "MapGenerator" => self.to_map(spec),
            _ => Ok(Operation::Map(vec![Function::from_json(json)?])),
        }
    }
}

fn generator(spec: &Spec<'_>) -> Result<ElementGenerator> {
    let json = spec.need("elementGenerator")?;
    let inner = Spec::new(json)?;
    let table = |columns| {
        let mut csv = Csv::from_spec(&inner)?;
        csv.first_row = inner.integer("firstRow")?.unwrap_or(1).max(0) as usize;
        csv.null.get_or_insert_default();
        Ok(ElementGenerator::Table(Box::new(GraphTable { csv, columns })))
    };
    match inner.short() {
        "JsonToElementGenerator" => Ok(ElementGenerator::Json),
        "Neo4jCsvElementGenerator" => table(NEO4J),
        "NeptuneCsvElementGenerator" => table(NEPTUNE),
        _ => Ok(ElementGenerator::Function(Box::new(Function::from_json(json)?))),
    }
}

fn key(spec: &Spec<'_>) -> Result<Box<str>> {
    Ok(spec.text("key")?.unwrap_or(ALL).into())
}

fn export(spec: &Spec<'_>) -> Result<SetExport> {
    let place =
        |name| Ok::<_, crate::error::Error>(spec.integer(name)?.map(|at| at.max(0) as usize));
    Ok(SetExport { key: key(spec)?, range: (place("start")?.unwrap_or(0), place("end")?) })
}
