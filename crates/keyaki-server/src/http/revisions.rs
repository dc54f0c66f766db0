//! Buckets of revisions over HTTP: items, their history, and renames.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use keyaki::bucket::revisions::{Content, Rename, Revision, Revisions, When, Written};
use keyaki::bucket::{Caller, Request};
use keyaki::catalog::Access;
use keyaki::cell::Tid;
use keyaki::store::Operation;

use super::Answer;
use super::answer::{Representation, value, written};
use super::body::Whole;
use super::bounds::Held;
use super::headers::{flag, single};
use super::inside::{InBucket, check_item};
use super::listing::{LIMIT_MAX, wants_lines};
use super::operations::parse_rfc3339;
use super::path::{Query, encode};
use super::problem::{self, Problem};
use super::shapes::{RenameForm, RevisionShown};
use super::streams;

const STORE: &str = "keyaki-store-";
const STORED_MAX: usize = 32;
const STORED_BYTES_MAX: usize = 8 << 10;
const OPERATION_BYTES_MAX: usize = 255;
/// Content from this size on takes room of its own.
const HELD_FROM: u64 = 64 << 10;
/// Kept under their own names.
const PLAIN: [HeaderName; 2] = [header::CONTENT_LANGUAGE, header::CONTENT_DISPOSITION];
/// What frames or secures an answer is the server's to say.
const OURS: [&str; 85] = [
    "accept-ch",
    "accept-encoding",
    "accept-patch",
    "accept-post",
    "accept-ranges",
    "accept-signature",
    "activate-storage-access",
    "age",
    "allow",
    "alt-svc",
    "authentication-info",
    "authorization",
    "cache-control",
    "cache-status",
    "cdn-cache-control",
    "clear-site-data",
    "connection",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-security-policy",
    "content-security-policy-report-only",
    "content-type",
    "cookie",
    "critical-ch",
    "date",
    "digest",
    "document-policy",
    "document-policy-report-only",
    "early-data",
    "etag",
    "expect",
    "expect-ct",
    "expires",
    "feature-policy",
    "forwarded",
    "host",
    "integrity-policy",
    "integrity-policy-report-only",
    "keep-alive",
    "last-modified",
    "location",
    "nel",
    "no-vary-search",
    "origin-agent-cluster",
    "permissions-policy",
    "pragma",
    "proxy-status",
    "public-key-pins",
    "public-key-pins-report-only",
    "referrer-policy",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "repr-digest",
    "retry-after",
    "server",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "set-login",
    "speculation-rules",
    "strict-transport-security",
    "supports-loading-mode",
    "te",
    "timing-allow-origin",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "use-as-dictionary",
    "vary",
    "via",
    "want-content-digest",
    "want-repr-digest",
    "warning",
    "www-authenticate",
    "x-content-security-policy",
    "x-dns-prefetch-control",
    "x-permitted-cross-domain-policies",
    "x-ua-compatible",
    "x-webkit-csp",
    "x-xss-protection",
];
const OUR_PREFIXES: [&str; 16] = [
    "access-control-",
    "cdn-",
    "cross-origin-",
    "idempotency-",
    "keyaki-",
    "proxy-",
    "sec-",
    "signature",
    "surrogate-",
    "x-accel-",
    "x-content-type-options",
    "x-forwarded-",
    "x-frame-options",
    "x-lighttpd-",
    "x-request-id",
    "x-sendfile",
];

