//! Reading through the iterator stack, with visibility on, beside RocksDB's own iterators.
//!
//! Both stores are packed into one sorted run first: the number of runs, which is chance,
//! would decide more than anything else. The bare engine stores and checks no visibility.

use super::{Ground, Sides, Turn, turns};
use crate::Result;
use crate::cells::{self, Cell, PARTITION_CELLS, mix};
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter};

pub const PREFIX: &str = "spine.prefix_scan";
pub const FULL: &str = "spine.full_scan";

const ROUNDS: usize = 5;

/// What was read, so that nobody can skip reading it.
#[derive(Default)]
struct Sum {
    cells: usize,
    bytes: u64,
}

impl Sum {
    fn touch(&mut self, sort: &[u8], value: &[u8]) {
        self.cells += 1;
        for end in [sort.last(), value.last()].into_iter().flatten() {
            self.bytes += u64::from(*end);
        }
    }
}

pub fn measure(ground: &Ground<'_>, sides: &Sides, report: &mut Report) -> Result<()> {
    if !report.wants(&[PREFIX, FULL]) {
        return Ok(());
    }
    sides.ours.compact()?;
    sides.bare.compact();
    let partitions = ground.amounts.cells / PARTITION_CELLS;
    let scans = ground.amounts.prefix_scans;
    if report.wants(&[PREFIX]) {
        let costs = best(|turn, round| match turn {
            Turn::Ours => prefixes_ours(sides, partitions, scans, round),
            Turn::Bare => prefixes_bare(sides, partitions, scans, round),
        })?;
        report.add(&Figure::rates(PREFIX, "scans/s", scans, costs).bar(0.6));
    }
    if report.wants(&[FULL]) {
        let costs = best(|turn, _| match turn {
            Turn::Ours => full_ours(sides, partitions),
            Turn::Bare => full_bare(sides, partitions),
        })?;
        report.add(&Figure::rates(FULL, "cells/s", ground.amounts.cells, costs).bar(0.5));
    }
    Ok(())
}

/// The best of the rounds, after one that only warms the caches.
fn best(mut run: impl FnMut(Turn, usize) -> Result<Cost>) -> Result<[Cost; 2]> {
    let mut best = [Cost::default(); 2];
    for (index, turn) in turns(ROUNDS + 1).enumerate() {
        let round = index / 2;
        let cost = run(turn, round)?;
        let so_far = &mut best[turn as usize];
        *so_far = if round <= 1 { cost } else { so_far.least(cost) };
    }
    Ok(best)
}

/// The same partitions for both sides in one round.
fn chosen(partitions: usize, scans: usize, round: usize) -> impl Iterator<Item = Cell> {
    (0..scans).map(move |scan| {
        let partition = mix(round * scans + scan) as usize % partitions;
        Cell::numbered(partition * PARTITION_CELLS)
    })
}

fn prefixes_ours(sides: &Sides, partitions: usize, scans: usize, round: usize) -> Result<Cost> {
    let mut sum = Sum::default();
    let meter = Meter::start();
    sides.ours.runtime().block_on(async {
        for cell in chosen(partitions, scans, round) {
            let mut found = sides.ours.scan(cell.partition()).await?;
            while let Some(block) = found.next_block().await? {
                block.iter().for_each(|cell| sum.touch(cell.sort(), cell.payload()));
            }
        }
        Result::<()>::Ok(())
    })?;
    finish(&meter, &sum, cells::visible_in(scans))
}

fn prefixes_bare(sides: &Sides, partitions: usize, scans: usize, round: usize) -> Result<Cost> {
    let mut sum = Sum::default();
    let meter = Meter::start();
    for cell in chosen(partitions, scans, round) {
        sides.bare.scan(cell.partition(), |key, value| sum.touch(key, value))?;
    }
    finish(&meter, &sum, scans * PARTITION_CELLS)
}

fn full_ours(sides: &Sides, partitions: usize) -> Result<Cost> {
    let mut sum = Sum::default();
    let meter = Meter::start();
    sides.ours.runtime().block_on(async {
        let mut found = sides.ours.scan_cells().await?;
        while let Some(block) = found.next_block().await? {
            block.iter().for_each(|cell| sum.touch(cell.sort(), cell.payload()));
        }
        Result::<()>::Ok(())
    })?;
    finish(&meter, &sum, cells::visible_in(partitions))
}

fn full_bare(sides: &Sides, partitions: usize) -> Result<Cost> {
    let mut sum = Sum::default();
    let meter = Meter::start();
    sides.bare.scan_all(|key, value| sum.touch(key, value))?;
    finish(&meter, &sum, partitions * PARTITION_CELLS)
}

fn finish(meter: &Meter, sum: &Sum, expected: usize) -> Result<Cost> {
    let cost = meter.read();
    std::hint::black_box(sum.bytes);
    if sum.cells != expected {
        return Err(format!("read {} cells, not {expected}", sum.cells).into());
    }
    Ok(cost)
}
