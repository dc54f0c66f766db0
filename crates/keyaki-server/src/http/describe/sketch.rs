//! The words in which operations are described. What the route table knows is there from the start: path and query
//! parameters, whether a token is needed, and what can go wrong on the way to any handler.

use std::collections::BTreeMap;

use http::Method;
use serde_json::json;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::link::Link;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    ContentBuilder, KnownFormat, Ref, RefOr, Required, ResponseBuilder, Schema, SchemaFormat,
};
use utoipa::{PartialSchema, ToSchema};

use super::{BEARER, fields};
use crate::http::problem::{self, ProblemKind};
use crate::http::routes::{Handler, Operation, Route};
use crate::http::shapes::{Items, Page};

const JSON: &str = "application/json";
/// Of any kind.
const ANY: &str = "*/*";
/// What every answer to a read says.
const READ_HEADERS: [&str; 3] = ["Cache-Control", "Vary", "X-Request-Id"];
const TAG_HEADERS: [&str; 2] = ["ETag", "Last-Modified"];
const WRITE_HEADERS: [&str; 2] = ["Keyaki-Session", "X-Request-Id"];

/// An operation as far as it is described.
pub struct Sketch {
    reads: bool,
    names: Vec<&'static str>,
    operation: OperationBuilder,
    answers: BTreeMap<u16, ResponseBuilder>,
    problems: Vec<&'static ProblemKind>,
    anybody: Option<bool>,
    by_state: Vec<&'static str>,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Sketch {
    pub fn of(route: &'static Route, operation: &Operation) -> Self {
        let names = route.template.split(['{', '}']).skip(1).step_by(2).collect::<Vec<_>>();
        let known = !matches!(operation.handler, Handler::Open(_));
        let mut sketch = Self {
            reads: operation.method == Method::GET,
            names,
            operation: OperationBuilder::new(),
            answers: BTreeMap::new(),
            problems: vec![
                &problem::BAD_REQUEST,
                &problem::URI_TOO_LONG,
                &problem::HEADERS_TOO_LARGE,
                &problem::INTERNAL,
                &problem::UNAVAILABLE,
            ],
            anybody: known.then_some(false),
            by_state: Vec::new(),
            schemas: Vec::new(),
        };
        let names = sketch.names.clone();
        sketch = sketch.takes(&names);
        for name in operation.query {
            match fields::BY_STATE.contains(name) {
                true => sketch.by_state.push(name),
                false => {
                    sketch.operation = sketch.operation.parameter_ref(fields::in_query(name));
                }
            }
        }
        if known {
            sketch.problems.extend([&problem::UNAUTHENTICATED, &problem::FORBIDDEN]);
        }
        if !sketch.names.is_empty() {
            sketch.problems.push(&problem::NOT_FOUND);
        }
        match operation.handler {
            Handler::Inside(..) => sketch.takes(&["Keyaki-Auths"]),
            Handler::Open(_) | Handler::Known(_) => sketch,
        }
    }

    pub fn says(mut self, id: &str, tag: &str, summary: &str, description: &str) -> Self {
        let operation = self.operation.operation_id(Some(id)).tag(tag).summary(Some(summary));
        let description = (!description.is_empty()).then_some(description);
        self.operation = operation.description(description);
        self
    }

    /// An ACL may let in callers without a token.
    pub fn for_anybody(mut self) -> Self {
        self.anybody = Some(true);
        self
    }

    /// Further parameters, by their names.
    pub fn takes(mut self, names: &[&str]) -> Self {
        for name in names {
            self.operation = self.operation.parameter_ref(fields::parameter(name));
        }
        self
    }

