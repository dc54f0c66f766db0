//! Chunks of sorted cells, each in a narrow range somewhere, into stores that are full already.

use super::ingest::Loaded;
use super::{Ground, Turn, turns};
use crate::Result;
use crate::cells;
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter, rest};

pub const BULK: &str = "spine.bulk";
pub const VERSUS_PUTS: &str = "spine.bulk_vs_puts";

const CHUNK_CELLS: usize = 100_000;

pub fn measure(ground: &Ground<'_>, loaded: &Loaded, report: &mut Report) -> Result<()> {
    if !report.wants(&[BULK, VERSUS_PUTS]) {
        return Ok(());
    }
    let mut costs = [Cost::default(); 2];
    for (index, turn) in turns(ground.amounts.chunks).enumerate() {
        let chunk = cells::chunk(index / 2, CHUNK_CELLS);
        let (ours, bare) = (&loaded.sides.ours, &loaded.sides.bare);
        let meter = Meter::start();
        match turn {
            Turn::Ours => ours.load(|draft| {
                draft.by_bulk();
                chunk.iter().for_each(|cell| ours.put(draft, cell));
            })?,
            Turn::Bare => bare.bulk(&chunk)?,
        }
        let wall = meter.wall();
        rest();
        costs[turn as usize].add(Cost { wall, cpu: meter.cpu() });
    }
    let cells = ground.amounts.chunks * CHUNK_CELLS;
    report.add(&Figure::rates(BULK, "cells/s", cells, costs).bar(0.6));
    let puts = loaded.ours.rate(ground.amounts.cells);
    report.add(&Figure::more(VERSUS_PUTS, "cells/s", costs[0].rate(cells), puts).bar(3.0));
    Ok(())
}
