//! Reading a range of one partition's rows, in either table.

use std::time::Duration;

use super::cluster::Link;
use super::fault;
use super::own;
use super::statements::{Arg, RangeReads};
use crate::cell::{Tid, Time, ValueRef};
use crate::engine::space::{BucketId, Space, SpaceKind};
use crate::error::{Error, Result};

/// How long to wait before a serial read, each time it is tried: transactions are mostly applied by then, and nobody is in
/// anybody's way.
const APPLIED_WITHIN_MS: [u64; 4] = [5, 20, 80, 320];

/// A range of sort keys: the first included, the second not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub from: Vec<u8>,
    /// Where it ends, if it does.
    pub to: Option<Vec<u8>>,
}

impl Range {
    /// All sort keys.
    pub fn all() -> Self {
        Self { from: Vec::new(), to: None }
    }

    /// One cell alone.
    pub fn one(sort: &[u8]) -> Self {
        Self { from: sort.to_vec(), to: Some(behind(sort)) }
    }

    /// Whether nothing lies in it.
    pub fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }

    /// Whether a sort key lies in it.
    pub fn holds(&self, sort: &[u8]) -> bool {
        sort >= &self.from[..] && self.to.as_ref().is_none_or(|to| sort < &to[..])
    }

    /// The operands' rows of the cells in it.
    pub fn of_operands(&self) -> Self {
        // No row begins before that of the empty sort key, which a range of all may leave out.
        let from = own::operands_from(&self.from);
        Self { from, to: self.to.as_deref().map(own::operands_from) }
    }
}

/// The next sort key in memcmp order.
pub fn behind(sort: &[u8]) -> Vec<u8> {
    [sort, &[0]].concat()
}

/// The rows of a partition that belong to a space.
pub struct Place<'a> {
    space: i32,
    bucket: BucketId,
    partition: &'a [u8],
    home: bool,
}

/// One operand of a merged cell.
pub struct Operand {
    /// The cell.
    pub sort: Vec<u8>,
    /// The commit.
    pub tid: Tid,
    /// Empty for a deletion.
    pub value: Vec<u8>,
}

/// What operands of a merged cell have been folded to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base {
    /// The folded value, if any is left.
    pub value: Option<Vec<u8>>,
    /// How often it has changed.
    pub version: Option<i64>,
    /// The operands in it whose rows may still be there, in order.
    pub folded: Vec<Tid>,
}

impl Base {
    /// Whether an operand is in it, as far as it still matters.
    pub fn lists(&self, operand: Tid) -> bool {
        self.folded.binary_search(&operand).is_ok()
    }

    /// The ids as they are stored.
    pub fn encode_folded(folded: &[Tid]) -> Vec<u8> {
        folded.iter().flat_map(|tid| *tid.as_bytes()).collect()
    }

    fn decode_folded(stored: Option<&[u8]>) -> Result<Vec<Tid>> {
        let (ids, rest) = stored.unwrap_or_default().as_chunks::<16>();
        let damaged = || Error::corrupt("base of a merged cell is damaged");
        if !rest.is_empty() {
            return Err(damaged());
        }
        ids.iter().map(|id| Tid::from_bytes(*id).map_err(|bad| damaged().because(bad))).collect()
    }
}

impl<'a> Place<'a> {
    /// The rows that a space's cells are kept in.
    pub fn of(space: &Space, partition: &'a [u8]) -> Self {
        let spec = &space.record.spec;
        let home = spec.kind == SpaceKind::Home;
        Self { space: space.id().0 as i32, bucket: spec.bucket, partition, home }
    }

    /// The engine's own derived rows.
    pub fn own(partition: &'a [u8]) -> Self {
        Self { space: own::OWN, bucket: BucketId(0), partition, home: false }
    }

    /// The bases of a merge space.
    fn bases(&self) -> Self {
        Self { home: true, ..*self }
    }

