//! A writer that is killed at every step of a commit, by a proxy that knows when; then another process sweeps.
//! All of the commit is there or nothing, its intent is gone, and the next commit counts once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyaki::cell::SystemWallClock;
use keyaki::engine::Rules;
use keyaki::settings::CqlSettings;
use keyaki::store::Committed;

use super::ledger::Ledger;
use super::process::{Process, Task};
use super::proxy::{Fate, Proxy, Request};
use super::{Keyspaces, demand_all, nodes, open, shared, store_on};

/// More requests than a commit makes.
const STEPS_MAX: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The request is not sent.
    Before,
    /// It is done, and nobody hears of it.
    After,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_writer_killed_before_any_request_leaves_all_or_nothing() {
    kill_and_sweep(Moment::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_writer_killed_after_any_request_leaves_all_or_nothing() {
    kill_and_sweep(Moment::After).await;
}

async fn kill_and_sweep(moment: Moment) {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let kills = kill_everywhere(keyspaces.fresh(), moment).await;
    keyspaces.drop_all().await;
    println!("{} kills, {} left nothing: {:#?}", kills.count, kills.absent, kills.at);
    assert!(kills.absent > 0 && kills.whole > 0, "kills on one side of the decision only");
    let at = |part: &str| kills.at.iter().any(|request| request.contains(part));
    for part in ["batch: UPDATE", "SET pending", "SET value", "INSERT INTO", "DELETE FROM"] {
        assert!(at(part), "no kill at {part}");
    }
}

/// What was killed where, and what became of it.
#[derive(Default)]
struct Kills {
    count: usize,
    absent: usize,
    whole: usize,
    at: BTreeSet<String>,
}

async fn kill_everywhere(settings: CqlSettings, moment: Moment) -> Kills {
    let settings = CqlSettings { lease: Duration::from_secs(4), ..settings };
    let dir = tempfile::tempdir().unwrap();
    let engine = open(settings.clone(), Rules::default(), Arc::new(SystemWallClock));
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let mut sweeper = Task::new("sweeper", &settings, dir.path()).start();
    assert_eq!(sweeper.hear(), "ready");
    // Each has a proxy of its own, so that the next can get ready meanwhile.
    let start = |step: usize| {
        let proxy = Proxy::start(&nodes());
        let proxied = CqlSettings { nodes: proxy.nodes(), ..settings.clone() };
        (Task::new("writer of one", &proxied, dir.path()).on_items([item(step)]).start(), proxy)
    };
    let mut kills = Kills::default();
    let mut next = start(0);
    for step in 0..STEPS_MAX {
        let (mut writer, proxy) = std::mem::replace(&mut next, start(step + 1));
        assert_eq!(writer.hear(), "ready");
        let killed_at = kill_at(&proxy, &mut writer, step, moment);
        let acknowledged = writer.notes().iter().any(|note| note == "done");
        let whole = sweep(&mut sweeper, &ledger, &item(step), acknowledged).await;
        let Some(request) = killed_at else {
            let items: Vec<String> = (0..=step).map(item).collect();
            let steps = kills.count + kills.whole + 2;
            demand_all(&ledger, &items, steps as u64).await;
            return kills;
        };
        kills.count += 1;
        *(if whole { &mut kills.whole } else { &mut kills.absent }) += 1;
        let kind = if request.batch { "batch: " } else { "" };
        kills.at.insert(format!("{kind}{}", request.text));
    }
    panic!("a commit makes more than {STEPS_MAX} requests");
}

fn item(step: usize) -> String {
    format!("item{step}")
}

/// Lets the writer commit, and kills it at its request of that number, if it makes so many.
fn kill_at(proxy: &Proxy, writer: &mut Process, step: usize, moment: Moment) -> Option<Request> {
    let killed = Arc::new(Mutex::new(None));
    let (mut left, kill, note) = (step, writer.killer(), killed.clone());
    proxy.judge(move |request| {
        if left > 0 {
            left -= 1;
            return Fate::Pass;
        }
        left = usize::MAX;
        let (kill, note, request) = (kill.clone(), note.clone(), request.clone());
        let kill = move || {
            *note.lock().unwrap() = Some(request);
            kill();
        };
        match moment {
            Moment::After => Fate::Lose(Box::new(kill)),
            Moment::Before => {
                kill();
                Fate::Refuse
            }
        }
    });
    writer.say("go");
    while !writer.is_dead() && !writer.notes().iter().any(|note| note == "closed") {
        std::thread::sleep(Duration::from_millis(2));
    }
    proxy.let_pass();
    let killed = killed.lock().unwrap().take();
    assert_eq!(killed.is_some(), writer.is_dead(), "{:?}", writer.notes());
    killed
}

/// Has what is left finished, and looks at it. Answers whether the commit took.
async fn sweep(sweeper: &mut Process, ledger: &Ledger, item: &str, acknowledged: bool) -> bool {
    sweeper.say("settle");
    let first = sweeper.hear();
    assert!(first == "settled 0" || first == "settled 1", "{first}");
    sweeper.say("settle");
    assert_eq!(sweeper.hear(), "settled 0");
    let number = ledger.survey(item).await;
    assert!(number <= 1 && (number == 1 || !acknowledged), "{number}");
    let again = ledger.step(item).await.unwrap();
    assert!(matches!(again, Committed::Done(_)), "{again:?}");
    assert_eq!(ledger.survey(item).await, number + 1);
    number == 1
}
