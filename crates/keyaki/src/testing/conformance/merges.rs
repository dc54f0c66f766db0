//! Merges fold exactly once with their commit, by any associative function.

use super::Trial;
use super::steps::*;
use crate::cell::{Value, ValueRef};
use crate::engine::{Commit, Engine, Expect, ScanRequest, SpaceId, Write};

const TASKS: usize = 8;
const COMMITS: usize = 12;
const CELLS: u8 = 3;

/// Eight tasks, each with a home of its own, merge into a few cells at once.
async fn merge_at_once(
    t: &Trial,
    space: SpaceId,
    operand: impl Fn(usize, usize) -> Vec<u8> + Copy + Send + Sync + 'static,
) {
    together(TASKS, |task| {
        let engine = t.engine().clone();
        async move {
            for commit in 0..COMMITS {
                done(engine.as_ref(), &[task as u8], |c| {
                    for cell in 0..CELLS {
                        c.dependent(space, b"d", &[cell], merge(&operand(task, commit)));
                    }
                })
                .await;
            }
        }
    })
    .await;
    t.settle().await;
}

async fn merged(engine: &dyn Engine, space: SpaceId) -> Vec<Pair> {
    pairs(engine, ScanRequest::partition(space, b"d")).await
}

/// Every cell has this value now, after compaction and after reopening.
async fn lasts(mut t: Trial, space: SpaceId, expected: &[u8]) {
    for state in ["as merged", "after compaction", "after reopening"] {
        match state {
            "after compaction" => t.engine().compact(space).await.unwrap(),
            "after reopening" => t.reopen().await,
            _ => {}
        }
        let there = merged(t.engine().as_ref(), space).await;
        let all = (0..CELLS).map(|cell| (vec![cell], expected.to_vec()));
        assert_eq!(there, all.collect::<Vec<_>>(), "{state}");
    }
}

pub async fn sums_count_every_merge_once(t: Trial) {
    let space = merging(t.engine().as_ref(), "sum").await;
    merge_at_once(&t, space, |task, commit| ((task * 100 + commit) as i64).to_be_bytes().to_vec())
        .await;
    let sum: usize =
        (0..TASKS).flat_map(|task| (0..COMMITS).map(move |commit| task * 100 + commit)).sum();
    lasts(t, space, &(sum as i64).to_be_bytes()).await;
}

pub async fn maxima_and_minima_are_found(t: Trial) {
    let greatest = merging(t.engine().as_ref(), "max").await;
    let least = merging(t.engine().as_ref(), "min").await;
    let operand = |task, commit| vec![task as u8 + 5, commit as u8 + 5];
    merge_at_once(&t, greatest, operand).await;
    merge_at_once(&t, least, operand).await;
    assert_eq!(merged(t.engine().as_ref(), least).await[0].1, [5, 5]);
    lasts(t, greatest, &[TASKS as u8 + 4, COMMITS as u8 + 4]).await;
}

pub async fn sets_hold_every_member_once(t: Trial) {
    let space = merging(t.engine().as_ref(), "union").await;
    // Every second member is everybody's.
    merge_at_once(&t, space, |task, commit| match commit % 2 {
        0 => set_of(&[commit as u8]),
        _ => set_of(&[commit as u8, task as u8]),
    })
    .await;
    let mut members: Vec<Vec<u8>> = (0..COMMITS as u8).step_by(2).map(|c| vec![c]).collect();
    for commit in (1..COMMITS as u8).step_by(2) {
        members.extend((0..TASKS as u8).map(|task| vec![commit, task]));
    }
    members.sort();
    let expected: Vec<u8> = members.iter().flat_map(|member| set_of(member)).collect();
    lasts(t, space, &expected).await;
}

pub async fn an_order_dependent_fold_keeps_commit_order(t: Trial) {
    let space = merging(t.engine().as_ref(), "append").await;
    merge_at_once(&t, space, |task, commit| vec![task as u8, commit as u8]).await;
    let there = merged(t.engine().as_ref(), space).await;
    for (_, appended) in &there {
        assert_eq!(appended.len(), TASKS * COMMITS * 2);
        for task in 0..TASKS as u8 {
            let of_task = appended.chunks(2).filter(|pair| pair[0] == task).map(|pair| pair[1]);
            let in_order: Vec<u8> = (0..COMMITS as u8).collect();
            assert_eq!(of_task.collect::<Vec<_>>(), in_order, "commits of one home, in order");
        }
    }
    // Cells that the same commits wrote saw them in the same order.
    lasts(t, space, &there[0].1).await;
}

pub async fn merges_go_on_where_compaction_has_folded(mut t: Trial) {
    let space = merging(t.engine().as_ref(), "append").await;
    for letter in *b"abcdefgh" {
        done(t.engine().as_ref(), b"p", |c| append(c, space, &[letter])).await;
        match letter {
            b'c' | b'f' => t.engine().compact(space).await.unwrap(),
            b'd' | b'g' => t.reopen().await,
            _ => {}
        }
    }
    t.settle().await;
    assert_eq!(payload(t.engine().as_ref(), space, b"d", b"").await.unwrap(), b"abcdefgh");
}

