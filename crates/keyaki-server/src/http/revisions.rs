//! Buckets of revisions over HTTP: items, their history, and renames.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use keyaki::bucket::revisions::{Content, Rename, Revision, When, Written};
use keyaki::bucket::{Caller, Request};
use keyaki::catalog::{Access, BucketEntry, OpenBucket, check_key};
use keyaki::cell::Tid;
use keyaki::store::Operation;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Representation, value, written};
use super::catalog::time;
use super::identify::{authorisations, refuse};
use super::operations::parse_rfc3339;
use super::path::Query;
use super::problem::{self, Problem};
use super::{Answer, App, Call, is_read, other_method};

const STORE: &str = "keyaki-store-";
const STORED_MAX: usize = 32;
const STORED_BYTES_MAX: usize = 8 << 10;
const OPERATION_BYTES_MAX: usize = 255;
/// Kept under their own names.
const PLAIN: [HeaderName; 2] = [header::CONTENT_LANGUAGE, header::CONTENT_DISPOSITION];
/// What frames or secures an answer is the server's to say.
const OURS: [&str; 51] = [
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "authorization",
    "cache-control",
    "cdn-cache-control",
    "clear-site-data",
    "connection",
    "content-encoding",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-security-policy-report-only",
    "content-type",
    "cookie",
    "date",
    "early-data",
    "etag",
    "expect",
    "expires",
    "forwarded",
    "host",
    "keep-alive",
    "last-modified",
    "location",
    "nel",
    "origin-agent-cluster",
    "permissions-policy",
    "pragma",
    "referrer-policy",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "retry-after",
    "server",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "strict-transport-security",
    "te",
    "timing-allow-origin",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "warning",
    "www-authenticate",
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

/// A bucket that the caller may use, as the catalog has it and open.
pub(super) struct InBucket<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) names: (&'a str, &'a str),
    pub(super) entry: &'a BucketEntry,
    pub(super) open: Arc<OpenBucket>,
    pub(super) caller: Caller,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameForm {
    from: String,
    to: String,
}

impl Call<'_> {
    /// Everything below `/v1/{domain}/{bucket}/`.
    pub(super) async fn in_bucket(
        &self,
        names: (&str, &str),
        rest: &[&str],
        slash: bool,
        body: Body,
    ) -> (&'static str, Answer) {
        let route = match (rest, slash) {
            ([], _) => "listing",
            (["_changes"], false) => "changes",
            (["_rename"], false) => "rename",
            ([_], false) => "item",
            ([_], true) => "history",
            ([_, _], false) => "revision",
            _ => return ("unknown", Err(Problem::not_found("there is no such route"))),
        };
        let inside = match self.enter(names, rest, route).await {
            Ok(inside) => inside,
            Err(problem) => return (route, Err(problem)),
        };
        let answer = match (route, rest) {
            ("listing", _) => inside.listing().await,
            ("changes", _) => inside.changes().await,
            ("rename", _) => inside.rename(body).await,
            ("item", [key]) => inside.item(key, body).await,
            ("history", [key]) => inside.history(key).await,
            (_, [key, which]) => inside.revision(key, which).await,
            _ => Err(Problem::not_found("there is no such route")),
        };
        (route, answer)
    }

    /// Finds the bucket, and whether the caller may do what it asks for at this path.
    async fn enter<'a>(
        &'a self,
        names: (&'a str, &'a str),
        rest: &[&str],
        route: &str,
    ) -> Result<InBucket<'a>, Problem> {
        let (domain, entry) = self.find_bucket(names)?;
        let access = match is_read(&self.parts.method) || self.parts.method == Method::OPTIONS {
            true => Access::Read,
            false => Access::Write,
        };
        // A revision is its item's: nobody takes its name for a longer key.
        let path = match route {
            "revision" | "history" => format!("/{}", rest.first().unwrap_or(&"")),
            _ => format!("/{}", rest.join("/")),
        };
        // A rename looks at its two keys, once they are known.
        let allowed = match route {
            "rename" => entry.allows_somewhere(domain, &self.principal, access),
            _ => entry.allows(domain, &self.principal, access, &path),
        };
        if !allowed {
            return Err(refuse(&self.principal));
        }
        if let (Some(key), false) = (rest.first(), matches!(route, "changes" | "rename")) {
            check_item(key)?;
        }
        let open = self.app.catalog.open_bucket(names.0, entry).await?;
        let caller = Caller {
            user: self.principal.user.clone(),
            authorisations: authorisations(&self.principal, self.parts)?,
        };
        Ok(InBucket { call: self, names, entry, open, caller })
    }
}

