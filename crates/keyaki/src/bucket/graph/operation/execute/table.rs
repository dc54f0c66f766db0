//! Elements as rows.

use super::super::{CsvStyle, Table};
use super::{Each, Output, Ready, through};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::operation::stream::Chained;
use crate::bucket::graph::value::{Map, MapKind, Value};
use crate::error::Result;

/// A field of an element: also `ENTITY_GROUP` and `EDGE_GROUP`, for a column each.
fn field(element: &Element, name: &str) -> Value {
    match name {
        "ENTITY_GROUP" if !element.is_edge() => element.group().into(),
        "EDGE_GROUP" if element.is_edge() => element.group().into(),
        name => element.component(name),
    }
}

pub(super) fn to_map(table: Table, input: Output) -> Result<Output> {
    if matches!(input, Output::Nothing) {
        return Ok(input);
    }
    let row = move |element: &Element| {
        let mut row = Map::new(MapKind::Linked);
        for (name, heading) in &table.fields {
            let value = field(element, name);
            if !value.is_null() {
                row.insert((&**heading).into(), value);
            }
        }
        for (name, value) in &table.constants {
            row.insert((&**name).into(), (&**value).into());
        }
        Value::Map(Box::new(row))
    };
    let rows = move |batch: Vec<Element>| Ok(batch.iter().map(&row).collect());
    Ok(Output::Values(through(input.into_elements()?, Each(rows))))
}

pub(super) fn to_csv(table: Table, style: CsvStyle, input: Output) -> Result<Output> {
    if matches!(input, Output::Nothing) {
        return Ok(input);
    }
    let cell = move |text: &str| {
        let text = match &style.comma {
            Some(comma) => text.replace(',', comma),
            None => text.to_owned(),
        };
        if style.quoted { format!("\"{text}\"") } else { text }
    };
    let headings = table.fields.iter().map(|(_, heading)| heading);
    let headings = headings.chain(table.constants.iter().map(|(_, value)| value));
    let header = headings.map(|heading| cell(heading)).collect::<Vec<_>>().join(",");
    let row = move |element: &Element| {
        let fields = table.fields.iter().map(|(name, _)| match field(element, name) {
            Value::Null => String::new(),
            value => cell(&value.to_string()),
        });
        let constants = table.constants.iter().map(|(name, _)| cell(name));
        Value::from(fields.chain(constants).collect::<Vec<_>>().join(","))
    };
    let rows = move |batch: Vec<Element>| Ok(batch.iter().map(&row).collect());
    let rows = through(input.into_elements()?, Each(rows));
    Ok(Output::Values(match style.header {
        true => Box::new(Chained([Box::new(Ready::new(vec![header.into()])) as _, rows].into())),
        false => rows,
    }))
}
