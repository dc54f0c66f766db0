//! Looks at a closed store and tells what is wrong: everything the engine finds, and whether
//! what follows from primaries still does.
//!
//! | space | must hold |
//! |---|---|
//! | primary | a large value has all its chunks |
//! | chunks | a chunk has its head |
//! | views, claims | an entry or a name has its owner |
//! | changes, replay | a record can be read |
//!
//! Merged cells that can't be folded here are counted, not judged.

use std::path::Path;

use super::owner::Owner;
use super::{CHANGES, CHUNKS, CLAIMS, PRIMARY, REPLAY, VIEWS, changes, chunk, replay};
use crate::cell::parts::PartsReader;
use crate::cell::{Time, ValueRef};
use crate::engine::embedded::{Inspection, Report};
use crate::engine::{CellRef, Rules, SpaceId, SpaceRecord};
use crate::error::{Error, Result};

/// Checks the embedded store in `dir`, which must not be open elsewhere. Changes nothing.
///
/// # Errors
/// Those of opening a store.
pub fn check(dir: &Path, rules: Rules) -> Result<Report> {
    struct Nothing;
    impl Look for Nothing {
        fn cell(&mut self, _: &Closed<'_>, _: &SpaceRecord, _: &CellRef<'_>) -> Result<()> {
            Ok(())
        }
    }
    check_with(dir, rules, &mut Nothing)
}

/// The same, with what the layers above know of its cells.
///
/// # Errors
/// Those of opening a store.
pub fn check_with(dir: &Path, rules: Rules, look: &mut dyn Look) -> Result<Report> {
    let inspection = Inspection::open(dir, rules)?;
    let closed = Closed { inspection: &inspection, spaces: inspection.spaces() };
    let mut report = inspection.walk(|record, cell| {
        closed.cell(record, cell)?;
        look.cell(&closed, record, cell)
    });
    report.problems.extend(look.end());
    Ok(report)
}

/// What the layers above know of cells.
pub trait Look {
    /// Looks at a cell; they come by rising space and key.
    ///
    /// # Errors
    /// `Corrupt` if something is wrong with it.
    fn cell(&mut self, closed: &Closed<'_>, record: &SpaceRecord, cell: &CellRef<'_>)
    -> Result<()>;

    /// What is wrong with all of them together.
    fn end(&mut self) -> Vec<Error> {
        Vec::new()
    }
}

/// A store that is being looked at.
pub struct Closed<'a> {
    inspection: &'a Inspection,
    spaces: Vec<SpaceRecord>,
}

impl Closed<'_> {
    /// Its spaces, dropped ones too.
    #[must_use]
    pub fn spaces(&self) -> &[SpaceRecord] {
        &self.spaces
    }

    /// The stored value of a cell, folded if it can be, whether or not its space still keeps it.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn find(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inspection.find(space, partition, sort)
    }

    fn cell(&self, record: &SpaceRecord, cell: &CellRef<'_>) -> Result<()> {
        match record.spec.label.as_str() {
            PRIMARY => self.primary(record, cell),
            CHUNKS => self.chunk(record, cell),
            VIEWS => self.owned(&Owner::part(cell.sort())?.1),
            CLAIMS => self.owned(&Owner::decode(cell.payload())?),
            CHANGES => changes::decode(cell).map(drop),
            REPLAY => replay::remembered(cell.encoded()).map(drop),
            _ => Ok(()),
        }
    }

    fn primary(&self, record: &SpaceRecord, head: &CellRef<'_>) -> Result<()> {
        if !head.value().flags.contains(chunk::HEAD) {
            return Ok(());
        }
        let chunks = self.sibling(record, CHUNKS)?;
        let mut length = 0;
        let said = chunk::Head::decode(head.payload())?;
        let there = chunk::partition(&head.partition(), head.sort(), head.time());
        for number in 0..said.chunks() {
            let number = (number as u32).to_be_bytes();
            let Some(found) = self.inspection.find(chunks, &there, &number)? else { break };
            length += ValueRef::decode(&found)?.payload.len() as u64;
        }
        match length == said.length {
            true => Ok(()),
            false => Err(chunk::missing(&head.partition(), head.sort())),
        }
    }

    fn chunk(&self, record: &SpaceRecord, cell: &CellRef<'_>) -> Result<()> {
        let damaged = |bad| Error::corrupt("key of a chunk is damaged").because(bad);
        let partition = cell.partition();
        let mut parts = PartsReader::new(&partition);
        let home = parts.bytes().map_err(damaged)?;
        let sort = parts.bytes().map_err(damaged)?;
        let time = Time::from_micros(parts.u64().map_err(damaged)?);
        let primary = self.sibling(record, PRIMARY)?;
        if let Some(found) = self.inspection.find(primary, &home, &sort)? {
            let head = ValueRef::decode(&found)?;
            if head.flags.contains(chunk::HEAD) && head.time == time {
                return Ok(());
            }
        }
        Err(Error::corrupt("chunk has no head"))
    }

    fn owned(&self, owner: &Owner) -> Result<()> {
        let found = self.inspection.find(owner.space, &owner.partition, &owner.sort)?;
        if found.is_some() {
            return Ok(());
        }
        Err(Error::corrupt("derived cell has no owner")
            .with_bytes("owner_partition", &owner.partition)
            .with_bytes("owner_sort", &owner.sort))
    }

    fn sibling(&self, record: &SpaceRecord, label: &str) -> Result<SpaceId> {
        let same = |other: &&SpaceRecord| {
            other.spec.bucket == record.spec.bucket && other.spec.label == label && !other.retired
        };
        self.spaces.iter().find(same).map(|other| other.id).ok_or_else(|| {
            Error::corrupt("bucket has lost a space")
                .with("bucket", record.spec.bucket.0)
                .with("label", label)
        })
    }
}
