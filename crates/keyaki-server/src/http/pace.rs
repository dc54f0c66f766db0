//! How fast the other end of an HTTP/2 connection is. Its streams have windows of their own, so that an answer can wait
//! for ever on a connection that moves; and it may stay without asking for anything. Neither is waited for too long.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// An answer is handed over in pieces of this size: what was not taken is still ours to count.
const PIECE_BYTES: usize = 64 << 10;
const LOOKS_APART: Duration = Duration::from_secs(5);

/// How long is too long.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection that asks for nothing.
    pub idle: Duration,
    /// For an answer of which nothing is taken.
    pub stalled: Duration,
}

/// What is going on on a connection.
pub struct Pace {
    open: Mutex<Open>,
}

struct Open {
    answers: usize,
    /// When the last of them ended, or the connection began.
    idle_since: Instant,
    /// Answers of which a piece was given, and no other asked for.
    given: HashMap<u64, Instant>,
    next: u64,
}

impl Pace {
    pub fn new() -> Arc<Self> {
        let (idle_since, given) = (Instant::now(), HashMap::new());
        Arc::new(Self { open: Mutex::new(Open { answers: 0, idle_since, given, next: 0 }) })
    }

    /// An answer is being made, and sent.
    pub fn begin(self: &Arc<Self>) -> Answering {
        let mut open = self.open();
        open.answers += 1;
        open.next += 1;
        Answering { pace: self.clone(), id: open.next }
    }

    /// Comes back once the connection is not worth waiting for.
    pub async fn until_over(&self, patience: Patience) {
        loop {
            tokio::time::sleep(LOOKS_APART.min(patience.idle)).await;
            let open = self.open();
            let is_idle = open.answers == 0 && open.idle_since.elapsed() > patience.idle;
            if is_idle || open.given.values().any(|given| given.elapsed() > patience.stalled) {
                return;
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer on its way.
pub struct Answering {
    pace: Arc<Pace>,
    id: u64,
}

impl Answering {
    /// The answer, which lasts until it is sent.
    pub fn until_sent(self, response: Response) -> Response {
        response.map(|body| Body::new(Paced { body, rest: Bytes::new(), answering: self }))
    }

    fn is_given(&self) {
        self.pace.open().given.insert(self.id, Instant::now());
    }

    fn is_asked_for(&self) {
        self.pace.open().given.remove(&self.id);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut open = self.pace.open();
        open.given.remove(&self.id);
        open.answers -= 1;
        open.idle_since = Instant::now();
    }
}

struct Paced {
    body: Body,
    /// Of the last frame, what was not given yet.
    rest: Bytes,
    answering: Answering,
}

impl http_body::Body for Paced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.answering.is_asked_for();
        if self.rest.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => return other,
            };
            match frame.into_data() {
                Ok(bytes) => self.rest = bytes,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let length = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(length);
        self.answering.is_given();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut both = SizeHint::new();
        both.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            both.set_upper(upper + rest);
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;
    use http_body_util::BodyExt;

    const PATIENCE: Patience =
        Patience { idle: Duration::from_millis(100), stalled: Duration::from_millis(300) };

    async fn is_over(pace: &Pace) -> bool {
        let looked = Duration::from_millis(800);
        tokio::time::timeout(looked, pace.until_over(PATIENCE)).await.is_ok()
    }

    #[tokio::test]
    async fn whoever_takes_its_answers_is_waited_for() {
        let pace = Pace::new();
        assert!(is_over(&pace).await, "nothing is asked for");
        let making = pace.begin();
        assert!(!is_over(&pace).await, "an answer may take long to make");
        let bytes = Bytes::from(vec![7; 3 * PIECE_BYTES + 1]);
        let mut response = making.until_sent(Response::new(Body::from(bytes.clone())));
        let body = response.body_mut();
        assert_eq!(body.size_hint().exact(), Some(bytes.len() as u64));
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.len(), PIECE_BYTES);
        assert!(is_over(&pace).await, "a piece was given, and no other asked for");
        let rest = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!([first, rest].concat(), bytes);
        assert_eq!(pace.open().answers, 0);
    }
}
