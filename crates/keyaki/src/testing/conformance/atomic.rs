//! Home writes are atomic, isolated and durable; dependents follow if and only if they took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Trial;
use super::steps::*;
use crate::engine::{Commit, Engine, Expect, Outcome, ScanRequest, SpaceId, Write};

const READS_MAX: usize = 100_000;

pub async fn writes_take_effect_together(t: Trial) {
    let engine = t.engine().as_ref();
    let (one, other, view) = (home(engine).await, home(engine).await, derived(engine).await);
    done(engine, b"p", |c| c.write(one, b"gone", put(b"soon"))).await;
    done(engine, b"p", |c| {
        c.write(one, b"a", put(b"1"));
        c.write(one, b"gone", Write::Delete);
        c.write(other, b"a", put(b"2"));
        c.dependent(view, b"v", b"a", put(b"3"));
    })
    .await;
    t.settle().await;
    assert_eq!(payload(engine, one, b"p", b"a").await.unwrap(), b"1");
    assert_eq!(payload(engine, one, b"p", b"gone").await, None);
    assert_eq!(payload(engine, other, b"p", b"a").await.unwrap(), b"2");
    assert_eq!(payload(engine, view, b"v", b"a").await.unwrap(), b"3");
}

pub async fn refused_commits_write_nothing(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view, names) = (home(engine).await, derived(engine).await, derived(engine).await);
    let counts = merging(engine, "sum").await;
    done(engine, b"p", |c| c.write(space, b"old", put(b"stays"))).await;
    refusals(engine, b"p", |c| {
        c.expect(space, b"old", Expect::Absent);
        c.claim(names, b"name", b"owner");
        c.write(space, b"old", put(b"changed"));
        c.write(space, b"new", put(b"n"));
        c.dependent(view, b"v", b"new", put(b"n"));
        c.dependent(counts, b"v", b"n", merge(&1_i64.to_be_bytes()));
    })
    .await;
    t.settle().await;
    assert_eq!(payload(engine, space, b"p", b"old").await.unwrap(), b"stays");
    assert_eq!(payload(engine, space, b"p", b"new").await, None);
    assert_eq!(payload(engine, view, b"v", b"new").await, None);
    assert_eq!(payload(engine, counts, b"v", b"n").await, None);
    assert_eq!(payload(engine, names, b"name", b"").await, None);
}