    /// Further parameters whose right values depend on what the server has answered before.
    pub fn takes_by_state(mut self, names: &[&'static str]) -> Self {
        self.by_state.extend(names);
        self
    }

    /// Has an ETag that can be asked about.
    pub fn with_tag(mut self) -> Self {
        self.by_state.extend(["If-None-Match", "If-Match"]);
        self.by_state.extend(["If-Modified-Since", "If-Unmodified-Since"]);
        self.answers
            .insert(304, ResponseBuilder::new().description("It is still what the caller has."));
        let mut sketch = self.refuses(&[&problem::PRECONDITION_FAILED]);
        for status in [200, 206, 304] {
            sketch = sketch.heads(status, &TAG_HEADERS);
        }
        sketch.heads(304, &READ_HEADERS)
    }

    /// Changes something whose ETag may be demanded.
    pub fn conditional(mut self) -> Self {
        self.by_state.extend(["If-Match", "If-None-Match", "If-Unmodified-Since"]);
        self.refuses(&[&problem::PRECONDITION_FAILED, &problem::CONFLICT])
    }

    /// Changes an item, at most once for every operation of a caller.
    pub fn repeat_safe(self) -> Self {
        self.takes(&["Idempotency-Key", "Idempotency-Sequence"])
            .refuses(&[&problem::PRECONDITION_REQUIRED, &problem::FULL])
    }

    pub fn takes_json<T: ToSchema>(mut self, required: bool) -> Self {
        let content = ContentBuilder::new().schema(Some(self.schema::<T>())).build();
        let required = if required { Required::True } else { Required::False };
        let body = RequestBodyBuilder::new().content(JSON, content).required(Some(required));
        self.operation = self.operation.request_body(Some(body.build()));
        self.refuses_bodies().refuses(&[&problem::INVALID])
    }

    /// A body of any kind, kept as it is.
    pub fn takes_content(mut self, about: &str) -> Self {
        let body = RequestBodyBuilder::new()
            .description(Some(about))
            .content(
                "application/octet-stream",
                ContentBuilder::new().schema(Some(bytes())).build(),
            )
            .content("text/plain", ContentBuilder::new().schema(Some(text())).build())
            .content(ANY, ContentBuilder::new().build())
            .required(Some(Required::False));
        self.operation = self.operation.request_body(Some(body.build()));
        self.refuses_bodies()
    }

    /// Text in one of several forms.
    pub fn takes_texts(mut self, about: &str, kinds: &[(&str, Schema)]) -> Self {
        let mut body = RequestBodyBuilder::new().description(Some(about));
        for (kind, schema) in kinds {
            let content = ContentBuilder::new().schema(Some(RefOr::from(schema.clone())));
            body = body.content(*kind, content.build());
        }
        self.operation =
            self.operation.request_body(Some(body.required(Some(Required::True)).build()));
        self.refuses_bodies()
    }

    fn refuses_bodies(self) -> Self {
        self.refuses(&[&problem::TIMEOUT, &problem::TOO_LARGE, &problem::UNSUPPORTED_TYPE])
    }

    pub fn answers_json<T: ToSchema>(mut self, status: u16, about: &str) -> Self {
        let schema = self.schema::<T>();
        self.answers_schema(status, about, schema)
    }

    /// All of some.
    pub fn answers_items<T: ToSchema>(mut self, about: &str) -> Self {
        self.schema::<T>();
        self.answers_schema(200, about, Items::<T>::schema())
    }

    /// A page of some.
    pub fn answers_page<T: ToSchema>(mut self, about: &str) -> Self {
        self.schema::<T>();
        self.answers_schema(200, about, Page::<T>::schema())
    }

    fn answers_schema(self, status: u16, about: &str, schema: RefOr<Schema>) -> Self {
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let sketch = self.answers(status, about).content(status, JSON, content);
        match sketch.reads {
            true => sketch.heads(status, &READ_HEADERS),
            false => sketch.heads(status, &WRITE_HEADERS).heads(status, &["Cache-Control"]),
        }
    }

    /// JSON of any shape.
    pub fn answers_any(self, about: &str) -> Self {
        self.answers(200, about).also_any(200).heads(200, &READ_HEADERS)
    }

    /// Plain text that is asked about as everything that is read.
    pub fn answers_plain(self, about: &str) -> Self {
        self.answers(200, about).also_text(200, "text/plain").heads(200, &READ_HEADERS)
    }

    /// Or JSON of any other shape.
    pub fn also_any(self, status: u16) -> Self {
        self.content(status, JSON, ContentBuilder::new().build())
    }

    /// Text of a kind.
    pub fn answers_text(self, status: u16, kind: &str, about: &str) -> Self {
        let content = ContentBuilder::new().schema(Some(text())).build();
        self.answers(status, about).content(status, kind, content).heads(status, &["X-Request-Id"])
    }

    /// The same answer in another form.
    pub fn also_text(self, status: u16, kind: &str) -> Self {
        self.content(status, kind, ContentBuilder::new().schema(Some(text())).build())
    }

    /// What was stored, as it was.
    pub fn answers_content(self, about: &str) -> Self {
        let mut sketch = self.answers(200, about).answers(206, "The part that was asked for.");
        for status in [200, 206] {
            sketch = sketch
                .content(status, ANY, ContentBuilder::new().build())
                .heads(status, &READ_HEADERS)
                .heads(status, &["Keyaki-Visibility", "Content-Language", "Content-Disposition"])
                .heads(status, &["Content-Security-Policy", "Accept-Ranges"]);
        }
        sketch
            .heads(206, &["Content-Range"])
            .takes_by_state(&["Range", "If-Range"])
            .refuses(&[&problem::UNSATISFIABLE])
    }

    pub fn answers_nothing(self, about: &str) -> Self {
        self.answers(204, about).heads(204, &WRITE_HEADERS)
    }

    pub fn answers(mut self, status: u16, about: &str) -> Self {
        self.answers.insert(status, ResponseBuilder::new().description(about));
        match self.reads {
            true => self.refuses(&[&problem::NOT_ACCEPTABLE]),
            false => self,
        }
    }

    fn content(mut self, status: u16, kind: &str, content: utoipa::openapi::Content) -> Self {
        if let Some(answer) = self.answers.remove(&status) {
            self.answers.insert(status, answer.content(kind, content));
        }
        self
    }

    /// The headers of an answer.
    pub fn heads(mut self, status: u16, names: &[&str]) -> Self {
        if let Some(mut answer) = self.answers.remove(&status) {
            for name in names {
                answer = answer.header_ref(*name, fields::header(name));
            }
            self.answers.insert(status, answer);
        }
        self
    }

    /// Where one may go from an answer: the same path, or further down from it.
    pub fn leads_to(mut self, status: u16, operation: &str, more: &[(&str, &str)]) -> Self {
        if let Some(answer) = self.answers.remove(&status) {
            let mut link = Link::builder().operation_id(operation);
            for name in &self.names {
                link = link.parameter(*name, format!("$request.path.{name}"));
            }
            for (name, value) in more {
                link = link.parameter(*name, *value);
            }
            self.answers.insert(status, answer.link(operation, link.build()));
        }
        self
    }

    pub fn refuses(mut self, kinds: &[&'static ProblemKind]) -> Self {
        self.problems.extend(kinds);
        self
    }

    /// The schema of a shape, by its name.
    fn schema<T: ToSchema>(&mut self) -> RefOr<Schema> {
        T::schemas(&mut self.schemas);
        self.schemas.push((T::name().into_owned(), T::schema()));
        Ref::from_schema_name(T::name()).into()
    }

    /// The operation, and the schemas that it names.
    pub fn finish(self) -> (OperationBuilder, Vec<(String, RefOr<Schema>)>) {
        let mut operation = self.operation;
        for (status, answer) in self.answers {
            operation = operation.response(status.to_string(), answer.build());
        }
        for kind in self.problems {
            let status = kind.status.as_str();
            operation = operation.response(status, Ref::from_response_name(kind.slug));
        }
        let none: [&str; 0] = [];
        let token = || SecurityRequirement::new(BEARER, none);
        operation = match self.anybody {
            Some(false) => operation.security(token()),
            Some(true) => operation.security(token()).security(SecurityRequirement::default()),
            None => operation,
        };
        if !self.by_state.is_empty() {
            let list: Vec<_> = self
                .by_state
                .iter()
                .map(|name| json!({ "$ref": fields::parameter(name).ref_location }))
                .collect();
            operation = operation
                .extensions(Some(ExtensionsBuilder::new().add("x-parameters", list).build()));
        }
        (operation, self.schemas)
    }
}

pub fn text() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).into()
}

fn bytes() -> Schema {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
        .into()
}
