//! The bulk route: another way to the disk, the same commit.

use super::steps::*;
use super::{BUCKET, Trial};
use crate::cell::{Tid, Time, Value};
use crate::engine::{Commit, Engine, Expect, Home, Outcome, Route, ScanRequest, SpaceId, Write};
use crate::error::Kind;

/// Fills a commit that goes by the bulk route.
fn by_bulk(fill: impl Fn(&mut Commit)) -> impl Fn(&mut Commit) {
    move |commit| {
        commit.set_route(Route::Bulk);
        fill(commit);
    }
}

/// Fills a commit that goes by the bulk route every second time.
fn by_turns(turn: usize, fill: impl Fn(&mut Commit)) -> impl Fn(&mut Commit) {
    move |commit| {
        let route = if turn.is_multiple_of(2) { Route::Bulk } else { Route::Log };
        commit.set_route(route);
        fill(commit);
    }
}

pub async fn both_routes_do_the_same(mut t: Trial) {
    let mut states = Vec::new();
    for route in [Route::Log, Route::Bulk] {
        let engine = t.engine().as_ref();
        let (space, view) = (home(engine).await, derived(engine).await);
        let appended = merging(engine, "append").await;
        for round in 0..4_u8 {
            done(engine, b"p", |c| {
                c.set_route(route);
                write_everything(c, [space, view, appended], round);
            })
            .await;
        }
        t.settle().await;
        t.engine().compact(view).await.unwrap();
        t.reopen().await;
        let engine = t.engine().as_ref();
        let mut state = Vec::new();
        for (space, partition) in [(space, b"p"), (view, b"v"), (appended, b"v")] {
            let block = block(engine, ScanRequest::partition(space, partition)).await;
            let cell = |cell: crate::engine::CellRef<'_>| {
                (cell.sort().to_vec(), cell.visibility().to_vec(), cell.payload().to_vec())
            };
            state.push(block.iter().map(cell).collect::<Vec<_>>());
        }
        states.push(state);
    }
    assert_eq!(states[0], states[1]);
    assert!(states[0].iter().all(|cells| !cells.is_empty()));
}

/// Puts, deletes of what the round before put, merges and repeated merges, out of order.
fn write_everything(commit: &mut Commit, [space, view, appended]: [SpaceId; 3], round: u8) {
    for index in (0..50_u8).rev() {
        let payload = [round, index];
        let write = match (index + round) % 3 {
            0 => Write::Delete,
            _ => Write::Put(Value::visible_to(b"a|b", &payload)),
        };
        commit.write(space, &[index], write);
        commit.dependent(view, b"v", &[index], write);
        commit.dependent(appended, b"v", &[index % 20], merge(&[b'a' + round, index]));
    }
}

pub async fn a_refused_bulk_commit_leaves_nothing(t: Trial) {
    let engine = t.engine().as_ref();
    let (digests, view) = (home(engine).await, derived(engine).await);
    let (sums, names) = (merging(engine, "sum").await, derived(engine).await);
    let once = by_bulk(|c| {
        c.expect(digests, b"operation", Expect::Absent);
        c.write(digests, b"operation", put(b"x"));
        for index in 0..200_u8 {
            c.dependent(sums, b"d", &[index], merge(&1_i64.to_be_bytes()));
        }
    });
    done(engine, b"p", &once).await;
    let there = stored(engine, digests, b"p", b"operation").await;
    let refused = refusals(engine, b"p", |c| {
        once(c);
        c.dependent(view, b"d", b"new", put(b"x"));
        c.claim(names, b"name", b"owner");
    })
    .await;
    assert_eq!(refused[0].found, there, "it says what is there");
    t.settle().await;
    assert_eq!(payload(engine, view, b"d", b"new").await, None);
    assert_eq!(payload(engine, names, b"name", b"").await, None);
    for index in 0..200_u8 {
        assert_eq!(number(engine, sums, b"d", &[index]).await, 1, "counted once");
    }
}

