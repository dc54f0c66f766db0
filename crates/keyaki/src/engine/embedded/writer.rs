//! The one writer: takes commits from a queue, decides them in order against the state that
//! includes what it has just accepted, and makes a whole group durable with one synced write.
//!
//! Everything that changes the store passes through here, so each decision sees all earlier
//! ones. A failed sync ends all writing until the store is reopened, since nobody can know what
//! the disk has; a full disk does not.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rocksdb::{DB, ReadOptions, WriteBatch, WriteOptions};
use tokio::sync::{mpsc, oneshot};

use super::bulk::{self, BulkFiles};
use super::directory::{Directory, SYNC_FAILED};
use super::fault::{WriteFault, is_full, is_held_back, is_sync, reading};
use super::latest::LatestTimes;
use super::options;
use super::pace::Pace;
use super::reserve::{self, Outlook, Reserve};
use crate::cell::{HybridClock, Time, key};
use crate::engine::commit::{Outcome, Sealed, StoredWrite, space_of};
use crate::engine::measure::Sizes;
use crate::engine::sight;
use crate::engine::space::{SpaceId, SpaceRecord, Spaces};
use crate::engine::sweep::Condemned;
use crate::engine::{RuleSpec, Swept};
use crate::error::{Error, Result};
use crate::settings::Durability;

/// A group is closed when it has so many commits or bytes.
const GROUP_COMMITS_MAX: usize = 512;
const GROUP_BYTES_MAX: usize = 8 << 20;
/// What a commit's cells have in a batch beside their bytes, about.
const BATCH_BYTES_SPARE: usize = 64;
/// How often a write that is held back is tried again.
const HELD_BACK_POLL: Duration = Duration::from_millis(1);

/// The engine's own cell with the time of the latest commit.
pub fn clock_key() -> Vec<u8> {
    let mut key = Vec::new();
    key::cell_key(0, b"clock", b"", &mut key);
    key
}

/// What the writer is asked to do.
pub enum Request {
    /// A commit through the log.
    Commit(Sealed, Reply<Outcome>),
    /// A commit whose cells are in files already.
    Ingest(Sealed, BulkFiles, Reply<Outcome>),
    /// Cells to remove if they still are what was judged.
    Remove(Vec<Condemned>, Reply<Swept>),
    /// Spaces to drop.
    Drop(Vec<SpaceId>, Reply<()>),
    /// A space to give other rules: how it folds, what it keeps.
    Change(SpaceId, Option<RuleSpec>, Option<RuleSpec>, Reply<()>),
}

type Reply<T> = oneshot::Sender<Result<T>>;

/// What the writer works on, shared with the engine that feeds it.
pub struct Shared {
    /// RocksDB.
    pub db: Arc<DB>,
    /// How one cell is read that is in memory.
    pub in_memory: ReadOptions,
    /// The spaces and their rules.
    pub spaces: Arc<Spaces>,
    /// The clock that never falls behind a commit.
    pub clock: Arc<HybridClock>,
    /// The directory, for the list of spaces.
    pub directory: Directory,
    /// Room on the disk. Commits ask for it; what makes room need not.
    pub reserve: Reserve,
    /// Held while the list of spaces changes.
    pub listing: Mutex<()>,
    /// Held while files are ingested, and while a backup is taken: it has the tables of one
    /// moment and the log of a later one, and what is ingested in between would be in neither. And
    /// while the log is synced beside commits, which cuts one that is full: a backup may be reading it.
    pub ingesting: Mutex<()>,
    /// Why writing has stopped, once it has.
    pub stopped: OnceLock<String>,
    /// How many commits were made durable together.
    pub groups: Sizes,
}

impl Shared {
    /// Refuses once writing has stopped.
    pub fn writable(&self) -> Result<()> {
        match self.stopped.get() {
            None => Ok(()),
            Some(why) => Err(Error::unavailable("writing has stopped; reopen the store")
                .with("since", why)
                .with("dir", self.directory.path().display())),
        }
    }

    /// Notes a failed write, and stops all writing if the disk can't be trusted any more.
    pub fn write_failed(&self, error: rocksdb::Error) -> Error {
        match WriteFault::from(error) {
            WriteFault::Full(error) => error,
            WriteFault::Fatal(error) => {
                self.stop(&error);
                error
            }
        }
        .with("dir", self.directory.path().display())
    }

