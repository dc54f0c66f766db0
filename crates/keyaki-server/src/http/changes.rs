//! The change feed: pages, or an event stream that follows it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::stream;
use http::{Method, StatusCode, header};
use keyaki::catalog::Access;
use keyaki::cell::Tid;
use keyaki::store::ChangeRecord;

use super::Answer;
use super::answer::{Representation, VARY, asks_for, value};
use super::inside::InBucket;
use super::path::Query;
use super::problem::Problem;
use super::shapes::{ChangeShown, Changes};

const EVENTS: &str = "text/event-stream";
const LOOKS_APART: Duration = Duration::from_millis(200);
/// So many looks without a change, and the reader is shown that we are still here. That is also how it is noticed that
/// a reader has gone.
const LOOKS_QUIET: u32 = 5;
const EVENTS_AT_ONCE: usize = 200;

impl InBucket<'_> {
    /// `/_changes`.
    pub(super) async fn changes(&self, query: Query) -> Answer {
        let parts = self.call.parts;
        let since = query.get("since").map(|text| tid(text, "since")).transpose()?;
        self.wait_for_session().await?;
        if asks_for(&parts.headers, EVENTS) {
            let last = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
            let last = last.map(|text| tid(text, "last-event-id")).transpose()?;
            return self.follow(last.or(since));
        }
        let limit = super::listing::limit(&query)?;
        let bucket = self.open.bucket();
        let page = bucket.changes(&self.caller.authorisations, since, limit).await?;
        let next = page.next.to_string();
        let mut headers = Vec::new();
        if page.more {
            let link = format!("<{}?since={next}&limit={limit}>; rel=\"next\"", parts.uri.path());
            headers.push((header::LINK, value(link)?));
        }
        let readable = self.readable();
        let shown = page.changes.iter().filter(|record| readable.has_change(&record.change));
        let items = shown.map(ChangeShown::from).collect();
        let shown = Changes { items, next: page.more.then(|| next.clone()), since: next };
        let shown = Representation::json(None, &shown);
        Representation { headers, ..shown }.answer(parts)
    }

    /// Events as they come, until the reader goes or the server does.
    fn follow(&self, since: Option<Tid>) -> Answer {
        let place = Arc::new(self.call.app.bounds.stream()?);
        let (bucket, caller) = (self.open.bucket().clone(), self.caller.clone());
        let watch = Arc::new(self.watch(Access::Read, "/_changes"));
        let app = self.call.app.clone();
        let open = app.metrics.event_streams.enter();
        let events = stream::try_unfold((since, 0), move |(mut since, mut quiet)| {
            let _open = &open;
            let (bucket, caller, watch) = (bucket.clone(), caller.clone(), watch.clone());
            let (place, app) = (place.clone(), app.clone());
            async move {
                let _place = place;
                while app.ready.load(Relaxed) {
                    let readable = watch.look().await?;
                    let page =
                        bucket.changes(&caller.authorisations, since, EVENTS_AT_ONCE).await?;
                    since = Some(page.next);
                    let seen = page.changes.iter().filter(|r| readable.has_change(&r.change));
                    let events: String = seen.map(event).collect();
                    if !events.is_empty() {
                        return Ok::<_, keyaki::Error>(Some((Bytes::from(events), (since, 0))));
                    }
                    if page.more {
                        continue;
                    }
                    tokio::time::sleep(LOOKS_APART).await;
                    quiet += 1;
                    if quiet == LOOKS_QUIET {
                        return Ok(Some((Bytes::from_static(b":\n\n"), (since, 0))));
                    }
                }
                Ok(None)
            }
        });
        let body = match self.call.parts.method == Method::HEAD {
            true => Body::empty(),
            false => Body::from_stream(events),
        };
        let headers = [
            (header::CONTENT_TYPE, EVENTS),
            (header::CACHE_CONTROL, "no-store"),
            (header::VARY, VARY),
        ];
        Ok((StatusCode::OK, headers, body).into_response())
    }
}

fn tid(text: &str, name: &str) -> Result<Tid, Problem> {
    text.parse().map_err(|_| Problem::bad_request("not the id of a change").with("parameter", name))
}

fn event(record: &ChangeRecord) -> String {
    let shown = serde_json::to_string(&ChangeShown::from(record)).expect("a change is JSON");
    format!("id: {}\nevent: change\ndata: {shown}\n\n", record.id)
}
