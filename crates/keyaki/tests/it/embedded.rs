//! What the embedded engine promises beyond the table: directories, backups, settings, and rules
//! that a build does not know or that misbehave.

mod backup;
mod directory;
mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyaki::Result;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{BucketId, Engine, Route, Rules, ScanRequest, SpaceSpec};
use keyaki::settings::{Compression, Durability, EmbeddedSettings};
use keyaki::testing::clock::FakeClock;
use keyaki::testing::conformance::steps::*;
use tempfile::TempDir;

fn settings() -> EmbeddedSettings {
    EmbeddedSettings {
        cache_bytes: 8 << 20,
        write_memory_bytes: 8 << 20,
        ..EmbeddedSettings::default()
    }
}

fn open(dir: &Path) -> Result<EmbeddedEngine> {
    EmbeddedEngine::open(dir, &settings(), Rules::default())
}

fn open_knowing(dir: &Path, rules: Rules) -> EmbeddedEngine {
    EmbeddedEngine::open(dir, &settings(), rules).unwrap()
}

/// Every file below `dir` with its bytes, but the lock file, which every opening writes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("LOCK") {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// How many tables there are.
fn tables(dir: &Path) -> usize {
    files(dir).keys().filter(|path| path.extension().is_some_and(|end| end == "sst")).count()
}

/// `docs/decisions/0002-bulk-files.md`
#[tokio::test]
async fn a_bulk_commit_among_others_is_one_file() {
    let dir = TempDir::new().unwrap();
    let engine = open(dir.path()).unwrap();
    let (space, view) = (home(&engine).await, derived(&engine).await);
    let bulk = async |from: u16, step: usize| {
        done(&engine, &from.to_be_bytes(), |c| {
            c.set_route(Route::Bulk);
            c.write(space, b"digest", put(b""));
            for key in (from..from + 20_000).step_by(step) {
                c.dependent(view, &key.to_be_bytes(), b"", put(&[7; 100]));
            }
        })
        .await;
        tables(dir.path())
    };
    assert_eq!(bulk(0, 2).await, 2, "apart, each space has a file");
    assert_eq!(bulk(40_000, 1).await, 4);
    assert_eq!(bulk(1, 2).await, 5, "among others, all lie in one");
    let alien = SpaceSpec::derived(BucketId(7_777), "alien");
    create(&engine, alien).await;
    let behind = derived(&engine).await;
    done(&engine, b"p", |c| {
        c.set_route(Route::Bulk);
        c.dependent(behind, b"x", b"", put(b""));
        for key in 2..20_000_u16 {
            c.dependent(view, &key.to_be_bytes(), b"", put(&[7; 100]));
        }
    })
    .await;
    assert_eq!(tables(dir.path()), 7, "another bucket lies in between");
}

#[tokio::test]
async fn tables_of_every_compression_live_in_one_store() {
    let dir = TempDir::new().unwrap();
    let mut space = None;
    let kinds = [Compression::None, Compression::Lz4, Compression::Lz4ThenZstd, Compression::None];
    for (round, compression) in kinds.into_iter().enumerate() {
        let settings = EmbeddedSettings { compression, ..settings() };
        let engine = EmbeddedEngine::open(dir.path(), &settings, Rules::default()).unwrap();
        let space = match space {
            Some(space) => space,
            None => *space.insert(home(&engine).await),
        };
        done(&engine, b"p", |c| {
            for cell in 0..200_u8 {
                c.write(space, &[round as u8, cell], put(&[cell; 500]));
            }
        })
        .await;
        // Only what is written out is compressed.
        engine.splits(space, 2).await.unwrap();
        let there = pairs(&engine, ScanRequest::partition(space, b"p")).await;
        assert_eq!(there.len(), (round + 1) * 200);
        assert!(there.iter().all(|(sort, payload)| *payload == [sort[1]; 500]));
    }
}

#[tokio::test]
async fn commits_synced_at_intervals_are_there_after_closing() {
    let dir = TempDir::new().unwrap();
    let every = Duration::from_millis(5);
    let settings = EmbeddedSettings { durability: Durability::Interval(every), ..settings() };
    let engine = EmbeddedEngine::open(dir.path(), &settings, Rules::default()).unwrap();
    let (space, sums) = (home(&engine).await, merging(&engine, "sum").await);
    for round in 0..100_u8 {
        done(&engine, &[round], |c| {
            c.write(space, b"cell", put(&[round]));
            c.dependent(sums, b"d", b"n", merge(&1_i64.to_be_bytes()));
        })
        .await;
    }
    drop(engine);
    let engine = open(dir.path()).unwrap();
    assert_eq!(number(&engine, sums, b"d", b"n").await, 100);
    for round in 0..100_u8 {
        assert_eq!(payload(&engine, space, &[round], b"cell").await.unwrap(), [round]);
    }
}

#[tokio::test]
async fn an_engine_closes_with_its_scans_still_open() {
    let dir = TempDir::new().unwrap();
    let engine = open(dir.path()).unwrap();
    let space = home(&engine).await;
    done(&engine, b"p", |c| {
        for cell in 0..5_000_u32 {
            c.write(space, &cell.to_be_bytes(), put(&[7; 300]));
        }
    })
    .await;
    let mut scan = engine.scan(ScanRequest::partition(space, b"p")).await.unwrap();
    let mut seen = scan.next_block().await.unwrap().unwrap().len();
    drop(engine);
    while let Some(block) = scan.next_block().await.unwrap() {
        seen += block.len();
    }
    assert_eq!(seen, 5_000);
}

/// A clock that stands still, as tests of age want it.
fn standing_clock() -> Arc<FakeClock> {
    Arc::new(FakeClock::at(1_700_000_000_000_000))
}
