//! What all requests together may hold: bytes of bodies in memory, on their way in or out, and streams that follow a
//! feed. Whoever finds no room is told to come back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use keyaki::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::config::Limits;

/// Room is given in pieces of so many bytes.
const PIECE_BYTES: usize = 4 << 10;

/// Bodies of elements that are taken in at once, with two threads for each.
const INGESTS: usize = 16;
/// Jobs that are begun and not over, and those of them that run at once; the others wait for their turn.
const JOBS: usize = 64;
const JOBS_AT_ONCE: usize = 4;

/// What is left.
pub struct Bounds {
    pieces: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    ingests: Arc<Semaphore>,
    jobs: Arc<Semaphore>,
    job_turns: Arc<Semaphore>,
    /// Whether jobs are to end.
    jobs_end: watch::Sender<bool>,
}

/// Room that is given back when this goes.
pub struct Held(OwnedSemaphorePermit);

impl Bounds {
    pub fn new(limits: &Limits) -> Self {
        let pieces = limits.bodies_bytes.div_ceil(PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Self {
            pieces: Arc::new(Semaphore::new(pieces)),
            streams: Arc::new(Semaphore::new(limits.event_streams.min(Semaphore::MAX_PERMITS))),
            ingests: Arc::new(Semaphore::new(INGESTS)),
            jobs: Arc::new(Semaphore::new(JOBS)),
            job_turns: Arc::new(Semaphore::new(JOBS_AT_ONCE)),
            jobs_end: watch::Sender::new(false),
        }
    }

    /// Room for so many bytes.
    ///
    /// # Errors
    /// `Unavailable` if there is none.
    pub fn hold(&self, bytes: u64) -> Result<Held> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE_BYTES as u64)).unwrap_or(u32::MAX);
        let held = self.pieces.clone().try_acquire_many_owned(pieces);
        held.map(Held).map_err(|_| Error::unavailable("too much content is on its way"))
    }

    /// A turn to take in a large body with threads of its own; others wait for theirs.
    ///
    /// # Errors
    /// `Unavailable` if there will be none.
    pub async fn ingest(&self) -> Result<Held> {
        let held = self.ingests.clone().acquire_owned().await;
        held.map(Held).map_err(|_| Error::unavailable("the server takes in no more"))
    }

    /// A place among the jobs.
    ///
    /// # Errors
    /// `Unavailable` if there is none.
    pub fn job(&self) -> Result<Held> {
        if *self.jobs_end.borrow() {
            return Err(Error::unavailable("the server runs no more jobs"));
        }
        let held = self.jobs.clone().try_acquire_owned();
        held.map(Held).map_err(|_| Error::unavailable("too many jobs wait for their turn"))
    }

    /// A turn to run a job.
    ///
    /// # Errors
    /// `Unavailable` if there will be none.
    pub async fn job_turn(&self) -> Result<Held> {
        let held = self.job_turns.clone().acquire_owned().await;
        held.map(Held).map_err(|_| Error::unavailable("the server runs no more jobs"))
    }

    /// Until jobs are to end.
    pub async fn jobs_end(&self) {
        // The sender is here, so this waits for nothing else.
        let _ = self.jobs_end.subscribe().wait_for(|end| *end).await;
    }

    /// Has all jobs end, and waits until how they ended is written down; answers whether it is.
    pub async fn end_jobs(&self, within: Duration) -> bool {
        self.jobs_end.send_replace(true);
        let all = self.jobs.acquire_many(JOBS as u32);
        tokio::time::timeout(within, all).await.is_ok()
    }

    /// A place among the streams.
    ///
    /// # Errors
    /// `Unavailable` if there is none.
    pub fn stream(&self) -> Result<Held> {
        let held = self.streams.clone().try_acquire_owned();
        held.map(Held).map_err(|_| Error::unavailable("too many streams are open"))
    }
}

impl Held {
    /// Makes it so large, if it is not.
    pub fn grow(&mut self, bounds: &Bounds, bytes: usize) -> Result<()> {
        let has = self.0.num_permits() * PIECE_BYTES;
        if bytes > has {
            self.0.merge(bounds.hold((bytes - has) as u64)?.0);
        }
        Ok(())
    }

    /// A body that keeps it until it is sent.
    pub fn until_sent(self, body: Body) -> Body {
        Body::new(Holding { body, _held: self })
    }
}

struct Holding {
    body: Body,
    _held: Held,
}

impl http_body::Body for Holding {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_shared_and_given_back() {
        let limits = Limits { bodies_bytes: 10 * PIECE_BYTES, ..Limits::default() };
        let bounds = Bounds::new(&limits);
        let mut one = bounds.hold(1).unwrap();
        let other = bounds.hold(8 * PIECE_BYTES as u64).unwrap();
        assert!(one.grow(&bounds, PIECE_BYTES).is_ok(), "it has that already");
        assert!(one.grow(&bounds, 3 * PIECE_BYTES).is_err());
        drop(other);
        assert!(one.grow(&bounds, 3 * PIECE_BYTES).is_ok());
        assert!(bounds.hold(8 * PIECE_BYTES as u64).is_err());
        assert!(bounds.hold(u64::MAX).is_err());
        drop(one);
        assert!(bounds.hold(10 * PIECE_BYTES as u64).is_ok());
    }
}
