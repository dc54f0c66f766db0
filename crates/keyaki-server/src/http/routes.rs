//! The route table: our whole HTTP surface on one screen. What a path leads to, which methods it has, what `Allow` says
//! and what `/openapi.json` tells all come from here, so that none of them can differ from the others.
//!
//! The first template that fits wins. A slash at the end of a path counts only inside buckets, where `/{key}/` is not
//! `/{key}`.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::response::IntoResponse;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use keyaki::catalog::{BucketKind, Snapshot};

use super::describe::{Sketch, catalog, graph, operations as health, revisions, tokens};
use super::inside::InBucket;
use super::path::{Path, Query};
use super::problem::{self, Problem};
use super::{Answer, App, Call, is_read};
use super::{docs, operations};
use Handler::{Inside, Known, Open};

/// Somewhere to go.
pub struct Route {
    /// For metrics and logs.
    pub name: &'static str,
    pub template: &'static str,
    pub operations: Vec<Operation>,
    /// The template's; None where a parameter is.
    segments: Vec<Option<&'static str>>,
    in_bucket: bool,
    pub of: Of,
    allow: HeaderValue,
}

/// Something to do there.
pub struct Operation {
    pub method: Method,
    /// The parameters that its query may have; others are refused.
    pub query: &'static [&'static str],
    pub describe: fn(Sketch) -> Sketch,
    pub handler: Handler,
}

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// Who does it, by how much must be known before.
pub enum Handler {
    /// Nothing.
    Open(for<'a> fn(&'a App, &'a Parts, Asked<'a>) -> Answering<'a>),
    /// Who the caller is.
    Known(for<'a> fn(&'a Call<'a>, Asked<'a>) -> Answering<'a>),
    /// That the caller may use the bucket for it.
    Inside(About, for<'a> fn(&'a InBucket<'a>, Asked<'a>) -> Answering<'a>),
}