impl InBucket<'_> {
    /// `/{key}`.
    pub(super) async fn read(&self, key: &str) -> Answer {
        let hold = |revision: &Revision| self.hold(revision);
        self.content(self.open.revisions()?.get(&self.caller, key, hold).await?)
    }

    /// `/{key}/{tid or time}`.
    pub(super) async fn revision(&self, key: &str, which: &str) -> Answer {
        let when = when(which).ok_or_else(|| {
            Problem::bad_request("a revision is named by its tid or by an RFC 3339 time")
                .with("revision", which)
        })?;
        let hold = |revision: &Revision| self.hold(revision);
        self.content(self.open.revisions()?.get_at(&self.caller, key, when, hold).await?)
    }

    /// Room for what is about to be read. Small ones are bounded by the number of connections.
    fn hold(&self, revision: &Revision) -> keyaki::Result<Option<Held>> {
        let length = revision.stored.length;
        let counts = length >= HELD_FROM && self.call.parts.method != Method::HEAD;
        counts.then(|| self.call.app.bounds.hold(length)).transpose()
    }

    fn content(&self, found: Option<(Revision, Vec<u8>, Option<Held>)>) -> Answer {
        let Some((revision, bytes, held)) = found else {
            return Err(Problem::not_found("there is no such item"));
        };
        let mut headers = vec![
            // Whatever is stored here is data, and no part of a site.
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
        ];
        for (name, text) in &revision.stored.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(text))
            {
                headers.push((name, value));
            }
        }
        if !revision.visibility.is_empty() {
            headers
                .push((HeaderName::from_static("keyaki-visibility"), value(revision.visibility)?));
        }
        let content_type = revision.stored.content_type;
        let now = self.call.app.now_seconds();
        let found = Representation {
            tid: Some(revision.tid),
            more: None,
            modified: Some(revision.tid.time()),
            content_type,
            headers,
            bytes,
            in_parts: Some(UNIX_EPOCH + Duration::from_secs(now)),
        };
        let response = found.answer(self.call.parts)?;
        Ok(match held {
            Some(held) => response.map(|body| held.until_sent(body)),
            None => response,
        })
    }

    /// What a write is, besides its content.
    async fn request(
        &self,
        key: &str,
        action: &str,
        parameters: &[&[u8]],
    ) -> Result<Request, Problem> {
        let conditions = self.call.conditions()?;
        if self.entry.record.settings.kind.common().require_conditions {
            conditions.require()?;
        }
        let there = match self.headers().contains_key(header::IF_UNMODIFIED_SINCE) {
            true => self.open.revisions()?.current(&self.caller, key).await?.map(|r| r.tid),
            false => None,
        };
        let operation = operation(self.headers(), &self.caller, action, key, parameters)?;
        Ok(Request { caller: self.caller.clone(), demands: conditions.demands(there)?, operation })
    }

    pub(super) async fn put(&self, key: &str, body: Body) -> Answer {
        let only_changed = flag(self.headers(), "keyaki-only-if-changed")?;
        let call = self.call;
        let most = call.app.limits.body_bytes.min(Revisions::CONTENT_BYTES_MAX);
        let (content_type, headers) =
            (content_type(self.headers())?, stored_headers(self.headers())?);
        let visibility =
            single(self.headers(), "keyaki-visibility")?.unwrap_or_default().to_owned();
        self.caller.check_label(&visibility)?;
        self.answer_early(key).await?;
        // Its room is taken until it is stored.
        let Whole { bytes, held: _held } =
            super::body::read(&call.app.bounds, self.headers(), body, most).await?;
        call.app.check_digest(&call.principal, call.parts, &bytes)?;
        let path = ["/", key].concat();
        self.look_again(Access::Write, &path).await?;
        self.spend_signatures(&[(Access::Write, &path)]).await?;
        let content = Content { content_type, headers, visibility, bytes: bytes.to_vec() };
        let headers = serde_json::to_vec(&content.headers).unwrap_or_default();
        let parameters: [&[u8]; 5] = [
            content.content_type.as_bytes(),
            &headers,
            content.visibility.as_bytes(),
            &[u8::from(only_changed)],
            &content.bytes,
        ];
        let request = self.request(key, "PUT", &parameters).await?;
        let put = self.open.revisions()?.put(&request, key, &content, only_changed).await?;
        self.located(key, answer(put)?)
    }

    /// Says where something new is.
    fn located(&self, key: &str, mut response: Response) -> Answer {
        if response.status() == StatusCode::CREATED {
            let location = format!("/v1/{}/{}/{}", self.names.0, self.names.1, encode(key));
            response.headers_mut().insert(header::LOCATION, value(location)?);
        }
        Ok(response)
    }

    /// Whoever waits to be told to send its content is told at once if that would be in vain.
    async fn answer_early(&self, key: &str) -> Result<(), Problem> {
        let headers = self.headers();
        if !headers.contains_key(header::EXPECT) || headers.contains_key("idempotency-key") {
            return Ok(());
        }
        let there = self.open.revisions()?.current(&self.caller, key).await?.map(|r| r.tid);
        match self.call.conditions()?.demands(there)?.hold(there) {
            true => Ok(()),
            false => Err(Problem::unmet()),
        }
    }

    pub(super) async fn delete(&self, key: &str) -> Answer {
        self.spend_signatures(&[(Access::Write, &format!("/{key}"))]).await?;
        let request = self.request(key, "DELETE", &[]).await?;
        let deleted = self.open.revisions()?.delete(&request, key).await?;
        answer(deleted)
    }

    /// `/_rename`.
    pub(super) async fn rename(&self, body: Body) -> Answer {
        let RenameForm { from, to } = self.call.json(body).await?;
        let paths = [&from, &to].map(|key| format!("/{key}"));
        let mut rights = Vec::new();
        for (key, path) in [&from, &to].into_iter().zip(&paths) {
            for access in [Access::Write, Access::Read] {
                self.demand(access, path)?;
                self.look_again(access, path).await?;
                rights.push((access, &path[..]));
            }
            check_item(key)?;
        }
        self.spend_signatures(&rights).await?;
        let request = self.request(&to, "RENAME", &[from.as_bytes()]).await?;
        let rename = Rename { from, to };
        match self.open.revisions()?.rename(&request, &rename).await? {
            Written::Absent => {
                Err(Problem::not_found("there is nothing to rename").with("at", "/from"))
            }
            written => self.located(&rename.to, answer(written)?),
        }
    }

    /// `/{key}/`: its revisions.
    pub(super) async fn history(&self, key: &str, query: Query) -> Answer {
        let of = format!("history of {:?} in {}/{}", key, self.names.0, self.names.1);
        let cursors = &self.call.app.cursors;
        let after = match query.get("cursor") {
            Some(cursor) => cursors.open(&of, cursor)?.parse().ok(),
            None => None,
        };
        let lines = wants_lines(self.call.parts, &query)?;
        let limit = if lines { 1 } else { super::listing::limit(&query)? };
        let page = self.open.revisions()?.history(&self.caller, key, after, limit).await?;
        if page.revisions.is_empty() && after.is_none() {
            return Err(Problem::not_found("there is no such item"));
        }
        if lines {
            return self.history_lines(key, after);
        }
        let items: Vec<_> = page.revisions.iter().map(RevisionShown::from).collect();
        let next = page.next.map(|tid| cursors.seal(&of, &tid.to_string())).transpose()?;
        super::listing::paged(self.call.parts, items, next)
    }

    /// All of them, as the reader takes them.
    fn history_lines(&self, key: &str, after: Option<Tid>) -> Answer {
        let (revisions, caller) = (self.open.revisions()?.clone(), self.caller.clone());
        let (key, watch) =
            (key.to_owned(), Arc::new(self.watch(Access::Read, &["/", key].concat())));
        streams::lines(self.call.parts, after, move |after| {
            let (revisions, caller) = (revisions.clone(), caller.clone());
            let (key, watch) = (key.clone(), watch.clone());
            async move {
                watch.look().await?;
                let page = revisions.history(&caller, &key, after, LIMIT_MAX).await?;
                let lines = page.revisions.iter().map(RevisionShown::from).collect::<Vec<_>>();
                Ok((lines, page.next.map(Some)))
            }
        })
    }
}

