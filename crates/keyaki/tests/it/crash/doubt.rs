//! Commits in doubt: a failed sync leaves the fate of its group open until the store is reopened,
//! and until then nobody may be told, or draw a conclusion from, what may never have been. And what
//! bypasses the log must not outlive the commits in it that it rests on.
//!
//! The children run under the recorder of `power`, which fails a sync when they wish it.

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use keyaki::Kind;
use keyaki::cell::Time;
use keyaki::cell::visibility::Authorisations;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{CellRef, Expect, Keep, Route, RuleSpec, Rules, SpaceSpec, Verdict};
use keyaki::settings::{Durability, EmbeddedSettings};
use keyaki::store::{BucketSpec, Change};
use keyaki::testing::conformance::BUCKET;
use keyaki::testing::conformance::steps::*;

use super::power::{Disk, Recorder, wish};
use super::{open_store, runtime, settings};

#[test]
fn what_a_failed_group_refused_is_in_doubt_too() {
    Recorder::compile().run_as("group", Disk::New, &[]);
}

#[test]
fn the_feed_stops_below_a_commit_in_doubt() {
    Recorder::compile().run_as("feed", Disk::New, &[]);
}

#[test]
fn a_bulk_commit_never_outlives_what_it_rests_on() {
    let recorder = Recorder::compile();
    let run = recorder.run_as("interval", Disk::New, &[("KEYAKI_RECORDER_TAIL", "lost")]);
    runtime().block_on(async {
        let engine = EmbeddedEngine::open(&run.store(), &settings(), Rules::default()).unwrap();
        let cells = keyaki::engine::Engine::spaces(&engine).into_iter().map(|record| record.id);
        let [logged, bulk] = cells.collect::<Vec<_>>()[..] else { panic!("two spaces") };
        assert_eq!(payload(&engine, bulk, b"p", b"cell").await.unwrap(), b"bulk");
        assert_eq!(payload(&engine, logged, b"p", b"cell").await.unwrap(), b"logged");
    });
}

/// Lets whoever judges a cell wait, the writer among them, until the test drops its end.
struct Gate(Mutex<mpsc::Receiver<()>>);

impl Keep for Gate {
    fn judge(&self, _: &CellRef<'_>, _: Time) -> Verdict {
        let _ = self.0.lock().unwrap().recv();
        Verdict::Keep
    }
}

/// Two commits want one name, and the group of both fails: neither learns that the other has it.
pub fn group(dir: &Path) {
    let (open, closed) = mpsc::channel();
    let gate = Arc::new(Gate(Mutex::new(closed)));
    let rules = Rules::none().with_keep("gate", move |_| Some(gate.clone()));
    runtime().block_on(async {
        let engine = &EmbeddedEngine::open(dir, &settings(), rules).unwrap();
        let names = home(engine).await;
        let spec = SpaceSpec::home(BUCKET, "gated").keeping(RuleSpec::named("gate"));
        let gated = create(engine, spec).await;
        done(engine, b"gate", |c| c.write(gated, b"cell", put(b""))).await;
        let holds = attempt(engine, b"gate", |c| {
            c.expect(gated, b"cell", Expect::Present);
        });
        let takes = |owner: &'static [u8]| {
            attempt(engine, b"p", move |c| {
                c.expect(names, b"name", Expect::Absent);
                c.write(names, b"name", put(owner));
            })
        };
        // Asked in this order: while the writer is held up, both get into one group.
        let (_, first, second, ()) = tokio::join!(holds, takes(b"a"), takes(b"b"), async {
            wish("fail");
            drop(open);
        });
        for answer in [first, second] {
            let doubt = answer.expect_err("nothing is known about it");
            assert_eq!(doubt.kind(), Kind::Unavailable, "{doubt}");
        }
        wish("cut");
    });
}

/// A commit that was stamped before another and fails after it.
pub fn feed(dir: &Path) {
    runtime().block_on(async {
        let store = open_store(dir, &settings()).unwrap();
        let bucket = store.create_bucket(BucketSpec::default()).await.unwrap();
        let change = || Change { item: "item".to_owned(), ..Change::default() };
        let (stamped, stamps) = mpsc::channel();
        let (open, closed) = mpsc::channel::<()>();
        let slow = tokio::spawn({
            let bucket = bucket.clone();
            async move {
                let commit = bucket.commit(b"slow", move |draft| {
                    stamped.send(draft.tid()).unwrap();
                    let _ = closed.recv();
                    draft.change(&change(), b"", b"")
                });
                commit.await
            }
        });
        let first = stamps.recv().unwrap();
        let fast = bucket.commit(b"fast", |draft| draft.change(&change(), b"", b""));
        fast.await.unwrap();
        wish("fail");
        drop(open);
        let doubt = slow.await.unwrap().expect_err("nothing is known about it");
        assert_eq!(doubt.kind(), Kind::Unavailable, "{doubt}");
        // Stamped anew if the two partitions share a slot of the writer's.
        let last = stamps.try_iter().last().unwrap_or(first);
        let page = bucket.changes(&Authorisations::none(), None, 100).await.unwrap();
        assert!(page.next < last, "{} has passed by {last}", page.next);
        assert!(page.changes.iter().all(|record| record.id < last));
        wish("cut");
    });
}

/// A commit through a log that is hardly ever synced, and a bulk commit that expects its cell.
pub fn interval(dir: &Path) {
    let durability = Durability::Interval(Duration::from_secs(3600));
    let settings = EmbeddedSettings { durability, ..settings() };
    runtime().block_on(async {
        let engine = &EmbeddedEngine::open(dir, &settings, Rules::default()).unwrap();
        let logged = home(engine).await;
        let bulk = create(engine, SpaceSpec::home(BUCKET, "bulk")).await;
        done(engine, b"p", |c| c.write(logged, b"cell", put(b"logged"))).await;
        done(engine, b"p", |c| {
            c.set_route(Route::Bulk);
            c.expect(logged, b"cell", Expect::Present);
            c.write(bulk, b"cell", put(b"bulk"));
        })
        .await;
        wish("cut");
    });
}