/// What a bucket's ACL is asked about.
#[derive(Clone, Copy)]
pub enum About {
    /// This path.
    Path(&'static str),
    /// The item that the path names.
    Item,
    /// What the body will name; somewhere in the bucket till then.
    Body,
    /// This path, with what the template's further parameters say in it.
    Filled(&'static str),
    /// This path, to read or to write: the chain in the body tells which.
    Chain(&'static str),
}

/// Which buckets have a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// All, or it is in none.
    Any,
    Revisions,
    Graph,
}

impl Of {
    /// That of a type.
    pub fn kind(kind: &BucketKind) -> Self {
        match kind {
            BucketKind::Revisions(_) => Self::Revisions,
            BucketKind::Graph(_) => Self::Graph,
        }
    }

    /// Whether buckets of a type have it.
    pub fn serves(self, kind: Self) -> bool {
        self == Self::Any || self == kind
    }
}

/// What a request brings.
pub struct Asked<'a> {
    /// The values of the template's parameters, in order.
    pub at: Vec<&'a str>,
    pub query: Query,
    pub body: Body,
}

const PAGE: &[&str] = &["limit", "cursor"];
const LISTING: &[&str] = &["prefix", "from", "to", "limit", "cursor"];
const FEED: &[&str] = &["since", "limit"];
const INGEST: &[&str] = &["validate", "skipInvalidElements", "map", "group", "directed"];
const ELEMENTS: &[&str] = &["split"];
const SPLITS: &[&str] = &["parts"];
const VERTEX: &[&str] = &["vertexClass"];
const NAMED_VERTEX: &[&str] = &["vertex", "vertexClass"];
const CHAIN: &[&str] = &["explain"];
const EXECUTE: About = About::Chain("/graph/operations/execute");

#[rustfmt::skip] // One line for each thing to do.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| vec![
    route("healthz", "/healthz", vec![get(health::alive, Open(|_, p, _| Box::pin(async { operations::health(p) })))]),
    route("readyz", "/readyz", vec![get(health::ready, Open(|app, p, _| Box::pin(app.ready(p))))]),
    route("problems", "/problems/{slug}", vec![get(
        health::problem,
        Open(|_, p, asked| Box::pin(async move { operations::explain(p, asked.at[0]) })),
    )]),
    route("openapi", "/openapi.json", vec![get(health::openapi, Open(|app, p, _| Box::pin(async { docs::openapi(app, p) })))]),
    route("docs", "/docs", vec![get(health::docs, Open(|_, p, _| Box::pin(async { docs::page(p) })))]),
    route("docs", "/docs/{asset}", vec![get(
        health::asset,
        Open(|_, p, asked| Box::pin(async move { docs::asset(p, asked.at[0]) })),
    )]),
    route("metrics", "/metrics", vec![get(health::metrics, Known(|call, _| Box::pin(call.metrics())))]),
    route("domains", "/v1/", vec![get(catalog::domains, Known(|call, _| Box::pin(call.domains())))]),
    route("tokens", "/v1/_tokens", vec![
        get(tokens::list, Known(|call, _| Box::pin(async { call.tokens() }))),
        post(tokens::make, Known(|call, asked| Box::pin(call.make_token(asked.body)))),
    ]),
    route("token", "/v1/_tokens/{id}", vec![
        get(tokens::show, Known(|call, asked| Box::pin(async move { call.show_token(asked.at[0]) }))),
        delete(tokens::revoke, Known(|call, asked| Box::pin(call.revoke_token(asked.at[0])))),
    ]),
    route("services", "/v1/_services", vec![get(tokens::services, Known(|call, _| Box::pin(async { call.services() })))]),
    route("service", "/v1/_services/{fingerprint}", vec![
        get(tokens::service, Known(|call, asked| Box::pin(async move { call.show_service(asked.at[0]) }))),
        put(tokens::put_service, Known(|call, asked| Box::pin(call.put_service(asked.at[0], asked.body)))),
        delete(tokens::revoke_service, Known(|call, asked| Box::pin(call.revoke_service(asked.at[0])))),
    ]),
    route("domain", "/v1/{domain}", vec![
        get(catalog::domain, Known(|call, asked| Box::pin(call.show_domain(asked.at[0])))),
        put(catalog::put_domain, Known(|call, asked| Box::pin(call.put_domain(asked.at[0], asked.body)))),
        delete(catalog::delete_domain, Known(|call, asked| Box::pin(call.delete_domain(asked.at[0])))),
    ]),
    route("bucket", "/v1/{domain}/{bucket}", vec![
        get(catalog::bucket, Known(|call, asked| Box::pin(call.show_bucket((asked.at[0], asked.at[1]))))),
        put(catalog::put_bucket, Known(|call, asked| Box::pin(call.put_bucket((asked.at[0], asked.at[1]), asked.body)))),
        delete(catalog::delete_bucket, Known(|call, asked| Box::pin(call.delete_bucket((asked.at[0], asked.at[1]))))),
    ]),
    in_revisions("listing", "/v1/{domain}/{bucket}/", vec![
        get(revisions::list, Inside(About::Path("/"), |inside, asked| Box::pin(inside.listing(asked.query)))).with(LISTING),
    ]),
    route("changes", "/v1/{domain}/{bucket}/_changes", vec![
        get(revisions::changes, Inside(About::Path("/_changes"), |inside, asked| Box::pin(inside.changes(asked.query))))
            .with(FEED),
    ]),
    in_revisions("rename", "/v1/{domain}/{bucket}/_rename", vec![
        post(revisions::rename, Inside(About::Body, |inside, asked| Box::pin(inside.rename(asked.body)))),
    ]),
    in_revisions("item", "/v1/{domain}/{bucket}/{key}", vec![
        get(revisions::read, Inside(About::Item, |inside, asked| Box::pin(inside.read(asked.at[2])))),
        put(revisions::write, Inside(About::Item, |inside, asked| Box::pin(inside.put(asked.at[2], asked.body)))),
        delete(revisions::delete, Inside(About::Item, |inside, asked| Box::pin(inside.delete(asked.at[2])))),
    ]),
    in_revisions("history", "/v1/{domain}/{bucket}/{key}/", vec![
        get(revisions::history, Inside(About::Item, |inside, asked| Box::pin(inside.history(asked.at[2], asked.query))))
            .with(PAGE),
    ]),
    in_revisions("revision", "/v1/{domain}/{bucket}/{key}/{revision}", vec![
        get(revisions::revision, Inside(About::Item, |inside, asked| Box::pin(inside.revision(asked.at[2], asked.at[3])))),
    ]),
    in_graph("elements", "/v1/{domain}/{bucket}/elements", vec![
        get(graph::read_elements, Inside(About::Path("/elements"), |inside, asked| Box::pin(inside.read_elements(asked.query))))
            .with(ELEMENTS),
        post(graph::elements, Inside(About::Path("/elements"), |inside, asked| Box::pin(inside.add_elements(asked.query, asked.body))))
            .with(INGEST),
    ]),
    in_graph("element-splits", "/v1/{domain}/{bucket}/elements/splits", vec![
        get(graph::element_splits, Inside(About::Path("/elements/splits"), |inside, asked| Box::pin(inside.element_splits(asked.query))))
            .with(SPLITS),
    ]),
    in_graph("vertices", "/v1/{domain}/{bucket}/graph/vertices", vec![
        delete(graph::erase_named, Inside(About::Path("/graph/vertices"), |inside, asked| Box::pin(inside.erase_named(asked.query))))
            .with(NAMED_VERTEX),
    ]),
    in_graph("vertex", "/v1/{domain}/{bucket}/vertices/{vertex}", vec![
        delete(graph::erase, Inside(About::Filled("/vertices/{}"), |inside, asked| Box::pin(inside.erase(asked.at[2], asked.query))))
            .with(VERTEX),
    ]),
    in_graph("execute", "/v1/{domain}/{bucket}/graph/operations/execute", vec![
        post(graph::execute, Inside(EXECUTE, |inside, asked| Box::pin(inside.execute(asked.query, asked.body)))).with(CHAIN),
    ]),
    in_graph("execute-chunked", "/v1/{domain}/{bucket}/graph/operations/execute/chunked", vec![
        post(graph::execute_chunked, Inside(EXECUTE, |inside, asked| Box::pin(inside.execute_chunked(asked.query, asked.body)))).with(CHAIN),
    ]),
    in_graph("jobs", "/v1/{domain}/{bucket}/graph/jobs", vec![
        get(graph::jobs, Inside(About::Path("/graph/jobs"), |inside, _| Box::pin(inside.jobs()))),
        post(graph::start_job, Inside(EXECUTE, |inside, asked| Box::pin(inside.start_job(asked.body)))),
    ]),
    in_graph("schedule", "/v1/{domain}/{bucket}/graph/jobs/schedule", vec![
        post(graph::schedule_job, Inside(EXECUTE, |inside, _| Box::pin(async { inside.schedule_job() }))),
    ]),
    in_graph("job", "/v1/{domain}/{bucket}/graph/jobs/{id}", vec![
        get(graph::job, Inside(About::Filled("/graph/jobs/{}"), |inside, asked| Box::pin(inside.job(asked.at[2])))),
    ]),
    in_graph("job-results", "/v1/{domain}/{bucket}/graph/jobs/{id}/results", vec![
        get(graph::job_results, Inside(About::Filled("/graph/jobs/{}/results"), |inside, asked| Box::pin(inside.job_results(asked.at[2])))),
    ]),
    in_graph("graph-schema", "/v1/{domain}/{bucket}/graph/config/schema", vec![
        get(graph::schema, Inside(About::Path("/graph/config/schema"), |inside, _| Box::pin(async { inside.graph_schema() }))),
    ]),
    in_graph("graph-config", "/v1/{domain}/{bucket}/graph/config/{topic}", vec![
        get(graph::config, Inside(About::Filled("/graph/config/{}"), |inside, asked| Box::pin(async move { inside.graph_config(asked.at[2]) }))),
    ]),
    in_graph("graph-config", "/v1/{domain}/{bucket}/graph/config/{topic}/{class}", vec![
        get(graph::config_of, Inside(About::Filled("/graph/config/{}/{}"), |inside, asked| {
            Box::pin(async move { inside.graph_config_of(asked.at[2], asked.at[3]) })
        })),
    ]),
    in_graph("graph-config", "/v1/{domain}/{bucket}/graph/config/serialisedFields/{class}/classes", vec![
        get(graph::field_classes, Inside(About::Filled("/graph/config/serialisedFields/{}/classes"), |inside, asked| {
            Box::pin(async move { inside.field_classes(asked.at[2]) })
        })),
    ]),
    in_graph("graph-operations", "/v1/{domain}/{bucket}/graph/operations", vec![
        get(graph::operations, Inside(About::Path("/graph/operations"), |inside, _| Box::pin(async { inside.operation_classes() }))),
    ]),
    in_graph("graph-operations", "/v1/{domain}/{bucket}/graph/operations/{class}", vec![
        get(graph::operation, Inside(About::Filled("/graph/operations/{}"), |inside, asked| {
            Box::pin(async move { inside.operation_details(asked.at[2]) })
        })),
    ]),
    in_graph("graph-operations", "/v1/{domain}/{bucket}/graph/operations/{class}/{about}", vec![
        get(graph::operation_about, Inside(About::Filled("/graph/operations/{}/{}"), |inside, asked| {
            Box::pin(async move { inside.operation_about(asked.at[2], asked.at[3]) })
        })),
    ]),
    in_graph("graph-properties", "/v1/{domain}/{bucket}/properties", vec![
        get(graph::properties, Inside(About::Path("/properties"), |inside, _| Box::pin(async { inside.properties() }))),
    ]),
    in_graph("graph-properties", "/v1/{domain}/{bucket}/properties/{name}", vec![
        get(graph::property, Inside(About::Filled("/properties/{}"), |inside, asked| {
            Box::pin(async move { inside.property(asked.at[2]) })
        })),
    ]),
    in_graph("graph-paths", "/v1/{domain}/{bucket}/v3/api-docs", vec![
        get(graph::paths, Inside(About::Path("/v3/api-docs"), |inside, _| Box::pin(async { inside.graph_paths() }))),
    ]),
    in_graph("graph-version", "/v1/{domain}/{bucket}/graph/version", vec![
        get(graph::version, Inside(About::Path("/graph/version"), |inside, _| Box::pin(async { inside.graph_version() }))),
    ]),
    in_graph("graph-status", "/v1/{domain}/{bucket}/graph/status", vec![
        get(graph::status, Inside(About::Path("/graph/status"), |inside, _| Box::pin(async { inside.graph_status() }))),
    ]),
]);

