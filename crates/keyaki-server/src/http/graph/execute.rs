//! `/graph/operations/execute`: chains of operations. What a chain streams is sent as it is read, in bounded memory; what
//! goes wrong before the first piece is a problem, and what does later ends the answer without its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderValue, StatusCode, header};
use keyaki::bucket::graph::json::read_operation;
use keyaki::bucket::graph::operation::{
    Budget, Executor, KnownNames, Limits, NoNames, Output, Step, mentioned,
};
use keyaki::bucket::graph::{Graph, NameBook, SeenJobs, Writer};
use keyaki::catalog::Access;
use keyaki::cell::WallClock;
use keyaki::cell::visibility::Authorisations;

use super::{Waiting, aside, flag};
use crate::http::Answer;
use crate::http::answer::{Codings, SESSION, value};
use crate::http::body::{self, Whole};
use crate::http::inside::{InBucket, Watch};
use crate::http::path::Query;
use crate::http::problem::{self, Problem};
use crate::http::revisions::operation;
use crate::http::shapes::Explained;

pub(super) const PATH: &str = "/graph/operations/execute";
/// Larger chains are read on a thread of their own.
const READ_ASIDE_FROM: usize = 64 << 10;

/// How often names are looked up for one chain, and how many it may speak of.
const LOOKS_MAX: usize = 8;
const NAMES_MAX: usize = 1000;

const JSON: &str = "application/json";
/// An answer that is no longer is known whole before it begins.
const FIRST_BYTES: usize = 256 << 10;

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One JSON document.
    Document,
    /// A line for each.
    Lines,
}

/// A chain that is running.
pub(super) struct Running {
    pub budget: Arc<Budget>,
    pub output: Output,
    pub writer: Option<Arc<Writer>>,
}