pub async fn bulk_and_log_see_each_others_cells(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, names) = (home(engine).await, derived(engine).await);
    for turn in 0..6 {
        let before = stored(engine, space, b"p", b"cell").await;
        let next = by_turns(turn, |c| {
            c.expect(space, b"cell", before.clone().map_or(Expect::Absent, Expect::Equals));
            c.write(space, b"cell", put(&[turn as u8]));
            c.claim(names, b"name", b"the same owner");
        });
        done(engine, b"p", &next).await;
        assert_eq!(refusals(engine, b"p", &next).await.len(), 1, "the cell has changed");
        let refused = refusals(
            engine,
            b"q",
            by_turns(turn + 1, |c| {
                c.claim(names, b"name", b"another");
            }),
        )
        .await;
        assert_eq!(refused.len(), 1);
        assert_eq!(payload(engine, space, b"p", b"cell").await.unwrap(), [turn as u8]);
    }
}

pub async fn merges_by_bulk_and_by_log_mix(mut t: Trial) {
    let space = merging(t.engine().as_ref(), "append").await;
    for (turn, letter) in (*b"abcdefgh").into_iter().enumerate() {
        let next = by_turns(turn, |c| c.dependent(space, b"d", b"", merge(&[letter])));
        done(t.engine().as_ref(), b"p", next).await;
        if turn == 3 {
            t.engine().compact(space).await.unwrap();
        }
        if turn == 5 {
            t.reopen().await;
        }
    }
    t.settle().await;
    assert_eq!(payload(t.engine().as_ref(), space, b"d", b"").await.unwrap(), b"abcdefgh");
}

pub async fn repeated_merges_in_a_bulk_commit_fold_in_order(t: Trial) {
    let engine = t.engine().as_ref();
    let space = merging(engine, "append").await;
    for _ in 0..2 {
        let repeated = by_bulk(|c| {
            for letter in [b"a", b"b", b"c"] {
                c.dependent(space, b"d", b"", merge(letter));
                c.dependent(space, b"d", b"other", merge(letter));
            }
        });
        done(engine, b"p", repeated).await;
    }
    t.settle().await;
    assert_eq!(payload(engine, space, b"d", b"").await.unwrap(), b"abcabc");
    assert_eq!(payload(engine, space, b"d", b"other").await.unwrap(), b"abcabc");
}

pub async fn bulk_and_log_keep_their_order_at_once(t: Trial) {
    const TASKS: usize = 4;
    const COMMITS: usize = 12;
    let engine = t.engine().as_ref();
    let (space, appended) = (home(engine).await, merging(engine, "append").await);
    together(TASKS, |task| {
        let engine = t.engine().clone();
        async move {
            for commit in 0..COMMITS {
                let next = by_turns(task + commit, |c| {
                    c.write(space, b"last", put(&[commit as u8]));
                    c.dependent(appended, b"d", b"", merge(&[task as u8, commit as u8]));
                });
                done(engine.as_ref(), &[task as u8], next).await;
            }
        }
    })
    .await;
    t.settle().await;
    let all = payload(engine, appended, b"d", b"").await.unwrap();
    assert_eq!(all.len(), TASKS * COMMITS * 2);
    for task in 0..TASKS as u8 {
        let of_task = all.chunks(2).filter(|pair| pair[0] == task).map(|pair| pair[1]);
        assert!(of_task.eq(0..COMMITS as u8), "commits of one home, in order");
        let last = payload(engine, space, &[task], b"last").await.unwrap();
        assert_eq!(last, [COMMITS as u8 - 1]);
    }
}

pub async fn readers_never_see_half_of_a_bulk_commit(t: Trial) {
    let spaces = [home(t.engine().as_ref()).await, home(t.engine().as_ref()).await];
    write_all(t.engine().as_ref(), spaces, 0).await;
    together(3, |task| {
        let engine = t.engine().clone();
        async move {
            for round in 1..20 {
                if task == 0 {
                    write_all(engine.as_ref(), spaces, round).await;
                    continue;
                }
                for _ in 0..10 {
                    let before = round_in(engine.as_ref(), spaces[0]).await;
                    let after = round_in(engine.as_ref(), spaces[1]).await;
                    assert!(before <= after, "one space was ahead of the other");
                    tokio::task::yield_now().await;
                }
            }
        }
    })
    .await;
}

const BULK_CELLS: u32 = 300;

async fn write_all(engine: &dyn Engine, spaces: [SpaceId; 2], round: u8) {
    let chunk = by_bulk(|c| {
        for cell in 0..BULK_CELLS {
            for space in spaces {
                c.write(space, &cell.to_be_bytes(), put(&[round; 200]));
            }
        }
    });
    done(engine, b"p", chunk).await;
}

