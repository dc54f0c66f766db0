//! Jobs: chains that run in the background. What became of them is kept, and what they gave, for a while.
//!
//! | partition, as parts | sort | value |
//! |---|---|---|
//! | `jobs` | the job's id, 16 bytes | JSON of the job |
//! | `job`, the id | number of a piece, u32 | a piece of the results |
//!
//! Whoever runs a job says now and then that it still does; one that has not been heard of has failed.

mod job;
mod results;
mod seen;

use std::time::Duration;

pub use job::{Job, JobStatus};
pub use results::RESULT_BYTES_MAX;
pub use seen::SeenJobs;

use super::bucket::Graph;
use crate::bucket::TRIES_MAX;
use crate::cell::parts::Parts;
use crate::cell::visibility::Authorisations;
use crate::cell::{Tid, Value, ValueRef};
use crate::engine::ScanRequest;
use crate::error::{Error, Result};
use crate::store::{Change, Committed, Operation, Previous};

/// How long a job is believed to run after it was last said.
pub const BELIEVED_FOR: Duration = Duration::from_secs(30);
/// How long a job is kept when it is over.
pub const KEPT_FOR: Duration = Duration::from_secs(86_400);
/// Jobs that are kept at most, and bytes of their results.
const ALL_MOST: Kept = Kept { jobs: 1000, bytes: 1 << 30 };
/// The same of one user, so that nobody can push out what others have.
const ONES_MOST: Kept = Kept { jobs: 250, bytes: 256 << 20 };
/// What a change record says of a job that was begun.
pub const JOB_BEGUN: &str = "job";
const PARTITION: &[u8] = b"jobs";

/// The jobs of a graph.
#[derive(Clone)]
pub struct Jobs {
    graph: Graph,
}

/// A job's id, and what is kept of it.
pub type Known = (Tid, Job);

/// How much is kept.
#[derive(Clone, Copy, Default)]
struct Kept {
    jobs: usize,
    bytes: u64,
}

impl Kept {
    fn of<'a>(jobs: impl Iterator<Item = &'a Known>) -> Self {
        jobs.fold(Self::default(), |kept, (_, job)| Self {
            jobs: kept.jobs + 1,
            bytes: kept.bytes + job.bytes,
        })
    }

    /// Whether another job would be one too many, or there are too many bytes already.
    fn is_full(self, most: Self) -> bool {
        self.jobs >= most.jobs || self.bytes > most.bytes
    }
}

impl Graph {
    /// Its jobs.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        Jobs { graph: self.clone() }
    }
}

impl Jobs {
    /// Writes down that a job begins; a repeat of the operation answers what became of the first.
    ///
    /// # Errors
    /// `Unavailable` if there are too many jobs that run; those of storage.
    pub async fn begin(
        &self,
        user: Option<String>,
        roles: Vec<String>,
        authorisations: &Authorisations,
        chain: String,
        operation: Option<&Operation>,
    ) -> Result<(Known, bool)> {
        self.make_room(user.as_deref()).await?;
        let now_ms = self.now_ms();
        let job = Job {
            user,
            roles,
            auths: authorisations.iter().map(str::to_owned).collect(),
            chain,
            status: JobStatus::Running,
            started_ms: now_ms,
            ended_ms: None,
            believed_ms: now_ms + BELIEVED_FOR.as_millis() as u64,
            description: None,
            pieces: 0,
            bytes: 0,
        };
        let encoded = encode(&job)?;
        let committed = self.graph.bucket().commit(PARTITION, |draft| {
            let tid = draft.tid();
            draft.put(&place(tid), Previous::Absent, Value::open(&encoded))?;
            let change = Change {
                action: JOB_BEGUN.to_owned(),
                operation: operation.map(|operation| operation.id.clone()),
                sequence: operation.map_or(0, |operation| operation.sequence),
                user: job.user.clone(),
                after: serde_json::json!({"job": tid.to_string()}),
                ..Change::default()
            };
            draft.change(&change, b"", b"")?;
            match operation {
                Some(operation) => draft.remember(operation, b""),
                None => Ok(()),
            }
        });
        match committed.await? {
            Committed::Replayed { tid, .. } => {
                let gone = || Error::not_found("the job is no longer kept").with("job", tid);
                Ok(((tid, self.find(tid).await?.ok_or_else(gone)?), true))
            }
            committed => Ok(((committed.tid()?, job), false)),
        }
    }

