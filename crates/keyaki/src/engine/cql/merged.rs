//! Merged cells: a base, and operands in rows of their own that follow it.
//!
//! A reader takes operands first and the base after: what was folded in between is listed in the base, and so counted
//! once. Ids stay listed long after their rows are gone (`rollup`), longer than such a pair of reads may take. Who
//! writes a base can't go by time, and reads it first.

use std::sync::Arc;

use super::cluster::Link;
use super::own;
use super::rows::{Base, Operand, Place, Range, behind};
use crate::engine::fold;
use crate::engine::space::Space;
use crate::error::Result;

/// A merged cell.
#[derive(Clone, Copy)]
pub struct MergedCell<'a> {
    /// Its space.
    pub space: &'a Arc<Space>,
    /// Its partition.
    pub partition: &'a [u8],
    /// Its sort key.
    pub sort: &'a [u8],
}

impl<'a> MergedCell<'a> {
    /// The rows it is made of are among these.
    pub fn place(self) -> Place<'a> {
        Place::of(self.space, self.partition)
    }

    /// Its value, and whether it is crowded.
    pub async fn value(self, link: &Link) -> Result<(Option<Vec<u8>>, bool)> {
        let operands = self.operands(link, usize::MAX).await?;
        let base = self.place().base(link, self.sort).await?;
        Ok((folded(self.space, &base, &operands), operands.len() >= CROWD))
    }

    /// Its base and its oldest operands, for whoever moves the base on, however late: here the base is read first. Ids
    /// leave its list only when their rows are gone, and with a new version. So if this version is still there in the
    /// end, it has no operand in it that was read and that it doesn't list.
    pub async fn to_fold(self, link: &Link, most: usize) -> Result<(Base, Vec<Operand>)> {
        let base = self.place().base(link, self.sort).await?;
        Ok((base, self.operands(link, most).await?))
    }

    /// Its oldest operands, in slices: they may be many.
    async fn operands(self, link: &Link, most: usize) -> Result<Vec<Operand>> {
        let mut rows = Range::one(self.sort).of_operands();
        let mut operands = Vec::new();
        loop {
            let limit = (most - operands.len()).min(SLICE);
            let slice = self.place().operand_rows(link, &rows, false, limit as i32).await?;
            let ended = slice.len() < limit;
            operands.extend(slice);
            match operands.last() {
                Some(last) if !ended && operands.len() < most => {
                    rows.from = behind(&own::operand(self.sort, last.tid));
                }
                _ => return Ok(operands),
            }
        }
    }
}

/// Some whole cells of a range, in scan order, and the part of the range they are all of.
pub struct MergedPage {
    /// Sort keys and stored values.
    pub cells: Vec<(Vec<u8>, Vec<u8>)>,
    /// The part of the range that was read.
    pub covered: Range,
    /// Sort keys of cells with so many operands that they should be folded.
    pub crowded: Vec<Vec<u8>>,
}

/// Operands from which on a cell is crowded.
pub const CROWD: usize = 64;
/// Operands that are read at once.
const SLICE: usize = 1_000;

/// Reads cells of a range, at least one if there is one.
pub async fn page(
    link: &Link,
    space: &Space,
    partition: &[u8],
    range: &Range,
    backward: bool,
    rows: i32,
) -> Result<MergedPage> {
    let place = Place::of(space, partition);
    let (mut operands, mut covered) = whole_operands(link, &place, range, backward, rows).await?;
    let bases = place.base_range(link, &covered, backward, rows).await?;
    if bases.len() == rows as usize
        && let Some((last, _)) = bases.last()
    {
        match backward {
            false => covered.to = Some(behind(last)),
            true => covered.from = last.clone(),
        }
        operands.retain(|operand| covered.holds(&operand.sort));
    }
    let groups = operands.chunk_by(|a, b| a.sort == b.sort);
    let crowded = groups.filter(|group| group.len() >= CROWD).map(|group| group[0].sort.clone());
    let crowded = crowded.collect();
    Ok(MergedPage { cells: combine(space, bases, operands, backward), covered, crowded })
}

/// Operands of cells that are not cut by the end of the page; a cell that is goes to the next one, whole.
async fn whole_operands(
    link: &Link,
    place: &Place<'_>,
    range: &Range,
    backward: bool,
    rows: i32,
) -> Result<(Vec<Operand>, Range)> {
    let mut limit = rows;
    loop {
        let mut operands = place.operands(link, range, backward, limit).await?;
        let mut covered = range.clone();
        let cut = (operands.len() >= limit as usize).then(|| operands.last()).flatten();
        let Some(cut) = cut.map(|operand| operand.sort.clone()) else {
            return Ok((operands, covered));
        };
        operands.retain(|operand| operand.sort != cut);
        if operands.is_empty() {
            limit = limit.saturating_mul(4);
            continue;
        }
        match backward {
            false => covered.to = Some(cut),
            true => covered.from = behind(&cut),
        }
        return Ok((operands, covered));
    }
}

/// Brings bases and operands of the same cells together, in scan order.
fn combine(
    space: &Space,
    bases: Vec<(Vec<u8>, Base)>,
    mut operands: Vec<Operand>,
    backward: bool,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    operands.sort_by(|a, b| (&a.sort, a.tid).cmp(&(&b.sort, b.tid)));
    let mut bases = bases;
    bases.sort_by(|a, b| a.0.cmp(&b.0));
    let none = Base::default();
    let mut bases = bases.into_iter().peekable();
    let mut groups = operands.chunk_by(|a, b| a.sort == b.sort).peekable();
    let mut cells = Vec::new();
    loop {
        let next_base = bases.peek().map(|(sort, _)| sort.clone());
        let next_group = groups.peek().map(|group| group[0].sort.clone());
        let sort = match (next_base, next_group) {
            (Some(base), Some(group)) => base.min(group),
            (Some(sort), None) | (None, Some(sort)) => sort,
            (None, None) => break,
        };
        let base = bases.next_if(|(base, _)| *base == sort).map(|(_, base)| base);
        let group = groups.next_if(|group| group[0].sort == sort).unwrap_or_default();
        if let Some(value) = folded(space, base.as_ref().unwrap_or(&none), group) {
            cells.push((sort, value));
        }
    }
    if backward {
        cells.reverse();
    }
    cells
}

/// The value of a cell: what is in its base, and the operands that are not, in the order of their commits.
pub fn folded(space: &Space, base: &Base, operands: &[Operand]) -> Option<Vec<u8>> {
    let mut values: Vec<&[u8]> = base.value.iter().map(Vec::as_slice).collect();
    for operand in operands.iter().filter(|operand| !base.lists(operand.tid)) {
        match operand.value.is_empty() {
            true => values.clear(),
            false => values.push(&operand.value),
        }
    }
    match values[..] {
        [] => None,
        [alone] => Some(alone.to_vec()),
        _ => Some(fold::fold_or_list(space.merge.as_deref(), &values)),
    }
}
