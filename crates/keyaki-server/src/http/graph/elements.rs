//! `/elements`: elements as they arrive. A small body is read on the spot; of a large one, blocks of text go to a thread
//! that reads them, and elements to one that writes them, so that neither waits for the other nor keeps other requests
//! waiting. No more than a few blocks and a few chunks are held.

use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use keyaki::bucket::graph::input::{Format, Given, Input, Mapping};
use keyaki::bucket::graph::{AHEAD_CHUNKS, CHUNK_BYTES_MAX, Ingest, IngestOptions};
use keyaki::catalog::Access;
use keyaki::cell::Tid;
use keyaki::{Error, Kind, Result as Done};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{aside, flag};
use crate::http::Answer;
use crate::http::answer::{SESSION, value};
use crate::http::body::{self, Whole};
use crate::http::headers::single;
use crate::http::inside::InBucket;
use crate::http::path::Query;
use crate::http::problem::{self, Problem};
use crate::http::revisions::operation;
use crate::http::shapes::IngestSummary;

/// Text is handed on in blocks of about this size; a body that is no larger is read on the spot.
const BLOCK_BYTES: usize = 256 << 10;
const BLOCKS_AHEAD: usize = 4;
const BATCHES_AHEAD: usize = 2;
/// The most that one body holds at a time, roughly: a chunk that fills, and those on their way to the disk.
const HELD_BYTES_MAX: u64 = ((1 + AHEAD_CHUNKS) * CHUNK_BYTES_MAX) as u64;
/// How long the next piece of a body may take to arrive.
const PIECE_WITHIN: Duration = Duration::from_secs(60);
const PATH: &str = "/elements";
pub(super) const JSON: &str = "application/json";

/// How an ingest ended, and what became of it till then.
type Ended = (Done<()>, Ingest);

impl InBucket<'_> {
    /// `/elements`.
    pub(in crate::http) async fn add_elements(&self, query: Query, body: Body) -> Answer {
        let call = self.call;
        body::refuse_encoded(self.headers())?;
        let format = format(single(self.headers(), "content-type")?, &query)?;
        let options = IngestOptions {
            validate: flag(&query, "validate")?.unwrap_or(true),
            skip_invalid: flag(&query, "skipInvalidElements")?.unwrap_or(false),
        };
        let operation = operation(self.headers(), &self.caller, "graph.add", PATH, &[])?;
        let ingest = Ingest::new(self.writer(operation)?, options);
        let input = Input::new(self.graph()?.schema().clone(), format);
        // What was signed is looked at whole before anything is done with it.
        let body = match call.principal.services.is_empty() {
            true => body,
            false => {
                let most = call.app.limits.body_bytes;
                let Whole { bytes, .. } =
                    body::read(&call.app.bounds, self.headers(), body, most).await?;
                call.app.check_digest(&call.principal, call.parts, &bytes)?;
                self.spend_signatures(&[(Access::Write, PATH)]).await?;
                Body::from(bytes)
            }
        };
        let mut text = Text { body, over: false };
        let first = text.block().await?;
        let announced = self.headers().get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
        let size = if text.over { first.len() as u64 } else { announced.unwrap_or(u64::MAX) };
        let _held = call.app.bounds.hold(size.min(HELD_BYTES_MAX))?;
        self.look_again(Access::Write, PATH).await?;
        let (ended, ingest) = match text.over {
            true => at_once(input, ingest, &first).await,
            false => self.by_threads(input, ingest, (first, text)).await?,
        };
        match ended {
            Ok(()) => answer(ingest),
            Err(error) => Err(refused(error, &ingest)),
        }
    }

    async fn by_threads(
        &self,
        input: Input,
        ingest: Ingest,
        (first, mut text): (Bytes, Text),
    ) -> Result<Ended, Problem> {
        let turn = self.call.app.bounds.ingest().await?;
        let (blocks, blocks_in) = mpsc::channel(BLOCKS_AHEAD);
        let (batches, batches_in) = mpsc::channel(BATCHES_AHEAD);
        let reading = aside(move || read(input, blocks_in, batches));
        let handle = Handle::current();
        let writing = aside(move || handle.block_on(write(ingest, batches_in)));
        let mut block = first;
        let fed = loop {
            // Whoever no longer takes text has found something wrong with it.
            if blocks.send(Some(block)).await.is_err() {
                break Ok(());
            }
            if text.over {
                let _ = blocks.send(None).await;
                break Ok(());
            }
            let next = match self.look_again(Access::Write, PATH).await {
                Ok(()) => text.block().await,
                Err(error) => Err(error.into()),
            };
            match next {
                Ok(next) => block = next,
                Err(problem) => break Err(problem),
            }
        };
        drop(blocks);
        let broken = |_| Problem::new(&problem::INTERNAL, "the elements could not be written");
        reading.await.map_err(broken)?;
        let (ended, ingest) = writing.await.map_err(broken)?;
        drop(turn);
        match fed {
            Ok(()) => Ok((ended, ingest)),
            Err(problem) => Err(so_far(problem, &ingest)),
        }
    }
}

/// A body as it arrives.
struct Text {
    body: Body,
    over: bool,
}