type Describe = fn(Sketch) -> Sketch;

fn get(describe: Describe, handler: Handler) -> Operation {
    Operation { method: Method::GET, query: &[], describe, handler }
}

fn put(describe: Describe, handler: Handler) -> Operation {
    Operation { method: Method::PUT, query: &[], describe, handler }
}

fn post(describe: Describe, handler: Handler) -> Operation {
    Operation { method: Method::POST, query: &[], describe, handler }
}

fn delete(describe: Describe, handler: Handler) -> Operation {
    Operation { method: Method::DELETE, query: &[], describe, handler }
}

impl Operation {
    fn with(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }
}

fn route(name: &'static str, template: &'static str, operations: Vec<Operation>) -> Route {
    let segments = template.split('/').filter(|segment| !segment.is_empty());
    let literal = |segment: &'static str| (!segment.starts_with('{')).then_some(segment);
    Route {
        name,
        template,
        segments: segments.map(literal).collect(),
        in_bucket: template.contains("{bucket}"),
        of: Of::Any,
        allow: allowed(&operations),
        operations,
    }
}

/// A path that only buckets of revisions have.
fn in_revisions(name: &'static str, template: &'static str, operations: Vec<Operation>) -> Route {
    Route { of: Of::Revisions, ..route(name, template, operations) }
}

/// A path that only graphs have.
fn in_graph(name: &'static str, template: &'static str, operations: Vec<Operation>) -> Route {
    Route { of: Of::Graph, ..route(name, template, operations) }
}

/// The methods of a route: what can be read has a head, and every route can be asked for this.
fn allowed(operations: &[Operation]) -> HeaderValue {
    let mut methods = Vec::new();
    for operation in operations {
        methods.push(operation.method.as_str());
        if operation.method == Method::GET {
            methods.push("HEAD");
        }
    }
    methods.push("OPTIONS");
    HeaderValue::try_from(methods.join(", ")).expect("methods are plain text")
}

impl Route {
    /// The values of the parameters, if the path is of this form.
    fn fit<'a>(&self, path: &'a Path<'_>) -> Option<Vec<&'a str>> {
        if path.segments.len() != self.segments.len() {
            return None;
        }
        // Gaffer's own client ends some paths of graphs with a slash that means nothing.
        let slash_counts = self.in_bucket && self.of != Of::Graph;
        if slash_counts && self.template.ends_with('/') != path.slash {
            return None;
        }
        let pairs = || path.segments.iter().zip(&self.segments);
        let fits = pairs().all(|(segment, wanted)| wanted.is_none_or(|wanted| wanted == segment));
        let at = || pairs().filter(|(_, wanted)| wanted.is_none()).map(|(segment, _)| &segment[..]);
        fits.then(|| at().collect())
    }

    /// Whether it has a name of its own in buckets, not only the form of items.
    fn is_named_in_bucket(&self) -> bool {
        self.segments.get(3).is_some_and(Option::is_some)
    }
}

/// Where a path leads, and with what.
pub struct Found<'a> {
    route: &'static Route,
    at: Vec<&'a str>,
}

