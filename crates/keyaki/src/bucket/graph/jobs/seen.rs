//! Jobs as somebody may see them: their own, and all if they administer the graph. What a job gave is for its user
//! alone, and only with all the authorisations that it saw with.

use async_trait::async_trait;
use serde_json::Value as Json;

use super::{Job, JobStatus, Jobs, Known};
use crate::bucket::graph::json::read_json;
use crate::bucket::graph::operation::{Background, Who};
use crate::cell::Tid;
use crate::cell::visibility::Authorisations;
use crate::error::{Error, Result};

/// Results that an operation may get; larger ones are streamed by other means.
const READ_BYTES_MAX: u64 = 8 << 20;

/// The jobs of a graph, for somebody who asks.
pub struct SeenJobs {
    jobs: Jobs,
    who: Who,
    authorisations: Authorisations,
}

impl Jobs {
    /// The jobs that somebody may see.
    #[must_use]
    pub fn seen_by(self, who: Who, authorisations: Authorisations) -> SeenJobs {
        SeenJobs { jobs: self, who, authorisations }
    }
}

impl SeenJobs {
    /// One of them, by what its id is called.
    ///
    /// # Errors
    /// `NotFound` if there is none, or none of theirs; those of storage.
    pub async fn find(&self, id: &str) -> Result<Known> {
        let absent = || Error::not_found("there is no such job").with("job", id);
        let tid: Tid = id.parse().map_err(|_| absent())?;
        let job = self.jobs.find(tid).await?.filter(|job| self.sees(job));
        Ok((tid, job.ok_or_else(absent)?))
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn all(&self) -> Result<Vec<Known>> {
        let mut all = self.jobs.all().await?;
        all.retain(|(_, job)| self.sees(job));
        Ok(all)
    }

    /// One of them whose results they may have.
    ///
    /// # Errors
    /// `NotFound` if it has none, or none for them; those of storage.
    pub async fn finished(&self, id: &str) -> Result<Known> {
        let (tid, job) = self.find(id).await?;
        let none = |why| Err(Error::not_found(why).with("job", id));
        match job.status {
            JobStatus::Running => none("the job still runs"),
            JobStatus::Failed => none("the job has failed"),
            JobStatus::Finished if job.user != self.who.user => none("the job is another's"),
            JobStatus::Finished if !job.shows_no_more_than(&self.authorisations) => {
                none("the job saw with more authorisations")
            }
            JobStatus::Finished => Ok((tid, job)),
        }
    }

    /// A piece of what a job gave.
    ///
    /// # Errors
    /// `NotFound` if it is no longer there; those of storage.
    pub async fn piece(&self, id: Tid, number: u32) -> Result<Vec<u8>> {
        let gone = || Error::not_found("the job is no longer kept").with("job", id);
        self.jobs.piece(id, number).await?.ok_or_else(gone)
    }

    fn sees(&self, job: &Job) -> bool {
        self.who.administers || job.user == self.who.user
    }
}

#[async_trait]
impl Background for SeenJobs {
    async fn job(&self, id: &str) -> Result<Json> {
        self.find(id).await.map(|(id, job)| job.told(&id.to_string()))
    }

    async fn jobs(&self) -> Result<Vec<Json>> {
        let all = self.all().await?;
        Ok(all.iter().map(|(id, job)| job.told(&id.to_string())).collect())
    }

    async fn results(&self, id: &str) -> Result<Json> {
        let (tid, job) = self.finished(id).await?;
        if job.bytes > READ_BYTES_MAX {
            return Err(Error::invalid("the results are too large for an operation")
                .with("most", READ_BYTES_MAX));
        }
        let mut whole = Vec::new();
        for number in 0..job.pieces {
            whole.extend(self.piece(tid, number).await?);
        }
        read_json(&whole)
    }
}