fn append(commit: &mut Commit, space: SpaceId, operand: &[u8]) {
    commit.dependent(space, b"d", b"", merge(operand));
}

pub async fn repeated_merges_in_one_commit_fold_in_order(t: Trial) {
    let engine = t.engine().as_ref();
    let space = merging(engine, "append").await;
    done(engine, b"p", |c| append(c, space, b"1")).await;
    done(engine, b"p", |c| {
        for operand in [b"2", b"3", b"4"] {
            append(c, space, operand);
            c.dependent(space, b"d", b"other", merge(operand));
        }
    })
    .await;
    t.settle().await;
    assert_eq!(payload(engine, space, b"d", b"").await.unwrap(), b"1234");
    assert_eq!(payload(engine, space, b"d", b"other").await.unwrap(), b"234");
}

pub async fn a_refused_merge_counts_nothing(t: Trial) {
    let engine = t.engine().as_ref();
    let (digests, space) = (home(engine).await, merging(engine, "sum").await);
    let once = |c: &mut Commit| {
        c.expect(digests, b"operation", Expect::Absent);
        c.write(digests, b"operation", put(b""));
        c.dependent(space, b"d", b"n", merge(&5_i64.to_be_bytes()));
    };
    done(engine, b"p", once).await;
    refusals(engine, b"p", once).await;
    t.settle().await;
    assert_eq!(number(engine, space, b"d", b"n").await, 5);
}

pub async fn a_merged_cell_demands_what_all_its_parts_demand(mut t: Trial) {
    let space = merging(t.engine().as_ref(), "append").await;
    for (visibility, operand) in [("a", "1"), ("b|c", "2"), ("", "3"), ("a", "4")] {
        let value = Value::visible_to(visibility.as_bytes(), operand.as_bytes());
        done(t.engine().as_ref(), b"p", |c| {
            c.dependent(space, b"d", b"", Write::Merge(value));
        })
        .await;
    }
    t.settle().await;
    for compacted in [false, true] {
        if compacted {
            t.engine().compact(space).await.unwrap();
            t.reopen().await;
        }
        let there = stored(t.engine().as_ref(), space, b"d", b"").await.unwrap();
        let value = ValueRef::decode(&there).unwrap();
        assert_eq!(value.payload, b"1234");
        for (authorisations, visible) in [
            (&["a", "b"][..], true),
            (&["a", "c"], true),
            (&["a"], false),
            (&["b", "c"], false),
            (&[], false),
        ] {
            assert_eq!(sees(authorisations, value.visibility), visible, "{authorisations:?}");
        }
    }
}

pub async fn repeated_merges_demand_what_each_demands(t: Trial) {
    let engine = t.engine().as_ref();
    let space = merging(engine, "append").await;
    done(engine, b"p", |c| {
        c.dependent(space, b"d", b"", Write::Merge(Value::visible_to(b"a", b"1")));
        c.dependent(space, b"d", b"", Write::Merge(Value::visible_to(b"b", b"2")));
    })
    .await;
    t.settle().await;
    let there = stored(engine, space, b"d", b"").await.unwrap();
    let visibility = ValueRef::decode(&there).unwrap().visibility;
    assert!(sees(&["a", "b"], visibility));
    assert!(!sees(&["a"], visibility) && !sees(&["b"], visibility));
}

pub async fn a_merged_cell_is_as_late_as_its_latest_part(t: Trial) {
    let engine = t.engine().as_ref();
    let space = merging(engine, "sum").await;
    let mut last = None;
    for _ in 0..3 {
        let mut commit = stamped(engine, b"p");
        last = Some(commit.tid().time());
        commit.dependent(space, b"d", b"n", merge(&1_i64.to_be_bytes()));
        engine.commit(commit).await.unwrap();
    }
    t.settle().await;
    let there = stored(engine, space, b"d", b"n").await.unwrap();
    assert_eq!(Some(ValueRef::decode(&there).unwrap().time), last);
}

pub async fn merging_after_deleting_begins_anew(mut t: Trial) {
    let space = merging(t.engine().as_ref(), "append").await;
    for compacted in [false, true] {
        done(t.engine().as_ref(), b"p", |c| append(c, space, b"old")).await;
        if compacted {
            t.engine().compact(space).await.unwrap();
        }
        done(t.engine().as_ref(), b"p", |c| c.dependent(space, b"d", b"", Write::Delete)).await;
        t.settle().await;
        assert_eq!(payload(t.engine().as_ref(), space, b"d", b"").await, None);
        done(t.engine().as_ref(), b"p", |c| append(c, space, b"new")).await;
        t.settle().await;
        if compacted {
            t.engine().compact(space).await.unwrap();
            t.reopen().await;
        }
        assert_eq!(payload(t.engine().as_ref(), space, b"d", b"").await.unwrap(), b"new");
        done(t.engine().as_ref(), b"p", |c| c.dependent(space, b"d", b"", Write::Delete)).await;
    }
}