    /// A job.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn find(&self, id: Tid) -> Result<Option<Job>> {
        let read = self.graph.bucket().read(&Authorisations::none(), PARTITION, &place(id)).await?;
        let job = read.map(|json| decode(&json)).transpose()?;
        Ok(job.map(|job| job.seen_at(self.now_ms())))
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn all(&self) -> Result<Vec<Known>> {
        let bucket = self.graph.bucket();
        let request = ScanRequest::partition(bucket.primary(), PARTITION);
        let mut cells = bucket.scan(&Authorisations::none(), request).await?;
        let (mut all, now_ms) = (Vec::new(), self.now_ms());
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter() {
                let damaged = || Error::corrupt("key of a job is damaged");
                let id = cell.sort().try_into().map_err(|_| damaged())?;
                let id = Tid::from_bytes(id).map_err(|bad| damaged().because(bad))?;
                all.push((id, decode(cell.payload())?.seen_at(now_ms)));
            }
        }
        Ok(all)
    }

    /// Says that a job still runs.
    ///
    /// # Errors
    /// `Conflict` if it does not any more; those of storage.
    pub async fn renew(&self, id: Tid) -> Result<()> {
        let believed_ms = self.now_ms() + BELIEVED_FOR.as_millis() as u64;
        self.change(id, |job| job.believed_ms = believed_ms).await
    }

    /// Writes down how a job ended: with so many pieces and bytes of results, or why not.
    ///
    /// # Errors
    /// `Conflict` if it had ended before; those of storage.
    pub async fn end(&self, id: Tid, outcome: Result<(u32, u64)>) -> Result<()> {
        let now_ms = self.now_ms();
        let ended = self.change(id, |job| {
            job.ended_ms = Some(now_ms);
            match &outcome {
                Ok((pieces, bytes)) => {
                    (job.status, job.pieces, job.bytes) = (JobStatus::Finished, *pieces, *bytes);
                }
                Err(error) => {
                    job.status = JobStatus::Failed;
                    job.description = Some(error.to_string());
                }
            }
        });
        let ended = ended.await;
        if outcome.is_err() || ended.is_err() {
            self.forget_pieces(id).await?;
        }
        ended
    }

    /// Changes what is kept of a job that runs.
    async fn change(&self, id: Tid, change: impl Fn(&mut Job) + Sync) -> Result<()> {
        let over = || Error::conflict("the job is over").with("job", id);
        let bucket = self.graph.bucket();
        for _ in 0..TRIES_MAX {
            let stored = bucket.stored(PARTITION, &place(id)).await?.ok_or_else(over)?;
            let mut job = decode(ValueRef::decode(&stored)?.payload)?;
            if job.status != JobStatus::Running {
                return Err(over());
            }
            change(&mut job);
            let encoded = encode(&job)?;
            let committed = bucket.commit(PARTITION, |draft| {
                draft.put(&place(id), Previous::Stored(&stored), Value::open(&encoded))
            });
            if matches!(committed.await?, Committed::Done(_)) {
                return Ok(());
            }
        }
        Err(Error::unavailable("the graph's jobs are too busy"))
    }

    /// Forgets jobs that were over long ago.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn tidy(&self) -> Result<()> {
        self.left().await.map(drop)
    }

    /// Forgets jobs that were over long ago, and answers the others.
    async fn left(&self) -> Result<Vec<Known>> {
        let now_ms = self.now_ms();
        let old = |job: &Job| {
            job.ended_ms.is_some_and(|ended| ended + KEPT_FOR.as_millis() as u64 <= now_ms)
        };
        let (gone, left): (Vec<_>, Vec<_>) =
            self.all().await?.into_iter().partition(|(_, job)| old(job));
        for (id, _) in gone {
            self.forget(id).await?;
        }
        Ok(left)
    }

    /// Makes room for another job of a user: of their own the oldest goes, and if all together are too many, the oldest
    /// of whoever has most.
    async fn make_room(&self, user: Option<&str>) -> Result<()> {
        let mut left = self.left().await?;
        loop {
            let of = |user: Option<&str>| {
                Kept::of(left.iter().filter(|(_, job)| job.user.as_deref() == user))
            };
            let owner = if of(user).is_full(ONES_MOST) {
                user
            } else if Kept::of(left.iter()).is_full(ALL_MOST) {
                let users = left.iter().map(|(_, job)| job.user.as_deref());
                users.max_by_key(|user| (of(*user).bytes, of(*user).jobs)).flatten()
            } else {
                return Ok(());
            };
            let over = |(_, job): &Known| job.ended_ms.is_some() && job.user.as_deref() == owner;
            let Some(oldest) = left.iter().position(over) else {
                return Err(Error::unavailable("too many jobs run"));
            };
            let (id, _) = left.remove(oldest);
            self.forget(id).await?;
        }
    }

    /// Forgets a job: what it gave, and then that it was.
    async fn forget(&self, id: Tid) -> Result<()> {
        self.forget_pieces(id).await?;
        let bucket = self.graph.bucket();
        let Some(stored) = bucket.stored(PARTITION, &place(id)).await? else { return Ok(()) };
        bucket.commit(PARTITION, |draft| draft.remove(&place(id), &stored)).await.map(drop)
    }

    fn now_ms(&self) -> u64 {
        self.graph.now_ms().max(0) as u64
    }
}

fn place(id: Tid) -> Vec<u8> {
    Parts::new().fixed(id.as_bytes()).into_bytes()
}

fn encode(job: &Job) -> Result<Vec<u8>> {
    serde_json::to_vec(job).map_err(|e| Error::internal("a job is not JSON").because(e))
}

fn decode(json: &[u8]) -> Result<Job> {
    serde_json::from_slice(json).map_err(|e| Error::corrupt("a job can't be read").because(e))
}
