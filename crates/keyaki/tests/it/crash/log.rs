//! The log of a killed process, torn at every byte of its last records and damaged everywhere else:
//! what is torn is cut, what is damaged is refused, with its place, and left as it is.

use std::fs;
use std::path::{Path, PathBuf};

use keyaki::Kind;
use keyaki::engine::Rules;
use keyaki::store;
use keyaki::testing::workload::Load;

use super::child::{Running, wait_for_death};
use super::journal::{self, Account, Journal};
use super::{
    assert_sound, chance, directory, open, open_store, runtime, sample, scratch, settings,
};

const STEPS: usize = 12;

/// A store whose steps are all in its log, for its process was killed.
struct Killed {
    folder: tempfile::TempDir,
    account: Account,
    /// The log's name, and where it ended after each step.
    log: PathBuf,
    ends: Vec<u64>,
}

impl Killed {
    fn new() -> Self {
        let folder = scratch();
        let (dir, noted) = (folder.path().join("store"), folder.path().join("journal"));
        let mut child = Running::start("log", &dir, &noted);
        child.wait_until(&noted, "done");
        child.kill();
        let account = journal::read(&noted);
        let ends = account.notes.iter().filter_map(|note| note.strip_prefix("end "));
        let ends: Vec<u64> = ends.map(|end| end.parse().unwrap()).collect();
        let [log] = &logs(&dir)[..] else { panic!("the steps are in one log") };
        assert_eq!(ends.len(), STEPS);
        assert_eq!(ends.last(), Some(&directory::length(log)));
        let log = log.strip_prefix(&dir).unwrap().to_owned();
        Self { folder, account, log, ends }
    }

    /// A fresh copy of the directory, and the log in it.
    fn copy(&self) -> (PathBuf, PathBuf) {
        let copy = self.folder.path().join("copy");
        if copy.exists() {
            fs::remove_dir_all(&copy).unwrap();
        }
        directory::copy(&self.folder.path().join("store"), &copy);
        let log = copy.join(&self.log);
        (copy, log)
    }
}

fn logs(dir: &Path) -> Vec<PathBuf> {
    directory::files(&dir.join("db"), "", ".log")
}

#[test]
fn a_torn_log_tail_is_cut_at_every_byte_of_the_last_records() {
    let killed = Killed::new();
    let runtime = runtime();
    let first = killed.ends[STEPS - 3];
    for length in first..*killed.ends.last().unwrap() {
        let (dir, log) = killed.copy();
        directory::truncate(&log, length);
        let whole = killed.ends.iter().filter(|&&end| end <= length).count();
        runtime.block_on(async {
            let workload = open(&dir).await.unwrap();
            let survey = workload.survey().await.unwrap();
            assert_eq!(survey.steps(), whole, "cut at {length} of {:?}", killed.ends);
            for acknowledged in &killed.account.acknowledged[..whole] {
                survey.demand(acknowledged).unwrap();
            }
            workload.advance(0, Load::Small, None).await.unwrap();
        });
        if length % 8 == 0 {
            let again = runtime.block_on(async { open(&dir).await?.survey().await }).unwrap();
            assert_eq!(again.steps(), whole + 1, "reopened after a cut at {length}");
        }
    }
    let (dir, log) = killed.copy();
    directory::truncate(&log, first + 1);
    assert_sound(&dir, "torn");
}

#[test]
fn damage_in_a_log_is_refused_with_its_place_and_changes_nothing() {
    let killed = Killed::new();
    let mut chance = chance();
    let (dir, log) = killed.copy();
    let sound = fs::read(&log).unwrap();
    for offset in sample(&mut chance, sound.len() as u64, 400) {
        directory::flip(&log, offset, chance.below(8));
        let before = directory::contents(&dir);
        let opened = open_store(&dir, &settings()).map(drop);
        let checked = store::check(&dir, Rules::default()).map(drop);
        for refused in [opened, checked] {
            let refused = refused.expect_err(&format!("a bit flipped at {offset}"));
            assert_eq!(refused.kind(), Kind::Corrupt, "{refused}");
            assert_eq!(refused.context("file"), log.to_str());
            let at: u64 = refused.context("offset").unwrap().parse().unwrap();
            assert!(at <= offset, "flipped at {offset}: {refused}");
        }
        assert_eq!(directory::contents(&dir), before, "changed although refused");
        fs::write(&log, &sound).unwrap();
    }
    let survey = runtime().block_on(async { open(&dir).await?.survey().await }).unwrap();
    assert_eq!(survey.steps(), STEPS, "the log that was put right is whole again");
}

/// Commits steps one by one and notes where the log ends after each.
pub fn child(dir: &Path, journal: &Journal) {
    runtime().block_on(async {
        let workload = open(dir).await.unwrap();
        for number in 0..STEPS {
            let load = if number == 3 { Load::Large } else { Load::Small };
            journal.acknowledge(workload.advance(0, load, None).await.unwrap());
            journal.note(&format!("end {}", directory::length(&logs(dir)[0])));
        }
        journal.note("done");
        wait_for_death()
    })
}
