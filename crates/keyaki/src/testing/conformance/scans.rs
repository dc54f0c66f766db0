//! Scans: order, bounds, directions, limits, paging, and what they see while others write.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use super::Trial;
use super::steps::*;
use crate::cell::key::KEY_BYTES_MAX;
use crate::engine::{Direction, Engine, ScanRequest, SpaceId, Write};
use crate::error::Kind;
use crate::testing::random::Random;

/// In memcmp order: prefixes of one another, zero bytes, the bytes that escapes are made of.
const AWKWARD: [&[u8]; 14] = [
    b"",
    b"\0",
    b"\0\0",
    b"\0\x01",
    b"\x01",
    b"\x01\x01",
    b"\x01\x02",
    b"\x02",
    b"a",
    b"a\0",
    b"a\0b",
    b"a\x01",
    b"ab",
    b"\xff\xff",
];

/// Every awkward sort key in every awkward partition, each with a payload of its own.
async fn write_awkward(engine: &dyn Engine, space: SpaceId) {
    for partition in AWKWARD.iter().rev() {
        done(engine, partition, |c| {
            for sort in AWKWARD.iter().rev() {
                c.write(space, sort, put(&[*partition, b"/", sort].concat()));
            }
        })
        .await;
    }
}

fn awkward_in(partition: &[u8]) -> Vec<Pair> {
    AWKWARD.iter().map(|sort| (sort.to_vec(), [partition, b"/", sort].concat())).collect()
}

pub async fn cells_come_in_memcmp_order_of_their_sort_keys(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    let mut random = Random::seeded(11);
    let mut keys: Vec<Vec<u8>> = AWKWARD.iter().map(|key| key.to_vec()).collect();
    for _ in 0..500 {
        let length = random.below(9);
        keys.push((0..length).map(|_| random.pick(&[0, 1, 2, 0x7f, 0xfe, 0xff])).collect());
    }
    done(engine, b"p", |c| {
        for key in &keys.iter().collect::<std::collections::HashSet<_>>() {
            c.write(space, key, put(b""));
        }
    })
    .await;
    keys.sort();
    keys.dedup();
    assert_eq!(sorts(engine, ScanRequest::partition(space, b"p")).await, keys);
    keys.reverse();
    assert_eq!(sorts(engine, ScanRequest::partition(space, b"p").backward()).await, keys);
}

pub async fn partitions_never_bleed_into_each_other(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, neighbour) = (home(engine).await, home(engine).await);
    write_awkward(engine, space).await;
    for partition in AWKWARD {
        let mut expected = awkward_in(partition);
        assert_eq!(pairs(engine, ScanRequest::partition(space, partition)).await, expected);
        expected.reverse();
        let backward = ScanRequest::partition(space, partition).backward();
        assert_eq!(pairs(engine, backward).await, expected);
        for (sort, value) in expected {
            assert_eq!(payload(engine, space, partition, &sort).await, Some(value));
        }
    }
    for partition in [&b"b"[..], b"\x01\x03", b"a\0\0", b"\xff"] {
        assert!(sorts(engine, ScanRequest::partition(space, partition)).await.is_empty());
    }
    assert!(sorts(engine, ScanRequest::partition(neighbour, b"a")).await.is_empty());
}

pub async fn scans_tell_the_partition_they_are_in(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_awkward(engine, space).await;
    for partition in AWKWARD {
        let block = block(engine, ScanRequest::partition(space, partition)).await;
        assert!(block.iter().all(|cell| *cell.partition() == *partition));
    }
}

pub async fn every_combination_of_bounds_is_right(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_awkward(engine, space).await;
    let all = awkward_in(b"a");
    let mut bounds: Vec<Bound<Vec<u8>>> = vec![Unbounded];
    for key in AWKWARD.iter().copied().chain([&b"between"[..]]) {
        bounds.extend([Included(key.to_vec()), Excluded(key.to_vec())]);
    }
    for from in &bounds {
        for to in &bounds {
            let inside = |pair: &&Pair| above(from, &pair.0) && below(to, &pair.0);
            let mut expected: Vec<Pair> = all.iter().filter(inside).cloned().collect();
            let request = ScanRequest::range(space, b"a", from.clone(), to.clone());
            assert_eq!(pairs(engine, request.clone()).await, expected, "{request:?}");
            expected.reverse();
            let request = request.backward();
            assert_eq!(pairs(engine, request.clone()).await, expected, "{request:?}");
        }
    }
}

