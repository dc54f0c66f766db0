//! The change feed: pages, lines, or an event stream that follows it.
//!
//! What a reader is not shown, by its authorisations or by the ACL, leaves no trace: pages are filled with what is shown,
//! and the places they go on from are ids of changes that were. How far a stream has looked stays here.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header;
use keyaki::bucket::Caller;
use keyaki::catalog::Access;
use keyaki::cell::{Tid, Time};
use keyaki::store::{Bucket, ChangeRecord};

use super::Answer;
use super::answer::{Representation, asks_for, value};
use super::inside::{InBucket, Readable};
use super::listing::{LIMIT_MAX, wants_lines};
use super::path::Query;
use super::problem::Problem;
use super::shapes::{ChangeShown, Changes};
use super::streams::{self, EVENTS};

const PATH: &str = "/_changes";
const LOOKS_APART: Duration = Duration::from_millis(200);
/// So many looks without a change, and the reader is shown that we are still here. That is also how it is noticed that
/// a reader has gone.
const LOOKS_QUIET: u32 = 5;
const EVENTS_AT_ONCE: usize = 200;

/// Some changes, oldest first: those that a reader is shown.
struct Shown {
    records: Vec<ChangeRecord>,
    /// Whether there are more of those already.
    more: bool,
    /// Past all that was looked at. That tells of others' changes, and is not for the reader.
    position: Tid,
}

impl Shown {
    /// About `limit` of them: those of one commit stay together.
    async fn read(
        bucket: &Bucket,
        caller: &Caller,
        readable: &Readable,
        since: Option<Tid>,
        limit: usize,
    ) -> keyaki::Result<Self> {
        let (mut records, mut position) = (Vec::<ChangeRecord>::new(), since);
        loop {
            let page = bucket.changes(&caller.authorisations, position, limit + 1).await?;
            let shown =
                page.changes.into_iter().filter(|record| readable.has_change(&record.change));
            records.extend(shown);
            let ends = |at: &usize| records[at - 1].id != records[*at].id;
            if let Some(end) = (limit..records.len()).find(ends) {
                records.truncate(end);
                let position = records[end - 1].id;
                return Ok(Self { records, more: true, position });
            }
            position = Some(page.next);
            if !page.more {
                return Ok(Self { records, more: false, position: page.next });
            }
        }
    }

    /// Where the reader is to go on.
    fn next(&self) -> Option<Tid> {
        self.records.last().map(|record| record.id)
    }
}

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
        if wants_lines(parts, &query)? {
            return self.change_lines(since);
        }
        let limit = super::listing::limit(&query)?;
        let bucket = self.open.bucket();
        let shown = Shown::read(bucket, &self.caller, &self.readable(), since, limit).await?;
        // Whoever was shown nothing yet begins at the beginning.
        let next = shown.next().or(since).unwrap_or(Tid::new(Time::ZERO, 0)).to_string();
        let mut headers = Vec::new();
        if shown.more {
            let link = format!("<{}?since={next}&limit={limit}>; rel=\"next\"", parts.uri.path());
            headers.push((header::LINK, value(link)?));
        }
        let items = shown.records.iter().map(ChangeShown::from).collect();
        let shown = Changes { items, next: shown.more.then(|| next.clone()), since: next };
        let shown = Representation::json(None, &shown);
        Representation { headers, ..shown }.answer(parts)
    }

    /// All there are.
    fn change_lines(&self, since: Option<Tid>) -> Answer {
        let (bucket, caller) = (self.open.bucket().clone(), self.caller.clone());
        let watch = Arc::new(self.watch(Access::Read, PATH));
        streams::lines(self.call.parts, since, move |since| {
            let (bucket, caller, watch) = (bucket.clone(), caller.clone(), watch.clone());
            async move {
                let readable = watch.look().await?;
                let shown = Shown::read(&bucket, &caller, &readable, since, LIMIT_MAX).await?;
                let lines = shown.records.iter().map(ChangeShown::from).collect::<Vec<_>>();
                Ok((lines, shown.more.then_some(Some(shown.position))))
            }
        })
    }

    /// Events as they come, until the reader goes or the server does.
    fn follow(&self, since: Option<Tid>) -> Answer {
        let place = Arc::new(self.call.app.bounds.stream()?);
        let (bucket, caller) = (self.open.bucket().clone(), self.caller.clone());
        let watch = Arc::new(self.watch(Access::Read, PATH));
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
                    let shown =
                        Shown::read(&bucket, &caller, &readable, since, EVENTS_AT_ONCE).await?;
                    since = Some(shown.position);
                    if !shown.records.is_empty() {
                        let events: String = shown.records.iter().map(event).collect();
                        return Ok::<_, keyaki::Error>(Some((Bytes::from(events), (since, 0))));
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
        streams::read(self.call.parts, EVENTS, events)
    }
}

fn tid(text: &str, name: &str) -> Result<Tid, Problem> {
    text.parse().map_err(|_| Problem::bad_request("not the id of a change").with("parameter", name))
}

fn event(record: &ChangeRecord) -> String {
    let shown = serde_json::to_string(&ChangeShown::from(record)).expect("a change is JSON");
    format!("id: {}\nevent: change\ndata: {shown}\n\n", record.id)
}
