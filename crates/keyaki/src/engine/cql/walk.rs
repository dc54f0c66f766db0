//! Walking a whole space, or a split of it: partition by partition, as the directory lists them.
//!
//! A place in a space is `shard | escape(partition) | 00 | sort`, and a split goes from one place to another. The
//! directory's shards follow each other, and in each the partitions are in order.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::Inner;
use super::cluster::Link;
use super::own::{DIRECTORY_SHARDS, Directory};
use super::rows::{Place, Range, behind};
use super::scan::{self, PartitionScan};
use crate::cell::parts::{Parts, PartsReader};
use crate::engine::scan::{ScanRequest, Split};
use crate::engine::space::{Space, SpaceKind};
use crate::error::{Error, Result};

const NAMES_READ: i32 = 500;
/// Partitions that are read at once, as long as what is read is small.
const AHEAD_MAX: usize = 32;
const AHEAD_BYTES: usize = 1 << 20;

/// A place in a space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Which shard of the directory.
    pub shard: u16,
    /// Which partition in it.
    pub partition: Vec<u8>,
    /// Where in that.
    pub sort: Vec<u8>,
}

impl Position {
    /// Before everything.
    pub fn first() -> Self {
        Self { shard: 0, partition: Vec::new(), sort: Vec::new() }
    }

    /// Behind everything.
    pub fn end() -> Self {
        Self { shard: DIRECTORY_SHARDS, partition: Vec::new(), sort: Vec::new() }
    }

    /// As a split holds it.
    pub fn encode(&self) -> Vec<u8> {
        Parts::new().fixed(&self.shard.to_be_bytes()).bytes(&self.partition).tail(&self.sort)
    }

    fn decode(encoded: &[u8]) -> Result<Self> {
        let bad = |bad| Error::invalid("not a split of this engine").because(bad);
        let mut reader = PartsReader::new(encoded);
        let shard = u16::from_be_bytes(*reader.fixed().map_err(bad)?);
        let partition = reader.bytes().map_err(bad)?.into_owned();
        Ok(Self { shard, partition, sort: reader.rest().to_vec() })
    }
}

/// Where a space's partitions are listed.
pub fn directory_of(space: &Space) -> Directory {
    match space.record.spec.kind {
        SpaceKind::Home => Directory::Homes(space.record.spec.bucket),
        SpaceKind::Derived => Directory::Cells(space.id()),
    }
}

/// The partitions of a directory, in order or in falling order, between two places.
pub struct Names {
    directory: Directory,
    from: Position,
    to: Position,
    backward: bool,
    shard: Option<u16>,
    range: Range,
    read: VecDeque<Vec<u8>>,
    more: bool,
}

impl Names {
    /// Nothing is read yet.
    pub fn new(directory: Directory, from: Position, to: Position, backward: bool) -> Self {
        let shard = if backward { to.shard.min(DIRECTORY_SHARDS - 1) } else { from.shard };
        let shard = (from < to).then_some(shard);
        let mut names = Self {
            directory,
            from,
            to,
            backward,
            shard,
            range: Range::all(),
            read: VecDeque::new(),
            more: true,
        };
        names.enter();
        names
    }

    /// All of a directory.
    pub fn all(directory: Directory) -> Self {
        Self::new(directory, Position::first(), Position::end(), false)
    }

    /// Those of one shard from `first` to `last`, both included.
    fn between(directory: Directory, shard: u16, first: &[u8], last: &[u8]) -> Self {
        let at = |name: &[u8]| Position { shard, partition: name.to_vec(), sort: Vec::new() };
        // The last name is among them, even where it is the first.
        Self::new(directory, at(first), Position { sort: vec![0], ..at(last) }, false)
    }

    /// The next one, with its shard.
    pub async fn next(&mut self, link: &Link) -> Result<Option<(u16, Vec<u8>)>> {
        loop {
            let Some(shard) = self.shard else { return Ok(None) };
            if let Some(name) = self.read.pop_front() {
                return Ok(Some((shard, name)));
            }
            if self.more {
                self.fill(link, shard).await?;
                continue;
            }
            let last = if self.backward {
                self.from.shard
            } else {
                self.to.shard.min(DIRECTORY_SHARDS - 1)
            };
            self.shard = match self.backward {
                _ if shard == last => None,
                false => Some(shard + 1),
                true => Some(shard - 1),
            };
            self.enter();
        }
    }