/// Looks again whether a stream may go on: its caller's rights may have ended since it began.
pub(super) struct Watch {
    app: Arc<App>,
    parts: Parts,
    names: (String, String),
    access: Access,
    path: String,
}

impl Watch {
    /// # Errors
    /// `Forbidden` once it may not.
    pub(super) async fn look(&self) -> keyaki::Result<()> {
        let names = (&self.names.0[..], &self.names.1[..]);
        look_again(&self.app, &self.parts, names, (self.access, &self.path)).await
    }
}

/// Whether a caller whose rights were found before still has them.
async fn look_again(
    app: &Arc<App>,
    parts: &Parts,
    names: (&str, &str),
    (access, path): (Access, &str),
) -> keyaki::Result<()> {
    let ended = || keyaki::Error::forbidden("the caller's rights have ended");
    let call = app.call(parts).await.map_err(|_| ended())?;
    let (domain, entry) = call.find_bucket(names).map_err(|_| ended())?;
    match entry.allows(domain, &call.principal, access, path) {
        true => Ok(()),
        false => Err(ended()),
    }
}

fn check_item(key: &str) -> Result<(), Problem> {
    check_key(key)?;
    match key.starts_with('_') {
        true => {
            Err(Problem::bad_request("names that begin with `_` are Keyaki's own").with("key", key))
        }
        false => Ok(()),
    }
}

impl InBucket<'_> {
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.call.parts.headers
    }

    /// Looks again at rights to a path: they may end while a body is on its way.
    async fn look_again(&self, access: Access, path: &str) -> keyaki::Result<()> {
        look_again(self.call.app, self.call.parts, self.names, (access, path)).await
    }

    /// Looks again and again at rights to a path, as long as a stream lasts.
    pub(super) fn watch(&self, access: Access, path: &str) -> Watch {
        let (domain, bucket) = self.names;
        Watch {
            app: self.call.app.clone(),
            parts: self.call.parts.clone(),
            names: (domain.to_owned(), bucket.to_owned()),
            access,
            path: path.to_owned(),
        }
    }

    /// `/{key}`.
    async fn item(&self, key: &str, body: Body) -> Answer {
        match self.call.parts.method {
            Method::GET | Method::HEAD => {
                Query::parse(self.call.parts.uri.query(), &[])?;
                let found = self.open.revisions.get(&self.caller, key).await?;
                self.content(found)
            }
            Method::PUT => self.put(key, body).await,
            Method::DELETE => self.delete(key).await,
            _ => other_method(self.call.parts, "GET, HEAD, PUT, DELETE, OPTIONS"),
        }
    }

    /// `/{key}/{tid or time}`.
    async fn revision(&self, key: &str, which: &str) -> Answer {
        if !is_read(&self.call.parts.method) {
            return other_method(self.call.parts, "GET, HEAD, OPTIONS");
        }
        Query::parse(self.call.parts.uri.query(), &[])?;
        let when = match (which.parse::<Tid>(), parse_rfc3339(which)) {
            (Ok(tid), _) => When::Tid(tid),
            (_, Some(time)) => When::Time(time),
            _ => {
                return Err(Problem::bad_request(
                    "a revision is named by its tid or by an RFC 3339 time",
                )
                .with("revision", which));
            }
        };
        self.content(self.open.revisions.get_at(&self.caller, key, when).await?)
    }

    fn content(&self, found: Option<(Revision, Vec<u8>)>) -> Answer {
        let Some((revision, bytes)) = found else {
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
                .push((HeaderName::from_static("keyaki-visibility"), value(&revision.visibility)?));
        }
        let content_type = revision.stored.content_type;
        Representation { tid: Some(revision.tid), more: None, content_type, headers, bytes }
            .answer(self.call.parts)
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
            true => self.open.revisions.current(&self.caller, key).await?.map(|r| r.tid),
            false => None,
        };
        let operation = operation(self.headers(), &self.caller, action, key, parameters)?;
        Ok(Request { caller: self.caller.clone(), demands: conditions.demands(there)?, operation })
    }

    async fn put(&self, key: &str, body: Body) -> Answer {
        let only_changed = flag(self.headers(), "keyaki-only-if-changed")?;
        let (call, most) = (self.call, self.call.app.limits.body_bytes);
        let (content_type, headers) =
            (content_type(self.headers())?, stored_headers(self.headers())?);
        let visibility =
            single(self.headers(), "keyaki-visibility")?.unwrap_or_default().to_owned();
        self.caller.check_label(&visibility)?;
        let bytes = super::body::read(self.headers(), body, most).await?;
        call.app.check_digest(&call.principal, call.parts, &bytes)?;
        self.look_again(Access::Write, &format!("/{key}")).await?;
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
        answer(self.open.revisions.put(&request, key, &content, only_changed).await?)
    }

    async fn delete(&self, key: &str) -> Answer {
        let request = self.request(key, "DELETE", &[]).await?;
        let deleted = self.open.revisions.delete(&request, key).await?;
        answer(deleted)
    }

    async fn rename(&self, body: Body) -> Answer {
        if self.call.parts.method != Method::POST {
            return other_method(self.call.parts, "POST, OPTIONS");
        }
        let RenameForm { from, to } = self.call.json(body).await?;
        for key in [&from, &to] {
            check_item(key)?;
            for access in [Access::Write, Access::Read] {
                self.look_again(access, &format!("/{key}")).await?;
            }
        }
        let request = self.request(&to, "RENAME", &[from.as_bytes()]).await?;
        match self.open.revisions.rename(&request, &Rename { from, to }).await? {
            Written::Absent => {
                Err(Problem::not_found("there is nothing to rename").with("at", "/from"))
            }
            written => answer(written),
        }
    }

    /// `/{key}/`: its revisions.
    async fn history(&self, key: &str) -> Answer {
        if !is_read(&self.call.parts.method) {
            return other_method(self.call.parts, "GET, HEAD, OPTIONS");
        }
        let query = Query::parse(self.call.parts.uri.query(), &["limit", "cursor"])?;
        let of = format!("history of {:?} in {}/{}", key, self.names.0, self.names.1);
        let cursors = &self.call.app.cursors;
        let after = match query.get("cursor") {
            Some(cursor) => cursors.open(&of, cursor)?.parse().ok(),
            None => None,
        };
        let limit = super::listing::limit(&query)?;
        let page = self.open.revisions.history(&self.caller, key, after, limit).await?;
        if page.revisions.is_empty() && after.is_none() {
            return Err(Problem::not_found("there is no such item"));
        }
        let items: Vec<Value> = page.revisions.iter().map(shown).collect();
        let next = page.next.map(|tid| cursors.seal(&of, &tid.to_string())).transpose()?;
        super::listing::paged(self.call.parts, items, next)
    }
}

