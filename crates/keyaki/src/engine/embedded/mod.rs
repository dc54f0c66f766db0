//! Cells on RocksDB, in a directory of their own.
//!
//! One writer thread decides every change (`writer`), readers never wait for it (`scan`), and
//! RocksDB folds and drops by the spaces' rules when it compacts (`merge`). This is the one
//! place where work that may wait for the disk crosses to a blocking thread.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use async_trait::async_trait;
use rocksdb::{BottommostLevelCompaction, CompactOptions, DB, Options, WaitForCompactOptions};
use tokio::sync::{mpsc, oneshot};

use super::commit::{Commit, Outcome, Route};
use super::measure::Sizes;
use super::rules::{RuleSpec, Rules};
use super::scan::{Scan, ScanRequest, Split};
use super::space::{BucketId, SpaceId, SpaceRecord, SpaceSpec, Spaces};
use super::{Engine, Measure, Stamps, Swept};
use crate::cell::{HybridClock, SystemWallClock, Time, WallClock, key};
use crate::error::{Error, Result};
use crate::settings::{Durability, EmbeddedSettings};

mod backup;
mod bulk;
mod check;
mod directory;
mod fault;
mod flusher;
mod latest;
mod log;
mod measure;
mod merge;
mod options;
mod pace;
mod recovery;
mod reserve;
mod room;
mod scan;
mod splits;
mod sweep;
mod writer;

pub use backup::restore;
pub use check::{Inspection, Report, SpaceReport, Unchecked};
pub use directory::{FORMAT, require_store};

use bulk::Spread;
use directory::Directory;
use fault::{open_failed, reading};
use flusher::Flusher;
use reserve::{Outlook, Reserve};
use room::Room;
use writer::{Request, Shared};

/// An engine in a directory.
pub struct EmbeddedEngine {
    shared: Arc<Shared>,
    stamps: Arc<Stamps>,
    file_options: Arc<Options>,
    queue: Option<mpsc::Sender<Request>>,
    room: Room,
    writer: Option<JoinHandle<()>>,
    _flusher: Option<Flusher>,
}

impl EmbeddedEngine {
    /// Opens the store in `dir`, or makes one where nothing is yet, on the system's clock.
    ///
    /// # Errors
    /// `Invalid` if the directory holds other things, `Unsupported` if it has another format,
    /// `Unavailable` if another process has it open or there is no room, `Corrupt` if it is
    /// damaged.
    pub fn open(dir: &Path, settings: &EmbeddedSettings, rules: Rules) -> Result<Self> {
        Self::open_with_clock(dir, settings, rules, Arc::new(SystemWallClock))
    }

