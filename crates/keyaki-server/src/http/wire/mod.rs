//! What stands between an HTTP/1 connection and hyper: it looks at every head, and at the frame of every body, before
//! hyper does. What could be read in two ways is refused, and refused with a problem, where hyper has but a bare 400.
//!
//! A refused head never reaches hyper. In its place comes a request of our own, which no caller can send, and the
//! service answers it with the problem: so refusals wait their turn behind pipelined requests, and close the connection.
//! A body whose frame breaks ends there, which its handler answers as it answers every body that ends early.

mod chunks;
mod head;
mod stall;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use self::chunks::Chunks;
use self::head::{Framing, Head};
pub use self::stall::Taking;
use super::problem::{self, Problem};

/// The method of the request that stands for a refused one.
pub const REFUSED: &str = "REFUSED";
const STAND_IN: &[u8] = b"REFUSED / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const READ_AT_ONCE: usize = 16 << 10;
/// Whoever is refused may still be sending. Closing at once would take the answer away from it.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 64 << 20;

/// How much of a head is too much.
#[derive(Debug, Clone, Copy)]
pub struct HeadLimits {
    pub target_bytes: usize,
    pub bytes: usize,
    pub fields: usize,
    pub within: Duration,
}

/// Where a refusal waits for its stand-in.
#[derive(Clone, Default)]
pub struct Refusal(Arc<Mutex<Option<Problem>>>);

impl Refusal {
    pub fn take(&self) -> Option<Problem> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, problem: Problem) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
    }
}

/// A connection that lets through what can be read in one way only.
pub struct Guard<S> {
    stream: S,
    limits: HeadLimits,
    refusal: Refusal,
    /// Read, and not given on.
    buffer: BytesMut,
    /// How many bytes of it may be given on.
    cleared: usize,
    state: State,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for the head that is awaited, and whether it does so since that began to arrive.
    waits: Waits,
    lingered: usize,
}

enum State {
    Head(Head),
    Length(u64),
    Chunks(Chunks),
    /// Nothing more is given on, for the stand-in was.
    Refused,
    /// Nothing more comes, or may come.
    Ended,
}

#[derive(PartialEq, Eq)]
enum Waits {
    Not,
    Idle,
    Begun,
}

impl<S> Guard<S> {
    pub fn new(stream: S, limits: HeadLimits, refusal: Refusal) -> Self {
        Self {
            stream,
            limits,
            refusal,
            buffer: BytesMut::new(),
            cleared: 0,
            state: State::Head(Head::default()),
            timer: Box::pin(tokio::time::sleep(limits.within)),
            waits: Waits::Not,
            lingered: 0,
        }
    }

    fn refuse(&mut self, problem: Problem) {
        self.refusal.set(problem);
        self.buffer.clear();
        self.buffer.extend_from_slice(STAND_IN);
        self.cleared = self.buffer.len();
        self.state = State::Refused;
    }

    /// Clears what can be cleared of the buffer. Answers whether anything came of it.
    fn examine(&mut self) -> bool {
        match &mut self.state {
            State::Head(head) => {
                if head.is_new() {
                    while self.buffer.starts_with(b"\r\n") {
                        self.buffer.advance(2);
                    }
                }
                match head.read(&self.buffer, &self.limits) {
                    Ok(None) => return false,
                    Err(problem) => self.refuse(problem),
                    Ok(Some((bytes, framing))) => {
                        self.cleared = bytes;
                        self.waits = Waits::Not;
                        self.state = State::after(framing);
                    }
                }
            }
            State::Length(left) => {
                self.cleared = usize::try_from(*left)
                    .map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
                *left -= self.cleared as u64;
                if *left == 0 {
                    self.state = State::Head(Head::default());
                }
            }
            State::Chunks(chunks) => {
                let taken = chunks.take(&self.buffer);
                self.cleared = taken.bytes;
                match taken.next {
                    chunks::Next::More => {}
                    chunks::Next::Done => self.state = State::Head(Head::default()),
                    chunks::Next::Broken => {
                        self.buffer.truncate(taken.bytes);
                        self.state = State::Ended;
                    }
                }
            }
            State::Refused | State::Ended => return false,
        }
        true
    }

    /// What comes of waiting for a head in vain.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waits = if self.buffer.is_empty() { Waits::Idle } else { Waits::Begun };
        // It runs from the beginning of the wait, and once more from the first byte.
        if self.waits == Waits::Not || (self.waits == Waits::Idle && waits == Waits::Begun) {
            let until = Instant::now() + self.limits.within;
            self.timer.as_mut().reset(until);
            self.waits = waits;
        }
        ready!(self.timer.as_mut().poll(cx));
        match self.buffer.is_empty() {
            true => self.state = State::Ended,
            false => {
                self.refuse(Problem::new(&problem::TIMEOUT, "the head did not arrive in time"))
            }
        }
        Poll::Ready(())
    }

    /// Nothing more will come.
    fn end(&mut self) {
        match (&self.state, self.buffer.is_empty()) {
            (State::Head(_), false) => self.refuse(Problem::bad_request("the head ended early")),
            _ => self.state = State::Ended,
        }
    }
}

impl State {
    fn after(framing: Framing) -> Self {
        match framing {
            Framing::Length(0) => Self::Head(Head::default()),
            Framing::Length(bytes) => Self::Length(bytes),
            Framing::Chunked => Self::Chunks(Chunks::default()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.cleared > 0 {
                let bytes = this.cleared.min(out.remaining());
                out.put_slice(&this.buffer[..bytes]);
                this.buffer.advance(bytes);
                this.cleared -= bytes;
                return Poll::Ready(Ok(()));
            }
            match &this.state {
                State::Ended => return Poll::Ready(Ok(())),
                // The stand-in closes the connection, so nobody waits for more.
                State::Refused => return Poll::Pending,
                _ => {}
            }
            if !this.buffer.is_empty() && this.examine() {
                continue;
            }
            this.buffer.reserve(READ_AT_ONCE);
            match poll_fill(&mut this.stream, cx, &mut this.buffer) {
                Poll::Ready(Ok(0)) => this.end(),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if matches!(this.state, State::Head(_)) => {
                    ready!(this.poll_patience(cx));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Reads whatever is there behind what is.
fn poll_fill(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    buffer: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    std::pin::pin!(stream.read_buf(buffer)).poll(cx)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Takes in for a while what somebody still sends whose request was not read to its end.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.lingered == 0 {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if matches!(this.state, State::Head(_) | State::Ended) {
                return Poll::Ready(Ok(()));
            }
            this.timer.as_mut().reset(Instant::now() + LINGER);
            this.lingered = 1;
        }
        while this.lingered < LINGER_BYTES_MAX && this.timer.as_mut().poll(cx).is_pending() {
            this.buffer.clear();
            this.buffer.reserve(READ_AT_ONCE);
            match ready!(poll_fill(&mut this.stream, cx, &mut this.buffer)) {
                Ok(0) | Err(_) => break,
                Ok(bytes) => this.lingered += bytes,
            }
        }
        Poll::Ready(Ok(()))
    }
}
