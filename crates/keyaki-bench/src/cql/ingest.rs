//! Chunks of derived cells, ten to a partition, all partitions new: as a graph's elements come in. Each chunk of ours
//! is one commit by the bulk route, and counts until its intent is gone.

use futures_util::{StreamExt, TryStreamExt, stream};
use keyaki::cell::{Time, Value};
use keyaki::engine::{Route, Write};

use super::Ground;
use super::items::{name, payload};
use crate::Result;
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter};

const INGEST: &str = "cql.ingest";
const BATCHED: &str = "cql.ingest_batched";
const CHUNK_CELLS: usize = 2_000;
const PARTITION_CELLS: usize = 10;
const RATE_LEAST: f64 = 0.6;
/// Requests of the bare driver under way at once; the engine's own number, too.
const IN_FLIGHT: usize = 64;
/// Numbers of partitions that no other part of the suite uses.
const FIRST: usize = 1 << 40;

/// A partition's cells: sort keys and payloads.
struct Part {
    partition: [u8; 16],
    cells: Vec<(Vec<u8>, Vec<u8>)>,
}

fn chunk(number: usize) -> Vec<Part> {
    let parts = CHUNK_CELLS / PARTITION_CELLS;
    let part = |part: usize| {
        let number = FIRST + number * parts + part;
        let cell = |cell: usize| (name(cell).to_vec(), payload(number * 16 + cell).to_vec());
        Part { partition: name(number), cells: (0..PARTITION_CELLS).map(cell).collect() }
    };
    (0..parts).map(part).collect()
}

pub async fn measure(ground: &Ground, report: &mut Report) -> Result<()> {
    if !report.wants(&[INGEST, BATCHED]) {
        return Ok(());
    }
    let (mut ours, mut bare, mut batched) = Default::default();
    for number in 0..=ground.amounts.chunks {
        // Bare rows carry the engine's header, and a second chunk has its own partitions.
        let (parts, others) = (chunk(number), chunk(number + (1 << 20)));
        let costs = [
            ingest_ours(ground, &parts).await?,
            insert_singly(ground, &with_headers(parts)).await?,
            insert_batched(ground, &with_headers(others)).await?,
        ];
        // The first only warms up.
        if number > 0 {
            for (sum, cost) in [&mut ours, &mut bare, &mut batched].into_iter().zip(costs) {
                Cost::add(sum, cost);
            }
        }
    }
    let cells = ground.amounts.chunks * CHUNK_CELLS;
    report.add(&Figure::rates(INGEST, "cells/s", cells, [ours, bare]).bar(RATE_LEAST));
    report.add(&Figure::rates(BATCHED, "cells/s", cells, [ours, batched]).bar(0.0));
    Ok(())
}

async fn ingest_ours(ground: &Ground, parts: &[Part]) -> Result<Cost> {
    let (ours, meter) = (&ground.ours, Meter::start());
    ours.commit(b"loader", |commit| {
        commit.set_route(Route::Bulk);
        for part in parts {
            for (sort, payload) in &part.cells {
                let put = Write::Put(Value::open(payload));
                commit.dependent(ours.entries, &part.partition, sort, put);
            }
        }
    })
    .await?;
    ours.finish().await?;
    Ok(meter.read())
}

async fn insert_singly(ground: &Ground, parts: &[Part]) -> Result<Cost> {
    let meter = Meter::start();
    let rows = parts.iter().flat_map(|part| part.cells.iter().map(|cell| (&part.partition, cell)));
    let insert = |(partition, (sort, value)): (&'_ [u8; 16], &'_ (Vec<u8>, Vec<u8>))| {
        let bare = ground.bare.clone();
        let (partition, sort, value) = (*partition, sort.clone(), value.clone());
        async move { bare.insert(&partition, &sort, &value).await }
    };
    let inserts: Vec<_> = rows.map(insert).collect();
    stream::iter(inserts).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
    Ok(meter.read())
}

async fn insert_batched(ground: &Ground, parts: &[Part]) -> Result<Cost> {
    let meter = Meter::start();
    let inserts: Vec<_> =
        parts.iter().map(|part| ground.bare.insert_all(&part.partition, &part.cells)).collect();
    stream::iter(inserts).buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
    Ok(meter.read())
}

fn with_headers(mut parts: Vec<Part>) -> Vec<Part> {
    for (_, value) in parts.iter_mut().flat_map(|part| &mut part.cells) {
        let payload = std::mem::take(value);
        Value::open(&payload).encode(Time::ZERO, value);
    }
    parts
}