    /// As [`Self::open`], on a clock of the caller's.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with_clock(
        dir: &Path,
        settings: &EmbeddedSettings,
        rules: Rules,
        wall: Arc<dyn WallClock>,
    ) -> Result<Self> {
        let (directory, new) = Directory::open_or_begin(dir)?;
        let (reserve, settings) = Reserve::new(dir, settings)?;
        let clock = Arc::new(HybridClock::new(wall));
        let records = if new { Vec::new() } else { directory.read_spaces()? };
        let spaces = Arc::new(Spaces::new(records, rules));
        let mut options = options::options(&settings, &spaces, &clock);
        let file_options = options::file_options(&settings, &spaces, &clock);
        if new {
            reserve.admit_new()?;
            options.create_if_missing(true);
        } else {
            recovery::recover(&directory.db())?;
        }
        let db = DB::open(&options, directory.db())
            .map_err(|e| open_failed(e).with("dir", dir.display()))?;
        directory.clear_bulk()?;
        if new {
            directory.finish_making()?;
        }
        let newest = newest_commit(&db)?;
        clock.observe(newest);
        clear_retired(&db, &spaces)?;
        let shared = Arc::new(Shared {
            db: Arc::new(db),
            in_memory: scan::in_memory(),
            spaces,
            clock,
            directory,
            reserve,
            listing: Mutex::new(()),
            ingesting: Mutex::new(()),
            stopped: OnceLock::new(),
            groups: Sizes::default(),
        });
        let (queue, requests) = mpsc::channel(settings.queue_commits_max.max(1));
        let writer = writer::start(shared.clone(), settings.durability, newest, requests)?;
        let flusher = match settings.durability {
            Durability::Sync => None,
            Durability::Interval(every) => Some(Flusher::start(shared.clone(), every)?),
        };
        Ok(Self {
            stamps: Stamps::new(shared.clock.clone()),
            shared,
            file_options: Arc::new(file_options),
            queue: Some(queue),
            room: Room::new(&settings),
            writer: Some(writer),
            _flusher: flusher,
        })
    }

    /// Writes out what is still in memory, and waits until no compaction is left to do: what was
    /// written by now has then cost all that it will.
    ///
    /// # Errors
    /// `Unavailable` if something can't be written.
    pub async fn settle(&self) -> Result<()> {
        let db = self.shared.db.clone();
        blocking(move || {
            let mut options = WaitForCompactOptions::default();
            options.set_flush(true);
            db.wait_for_compact(&options)
                .map_err(|e| Error::unavailable("compaction can't finish").because(e))
        })
        .await
    }

    /// Packs all there is into one sorted run.
    ///
    /// # Errors
    /// `Internal` if that is interrupted.
    pub async fn pack(&self) -> Result<()> {
        let db = self.shared.db.clone();
        blocking(move || {
            compact(&db, None, None);
            Ok(())
        })
        .await
    }

    /// Asks the writer and waits for its answer.
    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        queue.send(request(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    async fn bulk(&self, mut commit: Commit) -> Result<Outcome> {
        self.shared.writable()?;
        let room = self.room.bulk().await?;
        commit.carry(room);
        let (shared, options) = (self.shared.clone(), self.file_options.clone());
        let (sealed, files) = blocking(move || {
            let sealed = commit.seal(&shared.spaces)?;
            if let Outlook::Full(full) = shared.reserve.look(&shared.db, sealed.bytes())? {
                return Err(full);
            }
            let spread = Spread::of(&sealed, &shared.db, &shared.spaces);
            let files = bulk::write_files(&options, &shared.directory.bulk(), &sealed, spread)
                .map_err(|e| shared.file_failed(e))?;
            Ok((sealed, files))
        })
        .await?;
        self.ask(|reply| Request::Ingest(sealed, files, reply)).await
    }
}

impl Drop for EmbeddedEngine {
    /// Lets the writer finish what it has accepted.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has answered nobody, and there is nothing left to do here.
            let _ = writer.join();
        }
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    async fn new_bucket(&self) -> Result<BucketId> {
        Ok(self.shared.spaces.new_bucket())
    }

    async fn create_spaces(&self, specs: Vec<SpaceSpec>) -> Result<Vec<SpaceId>> {
        self.shared.writable()?;
        let shared = self.shared.clone();
        blocking(move || {
            let _listing = shared.listing.lock().unwrap_or_else(PoisonError::into_inner);
            let made = shared.spaces.admit(specs)?;
            let mut records = shared.spaces.records();
            records.extend_from_slice(&made);
            shared.list_spaces(&records)?;
            Ok(shared.spaces.set_all(made))
        })
        .await
    }

    async fn drop_spaces(&self, spaces: Vec<SpaceId>) -> Result<()> {
        self.ask(|reply| Request::Drop(spaces, reply)).await
    }

    async fn change_rules(
        &self,
        space: SpaceId,
        merge: Option<RuleSpec>,
        keep: Option<RuleSpec>,
    ) -> Result<()> {
        self.ask(|reply| Request::Change(space, merge, keep, reply)).await
    }

    fn spaces(&self) -> Vec<SpaceRecord> {
        self.shared.spaces.records()
    }

    async fn commit(&self, commit: Commit) -> Result<Outcome> {
        if commit.route() == Route::Bulk {
            return self.bulk(commit).await;
        }
        let mut sealed = commit.seal(&self.shared.spaces)?;
        sealed.carry(self.room.queue(sealed.bytes()).await?);
        self.ask(|reply| Request::Commit(sealed, reply)).await
    }

    async fn read(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        let space = self.shared.spaces.usable(space)?;
        let mut key = Vec::with_capacity(partition.len() + sort.len() + 8);
        key::cell_key(space.id().0, partition, sort, &mut key);
        scan::read(&self.shared, space, key).await
    }

    async fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let space = self.shared.spaces.usable(request.space)?;
        scan::begin(&self.shared, space, &request)
    }

    async fn splits(&self, space: SpaceId, parts: usize) -> Result<Vec<Split>> {
        self.shared.spaces.usable(space)?;
        let db = self.shared.db.clone();
        blocking(move || splits::splits(&db, space, parts)).await
    }

    fn partitions_between(&self, space: SpaceId, first: &[u8], last: &[u8]) -> Option<Split> {
        Some(Split::of_partitions(space, first, last))
    }

    fn writable(&self) -> Result<()> {
        self.shared.writable()
    }

    async fn sweep(&self, space: SpaceId) -> Result<Swept> {
        let space = self.shared.spaces.usable(space)?;
        if !space.record.spec.is_swept() {
            return Ok(Swept::default());
        }
        let (batches, mut condemned) = mpsc::channel(1);
        let (db, now) = (self.shared.db.clone(), self.shared.clock.now());
        let walk = blocking(move || {
            sweep::walk(&db, &space, now, |batch| match batches.blocking_send(batch) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })
        });
        // Owning its end of the channel: once it gives up, so does the walk.
        let remove = async move {
            let mut swept = Swept::default();
            while let Some(batch) = condemned.recv().await {
                let removed = self.ask(|reply| Request::Remove(batch, reply)).await?;
                swept.expired += removed.expired;
                swept.invalid += removed.invalid;
            }
            Ok(swept)
        };
        let (walked, swept) = tokio::join!(walk, remove);
        walked.and(swept)
    }

    async fn compact(&self, space: SpaceId) -> Result<()> {
        self.shared.spaces.existing(space)?;
        let db = self.shared.db.clone();
        blocking(move || {
            let (from, to) = key::space_range(space.0);
            compact(&db, Some(from), to);
            Ok(())
        })
        .await
    }

    async fn measures(&self) -> Result<Vec<Measure>> {
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        let waiting = (queue.max_capacity() - queue.capacity()) as u64;
        let undecided = self.stamps.undecided();
        let shared = self.shared.clone();
        let mut measures = blocking(move || measure::measure(&shared)).await?;
        measures.push(Measure::now("commits_waiting", "commits in the writer's queue", waiting));
        measures.push(Measure::now("commits_undecided", "commits under way", undecided));
        Ok(measures)
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        let (shared, to) = (self.shared.clone(), to.to_owned());
        blocking(move || {
            let _alone = shared.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
            backup::backup(&shared.db, &shared.directory, &to)
        })
        .await
    }
}

