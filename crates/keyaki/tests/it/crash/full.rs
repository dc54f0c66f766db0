//! A disk without room: commits are refused within a second each, reads go on, and writing resumes
//! in the same process when there is room again. Nothing acknowledged is lost, before or after.
//!
//! Three processes take part. The test starts a supervisor in a mount namespace of its own, where a
//! small tmpfs is mounted that nobody else sees and that goes with it; the supervisor starts the
//! writer, kills it in the end, and looks at what it has left.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use keyaki::Kind;
use keyaki::testing::workload::{Link, Load, Workload};
use tokio::runtime::Runtime;

use super::child::{self, Running, journal_path, wait_for_death};
use super::journal::{self, Journal};
use super::{assert_sound, open_store, runtime};
use keyaki::settings::EmbeddedSettings;

const LANES: u16 = 4;
const MEGABYTES: &str = "KEYAKI_CRASH_MEGABYTES";
/// How a supervisor ends that may not mount.
const EXIT_NOT_PERMITTED: i32 = 77;
/// What the issue promises.
const ANSWER_MOST: Duration = Duration::from_secs(1);
/// So long without a step that took, and the disk is full.
const SETTLED: Duration = Duration::from_millis(700);
/// So long it may take to be refused thirty times on a disk that is full.
const FULL_MOST: Duration = Duration::from_secs(30);
/// RocksDB looks for room every five seconds.
const RESUME_MOST: Duration = Duration::from_secs(30);

#[test]
fn a_full_disk_refuses_writes_and_recovers_in_process() {
    on_a_disk_of(64, "full");
}

#[test]
fn a_small_disk_does_so_too() {
    on_a_disk_of(16, "full");
}

#[test]
fn a_disk_that_is_too_small_is_refused_at_once() {
    on_a_disk_of(2, "too-small");
}

fn on_a_disk_of(megabytes: u32, role: &str) {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = child::command(role, folder.path(), &folder.path().join("journal"));
    let mut apart = Command::new("unshare");
    apart.arg("--mount").arg(supervisor.get_program()).args(supervisor.get_args());
    for (name, value) in supervisor.get_envs() {
        apart.env(name, value.unwrap());
    }
    let ended = apart.env(MEGABYTES, megabytes.to_string()).status();
    println!("{}", journal::read(&folder.path().join("journal")).notes.join("\n"));
    match ended.ok().and_then(|status| status.code()) {
        Some(0) => {}
        Some(EXIT_NOT_PERMITTED | 1) | None if std::env::var_os("CI").is_none() => {
            eprintln!("NOT TESTED: a full disk. Mounting a small one takes root and `unshare`.");
        }
        code => panic!("the full disk ended with {code:?}"),
    }
}

/// Mounts a small disk, and answers where.
fn mount(folder: &Path) -> PathBuf {
    let disk = folder.join("disk");
    fs::create_dir(&disk).unwrap();
    let size = format!("size={}m", megabytes());
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&disk);
    if !mount.status().is_ok_and(|status| status.success()) {
        std::process::exit(EXIT_NOT_PERMITTED);
    }
    disk
}

/// Has the writer fill the disk, kills it and surveys what is left.
pub fn supervise(folder: &Path) {
    let (dir, noted) = (mount(folder).join("store"), journal_path());
    let mut writer = Running::start("full-writer", &dir, &noted);
    writer.wait_until(&noted, "done");
    writer.kill();
    let account = journal::read(&noted);
    assert_sound(&dir, "full");
    runtime().block_on(async {
        let store = open_store(&dir, &EmbeddedSettings::default()).unwrap();
        let survey = Workload::begin(&store).await.unwrap().survey().await.unwrap();
        account.demand(&survey);
    });
}

/// Finds no room for a store, and is told how much it takes.
pub fn refuse(folder: &Path) {
    let disk = mount(folder);
    let refused = open_store(&disk.join("store"), &EmbeddedSettings::default()).err().unwrap();
    assert_eq!(refused.kind(), Kind::Unavailable, "{refused}");
    assert_eq!(refused.message(), "too little room on the disk for a new store");
    assert!(refused.to_string().contains("needed_bytes"), "{refused}");
}

