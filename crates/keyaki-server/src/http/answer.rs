//! Answers: entity tags, compression on request, and what every answer has.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::SystemTime;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use httpdate::HttpDate;
use keyaki::cell::{Tid, Time};
use serde::Serialize;

use super::conditions::{Conditions, GZIP_SUFFIX, Verdict, in_seconds};
use super::problem::{self, Problem};
use super::range::{self, Part};
use super::streams::EVENTS;

/// By what answers differ.
pub const VARY: &str = "accept, accept-encoding, authorization, keyaki-auths";
/// Smaller ones gain nothing.
const COMPRESSED_FROM: usize = 512;
/// Room for as many headers as most answers have.
const HEADERS: usize = 12;
/// As long as every date is.
const DATE_BYTES: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// How far whoever has this answer has seen.
pub static SESSION: HeaderName = HeaderName::from_static("keyaki-session");

/// Something to answer a GET or HEAD with.
pub struct Representation {
    pub tid: Option<Tid>,
    /// What the tag says of that which changes on its own.
    pub more: Option<String>,
    /// When it last changed, if that can be told.
    pub modified: Option<Time>,
    pub content_type: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub bytes: Vec<u8>,
    /// When parts of it are asked for, if they may be.
    pub in_parts: Option<SystemTime>,
}

impl Representation {
    pub fn json(tid: Option<Tid>, shown: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(shown).expect("what is shown is JSON");
        let content_type = "application/json".to_owned();
        let (modified, headers) = (tid.map(|tid| tid.time()), Vec::new());
        Self { tid, more: None, modified, content_type, headers, bytes, in_parts: None }
    }

    /// Looks at the request's conditions, and at what it accepts.
    pub fn answer(self, request: &Parts) -> Result<Response, Problem> {
        let conditions = Conditions::parse(&request.headers)?;
        refuse_unacceptable(&request.headers, &self.content_type)?;
        let mut text = [0; Tid::TEXT_BYTES];
        let tid = self.tid.as_ref().map_or("", |tid| tid.encode(&mut text));
        let tag = match &self.more {
            Some(more) if self.tid.is_some() => Cow::Owned(format!("{tid}/{more}")),
            _ => Cow::Borrowed(tid),
        };
        let verdict = match self.tid {
            Some(_) => conditions.on_read(&tag, self.modified),
            None => conditions.on_untagged(),
        };
        if verdict == Verdict::Failed {
            return Err(Problem::unmet());
        }
        let by_parts = self.in_parts.is_some() && range::is_asked_for(request);
        let length = if by_parts { 0 } else { self.bytes.len() };
        let codings = Codings::accepted(&request.headers)?;
        let mut gzip = codings.choose_gzip(&self.content_type, length);
        // Of the two, the one that the caller has already is the better choice.
        let has_other = conditions.have(&tag, !gzip) && !conditions.have(&tag, gzip);
        if has_other && codings.allow(!gzip) {
            gzip = !gzip;
        }
        let unchanged = verdict == Verdict::NotModified
            && (conditions.have(&tag, gzip) || !conditions.have_tags());
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(header::VARY, HeaderValue::from_static(VARY));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if self.tid.is_some() {
            let suffix = if gzip { GZIP_SUFFIX } else { "" };
            headers.insert(header::ETAG, value(["\"", &tag, suffix, "\""].concat())?);
        }
        if let Some(modified) = self.modified {
            headers.insert(header::LAST_MODIFIED, value(last_modified(modified))?);
        }
        if unchanged {
            return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
        }
        headers.insert(header::CONTENT_TYPE, value(self.content_type)?);
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        let bytes = match gzip {
            true => {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                compress(&self.bytes)
            }
            false => self.bytes,
        };
        let (mut status, mut bytes) = (StatusCode::OK, Bytes::from(bytes));
        if let (Some(now), Some(tid), false) = (self.in_parts, self.tid, gzip) {
            headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            let length = bytes.len();
            match range::part(request, (tid, &tag), length, now) {
                Part::Whole => {}
                Part::Nothing => return Err(range::unsatisfiable(length)?),
                Part::Bytes(part) => {
                    status = StatusCode::PARTIAL_CONTENT;
                    let said = format!("bytes {}-{}/{length}", part.start, part.end - 1);
                    headers.insert(header::CONTENT_RANGE, value(said)?);
                    bytes = bytes.slice(part);
                }
            }
        }
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        let body = if request.method == Method::HEAD { Body::empty() } else { Body::from(bytes) };
        Ok(respond(status, headers, body))
    }
}