impl InBucket<'_> {
    /// `/graph/operations/execute`.
    pub(in crate::http) async fn execute(&self, query: Query, body: Body) -> Answer {
        self.answer_chain(query, body, Shape::Document).await
    }

    /// `/graph/operations/execute/chunked`.
    pub(in crate::http) async fn execute_chunked(&self, query: Query, body: Body) -> Answer {
        self.answer_chain(query, body, Shape::Lines).await
    }

    async fn answer_chain(&self, query: Query, body: Body, shape: Shape) -> Answer {
        let explain = flag(&query, "explain")?.unwrap_or(false);
        let codings = Codings::accepted(self.headers())?;
        let app = self.call.app;
        let most = app.limits.body_bytes;
        let Whole { bytes, held: _held } =
            body::read_json_bytes(&app.bounds, self.headers(), body, most).await?;
        app.check_digest(&self.call.principal, self.call.parts, &bytes)?;
        let step = self.chain(bytes.clone()).await?;
        self.wait_for_session().await?;
        if step.writes() {
            self.spend_signatures(&needs(&step)).await?;
        }
        let work = async {
            let running = self.run(&step, &bytes).await?;
            match explain {
                true => self.explained(running).await,
                false => self.first_piece(running, shape, &codings).await,
            }
        };
        if step.writes() {
            return work.await;
        }
        // Nobody waits for what only reads once its caller has gone.
        tokio::select! {
            answer = work => answer,
            () = Waiting::gone(self.call.parts) => Err(Problem::bad_request("the caller has gone")),
        }
    }

    /// Reads a chain, and finds out whether the caller may run it.
    pub(super) async fn chain(&self, text: Bytes) -> Result<Step, Problem> {
        let step = self.read_chain(text).await?;
        for (access, path) in needs(&step) {
            self.demand(access, path)?;
        }
        Ok(step)
    }

    /// Reads a chain; what it says of names is looked up between two looks at it.
    async fn read_chain(&self, text: Bytes) -> Result<Step, Problem> {
        let large = text.len() >= READ_ASIDE_FROM;
        let schema = self.graph()?.schema().clone();
        let read = move || {
            let json = read_operation(&text)?;
            let speaks_of_names = str::from_utf8(&text).is_ok_and(|text| text.contains("Named"));
            let names = if speaks_of_names { mentioned(&json) } else { BTreeSet::new() };
            match names.is_empty() {
                true => Step::from_json(&json, &schema, &NoNames).map(|step| (Err(step), names)),
                false => Ok((Ok(json), names)),
            }
        };
        let (read, mut names) = reading(large, read).await?.map_err(unread)?;
        let mut json = match read {
            Ok(json) => json,
            Err(step) => return Ok(step),
        };
        if names.len() > NAMES_MAX {
            return Err(Problem::bad_request("the chain speaks of too many names"));
        }
        let book = self.graph()?.names(self.who()?);
        let mut known = KnownNames::default();
        let mut rounds = 0..LOOKS_MAX;
        loop {
            // Views that a named operation speaks of are known only once it is filled in.
            let any = book.learn(&mut known, names).await?;
            let schema = self.graph()?.schema().clone();
            let read = move || {
                let step = Step::from_json(&json, &schema, &known);
                (json, known, step)
            };
            let (again, then, step) = reading(large, read).await?;
            (json, known) = (again, then);
            names = known.missed();
            if step.is_ok() || !any || names.is_empty() || rounds.next().is_none() {
                return step.map_err(unread);
            }
        }
    }

    async fn run(&self, step: &Step, text: &[u8]) -> Result<Running, Problem> {
        Ok(self.prepare(step, text)?.start(step).await?)
    }

    /// All that a chain needs, whether its request lasts or not.
    pub(super) fn prepare(&self, step: &Step, text: &[u8]) -> Result<Prepared, Problem> {
        let graph = self.graph()?.clone();
        let mut names = graph.names(self.who()?);
        let mut writer = None;
        if step.writes() {
            let parameters = digest(&SHA256, text);
            let operation =
                operation(self.headers(), &self.caller, "chain", PATH, &[parameters.as_ref()])?;
            let sink = Arc::new(self.writer(operation)?);
            names = names.changed_by(sink.clone());
            writer = Some(sink);
        }
        Ok(Prepared {
            graph,
            limits: self.limits(),
            clock: self.call.app.clock.clone(),
            authorisations: self.caller.authorisations.clone(),
            names,
            jobs: self.seen_jobs()?,
            writer,
            identity: (self.names.1.to_owned(), self.entry.made().time().micros() / 1000),
        })
    }

    async fn explained(&self, running: Running) -> Answer {
        let Running { budget, mut output, .. } = running;
        let (mut started, mut piece) = (false, Vec::new());
        while output.write_json(&mut started, &mut piece).await? {
            piece.clear();
        }
        let schema = self.graph()?.schema();
        let named = |(group, cells)| {
            let name = schema.group_by_id(group).map_or("", |group| group.name());
            (name.to_owned(), cells)
        };
        let groups: BTreeMap<String, u64> =
            budget.cells_by_group().into_iter().map(named).collect();
        let now_ms = self.call.app.clock.now_us() / 1000;
        let explained = Explained {
            operations: budget.operations_run(),
            results: budget.results_given(),
            scanned: groups.values().sum(),
            groups,
            time_ms: now_ms.saturating_sub(budget.now_ms() as u64),
        };
        let bytes = serde_json::to_vec(&explained).expect("what is explained is JSON");
        Ok((StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], bytes).into_response())
    }

    /// The answer, once it is known how it begins.
    async fn first_piece(&self, running: Running, shape: Shape, codings: &Codings) -> Answer {
        let Running { output, writer, budget: _budget } = running;
        let mut pieces = Pieces { output, shape, started: false, over: false };
        let first = pieces.first().await?;
        let mut response = match first {
            None => Response::new(Body::empty()),
            Some(first) if pieces.over && !codings.choose_gzip(JSON, first.len()) => {
                let mut whole = Response::new(Body::from(first));
                whole.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
                whole
            }
            Some(first) => {
                codings.stream(JSON, pieces.stream(first, self.watch(Access::Read, PATH)))
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            "gaffer-media-type",
            HeaderValue::from_static("application/vnd.gaffer.v2+json"),
        );
        if let Some(done) = writer.map(|writer| writer.done()) {
            if let Some(tid) = done.tid {
                headers.insert(SESSION.clone(), value(tid.to_string())?);
            }
            if done.chunks > 0 && done.chunks == done.replayed {
                headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
            }
        }
        Ok(response)
    }
}

/// The rights that a chain needs.
pub(super) fn needs(step: &Step) -> Vec<(Access, &'static str)> {
    let wanted = [(Access::Write, step.writes()), (Access::Read, step.reads())];
    wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(access, _)| (access, PATH)).collect()
}