/// Fills the disk twice: by its own commits alone, and while somebody else fills it.
pub fn write(dir: &Path, journal: &Journal) {
    let runtime = runtime();
    let ballast = Ballast(dir.with_file_name("ballast"));
    ballast.grow(megabytes() / 2);
    let store = open_store(dir, &EmbeddedSettings::default()).unwrap();
    let workload = runtime.block_on(Workload::begin(&store)).unwrap();
    let writers = Writers { runtime: &runtime, workload: &workload, journal };

    writers.fill();
    journal.note("filled by its own commits");
    writers.stay_refused();
    ballast.shrink();
    writers.resume();

    // Most of the room at once, so that it is much that returns; then the rest, bit by bit.
    ballast.grow(megabytes() * 3 / 8);
    let filled = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| writers.work_until(&filled));
        ballast.grow_until_full();
        filled.store(true, Relaxed);
    });
    journal.note("filled by others");
    writers.fill();
    writers.stay_refused();
    ballast.shrink();
    writers.resume();
    journal.note("done");
    wait_for_death()
}

fn megabytes() -> usize {
    std::env::var(MEGABYTES).unwrap().parse().unwrap()
}

/// A file that is in the way.
struct Ballast(PathBuf);

impl Ballast {
    /// Takes much at once, as soon as there is so much: a compaction may have it for a while.
    fn grow(&self, megabytes: usize) {
        let (begun, bytes) = (Instant::now(), megabytes << 20);
        while self.free() < bytes as u64 {
            assert!(begun.elapsed() < RESUME_MOST, "no room for {megabytes} MB of ballast");
            thread::sleep(Duration::from_millis(10));
        }
        // It may be gone again by now; then the ballast is what there is.
        if let Err(full) = fs::write(&self.0, vec![1; bytes]) {
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
    }

    fn free(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.0.parent().unwrap()).unwrap();
        disk.f_bavail * disk.f_frsize
    }

    fn grow_until_full(&self) {
        let mut file = File::options().append(true).open(&self.0).unwrap();
        while file.write_all(&[1; 64 << 10]).is_ok() {
            // Slowly, so that commits get between.
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn shrink(&self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// Writers on several lanes.
struct Writers<'a> {
    runtime: &'a Runtime,
    workload: &'a Workload,
    journal: &'a Journal,
}

impl Writers<'_> {
    /// Whether the next step of a lane took; if not, it must have been refused in time.
    fn step(&self, lane: u16) -> bool {
        self.try_step(lane).is_ok()
    }

    fn try_step(&self, lane: u16) -> keyaki::Result<()> {
        let begun = Instant::now();
        let answer = self.runtime.block_on(async {
            let number = self.workload.length(lane).await.unwrap() + 1;
            // Much, in few steps: mostly large ones.
            let load = match Load::mixed(Link { lane, number }) {
                Load::Small => Load::Large,
                other => other,
            };
            self.workload.advance(lane, load, None).await
        });
        let took = begun.elapsed();
        match answer {
            Ok(step) => {
                self.journal.acknowledge(step);
                Ok(())
            }
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unavailable, "{error}");
                assert_eq!(error.message(), "the disk is full", "{error}");
                assert!(took < ANSWER_MOST, "refused after {took:?}: {error}");
                Err(error)
            }
        }
    }

    /// Writes on every lane until none takes any more, though compaction may make room again.
    fn fill(&self) {
        thread::scope(|scope| {
            for lane in 0..LANES {
                scope.spawn(move || {
                    let mut last = Instant::now();
                    while last.elapsed() < SETTLED {
                        match self.step(lane) {
                            true => last = Instant::now(),
                            false => thread::sleep(Duration::from_millis(10)),
                        }
                    }
                });
            }
        });
    }

    fn work_until(&self, filled: &AtomicBool) {
        thread::scope(|scope| {
            for lane in 0..LANES {
                scope.spawn(move || {
                    while !filled.load(Relaxed) {
                        self.step(lane);
                    }
                });
            }
        });
    }

    /// Thirty refusals, each in time; then what is acknowledged can be read. Between them
    /// compaction may make room, which further steps take.
    fn stay_refused(&self) {
        let (begun, mut refused) = (Instant::now(), 0);
        while refused < 30 {
            if !self.step(0) {
                refused += 1;
                thread::sleep(Duration::from_millis(20));
            }
            assert!(begun.elapsed() < FULL_MOST, "the disk wasn't full: {refused} refusals");
        }
        let survey = self.runtime.block_on(self.workload.survey()).unwrap();
        journal::read(&journal_path()).demand(&survey);
    }

    /// Waits until ten more steps have taken on every lane. The first may be refused, while
    /// compaction catches up.
    fn resume(&self) {
        let begun = Instant::now();
        for lane in 0..LANES {
            let mut left = 10;
            while left > 0 {
                match self.try_step(lane) {
                    Ok(()) => left -= 1,
                    Err(error) => {
                        assert!(begun.elapsed() < RESUME_MOST, "writing didn't resume: {error}");
                        thread::sleep(Duration::from_millis(20));
                    }
                }
            }
        }
        self.journal.note(&format!("resumed in {:?}", begun.elapsed()));
    }
}