    /// Notes a file that could not be written and that nothing refers to yet: only a failed sync
    /// speaks against the disk.
    pub fn file_failed(&self, error: rocksdb::Error) -> Error {
        match is_sync(&error) || is_full(&error) {
            true => self.write_failed(error),
            false => Error::unavailable("bulk file can't be written").because(error),
        }
    }

    /// Replaces the list of spaces; whoever calls holds `listing`.
    pub fn list_spaces(&self, records: &[SpaceRecord]) -> Result<()> {
        self.directory.write_spaces(records).inspect_err(|error| {
            if error.message() == SYNC_FAILED {
                self.stop(error);
            }
        })
    }

    fn note_group(&self, commits: usize) {
        if commits > 0 {
            self.groups.note(commits);
        }
    }

    fn stop(&self, why: &Error) {
        let why = self.stopped.get_or_init(|| why.to_string());
        tracing::error!(%why, "writing has stopped");
    }
}

/// The writer's thread; it ends when its queue is closed and drained. Of all earlier commits it
/// knows the `newest` time alone, so all that are not later are stale to it.
pub fn start(
    shared: Arc<Shared>,
    durability: Durability,
    newest: Time,
    queue: mpsc::Receiver<Request>,
) -> Result<JoinHandle<()>> {
    let mut impatient = options::write_options(durability);
    impatient.set_no_slowdown(true);
    let mut writer = Writer {
        shared,
        durability,
        patient: options::write_options(durability),
        impatient,
        hasher: RandomState::new(),
        latest: LatestTimes::new(newest),
        newest,
        pace: Pace::default(),
        unknown: Vec::new(),
    };
    std::thread::Builder::new()
        .name("keyaki-writer".to_owned())
        .spawn(move || writer.run(queue))
        .map_err(|e| Error::unavailable("writer thread can't start").because(e))
}

struct Writer {
    shared: Arc<Shared>,
    durability: Durability,
    /// For writes that are to be slowed down, each by a time that RocksDB sets.
    patient: WriteOptions,
    /// For writes that come back when they would have to wait.
    impatient: WriteOptions,
    hasher: RandomState,
    latest: LatestTimes,
    newest: Time,
    pace: Pace,
    /// Commits that may or may not be on the disk.
    unknown: Vec<Sealed>,
}

/// What earlier commits of the same group did to the cells that conditions look at.
type Overlay<'a> = HashMap<&'a [u8], StoredWrite<'a>>;

impl Writer {
    fn run(&mut self, mut queue: mpsc::Receiver<Request>) {
        let mut group = Vec::new();
        while let Some(request) = queue.blocking_recv() {
            if self.durability == Durability::Sync {
                std::thread::sleep(self.pace.wait_with(queue.len() + 1));
            }
            let mut next = Some(request);
            let mut bytes = 0;
            while let Some(Request::Commit(commit, reply)) = next {
                bytes += commit.bytes();
                group.push((commit, reply));
                let full = group.len() >= GROUP_COMMITS_MAX || bytes >= GROUP_BYTES_MAX;
                next = if full { None } else { queue.try_recv().ok() };
            }
            self.commit(&mut group);
            if let Some(alone) = next {
                self.alone(alone);
            }
        }
    }

    /// Answers may go unheard: a caller that gave up has still asked.
    fn alone(&mut self, request: Request) {
        match request {
            Request::Commit(commit, reply) => self.commit(&mut vec![(commit, reply)]),
            Request::Ingest(commit, files, reply) => {
                let answer = self.ingest(&commit, &files);
                self.settle(commit, answer.is_err());
                let _ = reply.send(answer);
            }
            Request::Remove(cells, reply) => {
                let _ = reply.send(self.remove(&cells));
            }
            Request::Drop(spaces, reply) => {
                let _ = reply.send(self.drop_spaces(&spaces));
            }
            Request::Change(space, merge, keep, reply) => {
                let _ = reply.send(self.change_rules(space, merge, keep));
            }
        }
    }

