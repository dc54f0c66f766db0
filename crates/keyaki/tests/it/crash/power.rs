//! Power cuts and failing syncs, played by a recorder (`recorder.c`) that is preloaded into the
//! child and takes away what the child never synced.
//!
//! A power cut may come before any write, sync or rename of a run that makes a store, commits,
//! ingests, compacts and reopens. A failed sync ends all writing in its process, and what it should
//! have made safe is counted as lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use keyaki::testing::workload::{Load, Workload};
use keyaki::{Error, Kind};

use super::journal::{self, Account, Journal};
use super::{assert_sound, chance, child, directory, open, runtime, sample, scratch};

/// How the recorder ends a process.
const EXIT_CUT: i32 = 86;
const GRAVE: &str = "KEYAKI_RECORDER_GRAVE";

#[test]
fn a_power_cut_at_any_moment_loses_nothing_acknowledged() {
    let recorder = Recorder::compile();
    let [(new, over), (old, _)] = recorder.both_runs().map(|run| (run.events, run.overwrites));
    assert!(new > 300 && old > 100, "the recorder saw both runs: {new} and {old} events");
    assert!(over > 10, "logs are written over: {over} pages");
    for at in sample(&mut chance(), new + old, 150) {
        let tail = ["lost", "half", "zeros"][at as usize % 3];
        let names = ["lost", "kept"][at as usize / 3 % 2];
        let disk = if at < new { Disk::New } else { Disk::Used };
        let event = (if at < new { at } else { at - new } + 1).to_string();
        let run = recorder.run(
            disk,
            &[
                ("KEYAKI_RECORDER_CUT_AT", &event),
                ("KEYAKI_RECORDER_TAIL", tail),
                ("KEYAKI_RECORDER_NAMES", names),
            ],
        );
        run.survey(&format!("{disk:?} disk, cut at {event}, tails {tail}, names {names}"));
    }
}

#[test]
fn a_failed_sync_stops_writing_and_loses_nothing_acknowledged() {
    let recorder = Recorder::compile();
    let [new, old] = recorder.both_runs().map(|run| run.syncs);
    assert!(new > 80 && old > 40, "the recorder saw both runs: {new} and {old} syncs");
    for at in sample(&mut chance(), new + old, 100) {
        let disk = if at < new { Disk::New } else { Disk::Used };
        let sync = (if at < new { at } else { at - new } + 1).to_string();
        let run = recorder.run(disk, &[("KEYAKI_RECORDER_FAIL_AT", &sync)]);
        // Background work differs a little from run to run, and with it the number of syncs.
        let Ok(failed) = fs::read_to_string(run.grave().join("failed")) else { continue };
        let what = format!("{disk:?} disk, failed sync {sync}, of {failed}");
        let account = run.survey(&what);
        let said = account.notes.last().map(String::as_str);
        assert!(matches!(said, Some("stopped" | "not opened")), "{what}: {:?}", account.notes);
    }
}

/// What a run finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// Nothing: it makes a store.
    New,
    /// What a run without faults has left when its power was cut in the end.
    Used,
}

/// The compiled recorder, in a folder with a folder for each run.
pub struct Recorder(tempfile::TempDir);

/// What the recorder saw in a run.
struct Counts {
    events: u64,
    syncs: u64,
    /// Pages written over.
    overwrites: u64,
}

/// What a run of the child has left.
pub struct Run<'a>(&'a Path);

impl Recorder {
    pub fn compile() -> Self {
        let folder = scratch();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/crash/recorder.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let compiled = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", source, "-ldl", "-o"])
            .arg(folder.path().join("recorder.so"))
            .status();
        assert!(compiled.unwrap().success(), "the recorder doesn't compile");
        Self(folder)
    }

    /// Runs the child on a new disk and again on what that left, and keeps what the first left.
    fn both_runs(&self) -> [Counts; 2] {
        let run = self.run(Disk::New, &[]);
        let new = run.counts();
        directory::copy(&run.disk(), &self.used());
        fs::copy(run.journal(), self.used().join("journal")).unwrap();
        let old = self.run(Disk::Used, &[]).counts();
        [new, old]
    }

    fn used(&self) -> PathBuf {
        self.0.path().join("used")
    }

