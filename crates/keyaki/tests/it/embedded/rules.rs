//! Rules are code and may be missing, refuse or panic: operands and cells are kept regardless.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};

use keyaki::cell::{Time, ValueRef};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{
    CellRef, Engine, Keep, Merge, RuleSpec, Rules, ScanRequest, SpaceId, SpaceSpec, Swept,
    Unfoldable, Verdict, Write,
};
use keyaki::testing::conformance::steps::*;
use keyaki::testing::conformance::{self, BUCKET, panic_quietly};
use keyaki::{Kind, cell};
use tempfile::TempDir;

use super::{open, open_knowing, settings, standing_clock};

/// Appends an operand to each of two cells of `space`, one of which stays alone.
async fn append(engine: &EmbeddedEngine, space: SpaceId, operand: &[u8]) {
    done(engine, b"p", |c| {
        c.dependent(space, b"d", b"shared", merge(operand));
        c.dependent(space, b"d", operand, merge(operand));
    })
    .await;
}

#[tokio::test]
async fn operands_of_an_unknown_merge_rule_stay_until_it_is_known() {
    let dir = TempDir::new().unwrap();
    let engine = open(dir.path()).unwrap();
    let space = merging(&engine, "append").await;
    for operand in [b"1", b"2", b"3"] {
        append(&engine, space, operand).await;
    }
    drop(engine);
    for operand in [b"4", b"5"] {
        let engine = open_knowing(dir.path(), Rules::none());
        let refused = engine.read(space, b"d", b"shared").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unsupported);
        assert_eq!(refused.context("rule"), Some("append"));
        let scan = engine.scan(ScanRequest::partition(space, b"d")).await;
        assert_eq!(scan.map(drop).unwrap_err().kind(), Kind::Unsupported);
        let blind = error(&engine, b"p", |c| c.dependent(space, b"d", b"x", merge(b"x"))).await;
        assert_eq!(blind.kind(), Kind::Unsupported);
        engine.compact(space).await.unwrap();
        drop(engine);
        append(&open(dir.path()).unwrap(), space, operand).await;
    }
    let engine = open(dir.path()).unwrap();
    assert_eq!(payload(&engine, space, b"d", b"shared").await.unwrap(), b"12345");
    let alone = ScanRequest::prefix(space, b"d", b"4");
    assert_eq!(pairs(&engine, alone).await, [(b"4".to_vec(), b"4".to_vec())]);
}

/// Appends, unless it is in a bad mood.
struct Moody {
    panics: bool,
    bad: Arc<AtomicBool>,
}

impl Merge for Moody {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        // What it has written when it fails must not be used.
        out.extend_from_slice(b"half");
        if self.bad.load(Relaxed) {
            if self.panics {
                panic_quietly("a bad mood");
            }
            return Err(Unfoldable("a bad mood"));
        }
        out.clear();
        out.extend(payloads.concat());
        Ok(())
    }
}

fn moody(panics: bool, bad: &Arc<AtomicBool>) -> Rules {
    let bad = bad.clone();
    Rules::none().with_merge("moody", move |_| Some(Arc::new(Moody { panics, bad: bad.clone() })))
}

#[tokio::test]
async fn operands_of_a_rule_that_fails_stay_until_it_works() {
    for panics in [false, true] {
        let dir = TempDir::new().unwrap();
        let bad = Arc::new(AtomicBool::new(false));
        let engine = open_knowing(dir.path(), moody(panics, &bad));
        let space = merging(&engine, "moody").await;
        append(&engine, space, b"1").await;
        append(&engine, space, b"2").await;
        bad.store(true, Relaxed);
        assert_hidden(&engine, space).await;
        done(&engine, b"p", |c| {
            // Two in one commit are folded with it.
            c.dependent(space, b"d", b"shared", merge(b"3"));
            c.dependent(space, b"d", b"shared", merge(b"4"));
        })
        .await;
        engine.compact(space).await.unwrap();
        assert_hidden(&engine, space).await;
        drop(engine);
        let engine = open_knowing(dir.path(), moody(panics, &bad));
        append(&engine, space, b"5").await;
        engine.compact(space).await.unwrap();
        assert_hidden(&engine, space).await;
        assert_eq!(payload(&engine, space, b"d", b"1").await.unwrap(), b"1", "nothing to fold");
        bad.store(false, Relaxed);
        assert_eq!(payload(&engine, space, b"d", b"shared").await.unwrap(), b"12345");
        engine.compact(space).await.unwrap();
        drop(engine);
        let engine = open_knowing(dir.path(), moody(panics, &bad));
        assert_eq!(payload(&engine, space, b"d", b"shared").await.unwrap(), b"12345");
    }
}