    /// Sets the range of names of the shard that is next.
    fn enter(&mut self) {
        let Some(shard) = self.shard else { return };
        self.more = true;
        self.range = Range::all();
        if shard == self.from.shard {
            self.range.from = self.from.partition.clone();
        }
        if shard == self.to.shard {
            // The partition that the end lies in is in it up to there.
            self.range.to = Some(behind(&self.to.partition));
        }
    }

    async fn fill(&mut self, link: &Link, shard: u16) -> Result<()> {
        let partition = self.directory.partition(shard);
        let place = Place::own(&partition);
        let rows = place.rows(link, &self.range, self.backward, NAMES_READ).await?;
        self.more = rows.len() == NAMES_READ as usize;
        if let Some((last, _)) = rows.last() {
            match self.backward {
                false => self.range.from = behind(last),
                true => self.range.to = Some(last.clone()),
            }
        }
        self.read.extend(rows.into_iter().map(|(name, _)| name));
        Ok(())
    }
}

/// The cells of a space between two places. Partitions are often small: their first pages are read several at once.
pub struct Walk {
    space: Arc<Space>,
    names: Names,
    scans: VecDeque<PartitionScan>,
    at_once: usize,
}

impl Walk {
    /// All of a space.
    pub fn all(space: &Arc<Space>) -> Self {
        let names = Names::all(directory_of(space));
        Self { space: space.clone(), names, scans: VecDeque::new(), at_once: 1 }
    }

    /// A split of it.
    ///
    /// # Errors
    /// `Invalid` if another engine made the split.
    pub fn of_split(space: &Arc<Space>, split: &Split, backward: bool) -> Result<Self> {
        let (from, to) = (Position::decode(&split.from)?, Position::decode(&split.to)?);
        let names = Names::new(directory_of(space), from, to, backward);
        Ok(Self { space: space.clone(), names, scans: VecDeque::new(), at_once: 1 })
    }

    /// The partition that is being read; `None` behind the last.
    pub async fn current(&mut self, link: &Link) -> Result<Option<&mut PartitionScan>> {
        if self.scans.is_empty() {
            self.read_ahead(link).await?;
        }
        Ok(self.scans.front_mut())
    }

    /// Goes on to the next partition.
    pub fn step(&mut self) {
        self.scans.pop_front();
    }

    async fn read_ahead(&mut self, link: &Link) -> Result<()> {
        while self.scans.len() < self.at_once
            && let Some((shard, name)) = self.names.next(link).await?
        {
            let scan = self.scan_of(shard, name);
            self.scans.push_back(scan);
        }
        let pages = self.scans.iter_mut().map(|scan| scan.read_ahead(link));
        let bytes: usize = try_join_all(pages).await?.into_iter().sum();
        self.at_once = match bytes <= AHEAD_BYTES / 2 {
            true => (self.at_once * 2).min(AHEAD_MAX),
            false => (self.at_once / 2).max(1),
        };
        Ok(())
    }

    fn scan_of(&self, shard: u16, name: Vec<u8>) -> PartitionScan {
        let mut range = Range::all();
        let here = |end: &Position| end.shard == shard && end.partition == name;
        if here(&self.names.from) {
            range.from = self.names.from.sort.clone();
        }
        if here(&self.names.to) {
            range.to = Some(self.names.to.sort.clone());
        }
        PartitionScan::new(&self.space, name, range, self.names.backward)
    }
}

impl Inner {
    /// The least partition of a space between two names that shows a cell. Shards follow hashes, so all of them are
    /// asked; names of partitions that were emptied stay listed, so cells are looked for.
    pub(super) async fn first_partition(
        self: &Arc<Self>,
        link: &Link,
        space: &Arc<Space>,
        first: &[u8],
        last: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let shards = (0..DIRECTORY_SHARDS)
            .map(|shard| all_names(link, Names::between(directory_of(space), shard, first, last)));
        let mut names = try_join_all(shards).await?.concat();
        names.sort_unstable();
        for some in names.chunks(AHEAD_MAX) {
            let shown =
                try_join_all(some.iter().map(|name| self.shows_a_cell(space, name))).await?;
            if let Some(at) = shown.iter().position(|shown| *shown) {
                return Ok(Some(some[at].clone()));
            }
        }
        Ok(None)
    }

    async fn shows_a_cell(self: &Arc<Self>, space: &Arc<Space>, partition: &[u8]) -> Result<bool> {
        let all = ScanRequest::partition(space.id(), partition);
        Ok(scan::begin(self, space, all)?.next_block().await?.is_some())
    }
}

async fn all_names(link: &Link, mut names: Names) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    while let Some((_, name)) = names.next(link).await? {
        all.push(name);
    }
    Ok(all)
}
