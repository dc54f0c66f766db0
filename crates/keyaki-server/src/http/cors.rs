//! Pages of other sites (CORS), as far as the configuration lets them in. Tokens are sent by the page itself, so no
//! credentials are ever allowed.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

const METHODS: &str = "GET, HEAD, PUT, POST, DELETE, OPTIONS";
const EXPOSED: &str = "accept-ranges, content-disposition, content-range, etag, last-modified, link, location, \
                       retry-after, x-request-id, idempotency-replayed, keyaki-session, keyaki-unchanged, \
                       keyaki-visibility";
/// Anybody's pages.
const ANY: &str = "*";

/// Whose pages may ask.
#[derive(Debug, Clone, Default)]
pub struct Cors {
    origins: Vec<String>,
}

impl Cors {
    pub fn new(origins: Vec<String>) -> Self {
        Self { origins }
    }

    /// The answer to a browser that asks whether it may ask; [`Self::mark`] says who may.
    pub fn preflight(&self, parts: &Parts) -> Option<Response> {
        let asks = parts.method == Method::OPTIONS
            && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        asks.then(|| self.allowed(&parts.headers)).flatten()?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        headers.insert(header::VARY, HeaderValue::from_static("access-control-request-headers"));
        if let Some(wanted) = parts.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        Some((StatusCode::NO_CONTENT, headers, Body::empty()).into_response())
    }

    /// Lets the page read an answer.
    pub fn mark(&self, asked: &HeaderMap, answer: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        answer.append(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = self.allowed(asked) {
            answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
    }

    fn allowed(&self, asked: &HeaderMap) -> Option<HeaderValue> {
        let origin = asked.get(header::ORIGIN)?;
        let known = |known: &String| known == ANY || known.as_bytes() == origin.as_bytes();
        self.origins.iter().any(known).then(|| origin.clone())
    }
}