/// An answer of these parts, as they are: nothing is merged into anything.
fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The answer to a write: what is there now.
pub fn written(status: StatusCode, tid: Tid, shown: &impl Serialize) -> Result<Response, Problem> {
    written_as(status, (tid, None), shown)
}

/// The same, of something whose tag says more.
pub fn written_as(
    status: StatusCode,
    (tid, more): (Tid, Option<&str>),
    shown: &impl Serialize,
) -> Result<Response, Problem> {
    let mut headers = HeaderMap::with_capacity(HEADERS);
    let tag = match more {
        Some(more) => format!("\"{tid}/{more}\""),
        None => super::conditions::etag(tid),
    };
    headers.insert(header::ETAG, value(tag)?);
    headers.insert(header::LAST_MODIFIED, value(last_modified(tid.time()))?);
    headers.insert(SESSION.clone(), value(tid.to_string())?);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let bytes = serde_json::to_vec(shown).expect("what is shown is JSON");
    Ok(respond(status, headers, Body::from(bytes)))
}

/// The answer to a deletion that leaves nothing to show.
pub fn gone(tid: Tid) -> Result<Response, Problem> {
    let mut headers = HeaderMap::with_capacity(HEADERS);
    headers.insert(SESSION.clone(), value(tid.to_string())?);
    Ok(respond(StatusCode::NO_CONTENT, headers, Body::empty()))
}

pub fn value(text: String) -> Result<HeaderValue, Problem> {
    let plain = Some(text).filter(|text| text.is_ascii());
    plain
        .and_then(|text| HeaderValue::try_from(text).ok())
        .ok_or_else(|| Problem::new(&problem::INTERNAL, "a header can't be written"))
}

fn last_modified(time: Time) -> String {
    let date = HttpDate::from(in_seconds(time));
    let mut text = String::with_capacity(DATE_BYTES);
    write!(text, "{date}").expect("a string can be written to");
    text
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written to")
}

/// How a caller takes an answer.
pub struct Codings {
    plain: bool,
    gzip: bool,
    rather_gzip: bool,
}

impl Codings {
    pub fn accepted(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(accepted) = joined(headers, &header::ACCEPT_ENCODING) else {
            return Ok(Self { plain: true, gzip: false, rather_gzip: false });
        };
        let quality = |name: &str| {
            let mut any = None;
            for (coding, quality) in weighted(&accepted) {
                if coding.eq_ignore_ascii_case(name) {
                    return Some(quality);
                }
                if coding == "*" {
                    any = Some(quality);
                }
            }
            any
        };
        let gzip = quality("gzip").or(quality("x-gzip")).unwrap_or(0);
        let plain = quality("identity");
        if gzip == 0 && plain == Some(0) {
            return Err(Problem::new(&problem::NOT_ACCEPTABLE, "no acceptable content coding")
                .with("header", "accept-encoding"));
        }
        let rather_gzip = gzip >= plain.unwrap_or(0);
        Ok(Self { plain: plain != Some(0), gzip: gzip > 0, rather_gzip })
    }

    fn allow(&self, gzip: bool) -> bool {
        if gzip { self.gzip } else { self.plain }
    }

