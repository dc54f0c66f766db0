//! A group commit as one would write it by hand on RocksDB: whoever finds nobody at work writes
//! for all who wait.
//!
//! One condition per commit: a key has a value, or none. The leader checks each against the
//! database and against what the group has written before it.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use rocksdb::{DB, WriteBatch, WriteOptions};

use crate::Result;

/// A commit that takes if `key` has the value `expected`.
pub struct Conditional {
    pub key: Vec<u8>,
    pub expected: Option<Vec<u8>>,
    pub writes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Commits from many threads, synced in groups.
pub struct GroupCommit<'a> {
    db: &'a DB,
    sync: WriteOptions,
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    tickets: u64,
    waiting: Vec<(u64, Conditional)>,
    answers: HashMap<u64, bool>,
    leading: bool,
    failed: Option<rocksdb::Error>,
}

impl<'a> GroupCommit<'a> {
    pub fn new(db: &'a DB) -> Self {
        let mut sync = WriteOptions::default();
        sync.set_sync(true);
        Self { db, sync, state: Mutex::default(), done: Condvar::new() }
    }

    /// Whether it took; it is on the disk then.
    pub fn commit(&self, commit: Conditional) -> Result<bool> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = state.tickets;
        state.tickets += 1;
        state.waiting.push((ticket, commit));
        loop {
            if let Some(took) = state.answers.remove(&ticket) {
                return Ok(took);
            }
            if let Some(failure) = &state.failed {
                return Err(failure.clone().into());
            }
            if state.leading {
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.leading = true;
            let group = std::mem::take(&mut state.waiting);
            drop(state);
            let written = self.write(&group);
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.leading = false;
            match written {
                Ok(answers) => state.answers.extend(answers),
                Err(failure) => state.failed = Some(failure),
            }
            self.done.notify_all();
        }
    }

    fn write(&self, group: &[(u64, Conditional)]) -> Result<Vec<(u64, bool)>, rocksdb::Error> {
        let mut batch = WriteBatch::default();
        let mut fresh: HashMap<&[u8], &[u8]> = HashMap::new();
        let mut answers = Vec::with_capacity(group.len());
        for (ticket, commit) in group {
            let takes = match fresh.get(commit.key.as_slice()) {
                Some(value) => commit.expected.as_deref() == Some(*value),
                None => self.db.get_pinned(&commit.key)?.as_deref() == commit.expected.as_deref(),
            };
            if takes {
                for (key, value) in &commit.writes {
                    batch.put(key, value);
                    fresh.insert(key, value);
                }
            }
            answers.push((*ticket, takes));
        }
        self.db.write_opt(batch, &self.sync)?;
        Ok(answers)
    }
}
