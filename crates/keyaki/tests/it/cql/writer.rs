//! A writer that is killed at every step of a commit, by a proxy that knows when; then another process sweeps.
//! All of the commit is there or nothing, its intent is gone, and the next commit counts once.

use std::path::Path;
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
/// By which an intent goes, behind its parts.
const ROW_GOES: &str = "USING TIMESTAMP ? WHERE space = ? AND partition = ? AND sort = ?";

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
    // The feed waits three leases for processes that are gone.
    let settings = CqlSettings { lease: Duration::from_secs(4), ..keyspaces.fresh() };
    let dir = tempfile::tempdir().unwrap();
    let mut scene = Scene::set(&settings, dir.path(), moment, "writer of one").await;
    let mut steps = 0;
    while scene.kill(Target::Request(steps)).await {
        steps += 1;
        assert!(steps < STEPS_MAX, "a commit makes more than {STEPS_MAX} requests");
    }
    // What else a process asks for comes in between, and may have hidden one of these.
    for part in ["SET latest", "SET pending", "SET value", "INSERT INTO", "DELETE FROM"] {
        assert!(scene.kill(Target::Statement(part)).await, "no request says {part}");
    }
    println!("{} writers, of which {} left nothing", scene.runs, scene.absent);
    assert!(scene.absent > 0 && scene.whole > 0, "kills on one side of the decision only");
    let items: Vec<String> = (0..scene.runs).map(item).collect();
    demand_all(&scene.ledger, &items, (scene.runs + scene.whole) as u64).await;
    drop(scene);
    keyspaces.drop_all().await;
}

/// One whose intent lies in parts, at each kind of request that it makes, and between those that end the intent.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_writer_killed_with_a_large_intent_leaves_all_or_nothing() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let dir = tempfile::tempdir().unwrap();
    for moment in [Moment::Before, Moment::After] {
        let settings = CqlSettings { lease: Duration::from_secs(4), ..keyspaces.fresh() };
        let mut scene = Scene::set(&settings, dir.path(), moment, "heavy writer of one").await;
        for part in ["SET latest", "SET value", "INSERT INTO", "DELETE FROM", ROW_GOES] {
            assert!(scene.kill(Target::Statement(part)).await, "no request says {part}");
        }
        assert!(scene.absent > 0 && scene.whole > 0, "kills on one side of the decision only");
    }
    keyspaces.drop_all().await;
}

/// At which request the writer dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The one after so many.
    Request(usize),
    /// The first that says this.
    Statement(&'static str),
}

/// The processes, and what became of the writers.
struct Scene<'a> {
    settings: &'a CqlSettings,
    dir: &'a Path,
    moment: Moment,
    role: &'static str,
    ledger: Ledger,
    sweeper: Process,
    /// Each has a proxy of its own, so that the next can get ready meanwhile.
    next: (Process, Proxy),
    runs: usize,
    absent: usize,
    whole: usize,
}

impl<'a> Scene<'a> {
    async fn set(
        settings: &'a CqlSettings,
        dir: &'a Path,
        moment: Moment,
        role: &'static str,
    ) -> Self {
        let engine = open(settings.clone(), Rules::default(), Arc::new(SystemWallClock));
        let ledger = Ledger::create(&store_on(&engine, 1)).await;
        let mut sweeper = Task::new("sweeper", settings, dir).start();
        assert_eq!(sweeper.hear(), "ready");
        let next = writer(role, settings, dir, 0);
        Self { settings, dir, moment, role, ledger, sweeper, next, runs: 0, absent: 0, whole: 0 }
    }

    /// Has a writer commit and killed, and what it left swept. Answers whether it came to that.
    async fn kill(&mut self, target: Target) -> bool {
        let after = writer(self.role, self.settings, self.dir, self.runs + 1);
        let (mut writer, proxy) = std::mem::replace(&mut self.next, after);
        assert_eq!(writer.hear(), "ready");
        let killed = kill_at(&proxy, &mut writer, target, self.moment);
        let acknowledged = writer.notes().iter().any(|note| note == "done");
        println!("{target:?}: {killed:?}, acknowledged: {acknowledged}");
        let item = item(self.runs);
        let whole = sweep(&mut self.sweeper, &self.ledger, &item, acknowledged).await;
        self.ledger.weigh(&item, whole && self.role == "heavy writer of one").await;
        self.runs += 1;
        *(if whole { &mut self.whole } else { &mut self.absent }) += 1;
        killed.is_some()
    }
}

fn writer(role: &str, settings: &CqlSettings, dir: &Path, run: usize) -> (Process, Proxy) {
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings.clone() };
    (Task::new(role, &proxied, dir).on_items([item(run)]).start(), proxy)
}

fn item(step: usize) -> String {
    format!("item{step}")
}

/// Lets the writer commit, and kills it at that request, if it makes it.
fn kill_at(proxy: &Proxy, writer: &mut Process, target: Target, moment: Moment) -> Option<Request> {
    let killed = Arc::new(Mutex::new(None));
    let (mut met, kill, note) = (0, writer.killer(), killed.clone());
    proxy.judge(move |request| {
        let is_it = match target {
            Target::Request(number) => met == number,
            Target::Statement(part) => request.text.contains(part),
        };
        met += 1;
        if !is_it || note.lock().unwrap().is_some() {
            return Fate::Pass;
        }
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
