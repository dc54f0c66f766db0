//! Ordered views: indexes, lookup terms, listings. Entries are sorted by a key of the bucket
//! type's making, then by their owner, and come back in pages, in either direction. Keys are made
//! of [`Parts`]: none is a prefix of another, or entries would not keep the order of their keys.
//!
//! A view is a partition named after it, or on engines that spread views several, by a hash of
//! the owner; reading merges them again. Page lengths count visible entries only.

use std::ops::Bound;

use super::Bucket;
use super::owner::Owner;
use super::scan::Cells;
use crate::cell::Time;
use crate::cell::key::successor_of_prefix;
use crate::cell::parts::Parts;
use crate::cell::visibility::Authorisations;
use crate::engine::{Block, CellRef, Commit, Direction, Reading, ScanRequest, Write};
use crate::error::Result;

/// A view of a bucket, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    name: Vec<u8>,
}

/// An entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is sorted by.
    pub key: Vec<u8>,
    /// The primary it follows from.
    pub owner: Owner,
    /// When it was written.
    pub time: Time,
    /// Who may see it.
    pub visibility: Vec<u8>,
    /// What it says.
    pub payload: Vec<u8>,
}

/// Which entries of a view, from where, and how many.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// Keys from here.
    pub from: Bound<Vec<u8>>,
    /// Keys to here; both ends are those of a forward page.
    pub to: Bound<Vec<u8>>,
    /// Which way.
    pub direction: Direction,
    /// Behind this entry, as [`Page::next`] or an earlier page said.
    pub after: Option<Vec<u8>>,
    /// At most so many, but at least one.
    pub limit: usize,
    /// Whether others are likely to read the same soon.
    pub reading: Reading,
}

impl PageRequest {
    /// The first entries of the whole view.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Forward,
            after: None,
            limit,
            reading: Reading::Shared,
        }
    }

    /// Only entries whose key starts with `prefix`.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &[u8]) -> Self {
        self.from = Bound::Included(prefix.to_vec());
        self.to = successor_of_prefix(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        self
    }

    /// From the end.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// Behind an entry.
    #[must_use]
    pub fn after(mut self, position: Vec<u8>) -> Self {
        self.after = Some(position);
        self
    }
}

/// Some entries of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In the order asked for.
    pub entries: Vec<Entry>,
    /// Where the next page begins, if there is more.
    pub next: Option<Vec<u8>>,
}

impl View {
    /// The view of that name.
    #[must_use]
    pub fn named(name: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into() }
    }

    fn partition(&self, shard: u16) -> Vec<u8> {
        Parts::new().bytes(&self.name).fixed(&shard.to_be_bytes()).into_bytes()
    }

    pub(super) fn write(
        &self,
        bucket: &Bucket,
        commit: &mut Commit,
        key: &[u8],
        owner: &Owner,
        write: Write<'_>,
    ) -> Result<()> {
        let mut sort = key.to_vec();
        owner.append(&mut sort)?;
        let shard = match bucket.engine().view_shards() {
            1 => 0,
            shards => {
                let [high, low, ..] = *blake3::hash(&owner.encode()).as_bytes();
                u16::from_be_bytes([high, low]) % shards
            }
        };
        commit.dependent(bucket.views, &self.partition(shard), &sort, write);
        Ok(())
    }

    fn request(&self, bucket: &Bucket, shard: u16, page: &PageRequest) -> ScanRequest {
        let (mut from, mut to) = (page.from.clone(), page.to.clone());
        if let Bound::Excluded(key) = &from {
            // Entries are longer than their keys: beyond a key is beyond all entries under it.
            match successor_of_prefix(key) {
                Some(beyond) => from = Bound::Included(beyond),
                None => to = Bound::Excluded(Vec::new()),
            }
        }
        if let Bound::Included(key) = &to {
            to = successor_of_prefix(key).map_or(Bound::Unbounded, Bound::Excluded);
        }
        let past = page.after.clone().map(Bound::Excluded);
        match page.direction {
            Direction::Forward => from = past.unwrap_or(from),
            Direction::Backward => to = past.unwrap_or(to),
        }
        let request = ScanRequest::range(bucket.views, self.partition(shard), from, to);
        ScanRequest { direction: page.direction, reading: page.reading, ..request }
    }
}

impl Bucket {
    /// A page of a view.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn page(
        &self,
        authorisations: &Authorisations,
        view: &View,
        request: &PageRequest,
    ) -> Result<Page> {
        let mut shards = Vec::new();
        for shard in 0..self.engine().view_shards() {
            let cells = self.scan(authorisations, view.request(self, shard, request)).await?;
            shards.push(Shard::begin(cells).await?);
        }
        let mut page = Page { entries: Vec::new(), next: None };
        let mut last = Vec::new();
        while let Some(shard) = foremost(&mut shards, request.direction) {
            let cell = shard.block.get(shard.at);
            if page.entries.len() == request.limit.max(1) {
                page.next = Some(last);
                break;
            }
            page.entries.push(entry(&cell)?);
            last.clear();
            last.extend_from_slice(cell.sort());
            shard.step().await?;
        }
        Ok(page)
    }
}

/// Reads a stored entry.
///
/// # Errors
/// `Corrupt` if it is damaged.
pub fn entry(cell: &CellRef<'_>) -> Result<Entry> {
    let (key, owner) = Owner::part(cell.sort())?;
    Ok(Entry {
        key: key.to_vec(),
        owner,
        time: cell.time(),
        visibility: cell.visibility().to_vec(),
        payload: cell.payload().to_vec(),
    })
}

/// One partition of a view being read; at its end when its block is used up.
struct Shard<'a> {
    cells: Cells<'a>,
    block: Block,
    at: usize,
}

impl<'a> Shard<'a> {
    async fn begin(mut cells: Cells<'a>) -> Result<Self> {
        let block = cells.next_block().await?.unwrap_or_default();
        Ok(Self { cells, block, at: 0 })
    }

    async fn step(&mut self) -> Result<()> {
        self.at += 1;
        if self.at == self.block.len() {
            self.block = self.cells.next_block().await?.unwrap_or_default();
            self.at = 0;
        }
        Ok(())
    }

    fn sort(&self) -> &[u8] {
        self.block.get(self.at).sort()
    }
}

/// The shard whose next entry comes first.
fn foremost<'s, 'a>(
    shards: &'s mut [Shard<'a>],
    direction: Direction,
) -> Option<&'s mut Shard<'a>> {
    let waiting = shards.iter_mut().filter(|shard| shard.at < shard.block.len());
    match direction {
        Direction::Forward => waiting.min_by(|a, b| a.sort().cmp(b.sort())),
        Direction::Backward => waiting.max_by(|a, b| a.sort().cmp(b.sort())),
    }
}
