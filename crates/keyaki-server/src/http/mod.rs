//! HTTP. A request is decoded once, its route found in the table of `routes`, its caller found out, and one handler
//! answers; whatever goes wrong on the way becomes a problem document here.

mod answer;
mod body;
mod bounds;
mod catalog;
mod changes;
mod conditions;
mod cors;
mod cursor;
mod describe;
mod docs;
mod graph;
mod headers;
mod identify;
mod inside;
mod json;
mod listing;
mod located;
mod metrics;
mod operations;
mod pace;
mod path;
mod problem;
mod range;
mod revisions;
mod routes;
mod sent_back;
mod server;
mod shapes;
mod streams;
mod to_the_end;
mod tokens;
mod wire;

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body::Body as _;
use keyaki::catalog::{Catalog, Principal, Snapshot};
use keyaki::cell::WallClock;
use keyaki::cell::visibility::Authorisations;

use crate::access::jwt::JwtKeys;
use crate::access::signature::Signed;
use crate::config::Limits;
pub use bounds::Bounds;
pub use cors::Cors;
pub use cursor::Cursors;
pub use docs::description;
use identify::{HasBody, Identity, authorisations};
pub use metrics::Metrics;
use path::Path;
pub use path::encode;
use problem::Problem;
use routes::Of;
pub use server::Server;
pub use tokens::new_token;

/// What handlers share.
pub struct App {
    pub catalog: Catalog,
    pub clock: Arc<dyn WallClock>,
    pub cursors: Cursors,
    pub jwt: Option<JwtKeys>,
    pub limits: Limits,
    pub bounds: Bounds,
    pub scheme: &'static str,
    pub metrics: Metrics,
    pub metrics_public: bool,
    pub cors: Cors,
    pub ready: std::sync::atomic::AtomicBool,
    /// `/openapi.json`.
    pub description: Bytes,
}

/// A request whose caller is known.
struct Call<'a> {
    app: &'a Arc<App>,
    parts: &'a Parts,
    snapshot: Arc<Snapshot>,
    principal: Principal,
    /// What of the cells it may see.
    authorisations: Authorisations,
    signed: Vec<Signed>,
}

type Answer = Result<Response, Problem>;

impl App {
    fn now_seconds(&self) -> u64 {
        self.clock.now_us() / 1_000_000
    }

    /// Answers a request, always.
    pub async fn answer(self: &Arc<Self>, request: Request<Body>) -> Response {
        let begun = Instant::now();
        let (mut parts, body) = request.into_parts();
        if let Some(preflight) = self.cors.preflight(&parts) {
            return self.finish(&parts, begun, ("preflight", Ok(preflight)));
        }
        // It asks about the server as a whole.
        if parts.method == Method::OPTIONS && parts.uri.path() == "*" {
            let nothing = StatusCode::NO_CONTENT.into_response();
            return self.finish(&parts, begun, ("server", Ok(nothing)));
        }
        if !body.is_end_stream() {
            parts.extensions.insert(HasBody);
        }
        let answering = async {
            match self.locate(&parts).await {
                Ok(path) => self.route(&parts, &path, body).await,
                Err(problem) => ("unknown", Err(problem)),
            }
        };
        let answered = AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(|_| {
            ("unknown", Err(Problem::new(&problem::INTERNAL, "the request was interrupted")))
        });
        self.finish(&parts, begun, answered)
    }

    /// Refuses a request that is not looked at any further; `why` is its route for metrics.
    pub fn refuse(&self, request: Request<Body>, why: &'static str, problem: Problem) -> Response {
        let (parts, _) = request.into_parts();
        self.finish(&parts, Instant::now(), (why, Err(problem)))
    }

