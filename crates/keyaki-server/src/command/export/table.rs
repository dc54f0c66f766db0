//! Elements of one group as a Parquet file: a column for each end and each property, typed as the schema has it. Rows
//! are held until there are enough of them for a row group.

use std::fs::File;
use std::io;
use std::sync::Arc;

use keyaki::bucket::graph::element::{Element, Ends};
use keyaki::bucket::graph::schema::Group;
use keyaki::bucket::graph::value::{Class, Value};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::columns::{Column, Kind, Presence};

/// A row group has so many rows,
const ROWS_MAX: usize = 100_000;
/// or rows of so much text.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// What the columns of ends and the group are called.
const GROUP: &str = "group";
const OWN: [&str; 5] = [GROUP, "vertex", "source", "destination", "directed"];

/// A file of rows.
pub struct Table {
    writer: SerializedFileWriter<File>,
    /// Group and ends, then the properties.
    columns: Vec<Column>,
    /// The properties that are written, by slot.
    slots: Vec<usize>,
    rows: usize,
    text_bytes: usize,
}

impl Table {
    pub fn new(file: File, group: &Group) -> Result<Self, ParquetError> {
        let mut columns = vec![Column::new(GROUP, Kind::Text, Presence::Always)];
        let vertex = |name, class: Option<Class>| {
            Column::new(name, Kind::of(class.unwrap_or(Class::Object)), Presence::Always)
        };
        let [first, second] = group.vertex_classes();
        match group.shape().is_edge {
            true => columns.extend([
                vertex("source", first),
                vertex("destination", second),
                Column::new("directed", Kind::Boolean, Presence::Always),
            ]),
            false => columns.push(vertex("vertex", first)),
        }
        let mut slots = Vec::new();
        for (slot, (name, class)) in group.shape().names.iter().zip(group.classes()).enumerate() {
            // A property that the schema no longer has leaves a slot without a name.
            if !name.is_empty() {
                columns.push(Column::new(&column_name(name), Kind::of(*class), Presence::Perhaps));
                slots.push(slot);
            }
        }
        let fields = columns.iter().map(Column::describe).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("element").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("keyaki ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer, columns, slots, rows: 0, text_bytes: 0 })
    }

    /// Takes an element whose text was so long.
    pub fn push(&mut self, element: &Element, text_bytes: usize) -> Result<(), ParquetError> {
        let group: Value = element.group().into();
        let direction;
        let own = match &element.ends {
            Ends::Vertex(vertex) => vec![&group, vertex],
            Ends::Edge { source, destination, directed, .. } => {
                direction = Value::Boolean(*directed);
                vec![&group, source, destination, &direction]
            }
        };
        let properties = self.slots.iter().map(|slot| &element.properties[*slot]);
        for (column, value) in self.columns.iter_mut().zip(own.into_iter().chain(properties)) {
            column.push(value)?;
        }
        self.rows += 1;
        self.text_bytes += text_bytes;
        match self.rows >= ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.text_bytes) = (0, 0);
        let mut row_group = self.writer.next_row_group()?;
        for leaf in self.columns.iter_mut().flat_map(Column::leaves) {
            let Some(mut writer) = row_group.next_column()? else {
                return Err(ParquetError::General("there are more leaves than columns".to_owned()));
            };
            leaf.write(&mut writer)?;
            writer.close()?;
        }
        row_group.close().map(drop)
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<File, ParquetError> {
        self.flush()?;
        self.writer
            .into_inner()
            .map_err(|error| ParquetError::External(Box::new(io::Error::other(error))))
    }
}

/// Properties may be called as ends are.
fn column_name(property: &str) -> String {
    match OWN.contains(&property) {
        true => format!("property_{property}"),
        false => property.to_owned(),
    }
}
