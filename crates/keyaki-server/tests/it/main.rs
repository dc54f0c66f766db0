//! The program's tests, one binary: the real `keyaki`, from outside.

#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so")]

mod backup; // backup and restore
mod check; // a sound store, planted orphans and damage
mod cql; // several servers over one cluster
mod demo; // what it prints works
mod http; // the server, asked over HTTP
mod stat; // what is counted
mod tour; // the first thing a stranger runs
mod usage; // help, bad arguments, closed pipes
mod visibility; // access expressions, line by line

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use keyaki::cell::Value;
use keyaki::engine::Rules;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Bucket, BucketSpec, Previous, Store, View};

/// Runs the program to its end.
fn keyaki<A: AsRef<OsStr>>(arguments: &[A]) -> Ran {
    feed(arguments, b"")
}

/// Runs the program on some input.
fn feed<A: AsRef<OsStr>>(arguments: &[A], input: &[u8]) -> Ran {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // From its own thread: a full pipe on one side must not stop the other.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran::new(output)
}

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_keyaki"));
    program.env_remove("KEYAKI_LOG");
    program
}

/// How a run went.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn expect(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for words in said {
            assert!(self.out.contains(words) || self.err.contains(words), "{words:?}: {self:?}");
        }
        self
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Makes or opens a store.
fn open(dir: &Path) -> Store {
    let engine = EmbeddedEngine::open(dir, &EmbeddedSettings::default(), Rules::default()).unwrap();
    let settings = StoreSettings { chunk_bytes: 100, sweep_every: None };
    Store::new(Arc::new(engine), settings, 7)
}

/// Three primaries, the last in three chunks, and three view entries: nine cells.
async fn fill(store: &Store) -> Bucket {
    let bucket = store.create_bucket(BucketSpec::default()).await.unwrap();
    let long = [b'x'; 250];
    let items = [(b"a", &b"one"[..]), (b"b", b"two"), (b"c", &long)];
    for (sort, payload) in items {
        let committed = bucket.commit(b"home", |draft| {
            draft.put(sort, Previous::Absent, Value::open(payload))?;
            draft.add_entry(&View::named("all"), b"key\0", sort, Value::open(b"entry"))
        });
        committed.await.unwrap().tid().unwrap();
    }
    bucket
}