    /// What every answer has, whatever it is to; and writes down that it was given.
    fn finish(
        &self,
        parts: &Parts,
        begun: Instant,
        (route, answered): (&'static str, Answer),
    ) -> Response {
        let id = operations::request_id(&parts.headers);
        let mut response = match answered {
            Ok(response) => response,
            Err(problem) => {
                problem.log(id.to_str().unwrap_or_default());
                let response = problem.into_response_at(parts.uri.path());
                without_body_for_head(parts, response)
            }
        };
        let headers = response.headers_mut();
        self.cors.mark(&parts.headers, headers);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // Whatever says nothing of caches was meant for this caller alone.
        let alone = || HeaderValue::from_static("no-store");
        headers.entry(header::CACHE_CONTROL).or_insert_with(alone);
        headers.insert(operations::REQUEST_ID.clone(), id.clone());
        let (status, took) = (response.status(), begun.elapsed());
        self.metrics.count(&parts.method, route, status, took);
        let (method, path) = (&parts.method, parts.uri.path());
        let id = id.to_str().unwrap_or_default();
        tracing::info!(%id, %method, path, route, status = status.as_u16(), ?took, "answered");
        response
    }

    /// The path, with the host's bucket and domain before it if the host names one.
    async fn locate<'r>(&self, parts: &'r Parts) -> Result<Path<'r>, Problem> {
        if parts.uri.path().len() > self.limits.uri_bytes {
            return Err(Problem::new(&problem::URI_TOO_LONG, "the address is too long"));
        }
        let expected = parts.headers.get_all(header::EXPECT);
        if expected.iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
            return Err(Problem::new(&problem::EXPECTATION, "only 100-continue can be expected"));
        }
        let mut path = Path::parse(parts.uri.path())?;
        let mut hosts = parts.headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() {
            return Err(Problem::bad_request("there are two Host headers"));
        }
        if path.segments.first().is_some_and(|first| first == "v1") {
            return Ok(path);
        }
        let host = parts.uri.authority().map(|authority| authority.as_str()).or(host);
        let name = host.map(|host| {
            let name = host.split(':').next().unwrap_or_default();
            name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
        });
        if let Some((bucket, domain)) = name.as_deref().and_then(|name| name.split_once('.')) {
            let snapshot = self.catalog.snapshot().await?;
            if snapshot.domains.get(domain).is_some_and(|d| d.buckets.contains_key(bucket)) {
                let front = ["v1", domain, bucket].map(|name| Cow::Owned(name.to_owned()));
                path.segments.splice(0..0, front);
            }
        }
        Ok(path)
    }

    /// Where a request leads, for metrics, and what comes of it.
    async fn route(
        self: &Arc<Self>,
        parts: &Parts,
        path: &Path<'_>,
        body: Body,
    ) -> (&'static str, Answer) {
        // One state of the catalog for all of it.
        let snapshot = match routes::names(path) {
            None => None,
            Some(_) => match self.catalog.snapshot().await {
                Ok(snapshot) => Some(snapshot),
                Err(error) => return ("unknown", Err(error.into())),
            },
        };
        let bucket = snapshot.as_deref().and_then(|snapshot| {
            let (domain, bucket) = routes::names(path)?;
            let domain = snapshot.domains.get(domain)?;
            Some((snapshot, domain, domain.buckets.get(bucket)?))
        });
        let kind = bucket.map(|(_, _, entry)| Of::kind(&entry.record.settings.kind));
        let mut found = routes::find(path, kind, &parts.method);
        // What methods there are is told to anybody; what type a bucket is of, to those who may know of it.
        if let Some((snapshot, domain, entry)) = bucket
            && found.as_ref().is_some_and(|found| !found.has(&parts.method))
            && !self
                .identify(snapshot, parts)
                .is_ok_and(|known| entry.is_seen_by(domain, &known.principal))
        {
            found = routes::find(path, None, &parts.method);
        }
        match found {
            Some(found) => (found.name(), found.run(self, parts, snapshot, body).await),
            None => ("unknown", Err(Problem::not_found("there is no such route"))),
        }
    }

    /// Who asks, by the catalog as it is now.
    async fn call<'a>(self: &'a Arc<Self>, parts: &'a Parts) -> Result<Call<'a>, Problem> {
        self.call_by(self.catalog.snapshot().await?, parts)
    }

    fn call_by<'a>(
        self: &'a Arc<Self>,
        snapshot: Arc<Snapshot>,
        parts: &'a Parts,
    ) -> Result<Call<'a>, Problem> {
        let Identity { principal, signed } = self.identify(&snapshot, parts)?;
        let authorisations = authorisations(&principal, parts)?;
        Ok(Call { app: self, parts, snapshot, principal, authorisations, signed })
    }
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn without_body_for_head(parts: &Parts, response: Response) -> Response {
    match parts.method == Method::HEAD {
        true => {
            let (head, _) = response.into_parts();
            Response::from_parts(head, Body::empty())
        }
        false => response,
    }
}
