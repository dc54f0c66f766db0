//! Takes elements one by one, checks them, and writes them in chunks, the next one while earlier ones are on their way
//! to the disk. Chunks are cut by how many elements come in and how long their text is, not by how many are let in:
//! which are valid may change with time, and a file that is sent again must be cut as it was.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::bucket::Graph;
use super::chunk::Chunk;
use super::element::Element;
use super::input::Given;
use super::koryphe::BinaryOperator;
use super::schema::Checks;
use super::write::{CHUNK_ELEMENTS_MAX, ChunkAnswer, Cut, Writer};
use crate::cell::Tid;
use crate::error::{Error, Result};

/// Smaller chunks are waited for at once.
const AHEAD_ELEMENTS_MIN: usize = 5_000;
/// Chunks on their way to the disk at the same time, where their order is of no matter.
pub const AHEAD_CHUNKS: usize = 2;

/// How many reasons a summary names.
const REASONS_MAX: usize = 100;

/// A chunk ends too when the text of its elements is so long: with those on their way it is held in memory.
pub const CHUNK_BYTES_MAX: usize = 16 << 20;

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
    writer: Arc<Writer>,
    options: IngestOptions,
    chunk_elements: usize,
    chunk: Chunk,
    /// Elements of the chunk so far, those left out too.
    given: u64,
    /// The text of the chunk so far,
    bytes: usize,
    /// and the sums of each element's.
    checks: Vec<u8>,
    seen: u64,
    /// By whose time the elements of a chunk are judged.
    now_ms: i64,
    writing: VecDeque<JoinHandle<Result<ChunkAnswer>>>,
    writing_max: usize,
    summary: Summary,
}

impl Ingest {
    /// Begins.
    #[must_use]
    pub fn new(writer: Writer, options: IngestOptions) -> Self {
        let writing_max = if is_ordered(writer.graph()) { 1 } else { AHEAD_CHUNKS };
        Self {
            writer: Arc::new(writer),
            options,
            chunk_elements: CHUNK_ELEMENTS_MAX,
            chunk: Chunk::default(),
            given: 0,
            bytes: 0,
            checks: Vec::new(),
            seen: 0,
            now_ms: 0,
            writing: VecDeque::new(),
            writing_max,
            summary: Summary::default(),
        }
    }

    /// With chunks of so many elements; a repeat must have the same.
    #[must_use]
    pub fn with_chunks_of(mut self, elements: usize) -> Self {
        self.chunk_elements = elements.clamp(1, CHUNK_ELEMENTS_MAX);
        self
    }

    /// Takes an element, or what came in place of one. Of a chunk of such only the number of elements is compared with
    /// that of the first time; of texts, the texts are.
    ///
    /// # Errors
    /// `Invalid` with the reason, unless such elements are skipped: what is in earlier chunks stays written; those
    /// of storage.
    pub async fn push(&mut self, element: Result<Element>) -> Result<()> {
        self.next(element).await
    }

    /// Takes what was read of a text.
    ///
    /// # Errors
    /// Those of [`Self::push`].
    pub async fn take(&mut self, given: Given) -> Result<()> {
        let Given { element, bytes, check } = given;
        self.bytes += bytes;
        self.checks.extend_from_slice(&check.to_be_bytes());
        self.checks.extend_from_slice(&(bytes as u32).to_be_bytes());
        self.next(element).await
    }

    async fn next(&mut self, element: Result<Element>) -> Result<()> {
        let index = self.seen;
        self.seen += 1;
        if self.given == 0 {
            self.now_ms = self.writer.graph().now_ms();
        }
        self.given += 1;
        match element.and_then(|element| self.admit(element)) {
            Ok(()) => {}
            Err(error) if self.options.skip_invalid => self.reject(index, &error),
            Err(error) => {
                self.wait_until_writing(0).await?;
                return Err(error.with("index", index));
            }
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
        if self.given > 0 {
            self.flush().await?;
        }
        self.wait_until_writing(0).await
    }

    /// Waits for the chunks that are on their way. What is left is not written.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn settle(&mut self) -> Result<()> {
        self.wait_until_writing(0).await
    }

    /// What became of the input so far, but for chunks that are still on their way.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Puts an element into the chunk as it may go into the graph.
    fn admit(&mut self, element: Element) -> Result<()> {
        let graph = self.writer.graph();
        let checks = if self.options.validate { Checks::At(self.now_ms) } else { Checks::None };
        let element = graph.schema().admit(element, checks)?;
        self.writer.check_label(&element)?;
        self.chunk.push(graph, &element)
    }

    fn reject(&mut self, index: u64, error: &Error) {
        self.summary.rejected += 1;
        if self.summary.reasons.len() < REASONS_MAX {
            self.summary.reasons.push(Rejection { index, reason: error.to_string() });
        }
    }

    async fn flush(&mut self) -> Result<()> {
        let cut = Cut { number: self.writer.number(), given: self.given, text: self.text() };
        (self.given, self.bytes) = (0, 0);
        self.checks.clear();
        let next = self.writer.spare().unwrap_or_else(|| self.chunk.another());
        let chunk = std::mem::replace(&mut self.chunk, next);
        self.wait_until_writing(self.writing_max - 1).await?;
        let writer = Arc::clone(&self.writer);
        let write = async move { writer.write_chunk(chunk, cut).await };
        if self.chunk_elements < AHEAD_ELEMENTS_MIN {
            let answer = write.await?;
            self.note(answer);
        } else {
            self.writing.push_back(tokio::spawn(write));
        }
        Ok(())
    }

    /// What tells the texts of the chunk from others; nothing of a chunk that came without.
    fn text(&self) -> Option<u64> {
        let digest = blake3::hash(&self.checks);
        let first = digest.as_bytes().first_chunk().copied().map(u64::from_be_bytes);
        first.filter(|_| !self.checks.is_empty())
    }

    /// Waits until so many chunks or fewer are on their way.
    async fn wait_until_writing(&mut self, most: usize) -> Result<()> {
        while self.writing.len() > most
            && let Some(written) = self.writing.front_mut()
        {
            // Awaited in place: a caller that gives up in between forgets no chunk.
            let answer = written.await;
            self.writing.pop_front();
            let interrupted =
                |e| Error::internal("the writing of a chunk was interrupted").because(e);
            self.note(answer.map_err(interrupted)??);
        }
        Ok(())
    }

    fn note(&mut self, answer: ChunkAnswer) {
        self.summary.accepted += answer.accepted;
        self.summary.aggregated += answer.aggregated;
        self.summary.chunks += 1;
        self.summary.replayed += u64::from(answer.replayed);
    }
}

/// Whether it matters which of two chunks comes first.
fn is_ordered(graph: &Graph) -> bool {
    let ordered = |operator: &BinaryOperator| {
        !matches!(
            operator,
            BinaryOperator::Sum
                | BinaryOperator::Product
                | BinaryOperator::Min
                | BinaryOperator::Max
                | BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::FreqMap
                | BinaryOperator::Sketch(_)
                | BinaryOperator::VisibilityAnd
        )
    };
    graph
        .schema()
        .groups()
        .any(|group| group.stored().iter().filter_map(|slot| group.operator(*slot)).any(ordered))
}
