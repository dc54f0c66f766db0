//! Writes chunks of elements, each in one commit, and deletes elements by their keys.
//!
//! A chunk with an operation has the operation's digest as its home partition: a repeat finds it there, and as no two
//! chunks share a home, none is ever busy or large. One without is at home where its first element puts it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bucket::Graph;
use super::chunk::{Chunk, Labels};
use super::element::Element;
use super::form::Place;
use super::operation::Sink;
use crate::bucket::Usage;
use crate::cell::Tid;
use crate::cell::parts::Parts;
use crate::cell::visibility::{Authorisations, Decisions};
use crate::engine::{ScanRequest, SpaceId, Write};
use crate::error::{Error, Result};
use crate::store::{Change, Committed, Draft, Operation};

/// The most elements of one commit.
pub const CHUNK_ELEMENTS_MAX: usize = 50_000;

/// Writes to a graph.
pub struct Writer {
    graph: Graph,
    user: Option<String>,
    operation: Option<Operation>,
    /// The number of the next chunk.
    next: AtomicU64,
    done: Mutex<Done>,
    /// What the last chunk that was written leaves to another: memory that is new is slow to fill.
    spare: Mutex<Option<Chunk>>,
    /// What the writer may read; nobody is asked about that who is not known.
    seen: Option<Mutex<Decisions>>,
}

/// What a writer has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Commits.
    pub chunks: u64,
    /// Those of them that had been made before, and changed nothing now.
    pub replayed: u64,
    /// The latest of them.
    pub tid: Option<Tid>,
}

/// What became of a chunk; remembered with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkAnswer {
    /// Elements it was made of, those that were refused too.
    pub given: u64,
    /// Elements that came into the graph.
    pub accepted: u64,
    /// Those among them that became one with others of the chunk.
    pub aggregated: u64,
    /// What tells the text it was read from from others, where it was read from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
    /// Whether it had been written before, and changed nothing now.
    #[serde(skip)]
    pub replayed: bool,
}

/// How a chunk was cut from what came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Which chunk of the operation it is.
    pub number: u64,
    /// How many elements it was cut from, those that were refused too.
    pub given: u64,
    /// What tells the text it was read from from others.
    pub text: Option<u64>,
}

impl Writer {
    pub(super) fn new(graph: Graph, user: Option<String>, operation: Option<Operation>) -> Self {
        let next = AtomicU64::new(0);
        let (done, spare) = (Mutex::default(), Mutex::default());
        Self { graph, user, operation, next, done, spare, seen: None }
    }

    /// What it has done so far.
    #[must_use]
    pub fn done(&self) -> Done {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, tid: Option<Tid>, replayed: bool) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.chunks += 1;
        done.replayed += u64::from(replayed);
        done.tid = done.tid.max(tid);
    }

    /// Refuses elements that a writer with these authorisations could not read back.
    #[must_use]
    pub fn seen_by(mut self, authorisations: Authorisations) -> Self {
        self.seen = Some(Mutex::new(Decisions::new(authorisations)));
        self
    }

    /// Refuses an element that its writer could not read back.
    ///
    /// # Errors
    /// `Forbidden` with its label.
    pub(super) fn check_label(&self, element: &Element) -> Result<()> {
        let Some(seen) = &self.seen else { return Ok(()) };
        let label = self.graph.stored(element.shape.number)?.form.group.visibility(element);
        match seen.lock().unwrap_or_else(PoisonError::into_inner).visible(label) {
            true => Ok(()),
            false => Err(Error::forbidden("a caller may only write what it could read back")
                .with_bytes("visibility", label)),
        }
    }

    /// The graph it writes to.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Writes the elements of one chunk, checked before.
    ///
    /// # Errors
    /// `Conflict` if the operation was done before with other elements, as far as that can be told; those of storage.
    pub async fn write(&self, elements: &[Element]) -> Result<ChunkAnswer> {
        let mut chunk = Chunk::default();
        elements.iter().try_for_each(|element| chunk.push(&self.graph, element))?;
        let given = elements.len() as u64;
        self.write_chunk(chunk, Cut { number: self.number(), given, text: None }).await
    }

    /// The number of the next chunk.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// An empty chunk, where one was left.
    pub(super) fn spare(&self) -> Option<Chunk> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Writes a chunk. One of which nothing is left has its number all the same.
    pub(super) async fn write_chunk(&self, chunk: Chunk, cut: Cut) -> Result<ChunkAnswer> {
        let Cut { number, given, text } = cut;
        if chunk.is_empty() {
            return Ok(ChunkAnswer { given, ..ChunkAnswer::default() });
        }
        let accepted = chunk.len() as u64;
        let operation = self.operation("graph.add", number);
        let labels = chunk.labels();
        let packed = chunk.pack(&self.graph)?;
        let aggregated = packed.aggregated;
        let answer = ChunkAnswer { given, accepted, aggregated, text, replayed: false };
        let home = home(operation.as_ref(), packed.first_vertex());
        let used = Usage { items: packed.size.elements as i64, bytes: packed.size.bytes as i64 };
        let bucket = self.graph.bucket();
        let room = match self.graph.meter().reserve(used).await {
            Ok(room) => room,
            // There is always room for what is there already.
            Err(full) => return self.before(&home, operation.as_ref(), &answer).await?.ok_or(full),
        };
        let committed = bucket.commit(&home, |draft| {
            packed.write(&self.graph, draft)?;
            used.add(bucket, draft)?;
            self.note(draft, "add", &labels, operation.as_ref(), &answer)
        });
        let committed = committed.await?;
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(packed.emptied());
        match committed {
            Committed::Replayed { tid, answer: before } => {
                let answer = replayed(&before, &answer)?;
                self.count(Some(tid), true);
                Ok(answer)
            }
            committed => {
                self.count(Some(committed.tid()?), false);
                room.keep();
                Ok(answer)
            }
        }
    }

    /// What became of a chunk that was written before.
    async fn before(
        &self,
        home: &[u8],
        operation: Option<&Operation>,
        answer: &ChunkAnswer,
    ) -> Result<Option<ChunkAnswer>> {
        let Some(operation) = operation else { return Ok(None) };
        let before = self.graph.bucket().remembered(home, operation).await?;
        let Some((tid, before)) = before else { return Ok(None) };
        let answer = replayed(&before, answer)?;
        self.count(Some(tid), true);
        Ok(Some(answer))
    }

    /// The operation as one of its steps has it.
    pub(super) fn operation(&self, action: &str, number: u64) -> Option<Operation> {
        let mut operation = self.operation.clone()?;
        action.clone_into(&mut operation.action);
        operation.parameters = Parts::new().bytes(&operation.parameters).u64(number).into_bytes();
        Some(operation)
    }

    fn labels(&self, elements: &[Element]) -> Result<Labels> {
        let mut labels = Labels::new();
        for element in elements {
            let label = self.graph.stored(element.shape.number)?.form.group.visibility(element);
            *labels.entry(label.to_vec()).or_default() += 1;
        }
        Ok(labels)
    }

    /// Writes down what a chunk changes. Nobody is told of elements that they may not see, not even how many there are.
    fn note(
        &self,
        draft: &mut Draft<'_>,
        action: &str,
        labels: &Labels,
        operation: Option<&Operation>,
        answer: &ChunkAnswer,
    ) -> Result<()> {
        for (label, elements) in labels {
            let change = Change {
                action: action.to_owned(),
                operation: operation.map(|operation| operation.id.clone()),
                sequence: operation.map_or(0, |operation| operation.sequence),
                user: self.user.clone(),
                after: json!({"elements": elements}),
                ..Change::default()
            };
            draft.change_under(&change, label)?;
        }
        if let Some(operation) = operation {
            let answer = serde_json::to_vec(answer)
                .map_err(|e| Error::internal("an answer is not JSON").because(e))?;
            draft.remember(operation, &answer)?;
        }
        Ok(())
    }

    /// The cells of elements: the keys themselves, or where equal elements are kept apart, all that begin so.
    async fn cells(&self, elements: &[Element]) -> Result<BTreeSet<(SpaceId, Place)>> {
        let mut cells = BTreeSet::new();
        let engine = self.graph.bucket().store().engine();
        for element in elements {
            let stored = self.graph.stored(element.shape.number)?;
            for place in stored.form.places(element)?.iter() {
                if stored.form.group.aggregates() {
                    cells.insert((stored.space, place.clone()));
                    continue;
                }
                let request =
                    ScanRequest::prefix(stored.space, place.partition.clone(), &place.sort);
                let mut scan = engine.scan(request).await?;
                while let Some(block) = scan.next_block().await? {
                    for cell in block.iter() {
                        let (partition, sort) = (place.partition.clone(), cell.sort().to_vec());
                        cells.insert((stored.space, Place { partition, sort }));
                    }
                }
            }
        }
        Ok(cells)
    }
}