/// Finds the way. Where a path means different things in buckets of different types, that of this type is taken. One
/// that its type has not, or not with this method, leads to where others have it by this very name, and is refused there.
pub fn find<'a>(path: &'a Path<'_>, kind: Option<Of>, method: &Method) -> Option<Found<'a>> {
    let (mut own, mut other, mut first): (Option<Found<'a>>, _, _) = (None, None, None);
    for route in ROUTES.iter() {
        let Some(at) = route.fit(path) else { continue };
        let found = Found { route, at };
        let slot = match kind.is_none_or(|kind| route.of.serves(kind)) {
            true if found.names_something() => &mut own,
            false if found.is_named_with(method) => &mut other,
            _ => &mut first,
        };
        // Of a bucket that nobody knows, what another type has by this very name may be meant.
        match slot {
            Some(before) if before.route.of == found.route.of || before.has(method) => {}
            Some(_) if !found.is_named_with(method) => {}
            slot => *slot = Some(found),
        }
        if own.as_ref().is_some_and(|own| own.has(method)) {
            return own;
        }
    }
    match method == Method::OPTIONS {
        true => own.or(other).or(first),
        false => other.or(own).or(first),
    }
}

/// Domain and bucket of a path that leads into one.
pub fn names<'a>(path: &'a Path<'_>) -> Option<(&'a str, &'a str)> {
    match &path.segments[..] {
        [version, domain, bucket, rest @ ..] if version == "v1" => {
            (!rest.is_empty() || path.slash).then_some((domain, bucket))
        }
        _ => None,
    }
}

