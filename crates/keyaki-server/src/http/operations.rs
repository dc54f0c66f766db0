//! What those who run it need: health, readiness, metrics, and what problems mean.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::body::Body;
use axum::response::IntoResponse;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use keyaki::catalog::Right;
use keyaki::cell::Time;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::answer::Representation;
use super::identify::refuse;
use super::problem::{self, Problem};
use super::shapes::{ProblemExplained, Status};
use super::{Answer, App, Call};

const REQUEST_ID_BYTES_MAX: usize = 64;
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Differs for every request of a process; a caller may bring its own.
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    let plain = |id: &&HeaderValue| {
        (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    headers.get(&REQUEST_ID).filter(plain).cloned().unwrap_or_else(new_request_id)
}

fn new_request_id() -> HeaderValue {
    static COUNTED: AtomicU64 = AtomicU64::new(0);
    // The system is asked once.
    static PROCESS: LazyLock<String> = LazyLock::new(|| format!("{:x}-", std::process::id()));
    let count = COUNTED.fetch_add(1, Relaxed);
    let mut id = Vec::with_capacity(REQUEST_ID_BYTES_MAX);
    id.extend_from_slice(PROCESS.as_bytes());
    // Hexadecimal, without the zeros before it.
    let digits = (64 - (count | 1).leading_zeros()).div_ceil(4);
    let digit = |at| b"0123456789abcdef"[(count >> (4 * at)) as usize & 0xf];
    id.extend((0..digits).rev().map(digit));
    HeaderValue::from_bytes(&id).expect("hexadecimal digits are plain text")
}

pub fn health(parts: &Parts) -> Answer {
    Representation::json(None, &Status { status: "alive" }).answer(parts)
}

/// `/problems/{slug}`: what a kind of problem means.
pub fn explain(parts: &Parts, slug: &str) -> Answer {
    let kind = problem::KINDS.iter().find(|kind| kind.slug == slug);
    let kind = kind.ok_or_else(|| Problem::not_found("there is no such kind of problem"))?;
    let shown = ProblemExplained {
        kind: format!("/problems/{slug}"),
        title: kind.title,
        status: kind.status.as_u16(),
        meaning: kind.meaning,
    };
    Representation::json(None, &shown).answer(parts)
}

impl App {
    /// Whether requests can be answered: not while stopping, while the catalog can't be read, or once writing has stopped.
    pub(super) async fn ready(&self, parts: &Parts) -> Answer {
        if !self.ready.load(Relaxed) {
            return Err(not_ready("the server is stopping"));
        }
        self.catalog.check_ready().await.map_err(|error| {
            tracing::warn!(%error, "not ready");
            not_ready("the store can't be read or written to")
        })?;
        Representation::json(None, &Status { status: "ready" }).answer(parts)
    }
}

fn not_ready(detail: &str) -> Problem {
    Problem::new(&problem::UNAVAILABLE, detail)
        .with_header(header::RETRY_AFTER, HeaderValue::from_static("5"))
}

impl Call<'_> {
    /// `/metrics`, for admins unless it is configured to be public.
    pub(super) async fn metrics(&self) -> Answer {
        if !self.app.metrics_public
            && !self.snapshot.permits(&self.principal, Right::Administer, None)
        {
            return Err(refuse(&self.principal));
        }
        let text = self.app.metrics.render(self.app.catalog.backends()).await;
        let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
        Ok((StatusCode::OK, kind, Body::from(text)).into_response())
    }
}

/// A commit's time as people and programs read it.
pub fn rfc3339(time: Time) -> String {
    let nanos = i128::from(time.micros()) * 1_000;
    let date =
        OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    date.format(&Rfc3339).unwrap_or_default()
}

/// The other way round. There is no time before 1970 here: whatever was then was at its beginning.
pub fn parse_rfc3339(text: &str) -> Option<Time> {
    let date = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let micros = date.unix_timestamp_nanos().max(0) / 1_000;
    u64::try_from(micros).ok().map(Time::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_ids_of_their_own() {
        let (first, second) = (new_request_id(), new_request_id());
        assert_ne!(first, second);
        let text = first.to_str().unwrap();
        let (process, count) = text.split_once('-').unwrap();
        assert_eq!(u32::from_str_radix(process, 16), Ok(std::process::id()));
        assert_eq!(format!("{:x}", u64::from_str_radix(count, 16).unwrap()), count);
    }

    #[test]
    fn times_are_read_and_written_alike() {
        let time = Time::from_micros(1_700_000_000_123_456);
        assert_eq!(rfc3339(time), "2023-11-14T22:13:20.123456Z");
        assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        assert_eq!(parse_rfc3339("2023-11-15T00:13:20.123456+02:00"), Some(time));
        assert_eq!(parse_rfc3339("1960-01-01T00:00:00Z"), Some(Time::from_micros(0)));
        for bad in ["", "2023-11-14", "2023-11-14T22:13:20", "now"] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
