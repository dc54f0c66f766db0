//! Every byte we persist. A difference here is a format change: bump the version, tell it in
//! docs/format.md, and keep reading the old bytes.
//!
//! One store is made on a standing clock, closed, and read back through RocksDB alone.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keyaki::cell::{Tid, Value};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{
    BucketId, CellRef, Commit, Home, Keep, Merge, Outcome, RuleSpec, Rules, SpaceSpec, Unfoldable,
    Verdict, Write,
};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Change, Draft, Operation, Previous, Store, View};
use keyaki::testing::clock::FakeClock;

const START_US: u64 = 1_700_000_000_000_000;
const NODE: u64 = 0x0123_4567_89ab_cdef;

/// A rule that refuses, so that operands stay side by side.
struct Never;

impl Merge for Never {
    fn fold(&self, _: &[&[u8]], _: &mut Vec<u8>) -> Result<(), Unfoldable> {
        Err(Unfoldable("never"))
    }
}

/// A rule that finds every cell invalid.
struct Nothing;

impl Keep for Nothing {
    fn judge(&self, _: &CellRef<'_>, _: keyaki::cell::Time) -> Verdict {
        Verdict::Invalid
    }
}

fn rules() -> Rules {
    Rules::default()
        .with_merge("never", |_| Some(Arc::new(Never)))
        .with_keep("nothing", |_| Some(Arc::new(Nothing)))
}

/// A store being made, a second per commit.
struct Maker {
    store: Store,
    wall: Arc<FakeClock>,
}

impl Maker {
    fn new(dir: &Path) -> Self {
        let wall = Arc::new(FakeClock::at(START_US));
        let settings = EmbeddedSettings::default();
        let engine =
            EmbeddedEngine::open_with_clock(dir, &settings, rules(), wall.clone()).unwrap();
        let settings = StoreSettings { chunk_bytes: 10, sweep_every: None };
        Self { store: Store::new(Arc::new(engine), settings, NODE), wall }
    }

    async fn bucket(&self) -> Bucket {
        let bucket = BucketId(0);
        let spec = BucketSpec {
            replay_window: Some(Duration::from_secs(3600)),
            changes_kept: None,
            spaces: vec![
                SpaceSpec::derived(bucket, "lists").merging(RuleSpec::named("never")),
                SpaceSpec::home(bucket, "judged").keeping(RuleSpec::named("nothing")),
            ],
        };
        self.store.create_bucket(spec).await.unwrap()
    }

