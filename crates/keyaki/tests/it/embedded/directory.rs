//! Directories: whose they are, what is refused untouched, and what is finished at opening.

use std::fs;
use std::path::Path;

use keyaki::Kind;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{Engine, ScanRequest, SpaceId};
use keyaki::testing::conformance::steps::*;
use tempfile::TempDir;

use super::{files, open};

/// A closed store with one cell in each of two spaces.
async fn make(dir: &Path) -> [SpaceId; 2] {
    let engine = open(dir).unwrap();
    let spaces = [home(&engine).await, home(&engine).await];
    for space in spaces {
        done(&engine, b"p", |c| c.write(space, b"cell", put(b"x"))).await;
    }
    spaces
}

/// The directory is refused, and not a byte in it changes.
fn assert_refused(dir: &Path, kind: Kind) -> keyaki::Error {
    let before = files(dir);
    let refused = open(dir).map(drop).unwrap_err();
    assert_eq!(refused.kind(), kind, "{refused}");
    assert!(before == files(dir), "a refused directory was changed");
    refused
}

#[tokio::test]
async fn a_newer_format_is_refused_untouched() {
    let dir = TempDir::new().unwrap();
    make(dir.path()).await;
    fs::write(dir.path().join("KEYAKI"), "keyaki format 4\n").unwrap();
    let refused = assert_refused(dir.path(), Kind::Unsupported);
    assert_eq!(refused.context("format"), Some("4"));
    assert_eq!(refused.context("dir"), dir.path().to_str());
}

#[tokio::test]
async fn a_directory_that_is_not_ours_is_refused_untouched() {
    for (name, content) in [("letters.txt", "dear"), ("CURRENT", "MANIFEST-000001\n")] {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join(name), content).unwrap();
        assert_refused(dir.path(), Kind::Invalid);
        assert!(!dir.path().join("LOCK").exists(), "not even a lock file");
    }
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("db")).unwrap();
    fs::write(dir.path().join("db/rows.csv"), "1,2,3").unwrap();
    assert_refused(dir.path(), Kind::Invalid);
    let file = dir.path().join("a file");
    fs::write(&file, "text").unwrap();
    assert!(open(&file).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"text");
}

#[tokio::test]
async fn a_damaged_list_of_spaces_is_refused_untouched() {
    let dir = TempDir::new().unwrap();
    make(dir.path()).await;
    let at = dir.path().join("SPACES");
    let whole = fs::read(&at).unwrap();
    let last = whole.len() - 1;
    for place in [0, 20, last / 2, last - 5, last] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&at, damaged).unwrap();
        let refused = assert_refused(dir.path(), Kind::Corrupt);
        assert_eq!(refused.context("file"), at.to_str());
    }
    fs::write(&at, &whole[..last / 2]).unwrap();
    assert_refused(dir.path(), Kind::Corrupt);
    fs::write(&at, &whole).unwrap();
    open(dir.path()).unwrap();
}

#[tokio::test]
async fn a_damaged_format_file_is_refused_untouched() {
    let dir = TempDir::new().unwrap();
    make(dir.path()).await;
    for text in [&b""[..], b"keyaki format", b"keyaki format one\n", b"\xff\xfe"] {
        fs::write(dir.path().join("KEYAKI"), text).unwrap();
        assert_refused(dir.path(), Kind::Corrupt);
    }
}

#[tokio::test]
async fn an_interrupted_creation_is_taken_up() {
    let unfinished: [&[(&str, &str)]; 5] = [
        &[("LOCK", "")],
        &[("LOCK", "keyaki lock\n")],
        &[("LOCK", "keyaki lock\n"), ("db/LOG", "half"), ("db/000004.log", "ha")],
        &[("LOCK", "keyaki lock\n"), ("db/CURRENT", "MANIFEST"), ("SPACES.new", "keyaki sp")],
        &[("LOCK", "keyaki lock\n"), ("KEYAKI.new", "key"), ("bulk/1.sst", "x")],
    ];
    for begun in unfinished {
        let dir = TempDir::new().unwrap();
        for (name, content) in begun {
            let at = dir.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, content).unwrap();
        }
        let [space, _] = make(dir.path()).await;
        let engine = open(dir.path()).unwrap();
        assert_eq!(payload(&engine, space, b"p", b"cell").await.unwrap(), b"x");
    }
}

#[tokio::test]
async fn a_second_opening_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let engine = open(dir.path()).unwrap();
    let space = home(&engine).await;
    for _ in 0..2 {
        let refused = open(dir.path()).map(drop).unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable);
        assert_eq!(refused.context("dir"), dir.path().to_str());
    }
    done(&engine, b"p", |c| c.write(space, b"cell", put(b"x"))).await;
    drop(engine);
    let engine = open(dir.path()).unwrap();
    assert_eq!(payload(&engine, space, b"p", b"cell").await.unwrap(), b"x");
}

#[tokio::test]
async fn files_that_wait_to_be_ingested_are_cleared() {
    let dir = TempDir::new().unwrap();
    let [space, _] = make(dir.path()).await;
    let left = dir.path().join("bulk/left over.sst");
    fs::write(&left, "half a file").unwrap();
    let engine = open(dir.path()).unwrap();
    assert!(!left.exists());
    assert_eq!(payload(&engine, space, b"p", b"cell").await.unwrap(), b"x");
}

/// Marks a space as dropped or not, as someone who died in the middle would leave it.
fn set_retired(dir: &Path, space: SpaceId, retired: bool) {
    let at = dir.join("SPACES");
    let text = fs::read_to_string(&at).unwrap();
    let (first, lines) = text.split_once('\n').unwrap();
    let (prefix, _) = first.rsplit_once(' ').unwrap();
    let mut edited = String::new();
    for line in lines.lines() {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["id"] == space.0 {
            record["retired"] = retired.into();
        }
        edited.push_str(&format!("{record}\n"));
    }
    let checksum = &blake3::hash(edited.as_bytes()).to_hex()[..32];
    fs::write(at, format!("{prefix} {checksum}\n{edited}")).unwrap();
}

#[tokio::test]
async fn an_interrupted_drop_is_finished() {
    let dir = TempDir::new().unwrap();
    let [dropped, kept] = make(dir.path()).await;
    set_retired(dir.path(), dropped, true);
    let engine = open(dir.path()).unwrap();
    let refused = engine.read(dropped, b"p", b"cell").await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NotFound);
    drop(engine);
    // Were it not dropped, its cells would be gone all the same.
    set_retired(dir.path(), dropped, false);
    let engine = open(dir.path()).unwrap();
    assert_eq!(cells_in(&engine, dropped).await, 0);
    assert_eq!(cells_in(&engine, kept).await, 1);
}

#[tokio::test]
async fn a_dropped_space_leaves_no_cells() {
    let dir = TempDir::new().unwrap();
    let [dropped, kept] = make(dir.path()).await;
    let engine = open(dir.path()).unwrap();
    engine.drop_spaces(vec![dropped]).await.unwrap();
    drop(engine);
    set_retired(dir.path(), dropped, false);
    let engine = open(dir.path()).unwrap();
    assert_eq!(cells_in(&engine, dropped).await, 0);
    assert_eq!(cells_in(&engine, kept).await, 1);
}

async fn cells_in(engine: &EmbeddedEngine, space: SpaceId) -> usize {
    let mut cells = 0;
    for split in engine.splits(space, 1).await.unwrap() {
        cells += block(engine, ScanRequest::split(space, split)).await.len();
    }
    cells
}