    fn commit(&mut self, group: &mut Vec<(Sealed, Reply<Outcome>)>) {
        if group.is_empty() {
            return;
        }
        let mut accepted = Vec::with_capacity(group.len());
        let mut overlay = Overlay::new();
        let mut outcomes = Vec::with_capacity(group.len());
        for (index, (commit, _)) in group.iter().enumerate() {
            let outcome = self.decide(commit, &overlay);
            if matches!(outcome, Ok(Outcome::Done)) {
                accepted.push(commit);
                if index + 1 < group.len() {
                    overlay.extend(commit.watched_writes());
                }
            }
            outcomes.push(outcome);
        }
        let batch = batch_of(&accepted);
        let begun = Instant::now();
        let written = if batch.is_empty() { Ok(()) } else { self.write_if_room(batch) };
        self.pace.note(group.len(), begun.elapsed());
        let failure = written.err();
        if failure.is_none() {
            let took = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Outcome::Done)));
            self.shared.note_group(took.count());
        }
        for ((commit, reply), outcome) in group.drain(..).zip(outcomes) {
            let took = matches!(outcome, Ok(Outcome::Done));
            self.settle(commit, took && failure.is_some());
            let answer = match (&failure, outcome) {
                // Those refused may have been refused by what was never written.
                (Some(failure), Ok(_)) => Err(again(failure)),
                (_, outcome) => outcome,
            };
            let _ = reply.send(answer);
        }
    }

    /// Lets go of what a commit carries before its caller hears the answer: whoever knows that a
    /// commit took must find it in the change feed, which waits for stamps that are still out. A
    /// commit whose fate only reopening tells stays out until then.
    fn settle(&mut self, commit: Sealed, failed: bool) {
        if failed && self.shared.stopped.get().is_some() {
            self.unknown.push(commit);
        }
    }

    /// Whether a commit takes; if so its time is noted.
    fn decide(&mut self, commit: &Sealed, overlay: &Overlay<'_>) -> Result<Outcome> {
        self.shared.writable()?;
        for space in commit.spaces() {
            self.shared.spaces.usable(space)?;
        }
        let time = commit.tid().time();
        let home = self.hasher.hash_one((commit.home().bucket, &commit.home().partition));
        if self.latest.of(home) >= time {
            return Ok(Outcome::Stale);
        }
        let refusals = commit.refusals(|key| self.seen(key, overlay))?;
        if !refusals.is_empty() {
            return Ok(Outcome::Refused(refusals));
        }
        self.latest.rise(home, time);
        self.newest = self.newest.max(time);
        Ok(Outcome::Done)
    }

    /// A cell as conditions see it.
    fn seen(&self, key: &[u8], overlay: &Overlay<'_>) -> Result<Option<Vec<u8>>> {
        let value = match overlay.get(key) {
            Some(StoredWrite::Put(value)) => Some(value.to_vec()),
            Some(_) => None,
            None => reading(self.shared.db.get(key))?,
        };
        let Some(value) = value else { return Ok(None) };
        let space = self.shared.spaces.usable(space_of(key))?;
        sight::seen(space, &self.shared.clock, key, value)
    }

    fn write_if_room(&self, batch: WriteBatch) -> Result<()> {
        match self.outlook(&batch)? {
            Outlook::Full(full) => Err(full),
            outlook => self.write_in(outlook, batch),
        }
    }

    /// For what makes room: it is tried in any case.
    fn write(&self, batch: WriteBatch) -> Result<()> {
        self.write_in(self.outlook(&batch)?, batch)
    }

    /// Where RocksDB stops writes until compaction has caught up, this waits, but no longer than the
    /// room allows. RocksDB itself would wait on when somebody has filled the disk.
    fn write_in(&self, mut outlook: Outlook, mut batch: WriteBatch) -> Result<()> {
        self.shared.writable()?;
        batch.put(clock_key(), self.newest.to_bytes());
        let begun = Instant::now();
        loop {
            let (patience, slowed) = (outlook.patience(), reserve::slows_down(&self.shared.db));
            let options = match slowed && patience == Duration::MAX {
                true => &self.patient,
                false => &self.impatient,
            };
            // RocksDB keeps what it is given, even if it refuses it.
            let copy = WriteBatch::from_data(batch.data());
            match self.shared.db.write_opt(copy, options) {
                // A slowed write that came back has been charged for: trying again slows all down.
                Err(error) if is_held_back(&error) && !slowed && begun.elapsed() < patience => {}
                written => return written.map_err(|e| self.shared.write_failed(e)),
            }
            std::thread::sleep(HELD_BACK_POLL);
            outlook = match self.outlook(&batch)? {
                Outlook::Full(full) => return Err(full),
                outlook => outlook,
            };
        }
    }

    fn outlook(&self, batch: &WriteBatch) -> Result<Outlook> {
        self.shared.reserve.look(&self.shared.db, batch.size_in_bytes())
    }

    fn ingest(&mut self, commit: &Sealed, files: &BulkFiles) -> Result<Outcome> {
        let outcome = self.decide(commit, &Overlay::new())?;
        if outcome == Outcome::Done {
            // The files bypass the log and are durable at once: the clock, and all that the
            // decision rests on, must be so before.
            self.write_if_room(WriteBatch::default())?;
            if self.durability != Durability::Sync {
                self.shared.db.flush_wal(true).map_err(|e| self.shared.write_failed(e))?;
            }
            let _alone = self.shared.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
            bulk::ingest(&self.shared.db, files).map_err(|e| self.shared.write_failed(e))?;
        }
        Ok(outcome)
    }

    fn remove(&self, cells: &[Condemned]) -> Result<Swept> {
        self.shared.writable()?;
        let mut batch = WriteBatch::default();
        let mut swept = Swept::default();
        for cell in cells.iter().filter(|cell| cell.may_go(&self.shared.spaces)) {
            if reading(self.shared.db.get_pinned(&cell.key))?.as_deref() != Some(&cell.value) {
                continue;
            }
            batch.delete(&cell.key);
            for (key, value) in cell.quarantined.iter().flat_map(|invalid| &invalid.cells) {
                batch.put(key, value);
            }
            cell.count(&mut swept);
        }
        if !batch.is_empty() {
            self.write(batch)?;
        }
        Ok(swept)
    }

    fn change_rules(
        &self,
        id: SpaceId,
        merge: Option<RuleSpec>,
        keep: Option<RuleSpec>,
    ) -> Result<()> {
        self.shared.writable()?;
        let _listing = self.shared.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.shared.spaces.with_rules(id, merge, keep)?;
        self.relist(vec![changed])
    }

    fn drop_spaces(&self, ids: &[SpaceId]) -> Result<()> {
        self.shared.writable()?;
        {
            let _listing = self.shared.listing.lock().unwrap_or_else(PoisonError::into_inner);
            self.relist(self.shared.spaces.retire(ids)?)?;
        }
        ids.iter().try_for_each(|id| self.write(clearing(*id)))
    }

    /// Puts records in place of those with their ids; whoever calls holds `listing`.
    fn relist(&self, changed: Vec<SpaceRecord>) -> Result<()> {
        let mut records = self.shared.spaces.records();
        for record in &mut records {
            if let Some(changed) = changed.iter().find(|changed| changed.id == record.id) {
                record.clone_from(changed);
            }
        }
        self.shared.list_spaces(&records)?;
        self.shared.spaces.set_all(changed);
        Ok(())
    }
}

