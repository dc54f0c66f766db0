//! How much a graph holds, counted anew. Chunks are counted when they are written, as if nothing of them were there yet;
//! what they folded into, what was deleted and what its rules let go is found out here, by a walk over all cells.
//!
//! Others may write meanwhile: of what is added since the walk began nothing is taken off, so that a graph never holds
//! more than is counted for it. A walk that has nothing to find is not begun.

use super::bucket::{Graph, StoredGroup};
use super::chunk::OWN_BYTES;
use super::form::Form;
use crate::bucket::Usage;
use crate::cell::{Time, Value as Stored, ValueRef};
use crate::engine::{CellRef, Reading, ScanRequest, Split};
use crate::error::Result;
use crate::store::{Committed, Previous};

/// The cell whose time is that of the last count.
const PARTITION: &[u8] = b"recount";
const SORT: &[u8] = b"";
/// Parts of a group.
const SPLITS: usize = 64;

/// A count under way.
#[derive(Debug, Default)]
pub struct Recount {
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    at: Time,
    /// What was counted for it then,
    told: Usage,
    /// and the mark of the count before.
    mark: Option<Vec<u8>>,
    counted: Usage,
    ahead: Option<Vec<(u16, Split)>>,
}

impl Graph {
    /// Counts what it holds, a part of it at a time, until it has looked at so many cells. Answers whether it is through.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn recount(&self, recount: &mut Recount, cells: usize) -> Result<bool> {
        let engine = self.bucket().store().engine();
        let begun = match &mut recount.begun {
            Some(begun) => begun,
            none => match self.begin().await? {
                None => return Ok(true),
                Some(begun) => none.insert(begun),
            },
        };
        let ahead = match &mut begun.ahead {
            Some(ahead) => ahead,
            // What is counted for it must be there to be seen.
            None if engine.settled().await? <= begun.at => return Ok(false),
            none => none.insert(self.parts().await?),
        };
        let mut looked = 0;
        while let Some((group, split)) = ahead.pop() {
            let (seen, counted) = self.count(group, split).await?;
            begun.counted = begun.counted.plus(counted);
            looked += seen;
            if looked >= cells {
                return Ok(false);
            }
        }
        let Some(begun) = recount.begun.take() else { return Ok(true) };
        self.correct(begun).await.map(|()| true)
    }

    /// Begins, unless nothing has changed since the last time.
    async fn begin(&self) -> Result<Option<Begun>> {
        let at = self.bucket().store().engine().clock().now();
        let mark = self.bucket().stored(PARTITION, SORT).await?;
        let marked = mark.as_deref().map(|mark| ValueRef::decode(mark).map(|mark| mark.time));
        let changed = Usage::changed(self.bucket()).await?;
        let ages = self.schema().groups().any(|group| group.has_validators());
        if !ages && changed == marked.transpose()? {
            return Ok(None);
        }
        let told = Usage::of(self.bucket()).await?;
        Ok(Some(Begun { at, told, mark, counted: Usage::default(), ahead: None }))
    }

    async fn parts(&self) -> Result<Vec<(u16, Split)>> {
        let engine = self.bucket().store().engine();
        let mut parts = Vec::new();
        for group in self.schema().groups() {
            let splits = engine.splits(self.space(group.id())?, SPLITS).await?;
            parts.extend(splits.into_iter().map(|split| (group.id().0, split)));
        }
        Ok(parts)
    }

    /// How many cells a part has, and what they come to.
    async fn count(&self, group: u16, split: Split) -> Result<(usize, Usage)> {
        let StoredGroup { form, space, .. } = self.stored(group)?;
        let mut request = ScanRequest::split(*space, split);
        request.reading = Reading::Once;
        let mut scan = self.bucket().store().engine().scan(request).await?;
        let (mut seen, mut counted) = (0, Usage::default());
        while let Some(block) = scan.next_block().await? {
            seen += block.len();
            for cell in block.iter() {
                counted = counted.plus(measure(form, &cell)?);
            }
        }
        Ok((seen, counted))
    }

    /// Takes off what is not there, unless another was faster.
    async fn correct(&self, begun: Begun) -> Result<()> {
        let Begun { told, mark, counted, .. } = begun;
        let more = counted.minus(told);
        let less = Usage { items: more.items.min(0), bytes: more.bytes.min(0) };
        let previous = mark.as_deref().map_or(Previous::Absent, Previous::Stored);
        let committed = self.bucket().commit(PARTITION, |draft| {
            draft.put(SORT, previous, Stored::open(b""))?;
            less.add(self.bucket(), draft)?;
            less.touch(self.bucket(), draft)
        });
        if matches!(committed.await?, Committed::Done(_)) {
            self.meter().add(less);
        }
        Ok(())
    }
}

/// What a cell counts: an edge once, under its source, and the bytes of both its cells.
pub(super) fn measure(form: &Form, cell: &CellRef<'_>) -> Result<Usage> {
    let own = if form.group.aggregates() { 0 } else { OWN_BYTES };
    let bytes = cell.partition().len() + cell.sort().len() + cell.payload().len();
    Ok(Usage { items: form.is_first(cell)?.into(), bytes: bytes.saturating_sub(own) as i64 })
}
