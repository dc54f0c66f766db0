//! Other processes on the same cluster: this test binary once more, in a role. They are told what to do by lines, and
//! tell what they did in a journal, which outlives them.
//!
//! `child` is a test to the harness and returns at once where no role is given.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use keyaki::engine::Rules;
use keyaki::engine::cql::CqlEngine;
use keyaki::settings::{CqlSettings, Replication};
use keyaki::store::{Committed, Store};
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{LATE, Skewed, clocks, open, patiently, rand, store_on};
use crate::crash::journal::{self, Journal};

const TASK: &str = "KEYAKI_CQL_TASK";
/// More than a loaded machine needs for anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(150);

/// What a process is to be, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub role: String,
    nodes: Vec<String>,
    keyspace_prefix: String,
    copies: u8,
    lease_ms: u64,
    journal: PathBuf,
    /// How far its clock is ahead.
    pub ahead_s: i64,
    /// What else the role must know.
    pub items: Vec<String>,
    pub times: u64,
}

impl Task {
    pub fn new(role: &str, settings: &CqlSettings, dir: &Path) -> Self {
        let Replication::Factor(copies) = settings.replication else {
            panic!("tests replicate by a factor");
        };
        Self {
            role: role.to_owned(),
            nodes: settings.nodes.clone(),
            keyspace_prefix: settings.keyspace_prefix.clone(),
            copies,
            lease_ms: settings.lease.as_millis() as u64,
            journal: new_journal(dir),
            ahead_s: 0,
            items: Vec::new(),
            times: 0,
        }
    }

    pub fn on_items(mut self, items: impl IntoIterator<Item = String>) -> Self {
        self.items = items.into_iter().collect();
        self
    }

    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// The same for another process, on another clock.
    pub fn ahead(&self, ahead_s: i64) -> Self {
        Self { ahead_s, journal: new_journal(self.journal.parent().unwrap()), ..self.clone() }
    }

    fn settings(&self) -> CqlSettings {
        CqlSettings {
            nodes: self.nodes.clone(),
            keyspace_prefix: self.keyspace_prefix.clone(),
            replication: Replication::Factor(self.copies),
            lease: Duration::from_millis(self.lease_ms),
            connect_timeout: LATE,
            request_timeout: LATE,
            ..CqlSettings::default()
        }
    }

    pub fn start(&self) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cql::process::child", "--nocapture"])
            .env(TASK, serde_json::to_string(self).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = child.stdin.take().unwrap();
        let child = Arc::new(Mutex::new(child));
        Process { child, lines, journal: self.journal.clone(), heard: 0 }
    }
}

fn new_journal(dir: &Path) -> PathBuf {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    dir.join(format!("journal{}", GIVEN.fetch_add(1, Relaxed)))
}

/// A process that doesn't outlive its test.
pub struct Process {
    child: Arc<Mutex<Child>>,
    lines: ChildStdin,
    journal: PathBuf,
    heard: usize,
}

impl Process {
    pub fn say(&mut self, line: &str) {
        self.lines.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next line of its journal.
    pub fn hear(&mut self) -> String {
        let begun = Instant::now();
        loop {
            if let Some(line) = self.notes().get(self.heard) {
                self.heard += 1;
                return line.clone();
            }
            let ended = self.child.lock().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the process ended by itself: {ended:?}");
            assert!(begun.elapsed() < PATIENCE, "the process says nothing");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Everything it has said.
    pub fn notes(&self) -> Vec<String> {
        journal::read(&self.journal).notes
    }

    /// What kills it, at once, from wherever it is called.
    pub fn killer(&self) -> impl Fn() + Send + Clone + 'static {
        let child = self.child.clone();
        move || {
            let mut child = child.lock().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let id = self.child.lock().unwrap().id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(sent.success(), "{name}");
    }

    pub fn is_dead(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.killer()();
    }
}

#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let task: Task = serde_json::from_str(&task).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(play(&task));
}

async fn play(task: &Task) {
    let journal = Journal::open(&task.journal);
    let clock = Arc::new(Skewed { ahead_s: task.ahead_s });
    let engine = open(task.settings(), Rules::default(), clock);
    patiently(|| engine.connect()).await;
    let store = store_on(&engine, rand() as u64 >> 2);
    journal.note("ready");
    match task.role.as_str() {
        "sweeper" => sweep_when_told(&engine, &journal).await,
        "restless sweeper" => sweep_always(&engine, &journal).await,
        "writer of one" | "heavy writer of one" => {
            step_once(task, &engine, &store, &journal).await;
        }
        "writer" => step_often(task, &engine, &store, &journal).await,
        "registrar" => clocks::registrar(task, &store, &journal).await,
        other => panic!("no such role: {other}"),
    }
}

/// The next thing it is told; its test's end is its own.
pub fn listen() {
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).unwrap() == 0 {
        std::process::exit(0);
    }
}

async fn sweep_when_told(engine: &CqlEngine, journal: &Journal) {
    loop {
        listen();
        match engine.settle().await {
            Ok(settled) => journal.note(&format!("settled {settled}")),
            Err(error) => journal.note(&format!("failed {error:?}")),
        }
    }
}

async fn sweep_always(engine: &CqlEngine, journal: &Journal) {
    loop {
        match engine.settle().await {
            Ok(0) => {}
            Ok(settled) => journal.note(&format!("settled {settled}")),
            Err(error) => journal.note(&format!("failed {error:?}")),
        }
        // Commits that are always overtaken would never take.
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

async fn step_once(task: &Task, engine: &CqlEngine, store: &Store, journal: &Journal) {
    let ledger = Ledger::find(store);
    listen();
    let step = match task.role.as_str() {
        "heavy writer of one" => ledger.step_heavily(&task.items[0]).await,
        _ => ledger.step(&task.items[0]).await,
    };
    match step {
        Ok(Committed::Done(_)) => journal.note("done"),
        other => journal.note(&format!("{other:?}")),
    }
    engine.close().await.unwrap();
    journal.note("closed");
    listen();
}

/// Takes so many steps, one item after the other, and counts those that took and those that it can't tell of.
async fn step_often(task: &Task, engine: &CqlEngine, store: &Store, journal: &Journal) {
    let ledger = Ledger::find(store);
    listen();
    let (mut done, mut failed) = (0, 0);
    for number in 0..task.times {
        let item = &task.items[number as usize % task.items.len()];
        match ledger.step(item).await {
            Ok(Committed::Done(_)) => done += 1,
            Ok(_) => {}
            Err(error) => {
                failed += 1;
                journal.note(&format!("error {error:?}"));
            }
        }
    }
    engine.close().await.unwrap();
    journal.note(&format!("done {done} failed {failed}"));
    listen();
}
