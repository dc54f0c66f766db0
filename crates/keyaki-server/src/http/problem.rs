//! Problem details (RFC 9457): every answer that is not what was asked for. The only file that knows which number
//! means what.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use keyaki::Kind;
use serde_json::{Map, Value, json};

/// As RFC 6750 has it: another token may be allowed more.
const NOT_ENOUGH: &str = "Bearer realm=\"keyaki\", error=\"insufficient_scope\"";

/// A kind of problem: its slug, its status, its title, and what it means.
#[derive(Debug)]
pub struct ProblemKind {
    pub slug: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    pub meaning: &'static str,
}

macro_rules! kinds {
    ($($name:ident $slug:literal $status:ident $title:literal $meaning:literal)*) => {
        $(pub static $name: ProblemKind = ProblemKind {
            slug: $slug, status: StatusCode::$status, title: $title, meaning: $meaning,
        };)*
        pub static KINDS: &[&ProblemKind] = &[$(&$name),*];
    };
}

kinds! {
    BAD_REQUEST "bad-request" BAD_REQUEST "The request can't be understood"
        "Something about the request itself is malformed; `detail` says what, `at` says where."
    UNAUTHENTICATED "unauthenticated" UNAUTHORIZED "Who are you?"
        "The request needs a token, or the one it has is not valid."
    FORBIDDEN "forbidden" FORBIDDEN "You may not do that"
        "The caller is known, and nothing allows it what it asks for."
    NOT_FOUND "not-found" NOT_FOUND "There is nothing here"
        "There is no such thing, or none that the caller may see."
    METHOD_NOT_ALLOWED "method-not-allowed" METHOD_NOT_ALLOWED "That can't be done here"
        "The resource has no such method; the header `Allow` lists those it has."
    NOT_ACCEPTABLE "not-acceptable" NOT_ACCEPTABLE "Not in a form that you accept"
        "Nothing that the header `Accept` or `Accept-Encoding` allows can be given."
    TIMEOUT "request-timeout" REQUEST_TIMEOUT "The request took too long to arrive"
        "The head or the body did not arrive in time."
    CONFLICT "conflict" CONFLICT "Somebody else was faster, or has the name"
        "Read again and retry."
    PRECONDITION_FAILED "precondition-failed" PRECONDITION_FAILED "A condition does not hold"
        "`If-Match`, `If-None-Match` or `If-Unmodified-Since` does not hold; nothing was changed."
    TOO_LARGE "content-too-large" PAYLOAD_TOO_LARGE "Too large"
        "The body is larger than this server takes."
    URI_TOO_LONG "uri-too-long" URI_TOO_LONG "The address is too long"
        "The request target is longer than this server takes."
    UNSUPPORTED_TYPE "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "Not in a form that is understood here"
        "`Content-Type` or `Content-Encoding` is none that can be used here."
    UNSATISFIABLE "range-not-satisfiable" RANGE_NOT_SATISFIABLE "There is no such part"
        "The content has no byte in the range that was asked for; `Content-Range` tells its length."
    EXPECTATION "expectation-failed" EXPECTATION_FAILED "That can't be expected here"
        "The header `Expect` may say `100-continue`, and nothing else."
    INVALID "invalid-content" UNPROCESSABLE_ENTITY "The content is not as it must be"
        "The body can be read, but says something that is not allowed; `at` says where."
    PRECONDITION_REQUIRED "precondition-required" PRECONDITION_REQUIRED "A condition is required"
        "The bucket demands `If-Match` or `If-None-Match` on every write."
    HEADERS_TOO_LARGE "headers-too-large" REQUEST_HEADER_FIELDS_TOO_LARGE "The headers are too large"
        "A header field, or all of them together, is larger than this server takes."
    INTERNAL "internal" INTERNAL_SERVER_ERROR "Something broke here"
        "It is not the caller's fault; the log has more under the request's id."
    UNSUPPORTED "unsupported" NOT_IMPLEMENTED "This server can't do that"
        "It was built or configured without it."
    UNAVAILABLE "unavailable" SERVICE_UNAVAILABLE "Not now"
        "Wait as long as `Retry-After` says, and retry."
    VERSION "version-not-supported" HTTP_VERSION_NOT_SUPPORTED "Not in this version of HTTP"
        "The server speaks HTTP/1.0, HTTP/1.1 and HTTP/2."
    FULL "quota-exceeded" INSUFFICIENT_STORAGE "There is no room for that"
        "A quota would be exceeded; `quota` says which, `of` whose."
}

