//! One derived cell, and a partition of a hundred, beside the `SELECT` of the same.

use keyaki::cell::{Time, Value};
use keyaki::engine::{Commit, Write};

use super::Ground;
use super::bare::Bare;
use super::items::{name, payload};
use super::ours::Ours;
use super::race::{Act, race};
use crate::Result;
use crate::cells::mix;
use crate::figure::Report;

const READ: &str = "cql.read";
const SCAN: &str = "cql.scan";
const PARTITIONS: usize = 50;
const PARTITION_CELLS: usize = 100;
const LONGER_MAX: f64 = 1.3;
/// Numbers of partitions that no other part of the suite uses.
const FIRST: usize = 1 << 41;

/// Reads one cell, whose number is given.
struct Reading<'a, S>(&'a S);

/// Reads one partition, whose number is given.
struct Scanning<'a, S>(&'a S);

fn place(number: usize) -> ([u8; 16], [u8; 16]) {
    let cell = number % (PARTITIONS * PARTITION_CELLS);
    (name(FIRST + cell / PARTITION_CELLS), name(cell % PARTITION_CELLS))
}

fn length() -> usize {
    Value::open(&payload(0)).encoded_len()
}

fn check(found: usize, expected: usize) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("read {found}, not {expected}").into()),
    }
}

impl Act<usize> for Reading<'_, Ours> {
    async fn act(&self, number: &mut usize) -> Result<()> {
        let (partition, sort) = place(*number);
        check(self.0.read(&partition, &sort).await?, length())
    }
}

impl Act<usize> for Reading<'_, Bare> {
    async fn act(&self, number: &mut usize) -> Result<()> {
        let (partition, sort) = place(*number);
        check(self.0.read(&partition, &sort).await?, length())
    }
}

impl Act<usize> for Scanning<'_, Ours> {
    async fn act(&self, number: &mut usize) -> Result<()> {
        let (cells, bytes) = self.0.scan(&place(*number).0).await?;
        check(cells, PARTITION_CELLS)?;
        check(bytes, PARTITION_CELLS * length())
    }
}

impl Act<usize> for Scanning<'_, Bare> {
    async fn act(&self, number: &mut usize) -> Result<()> {
        let (rows, bytes) = self.0.scan(&place(*number).0).await?;
        check(rows, PARTITION_CELLS)?;
        check(bytes, PARTITION_CELLS * length())
    }
}

pub async fn measure(ground: &Ground, report: &mut Report) -> Result<()> {
    if !report.wants(&[READ, SCAN]) {
        return Ok(());
    }
    load(ground).await?;
    let (ours, bare) = (&ground.ours, &ground.bare);
    compare(ground, READ, &Reading(ours), &Reading(bare), report).await?;
    compare(ground, SCAN, &Scanning(ours), &Scanning(bare), report).await
}

async fn compare(
    ground: &Ground,
    bench: &'static str,
    ours: &impl Act<usize>,
    bare: &impl Act<usize>,
    report: &mut Report,
) -> Result<()> {
    if !report.wants(&[bench]) {
        return Ok(());
    }
    // Half of them one at a time, half in a crowd; the same places on both sides.
    let chosen = || (0..ground.amounts.reads * 2).map(|n| mix(n) as usize >> 1).collect::<Vec<_>>();
    // A first time only to warm up.
    race(ours, &mut chosen(), bare, &mut chosen()).await?;
    let raced = race(ours, &mut chosen(), bare, &mut chosen()).await?;
    report.add(&raced.figure(bench).bar(1.0 / LONGER_MAX));
    Ok(())
}

async fn load(ground: &Ground) -> Result<()> {
    for partition in 0..PARTITIONS {
        let cells = (0..PARTITION_CELLS).map(|cell| place(partition * PARTITION_CELLS + cell));
        let cells: Vec<_> = cells.collect();
        let bytes = payload(partition);
        let put = Write::Put(Value::open(&bytes));
        let fill = |commit: &mut Commit| {
            for (partition, sort) in &cells {
                commit.dependent(ground.ours.entries, partition, sort, put);
            }
        };
        ground.ours.commit(b"loader", fill).await?;
        let mut value = Vec::new();
        Value::open(&bytes).encode(Time::ZERO, &mut value);
        let rows: Vec<_> = cells.iter().map(|(_, sort)| (sort.to_vec(), value.clone())).collect();
        ground.bare.insert_all(&place(partition * PARTITION_CELLS).0, &rows).await?;
    }
    Ok(())
}
