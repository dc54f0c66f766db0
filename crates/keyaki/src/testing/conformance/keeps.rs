//! What a space does not keep is hidden at once, removed later, and never lost in silence.

use std::time::Duration;

use super::rules::{at_most, sound, younger_than};
use super::steps::*;
use super::{BUCKET, Trial};
use crate::cell::ValueRef;
use crate::engine::{Engine, Expect, RuleSpec, ScanRequest, SpaceId, SpaceSpec, Swept};

const MINUTE: Duration = Duration::from_secs(60);

async fn ageing(engine: &dyn Engine) -> SpaceId {
    let rule = younger_than(MINUTE.as_micros() as u64);
    create(engine, SpaceSpec::home(BUCKET, "ageing").keeping(rule)).await
}

/// Lets time pass until the cell's last moment, and then the moment after.
async fn age(t: &Trial, space: SpaceId, partition: &[u8], sort: &[u8]) {
    let engine = t.engine().as_ref();
    let cell = stored(engine, space, partition, sort).await.unwrap();
    let written = ValueRef::decode(&cell).unwrap().time;
    let aged_at = written.micros() + MINUTE.as_micros() as u64;
    t.clock().set(aged_at - 1);
    assert!(payload(engine, space, partition, sort).await.is_some(), "it has a moment left");
    t.clock().set(aged_at);
}

/// A home space whose bad cells go to the second space.
async fn judged(engine: &dyn Engine) -> (SpaceId, SpaceId) {
    let quarantine = derived(engine).await;
    let spec = SpaceSpec::home(BUCKET, "judged").keeping(sound()).quarantined_in(quarantine);
    (create(engine, spec).await, quarantine)
}

/// Nobody finds the cell, by any way of looking.
pub(super) async fn assert_hidden(
    engine: &dyn Engine,
    space: SpaceId,
    partition: &[u8],
    sort: &[u8],
) {
    assert_eq!(payload(engine, space, partition, sort).await, None);
    for request in [
        ScanRequest::partition(space, partition),
        ScanRequest::partition(space, partition).backward(),
        ScanRequest::prefix(space, partition, sort).limit(1),
    ] {
        let found = sorts(engine, request).await;
        assert!(!found.contains(&sort.to_vec()), "a hidden cell was scanned");
    }
    for split in engine.splits(space, 4).await.unwrap() {
        let found = block(engine, ScanRequest::split(space, split)).await;
        assert!(!found.iter().any(|cell| *cell.partition() == *partition && cell.sort() == sort));
    }
}

pub async fn aged_cells_are_hidden_at_once(t: Trial) {
    let engine = t.engine().as_ref();
    let space = ageing(engine).await;
    done(engine, b"p", |c| c.write(space, b"old", put(b"x"))).await;
    t.clock().advance(MINUTE / 2);
    done(engine, b"p", |c| c.write(space, b"young", put(b"y"))).await;
    assert_eq!(sorts(engine, ScanRequest::partition(space, b"p")).await.len(), 2);
    age(&t, space, b"p", b"old").await;
    assert_hidden(engine, space, b"p", b"old").await;
    assert_eq!(payload(engine, space, b"p", b"young").await.unwrap(), b"y");
}

pub async fn hidden_cells_are_absent_to_expectations(t: Trial) {
    let engine = t.engine().as_ref();
    let (ageing, (judged, _)) = (ageing(engine).await, judged(engine).await);
    done(engine, b"p", |c| {
        c.write(ageing, b"cell", put(b"x"));
        c.write(judged, b"cell", put(b"bad"));
    })
    .await;
    age(&t, ageing, b"p", b"cell").await;
    let refused = refusals(engine, b"p", |c| {
        c.expect(ageing, b"cell", Expect::Present);
        c.expect(judged, b"cell", Expect::Present);
    })
    .await;
    assert!(refused.len() == 2 && refused.iter().all(|refusal| refusal.found.is_none()));
    done(engine, b"p", |c| {
        c.expect(ageing, b"cell", Expect::Absent);
        c.expect(judged, b"cell", Expect::Absent);
        c.write(ageing, b"cell", put(b"anew"));
    })
    .await;
    assert_eq!(payload(engine, ageing, b"p", b"cell").await.unwrap(), b"anew");
}

pub async fn hidden_cells_do_not_count_against_a_limit(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, _) = judged(engine).await;
    done(engine, b"p", |c| {
        for index in 0..300_u16 {
            let value: &[u8] = if index % 3 == 0 { b"good" } else { b"bad" };
            c.write(space, &index.to_be_bytes(), put(value));
        }
    })
    .await;
    for request in [
        ScanRequest::partition(space, b"p").limit(70),
        ScanRequest::partition(space, b"p").backward().limit(70),
    ] {
        assert_eq!(sorts(engine, request).await.len(), 70);
    }
}

