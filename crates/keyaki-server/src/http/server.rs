//! Connections: so many at once, none that dawdles, TLS if configured, and an orderly end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Request, Version};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::App;
use super::graph::Waiting;
use super::pace::{Pace, Patience};
use super::problem::{self, Problem};
use super::to_the_end::ToTheEnd;
use super::wire::{Guard, HeadLimits, REFUSED, Refusal, Taking};

/// How long the other end may take nothing of what is written to it.
const TAKES_WITHIN: Duration = Duration::from_secs(60);
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// What is in flight may take so long to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const HEADERS_MAX: usize = 100;
const HEADER_BYTES_MAX: usize = 64 << 10;
/// What tells how the server is.
const WATCHED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
const HTTP2_BEGINS: &[u8; 4] = b"PRI ";
const HTTP2_STREAMS_MAX: u32 = 128;
/// Heads of HTTP/2 up to this size are read, so that what is too large can be refused with a problem. What is larger still
/// ends its stream, or the connection.
const HTTP2_HEADER_BYTES_READ: u32 = 4 * HEADER_BYTES_MAX as u32;
/// What HTTP/2 counts for a field, besides name and value.
const HTTP2_FIELD_BYTES: usize = 32;
/// Of what was given to a stream and not taken.
const HTTP2_UNSENT_BYTES_MAX: usize = 128 << 10;
/// A connection of HTTP/2 may stay so long without asking for anything.
const HTTP2_IDLE: Duration = Duration::from_secs(60);
const PATIENCE: Patience = Patience { idle: HTTP2_IDLE, stalled: TAKES_WITHIN };

/// Listens, and answers.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Server {
    pub async fn bind(app: Arc<App>, listen: &str, tls: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        Ok(Self { app, listener, tls })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Until `stop`; then what is in flight is finished.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let connections = Arc::new(Semaphore::new(self.app.limits.connections));
        let graceful = GracefulShutdown::new();
        let (stopping, _) = watch::channel(());
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = async {
                let room = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
                self.listener.accept().await.map(|(stream, _)| (room, stream))
            };
            let accepted = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            let (room, stream) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, say: it passes.
                    tracing::warn!(%error, "a connection can't be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (app, tls) = (self.app.clone(), self.tls.clone());
            let end = End { watcher: graceful.watcher(), stopped: stopping.subscribe() };
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                let _counted = app.metrics.connections.enter();
                match tls {
                    None => serve_plain(app, stream, end).await,
                    Some(tls) => serve_tls(app, stream, tls, end).await,
                }
                drop(room);
            });
        }
        self.app.ready.store(false, Relaxed);
        drop((self.listener, stopping));
        let connections_end = tokio::time::timeout(ENDS_WITHIN, graceful.shutdown());
        let jobs_end = self.app.bounds.end_jobs(ENDS_WITHIN);
        let (connections_end, jobs_end) = tokio::join!(connections_end, jobs_end);
        if connections_end.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        if !jobs_end {
            tracing::warn!("some jobs did not end in time");
        }
    }
}

type Watcher = hyper_util::server::graceful::Watcher;

/// How a connection hears that the server stops.
struct End {
    watcher: Watcher,
    stopped: watch::Receiver<()>,
}

impl End {
    /// Whoever has asked for nothing yet is not waited for.
    async fn cuts_short<T>(&mut self, begins: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            begun = begins => Some(begun),
            _ = self.stopped.changed() => None,
        }
    }
}

/// Looks which protocol it is first, for so long and no longer.
async fn serve_plain(app: Arc<App>, stream: TcpStream, mut end: End) {
    let within = Duration::from_secs(app.limits.head_seconds);
    let sniffed = tokio::time::timeout(within, speaks_http2(&stream));
    match end.cuts_short(sniffed).await {
        Some(Ok(Ok(http2))) => serve(app, stream, http2, end.watcher).await,
        Some(Ok(Err(error))) => tracing::debug!(%error, "a connection ended early"),
        Some(Err(_)) | None => tracing::debug!("a connection said nothing"),
    }
}

