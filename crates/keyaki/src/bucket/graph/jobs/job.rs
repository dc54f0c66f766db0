//! A job: whose it is, what it runs, and what became of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::bucket::graph::operation::{Operation, Step};
use crate::cell::visibility::Authorisations;

/// What Gaffer calls a user whom nobody knows.
const UNKNOWN: &str = "UNKNOWN";

/// How a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobStatus {
    /// It runs, or waits for its turn.
    Running,
    /// It ran to its end; its results are kept.
    Finished,
    /// It did not.
    Failed,
}

/// What is kept of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Whose it is; none if nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The roles that it runs with.
    pub roles: Vec<String>,
    /// The authorisations that it sees with.
    pub auths: Vec<String>,
    /// The operations of its chain, in short.
    pub chain: String,
    /// How it is.
    pub status: JobStatus,
    /// When it was asked for, in milliseconds.
    pub started_ms: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// Until when whoever runs it is believed to be there.
    pub believed_ms: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pieces of its results.
    #[serde(default)]
    pub pieces: u32,
    /// Bytes of its results.
    #[serde(default)]
    pub bytes: u64,
}

impl Job {
    /// As it looks by now: whoever ran it and has not been heard of is gone.
    #[must_use]
    pub fn seen_at(mut self, now_ms: u64) -> Self {
        if self.status == JobStatus::Running && self.believed_ms < now_ms {
            self.status = JobStatus::Failed;
            self.ended_ms = Some(self.believed_ms);
            self.description = Some("the server that ran it has gone".to_owned());
        }
        self
    }

    /// Whether somebody with these authorisations could have asked for the same.
    #[must_use]
    pub fn shows_no_more_than(&self, authorisations: &Authorisations) -> bool {
        self.auths.iter().all(|term| authorisations.contains(term))
    }

    /// As Gaffer tells it.
    #[must_use]
    pub fn told(&self, id: &str) -> Json {
        let user = self.user.as_deref().unwrap_or(UNKNOWN);
        let mut told = Map::new();
        told.insert("jobId".to_owned(), json!(id));
        let user = json!({"userId": user, "dataAuths": self.auths, "opAuths": self.roles});
        told.insert("user".to_owned(), user);
        told.insert("status".to_owned(), json!(self.status));
        told.insert("startTime".to_owned(), json!(self.started_ms));
        if let Some(ended_ms) = self.ended_ms {
            told.insert("endTime".to_owned(), json!(ended_ms));
        }
        told.insert("opChain".to_owned(), json!(self.chain));
        if let Some(description) = &self.description {
            told.insert("description".to_owned(), json!(description));
        }
        Json::Object(told)
    }
}

impl Step {
    /// The operations of a chain in short, as Gaffer puts it.
    #[must_use]
    pub fn overview(&self) -> String {
        let short = |step: &Self| crate::bucket::graph::value::short_name(&step.class).to_owned();
        let is_chain = short(self).starts_with("OperationChain");
        let names = match &self.operation {
            Operation::Chain(steps) if is_chain => steps.iter().map(short).collect(),
            _ => vec![short(self)],
        };
        format!("OperationChain[{}]", names.join("->"))
    }
}
