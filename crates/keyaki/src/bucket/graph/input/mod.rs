//! Elements from text as it arrives: a JSON array, lines of JSON, or a table with a header. Holds no more of it than one
//! element, which may not be larger than [`ELEMENT_BYTES_MAX`].

mod cut;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::cut::Cut;
pub use self::table::Mapping;
use self::table::Table;
use super::element::Element;
use super::schema::Schema;
use crate::error::{Error, Result};

/// The most text of one element.
pub const ELEMENT_BYTES_MAX: usize = 4 << 20;

/// How elements are written down.
#[derive(Debug, Clone)]
pub enum Format {
    /// `[{…}, {…}]`
    Array,
    /// An element in each line; empty lines are nothing.
    Lines,
    /// Comma-separated values; the first record names the columns.
    Table(Mapping),
}

/// What stood in one element's place.
#[derive(Debug)]
pub struct Given {
    /// The element, or why there is none.
    pub element: Result<Element>,
    /// How much text it was.
    pub bytes: usize,
    /// A sum of that text, and of all that says how it is read.
    pub check: u32,
}

/// A reader of elements.
pub struct Input {
    schema: Arc<Schema>,
    cut: Cut,
    /// Only for tables: what it is mapped by, and its columns once they are known.
    table: Option<Table>,
    /// The beginning of an element whose end is yet to come.
    held: Vec<u8>,
    /// Elements so far.
    count: u64,
}

impl Input {
    /// Begins.
    #[must_use]
    pub fn new(schema: Arc<Schema>, format: Format) -> Self {
        let (cut, table) = match format {
            Format::Array => (Cut::array(), None),
            Format::Lines => (Cut::Lines, None),
            Format::Table(mapping) => (Cut::records(), Some(Table::new(mapping))),
        };
        Self { schema, cut, table, held: Vec::new(), count: 0 }
    }

    /// Takes the next piece of text, and appends the elements that end in it.
    ///
    /// # Errors
    /// `Invalid` if elements can't be told apart, or one is too large; with the number of elements before.
    pub fn feed(&mut self, text: &[u8], out: &mut Vec<Given>) -> Result<()> {
        self.take(text, out).map_err(|error| error.with("index", self.count))
    }

    /// There is no more text.
    ///
    /// # Errors
    /// `Invalid` if it ends too early.
    pub fn finish(mut self, out: &mut Vec<Given>) -> Result<()> {
        if let Cut::Array(array) = &self.cut {
            let ended = array.is_ended();
            return if ended { Ok(()) } else { Err(Error::invalid("the array does not end")) };
        }
        let rest = std::mem::take(&mut self.held);
        self.element(&rest, out).map_err(|error| error.with("index", self.count))
    }

    fn take(&mut self, mut text: &[u8], out: &mut Vec<Given>) -> Result<()> {
        text = self.cut.begin(text)?;
        while let Some(len) = self.cut.end(text) {
            let (piece, rest) = (&text[..len], &text[len + 1..]);
            if self.held.is_empty() {
                self.element(piece, out)?;
            } else {
                self.hold(piece)?;
                let mut whole = std::mem::take(&mut self.held);
                self.element(&whole, out)?;
                whole.clear();
                self.held = whole;
            }
            self.cut.ended(text[len])?;
            text = rest;
        }
        self.cut.after(text)?;
        self.hold(text)
    }

    fn hold(&mut self, text: &[u8]) -> Result<()> {
        if self.cut.is_over() {
            return Ok(());
        }
        self.held.extend_from_slice(text);
        check_size(self.held.len())
    }

    /// Reads what stands between two ends.
    fn element(&mut self, text: &[u8], out: &mut Vec<Given>) -> Result<()> {
        check_size(text.len())?;
        let text = text.trim_ascii();
        if text.is_empty() {
            return self.cut.nothing();
        }
        let element = match &mut self.table {
            None => self.schema.element_from_text(text),
            Some(table) => match table.element(text, &self.schema)? {
                Some(element) => element,
                None => return Ok(()),
            },
        };
        let check = crc32c::crc32c_append(self.table.as_ref().map_or(0, Table::check), text);
        self.count += 1;
        self.cut.something();
        out.push(Given { element, bytes: text.len(), check });
        Ok(())
    }
}

fn check_size(bytes: usize) -> Result<()> {
    match bytes > ELEMENT_BYTES_MAX {
        true => {
            Err(Error::invalid("the text of an element is too large")
                .with("most", ELEMENT_BYTES_MAX))
        }
        false => Ok(()),
    }
}