fn above(from: &Bound<Vec<u8>>, key: &[u8]) -> bool {
    match from {
        Unbounded => true,
        Included(bound) => key >= bound.as_slice(),
        Excluded(bound) => key > bound.as_slice(),
    }
}

fn below(to: &Bound<Vec<u8>>, key: &[u8]) -> bool {
    match to {
        Unbounded => true,
        Included(bound) => key <= bound.as_slice(),
        Excluded(bound) => key < bound.as_slice(),
    }
}

pub async fn a_prefix_finds_what_starts_with_it(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_awkward(engine, space).await;
    for prefix in AWKWARD.iter().copied().chain([&b"\xff"[..]]) {
        let mut expected = awkward_in(b"a\0");
        expected.retain(|(sort, _)| sort.starts_with(prefix));
        let request = ScanRequest::prefix(space, b"a\0", prefix);
        assert_eq!(pairs(engine, request).await, expected, "{prefix:?}");
    }
}

/// Cells of about 300 bytes, numbered.
async fn write_numbered(engine: &dyn Engine, space: SpaceId, cells: u32) {
    done(engine, b"p", |c| {
        for cell in 0..cells {
            c.write(space, &cell.to_be_bytes(), put(&[7; 300]));
        }
    })
    .await;
}

pub async fn a_limit_ends_a_scan_exactly(t: Trial) {
    const CELLS: u32 = 2_000;
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_numbered(engine, space, CELLS).await;
    let mut rising: Vec<Vec<u8>> = (0..CELLS).map(|cell| cell.to_be_bytes().to_vec()).collect();
    for direction in [Direction::Forward, Direction::Backward] {
        if direction == Direction::Backward {
            rising.reverse();
        }
        for limit in [0, 1, 63, 64, 65, 1_000, 1_999, 2_000, 2_001, usize::MAX] {
            let mut request = ScanRequest::partition(space, b"p").limit(limit);
            request.direction = direction;
            let expected = &rising[..limit.min(CELLS as usize)];
            assert_eq!(sorts(engine, request).await, expected, "limit {limit} {direction:?}");
        }
    }
}

pub async fn pages_resume_where_they_ended_both_ways(t: Trial) {
    const CELLS: u32 = 500;
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_numbered(engine, space, CELLS).await;
    for page in [1, 7, 64, 499] {
        for direction in [Direction::Forward, Direction::Backward] {
            let mut seen = paged(engine, space, direction, page).await;
            if direction == Direction::Backward {
                seen.reverse();
            }
            let all = (0..CELLS).map(|cell| cell.to_be_bytes().to_vec());
            assert_eq!(seen, all.collect::<Vec<_>>(), "pages of {page} {direction:?}");
        }
    }
}