async fn round_in(engine: &dyn Engine, space: SpaceId) -> Vec<u8> {
    let there = pairs(engine, ScanRequest::partition(space, b"p")).await;
    assert_eq!(there.len(), BULK_CELLS as usize);
    assert!(there.iter().all(|(_, payload)| *payload == there[0].1), "cells of two commits");
    there[0].1.clone()
}

pub async fn a_stale_bulk_commit_writes_nothing(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    let commit = stamped(engine, b"p");
    let (tid, partition) = (commit.tid(), commit.home().clone());
    done(engine, b"p", by_bulk(|c| c.write(space, b"late", put(b"x")))).await;
    for tid in [tid, Tid::new(Time::from_micros(tid.time().micros() - 1), 0)] {
        let mut commit = Commit::new(partition.clone(), tid);
        commit.set_route(Route::Bulk);
        commit.write(space, b"early", put(b"x"));
        assert_eq!(engine.commit(commit).await.unwrap(), Outcome::Stale);
    }
    assert_eq!(payload(engine, space, b"p", b"early").await, None);
}

pub async fn commits_of_one_time_never_meet(t: Trial) {
    const TASKS: usize = 6;
    let space = home(t.engine().as_ref()).await;
    let tid = stamped(t.engine().as_ref(), b"p").tid();
    let outcomes = together(TASKS, |task| {
        let engine = t.engine().clone();
        async move {
            let home = Home { bucket: BUCKET, partition: vec![task as u8] };
            let mut commit = Commit::new(home, tid);
            commit.set_route(Route::Bulk);
            for cell in 0..2_000_u32 {
                commit.write(space, &cell.to_be_bytes(), put(&[task as u8; 50]));
            }
            engine.commit(commit).await.unwrap()
        }
    })
    .await;
    for (task, outcome) in outcomes.into_iter().enumerate() {
        let request = ScanRequest::partition(space, [task as u8]);
        let there = pairs(t.engine().as_ref(), request).await;
        // An engine may take two homes for one, and have a commit stamped anew.
        let expected = if outcome == Outcome::Done { 2_000 } else { 0 };
        assert_eq!(there.len(), expected, "{outcome:?}");
        assert!(there.iter().all(|(_, payload)| *payload == [task as u8; 50]));
    }
}

pub async fn bulk_commits_keep_the_contract_too(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    let breaches: [(Kind, Fill<'_>); 5] = [
        (Kind::Invalid, &|c| c.write(view, b"x", put(b""))),
        (Kind::Invalid, &|c| c.dependent(space, b"p", b"x", put(b""))),
        (Kind::Invalid, &|c| c.write(space, b"cell", put(b"twice"))),
        (Kind::NotFound, &|c| c.write(SpaceId(u32::MAX), b"x", put(b""))),
        (Kind::Invalid, &|c| c.write(space, b"x", Write::Put(Value::visible_to(b"a&", b"")))),
    ];
    for (kind, breach) in breaches {
        let breaking = by_bulk(|c| {
            c.write(space, b"cell", put(b"x"));
            breach(c);
        });
        let refused = error(engine, b"p", breaking).await;
        assert_eq!(refused.kind(), kind, "{refused}");
        assert_eq!(payload(engine, space, b"p", b"cell").await, None);
    }
    done(engine, b"p", by_bulk(|_| ())).await;
}

pub async fn large_chunks_arrive_whole(mut t: Trial) {
    const CELLS: u32 = 40_000;
    let (space, sums) =
        (home(t.engine().as_ref()).await, merging(t.engine().as_ref(), "sum").await);
    for _ in 0..2 {
        let chunk = by_bulk(|c| {
            c.write(space, b"digest", put(b"x"));
            for cell in (0..CELLS).rev() {
                c.dependent(sums, &(cell % 16).to_be_bytes(), &cell.to_be_bytes(), merge(&ONE));
            }
        });
        done(t.engine().as_ref(), b"p", chunk).await;
    }
    t.reopen().await;
    t.settle().await;
    let mut cells = 0;
    for partition in 0..16_u32 {
        let request = ScanRequest::partition(sums, partition.to_be_bytes());
        let there = pairs(t.engine().as_ref(), request).await;
        assert!(there.iter().all(|(_, payload)| *payload == 2_i64.to_be_bytes()));
        cells += there.len();
    }
    assert_eq!(cells, CELLS as usize);
}

const ONE: [u8; 8] = 1_i64.to_be_bytes();
