//! The route table: our whole HTTP surface on one screen. A request is decoded once, its caller found out, and one
//! handler answers; whatever goes wrong on the way becomes a problem document here.

mod answer;
mod body;
mod catalog;
mod changes;
mod conditions;
mod cors;
mod cursor;
mod identify;
mod json;
mod listing;
mod metrics;
mod operations;
mod path;
mod problem;
mod revisions;
mod server;
mod tokens;

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body::Body as _;
use keyaki::catalog::{Catalog, Principal, Snapshot};
use keyaki::cell::WallClock;

use crate::access::jwt::JwtKeys;
use crate::config::Limits;
pub use cors::Cors;
pub use cursor::Cursors;
use identify::HasBody;
pub use metrics::Metrics;
use path::Path;
use problem::Problem;
pub use server::Server;
pub use tokens::new_token;

/// What handlers share.
pub struct App {
    pub catalog: Catalog,
    pub clock: Arc<dyn WallClock>,
    pub cursors: Cursors,
    pub jwt: Option<JwtKeys>,
    pub limits: Limits,
    pub scheme: &'static str,
    pub metrics: Metrics,
    pub metrics_public: bool,
    pub cors: Cors,
    pub ready: std::sync::atomic::AtomicBool,
}

/// A request whose caller is known.
struct Call<'a> {
    app: &'a Arc<App>,
    parts: &'a Parts,
    snapshot: Arc<Snapshot>,
    principal: Principal,
}

type Answer = Result<Response, Problem>;

impl App {
    fn now_seconds(&self) -> u64 {
        self.clock.now_us() / 1_000_000
    }

    /// Answers a request, always.
    pub async fn answer(self: &Arc<Self>, request: Request<Body>) -> Response {
        let begun = Instant::now();
        let _in_flight = self.metrics.requests.enter();
        let (mut parts, body) = request.into_parts();
        if let Some(preflight) = self.cors.preflight(&parts) {
            return preflight;
        }
        if !body.is_end_stream() {
            parts.extensions.insert(HasBody);
        }
        let id = operations::request_id(&parts.headers);
        let (route, answered) = match self.locate(&parts).await {
            Ok(path) => self.route(&parts, &path, body).await,
            Err(problem) => ("unknown", Err(problem)),
        };
        let mut response = match answered {
            Ok(response) => response,
            Err(problem) => {
                let response = problem.into_response_at(parts.uri.path());
                without_body_for_head(&parts, response)
            }
        };
        let headers = response.headers_mut();
        self.cors.mark(&parts.headers, headers);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert("x-request-id", id);
        }
        let (status, took) = (response.status(), begun.elapsed());
        self.metrics.count(&parts.method, route, status, took);
        let (method, path) = (&parts.method, parts.uri.path());
        tracing::info!(%id, %method, path, route, status = status.as_u16(), ?took, "answered");
        response
    }

    /// The path, with the host's bucket and domain before it if the host names one.
    async fn locate(&self, parts: &Parts) -> Result<Path, Problem> {
        if parts.uri.path().len() > self.limits.uri_bytes {
            return Err(Problem::new(&problem::URI_TOO_LONG, "the address is too long"));
        }
        let mut path = Path::parse(parts.uri.path())?;
        let mut hosts = parts.headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() {
            return Err(Problem::bad_request("there are two Host headers"));
        }
        let host = parts.uri.authority().map(|authority| authority.as_str()).or(host);
        let name = host.map(|host| {
            let name = host.split(':').next().unwrap_or_default();
            name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
        });
        if let Some((bucket, domain)) = name.as_deref().and_then(|name| name.split_once('.'))
            && path.segments.first().is_none_or(|first| first != "v1")
        {
            let snapshot = self.catalog.snapshot().await?;
            if snapshot.domains.get(domain).is_some_and(|d| d.buckets.contains_key(bucket)) {
                let front = ["v1", domain, bucket].map(str::to_owned);
                path.segments.splice(0..0, front);
            }
        }
        Ok(path)
    }

    /// Every route there is. The name is for metrics.
    async fn route(
        self: &Arc<Self>,
        parts: &Parts,
        path: &Path,
        body: Body,
    ) -> (&'static str, Answer) {
        let segments = path.as_strs();
        let (name, answer) = match &segments[..] {
            ["healthz"] => return ("healthz", operations::health(parts)),
            ["readyz"] => return ("readyz", self.ready(parts)),
            ["problems", slug] => return ("problems", operations::explain(parts, slug)),
            _ => match self.call(parts).await {
                Err(problem) => return ("unknown", Err(problem)),
                Ok(call) => match &segments[..] {
                    ["metrics"] => ("metrics", call.metrics().await),
                    ["v1"] => ("domains", call.domains().await),
                    ["v1", "_tokens"] => ("tokens", call.tokens(body).await),
                    ["v1", "_tokens", id] => ("token", call.token(id).await),
                    ["v1", "_services"] => ("services", call.services()),
                    ["v1", "_services", key] => ("service", call.service(key, body).await),
                    ["v1", domain] => ("domain", call.domain(domain, body).await),
                    ["v1", domain, bucket] if !path.slash => {
                        ("bucket", call.bucket((domain, bucket), body).await)
                    }
                    ["v1", domain, bucket, rest @ ..] => {
                        call.in_bucket((domain, bucket), rest, path.slash, body).await
                    }
                    _ => ("unknown", Err(Problem::not_found("there is no such route"))),
                },
            },
        };
        (name, answer)
    }

    async fn call<'a>(self: &'a Arc<Self>, parts: &'a Parts) -> Result<Call<'a>, Problem> {
        let snapshot = self.catalog.snapshot().await?;
        let principal = self.identify(&snapshot, parts)?;
        Ok(Call { app: self, parts, snapshot, principal })
    }
}

/// The answer to a method that a resource doesn't have, or to OPTIONS.
fn other_method(parts: &Parts, allowed: &'static str) -> Answer {
    let allow = HeaderValue::from_static(allowed);
    if parts.method == Method::OPTIONS {
        return Ok((StatusCode::NO_CONTENT, [(header::ALLOW, allow)]).into_response());
    }
    Err(Problem::new(&problem::METHOD_NOT_ALLOWED, "this resource has no such method")
        .with("method", parts.method.as_str())
        .with_header(header::ALLOW, allow))
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
