//! Splits cover a space once, and evenly however its keys lie.

use std::collections::BTreeSet;

use super::Trial;
use super::steps::*;
use crate::engine::{Engine, ScanRequest, SpaceId};
use crate::testing::random::Random;

/// How big a space is decides how an engine measures it.
const SMALL: Size = Size { cells: 1_200, payload_bytes: 50 };
const LARGE: Size = Size { cells: 9_000, payload_bytes: 1_000 };

#[derive(Clone, Copy)]
struct Size {
    cells: usize,
    payload_bytes: usize,
}

/// Where the cell of this number lies: partition and sort key.
type Layout = fn(usize, Size) -> (Vec<u8>, Vec<u8>);

fn number(index: usize) -> Vec<u8> {
    (index as u32).to_be_bytes().to_vec()
}

fn one_partition_each(index: usize, _: Size) -> (Vec<u8>, Vec<u8>) {
    (number(index), b"cell".to_vec())
}

fn one_partition_for_most(index: usize, size: Size) -> (Vec<u8>, Vec<u8>) {
    match index < size.cells / 10 {
        true => (number(index), b"cell".to_vec()),
        false => (b"m".to_vec(), number(index)),
    }
}

/// A prefix far longer than what tells the keys apart, and most cells near one end.
fn long_common_prefixes(index: usize, size: Size) -> (Vec<u8>, Vec<u8>) {
    let branch = if index < size.cells / 20 { b"a" } else { b"b" };
    let sort = [&[b's'; 200][..], branch, &[b't'; 100], &number(index)].concat();
    (vec![0; 60], sort)
}

pub async fn splits_cover_small_spaces_evenly(t: Trial) {
    for layout in [one_partition_each, one_partition_for_most, long_common_prefixes] {
        assert_even(&t, layout, SMALL).await;
    }
}

pub async fn splits_cover_large_spaces_evenly(t: Trial) {
    assert_even(&t, one_partition_each, LARGE).await;
}

pub async fn splits_are_even_where_one_partition_holds_most(t: Trial) {
    assert_even(&t, one_partition_for_most, LARGE).await;
}

pub async fn splits_are_even_under_long_common_prefixes(t: Trial) {
    assert_even(&t, long_common_prefixes, LARGE).await;
}

async fn assert_even(t: &Trial, layout: Layout, size: Size) {
    let engine = t.engine().as_ref();
    // Neighbours must neither be counted nor shown.
    let (before, space, after) =
        (derived(engine).await, derived(engine).await, derived(engine).await);
    write(engine, before, one_partition_each, SMALL).await;
    write(engine, space, layout, size).await;
    write(engine, after, one_partition_each, SMALL).await;
    t.settle().await;
    for compacted in [false, true] {
        if compacted {
            engine.compact(space).await.unwrap();
        }
        for parts in [2, 5, 16] {
            let found = cells_of_splits(engine, space, parts).await;
            assert!(found.len() <= parts, "{} parts, {parts} asked", found.len());
            let cells: BTreeSet<_> = found.iter().flatten().cloned().collect();
            let expected: BTreeSet<_> = (0..size.cells).map(|index| layout(index, size)).collect();
            assert_eq!(found.iter().map(Vec::len).sum::<usize>(), size.cells, "each cell once");
            assert!(cells == expected, "all cells of the space and no others");
            let largest = found.iter().map(Vec::len).max().unwrap_or(0);
            assert!(largest * parts <= 2 * size.cells, "{largest} in one of {parts} parts");
        }
    }
}

async fn write(engine: &dyn Engine, space: SpaceId, layout: Layout, size: Size) {
    const STEP: usize = 1_000;
    let mut random = Random::seeded(5);
    for first in (0..size.cells).step_by(STEP) {
        let values: Vec<Vec<u8>> = (0..STEP).map(|_| random.bytes(size.payload_bytes)).collect();
        done(engine, b"p", |c| {
            for index in first..(first + STEP).min(size.cells) {
                let (partition, sort) = layout(index, size);
                c.dependent(space, &partition, &sort, put(&values[index - first]));
            }
        })
        .await;
    }
}

/// The cells of each split, partition and sort key.
async fn cells_of_splits(engine: &dyn Engine, space: SpaceId, parts: usize) -> Vec<Vec<Pair>> {
    let mut found = Vec::new();
    for split in engine.splits(space, parts).await.unwrap() {
        let block = block(engine, ScanRequest::split(space, split)).await;
        found.push(
            block
                .iter()
                .map(|cell| (cell.partition().into_owned(), cell.sort().to_vec()))
                .collect(),
        );
    }
    found
}

pub async fn more_parts_than_cells_are_no_trouble(t: Trial) {
    let engine = t.engine().as_ref();
    let space = derived(engine).await;
    for cells in 0..4 {
        for parts in [0, 1, 3, 100] {
            let found = cells_of_splits(engine, space, parts).await;
            assert!(found.len() <= parts.max(1), "{} parts, {parts} asked", found.len());
            assert_eq!(found.iter().map(Vec::len).sum::<usize>(), cells);
            let largest = found.iter().map(Vec::len).max().unwrap_or(0);
            assert!(parts < cells || largest <= 1, "each cell in a part of its own");
        }
        done(engine, b"p", |c| c.dependent(space, b"d", &[cells as u8], put(b"x"))).await;
        t.settle().await;
    }
}

pub async fn a_split_is_read_both_ways_and_within_a_limit(t: Trial) {
    let engine = t.engine().as_ref();
    let space = derived(engine).await;
    write(engine, space, one_partition_for_most, SMALL).await;
    t.settle().await;
    for split in engine.splits(space, 3).await.unwrap() {
        let request = ScanRequest::split(space, split);
        let forward = pairs(engine, request.clone()).await;
        let mut backward = pairs(engine, request.clone().backward()).await;
        backward.reverse();
        assert_eq!(forward, backward);
        assert_eq!(pairs(engine, request.limit(7)).await, forward[..7]);
    }
}
