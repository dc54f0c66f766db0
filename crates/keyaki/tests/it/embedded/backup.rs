//! Backups of a running store, and restores.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use keyaki::Kind;
use keyaki::engine::embedded::{EmbeddedEngine, restore};
use keyaki::engine::{Engine, Route, ScanRequest, SpaceId};
use keyaki::testing::conformance::steps::*;
use tempfile::TempDir;

use super::{files, open};

const WRITERS: usize = 4;

/// The spaces that [`write_linked`] writes.
#[derive(Clone, Copy)]
struct Linked {
    home: SpaceId,
    view: SpaceId,
    sums: SpaceId,
}

impl Linked {
    async fn make(engine: &EmbeddedEngine) -> Self {
        let (home, view) = (home(engine).await, derived(engine).await);
        Self { home, view, sums: merging(engine, "sum").await }
    }
}

/// A home cell, a view cell and a merge in one commit; every fifth goes by the bulk route.
async fn write_linked(engine: &EmbeddedEngine, spaces: Linked, writer: u8, commit: u32) {
    done(engine, &[writer], |c| {
        if commit % 5 == 4 {
            c.set_route(Route::Bulk);
        }
        c.write(spaces.home, &commit.to_be_bytes(), put(&[7; 200]));
        c.dependent(spaces.view, b"v", &[&[writer][..], &commit.to_be_bytes()].concat(), put(b""));
        c.dependent(spaces.sums, b"d", &[writer], merge(&1_i64.to_be_bytes()));
    })
    .await;
}

/// How many commits of each writer are there: all up to the last, each whole.
async fn linked_commits(engine: &EmbeddedEngine, spaces: Linked) -> Vec<u32> {
    let mut counts = Vec::new();
    for writer in 0..WRITERS as u8 {
        let there = sorts(engine, ScanRequest::partition(spaces.home, [writer])).await;
        let count = there.len() as u32;
        assert!(there.iter().eq((0..count).map(u32::to_be_bytes).collect::<Vec<_>>().iter()));
        let views = sorts(engine, ScanRequest::prefix(spaces.view, b"v", &[writer])).await;
        assert_eq!(views.len() as u32, count, "each view cell goes with its home cell");
        assert_eq!(number(engine, spaces.sums, b"d", &[writer]).await, i64::from(count));
        counts.push(count);
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_of_a_running_store_is_one_moment_of_it() {
    let dir = TempDir::new().unwrap();
    let engine = Arc::new(open(&dir.path().join("store")).unwrap());
    let spaces = Linked::make(&engine).await;
    let acknowledged: Arc<[AtomicU32; WRITERS]> = Arc::default();
    let finished = Arc::new(AtomicBool::new(false));
    let backups = together(WRITERS + 1, |task| {
        let (engine, acknowledged) = (engine.clone(), acknowledged.clone());
        let (finished, dir) = (finished.clone(), dir.path().to_owned());
        async move {
            if task == WRITERS {
                let backups = take_backups(&engine, &dir, &acknowledged).await;
                finished.store(true, Relaxed);
                return backups;
            }
            let mut commit = 0;
            while !finished.load(Relaxed) {
                write_linked(&engine, spaces, task as u8, commit).await;
                commit += 1;
                acknowledged[task].store(commit, Relaxed);
            }
            Vec::new()
        }
    })
    .await;
    let end = linked_commits(&engine, spaces).await;
    for (backup, before) in backups.into_iter().flatten() {
        let backup = open(&backup).unwrap();
        let there = linked_commits(&backup, spaces).await;
        for writer in 0..WRITERS {
            assert!(there[writer] >= before[writer], "what was acknowledged before is in it");
            assert!(there[writer] <= end[writer]);
        }
    }
}

type Backup = (std::path::PathBuf, [u32; WRITERS]);

/// Three backups, each with what had been acknowledged when it began.
async fn take_backups(
    engine: &EmbeddedEngine,
    dir: &Path,
    acknowledged: &[AtomicU32; WRITERS],
) -> Vec<Backup> {
    let now = || std::array::from_fn(|writer| acknowledged[writer].load(Relaxed));
    let mut backups = Vec::new();
    for index in 0..3 {
        let earlier: [u32; WRITERS] = now();
        while now().iter().zip(earlier).any(|(now, earlier)| *now < earlier + 8) {
            tokio::task::yield_now().await;
        }
        let (to, before) = (dir.join(format!("backup {index}")), now());
        engine.backup(&to).await.unwrap();
        backups.push((to, before));
    }
    backups
}

#[tokio::test]
async fn a_restored_store_has_what_the_backup_has() {
    let dir = TempDir::new().unwrap();
    let [store, backup, restored] =
        ["store", "backup", "restored"].map(|name| dir.path().join(name));
    let engine = open(&store).unwrap();
    let spaces = Linked::make(&engine).await;
    for commit in 0..10 {
        write_linked(&engine, spaces, 0, commit).await;
    }
    engine.backup(&backup).await.unwrap();
    for commit in 10..20 {
        write_linked(&engine, spaces, 0, commit).await;
    }
    let kept = files(&backup);
    restore(&backup, &restored).unwrap();
    assert!(kept == files(&backup), "a restore leaves the backup as it is");
    let again = open(&restored).unwrap();
    assert_eq!(linked_commits(&again, spaces).await[0], 10);
    // Backup, store and restored store each go their own way.
    for commit in 10..15 {
        write_linked(&again, spaces, 0, commit).await;
    }
    assert_eq!(linked_commits(&again, spaces).await[0], 15);
    assert_eq!(linked_commits(&engine, spaces).await[0], 20);
    assert!(kept == files(&backup));
    assert_eq!(linked_commits(&open(&backup).unwrap(), spaces).await[0], 10);
}

#[tokio::test]
async fn backups_and_restores_overwrite_nothing() {
    let dir = TempDir::new().unwrap();
    let [store, backup, taken] = ["store", "backup", "taken"].map(|name| dir.path().join(name));
    let engine = open(&store).unwrap();
    engine.backup(&backup).await.unwrap();
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("letter"), "dear").unwrap();
    for to in [&backup, &taken] {
        let before = files(to);
        assert_eq!(engine.backup(to).await.unwrap_err().kind(), Kind::Conflict);
        assert_eq!(restore(&backup, to).unwrap_err().kind(), Kind::Conflict);
        assert!(before == files(to));
    }
    let to = dir.path().join("new");
    assert_eq!(restore(&store, &to).unwrap_err().kind(), Kind::Unavailable, "it is open");
    assert_eq!(restore(&dir.path().join("nowhere"), &to).unwrap_err().kind(), Kind::NotFound);
    assert!(restore(&taken, &to).is_err(), "not a store");
    assert!(!to.exists(), "a restore that fails leaves nothing");
}