/// Which revision a name means, if it can be one.
pub(super) fn when(name: &str) -> Option<When> {
    match name.parse() {
        Ok(tid) => Some(When::Tid(tid)),
        Err(_) => parse_rfc3339(name).map(When::Time),
    }
}

fn answer(done: Written) -> Answer {
    let status = |created| if created { StatusCode::CREATED } else { StatusCode::OK };
    match done {
        Written::Done { revision, created } => answer_with(status(created), &revision),
        Written::Unchanged(revision) => {
            let mut response = answer_with(StatusCode::OK, &revision)?;
            response.headers_mut().insert("keyaki-unchanged", HeaderValue::from_static("true"));
            Ok(response)
        }
        Written::Replayed { revision, created } => {
            let mut response = answer_with(status(created), &revision)?;
            response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
            Ok(response)
        }
        Written::Unmet => Err(Problem::unmet()),
        Written::Absent => Err(Problem::not_found("there is no such item")),
    }
}

fn answer_with(status: StatusCode, revision: &Revision) -> Answer {
    let mut response =
        written(status, revision.tid, &RevisionShown::from(revision))?.into_response();
    if revision.stored.deleted {
        // The tag of something that is gone is of no use to anybody.
        response.headers_mut().remove(header::ETAG);
        response.headers_mut().remove(header::LAST_MODIFIED);
    }
    Ok(response)
}