impl Found<'_> {
    pub fn name(&self) -> &'static str {
        self.route.name
    }

    /// Whether there is such a method by this very name; which ones there are can be asked everywhere.
    fn is_named_with(&self, method: &Method) -> bool {
        self.route.is_named_in_bucket() && (self.has(method) || method == Method::OPTIONS)
    }

    /// Whether there can be what the path says: not everything can be the name of a revision.
    fn names_something(&self) -> bool {
        self.route.name != "revision" || super::revisions::when(self.at[3]).is_some()
    }

    /// Whether there is such a method.
    pub fn has(&self, method: &Method) -> bool {
        let method = if is_read(method) { &Method::GET } else { method };
        self.route.operations.iter().any(|operation| operation.method == *method)
    }

    /// Does what is asked for, by the catalog as it was looked at, if it was.
    pub async fn run(
        self,
        app: &Arc<App>,
        parts: &Parts,
        snapshot: Option<Arc<Snapshot>>,
        body: Body,
    ) -> Answer {
        let method = if is_read(&parts.method) { &Method::GET } else { &parts.method };
        let mut operations = self.route.operations.iter();
        let Some(operation) = operations.find(|operation| operation.method == *method) else {
            return self.other_method(parts);
        };
        let at = self.at;
        let query = || Query::parse(parts.uri.query(), operation.query);
        let call = async || match snapshot {
            Some(snapshot) => app.call_by(snapshot, parts),
            None => app.call(parts).await,
        };
        match operation.handler {
            Open(handler) => handler(app, parts, Asked { at, query: Query::default(), body }).await,
            Known(handler) => {
                let call = call().await?;
                handler(&call, Asked { at, query: query()?, body }).await
            }
            // Whoever may not enter is not told what else is wrong.
            Inside(about, handler) => {
                let call = call().await?;
                let inside = call.enter(&at, about, self.route.of).await?;
                handler(&inside, Asked { at, query: query()?, body }).await
            }
        }
    }

    /// The answer to a method that a resource doesn't have, or to OPTIONS.
    fn other_method(&self, parts: &Parts) -> Answer {
        let allow = self.route.allow.clone();
        if parts.method == Method::OPTIONS {
            return Ok((StatusCode::NO_CONTENT, [(header::ALLOW, allow)]).into_response());
        }
        Err(Problem::new(&problem::METHOD_NOT_ALLOWED, "this resource has no such method")
            .with("method", parts.method.as_str())
            .with_header(header::ALLOW, allow))
    }
}
