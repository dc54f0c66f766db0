//! Damage below the engine, planted through RocksDB itself, that a check must find. Orphans and
//! damaged files are planted in the program's tests, which run the same check from outside.

use std::path::Path;
use std::sync::Arc;

use keyaki::cell::value::FORMAT_VERSION;
use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{Value, key};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{Merge, Rules, ScanRequest, SpaceId, Unfoldable};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Previous, Store, check};
use keyaki::testing::conformance::steps::{done, merge, merging};
use keyaki::{Error, Kind};

fn open(dir: &Path) -> Store {
    let engine = EmbeddedEngine::open(dir, &EmbeddedSettings::default(), Rules::default()).unwrap();
    Store::new(Arc::new(engine), StoreSettings { sweep_every: None, ..Default::default() }, 7)
}

async fn fill(dir: &Path) -> Bucket {
    let bucket = open(dir).create_bucket(BucketSpec::default()).await.unwrap();
    for sort in [b"a", b"z"] {
        let put = bucket.commit(b"p", |draft| draft.put(sort, Previous::Absent, Value::open(b"v")));
        put.await.unwrap().tid().unwrap();
    }
    bucket
}

/// Writes a cell as no engine would.
fn plant(dir: &Path, key: &[u8], value: &[u8]) {
    let db = rocksdb::DB::open_default(dir.join("db")).unwrap();
    db.put(key, value).unwrap();
}

fn cell_key(space: u32, sort: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::cell_key(space, b"p", sort, &mut bytes);
    bytes
}

/// A value whose visibility nobody checked.
fn value(visibility: &[u8]) -> Vec<u8> {
    let header = [FORMAT_VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 1, visibility.len() as u8];
    [&header[..], visibility, b"payload"].concat()
}

/// What a check finds in a sound store with one planted cell; always exactly one thing.
async fn finds(key: impl FnOnce(&Bucket) -> Vec<u8>, value: &[u8]) -> Error {
    let dir = tempfile::tempdir().unwrap();
    let bucket = fill(dir.path()).await;
    let key = key(&bucket);
    drop(bucket);
    assert!(check(dir.path(), Rules::default()).unwrap().problems.is_empty());
    plant(dir.path(), &key, value);
    let mut report = check(dir.path(), Rules::default()).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    let cells = report.spaces.iter().map(|space| space.cells);
    assert!(cells.sum::<u64>() >= 2, "the rest is still looked at");
    let problem = report.problems.remove(0);
    assert_eq!(problem.kind(), Kind::Corrupt);
    problem
}

#[tokio::test]
async fn a_malformed_visibility_is_found() {
    let problem = finds(|bucket| cell_key(bucket.primary().0, b"m"), &value(b"a&")).await;
    assert_eq!(problem.message(), "stored visibility is malformed");
    assert!(problem.context("key").unwrap().contains("p\\0m"), "{problem}");
}

#[tokio::test]
async fn a_value_without_header_is_found() {
    for junk in [&b""[..], b"\x01", b"\x02\0\0\0\0\0\0\0\0\0\0", &value(b"")[..10]] {
        let problem = finds(|bucket| cell_key(bucket.primary().0, b"m"), junk).await;
        assert_eq!(problem.message(), "value header is damaged or of another format");
    }
}

#[tokio::test]
async fn a_cell_of_no_space_is_found() {
    let problem = finds(|_| cell_key(4_000, b"m"), &value(b"")).await;
    assert_eq!(problem.message(), "cell belongs to no space");
    assert_eq!(problem.context("space"), Some("4000"));
}

#[tokio::test]
async fn a_damaged_key_is_found() {
    for (tail, message) in
        [(&b"p\x01\x07q\0m"[..], "stored key is damaged"), (b"p", "stored key is damaged")]
    {
        let key = |bucket: &Bucket| [&bucket.primary().0.to_be_bytes()[..], tail].concat();
        let problem = finds(key, &value(b"")).await;
        assert_eq!(problem.message(), message);
    }
}