    async fn commit<T>(
        &self,
        bucket: &Bucket,
        partition: &[u8],
        draft: impl FnMut(&mut Draft<'_>) -> keyaki::Result<T> + Send,
    ) {
        self.wall.advance(Duration::from_secs(1));
        bucket.commit(partition, draft).await.unwrap().tid().unwrap();
    }

    /// Writes a cell of a home space that drafts don't reach.
    async fn write(&self, bucket: &Bucket, label: &str, sort: &[u8], value: Value<'_>) {
        self.wall.advance(Duration::from_secs(1));
        let engine = self.store.engine();
        let home = Home { bucket: bucket.id(), partition: b"home".to_vec() };
        let mut commit = Commit::new(home, Tid::new(engine.clock().next(), NODE));
        commit.write(bucket.space(label).unwrap(), sort, Write::Put(value));
        assert_eq!(engine.commit(commit).await.unwrap(), Outcome::Done);
    }
}

fn operation() -> Operation {
    Operation {
        caller: "ana".into(),
        action: "create".into(),
        id: "op-1".into(),
        sequence: 2,
        parameters: b"{}".to_vec(),
    }
}

/// One cell of every kind.
async fn make(dir: &Path) {
    let maker = Maker::new(dir);
    let bucket = maker.bucket().await;
    // +1 s: zero bytes in the partition; a visibility of 130 bytes.
    let long = [b'v'; 130];
    maker
        .commit(&bucket, b"p\x00\x01q", |draft| {
            draft.put(b"s\x00", Previous::Absent, Value::visible_to(&long, b"hello"))
        })
        .await;
    // +2 s: a primary and all that follows.
    let change = Change {
        item: "doc".into(),
        action: "create".into(),
        operation: Some("op-1".into()),
        sequence: 2,
        user: Some("ana".into()),
        before: serde_json::Value::Null,
        after: serde_json::json!({"n": 1}),
    };
    maker
        .commit(&bucket, b"home", |draft| {
            draft.put(b"doc", Previous::Absent, Value::visible_to(b"x&y", b"text"))?;
            draft.add_entry(&View::named("names"), b"Ann\x00", b"doc", Value::open(b"entry"))?;
            draft.claim(b"ann", b"doc");
            draft.change(&change, b"x", b"y")?;
            draft.remember(&operation(), b"ok")
        })
        .await;
    // +3 s: a value of two chunks.
    maker
        .commit(&bucket, b"home", |draft| {
            draft.put(b"big", Previous::Absent, Value::open(b"0123456789ab"))
        })
        .await;
    // +4 s, +5 s: operands that can't be folded.
    let lists = bucket.space("lists").unwrap();
    for operand in [b"one", b"two"] {
        maker
            .commit(&bucket, b"home", |draft| {
                draft.dependent(lists, b"l", b"", Write::Merge(Value::visible_to(b"z", operand)));
                Ok(())
            })
            .await;
    }
    // +6 s: a cell that breaks a rule, and goes to the quarantine.
    maker.write(&bucket, "judged", b"bad", Value::open(b"wrong")).await;
    let engine = maker.store.engine();
    let judged = bucket.space("judged").unwrap();
    engine.sweep(judged).await.unwrap();
    engine.drop_spaces(vec![judged]).await.unwrap();
    engine.compact(lists).await.unwrap();
}

/// All that RocksDB holds, as hex.
fn dump(dir: &Path) -> Vec<(String, String)> {
    let options = rocksdb::Options::default();
    let db = rocksdb::DB::open_for_read_only(&options, dir.join("db"), false).unwrap();
    let cells = db.iterator(rocksdb::IteratorMode::Start).map(|cell| cell.unwrap());
    cells.map(|(key, value)| (hex(&key), hex(&value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The bytes that a line of the table stands for: hex, and text in quotes.
fn expected(line: &str) -> String {
    let mut hexed = String::new();
    for (at, piece) in line.split('\'').enumerate() {
        match at % 2 {
            0 => hexed.extend(piece.split_whitespace()),
            _ => hexed.push_str(&hex(piece.as_bytes())),
        }
    }
    hexed
}

/// What each cell is, its key and its value.
const CELLS: [(&str, &str, &str); 12] = [
    ("the clock: the time of the latest commit", "00000000 'clock' 00", "00060a241879cd80"),
    (
        "quarantine: space and time of the cell before its sort key",
        "00000001 'home' 00  00000003 00060a241879cd80 'bad'",
        "01 00 00060a241879cd80 00 'wrong'",
    ),
    (
        "unfolded operands: whole values, each after its length",
        "00000002 'l' 00",
        "01 01 0000000000000000 00 \
         0000000f 01 00 00060a24185b4900 01 'z' 'one' \
         0000000f 01 00 00060a24186a8b40 01 'z' 'two'",
    ),
    (
        "primary, the head of a large value: length of the whole and of a chunk",
        "00000004 'home' 00 'big'",
        "01 02 00060a24184c06c0 00  000000000000000c 0000000a",
    ),
    (
        "primary with a visibility",
        "00000004 'home' 00 'doc'",
        "01 00 00060a24183cc480 03 'x&y' 'text'",
    ),
    (
        "primary in a partition with zero bytes, and a visibility of 130 bytes",
        "00000004 'p' 0101 0102 'q' 00 's' 00",
        "01 00 00060a24182d8240 8082 \
         'vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv' \
         'vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv' 'hello'",
    ),
    (
        "first chunk: partition, sort and time of the head; number",
        "00000005 'home' 0101 'big' 0101 0101 060a24184c06c0 00 00000000",
        "01 04 00060a24184c06c0 00 '0123456789'",
    ),
    (
        "second chunk",
        "00000005 'home' 0101 'big' 0101 0101 060a24184c06c0 00 00000001",
        "01 04 00060a24184c06c0 00 'ab'",
    ),
    (
        "replay digest: the commit's id, and its answer",
        "00000006 'home' 00  819ded8caffb952d7f60f3d17be14bd2ed928147fdef796cbe8f581867abd5b6",
        "01 00 00060a24183cc480 00  018bcfe56fd070008123456789abcdef 'ok'",
    ),
    (
        "change record: hour; commit's id, owner",
        "00000007 'changes' 0101 010101010101010101 01 07349e 00 \
         018bcfe56fd070008123456789abcdef  00000004 'home' 00 'doc' 00 000d",
        "01 00 00060a24183cc480 03 'x&y' \
         '{\"item\":\"doc\",\"action\":\"create\",\"operation\":\"op-1\",\"sequence\":2,' \
         '\"user\":\"ana\",\"after\":{\"n\":1}}'",
    ),
    (
        "view entry: name and shard; key, owner",
        "00000008 'names' 0101 0101 0101 00  'Ann' 00  00000004 'home' 00 'doc' 00 000d",
        "01 00 00060a24183cc480 00 'entry'",
    ),
    (
        "claim: the owner",
        "00000009 'ann' 00",
        "01 00 00060a24183cc480 00  00000004 'home' 00 'doc' 00",
    ),
];

#[tokio::test]
async fn cells() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path()).await;
    let found = dump(dir.path());
    for ((what, key, value), (found_key, found_value)) in CELLS.iter().zip(&found) {
        assert_eq!(*found_key, expected(key), "key of {what}");
        assert_eq!(*found_value, expected(value), "value of {what}");
    }
    assert_eq!(found.len(), CELLS.len());
}

#[tokio::test]
async fn files() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path()).await;
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("KEYAKI"), "keyaki format 3\n");
    assert_eq!(read("LOCK"), "keyaki lock\n");
    let spaces = read("SPACES");
    let (first, lines) = spaces.split_once('\n').unwrap();
    let checksum = &hex(blake3::hash(lines.as_bytes()).as_bytes())[..32];
    assert_eq!(first, format!("keyaki spaces 1 {checksum}"));
    assert_eq!(lines, SPACES);
    assert_eq!(first, "keyaki spaces 1 2a64b1de0d6942638cb205eb5a87b76c");
}