pub async fn readers_never_see_half(t: Trial) {
    const ROUNDS: i64 = 60;
    let space = home(t.engine().as_ref()).await;
    write_round(t.engine().as_ref(), space, 0).await;
    let finished = Arc::new(AtomicBool::new(false));
    together(4, |index| {
        let (engine, finished) = (t.engine().clone(), finished.clone());
        async move {
            if index == 0 {
                for round in 1..=ROUNDS {
                    write_round(engine.as_ref(), space, round).await;
                }
                finished.store(true, Relaxed);
            }
            for read in 0..READS_MAX {
                let request = ScanRequest::partition(space, b"p");
                let request = if read % 2 == 0 { request } else { request.backward() };
                assert_one_round(&pairs(engine.as_ref(), request).await);
                if finished.load(Relaxed) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}

/// More than one block on every engine.
const ROUND_CELLS: u32 = 120;

async fn write_round(engine: &dyn Engine, space: SpaceId, round: i64) {
    let mut value = round.to_be_bytes().to_vec();
    value.resize(400, 0);
    done(engine, b"p", |c| {
        for cell in 0..ROUND_CELLS {
            c.write(space, &cell.to_be_bytes(), put(&value));
        }
    })
    .await;
}

fn assert_one_round(pairs: &[Pair]) {
    assert_eq!(pairs.len(), ROUND_CELLS as usize);
    let first = &pairs[0].1;
    assert!(pairs.iter().all(|(_, payload)| payload == first), "cells of two commits at once");
}

pub async fn home_spaces_change_together(t: Trial) {
    let (one, other) = (home(t.engine().as_ref()).await, home(t.engine().as_ref()).await);
    racing_reader(
        &t,
        move |c, round| {
            c.write(one, b"n", put(round));
            c.write(other, b"n", put(round));
        },
        [(one, b"p"), (other, b"p")],
    )
    .await;
}

pub async fn dependents_never_precede_their_home(t: Trial) {
    let (space, view) = (home(t.engine().as_ref()).await, derived(t.engine().as_ref()).await);
    racing_reader(
        &t,
        move |c, round| {
            c.write(space, b"n", put(round));
            c.dependent(view, b"v", b"n", put(round));
        },
        [(view, b"v"), (space, b"p")],
    )
    .await;
}

pub async fn dependents_appear_with_their_home(t: Trial) {
    let (space, view) = (home(t.engine().as_ref()).await, derived(t.engine().as_ref()).await);
    racing_reader(
        &t,
        move |c, round| {
            c.write(space, b"n", put(round));
            c.dependent(view, b"v", b"n", put(round));
        },
        [(space, b"p"), (view, b"v")],
    )
    .await;
}

/// While commits write rising numbers to two cells, whoever reads one and then the other finds
/// no smaller number there.
async fn racing_reader(
    t: &Trial,
    fill: impl Fn(&mut Commit, &[u8]) + Copy + Send + Sync + 'static,
    [first, second]: [(SpaceId, &'static [u8; 1]); 2],
) {
    const ROUNDS: i64 = 150;
    let finished = Arc::new(AtomicBool::new(false));
    together(4, |index| {
        let (engine, finished) = (t.engine().clone(), finished.clone());
        async move {
            let engine = engine.as_ref();
            if index == 0 {
                for round in 1..=ROUNDS {
                    done(engine, b"p", |c| fill(c, &round.to_be_bytes())).await;
                }
                finished.store(true, Relaxed);
            }
            for _ in 0..READS_MAX {
                let before = number(engine, first.0, first.1, b"n").await;
                let after = number(engine, second.0, second.1, b"n").await;
                assert!(after >= before, "saw {before} in one cell, then {after} in the other");
                if finished.load(Relaxed) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}

pub async fn one_of_many_racing_commits_takes(t: Trial) {
    const RACERS: usize = 16;
    let (space, view) = (home(t.engine().as_ref()).await, derived(t.engine().as_ref()).await);
    let outcomes = together(RACERS, |racer| {
        let engine = t.engine().clone();
        async move {
            outcome(engine.as_ref(), b"p", |c| {
                c.expect(space, b"cell", Expect::Absent);
                c.write(space, b"cell", put(&[racer as u8]));
                for view_partition in 0..10 {
                    c.dependent(view, &[view_partition], &[racer as u8], put(b""));
                }
            })
            .await
        }
    })
    .await;
    t.settle().await;
    let engine = t.engine().as_ref();
    let won: Vec<u8> =
        (0..RACERS as u8).filter(|racer| outcomes[*racer as usize] == Outcome::Done).collect();
    assert_eq!(won.len(), 1, "exactly one takes: {outcomes:?}");
    assert_eq!(payload(engine, space, b"p", b"cell").await.unwrap(), won);
    for view_partition in 0..10 {
        let there = sorts(engine, ScanRequest::partition(view, [view_partition])).await;
        assert_eq!(
            there,
            std::slice::from_ref(&won),
            "the dependents of the one that took, and no others"
        );
    }
}

pub async fn concurrent_increments_lose_nothing(t: Trial) {
    const TASKS: usize = 8;
    const INCREMENTS: usize = 15;
    let space = home(t.engine().as_ref()).await;
    together(TASKS, |_| {
        let engine = t.engine().clone();
        async move {
            let mut taken = 0;
            // Each try that fails means that another has taken.
            for _ in 0..TASKS * INCREMENTS {
                let done = increment(engine.as_ref(), space).await == Outcome::Done;
                taken += usize::from(done);
                if taken == INCREMENTS {
                    return;
                }
            }
            panic!("an increment failed though no other had taken");
        }
    })
    .await;
    let total = number(t.engine().as_ref(), space, b"p", b"count").await;
    assert_eq!(total, (TASKS * INCREMENTS) as i64);
}

async fn increment(engine: &dyn Engine, space: SpaceId) -> Outcome {
    let before = stored(engine, space, b"p", b"count").await;
    let next = number_in(before.as_deref()) + 1;
    outcome(engine, b"p", |c| {
        let expect = before.clone().map_or(Expect::Absent, Expect::Equals);
        c.expect(space, b"count", expect);
        c.write(space, b"count", put(&next.to_be_bytes()));
    })
    .await
}

fn number_in(stored: Option<&[u8]>) -> i64 {
    stored.map_or(0, |stored| {
        let payload = crate::cell::ValueRef::decode(stored).unwrap().payload;
        i64::from_be_bytes(payload.try_into().unwrap())
    })
}

pub async fn dependents_reach_many_partitions(t: Trial) {
    const PARTITIONS: u32 = 500;
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    let counts = merging(engine, "sum").await;
    done(engine, b"p", |c| {
        c.write(space, b"primary", put(b"x"));
        for partition in 0..PARTITIONS {
            c.dependent(view, &partition.to_be_bytes(), b"of p", put(&partition.to_be_bytes()));
            c.dependent(counts, &partition.to_be_bytes(), b"n", merge(&1_i64.to_be_bytes()));
        }
    })
    .await;
    t.settle().await;
    for partition in (0..PARTITIONS).map(u32::to_be_bytes) {
        let there = pairs(engine, ScanRequest::partition(view, partition)).await;
        assert_eq!(there, [(b"of p".to_vec(), partition.to_vec())]);
        assert_eq!(number(engine, counts, &partition, b"n").await, 1);
    }
}

pub async fn acknowledged_commits_survive_reopening(mut t: Trial) {
    let (space, view) = (home(t.engine().as_ref()).await, derived(t.engine().as_ref()).await);
    for index in 0..20_u8 {
        done(t.engine().as_ref(), &[index], |c| {
            c.write(space, b"cell", put(&[index]));
            c.dependent(view, b"v", &[index], put(&[index]));
        })
        .await;
    }
    t.reopen().await;
    t.settle().await;
    let engine = t.engine().as_ref();
    for index in 0..20_u8 {
        assert_eq!(payload(engine, space, &[index], b"cell").await.unwrap(), [index]);
        assert_eq!(payload(engine, view, b"v", &[index]).await.unwrap(), [index]);
    }
}
