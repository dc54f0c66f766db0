//! Listings: a page at a time, or everything as lines of JSON, in bounded memory.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, header};
use keyaki::bucket::revisions::ListRequest;
use keyaki::catalog::Access;
use keyaki::cell::Tid;
use keyaki::engine::Reading;
use serde::Serialize;

use super::Answer;
use super::answer::{Representation, SESSION, accepts, asks_for, value};
use super::headers::single;
use super::inside::InBucket;
use super::path::Query;
use super::problem::{self, Problem};
use super::shapes::{ItemShown, Page};
use super::streams::{self, NDJSON};

const LIMIT: usize = 100;
pub const LIMIT_MAX: usize = 1_000;
/// How long a read waits for a write that its session has seen.
const SESSION_WAITS: Duration = Duration::from_secs(10);

/// How many items a page is to have.
pub fn limit(query: &Query) -> Result<usize, Problem> {
    let Some(text) = query.get("limit") else { return Ok(LIMIT) };
    let number = text.parse::<usize>().ok().filter(|number| (1..=LIMIT_MAX).contains(number));
    number.ok_or_else(|| {
        Problem::bad_request("a page has 1 to 1000 items").with("parameter", "limit")
    })
}

/// Whether everything is wanted as lines of JSON, and not a page.
pub fn wants_lines(parts: &Parts, query: &Query) -> Result<bool, Problem> {
    if !asks_for(&parts.headers, NDJSON) {
        return match accepts(&parts.headers, "application/json") {
            true => Ok(false),
            false => Err(Problem::new(&problem::NOT_ACCEPTABLE, "it is JSON or lines of JSON")
                .with("available", "application/json, application/x-ndjson")),
        };
    }
    match query.get("limit") {
        None => Ok(true),
        Some(_) => Err(Problem::bad_request("lines of JSON come all, and have no pages")
            .with("parameter", "limit")),
    }
}

/// A page, with the way to the next one.
pub fn paged(parts: &Parts, items: Vec<impl Serialize>, next: Option<String>) -> Answer {
    let mut headers = Vec::new();
    if let Some(next) = &next {
        let link = format!("<{}>; rel=\"next\"", with_cursor(parts, next));
        headers.push((header::LINK, value(link)?));
    }
    let shown = Representation::json(None, &Page { items, next });
    Representation { headers, ..shown }.answer(parts)
}

fn with_cursor(parts: &Parts, cursor: &str) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let others = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let pairs: Vec<&str> = others.collect();
    let cursor = format!("cursor={cursor}");
    let all: Vec<&str> = pairs.into_iter().chain([&cursor[..]]).collect();
    format!("{}?{}", parts.uri.path(), all.join("&"))
}

impl InBucket<'_> {
    /// Waits until derived cells show the write that a session has seen.
    pub(super) async fn wait_for_session(&self) -> Result<(), Problem> {
        let Some(token) = single(self.headers(), SESSION.as_str())? else { return Ok(()) };
        let bad = || Problem::bad_request("not a session's token").with("header", SESSION.as_str());
        let tid: Tid = token.parse().map_err(|_| bad())?;
        let engine = self.open.bucket().store().engine();
        if tid.time() > engine.clock().now().saturating_add(SESSION_WAITS) {
            return Err(bad());
        }
        let begun = tokio::time::Instant::now();
        while engine.settled().await? <= tid.time() {
            if begun.elapsed() > SESSION_WAITS {
                let late =
                    Problem::new(&problem::UNAVAILABLE, "the session's write can't be seen yet");
                return Err(late.with_header(header::RETRY_AFTER, HeaderValue::from_static("1")));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// `/`: the items.
    pub(super) async fn listing(&self, query: Query) -> Answer {
        let parts = self.call.parts;
        self.wait_for_session().await?;
        let owned = |name: &str| query.get(name).map(str::to_owned);
        let mut request = ListRequest {
            prefix: owned("prefix"),
            from: owned("from"),
            to: owned("to"),
            after: None,
            limit: limit(&query)?,
            reading: Reading::Shared,
        };
        let of = format!("items of {}/{}", self.names.0, self.names.1);
        let cursors = &self.call.app.cursors;
        request.after = query.get("cursor").map(|cursor| cursors.open(&of, cursor)).transpose()?;
        if wants_lines(parts, &query)? {
            return self.stream(request);
        }
        let readable = self.readable();
        let is_shown = |key: &str| readable.has(key);
        let page = self.open.revisions()?.list(&self.caller, &request, is_shown).await?;
        let next = page.next.map(|key| cursors.seal(&of, &key)).transpose()?;
        paged(parts, page.items.iter().map(ItemShown::from).collect::<Vec<_>>(), next)
    }

    /// All items, page by page as the reader takes them.
    fn stream(&self, request: ListRequest) -> Answer {
        let (revisions, caller) = (self.open.revisions()?.clone(), self.caller.clone());
        let begin = ListRequest { limit: LIMIT_MAX, reading: Reading::Once, ..request };
        let watch = Arc::new(self.watch(Access::Read, "/"));
        streams::lines(self.call.parts, begin, move |request| {
            let (revisions, caller, watch) = (revisions.clone(), caller.clone(), watch.clone());
            async move {
                let readable = watch.look().await?;
                let page = revisions.list(&caller, &request, |key| readable.has(key)).await?;
                let lines = page.items.iter().map(ItemShown::from).collect::<Vec<_>>();
                Ok((lines, page.next.map(|key| ListRequest { after: Some(key), ..request })))
            }
        })
    }
}