pub async fn hidden_cells_end_no_scan(t: Trial) {
    const HIDDEN: u32 = 3_000;
    let engine = t.engine().as_ref();
    let (space, _) = judged(engine).await;
    let long_and_bad = [&b"bad"[..], &[7; 300]].concat();
    done(engine, b"p", |c| {
        c.write(space, &0_u32.to_be_bytes(), put(b"first"));
        for cell in 1..=HIDDEN {
            c.write(space, &cell.to_be_bytes(), put(&long_and_bad));
        }
        c.write(space, &u32::MAX.to_be_bytes(), put(b"last"));
    })
    .await;
    let request = ScanRequest::partition(space, b"p");
    for request in [request.clone(), request.clone().backward(), request.limit(2)] {
        assert_eq!(sorts(engine, request).await.len(), 2, "the one behind many hidden cells too");
    }
}

pub async fn aged_cells_stay_gone_after_compaction(mut t: Trial) {
    let space = ageing(t.engine().as_ref()).await;
    done(t.engine().as_ref(), b"p", |c| {
        c.write(space, b"old", put(b"x"));
        c.write(space, b"renewed", put(b"x"));
    })
    .await;
    t.engine().compact(space).await.unwrap();
    age(&t, space, b"p", b"old").await;
    done(t.engine().as_ref(), b"p", |c| c.write(space, b"renewed", put(b"y"))).await;
    t.engine().compact(space).await.unwrap();
    for reopened in [false, true] {
        if reopened {
            t.reopen().await;
        }
        assert_hidden(t.engine().as_ref(), space, b"p", b"old").await;
        assert_eq!(payload(t.engine().as_ref(), space, b"p", b"renewed").await.unwrap(), b"y");
    }
}

pub async fn a_sweep_removes_what_has_aged_and_only_that(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, other) = (ageing(engine).await, home(engine).await);
    done(engine, b"p", |c| {
        c.write(space, b"old", put(b"x"));
        c.write(space, b"older", put(b"x"));
        c.write(other, b"old", put(b"x"));
    })
    .await;
    assert_eq!(engine.sweep(space).await.unwrap(), Swept::default(), "all are young");
    age(&t, space, b"p", b"old").await;
    done(engine, b"p", |c| c.write(space, b"young", put(b"y"))).await;
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 2, invalid: 0 });
    assert_eq!(engine.sweep(space).await.unwrap(), Swept::default(), "they are gone");
    assert_eq!(engine.sweep(other).await.unwrap(), Swept::default(), "a space without a rule");
    assert_eq!(sorts(engine, ScanRequest::partition(space, b"p")).await, [b"young"]);
    assert_eq!(sorts(engine, ScanRequest::partition(other, b"p")).await, [b"old"]);
}

pub async fn invalid_cells_go_to_quarantine_whole(mut t: Trial) {
    let (space, quarantine) = judged(t.engine().as_ref()).await;
    let other = derived(t.engine().as_ref()).await;
    done(t.engine().as_ref(), b"p\0q", |c| {
        c.write(space, b"good", put(b"fine"));
        c.write(space, b"cell", put(b"bad one"));
        c.dependent(other, b"p\0q", b"cell", put(b"bad elsewhere"));
    })
    .await;
    let engine = t.engine().as_ref();
    assert_hidden(engine, space, b"p\0q", b"cell").await;
    // Folding and packing is no reason for a cell to vanish.
    engine.compact(space).await.unwrap();
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 0, invalid: 1 });
    assert_eq!(engine.sweep(space).await.unwrap(), Swept::default());
    t.reopen().await;
    let engine = t.engine().as_ref();
    assert_hidden(engine, space, b"p\0q", b"cell").await;
    assert_eq!(payload(engine, space, b"p\0q", b"good").await.unwrap(), b"fine");
    let held = pairs(engine, ScanRequest::partition(quarantine, b"p\0q")).await;
    assert_eq!(held.len(), 1, "one copy, in the partition it came from");
    assert!(held[0].0.ends_with(b"cell"), "its sort key ends in the one it had");
    assert_eq!(held[0].1, b"bad one");
}

pub async fn each_invalid_value_of_a_cell_is_quarantined(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, quarantine) = judged(engine).await;
    for value in [&b"bad 1"[..], b"bad 2"] {
        done(engine, b"p", |c| c.write(space, b"cell", put(value))).await;
        engine.sweep(space).await.unwrap();
    }
    let held = pairs(engine, ScanRequest::partition(quarantine, b"p")).await;
    let payloads: Vec<&[u8]> = held.iter().map(|(_, payload)| payload.as_slice()).collect();
    assert_eq!(payloads, [b"bad 1", b"bad 2"]);
}