#[tokio::test]
async fn a_stranger_in_the_engines_own_space_is_found() {
    for key in [cell_key(0, b"m"), b"\0\0".to_vec(), b"\0\0\0\0clock\0m".to_vec()] {
        let problem = finds(|_| key, &[0; 8]).await;
        assert_eq!(problem.message(), "cell of the engine's own is unknown or damaged");
    }
    let problem = finds(|_| b"\0\0\0\0clock\0".to_vec(), &[0; 7]).await;
    assert_eq!(problem.message(), "cell of the engine's own is unknown or damaged");
}

/// A space that only some builds can fold, with two cells: of two operands, and of one.
async fn fill_merging(dir: &Path) -> SpaceId {
    let rules = Rules::default().with_merge("ours", |_| Some(Arc::new(Ours)));
    let engine = EmbeddedEngine::open(dir, &EmbeddedSettings::default(), rules).unwrap();
    let space = merging(&engine, "ours").await;
    for sort in [b"two", b"two", b"one"] {
        done(&engine, b"p", |c| c.dependent(space, b"d", sort, merge(b"operand"))).await;
    }
    space
}

struct Ours;

impl Merge for Ours {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        out.extend(payloads.concat());
        Ok(())
    }
}

#[tokio::test]
async fn merged_cells_of_an_unknown_rule_are_counted_and_no_problem() {
    let dir = tempfile::tempdir().unwrap();
    let space = fill_merging(dir.path()).await;
    let report = check(dir.path(), Rules::default()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let [unchecked] = &report.unchecked[..] else { panic!("{:?}", report.unchecked) };
    assert_eq!((unchecked.record.id, unchecked.cells), (space, 1));
    assert_eq!(unchecked.reason, "the rule is unknown");
    assert_eq!(report.spaces[0].cells, 2, "they count as cells");
    let knows = Rules::default().with_merge("ours", |_| Some(Arc::new(Ours)));
    assert!(check(dir.path(), knows).unwrap().unchecked.is_empty());
}

#[tokio::test]
async fn damage_in_operands_of_an_unknown_rule_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let space = fill_merging(dir.path()).await;
    let list = |operand: &[u8]| {
        let header = [FORMAT_VERSION, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        [&header[..], &(operand.len() as u32).to_be_bytes(), operand].concat()
    };
    let cut_off = &list(&value(b""))[..20];
    for (bad, message) in [
        (list(b"junk"), "value header is damaged or of another format"),
        (list(&value(b"a&")), "stored visibility is malformed"),
        (cut_off.to_vec(), "list of unfolded operands is cut off"),
    ] {
        plant(dir.path(), &cell_key(space.0, b"bad"), &bad);
        let report = check(dir.path(), Rules::default()).unwrap();
        let found: Vec<_> = report.problems.iter().map(Error::message).collect();
        assert_eq!(found, [message]);
    }
}

#[tokio::test]
async fn operands_where_nothing_merges_are_found() {
    let list = [FORMAT_VERSION, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let problem = finds(|bucket| cell_key(bucket.primary().0, b"m"), &list).await;
    assert_eq!(problem.message(), "operands lie in a space that has no merge rule");
}

#[tokio::test]
async fn a_malformed_visibility_hides_its_cell_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let bucket = fill(dir.path()).await;
    let (id, primary) = (bucket.id(), bucket.primary());
    drop(bucket);
    plant(dir.path(), &cell_key(primary.0, b"m"), &value(b"a&"));
    let bucket = open(dir.path()).bucket(id).unwrap();
    let caller = Authorisations::new(["a"]).unwrap();
    assert_eq!(bucket.read(&caller, b"p", b"m").await.unwrap(), None);
    let mut cells = bucket.scan(&caller, ScanRequest::partition(primary, "p")).await.unwrap();
    let block = cells.next_block().await.unwrap().unwrap();
    let sorts: Vec<_> = block.iter().map(|cell| cell.sort().to_vec()).collect();
    assert_eq!(sorts, [b"a", b"z"]);
}
