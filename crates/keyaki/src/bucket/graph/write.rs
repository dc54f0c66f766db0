//! Writes chunks of elements, each in one commit, and deletes elements by their keys.
//!
//! A chunk with an operation has the operation's digest as its home partition: a repeat finds it there, and as no two
//! chunks share a home, none is ever busy or large. One without is at home where its first element puts it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bucket::Graph;
use super::chunk::Chunk;
use super::element::Element;
use super::form::Place;
use super::operation::Sink;
use crate::bucket::Usage;
use crate::cell::parts::Parts;
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
    /// Whether it had been written before, and changed nothing now.
    #[serde(skip)]
    pub replayed: bool,
}

impl Writer {
    pub(super) fn new(graph: Graph, user: Option<String>, operation: Option<Operation>) -> Self {
        Self { graph, user, operation, next: AtomicU64::new(0) }
    }

    /// The graph it writes to.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Writes the elements of one chunk, checked before.
    ///
    /// # Errors
    /// `Conflict` if the operation was done before with another number of elements; those of storage.
    pub async fn write(&self, elements: &[Element]) -> Result<ChunkAnswer> {
        let mut chunk = Chunk::default();
        elements.iter().try_for_each(|element| chunk.push(&self.graph, element))?;
        self.write_chunk(chunk, self.number(), elements.len() as u64).await
    }

    /// The number of the next chunk.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes a chunk; `given` is how many elements it was cut from. One of which nothing is left has its number all the
    /// same.
    pub(super) async fn write_chunk(
        &self,
        chunk: Chunk,
        number: u64,
        given: u64,
    ) -> Result<ChunkAnswer> {
        if chunk.is_empty() {
            return Ok(ChunkAnswer { given, ..ChunkAnswer::default() });
        }
        let accepted = chunk.len() as u64;
        let operation = self.operation("graph.add", number);
        let packed = chunk.pack(&self.graph)?;
        let aggregated = packed.aggregated;
        let answer = ChunkAnswer { given, accepted, aggregated, replayed: false };
        let home = home(operation.as_ref(), packed.first_vertex());
        let used = Usage { items: packed.size.elements as i64, bytes: packed.size.bytes as i64 };
        let bucket = self.graph.bucket();
        let committed = bucket.commit(&home, |draft| {
            packed.write(&self.graph, draft)?;
            used.add(bucket, draft)?;
            self.note(draft, "add", operation.as_ref(), &answer)
        });
        match committed.await? {
            Committed::Replayed { answer: before, .. } => replayed(&before, &answer),
            committed => committed.tid().map(|_| answer),
        }
    }

    fn operation(&self, action: &str, number: u64) -> Option<Operation> {
        let mut operation = self.operation.clone()?;
        action.clone_into(&mut operation.action);
        operation.parameters = Parts::new().bytes(&operation.parameters).u64(number).into_bytes();
        Some(operation)
    }

    fn note(
        &self,
        draft: &mut Draft<'_>,
        action: &str,
        operation: Option<&Operation>,
        answer: &ChunkAnswer,
    ) -> Result<()> {
        let change = Change {
            action: action.to_owned(),
            operation: operation.map(|operation| operation.id.clone()),
            sequence: operation.map_or(0, |operation| operation.sequence),
            user: self.user.clone(),
            after: json!({"elements": answer.accepted}),
            ..Change::default()
        };
        draft.change(&change, b"", b"")?;
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
        for chunk in elements.chunks(CHUNK_ELEMENTS_MAX) {
            self.write(chunk).await?;
        }
        Ok(())
    }

    async fn delete(&self, elements: Vec<Element>) -> Result<()> {
        for chunk in elements.chunks(CHUNK_ELEMENTS_MAX) {
            let operation = self.operation("graph.delete", self.number());
            let cells = self.cells(chunk).await?;
            let first = cells.first().map(|(_, place)| place.partition.as_slice());
            let home = home(operation.as_ref(), first);
            let given = chunk.len() as u64;
            let answer = ChunkAnswer { given, accepted: given, ..ChunkAnswer::default() };
            let committed = self.graph.bucket().commit(&home, |draft| {
                for (space, place) in &cells {
                    draft.dependent(*space, &place.partition, &place.sort, Write::Delete);
                }
                self.note(draft, "delete", operation.as_ref(), &answer)
            });
            match committed.await? {
                Committed::Replayed { answer: before, .. } => replayed(&before, &answer)?,
                committed => committed.tid().map(|_| answer)?,
            };
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
    if before.given != now.given {
        return Err(Error::conflict("the operation was done before with other elements")
            .with("elements", now.given)
            .with("before", before.given));
    }
    Ok(ChunkAnswer { replayed: true, ..before })
}