async fn assert_hidden(engine: &EmbeddedEngine, space: SpaceId) {
    assert_eq!(stored(engine, space, b"d", b"shared").await, None);
    let seen = sorts(engine, ScanRequest::partition(space, b"d")).await;
    assert!(!seen.is_empty() && !seen.contains(&b"shared".to_vec()), "and no other is");
}

#[tokio::test]
async fn a_cell_quarantined_from_unfolded_operands_keeps_time_and_visibility() {
    let dir = TempDir::new().unwrap();
    let engine = open_knowing(dir.path(), conformance::rules());
    let quarantine = derived(&engine).await;
    let spec = SpaceSpec::derived(BUCKET, "sums")
        .merging(RuleSpec::named("sum"))
        .keeping(RuleSpec::new("conformance.at-most", "10"))
        .quarantined_in(quarantine);
    let space = create(&engine, spec).await;
    let mut last = Time::ZERO;
    for visibility in [b"a", b"b"] {
        let six = 6_i64.to_be_bytes();
        let mut commit = stamped(&engine, b"p");
        last = commit.tid().time();
        let operand = cell::Value::visible_to(visibility, &six);
        commit.dependent(space, b"d", b"n", Write::Merge(operand));
        engine.commit(commit).await.unwrap();
    }
    drop(engine);
    let engine = open_knowing(dir.path(), Rules::none());
    engine.compact(space).await.unwrap();
    drop(engine);
    let engine = open_knowing(dir.path(), conformance::rules());
    assert_eq!(engine.sweep(space).await.unwrap(), Swept { expired: 0, invalid: 1 });
    let held = block(&engine, ScanRequest::partition(quarantine, b"d")).await;
    let copy = held.get(0);
    assert_eq!((held.len(), copy.payload()), (1, &12_i64.to_be_bytes()[..]));
    assert_eq!(copy.time(), last);
    assert!(sees(&["a", "b"], copy.visibility()));
    assert!(!sees(&["a"], copy.visibility()) && !sees(&[], copy.visibility()));
}

#[tokio::test]
async fn a_space_of_an_unknown_keep_rule_is_not_served() {
    let dir = TempDir::new().unwrap();
    let engine = open(dir.path()).unwrap();
    let rule = RuleSpec::new("age", "1000000000000");
    let space = create(&engine, SpaceSpec::home(BUCKET, "ageing").keeping(rule)).await;
    let other = home(&engine).await;
    done(&engine, b"p", |c| {
        c.write(space, b"cell", put(b"x"));
        c.write(other, b"cell", put(b"x"));
    })
    .await;
    drop(engine);
    let engine = open_knowing(dir.path(), Rules::none());
    let unknown = [
        engine.read(space, b"p", b"cell").await.map(drop).unwrap_err(),
        engine.scan(ScanRequest::partition(space, b"p")).await.map(drop).unwrap_err(),
        engine.sweep(space).await.map(drop).unwrap_err(),
        error(&engine, b"p", |c| c.write(space, b"cell", put(b"y"))).await,
    ];
    assert!(unknown.iter().all(|refused| refused.kind() == Kind::Unsupported), "{unknown:?}");
    engine.compact(space).await.unwrap();
    assert_eq!(payload(&engine, other, b"p", b"cell").await.unwrap(), b"x", "others are served");
    drop(engine);
    let engine = open(dir.path()).unwrap();
    assert_eq!(payload(&engine, space, b"p", b"cell").await.unwrap(), b"x");
}

/// Judges by age, so that compaction asks it, and panics where nobody else does.
struct Panicking(Arc<AtomicBool>);

