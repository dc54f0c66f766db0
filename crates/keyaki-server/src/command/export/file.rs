//! The file of one part. Until it is whole it has another name.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use keyaki::bucket::graph::input::{Format, Input};
use keyaki::bucket::graph::schema::{Group, Schema};

use super::super::Failure;
use super::file_failed;
use super::table::Table;
use crate::args::ExportFormat;

const BUFFER_BYTES: usize = 256 << 10;
const UNFINISHED: &str = "unfinished";

/// A file being written.
pub struct Part {
    path: PathBuf,
    content: Content,
}

enum Content {
    /// The lines as they came.
    Lines(BufWriter<File>),
    /// The elements that the lines are.
    Rows(Input, Box<Table>),
}

impl Part {
    pub fn begin(
        path: PathBuf,
        format: ExportFormat,
        schema: &Arc<Schema>,
        group: &Arc<Group>,
    ) -> Result<Self, Failure> {
        let file = File::create(path.with_added_extension(UNFINISHED));
        let file = file.map_err(|error| file_failed(&path, &error))?;
        let content = match format {
            ExportFormat::Ndjson => Content::Lines(BufWriter::with_capacity(BUFFER_BYTES, file)),
            ExportFormat::Parquet => {
                let table = Table::new(file, group).map_err(|error| file_failed(&path, &error))?;
                Content::Rows(Input::new(schema.clone(), Format::Lines), Box::new(table))
            }
        };
        Ok(Self { path, content })
    }

    /// Takes lines, or parts of them; answers how many ended.
    pub fn write(&mut self, text: &[u8]) -> Result<u64, Failure> {
        let failed = |error: &dyn std::fmt::Display| file_failed(&self.path, error);
        match &mut self.content {
            Content::Lines(file) => {
                file.write_all(text).map_err(|error| failed(&error))?;
                Ok(text.iter().filter(|byte| **byte == b'\n').count() as u64)
            }
            Content::Rows(input, table) => {
                let mut given = Vec::new();
                input.feed(text, &mut given)?;
                let elements = given.len() as u64;
                for given in given {
                    table.push(&given.element?, given.bytes).map_err(|error| failed(&error))?;
                }
                Ok(elements)
            }
        }
    }

    /// Ends the file, and answers how large it is.
    pub fn finish(self) -> Result<u64, Failure> {
        let Self { path, content } = self;
        let failed = |error: &dyn std::fmt::Display| file_failed(&path, error);
        let file = match content {
            Content::Lines(file) => file.into_inner().map_err(|error| failed(&error))?,
            Content::Rows(input, table) => {
                input.finish(&mut Vec::new())?;
                table.finish().map_err(|error| failed(&error))?
            }
        };
        let ended = file.sync_all().and_then(|()| file.metadata()).and_then(|metadata| {
            fs::rename(path.with_added_extension(UNFINISHED), &path)?;
            Ok(metadata.len())
        });
        ended.map_err(|error| failed(&error))
    }
}
