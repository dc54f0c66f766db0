//! Takes elements one by one, checks them, and writes them in chunks. Chunks are cut by the number of elements that
//! come in, not of those that are let in: which are valid may change with time, and a file that is sent again must be
//! cut as it was.

use super::element::Element;
use super::input::Given;
use super::schema::Checks;
use super::write::{CHUNK_ELEMENTS_MAX, Writer};
use crate::cell::Tid;
use crate::error::{Error, Result};

/// How many reasons a summary names.
const REASONS_MAX: usize = 100;

/// A chunk ends too when the text of its elements is so long, for they are held until it is written.
const CHUNK_BYTES_MAX: usize = 64 << 20;

/// How elements are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestOptions {
    /// Whether by classes and validate functions.
    pub validate: bool,
    /// Whether those that fail are left out, instead of ending it.
    pub skip_invalid: bool,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self { validate: true, skip_invalid: false }
    }
}

/// Why an element was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Its place in the input, from 0.
    pub index: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// What became of the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Elements that came into the graph, now or when they were first sent.
    pub accepted: u64,
    /// Those that became one with others of their chunk; others may yet, with what was there.
    pub aggregated: u64,
    /// Elements that were left out.
    pub rejected: u64,
    /// Why, for the first of them.
    pub reasons: Vec<Rejection>,
    /// Chunks that were written.
    pub chunks: u64,
    /// Chunks that had been written before, and changed nothing now.
    pub replayed: u64,
}

/// An ingest under way.
pub struct Ingest {
    writer: Writer,
    options: IngestOptions,
    chunk_elements: usize,
    held: Vec<Element>,
    /// Elements of the chunk so far, those left out too.
    given: u64,
    /// The text of the chunk so far.
    bytes: usize,
    seen: u64,
    summary: Summary,
}

impl Ingest {
    /// Begins.
    #[must_use]
    pub fn new(writer: Writer, options: IngestOptions) -> Self {
        Self {
            writer,
            options,
            chunk_elements: CHUNK_ELEMENTS_MAX,
            held: Vec::new(),
            given: 0,
            bytes: 0,
            seen: 0,
            summary: Summary::default(),
        }
    }

    /// With chunks of so many elements; a repeat must have the same.
    #[must_use]
    pub fn with_chunks_of(mut self, elements: usize) -> Self {
        self.chunk_elements = elements.clamp(1, CHUNK_ELEMENTS_MAX);
        self
    }

    /// Takes an element, or what came in place of one.
    ///
    /// # Errors
    /// `Invalid` with the reason, unless such elements are skipped: what is in earlier chunks stays written; those
    /// of storage.
    pub async fn push(&mut self, element: Result<Element>) -> Result<()> {
        self.take(Given { element, bytes: 0 }).await
    }

    /// Takes what was read of a text.
    ///
    /// # Errors
    /// Those of [`Self::push`].
    pub async fn take(&mut self, given: Given) -> Result<()> {
        let Given { element, bytes } = given;
        self.bytes += bytes;
        let index = self.seen;
        self.seen += 1;
        self.given += 1;
        match element.and_then(|element| checked(&self.writer, element, self.options)) {
            Ok(element) => self.held.push(element),
            Err(error) if self.options.skip_invalid => self.reject(index, &error),
            Err(error) => return Err(error.with("index", index)),
        }
        if self.given as usize >= self.chunk_elements || self.bytes >= CHUNK_BYTES_MAX {
            self.flush().await?;
        }
        Ok(())
    }

    /// The latest commit so far.
    #[must_use]
    pub fn tid(&self) -> Option<Tid> {
        self.writer.done().tid
    }

    /// Writes what is left, and tells.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn finish(mut self) -> Result<Summary> {
        self.end().await?;
        Ok(self.summary)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn end(&mut self) -> Result<()> {
        if self.given > 0 { self.flush().await } else { Ok(()) }
    }

    /// What became of the input so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn reject(&mut self, index: u64, error: &Error) {
        self.summary.rejected += 1;
        if self.summary.reasons.len() < REASONS_MAX {
            self.summary.reasons.push(Rejection { index, reason: error.to_string() });
        }
    }

    async fn flush(&mut self) -> Result<()> {
        let given = std::mem::take(&mut self.given);
        self.bytes = 0;
        let answer = self.writer.write(std::mem::take(&mut self.held), given).await?;
        self.summary.accepted += answer.accepted;
        self.summary.aggregated += answer.aggregated;
        self.summary.chunks += 1;
        self.summary.replayed += u64::from(answer.replayed);
        Ok(())
    }
}

/// An element as it may go into the graph.
fn checked(writer: &Writer, element: Element, options: IngestOptions) -> Result<Element> {
    let graph = writer.graph();
    let checks = if options.validate { Checks::At(graph.now_ms()) } else { Checks::None };
    let element = graph.schema().admit(element, checks)?;
    writer.check_label(&element)?;
    graph.stored(element.shape.number)?.form.places(&element)?;
    Ok(element)
}