#[async_trait]
impl Sink for Writer {
    async fn add(&self, elements: Vec<Element>) -> Result<()> {
        elements.iter().try_for_each(|element| self.check_label(element))?;
        for chunk in elements.chunks(CHUNK_ELEMENTS_MAX) {
            self.write(chunk).await?;
        }
        Ok(())
    }

    async fn delete(&self, elements: Vec<Element>) -> Result<()> {
        elements.iter().try_for_each(|element| self.check_label(element))?;
        for chunk in elements.chunks(CHUNK_ELEMENTS_MAX) {
            let operation = self.operation("graph.delete", self.number());
            let cells = self.cells(chunk).await?;
            let first = cells.first().map(|(_, place)| place.partition.as_slice());
            let home = home(operation.as_ref(), first);
            let labels = self.labels(chunk)?;
            let given = chunk.len() as u64;
            let answer = ChunkAnswer { given, accepted: given, ..ChunkAnswer::default() };
            let committed = self.graph.bucket().commit(&home, |draft| {
                for (space, place) in &cells {
                    draft.dependent(*space, &place.partition, &place.sort, Write::Delete);
                }
                // How much goes is not known: a count finds it out.
                Usage::default().touch(self.graph.bucket(), draft)?;
                self.note(draft, "delete", &labels, operation.as_ref(), &answer)
            });
            match committed.await? {
                Committed::Replayed { tid, answer: before } => {
                    replayed(&before, &answer)?;
                    self.count(Some(tid), true);
                }
                committed => self.count(Some(committed.tid()?), false),
            }
        }
        Ok(())
    }
}

fn home(operation: Option<&Operation>, first: Option<&[u8]>) -> Vec<u8> {
    let digest = operation.map(Operation::digest);
    let digest = digest.unwrap_or_else(|| blake3::hash(first.unwrap_or_default()).into());
    Parts::new().bytes(b"chunk").fixed(&digest).into_bytes()
}

/// The first answer; refused if it was to something else.
fn replayed(before: &[u8], now: &ChunkAnswer) -> Result<ChunkAnswer> {
    let before: ChunkAnswer = serde_json::from_slice(before)
        .map_err(|e| Error::corrupt("the answer to a chunk can't be read").because(e))?;
    let other_text = before.text.zip(now.text).is_some_and(|(before, now)| before != now);
    if before.given != now.given || other_text {
        return Err(Error::conflict("the operation was done before with other elements")
            .with("elements", now.given)
            .with("before", before.given));
    }
    Ok(ChunkAnswer { replayed: true, ..before })
}
