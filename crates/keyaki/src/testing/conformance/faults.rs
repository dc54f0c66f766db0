//! Rules are code and may refuse or panic: that hides the cell they fail at, and nothing else.

use std::time::Duration;

use super::keeps::assert_hidden;
use super::rules::{fragile, late};
use super::steps::*;
use super::{BUCKET, Trial};
use crate::cell::value::VISIBILITY_BYTES_MAX;
use crate::cell::{Time, Value};
use crate::engine::{Engine, Expect, RuleSpec, ScanRequest, SpaceId, SpaceSpec, Swept, Write};

/// A space whose operands may not fold, and the quarantine they go to.
async fn merged(engine: &dyn Engine, rule: RuleSpec) -> (SpaceId, SpaceId) {
    let quarantine = derived(engine).await;
    let spec = SpaceSpec::derived(BUCKET, "merged").merging(rule).quarantined_in(quarantine);
    (create(engine, spec).await, quarantine)
}

async fn add(engine: &dyn Engine, space: SpaceId, sort: &[u8], operand: Value<'_>) -> Time {
    let mut commit = stamped(engine, b"p");
    let time = commit.tid().time();
    commit.dependent(space, b"d", sort, Write::Merge(operand));
    engine.commit(commit).await.unwrap();
    time
}

/// Two labels that no cell can carry together.
fn long_labels() -> [Vec<u8>; 2] {
    [b'a', b'b'].map(|letter| vec![letter; VISIBILITY_BYTES_MAX / 2 + 1])
}

pub async fn unfoldable_cells_are_hidden_and_no_others(mut t: Trial) {
    let (space, _) = merged(t.engine().as_ref(), fragile()).await;
    let engine = t.engine().as_ref();
    for operand in [b"1", b"2"] {
        for sort in [b"first", b"panic", b"refus", b"label", b"third"] {
            add(engine, space, sort, Value::open(operand)).await;
        }
    }
    add(engine, space, b"panic", Value::open(b"oh")).await;
    add(engine, space, b"refus", Value::open(b"no")).await;
    for label in &long_labels() {
        add(engine, space, b"label", Value::visible_to(label, b"3")).await;
    }
    t.settle().await;
    for state in ["as merged", "after compaction", "after reopening"] {
        match state {
            "after compaction" => t.engine().compact(space).await.unwrap(),
            "after reopening" => t.reopen().await,
            _ => {}
        }
        let engine = t.engine().as_ref();
        for sort in [b"panic", b"refus", b"label"] {
            assert_hidden(engine, space, b"d", sort).await;
        }
        let seen = [(b"first".to_vec(), b"12".to_vec()), (b"third".to_vec(), b"12".to_vec())];
        assert_eq!(pairs(engine, ScanRequest::partition(space, b"d")).await, seen, "{state}");
    }
}

pub async fn unfoldable_operands_go_to_quarantine_one_by_one(mut t: Trial) {
    let (space, quarantine) = merged(t.engine().as_ref(), fragile()).await;
    let engine = t.engine().as_ref();
    let labels = long_labels();
    let mut times = Vec::new();
    for (label, operand) in labels.iter().zip([b"1", b"2"]) {
        times.push(add(engine, space, b"cell", Value::visible_to(label, operand)).await);
    }
    add(engine, space, b"fine", Value::open(b"3")).await;
    t.settle().await;
    engine.compact(space).await.unwrap();
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 0, invalid: 1 });
    assert_eq!(engine.sweep(space).await.unwrap(), Swept::default());
    t.reopen().await;
    let engine = t.engine().as_ref();
    let held = block(engine, ScanRequest::partition(quarantine, b"d")).await;
    assert_eq!(held.len(), 2, "one copy of each operand, in the partition it came from");
    for (index, copy) in held.iter().enumerate() {
        assert!(copy.sort().ends_with(b"cell"), "its sort key ends in that of the cell");
        assert_eq!(copy.visibility(), labels[index], "nobody sees more of it than before");
        assert_eq!((copy.time(), copy.payload()), (times[index], &[b'1' + index as u8][..]));
    }
    add(engine, space, b"cell", Value::open(b"4")).await;
    t.settle().await;
    assert_eq!(payload(engine, space, b"d", b"cell").await.unwrap(), b"4", "it begins anew");
    assert_eq!(payload(engine, space, b"d", b"fine").await.unwrap(), b"3");
}