fn content_type(headers: &HeaderMap) -> Result<String, Problem> {
    let given = single(headers, "content-type")?.unwrap_or("application/octet-stream").trim();
    let essence = given.split(';').next().unwrap_or_default().trim();
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    match essence.split_once('/') {
        Some((main, sub)) if token(main) && token(sub) => Ok(given.to_owned()),
        _ => Err(Problem::new(&problem::UNSUPPORTED_TYPE, "Content-Type is no media type")
            .with("contentType", given)),
    }
}

/// Headers to give back with the content, under the names they then have.
fn stored_headers(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Problem> {
    let mut kept = BTreeMap::new();
    for name in &PLAIN {
        if let Some(text) = single(headers, name.as_str())? {
            kept.insert(name.as_str().to_owned(), text.to_owned());
        }
    }
    for name in headers.keys() {
        let Some(stored) = name.as_str().strip_prefix(STORE) else { continue };
        let ours = stored.is_empty()
            || OURS.contains(&stored)
            || OUR_PREFIXES.iter().any(|prefix| stored.starts_with(prefix));
        if ours {
            return Err(
                Problem::bad_request("this header can't be stored").with("header", name.as_str())
            );
        }
        let text = single(headers, name.as_str())?.unwrap_or_default();
        kept.insert(stored.to_owned(), text.to_owned());
    }
    let bytes: usize = kept.iter().map(|(name, text)| name.len() + text.len()).sum();
    match kept.len() > STORED_MAX || bytes > STORED_BYTES_MAX {
        true => Err(Problem::new(&problem::HEADERS_TOO_LARGE, "too many headers are to be stored")),
        false => Ok(kept),
    }
}

/// The operation that a request is, if it has a name for it.
pub(super) fn operation(
    headers: &HeaderMap,
    caller: &Caller,
    action: &str,
    key: &str,
    parameters: &[&[u8]],
) -> Result<Option<Operation>, Problem> {
    let sequence = match single(headers, "idempotency-sequence")? {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            Problem::bad_request("not a whole number").with("header", "idempotency-sequence")
        })?,
    };
    let Some(id) = single(headers, "idempotency-key")? else { return Ok(None) };
    let id = id.trim();
    let id = id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id);
    if id.is_empty() || id.len() > OPERATION_BYTES_MAX {
        return Err(Problem::bad_request("an operation id has 1 to 255 bytes")
            .with("header", "idempotency-key"));
    }
    let mut canonical = Vec::new();
    for part in [key.as_bytes()].iter().chain(parameters) {
        canonical.extend_from_slice(&(part.len() as u64).to_be_bytes());
        canonical.extend_from_slice(part);
    }
    Ok(Some(Operation {
        caller: caller.user.clone().unwrap_or_default(),
        action: action.to_owned(),
        id: id.to_owned(),
        sequence,
        parameters: canonical,
    }))
}