/// A chain's caller, with all that the chain may use.
pub(super) struct Prepared {
    graph: Graph,
    limits: Limits,
    clock: Arc<dyn WallClock>,
    authorisations: Authorisations,
    names: NameBook,
    jobs: SeenJobs,
    writer: Option<Arc<Writer>>,
    /// The graph's name, and when it was made.
    identity: (String, u64),
}

impl Prepared {
    /// Begins to run the chain; its time counts from here.
    pub(super) async fn start(self, step: &Step) -> keyaki::Result<Running> {
        let budget = Arc::new(Budget::new(self.limits, self.clock));
        let source = Arc::new(self.graph.seen_by(self.authorisations));
        let mut executor = Executor::new(self.graph.schema().clone(), source, budget.clone())
            .with_register(Arc::new(self.names))
            .with_background(Arc::new(self.jobs))
            .with_identity(&self.identity.0, self.identity.1 as i64);
        if let Some(writer) = &self.writer {
            executor = executor.with_sink(writer.clone());
        }
        let output = executor.execute(step).await?;
        Ok(Running { budget, output, writer: self.writer })
    }
}

/// An answer piece by piece.
struct Pieces {
    output: Output,
    shape: Shape,
    started: bool,
    over: bool,
}

impl Pieces {
    /// So much that a small answer is whole: whatever goes wrong with it is told as a problem.
    async fn first(&mut self) -> keyaki::Result<Option<Bytes>> {
        let mut first = Vec::new();
        while first.len() < FIRST_BYTES && !self.over {
            self.write(&mut first).await?;
        }
        Ok((!first.is_empty()).then(|| Bytes::from(first)))
    }

    async fn next(&mut self) -> keyaki::Result<Option<Bytes>> {
        let mut piece = Vec::new();
        if !self.over {
            self.write(&mut piece).await?;
        }
        Ok((!piece.is_empty()).then(|| Bytes::from(piece)))
    }

    /// Appends the next piece, if there is one.
    async fn write(&mut self, piece: &mut Vec<u8>) -> keyaki::Result<()> {
        match self.shape {
            Shape::Document => {
                self.over = !self.output.write_json(&mut self.started, piece).await?;
                // An answer that is over with its first piece is known to be so.
                if !self.over && matches!(self.output, Output::Nothing) {
                    self.over = true;
                }
            }
            Shape::Lines => self.over = !lines(&mut self.output, piece).await?,
        }
        Ok(())
    }

    fn stream(
        self,
        first: Bytes,
        watch: Watch,
    ) -> impl Stream<Item = keyaki::Result<Bytes>> + Send + 'static {
        stream::try_unfold((self, Some(first), watch), |(mut pieces, first, watch)| async {
            let piece = match first {
                Some(first) => Some(first),
                None => {
                    watch.look().await?;
                    pieces.next().await?
                }
            };
            Ok::<_, keyaki::Error>(piece.map(|piece| (piece, (pieces, None, watch))))
        })
    }
}

/// A line for each result of the next batch; false once there is no more.
async fn lines(output: &mut Output, piece: &mut Vec<u8>) -> keyaki::Result<bool> {
    match output {
        Output::Elements(elements) => {
            let batch = elements.next().await?;
            let more = batch.is_some();
            for element in batch.into_iter().flatten() {
                element.write_json(piece);
                piece.extend_from_slice(b"\r\n");
            }
            Ok(more)
        }
        Output::Values(values) => {
            let batch = values.next().await?;
            let more = batch.is_some();
            for value in batch.into_iter().flatten() {
                value.write_plain(piece);
                piece.extend_from_slice(b"\r\n");
            }
            Ok(more)
        }
        alone => {
            alone.write_json(&mut false, piece).await?;
            Ok(false)
        }
    }
}

/// Reads something here, or on a thread of its own if it is large.
async fn reading<T: Send + 'static>(
    large: bool,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let broken = |_| Problem::new(&problem::INTERNAL, "the chain could not be read");
    match large {
        true => aside(read).await.map_err(broken),
        false => Ok(read()),
    }
}

/// A chain that can't be read, or not be run here.
fn unread(error: keyaki::Error) -> Problem {
    Problem::bad_request(&error.to_string()).with("at", error.context("at").unwrap_or("/"))
}
