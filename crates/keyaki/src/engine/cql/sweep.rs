//! Making permanent what the spaces' rules decided, without racing anybody.
//!
//! | cells | how they go |
//! |---|---|
//! | home | by a commit of their partition, which finds them unchanged; copies for the quarantine are its dependents |
//! | derived | the copy first, then deleted at their own time, neighbours at once: what was put since is later, and stays |
//! | merged | the copy first, then their base is moved on to nothing: what was merged since begins anew |

use std::sync::Arc;

use super::Inner;
use super::cluster::Link;
use super::commit::Errand;
use super::home::{Decision, Found, Proposal};
use super::intent::{Intent, Recorded};
use super::merged::{self, MergedCell};
use super::nodes::Leave;
use super::rollup::FOLDED_AT_ONCE;
use super::rows::behind;
use super::walk::Walk;
use crate::cell::{Time, ValueRef, key};
use crate::engine::commit::{Condition, Home, Refusal, StoredWrite};
use crate::engine::space::{Space, SpaceKind};
use crate::engine::sweep::Condemned;
use crate::engine::{Stamp, Swept};
use crate::error::{Error, Result};

/// Cells that go in one commit.
const CELLS_AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 4 << 20;

impl Inner {
    /// Removes what a space's rules don't keep.
    pub(super) async fn sweep(
        self: &Arc<Self>,
        link: &Arc<Link>,
        space: &Arc<Space>,
    ) -> Result<Swept> {
        let mut swept = Swept::default();
        // Known before any operand is read.
        let floor = self.settled_by_all(link).await?;
        let mut walk = Walk::all(space);
        while let Some(scan) = walk.current(link).await? {
            let Some(cells) = scan.next_stored(link, CELLS_AT_ONCE).await? else {
                walk.step();
                continue;
            };
            let now = self.stamps.clock().now();
            let mut condemned = Vec::new();
            for (place, (stored, value)) in cells.iter().enumerate() {
                let judged = Condemned::judge(space, stored, value, now)?;
                condemned.extend(judged.map(|cell| (place, cell)));
            }
            condemned.retain(|(_, cell)| cell.may_go(&self.spaces));
            self.remove(link, space, condemned, floor, &mut swept).await?;
        }
        Ok(swept)
    }

    /// Removes cells of one partition, which are given with their places there.
    async fn remove(
        self: &Arc<Self>,
        link: &Arc<Link>,
        space: &Arc<Space>,
        condemned: Vec<(usize, Condemned)>,
        floor: Time,
        swept: &mut Swept,
    ) -> Result<()> {
        if space.record.spec.kind == SpaceKind::Home {
            let condemned: Vec<Condemned> = condemned.into_iter().map(|(_, cell)| cell).collect();
            let mut rest = &condemned[..];
            while !rest.is_empty() {
                let mut bytes = 0;
                let fits = rest.iter().take_while(|cell| {
                    bytes += cell.key.len() + cell.value.len();
                    bytes <= BYTES_AT_ONCE
                });
                let (now, later) = rest.split_at(fits.count().max(1));
                self.remove_home(link, space, now, swept).await?;
                rest = later;
            }
            return Ok(());
        }
        for (_, cell) in &condemned {
            self.copy(link, cell).await?;
            if space.merges() && self.remove_merged(link, space, cell, floor).await? {
                cell.count(swept);
            }
        }
        if !space.merges() {
            for neighbours in condemned.chunk_by(|a, b| a.0 + 1 == b.0) {
                self.remove_derived(link, space, neighbours, floor).await?;
                neighbours.iter().for_each(|(_, cell)| cell.count(swept));
            }
        }
        Ok(())
    }

    /// Writes the copies of an invalid cell: always the same rows for the same value.
    async fn copy(&self, link: &Link, cell: &Condemned) -> Result<()> {
        let Some(quarantined) = &cell.quarantined else { return Ok(()) };
        for (stored, value) in &quarantined.cells {
            let (space, partition, sort) = split(stored)?;
            let at = ValueRef::decode(value)?.time.micros() as i64;
            let row = (space as i32, &partition[..], sort, &value[..], at);
            link.blind(&link.statements.put_derived, row).await?;
            self.list_cells(link, space, &partition).await?;
        }
        Ok(())
    }

