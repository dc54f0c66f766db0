//! `/graph/jobs`: chains that run in the background, a few at once. What becomes of them is kept in the bucket; while one
//! runs, its server says so now and then, so that a job whose server died does not seem to run for ever.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use keyaki::bucket::graph::operation::Step;
use keyaki::bucket::graph::{BELIEVED_FOR, Jobs, SeenJobs};
use keyaki::catalog::Access;
use keyaki::cell::Tid;
use keyaki::{Error, Kind};
use serde_json::Value as Json;

use super::execute::{PATH as EXECUTE, Prepared, needs};
use crate::http::answer::{Representation, SESSION, value};
use crate::http::body::{self, Whole};
use crate::http::bounds::Held;
use crate::http::identify::refuse;
use crate::http::inside::{InBucket, Watch};
use crate::http::problem::Problem;
use crate::http::revisions::operation;
use crate::http::streams;
use crate::http::{Answer, App};

const PATH: &str = "/graph/jobs";

impl InBucket<'_> {
    /// `/graph/jobs`: begins one.
    pub(in crate::http) async fn start_job(&self, body: Body) -> Answer {
        let (app, principal) = (self.call.app, &self.call.principal);
        // What is kept is kept for somebody: whom nobody knows could only fill the place of others.
        if principal.user.is_none() {
            return Err(refuse(principal));
        }
        let place = app.bounds.job()?;
        let most = app.limits.body_bytes;
        let Whole { bytes, held } =
            body::read_json_bytes(&app.bounds, self.headers(), body, most).await?;
        app.check_digest(principal, self.call.parts, &bytes)?;
        let step = self.chain(bytes.clone()).await?;
        self.spend_signatures(&needs(&step)).await?;
        let parameters = digest(&SHA256, &bytes);
        let operation =
            operation(self.headers(), &self.caller, "job", PATH, &[parameters.as_ref()])?;
        let prepared = self.prepare(&step, &bytes)?;
        let jobs = self.graph()?.jobs();
        let (user, roles) = (principal.user.clone(), principal.roles.to_vec());
        let auths = &self.caller.authorisations;
        let begun = jobs.begin(user, roles, auths, step.overview(), operation.as_ref());
        let ((id, job), replayed) = begun.await?;
        if !replayed {
            let rights = [(Access::Write, step.writes()), (Access::Read, step.reads())];
            let watches = rights.into_iter().filter(|(_, wanted)| *wanted);
            let watches = watches.map(|(access, _)| self.watch(access, EXECUTE)).collect();
            let app = app.clone();
            let running = Running { app, jobs, id, watches, _held: (place, held) };
            tokio::spawn(running.run(step, prepared));
        }
        self.begun(id, &job.told(&id.to_string()), replayed)
    }

    fn begun(&self, id: Tid, told: &Json, replayed: bool) -> Answer {
        let (domain, bucket) = self.names;
        let mut response = Response::new(Body::from(told.to_string()));
        *response.status_mut() = StatusCode::CREATED;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::LOCATION, value(format!("/v1/{domain}/{bucket}{PATH}/{id}"))?);
        headers.insert("job-id", value(id.to_string())?);
        headers.insert(SESSION.clone(), value(id.to_string())?);
        if replayed {
            headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        Ok(response)
    }

    /// `/graph/jobs/schedule`: Gaffer would begin it again and again.
    pub(in crate::http) fn schedule_job(&self) -> Answer {
        self.graph()?;
        Err(Problem::bad_request(
            "jobs run once here, and can't be scheduled: begin them at /graph/jobs whenever they are due",
        ))
    }

    /// `/graph/jobs`: all that the caller may see.
    pub(in crate::http) async fn jobs(&self) -> Answer {
        self.wait_for_session().await?;
        let all = self.seen_jobs()?.all().await?;
        let told: Vec<_> = all.iter().map(|(id, job)| job.told(&id.to_string())).collect();
        Representation::json(None, &told).answer(self.call.parts)
    }

    /// `/graph/jobs/{id}`.
    pub(in crate::http) async fn job(&self, id: &str) -> Answer {
        self.wait_for_session().await?;
        let (id, job) = self.seen_jobs()?.find(id).await?;
        Representation::json(None, &job.told(&id.to_string())).answer(self.call.parts)
    }

    /// `/graph/jobs/{id}/results`, piece by piece.
    pub(in crate::http) async fn job_results(&self, id: &str) -> Answer {
        self.wait_for_session().await?;
        let seen = self.seen_jobs()?;
        let (id, job) = seen.finished(id).await?;
        let watch = self.watch(Access::Read, &format!("{PATH}/{id}/results"));
        let pieces = stream::try_unfold((seen, watch, 0), move |(seen, watch, next)| async move {
            if next == job.pieces {
                return Ok(None);
            }
            watch.look().await?;
            let piece = Bytes::from(seen.piece(id, next).await?);
            Ok::<_, Error>(Some((piece, (seen, watch, next + 1))))
        });
        streams::read(self.call.parts, "application/json", pieces)
    }

    pub(super) fn seen_jobs(&self) -> Result<SeenJobs, Problem> {
        let jobs = self.graph()?.jobs();
        Ok(jobs.seen_by(self.who()?, self.caller.authorisations.clone()))
    }
}

/// A job of this server.
struct Running {
    app: Arc<App>,
    jobs: Jobs,
    id: Tid,
    /// Of each right that its chain needs.
    watches: Vec<Watch>,
    /// A place among the jobs, and the room that its chain takes.
    _held: (Held, Held),
}

impl Running {
    async fn run(self, step: Step, prepared: Prepared) {
        let (app, jobs, id) = (self.app.clone(), self.jobs.clone(), self.id);
        let mut work = tokio::spawn(async move {
            let _turn = app.bounds.job_turn().await?;
            let running = prepared.start(&step).await?;
            jobs.keep_results(id, running.output).await
        });
        let mut ticks = tokio::time::interval(BELIEVED_FOR / 3);
        let outcome = loop {
            tokio::select! {
                done = &mut work => {
                    break done.unwrap_or_else(|_| Err(Error::internal("a job broke off")));
                }
                _ = ticks.tick() => match self.still_runs().await {
                    Ok(()) => continue,
                    Err(ended) => break Err(ended),
                },
                () = self.app.bounds.jobs_end() => {
                    break Err(Error::unavailable("the server was stopped"));
                }
            }
        };
        if !work.is_finished() {
            work.abort();
            // What it was just writing is written before it is forgotten.
            let _ = (&mut work).await;
        }
        let outcome = outcome.map_err(|error| match error.kind() {
            Kind::Internal | Kind::Corrupt => {
                tracing::error!(%error, job = %id, "a job failed");
                Error::internal("the job could not be done")
            }
            _ => error,
        });
        if let Err(error) = self.jobs.end(id, outcome).await {
            tracing::warn!(%error, job = %id, "how a job ended can't be written down");
        }
    }

    /// Says that it still runs, as long as its caller may have it run. What can't be said now is said next time.
    async fn still_runs(&self) -> keyaki::Result<()> {
        let said = async {
            for watch in &self.watches {
                watch.look().await?;
            }
            self.jobs.renew(self.id).await
        };
        match said.await {
            Err(error) if matches!(error.kind(), Kind::Forbidden | Kind::Conflict) => Err(error),
            Err(error) => {
                tracing::warn!(%error, job = %self.id, "a job can't be renewed yet");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}