/// A problem with this request.
#[derive(Debug)]
pub struct Problem {
    kind: &'static ProblemKind,
    detail: String,
    context: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// For the log alone.
    cause: Option<keyaki::Error>,
}

impl Problem {
    pub fn new(kind: &'static ProblemKind, detail: impl Into<String>) -> Self {
        let (detail, context) = (detail.into(), Map::new());
        Self { kind, detail, context, headers: Vec::new(), cause: None }
    }

    pub fn bad_request(detail: &str) -> Self {
        Self::new(&BAD_REQUEST, detail)
    }

    pub fn not_found(detail: &str) -> Self {
        Self::new(&NOT_FOUND, detail)
    }

    pub fn unmet() -> Self {
        Self::new(&PRECONDITION_FAILED, "a condition of the request does not hold")
    }

    /// For whoever may come back in a moment.
    pub fn busy(detail: &str) -> Self {
        let busy = Self::new(&UNAVAILABLE, detail);
        busy.with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.context.insert(name.to_owned(), Value::String(value.to_owned()));
        self
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Where in the body it is.
    #[cfg(test)]
    pub fn place(&self) -> Option<&str> {
        self.context.get("at").and_then(Value::as_str)
    }

    /// Writes down what is ours of it, under the request's id.
    pub fn log(&self, id: &str) {
        let detail = &self.detail;
        let error = self.cause.as_ref().map(tracing::field::display);
        match self.kind.status {
            StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(%id, detail, error, "a request failed");
            }
            StatusCode::SERVICE_UNAVAILABLE => tracing::warn!(%id, detail, error, "unavailable"),
            _ => {}
        }
    }

    /// With the path it is about.
    pub fn into_response_at(self, instance: &str) -> Response {
        let mut body = self.context;
        body.insert("type".to_owned(), json!(format!("/problems/{}", self.kind.slug)));
        body.insert("title".to_owned(), json!(self.kind.title));
        body.insert("status".to_owned(), json!(self.kind.status.as_u16()));
        body.insert("detail".to_owned(), json!(self.detail));
        body.insert("instance".to_owned(), json!(instance));
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        // Said here, for the answer to HEAD has it too.
        let length = HeaderValue::from(bytes.len());
        let mut response = (self.kind.status, Body::from(bytes)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, length);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.kind.status == StatusCode::FORBIDDEN {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(NOT_ENOUGH));
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        response
    }
}

impl From<keyaki::Error> for Problem {
    /// Users' mistakes are told with their context; what is ours goes to the log.
    fn from(error: keyaki::Error) -> Self {
        let kind = match error.kind() {
            Kind::NotFound => &NOT_FOUND,
            Kind::Conflict => &CONFLICT,
            Kind::Invalid if error.context("at").is_some() => &INVALID,
            Kind::Invalid => &BAD_REQUEST,
            Kind::Forbidden => &FORBIDDEN,
            Kind::Full => &FULL,
            Kind::Unsupported => &UNSUPPORTED,
            Kind::Unavailable => {
                let busy = Self::busy(error.message());
                return Self { cause: Some(error), ..busy };
            }
            Kind::Corrupt | Kind::Internal => {
                let told = Self::new(&INTERNAL, "the request could not be done");
                return Self { cause: Some(error), ..told };
            }
        };
        let mut problem = Self::new(kind, error.to_string());
        for name in ["at", "quota", "of", "most", "limit", "index", "operation", "reason"] {
            if let Some(value) = error.context(name) {
                problem = problem.with(name, value);
            }
        }
        problem
    }
}