    /// Whether an answer is to be compressed.
    pub fn choose_gzip(&self, content_type: &str, length: usize) -> bool {
        let pays = || length >= COMPRESSED_FROM && is_compressible(content_type);
        !self.plain || (self.gzip && self.rather_gzip && pays())
    }
}

/// Events are short and come one by one: they gain nothing.
fn is_compressible(content_type: &str) -> bool {
    let essence = essence(content_type);
    (essence.starts_with("text/") && essence != EVENTS)
        || ["json", "xml", "javascript", "+json", "+xml", "svg"]
            .iter()
            .any(|end| essence.ends_with(end))
}

fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Refuses to give what the caller does not accept.
pub fn refuse_unacceptable(headers: &HeaderMap, content_type: &str) -> Result<(), Problem> {
    match accepts(headers, content_type) {
        true => Ok(()),
        false => Err(Problem::new(&problem::NOT_ACCEPTABLE, "not in a form that you accept")
            .with("available", content_type)),
    }
}

/// Whether the header `Accept`, if it says anything, allows this type. The most specific range decides.
pub fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    let Some(accepted) = joined(headers, &header::ACCEPT) else { return true };
    if weighted(&accepted).next().is_none() {
        return true;
    }
    let essence = essence(content_type);
    let (main, _) = essence.split_once('/').unwrap_or((&essence, ""));
    let mut best = None;
    for (range, quality) in weighted(&accepted) {
        let range = range.to_ascii_lowercase();
        let specific = match &range[..] {
            range if range == essence => 2,
            "*/*" | "*" => 0,
            range if range.strip_suffix("/*") == Some(main) => 1,
            _ => continue,
        };
        if best.is_none_or(|(before, _)| specific >= before) {
            best = Some((specific, quality));
        }
    }
    best.is_some_and(|(_, quality)| quality > 0)
}

/// Whether this type is named in `Accept`, not only allowed by a wildcard, and JSON is not liked better.
pub fn asks_for(headers: &HeaderMap, content_type: &str) -> bool {
    let Some(accepted) = joined(headers, &header::ACCEPT) else { return false };
    let quality = |name: &str| {
        let named = weighted(&accepted).filter(|(range, _)| range.eq_ignore_ascii_case(name));
        named.map(|(_, quality)| quality).max().unwrap_or(0)
    };
    let wanted = quality(content_type);
    wanted > 0 && wanted >= quality("application/json")
}

fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// Elements with their weights in thousandths, other parameters left out.
fn weighted(list: &str) -> impl Iterator<Item = (&str, u32)> {
    list.split(',').map(str::trim).filter(|element| !element.is_empty()).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
        (name, (weight.clamp(0.0, 1.0) * 1000.0) as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, text.parse().unwrap());
        headers
    }

    #[test]
    fn the_most_specific_range_decides() {
        for (accept, allowed) in [
            ("*/*", true),
            ("text/*", true),
            ("text/plain", true),
            ("application/json", false),
            ("*/*, text/plain;q=0", false),
            ("text/*;q=0, text/plain", true),
            ("text/html, */*;q=0.1", true),
            ("", true),
        ] {
            assert_eq!(
                accepts(&headers("accept", accept), "text/plain; charset=utf-8"),
                allowed,
                "{accept}"
            );
        }
    }

    #[test]
    fn compression_is_asked_for() {
        let wants = |text: &str| {
            let codings = Codings::accepted(&headers("accept-encoding", text))?;
            Ok::<_, Problem>(codings.choose_gzip("text/plain", 5000))
        };
        assert!(wants("gzip").is_ok_and(|wants| wants));
        assert!(wants("br, *").is_ok_and(|wants| wants));
        assert!(wants("gzip;q=0").is_ok_and(|wants| !wants));
        assert!(wants("br").is_ok_and(|wants| !wants));
        assert!(wants("identity;q=0").is_err());
        assert!(wants("identity;q=0, gzip").is_ok_and(|wants| wants));
        assert!(wants("identity, gzip;q=0.5").is_ok_and(|wants| !wants));
    }
}
