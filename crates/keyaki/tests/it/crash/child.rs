//! The child: this test binary once more, in a role, on a directory, with a journal.
//!
//! `child` is a test to the harness and returns at once where no role is given.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use keyaki::testing::random::Random;
use keyaki::testing::workload::{Link, Load, Workload};

use super::journal::{self, Journal};
use super::{doubt, full, log, open, power, runtime, second};

const ROLE: &str = "KEYAKI_CRASH_ROLE";
const DIR: &str = "KEYAKI_CRASH_DIR";
const JOURNAL: &str = "KEYAKI_CRASH_JOURNAL";
const LANES: u16 = 8;

#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (dir, journal) = (path_from(DIR), Journal::open(&journal_path()));
    match role.as_str() {
        "lanes" => lanes(&dir, &journal),
        "log" => log::child(&dir, &journal),
        "power" => power::child(&dir, &journal),
        "group" => doubt::group(&dir),
        "feed" => doubt::feed(&dir),
        "interval" => doubt::interval(&dir),
        "full" => full::supervise(&dir),
        "too-small" => full::refuse(&dir),
        "full-writer" => full::write(&dir, &journal),
        "second" => second::child(&dir, &journal),
        other => panic!("no such role: {other}"),
    }
}

/// Where the child's journal is.
pub fn journal_path() -> PathBuf {
    path_from(JOURNAL)
}

fn path_from(variable: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(variable).unwrap())
}

/// The command that starts a child.
pub fn command(role: &str, dir: &Path, journal: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::child::child", "--nocapture"])
        .env(ROLE, role)
        .env(DIR, dir)
        .env(JOURNAL, journal)
        .stdout(Stdio::null());
    command
}

/// A child that doesn't outlive its test.
pub struct Running(Child);

impl Running {
    pub fn start(role: &str, dir: &Path, journal: &Path) -> Self {
        Self(command(role, dir, journal).spawn().unwrap())
    }

    /// Waits until the child has noted something.
    pub fn wait_until(&mut self, noted: &Path, note: &str) {
        while !journal::read(noted).says(note) {
            self.assert_alive();
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGKILL, unless it has ended by itself, which it must not.
    pub fn kill(mut self) {
        self.assert_alive();
    }

    fn assert_alive(&mut self) {
        let ended = self.0.try_wait().unwrap();
        assert!(ended.is_none(), "the child ended by itself: {ended:?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Sleeps until it is killed.
pub fn wait_for_death() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

/// Commits from eight threads until it is killed. Every step follows one that was acknowledged.
fn lanes(dir: &Path, journal: &Journal) {
    let runtime = runtime();
    let workload = runtime.block_on(open(dir)).unwrap();
    journal.note("open");
    let acknowledged = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (runtime, workload, acknowledged) = (&runtime, &workload, &acknowledged);
            scope.spawn(move || runtime.block_on(walk(workload, lane, acknowledged, journal)));
        }
    });
}

async fn walk(workload: &Workload, lane: u16, known: &Mutex<Vec<Link>>, journal: &Journal) {
    let mut chance = Random::seeded(u64::from(std::process::id()) << 16 | u64::from(lane));
    let mut number = workload.length(lane).await.unwrap();
    loop {
        number += 1;
        let follows = {
            let known = known.lock().unwrap();
            // Rather a late one than an early one.
            let back = known.len().min(1 + chance.below(64));
            known.get(known.len() - back).copied()
        };
        let load = Load::mixed(Link { lane, number });
        let step = workload.advance(lane, load, follows).await.unwrap();
        journal.acknowledge(step);
        known.lock().unwrap().push(step.link);
    }
}