/// Reads a partition page by page, each beginning behind the last cell of the one before.
async fn paged(
    engine: &dyn Engine,
    space: SpaceId,
    direction: Direction,
    page: usize,
) -> Vec<Vec<u8>> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    loop {
        let after = seen.last().cloned().map_or(Unbounded, Excluded);
        let mut request = match direction {
            Direction::Forward => ScanRequest::range(space, b"p", after, Unbounded),
            Direction::Backward => ScanRequest::range(space, b"p", Unbounded, after).backward(),
        };
        request.limit = Some(page);
        let found = sorts(engine, request).await;
        assert!(
            found.is_empty() || found.first() != seen.last(),
            "a page began with the last cell"
        );
        let ended = found.len() < page;
        seen.extend(found);
        if ended {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

pub async fn pages_miss_nothing_while_writers_run(t: Trial) {
    const CELLS: u32 = 600;
    let space = home(t.engine().as_ref()).await;
    write_numbered(t.engine().as_ref(), space, CELLS).await;
    // Every third cell comes and goes; the others stay, and each page walk meets them once.
    together(4, |index| {
        let engine = t.engine().clone();
        async move {
            let engine = engine.as_ref();
            match index {
                0 => toggle_thirds(engine, space, CELLS).await,
                _ => {
                    for round in 0..8 {
                        let backward = (index + round) % 2 == 0;
                        assert_steady(engine, space, CELLS, backward).await;
                    }
                }
            }
        }
    })
    .await;
}

async fn toggle_thirds(engine: &dyn Engine, space: SpaceId, cells: u32) {
    for round in 0..40 {
        done(engine, b"p", |c| {
            for cell in (0..cells).step_by(3) {
                let write = if round % 2 == 0 { Write::Delete } else { put(b"back") };
                c.write(space, &cell.to_be_bytes(), write);
            }
        })
        .await;
    }
}

async fn assert_steady(engine: &dyn Engine, space: SpaceId, cells: u32, backward: bool) {
    let direction = if backward { Direction::Backward } else { Direction::Forward };
    let mut seen = paged(engine, space, direction, 37).await;
    if backward {
        seen.reverse();
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "a page went back");
    let steady = |key: &Vec<u8>| u32::from_be_bytes(key[..].try_into().unwrap()) % 3 != 0;
    let found = seen.into_iter().filter(steady).count();
    assert_eq!(found, cells as usize / 3 * 2);
}

pub async fn a_scan_shows_one_snapshot(t: Trial) {
    const CELLS: u32 = 3_000;
    let space = home(t.engine().as_ref()).await;
    write_numbered(t.engine().as_ref(), space, CELLS).await;
    for backward in [false, true] {
        let request = ScanRequest::partition(space, b"p");
        let request = if backward { request.backward() } else { request };
        let mut scan = t.engine().scan(request).await.unwrap();
        let mut seen = scan.next_block().await.unwrap().unwrap().len();
        assert!(seen < CELLS as usize, "the case needs a second block");
        let engine = t.engine().as_ref();
        done(engine, b"p", |c| {
            for cell in 0..CELLS {
                c.write(space, &cell.to_be_bytes(), Write::Delete);
                c.write(space, &[&cell.to_be_bytes()[..], b"new"].concat(), put(b""));
            }
        })
        .await;
        while let Some(block) = scan.next_block().await.unwrap() {
            assert!(block.iter().all(|cell| cell.sort().len() == 4), "saw a later cell");
            seen += block.len();
        }
        assert_eq!(seen, CELLS as usize, "missed cells deleted later");
        let now = sorts(engine, ScanRequest::partition(space, b"p")).await;
        assert!(now.len() == CELLS as usize && now.iter().all(|sort| sort.len() == 7));
        done(engine, b"p", |c| {
            for cell in 0..CELLS {
                c.write(space, &[&cell.to_be_bytes()[..], b"new"].concat(), Write::Delete);
            }
        })
        .await;
        write_numbered(engine, space, CELLS).await;
    }
}

pub async fn a_scan_can_be_left(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    write_numbered(engine, space, 3_000).await;
    for _ in 0..10 {
        let mut scan = engine.scan(ScanRequest::partition(space, b"p")).await.unwrap();
        assert!(scan.next_block().await.unwrap().is_some());
    }
    write_numbered(engine, space, 10).await;
}

pub async fn keys_of_32_kib_are_the_longest(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    // Beside partition and sort a key holds the space, in four bytes, and a separator.
    let room = KEY_BYTES_MAX - 5;
    // A zero byte in a partition takes two.
    let zeros = vec![0; room / 2];
    let odd = vec![b'x'; room % 2];
    for (partition, sort) in
        [(vec![b'x'; room], vec![]), (b"p".to_vec(), vec![0xff; room - 1]), (zeros, odd)]
    {
        done(engine, &partition, |c| {
            c.write(space, &sort, put(b"home"));
            c.dependent(view, &partition, &sort, put(b"view"));
        })
        .await;
        t.settle().await;
        for (space, expected) in [(space, b"home"), (view, b"view")] {
            let there = pairs(engine, ScanRequest::partition(space, partition.clone())).await;
            assert_eq!(there, [(sort.clone(), expected.to_vec())]);
            assert_eq!(payload(engine, space, &partition, &sort).await.unwrap(), expected);
        }
        let longer = [&sort[..], b"1"].concat();
        let refused = error(engine, &partition, |c| c.write(space, &longer, put(b""))).await;
        assert_eq!(refused.kind(), Kind::Invalid);
        let refused =
            error(engine, b"p", |c| c.dependent(view, &partition, &longer, put(b""))).await;
        assert_eq!(refused.kind(), Kind::Invalid);
        assert_eq!(payload(engine, view, &partition, &longer).await, None);
    }
}

pub async fn empty_keys_are_keys_like_others(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    done(engine, b"", |c| {
        c.write(space, b"", put(b""));
        c.dependent(view, b"", b"", put(b""));
    })
    .await;
    t.settle().await;
    for space in [space, view] {
        assert_eq!(payload(engine, space, b"", b"").await.unwrap(), b"");
        let there = pairs(engine, ScanRequest::partition(space, b"")).await;
        assert_eq!(there, [(vec![], vec![])]);
    }
    done(engine, b"", |c| c.write(space, b"", Write::Delete)).await;
    assert_eq!(payload(engine, space, b"", b"").await, None);
}