async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; HTTP2_BEGINS.len()];
    loop {
        let there = stream.peek(&mut first).await?;
        let differs = first[..there] != HTTP2_BEGINS[..there];
        if there == 0 || differs || there == first.len() {
            return Ok(!differs && there > 0);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn serve_tls(app: Arc<App>, stream: TcpStream, tls: TlsAcceptor, mut end: End) {
    let handshake = tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream));
    match end.cuts_short(handshake).await {
        Some(Ok(Ok(stream))) => {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            serve(app, stream, http2, end.watcher).await;
        }
        Some(Ok(Err(error))) => tracing::debug!(%error, "a TLS handshake failed"),
        Some(Err(_)) | None => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn serve<S>(app: Arc<App>, stream: S, http2: bool, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = HeadLimits {
        target_bytes: app.limits.uri_bytes,
        bytes: HEADER_BYTES_MAX,
        fields: HEADERS_MAX,
        within: Duration::from_secs(app.limits.head_seconds),
    };
    let refusal = Refusal::default();
    let stream = Taking::new(stream, TAKES_WITHIN);
    match http2 {
        true => {
            let pace = Pace::new();
            let asked = Asked { app, refusal, pace: Some(pace.clone()) };
            tokio::select! {
                () = converse_2(asked, stream, watcher) => {}
                () = pace.until_over(PATIENCE) => {
                    tracing::debug!("a connection takes part no more");
                }
            }
        }
        false => {
            let guard = Guard::new(stream, limits, refusal.clone());
            converse_1(Asked { app, refusal, pace: None }, guard, watcher).await;
        }
    }
}

/// What the requests of a connection need.
struct Asked {
    app: Arc<App>,
    refusal: Refusal,
    /// Of HTTP/2; the guard has an eye on others.
    pace: Option<Arc<Pace>>,
}

impl Asked {
    /// What hyper asks.
    fn service(
        self,
    ) -> impl Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send + 'static>
    {
        let asked = Arc::new(self);
        service_fn(move |request: Request<Incoming>| {
            let asked = asked.clone();
            async move { Ok::<_, Infallible>(asked.answer(request.map(body)).await) }
        })
    }

    async fn answer(&self, request: Request<Body>) -> Response {
        match self.pace.as_ref().map(Pace::begin) {
            Some(answering) => answering.until_sent(self.respond(request).await),
            None => self.respond(request).await,
        }
    }

    /// What the guard looks at before a request of HTTP/1 is read.
    fn check_head(&self, request: &Request<Body>) -> Result<(), Problem> {
        if request.version() != Version::HTTP_2 {
            return Ok(());
        }
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        if target.len() > self.app.limits.uri_bytes {
            return Err(Problem::new(&problem::URI_TOO_LONG, "the address is too long"));
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Problem::bad_request("the target is no address").with("at", "head"));
        }
        let fields = request.headers();
        let bytes = |(name, value): (&HeaderName, &HeaderValue)| {
            name.as_str().len() + value.len() + HTTP2_FIELD_BYTES
        };
        let all = target.len() + fields.iter().map(bytes).sum::<usize>();
        match fields.len() > HEADERS_MAX || all > HEADER_BYTES_MAX {
            true => Err(Problem::new(
                &problem::HEADERS_TOO_LARGE,
                "there are too many header fields, or they are too large",
            )),
            false => Ok(()),
        }
    }

    async fn respond(&self, mut request: Request<Body>) -> Response {
        let app = self.app.clone();
        if request.method().as_str() == REFUSED
            && let Some(problem) = self.refusal.take()
        {
            tracing::info!(?problem, "refused");
            return app.refuse(request, "refused", problem);
        }
        if let Err(problem) = self.check_head(&request) {
            return app.refuse(request, "refused", problem);
        }
        // Whoever looks after the server is answered also when it has its hands full.
        let (going, reads) = (&app.metrics.requests, super::is_read(request.method()));
        let watched = || WATCHED.contains(&request.uri().path()).then(|| going.enter());
        let Some(entered) = going.enter_below(app.limits.requests).or_else(watched) else {
            let busy = Problem::busy("too many requests are being answered");
            return app.refuse(request, "busy", busy);
        };
        // Gone with this future: whatever need not be finished can find out.
        let _waits = (!reads).then(|| {
            let (waits, waiting) = watch::channel(());
            request.extensions_mut().insert(Waiting(waiting));
            waits
        });
        // On the heap: a future of its size is not to be moved from hand to hand.
        let answering = Box::pin(async move {
            let _entered = entered;
            app.answer(request).await
        });
        if reads {
            return answering.await;
        }
        // A change that was begun is finished, whether or not the caller waits for it.
        ToTheEnd::new(answering).await
    }
}

/// What most requests bring is nothing, and nothing takes no room.
fn body(incoming: Incoming) -> Body {
    match incoming.is_end_stream() {
        true => Body::empty(),
        false => Body::new(incoming),
    }
}

/// HTTP/1. The guard has looked at heads, and at how long they take; hyper has the last word, which is never needed. It
/// reads only what it needs next, and lets callers who have said all end their half.
async fn converse_1<S>(asked: Asked, stream: S, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .half_close(true)
        // No more than 100 headers, as hyper has it by default: a limit of our own would cost an allocation each time.
        .max_buf_size(2 * HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), asked.service());
    tell_early_end(watcher.watch(connection).await);
}

/// HTTP/2.
async fn converse_2<S>(asked: Asked, stream: S, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .max_header_list_size(HTTP2_HEADER_BYTES_READ)
        .max_send_buf_size(HTTP2_UNSENT_BYTES_MAX)
        .keep_alive_interval(Duration::from_secs(20))
        .serve_connection(TokioIo::new(stream), asked.service());
    tell_early_end(watcher.watch(connection).await);
}

fn tell_early_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
