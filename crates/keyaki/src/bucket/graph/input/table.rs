//! Elements from rows of a table. Columns say what they are by their names: `group`, `vertex`, `source`, `destination`,
//! `directed`, and properties by theirs. Headers as Neo4j writes them mean the same: `:ID`, `:LABEL`, `:START_ID`,
//! `:END_ID`, `:TYPE`, `name:type`. A mapping renames columns, and says what no column does.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::bucket::graph::element::{Element, Ends};
use crate::bucket::graph::json::read_json;
use crate::bucket::graph::koryphe::date;
use crate::bucket::graph::schema::{Group, Schema};
use crate::bucket::graph::value::{Class, Value};
use crate::cell::parts::Parts;
use crate::error::{Error, Result};

/// What columns mean, where their names don't say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// What a column is to be called, by its name in the header; nothing leaves it out.
    pub columns: BTreeMap<String, String>,
    /// The group of rows that name none.
    pub group: Option<String>,
    /// Whether edges have a direction that do not say so themselves; they have one unless it is said.
    pub directed: Option<bool>,
}

impl Mapping {
    /// A sum of all it says.
    fn check(&self) -> u32 {
        let mut said = Parts::new();
        for (column, name) in &self.columns {
            said = said.bytes(column.as_bytes()).bytes(name.as_bytes());
        }
        let directed = self.directed.map_or(2, u32::from);
        let group = self.group.as_deref().unwrap_or_default();
        crc32c::crc32c(&said.bytes(group.as_bytes()).u32(directed).into_bytes())
    }
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Group,
    Vertex,
    Source,
    Destination,
    Directed,
    Property(String),
    Nothing,
}

/// A table of which the header may be known.
pub(super) struct Table {
    mapping: Mapping,
    columns: Option<Vec<Column>>,
    check: u32,
}

/// A row by what its columns hold.
#[derive(Default)]
struct Row<'a> {
    group: Option<&'a str>,
    vertex: Option<&'a str>,
    source: Option<&'a str>,
    destination: Option<&'a str>,
    directed: Option<&'a str>,
    properties: Vec<(&'a str, &'a str)>,
}

impl Table {
    pub fn new(mapping: Mapping) -> Self {
        Self { mapping, columns: None, check: 0 }
    }

    /// A sum of the header and the mapping: rows mean something by them only.
    pub fn check(&self) -> u32 {
        self.check
    }

    /// The element of a record; none if it is the header.
    ///
    /// # Errors
    /// `Invalid` if the header says nothing.
    pub fn element(&mut self, text: &[u8], schema: &Schema) -> Result<Option<Result<Element>>> {
        let Some(columns) = &self.columns else {
            let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
            self.columns = Some(self.header(&fields(text)?)?);
            self.check = crc32c::crc32c_append(self.mapping.check(), text);
            return Ok(None);
        };
        Ok(Some(fields(text).and_then(|fields| self.row(columns, &fields, schema))))
    }

    fn header(&self, names: &[String]) -> Result<Vec<Column>> {
        let columns: Vec<_> = names.iter().map(|name| self.column(name.trim())).collect();
        for (at, column) in columns.iter().enumerate() {
            // Types of edges and labels of entities may both be there: either names the group.
            let may_repeat = matches!(column, Column::Group | Column::Nothing);
            if !may_repeat && columns[..at].contains(column) {
                return Err(Error::invalid("two columns hold the same").with("column", &names[at]));
            }
        }
        let has = |column| columns.contains(&column);
        if !(has(Column::Vertex) || has(Column::Source) && has(Column::Destination)) {
            return Err(Error::invalid(
                "the header needs a column `vertex`, or `source` and `destination`",
            ));
        }
        if !has(Column::Group) && self.mapping.group.is_none() {
            return Err(Error::invalid("the header needs a column `group`"));
        }
        Ok(columns)
    }

    fn column(&self, name: &str) -> Column {
        let name = self.mapping.columns.get(name).map_or(name, String::as_str);
        // Neo4j: a name, a type behind a colon, and which ids they are between brackets.
        let (own, kind) = name.rsplit_once(':').unwrap_or((name, ""));
        let kind = kind.split('(').next().unwrap_or_default().to_ascii_uppercase();
        match (&kind[..], &own.to_ascii_lowercase()[..]) {
            ("ID", _) | (_, "vertex" | "_id") => Column::Vertex,
            ("START_ID", _) | (_, "source" | "_start") => Column::Source,
            ("END_ID", _) | (_, "destination" | "_end") => Column::Destination,
            ("TYPE" | "LABEL", _) | (_, "group" | "_type" | "_labels") => Column::Group,
            (_, "directed") => Column::Directed,
            ("IGNORE", _) | (_, "") => Column::Nothing,
            _ => Column::Property(own.to_owned()),
        }
    }

