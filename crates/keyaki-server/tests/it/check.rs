//! Planted orphans and damage that `keyaki check` must find. What only RocksDB can plant is in
//! the library's own tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyaki::cell::value::Flags;
use keyaki::cell::{Tid, Value};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{
    BucketId, Commit, Home, Merge, Outcome, RuleSpec, Rules, SpaceSpec, Unfoldable, Write,
};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Store};

use super::{Ran, fill, keyaki, open};

fn check(dir: &Path) -> Ran {
    keyaki(&["check".as_ref(), dir.as_os_str()])
}

#[tokio::test]
async fn a_sound_store_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(&open(folder.path())).await);
    check(folder.path()).expect(0, &["Sound: 9 cells in 7 spaces", "log: 1 file, 3 records"]);
    let ran = keyaki(&["check".as_ref(), folder.path().as_os_str(), "--json".as_ref()]);
    let report = ran.expect(0, &[]).json();
    assert_eq!(report["sound"], true);
    assert_eq!(report["totals"]["cells"], 9);
    assert_eq!(report["problems"], serde_json::json!([]));
}

/// Commits past the store, as no bucket type can.
async fn plant(bucket: &Bucket, write: impl FnOnce(&mut Commit)) {
    let engine = bucket.store().engine();
    let tid = Tid::new(engine.clock().next(), 7);
    let mut commit = Commit::new(Home { bucket: bucket.id(), partition: b"home".to_vec() }, tid);
    write(&mut commit);
    assert_eq!(engine.commit(commit).await.unwrap(), Outcome::Done);
}

/// Plants one thing in a sound store, and expects that it is found, and nothing else.
async fn found(write: impl FnOnce(&Bucket, &mut Commit), says: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let bucket = fill(&open(folder.path())).await;
    plant(&bucket, |commit| write(&bucket, commit)).await;
    drop(bucket);
    let ran = check(folder.path());
    ran.expect(1, &["NOT SOUND: 1 problem\n", "keyaki restore"]).expect(1, says);
    let ran = keyaki(&["check".as_ref(), folder.path().as_os_str(), "--json".as_ref()]);
    let report = ran.expect(1, &[]).json();
    assert_eq!((&report["sound"], &report["opened"]), (&false.into(), &true.into()));
    assert_eq!(report["problems"].as_array().unwrap().len(), 1);
    assert!(report["problems"][0]["key"].is_string(), "{report}");
}

/// An owner, as the golden tests spell it: the primary `zz` in partition `home`.
fn owner_that_is_not_there(bucket: &Bucket) -> Vec<u8> {
    [&bucket.primary().0.to_be_bytes()[..], b"home\0zz\0"].concat()
}

#[tokio::test]
async fn an_entry_without_owner_is_found() {
    let write = |bucket: &Bucket, commit: &mut Commit| {
        let owner = owner_that_is_not_there(bucket);
        let sort = [b"key\0", &owner[..], &(owner.len() as u16).to_be_bytes()].concat();
        let views = bucket.space("views").unwrap();
        commit.dependent(views, b"all\0\0\0", &sort, Write::Put(Value::open(b"")));
    };
    found(write, &["derived cell has no owner", "owner_sort=\"zz\""]).await;
}

#[tokio::test]
async fn an_entry_that_names_nobody_is_found() {
    let write = |bucket: &Bucket, commit: &mut Commit| {
        let views = bucket.space("views").unwrap();
        commit.dependent(views, b"all\0\0\0", b"stray", Write::Put(Value::open(b"")));
    };
    found(write, &["derived key has no owner"]).await;
}

#[tokio::test]
async fn a_claim_without_owner_is_found() {
    let write = |bucket: &Bucket, commit: &mut Commit| {
        let owner = owner_that_is_not_there(bucket);
        commit.claim(bucket.space("claims").unwrap(), b"name", &owner);
    };
    found(write, &["derived cell has no owner", "owner_sort=\"zz\""]).await;
}

#[tokio::test]
async fn a_chunk_without_head_is_found() {
    let write = |bucket: &Bucket, commit: &mut Commit| {
        // Of a value that was never there, and of another version of one that is.
        let there = [b"p\0a\0", &[0; 8][..]].concat();
        let part = Write::Put(Value::open(b"part"));
        commit.dependent(bucket.space("chunks").unwrap(), &there, &[0; 4], part);
    };
    found(write, &["chunk has no head"]).await;
}

#[tokio::test]
async fn a_head_without_chunks_is_found() {
    for length in [250_u64, u64::MAX] {
        let write = |bucket: &Bucket, commit: &mut Commit| {
            let payload = [&length.to_be_bytes()[..], &100_u32.to_be_bytes()].concat();
            let head = Value { flags: Flags::CHUNKED, visibility: b"", payload: &payload };
            commit.write(bucket.primary(), b"d", Write::Put(head));
        };
        found(write, &["large value"]).await;
    }
}

#[tokio::test]
async fn unreadable_records_are_found() {
    let change = |bucket: &Bucket, commit: &mut Commit| {
        let owner = owner_that_is_not_there(bucket);
        let id = *commit.tid().as_bytes();
        let sort = [&id[..], &owner, &(owner.len() as u16).to_be_bytes()].concat();
        let changes = bucket.space("changes").unwrap();
        commit.dependent(changes, b"changes", &sort, Write::Put(Value::open(b"{\"item\":1}")));
    };
    found(change, &["change record is damaged"]).await;
    let digest = |bucket: &Bucket, commit: &mut Commit| {
        let replay = bucket.space("replay").unwrap();
        commit.write(replay, &[7; 32], Write::Put(Value::open(b"short")));
    };
    found(digest, &["replay digest is damaged"]).await;
}