    fn run(&self, disk: Disk, settings: &[(&str, &str)]) -> Run<'_> {
        self.run_as("power", disk, settings)
    }

    /// Runs a child until its power is cut, by the recorder or by itself.
    pub fn run_as(&self, role: &str, disk: Disk, settings: &[(&str, &str)]) -> Run<'_> {
        let run = Run(self.0.path());
        for leftover in [run.disk(), run.grave()] {
            let _ = fs::remove_dir_all(leftover);
        }
        let _ = fs::remove_file(run.journal());
        fs::create_dir(run.grave()).unwrap();
        match disk {
            Disk::New => fs::create_dir(run.disk()).unwrap(),
            Disk::Used => {
                directory::copy(&self.used(), &run.disk());
                fs::rename(run.disk().join("journal"), run.journal()).unwrap();
            }
        }
        let ended = child::command(role, &run.store(), &run.journal())
            .env("LD_PRELOAD", self.0.path().join("recorder.so"))
            .env("KEYAKI_RECORDER_ROOT", run.disk())
            .env(GRAVE, run.grave())
            .envs(settings.iter().copied())
            .status()
            .unwrap();
        assert_eq!(ended.code(), Some(EXIT_CUT), "{ended}, {settings:?}");
        run
    }
}

impl Run<'_> {
    fn disk(&self) -> PathBuf {
        self.0.join("disk")
    }

    pub fn store(&self) -> PathBuf {
        self.disk().join("store")
    }

    fn grave(&self) -> PathBuf {
        self.0.join("grave")
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    fn counts(&self) -> Counts {
        let counts = fs::read_to_string(self.grave().join("counts")).unwrap();
        let mut counts = counts.split_whitespace().map(|count| count.parse().unwrap());
        let [events, syncs, overwrites] = std::array::from_fn(|_| counts.next().unwrap());
        Counts { events, syncs, overwrites }
    }

    /// Demands all that was acknowledged, and goes on writing.
    fn survey(&self, what: &str) -> Account {
        let account = journal::read(&self.journal());
        let dir = self.store();
        if !account.acknowledged.is_empty() {
            assert_sound(&dir, what);
        }
        runtime().block_on(async {
            let workload = open(&dir).await.unwrap_or_else(|e| panic!("{what}: {e}"));
            let survey = workload.survey().await.unwrap_or_else(|e| panic!("{what}: {e}"));
            for step in &account.acknowledged {
                survey.demand(step).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            workload.advance(100, Load::Bulk, None).await.unwrap();
        });
        assert_sound(&dir, what);
        account
    }
}

/// Goes through all that a store does to its disk, and cuts its own power in the end.
pub fn child(dir: &Path, journal: &Journal) {
    runtime().block_on(async {
        match open(dir).await {
            Ok(workload) => go_through(&workload, journal).await,
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unavailable, "{error}");
                journal.note("not opened");
            }
        }
        wish("cut");
    });
}

/// Has the child's own recorder do something.
pub fn wish(what: &str) {
    let grave = PathBuf::from(std::env::var_os(GRAVE).unwrap());
    fs::create_dir(grave.join(what)).unwrap();
}

async fn go_through(workload: &Workload, journal: &Journal) {
    for number in 0..18 {
        let load = match number {
            2 | 8 | 12 => Load::Large,
            5 | 9 | 13 | 16 => Load::Bulk,
            _ => Load::Small,
        };
        match workload.advance(number % 2, load, None).await {
            Ok(step) => journal.acknowledge(step),
            Err(error) => return stopped(workload, journal, &error).await,
        }
        match number {
            7 => workload.compact().await.unwrap(),
            // What fails in the background stops the next step: the last one comes when all compactions are over.
            16 => tokio::time::sleep(Duration::from_millis(200)).await,
            _ => {}
        }
    }
    journal.note("done");
}

/// After a failed sync nothing is written any more, and everything can be read.
async fn stopped(workload: &Workload, journal: &Journal, error: &Error) {
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    for (lane, load) in [(0, Load::Small), (1, Load::Small), (7, Load::Bulk)] {
        let refused = workload.advance(lane, load, None).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable, "{refused}");
    }
    let survey = workload.survey().await.unwrap();
    journal::read(&child::journal_path()).demand(&survey);
    journal.note("stopped");
}