    /// Removes neighbours by one range, at the time of the latest of them: a tombstone for each would be read by every
    /// sweep. Below the floor all that will ever be there was found, so the range hits nothing else.
    async fn remove_derived(
        &self,
        link: &Link,
        space: &Space,
        neighbours: &[(usize, Condemned)],
        floor: Time,
    ) -> Result<()> {
        let id = space.id().0 as i32;
        let times = neighbours.iter().map(|(_, cell)| Ok(ValueRef::decode(&cell.value)?.time));
        let newest = times.collect::<Result<Vec<Time>>>()?.into_iter().max();
        if let [(_, first), .., (_, last)] = neighbours
            && let Some(newest) = newest.filter(|newest| *newest < floor)
        {
            let (_, partition, from) = split(&first.key)?;
            let to = behind(split(&last.key)?.2);
            let range = (newest.micros() as i64, id, &partition[..], from, &to[..]);
            return link.blind(&link.statements.delete_range, range).await;
        }
        for (_, cell) in neighbours {
            let (_, partition, sort) = split(&cell.key)?;
            let at = ValueRef::decode(&cell.value)?.time.micros() as i64;
            link.blind(&link.statements.delete_derived, (at, id, &partition[..], sort)).await?;
        }
        Ok(())
    }

    async fn remove_merged(
        &self,
        link: &Link,
        space: &Arc<Space>,
        condemned: &Condemned,
        floor: Time,
    ) -> Result<bool> {
        let (_, partition, sort) = split(&condemned.key)?;
        let cell = MergedCell { space, partition: &partition, sort };
        let (base, operands) = cell.to_fold(link, FOLDED_AT_ONCE).await?;
        if operands.len() == FOLDED_AT_ONCE {
            // Too many to go at once: folded, it goes with the next sweep.
            return self.roll_up_cell(link, cell, floor).await.map(|()| false);
        }
        if merged::folded(space, &base, &operands).as_ref() != Some(&condemned.value) {
            return Ok(false);
        }
        self.replace_base(link, cell, &base, None, &operands, floor).await
    }

    /// Removes cells of one partition that are still as they were judged.
    async fn remove_home(
        self: &Arc<Self>,
        link: &Link,
        space: &Space,
        condemned: &[Condemned],
        swept: &mut Swept,
    ) -> Result<()> {
        let Some(first) = condemned.first() else { return Ok(()) };
        let (_, partition, _) = split(&first.key)?;
        let home = Home { bucket: space.record.spec.bucket, partition };
        let _turn = self.turns.take(&home).await?;
        let stamp = self.joined_stamp(link).await?;
        let mut proposal = Proposal {
            tid: stamp.tid(),
            home: &home,
            pending: false,
            writes: Vec::new(),
            expectations: &[],
            looks_at: condemned.iter().map(|cell| &cell.key[..]).collect(),
        };
        let found = self.look(link, &proposal).await?;
        let going: Vec<_> = condemned.iter().filter(|cell| is_same(cell, &found)).collect();
        let mut copies = Vec::new();
        for invalid in going.iter().filter_map(|cell| cell.quarantined.as_ref()) {
            let copy = |(key, value): &'_ (Vec<u8>, Vec<u8>)| (key.clone(), value.clone());
            copies.extend(invalid.cells.iter().map(copy));
        }
        copies.sort_unstable();
        proposal.pending = !copies.is_empty();
        proposal.writes = going.iter().map(|cell| (&cell.key[..], StoredWrite::Delete)).collect();
        if going.is_empty() {
            return Ok(());
        }
        let judge = |found: &Found, _: &[Option<Vec<u8>>]| {
            let changed = going.iter().any(|cell| !is_same(cell, found));
            let refusal = Refusal { condition: Condition::Expectation(0), found: None };
            Ok(Vec::from_iter(changed.then_some(refusal)))
        };
        let dependents = copies.iter().map(|(key, value)| (&key[..], StoredWrite::Put(value)));
        let intent = Intent {
            tid: proposal.tid,
            home: home.clone(),
            claims: Vec::new(),
            records: Recorded::Here(Vec::new()),
        };
        let dependents = dependents.collect();
        let mut errand =
            Errand { proposal, intent, dependents, leaving: Vec::new(), judge: &judge };
        let decided = if errand.proposal.pending {
            let (decided, end) = self.carry_out(link, &mut errand).await;
            self.close(link, &errand.intent, end).await;
            decided?
        } else {
            self.decide(link, &errand.proposal, None, &|found| judge(found, &[])).await?
        };
        if matches!(decided, Decision::Took) {
            going.iter().for_each(|cell| cell.count(swept));
        }
        Ok(())
    }

    /// A stamp for a commit of the engine's own.
    async fn joined_stamp(&self, link: &Link) -> Result<Stamp> {
        let mut stamp = self.stamps.stamp(self.node);
        while self.join(link, stamp.tid()).await? == Leave::TooEarly {
            stamp = self.stamps.stamp(self.node);
        }
        Ok(stamp)
    }
}

fn is_same(cell: &Condemned, found: &Found) -> bool {
    found.cell(&cell.key) == Some(&cell.value[..])
}

fn split(stored: &[u8]) -> Result<(u32, Vec<u8>, &[u8])> {
    let bad = |bad| Error::internal("a stored key is damaged").because(bad);
    let cell = key::split_cell_key(stored).map_err(bad)?;
    Ok((cell.space, cell.partition().map_err(bad)?.into_owned(), cell.sort))
}