pub async fn no_unfoldable_operand_is_lost(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, quarantine) = merged(engine, fragile()).await;
    // Operands of one commit share their time.
    done(engine, b"p", |c| {
        for operand in [&b"no"[..], b"no", b"1", b"no"] {
            c.dependent(space, b"d", b"cell", merge(operand));
        }
    })
    .await;
    add(engine, space, b"cell", Value::open(b"2")).await;
    t.settle().await;
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 0, invalid: 1 });
    let held = pairs(engine, ScanRequest::partition(quarantine, b"d")).await;
    let operands: Vec<u8> = held.into_iter().flat_map(|(_, payload)| payload).collect();
    assert_eq!(operands.escape_ascii().to_string(), "nono1no2", "all, in their order");
}

pub async fn without_a_quarantine_unfoldable_cells_stay_hidden(t: Trial) {
    let engine = t.engine().as_ref();
    let nowhere = create(engine, SpaceSpec::derived(BUCKET, "merged").merging(fragile())).await;
    let (lost, quarantine) = merged(engine, fragile()).await;
    engine.drop_spaces(vec![quarantine]).await.unwrap();
    for space in [nowhere, lost] {
        for operand in [b"no", b"no"] {
            add(engine, space, b"cell", Value::open(operand)).await;
        }
        t.settle().await;
        assert_eq!(engine.sweep(space).await.unwrap(), Swept::default(), "nowhere to go");
        assert_hidden(engine, space, b"d", b"cell").await;
        done(engine, b"p", |c| c.dependent(space, b"d", b"cell", Write::Delete)).await;
        add(engine, space, b"cell", Value::open(b"1")).await;
        t.settle().await;
        assert_eq!(payload(engine, space, b"d", b"cell").await.unwrap(), b"1");
    }
}

pub async fn a_keep_rule_that_panics_hides_but_removes_nothing(mut t: Trial) {
    const MINUTE: Duration = Duration::from_secs(60);
    let quarantine = derived(t.engine().as_ref()).await;
    let rule = late(MINUTE.as_micros() as u64);
    let spec = SpaceSpec::home(BUCKET, "judged").keeping(rule).quarantined_in(quarantine);
    let space = create(t.engine().as_ref(), spec).await;
    done(t.engine().as_ref(), b"p", |c| {
        for sort in [&b"ah"[..], b"oh", b"uh"] {
            c.write(space, sort, put(b"x"));
        }
    })
    .await;
    for reopened in [false, true] {
        if reopened {
            t.reopen().await;
        }
        let engine = t.engine().as_ref();
        assert_hidden(engine, space, b"p", b"oh").await;
        assert_eq!(sorts(engine, ScanRequest::partition(space, b"p")).await, [b"ah", b"uh"]);
        assert_eq!(engine.sweep(space).await.unwrap(), Swept::default());
        engine.compact(space).await.unwrap();
    }
    t.clock().advance(MINUTE);
    let engine = t.engine().as_ref();
    assert_eq!(payload(engine, space, b"p", b"oh").await.unwrap(), b"x", "it was there all along");
    assert!(sorts(engine, ScanRequest::partition(quarantine, b"p")).await.is_empty());
}

pub async fn a_keep_rule_that_panics_ends_no_writing(t: Trial) {
    let engine = t.engine().as_ref();
    let spec = SpaceSpec::home(BUCKET, "judged").keeping(late(u64::MAX));
    let (space, other) = (create(engine, spec).await, home(engine).await);
    done(engine, b"p", |c| c.write(space, b"oh", put(b"x"))).await;
    let refused = refusals(engine, b"p", |c| {
        c.expect(space, b"oh", Expect::Present);
        c.write(other, b"cell", put(b"x"));
    })
    .await;
    assert!(refused.len() == 1 && refused[0].found.is_none(), "what is hidden is absent");
    done(engine, b"p", |c| {
        c.expect(space, b"oh", Expect::Absent);
        c.write(other, b"cell", put(b"y"));
    })
    .await;
    assert_eq!(payload(engine, other, b"p", b"cell").await.unwrap(), b"y");
}