/// A revision as callers see it.
pub(super) fn shown(revision: &Revision) -> Value {
    let stored = &revision.stored;
    let mut shown = Map::new();
    shown.insert("tid".to_owned(), json!(revision.tid.to_string()));
    shown.insert("time".to_owned(), json!(time(revision.tid)));
    if !stored.content_type.is_empty() {
        shown.insert("contentType".to_owned(), json!(stored.content_type));
    }
    shown.insert("length".to_owned(), json!(stored.length));
    shown.insert("deleted".to_owned(), json!(stored.deleted));
    for (name, key) in [("renamedFrom", &stored.renamed_from), ("renamedTo", &stored.renamed_to)] {
        if let Some(key) = key {
            shown.insert(name.to_owned(), json!(key));
        }
    }
    if !revision.visibility.is_empty() {
        shown.insert("visibility".to_owned(), json!(revision.visibility));
    }
    Value::Object(shown)
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
    let mut response = written(status, revision.tid, &shown(revision))?.into_response();
    if revision.stored.deleted {
        // The tag of something that is gone is of no use to anybody.
        response.headers_mut().remove(header::ETAG);
        response.headers_mut().remove(header::LAST_MODIFIED);
    }
    Ok(response)
}

/// A header that may be there once, as text.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Problem> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Problem::bad_request("header is not plain text").with("header", name)),
        },
        (Some(_), Some(_)) => {
            Err(Problem::bad_request("header is there twice").with("header", name))
        }
    }
}

fn flag(headers: &HeaderMap, name: &str) -> Result<bool, Problem> {
    match single(headers, name)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => {
            Err(Problem::bad_request("header is neither `true` nor `false`").with("header", name))
        }
    }
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
fn operation(
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