    fn arguments(&self, range: &'a Range, limit: i32) -> Vec<Arg<'a>> {
        let mut arguments = Vec::with_capacity(6);
        if self.home {
            arguments.push(Arg::Long(self.bucket.0 as i64));
            arguments.extend([Arg::Bytes(self.partition), Arg::Int(self.space)]);
        } else {
            arguments.extend([Arg::Int(self.space), Arg::Bytes(self.partition)]);
        }
        arguments.push(Arg::Bytes(&range.from));
        arguments.extend(range.to.as_deref().map(Arg::Bytes));
        arguments.push(Arg::Int(limit));
        arguments
    }

    async fn read(
        &self,
        link: &Link,
        reads: &RangeReads,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<scylla::response::query_result::QueryRowsResult> {
        let statement = reads.pick(backward, range.to.is_some());
        link.read(statement, self.arguments(range, limit)).await
    }

    /// Sort keys and values.
    pub async fn rows(
        &self,
        link: &Link,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let statements = &link.statements;
        if !self.home {
            return self.page(link, &statements.derived_range, range, backward, limit).await;
        }
        let read = |serially| {
            let reads = if serially { &statements.home_range_now } else { &statements.home_range };
            async move {
                let cells = self.page(link, reads, range, backward, limit).await?;
                let times = cells.iter().filter_map(|(_, value)| ValueRef::decode(value).ok());
                let newest = times.map(|value| value.time).max();
                Ok((cells, newest.unwrap_or(Time::ZERO)))
            }
        };
        never_back(link, (self.bucket, self.partition), read).await
    }

    async fn page(
        &self,
        link: &Link,
        reads: &RangeReads,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let rows = self.read(link, reads, range, backward, limit).await?;
        let rows = rows.rows::<(&[u8], Option<&[u8]>)>().map_err(fault::misread)?;
        rows.map(|row| {
            let (sort, value) = row.map_err(fault::misread)?;
            Ok((sort.to_vec(), value.unwrap_or_default().to_vec()))
        })
        .collect()
    }

    /// How many rows the partition has.
    pub async fn count(&self, link: &Link) -> Result<usize> {
        let statements = &link.statements;
        let rows = if self.home {
            let place = (self.bucket.0 as i64, self.partition, self.space);
            link.read(&statements.home_count, place).await?
        } else {
            link.read(&statements.derived_count, (self.space, self.partition)).await?
        };
        Ok(rows.first_row::<(i64,)>().map_err(fault::misread)?.0 as usize)
    }

    /// One row's value.
    pub async fn value(&self, link: &Link, sort: &[u8]) -> Result<Option<Vec<u8>>> {
        let statements = &link.statements;
        if self.home {
            let read = |serially| self.home_value(link, sort, serially);
            return never_back(link, (self.bucket, self.partition), read).await;
        }
        let rows = link.read(&statements.derived_row, (self.space, self.partition, sort)).await?;
        let row = rows.maybe_first_row::<(Option<Vec<u8>>,)>().map_err(fault::misread)?;
        Ok(row.and_then(|(value,)| value))
    }

    /// A home cell's value, and the time of its partition's latest commit.
    async fn home_value(
        &self,
        link: &Link,
        sort: &[u8],
        serially: bool,
    ) -> Result<(Option<Vec<u8>>, Time)> {
        let statements = &link.statements;
        let statement = match serially {
            false => &statements.home_cell_and_head,
            true => &statements.home_cell_and_head_now,
        };
        let place = (self.bucket.0 as i64, self.partition, self.space, sort);
        let rows = link.read(statement, place).await?;
        let rows = rows.rows::<(i32, Option<&[u8]>, Option<i64>)>().map_err(fault::misread)?;
        let (mut value, mut latest) = (None, Time::ZERO);
        for row in rows {
            let (space, found, head) = row.map_err(fault::misread)?;
            match space == own::OWN {
                true => latest = Time::from_micros(head.unwrap_or_default() as u64),
                false => value = found.map(<[u8]>::to_vec),
            }
        }
        Ok((value, latest))
    }

    /// Operands of the cells in a range, at most `limit`.
    pub async fn operands(
        &self,
        link: &Link,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<Vec<Operand>> {
        self.operand_rows(link, &range.of_operands(), backward, limit).await
    }

    /// Operands in a range of their own rows, at most `limit`.
    pub async fn operand_rows(
        &self,
        link: &Link,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<Vec<Operand>> {
        let rows = self.rows(link, range, backward, limit).await?;
        let operand = |(row, value): (Vec<u8>, Vec<u8>)| {
            let (sort, tid) = own::split_operand(&row)?;
            Ok(Operand { sort: sort.into_owned(), tid, value })
        };
        rows.into_iter().map(operand).collect()
    }

    /// Bases of the cells in a range, at most `limit`.
    pub async fn base_range(
        &self,
        link: &Link,
        range: &Range,
        backward: bool,
        limit: i32,
    ) -> Result<Vec<(Vec<u8>, Base)>> {
        type Row<'r> = (&'r [u8], Option<&'r [u8]>, Option<&'r [u8]>);
        let reads = &link.statements.base_range;
        let rows = self.bases().read(link, reads, range, backward, limit).await?;
        let rows = rows.rows::<Row<'_>>().map_err(fault::misread)?;
        rows.map(|row| {
            let (sort, value, folded) = row.map_err(fault::misread)?;
            let folded = Base::decode_folded(folded)?;
            Ok((sort.to_vec(), Base { value: value.map(<[u8]>::to_vec), version: None, folded }))
        })
        .collect()
    }

    /// One base, with its version.
    pub async fn base(&self, link: &Link, sort: &[u8]) -> Result<Base> {
        let place = (self.bucket.0 as i64, self.partition, self.space, sort);
        let rows = link.read(&link.statements.base, place).await?;
        let row = rows.maybe_first_row::<(Option<&[u8]>, Option<i64>, Option<&[u8]>)>();
        let Some((value, version, folded)) = row.map_err(fault::misread)? else {
            return Ok(Base::default());
        };
        let value = value.map(<[u8]>::to_vec);
        Ok(Base { value, version, folded: Base::decode_folded(folded)? })
    }
}

/// Reads rows of a home partition and the time of the latest commit that they show, and serially once more if an earlier
/// read of this process has shown a later one: then a transaction is being applied, and this quorum may not have it yet.
pub async fn never_back<T, F>(
    link: &Link,
    (bucket, partition): (BucketId, &[u8]),
    read: impl Fn(bool) -> F,
) -> Result<T>
where
    F: Future<Output = Result<(T, Time)>>,
{
    let (cells, newest) = read(false).await?;
    let Some(shown) = link.shown.note(bucket, partition, newest) else {
        return Ok(cells);
    };
    let again = async {
        let mut last = None;
        for millis in APPLIED_WITHIN_MS {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            match read(true).await {
                Ok((cells, newest)) => {
                    link.shown.note(bucket, partition, newest);
                    link.shown.settle(bucket, partition, shown.max(newest));
                    return Ok(cells);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::internal("nothing was read")))
    };
    let late = |_| Err(Error::unavailable("a transaction is being applied for too long"));
    tokio::time::timeout(link.request_timeout, again).await.unwrap_or_else(late)
}