impl Keep for Panicking {
    fn judge(&self, _: &CellRef<'_>, _: Time) -> Verdict {
        if self.0.load(Relaxed) {
            panic_quietly("a keep rule panics");
        }
        Verdict::Keep
    }

    fn by_age(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_keep_rule_that_panics_in_compaction_drops_nothing() {
    let dir = TempDir::new().unwrap();
    let panics = Arc::new(AtomicBool::new(false));
    let rule = panics.clone();
    let rules =
        Rules::none().with_keep("panicking", move |_| Some(Arc::new(Panicking(rule.clone()))));
    let engine = open_knowing(dir.path(), rules);
    let spec = SpaceSpec::home(BUCKET, "kept").keeping(RuleSpec::named("panicking"));
    let space = create(&engine, spec).await;
    done(&engine, b"p", |c| c.write(space, b"cell", put(b"x"))).await;
    panics.store(true, Relaxed);
    engine.compact(space).await.unwrap();
    panics.store(false, Relaxed);
    assert_eq!(payload(&engine, space, b"p", b"cell").await.unwrap(), b"x");
}

/// Says when it begins to judge, and waits to be let on.
struct Gate {
    judging: Mutex<mpsc::Sender<()>>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Keep for Gate {
    fn judge(&self, cell: &CellRef<'_>, _: Time) -> Verdict {
        if cell.payload() != b"bad" {
            return Verdict::Keep;
        }
        let _ = self.judging.lock().unwrap().send(());
        let _ = self.go_on.lock().unwrap().recv();
        Verdict::Expired
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_changes_between_verdict_and_removal_survives() {
    let dir = TempDir::new().unwrap();
    let ((judging, judged), (go_on, wait)) = (mpsc::channel(), mpsc::channel());
    let gate = Arc::new(Gate { judging: Mutex::new(judging), go_on: Mutex::new(wait) });
    let rules = Rules::none().with_keep("gate", move |_| Some(gate.clone()));
    let opened =
        EmbeddedEngine::open_with_clock(dir.path(), &settings(), rules, standing_clock()).unwrap();
    let engine = Arc::new(opened);
    let spec = SpaceSpec::home(BUCKET, "gated").keeping(RuleSpec::named("gate"));
    let space = create(engine.as_ref(), spec).await;
    done(engine.as_ref(), b"p", |c| c.write(space, b"cell", put(b"bad"))).await;
    let sweeping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.sweep(space).await }
    });
    judged.recv().unwrap();
    done(engine.as_ref(), b"p", |c| c.write(space, b"cell", put(b"good"))).await;
    go_on.send(()).unwrap();
    assert_eq!(sweeping.await.unwrap().unwrap(), Swept::default());
    assert_eq!(payload(engine.as_ref(), space, b"p", b"cell").await.unwrap(), b"good");
}

/// Aged cells are not only hidden: a compaction removes them for good.
#[tokio::test]
async fn compaction_drops_what_has_aged() {
    let dir = TempDir::new().unwrap();
    let clock = standing_clock();
    let open = |path: &Path, rules| {
        EmbeddedEngine::open_with_clock(path, &settings(), rules, clock.clone()).unwrap()
    };
    let engine = open(dir.path(), Rules::default());
    let rule = RuleSpec::new("age", "1000000");
    let space = create(&engine, SpaceSpec::home(BUCKET, "ageing").keeping(rule)).await;
    done(&engine, b"p", |c| c.write(space, b"old", put(b"x"))).await;
    clock.advance(std::time::Duration::from_secs(1));
    done(&engine, b"p", |c| c.write(space, b"young", put(b"x"))).await;
    engine.compact(space).await.unwrap();
    drop(engine);
    // A rule of the same name that keeps everything shows what is left.
    let kept = Rules::none().with_keep("age", |_| Some(Arc::new(Panicking(Arc::default()))));
    let engine = open(dir.path(), kept);
    assert_eq!(sorts(&engine, ScanRequest::partition(space, b"p")).await, [b"young"]);
    let young = stored(&engine, space, b"p", b"young").await.unwrap();
    assert_eq!(ValueRef::decode(&young).unwrap().payload, b"x");
}
