//! Blind puts, in batches of a thousand, from one caller who waits for each to be durable.

use super::{Ground, Sides, Turn, turns};
use crate::Result;
use crate::cells::{self, Cell};
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter, peak_memory_bytes, reset_peak_memory};

pub const INGEST: &str = "spine.ingest";
pub const RSS: &str = "spine.rss";

pub const BATCH_CELLS: usize = 1_000;
const ROUNDS: usize = 2;
/// What a process needs beside cache and memtables: code, stacks, the buffers of compactions.
const BASE_BYTES: usize = 96 << 20;

/// Two sides that hold the same cells.
pub struct Loaded {
    pub sides: Sides,
    /// What the puts cost ours.
    pub ours: Cost,
}

pub fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<Loaded> {
    let mut sides = ground.sides()?;
    let mut best = [None::<Cost>; 2];
    let mut peaks = [0; 2];
    for (index, turn) in turns(ROUNDS).enumerate() {
        if index == 2 {
            sides = ground.sides()?;
        }
        reset_peak_memory()?;
        let cost = match turn {
            Turn::Ours => load_ours(&sides, ground.amounts.cells)?,
            Turn::Bare => load_bare(&sides, ground.amounts.cells)?,
        };
        let side = turn as usize;
        // What the allocator keeps from the first round would count against the second.
        if index < 2 {
            peaks[side] = peak_memory_bytes()?;
        }
        best[side] = Some(best[side].map_or(cost, |so_far| so_far.least(cost)));
    }
    let [ours, bare] = best.map(Option::unwrap_or_default);
    report.add(&Figure::rates(INGEST, "cells/s", ground.amounts.cells, [ours, bare]).bar(0.6));
    report.add(&peak(ground, peaks));
    Ok(Loaded { sides, ours })
}

fn load_ours(sides: &Sides, count: usize) -> Result<Cost> {
    let meter = Meter::start();
    let mut numbers = cells::scattered(count);
    for _ in 0..count / BATCH_CELLS {
        let batch: Vec<Cell> = numbers.by_ref().take(BATCH_CELLS).map(Cell::numbered).collect();
        sides.ours.load(|draft| {
            for cell in &batch {
                sides.ours.put(draft, cell);
            }
        })?;
    }
    let wall = meter.wall();
    sides.ours.settle()?;
    Ok(Cost { wall, cpu: meter.cpu() })
}

fn load_bare(sides: &Sides, count: usize) -> Result<Cost> {
    let meter = Meter::start();
    let mut numbers = cells::scattered(count);
    for _ in 0..count / BATCH_CELLS {
        sides.bare.put(numbers.by_ref().take(BATCH_CELLS).map(Cell::numbered))?;
    }
    let wall = meter.wall();
    sides.bare.settle()?;
    Ok(Cost { wall, cpu: meter.cpu() })
}

fn peak(ground: &Ground<'_>, [ours, bare]: [u64; 2]) -> Figure {
    let settings = &ground.settings;
    let allowed = settings.cache_bytes + settings.write_memory_bytes + BASE_BYTES;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Figure::less(RSS, "MiB", mib(ours), mib(allowed as u64))
        .note("bare_mib", mib(bare))
        .note("cache_mib", mib(settings.cache_bytes as u64))
        .note("writes_mib", mib(settings.write_memory_bytes as u64))
        .note("base_mib", mib(BASE_BYTES as u64))
}