/// The time of the latest commit, from which the clock goes on wherever the wall clock is.
fn newest_commit(db: &DB) -> Result<Time> {
    let Some(stored) = reading(db.get(writer::clock_key()))? else { return Ok(Time::ZERO) };
    let bytes = stored
        .as_slice()
        .try_into()
        .map_err(|_| Error::corrupt("clock cell is damaged").with_bytes("value", &stored))?;
    Ok(Time::from_bytes(bytes))
}

/// Finishes drops that were interrupted.
fn clear_retired(db: &DB, spaces: &Spaces) -> Result<()> {
    for record in spaces.records().into_iter().filter(|record| record.retired) {
        let mut iterator = db.raw_iterator();
        iterator.seek(record.id.0.to_be_bytes());
        if iterator.key().is_some_and(|key| super::commit::space_of(key) == record.id) {
            db.write(writer::clearing(record.id))
                .map_err(|e| Error::unavailable("dropped space can't be cleared").because(e))?;
        }
    }
    Ok(())
}

/// Packs a range, its lowest level too.
fn compact(db: &DB, from: Option<Vec<u8>>, to: Option<Vec<u8>>) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(from, to, &options);
}

/// Runs what may wait for the disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    begin_blocking(work).await.map_err(interrupted)?
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn begin_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}

fn interrupted(error: tokio::task::JoinError) -> Error {
    Error::internal("work on a blocking thread was interrupted").because(error)
}

fn closed() -> Error {
    Error::unavailable("the store is closed")
}