pub async fn without_a_quarantine_invalid_cells_stay_hidden(t: Trial) {
    let engine = t.engine().as_ref();
    let nowhere = create(engine, SpaceSpec::home(BUCKET, "judged").keeping(sound())).await;
    let (lost, quarantine) = judged(engine).await;
    engine.drop_spaces(vec![quarantine]).await.unwrap();
    for space in [nowhere, lost] {
        done(engine, b"p", |c| c.write(space, b"cell", put(b"bad"))).await;
        for _ in 0..2 {
            assert_eq!(engine.sweep(space).await.unwrap(), Swept::default(), "nowhere to go");
        }
        assert_hidden(engine, space, b"p", b"cell").await;
    }
}

/// A derived space of sums up to ten; greater ones go to the second space.
async fn bounded_sums(engine: &dyn Engine) -> (SpaceId, SpaceId) {
    let quarantine = derived(engine).await;
    let spec = SpaceSpec::derived(BUCKET, "sums")
        .merging(RuleSpec::named("sum"))
        .keeping(at_most(10))
        .quarantined_in(quarantine);
    (create(engine, spec).await, quarantine)
}

async fn add(engine: &dyn Engine, space: SpaceId, sort: &[u8], addend: i64) {
    done(engine, b"p", |c| c.dependent(space, b"d", sort, merge(&addend.to_be_bytes()))).await;
}

pub async fn merged_cells_are_judged_folded(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, quarantine) = bounded_sums(engine).await;
    for addend in [6, 6] {
        add(engine, space, b"too much", addend).await;
    }
    for addend in [20, -15] {
        add(engine, space, b"enough", addend).await;
    }
    t.settle().await;
    for swept in [false, true] {
        assert_hidden(engine, space, b"d", b"too much").await;
        assert_eq!(number(engine, space, b"d", b"enough").await, 5);
        if !swept {
            engine.compact(space).await.unwrap();
            assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 0, invalid: 1 });
        }
    }
    let held = pairs(engine, ScanRequest::partition(quarantine, b"d")).await;
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].1, 12_i64.to_be_bytes(), "the folded value is what was condemned");
    add(engine, space, b"too much", 1).await;
    t.settle().await;
    assert_eq!(number(engine, space, b"d", b"too much").await, 1, "it begins anew");
}

pub async fn an_expired_part_counts_until_it_is_swept(t: Trial) {
    let engine = t.engine().as_ref();
    let spec = SpaceSpec::derived(BUCKET, "sums")
        .merging(RuleSpec::named("sum"))
        .keeping(younger_than(MINUTE.as_micros() as u64));
    let space = create(engine, spec).await;
    add(engine, space, b"n", 1).await;
    t.settle().await;
    age(&t, space, b"d", b"n").await;
    assert_hidden(engine, space, b"d", b"n").await;
    engine.compact(space).await.unwrap();
    add(engine, space, b"n", 2).await;
    t.settle().await;
    assert_eq!(number(engine, space, b"d", b"n").await, 3);
    t.clock().advance(2 * MINUTE);
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 1, invalid: 0 });
    add(engine, space, b"n", 4).await;
    t.settle().await;
    assert_eq!(number(engine, space, b"d", b"n").await, 4);
}

pub async fn a_cell_changed_while_a_sweep_runs_survives(t: Trial) {
    const CELLS: u32 = 3_000;
    const STEP: usize = 100;
    let (space, quarantine) = judged(t.engine().as_ref()).await;
    done(t.engine().as_ref(), b"p", |c| {
        for cell in 0..CELLS {
            c.write(space, &cell.to_be_bytes(), put(b"bad"));
        }
    })
    .await;
    let swept = together(2, |index| {
        let engine = t.engine().clone();
        async move {
            if index == 0 {
                return engine.sweep(space).await.unwrap().invalid;
            }
            // From the end, so that it meets the sweep on its way.
            for first in (0..CELLS).step_by(STEP).rev() {
                done(engine.as_ref(), b"p", |c| {
                    for cell in first..first + STEP as u32 {
                        c.write(space, &cell.to_be_bytes(), put(b"good"));
                    }
                })
                .await;
            }
            0
        }
    })
    .await;
    let engine = t.engine().as_ref();
    let there = pairs(engine, ScanRequest::partition(space, b"p")).await;
    assert_eq!(there.len(), CELLS as usize, "a good cell was swept");
    assert!(there.iter().all(|(_, payload)| payload == b"good"));
    let held = sorts(engine, ScanRequest::partition(quarantine, b"p")).await;
    assert_eq!(held.len() as u64, swept[0], "every bad cell removed has its copy");
}
