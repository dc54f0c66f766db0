//! Graphs over HTTP: elements in, vertices erased, chains of operations over them, at once or as jobs, and what Gaffer's clients ask about a graph.

mod config;
mod elements;
mod erase;
mod execute;
mod export;
mod jobs;

use std::sync::Arc;

use http::request::Parts;
use keyaki::bucket::graph::operation::{Budget, Limits, Who};
use keyaki::bucket::graph::{Graph, Writer};
use keyaki::catalog::{BucketKind, CostLimits};
use keyaki::store::Operation;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::inside::InBucket;
use super::path::Query;
use super::problem::Problem;

/// Tells a request whose caller has gone: nobody waits for its answer.
#[derive(Clone)]
pub struct Waiting(pub watch::Receiver<()>);

impl Waiting {
    /// Until nobody waits any more; for ever if that can't be known.
    async fn gone(parts: &Parts) {
        match parts.extensions.get::<Self>() {
            Some(Self(caller)) => while caller.clone().changed().await.is_ok() {},
            None => std::future::pending().await,
        }
    }
}

impl InBucket<'_> {
    fn graph(&self) -> Result<&Graph, Problem> {
        Ok(self.open.graph()?)
    }

    /// What the caller may have a request cost.
    fn limits(&self) -> Limits {
        match &self.entry.record.settings.kind {
            BucketKind::Graph(options) => options.limits_of(&self.call.principal.roles),
            BucketKind::Revisions(_) => CostLimits::DEFAULT,
        }
    }

    /// The same for this one, from now on.
    fn budget(&self) -> Arc<Budget> {
        Arc::new(Budget::new(self.limits(), self.call.app.clock.clone()))
    }

    /// The caller, as what is kept under names knows it.
    fn who(&self) -> Result<Who, Problem> {
        let principal = &self.call.principal;
        let (domain, entry) = self.call.find_bucket(self.names)?;
        Ok(Who {
            user: principal.user.clone(),
            roles: principal.roles.to_vec(),
            administers: entry.is_owned_by(domain, principal),
        })
    }

    /// Writes what its caller could read back.
    fn writer(&self, operation: Option<Operation>) -> Result<Writer, Problem> {
        let writer = self.graph()?.writer(self.caller.user.clone(), operation);
        Ok(writer.seen_by(self.caller.authorisations.clone()))
    }
}

/// A parameter that says yes or no.
fn flag(query: &Query, name: &str) -> Result<Option<bool>, Problem> {
    match query.get(name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Problem::bad_request("neither `true` nor `false`").with("parameter", name)),
    }
}

/// Does what takes long on a thread of its own, so that other requests don't wait for it.
#[expect(
    clippy::disallowed_methods,
    reason = "reading text is no engine's work, and may take long"
)]
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}