impl Text {
    /// The next block, shorter only if it is the last.
    async fn block(&mut self) -> Result<Bytes, Problem> {
        let mut block = BytesMut::new();
        while block.len() < BLOCK_BYTES {
            let late = |_| Problem::new(&problem::TIMEOUT, "the body did not arrive in time");
            let frame =
                tokio::time::timeout(PIECE_WITHIN, self.body.frame()).await.map_err(late)?;
            let Some(frame) = frame else {
                self.over = true;
                break;
            };
            let frame = frame.map_err(|_| Problem::bad_request("the body ended early"))?;
            if let Ok(bytes) = frame.into_data() {
                block.extend_from_slice(&bytes);
            }
        }
        Ok(block.freeze())
    }
}

/// A body that is there whole.
async fn at_once(mut input: Input, mut ingest: Ingest, text: &[u8]) -> Ended {
    let mut given = Vec::new();
    let fed = input.feed(text, &mut given).and_then(|()| input.finish(&mut given));
    let ended = async {
        for given in given {
            ingest.take(given).await?;
        }
        fed?;
        ingest.end().await
    };
    let ended = ended.await;
    settled(ended, ingest).await
}

/// Whoever hears that something is wrong hears what is written all the same, and finds it there.
async fn settled(ended: keyaki::Result<()>, mut ingest: Ingest) -> Ended {
    if ended.is_err()
        && let Err(error) = ingest.settle().await
    {
        tracing::debug!(%error, "a chunk before a fault was not written");
    }
    (ended, ingest)
}

/// Reads blocks of text, to the end that is told; without one the rest has not arrived, and counts for nothing.
fn read(
    mut input: Input,
    mut blocks: mpsc::Receiver<Option<Bytes>>,
    batches: mpsc::Sender<Done<Option<Vec<Given>>>>,
) {
    while let Some(block) = blocks.blocking_recv() {
        let mut given = Vec::new();
        let fed = match &block {
            Some(text) => input.feed(text, &mut given),
            None => {
                let fed = input.finish(&mut given);
                let sent = batches.blocking_send(Ok(Some(given)));
                let _ = sent.and_then(|()| batches.blocking_send(fed.map(|()| None)));
                return;
            }
        };
        // Elements before a fault are looked at before it.
        if batches.blocking_send(Ok(Some(given))).is_err() {
            return;
        }
        if let Err(error) = fed {
            let _ = batches.blocking_send(Err(error));
            return;
        }
    }
}

async fn write(mut ingest: Ingest, mut batches: mpsc::Receiver<Done<Option<Vec<Given>>>>) -> Ended {
    let ended = async {
        while let Some(batch) = batches.recv().await {
            let Some(batch) = batch? else { return ingest.end().await };
            for given in batch {
                ingest.take(given).await?;
            }
        }
        Err(Error::invalid("the body ended early"))
    };
    let ended = ended.await;
    settled(ended, ingest).await
}

fn answer(ingest: Ingest) -> Answer {
    let (tid, done) = (ingest.tid(), ingest.summary().clone());
    let replayed = done.chunks > 0 && done.replayed == done.chunks;
    let mut response = summary(&IngestSummary::from(done), tid)?;
    if replayed {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// What a change of elements came to, and its last commit.
pub(super) fn summary(shown: &impl Serialize, tid: Option<Tid>) -> Answer {
    let body = serde_json::to_vec(shown).expect("a summary is JSON");
    let mut response = (StatusCode::OK, Body::from(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(tid) = tid {
        headers.insert(SESSION.clone(), value(tid.to_string())?);
    }
    Ok(response)
}

/// What was wrong, where, and what is written all the same.
fn refused(error: Error, ingest: &Ingest) -> Problem {
    let index = error.context("index").map(str::to_owned);
    let problem = match (error.kind(), index.is_some()) {
        (Kind::Invalid, true) => Problem::new(&problem::INVALID, error.to_string()),
        _ => Problem::from(error),
    };
    let problem = match index {
        Some(index) => problem.with("at", &format!("/{index}")).with("index", &index),
        None => problem,
    };
    so_far(problem, ingest)
}

fn so_far(problem: Problem, ingest: &Ingest) -> Problem {
    let summary = ingest.summary();
    let problem = problem.with("accepted", &summary.accepted.to_string());
    match summary.chunks {
        0 => problem,
        _ => problem.with(
            "written",
            "elements of earlier chunks stay; send all again with the same Idempotency-Key",
        ),
    }
}

fn format(content_type: Option<&str>, query: &Query) -> Result<Format, Problem> {
    let given = content_type.unwrap_or("application/json");
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let format = match &essence[..] {
        "application/json" => Format::Array,
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines" => Format::Lines,
        "text/csv" => return mapping(query).map(Format::Table),
        _ => {
            let wanted = "application/json, application/x-ndjson, text/csv";
            return Err(body::unsupported(given, wanted));
        }
    };
    match ["map", "group", "directed"].into_iter().find(|name| query.get(name).is_some()) {
        Some(name) => Err(Problem::bad_request("only CSV is mapped").with("parameter", name)),
        None => Ok(format),
    }
}

fn mapping(query: &Query) -> Result<Mapping, Problem> {
    let mut mapping = Mapping {
        group: query.get("group").map(str::to_owned),
        directed: flag(query, "directed")?,
        ..Mapping::default()
    };
    for pair in query.get("map").unwrap_or_default().split(',').filter(|pair| !pair.is_empty()) {
        let Some((column, name)) = pair.split_once(':') else {
            let wanted = "a mapping is `column:name,column:name`";
            return Err(Problem::bad_request(wanted).with("parameter", "map"));
        };
        mapping.columns.insert(column.to_owned(), name.to_owned());
    }
    Ok(mapping)
}
