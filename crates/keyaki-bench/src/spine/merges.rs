//! Increments of sums, in commits of a thousand, beside RocksDB's merge operator.
//!
//! What is read back in the end must be the sum of all that was added.

use super::ingest::BATCH_CELLS;
use super::{Ground, Sides, Turn, turns};
use crate::Result;
use crate::cells::{Cell, mix};
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter};

const MERGE: &str = "spine.merge";
const ROUNDS: usize = 2;

pub fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[MERGE]) {
        return Ok(());
    }
    let amounts = &ground.amounts;
    let mut best = [None::<Cost>; 2];
    for turn in turns(ROUNDS) {
        let sides = ground.sides()?;
        let cost = match turn {
            Turn::Ours => add_ours(&sides, amounts.increments, amounts.sums)?,
            Turn::Bare => add_bare(&sides, amounts.increments, amounts.sums)?,
        };
        let so_far = &mut best[turn as usize];
        *so_far = Some(so_far.map_or(cost, |so_far| so_far.least(cost)));
    }
    let costs = best.map(Option::unwrap_or_default);
    report.add(&Figure::rates(MERGE, "merges/s", amounts.increments, costs).bar(0.6));
    Ok(())
}

/// Increment number `number`: which sum, and by how much.
fn increment(number: usize, sums: usize) -> (Cell, i64) {
    (Cell::numbered(mix(number) as usize % sums), number as i64 % 7 + 1)
}

fn add_ours(sides: &Sides, count: usize, sums: usize) -> Result<Cost> {
    let meter = Meter::start();
    let ours = &sides.ours;
    for first in (0..count).step_by(BATCH_CELLS) {
        ours.load(|draft| {
            for number in first..first + BATCH_CELLS {
                let (cell, amount) = increment(number, sums);
                ours.increment(draft, &cell, amount);
            }
        })?;
    }
    let wall = meter.wall();
    ours.settle()?;
    let cost = Cost { wall, cpu: meter.cpu() };
    let mut total = 0;
    ours.runtime().block_on(async {
        let mut found = ours.scan_sums().await?;
        while let Some(block) = found.next_block().await? {
            for cell in block.iter() {
                total += i64::from_be_bytes(cell.payload().try_into()?);
            }
        }
        Result::<()>::Ok(())
    })?;
    check(total, count)?;
    Ok(cost)
}

fn add_bare(sides: &Sides, count: usize, sums: usize) -> Result<Cost> {
    let meter = Meter::start();
    for first in (0..count).step_by(BATCH_CELLS) {
        let batch = first..first + BATCH_CELLS;
        sides.bare.increment(batch.map(|number| increment(number, sums)))?;
    }
    let wall = meter.wall();
    sides.bare.settle()?;
    let cost = Cost { wall, cpu: meter.cpu() };
    let mut total = 0;
    sides.bare.scan_all(|_, value| {
        total += value.try_into().map_or(0, i64::from_be_bytes);
    })?;
    check(total, count)?;
    Ok(cost)
}

fn check(total: i64, count: usize) -> Result<()> {
    let expected: i64 = (0..count as i64).map(|number| number % 7 + 1).sum();
    match total == expected {
        true => Ok(()),
        false => Err(format!("the sums add up to {total}, not {expected}").into()),
    }
}