    fn row(&self, columns: &[Column], fields: &[String], schema: &Schema) -> Result<Element> {
        if fields.len() > columns.len() {
            return Err(Error::invalid("a row has more fields than there are columns")
                .with("fields", fields.len())
                .with("columns", columns.len()));
        }
        let mut row = Row::default();
        for (column, field) in columns.iter().zip(fields).filter(|(_, field)| !field.is_empty()) {
            match column {
                Column::Group => row.group = Some(field),
                Column::Vertex => row.vertex = Some(field),
                Column::Source => row.source = Some(field),
                Column::Destination => row.destination = Some(field),
                Column::Directed => row.directed = Some(field),
                Column::Property(name) => row.properties.push((name, field)),
                Column::Nothing => {}
            }
        }
        let name = row.group.or(self.mapping.group.as_deref());
        let name = name.ok_or_else(|| Error::invalid("a row names no group"))?;
        let group = schema.group(name);
        let group = group
            .ok_or_else(|| Error::invalid("No element definition found for").with("group", name))?;
        let ends = self.ends(&row, group).map_err(|error| error.with("group", name))?;
        let properties = properties(&row, group, schema)?;
        Ok(Element { shape: Arc::clone(group.shape()), ends, properties })
    }

    fn ends(&self, row: &Row<'_>, group: &Group) -> Result<Ends> {
        let end = |text: Option<&str>, class: Option<Class>, name: &'static str| {
            let text = text.ok_or_else(|| Error::invalid("a row lacks an end").with("at", name))?;
            value(text, class.unwrap_or(Class::Object)).map_err(|error| error.with("at", name))
        };
        let [first, second] = group.vertex_classes();
        if !group.shape().is_edge {
            return end(row.vertex, first, "vertex").map(Ends::Vertex);
        }
        let (source, destination) =
            (end(row.source, first, "source")?, end(row.destination, second, "destination")?);
        let directed = match row.directed {
            Some(text) => boolean(text).map_err(|error| error.with("at", "directed"))?,
            None => self.mapping.directed.unwrap_or(true),
        };
        Ok(Ends::edge(source, destination, directed))
    }
}

/// The properties that the group has; others are left out, as everywhere.
fn properties(row: &Row<'_>, group: &Group, schema: &Schema) -> Result<Vec<Value>> {
    let mut properties = vec![Value::Null; group.shape().names.len()];
    for (name, text) in &row.properties {
        let slot = group.shape().slot(name).or_else(|| match *name {
            "visibility" => group.shape().slot(schema.visibility_property()?),
            _ => None,
        });
        if let Some(slot) = slot {
            let read = value(text, group.classes()[slot]);
            properties[slot] = read.map_err(|error| error.with("at", name))?;
        }
    }
    Ok(properties)
}

fn value(text: &str, class: Class) -> Result<Value> {
    match class {
        Class::String | Class::Object | Class::Comparable => Ok(text.into()),
        Class::Boolean => boolean(text).map(Value::Boolean),
        Class::Bytes => Value::from_json_as(&Json::from(text), class),
        Class::Date => match text.trim().parse() {
            Ok(millis) => Ok(Value::Date(millis)),
            Err(_) => date::parse(text.trim(), 0).map(Value::Date),
        },
        class if class.is_number() => Value::from_json_as(&Json::from(text.trim()), class),
        class => Value::from_json_as(&read_json(text.as_bytes())?, class),
    }
}

fn boolean(text: &str) -> Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Error::invalid("neither `true` nor `false`").with("value", text)),
    }
}

/// The fields of a record (RFC 4180).
fn fields(text: &[u8]) -> Result<Vec<String>> {
    let text = str::from_utf8(text).map_err(|bad| Error::invalid("not UTF-8").because(bad))?;
    let (mut fields, mut rest) = (Vec::new(), text);
    loop {
        let after = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (field, after) = unquoted(quoted)?;
                fields.push(field);
                after
            }
            None => {
                let len = rest.find(',').unwrap_or(rest.len());
                fields.push(rest[..len].to_owned());
                &rest[len..]
            }
        };
        match after.as_bytes().first() {
            None => return Ok(fields),
            Some(b',') => rest = &after[1..],
            Some(_) => return Err(Error::invalid("a quoted field goes on behind its quote")),
        }
    }
}

/// A field up to its closing quote, and what comes behind that; two quotes are one.
fn unquoted(text: &str) -> Result<(String, &str)> {
    let (mut field, mut rest) = (String::new(), text);
    loop {
        let at = rest.find('"').ok_or_else(|| Error::invalid("a quoted field does not end"))?;
        field.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return Ok((field, rest)),
        }
    }
}