const SPACES: &str = r#"{"id":1,"spec":{"bucket":1,"kind":"derived","label":"quarantine"}}
{"id":2,"spec":{"bucket":1,"kind":"derived","label":"lists","merge":{"name":"never"}}}
{"id":3,"spec":{"bucket":1,"kind":"home","label":"judged","keep":{"name":"nothing"},"quarantine":1},"retired":true}
{"id":4,"spec":{"bucket":1,"kind":"home","label":"primary"}}
{"id":5,"spec":{"bucket":1,"kind":"derived","label":"chunks"}}
{"id":6,"spec":{"bucket":1,"kind":"home","label":"replay","keep":{"name":"age","parameters":"3600000000"}}}
{"id":7,"spec":{"bucket":1,"kind":"derived","label":"changes"}}
{"id":8,"spec":{"bucket":1,"kind":"derived","label":"views"}}
{"id":9,"spec":{"bucket":1,"kind":"derived","label":"claims"}}
"#;

#[test]
fn the_digest_of_an_operation() {
    let input = expected(
        "0000000000000003 'ana' 0000000000000006 'create' 0000000000000004 'op-1' \
         0000000000000002 '{}'",
    );
    let bytes: Vec<u8> = (0..input.len() / 2)
        .map(|at| u8::from_str_radix(&input[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert_eq!(operation().digest(), *blake3::hash(&bytes).as_bytes());
    let known = "819ded8caffb952d7f60f3d17be14bd2ed928147fdef796cbe8f581867abd5b6";
    assert_eq!(hex(&operation().digest()), known);
}