struct Ours;

impl Merge for Ours {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        out.extend(payloads.concat());
        Ok(())
    }
}

#[tokio::test]
async fn what_cannot_be_folded_is_named_and_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules::default().with_merge("ours", |_| Some(Arc::new(Ours)));
    let engine = EmbeddedEngine::open(folder.path(), &EmbeddedSettings::default(), rules).unwrap();
    let store = Store::new(Arc::new(engine), StoreSettings::default(), 7);
    let merging = |rule: &str| SpaceSpec::derived(BucketId(0), rule).merging(RuleSpec::named(rule));
    let spaces = vec![merging("ours"), merging("sum")];
    let bucket = store.create_bucket(BucketSpec { spaces, ..Default::default() }).await.unwrap();
    drop(store);
    for _ in 0..2 {
        plant(&bucket, |commit| {
            for (rule, sort) in [("ours", b"a"), ("ours", b"b"), ("sum", b"c")] {
                let operand = Write::Merge(Value::open(b"not a number"));
                commit.dependent(bucket.space(rule).unwrap(), b"d", sort, operand);
            }
        })
        .await;
    }
    drop(bucket);
    let said = [
        "not checked: 2 merged cells of space 2, ours, that the merge rule ours can't fold here: \
         the rule is unknown\n",
        "not checked: 1 merged cell of space 3, sum, that the merge rule sum can't fold here: \
         not an i64\n",
        "Sound: 3 cells",
    ];
    check(folder.path()).expect(0, &said);
    let ran = keyaki(&["check".as_ref(), folder.path().as_os_str(), "--json".as_ref()]);
    let report = ran.expect(0, &[]).json();
    let first = &report["unchecked"][0];
    assert_eq!((&first["space"], &first["cells"]), (&2.into(), &2.into()));
    assert_eq!((&first["rule"], &first["reason"]), (&"ours".into(), &"the rule is unknown".into()));
    assert_eq!(report["unchecked"].as_array().unwrap().len(), 2);
    keyaki(&["stat".as_ref(), folder.path().as_os_str()]).expect(0, &["3 cells"]);
}

fn file_ending(dir: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(dir.join("db")).unwrap().map(|entry| entry.unwrap());
    let mut sized: Vec<_> = files
        .filter(|file| file.file_name().to_string_lossy().ends_with(ending))
        .map(|file| (file.metadata().unwrap().len(), file.path()))
        .collect();
    sized.sort();
    sized.pop().unwrap().1
}

fn flip(file: &Path, offset: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[offset] ^= 0x10;
    std::fs::write(file, bytes).unwrap();
}

#[tokio::test]
async fn a_flipped_bit_in_a_table_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = fill(&open(folder.path())).await;
    plant(&bucket, |commit| {
        for number in 0..1_000_u32 {
            let noise = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            commit.write(bucket.primary(), &noise, Write::Put(Value::open(&noise)));
        }
    })
    .await;
    bucket.store().engine().compact(bucket.primary()).await.unwrap();
    drop(bucket);
    let table = file_ending(folder.path(), ".sst");
    let sound = std::fs::read(&table).unwrap();
    check(folder.path()).expect(0, &["Sound: 1009 cells"]);
    // Cells come first in a table; filter and index are a small part at its end.
    for offset in (0..sound.len() / 2).step_by(sound.len() / 10) {
        flip(&table, offset);
        check(folder.path()).expect(1, &["NOT SOUND", "damaged"]);
        std::fs::write(&table, &sound).unwrap();
    }
    std::fs::write(&table, &sound[..sound.len() - 10]).unwrap();
    check(folder.path()).expect(1, &["NOT SOUND", "keyaki restore"]);
    std::fs::remove_file(&table).unwrap();
    check(folder.path()).expect(1, &["NOT SOUND", "keyaki restore"]);
}

#[tokio::test]
async fn a_flipped_bit_in_the_log_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(&open(folder.path())).await);
    let log = file_ending(folder.path(), ".log");
    flip(&log, 60);
    let said = ["NOT SOUND: 1 problem", "log is damaged", "offset=0", &log.display().to_string()];
    check(folder.path()).expect(1, &said);
    let ran = keyaki(&["check".as_ref(), folder.path().as_os_str(), "--json".as_ref()]);
    let report = ran.expect(1, &[]).json();
    assert_eq!(report["opened"], false);
    assert_eq!(report["problems"][0]["file"], log.display().to_string());
}

#[tokio::test]
async fn a_torn_tail_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(&open(folder.path())).await);
    let log = file_ending(folder.path(), ".log");
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&log, &bytes[..bytes.len() - 5]).unwrap();
    check(folder.path()).expect(0, &["Sound", "log: 1 file, 2 records", "never became a commit"]);
}

#[tokio::test]
async fn damaged_lists_are_found() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(&open(folder.path())).await);
    let spaces = folder.path().join("SPACES");
    flip(&spaces, 70);
    check(folder.path()).expect(1, &["list of spaces is damaged", "SPACES"]);
    flip(&spaces, 70);
    std::fs::remove_file(folder.path().join("db/CURRENT")).unwrap();
    check(folder.path()).expect(1, &["NOT SOUND", "CURRENT"]);
    std::fs::write(folder.path().join("KEYAKI"), "keyaki format 4\n").unwrap();
    check(folder.path()).expect(2, &["format=4"]);
}

#[tokio::test]
async fn a_store_in_use_is_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    check(folder.path()).expect(2, &["another process has this store open"]);
    drop(store);
    check(folder.path()).expect(0, &["Sound: 0 cells"]);
}