/// A batch that deletes all cells of a space.
pub fn clearing(space: SpaceId) -> WriteBatch {
    let mut batch = WriteBatch::default();
    let (from, to) = key::space_range(space.0);
    if let Some(to) = to {
        batch.delete_range(from, to);
    }
    batch
}

/// All that the commits write, by rising key: the memtable finds a place soonest near the last one. What the same cell
/// gets twice stays in order.
fn batch_of(commits: &[&Sealed]) -> WriteBatch {
    let bytes = commits.iter().map(|commit| commit.bytes() + BATCH_BYTES_SPARE).sum();
    let mut batch = WriteBatch::with_capacity_bytes(bytes);
    let mut writes = Vec::with_capacity(commits.iter().map(|commit| commit.len()).sum());
    writes.extend(commits.iter().flat_map(|commit| commit.writes()));
    if commits.len() > 1 {
        writes.sort_by_key(|(key, _)| *key);
    }
    for (key, write) in writes {
        match write {
            StoredWrite::Put(value) => batch.put(key, value),
            StoredWrite::Delete => batch.delete(key),
            StoredWrite::Merge(operand) => batch.merge(key, operand),
        }
    }
    batch
}

/// The group's failure, told to each of its commits.
fn again(failure: &Error) -> Error {
    Error::new(failure.kind(), failure.message()).because(failure.to_string())
}
