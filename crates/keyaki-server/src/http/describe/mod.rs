//! What `/openapi.json` says, made from the route table: each operation's sketch says what the table can't, and the
//! schemas are those of the shapes that handlers read and write.

pub mod catalog;
mod fields;
pub mod graph;
pub mod operations;
pub mod revisions;
mod sketch;
pub mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use utoipa::openapi::path::{HttpMethod, Paths};
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, KnownFormat, Object, ObjectBuilder, OneOfBuilder,
    SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response,
    ResponseBuilder, Schema,
};

use super::problem::{self, KINDS, ProblemKind};
use super::routes::ROUTES;
pub use sketch::Sketch;

/// The one way to say who one is.
const BEARER: &str = "bearer";
const ABOUT: &str = "Typed buckets over one sorted cell store. Domains hold buckets, buckets hold items.\n\n\
    Errors are problem documents (RFC 9457). Whatever can be read answers HEAD too, and every path OPTIONS.\n\n\
    `x-parameters` of an operation are parameters like its others, but right or wrong by what the server has answered \
    before: conditions (412), cursors and sessions (400). OpenAPI has no word for that.";
/// Types of buckets, and what their options are called.
const TYPES: [(&str, &str); 2] = [("revisions", "RevisionsOptions"), (GRAPH, "GraphOptions")];
const GRAPH: &str = "graph";
/// What can be sent back with settings, though only the server says it.
const TOLD: [(&str, &[&str]); 3] = [
    ("DomainForm", &["name", "tid", "time", "use", "buckets"]),
    ("BucketForm", &["name", "tid", "time", "use"]),
    ("ServiceForm", &["fingerprint", "tid"]),
];
const TAGS: [(&str, &str); 7] = [
    (
        revisions::TAG,
        "Items of buckets of type `revisions`: content, its history, renames, changes.",
    ),
    (graph::TAG, "Buckets of type `graph`: elements in, chains of Gaffer's operations over them."),
    (catalog::BUCKETS, "Where items live: type, options, ACL, quota, backend."),
    (catalog::DOMAINS, "Where buckets live: owners, bucket creators, quota."),
    (tokens::TOKENS, "Who callers are. For admins."),
    (tokens::SERVICES, "Keys of services that sign requests (RFC 9421). For admins."),
    (operations::TAG, "For those who run it."),
];

/// The whole document, for a server with these backends.
pub fn document(backends: &BTreeSet<String>) -> OpenApi {
    let mut components = Components::new();
    let mut paths = Paths::new();
    for route in ROUTES.iter() {
        for operation in &route.operations {
            let method = match operation.method.as_str() {
                "PUT" => HttpMethod::Put,
                "POST" => HttpMethod::Post,
                "DELETE" => HttpMethod::Delete,
                _ => HttpMethod::Get,
            };
            let sketch = (operation.describe)(Sketch::of(route, operation));
            let (described, schemas) = sketch.finish();
            components.schemas.extend(schemas);
            paths.add_path_operation(route.template, vec![method], described);
        }
    }
    for (form, told) in TOLD {
        if let Some(RefOr::T(Schema::Object(form))) = components.schemas.get_mut(form) {
            let properties = told.iter().map(|name| (String::from(*name), told_back(name)));
            form.properties.extend(properties);
        }
    }
    if let Some(RefOr::T(Schema::Object(form))) = components.schemas.get_mut("BucketForm") {
        set_backends(form, backends);
        let by_type = TYPES.iter().fold(OneOfBuilder::new(), |all, (name, options)| {
            all.item(Schema::from(of_type(form.clone(), name, options)))
        });
        components.schemas.insert("BucketForm".to_owned(), Schema::from(by_type).into());
    }
    for name in ["Rule", "Retention"] {
        if let Some(RefOr::T(Schema::OneOf(choices))) = components.schemas.get_mut(name) {
            choices.items.iter_mut().for_each(close);
        }
    }
    components.schemas.insert("Problem".to_owned(), problem_schema().into());
    components.parameters.extend(named(fields::parameters()));
    components.headers.extend(named(fields::headers()));
    let problems = KINDS.iter().map(|kind| (kind.slug, problem_response(kind)));
    components.responses.extend(named(problems));
    components.add_security_scheme(BEARER, bearer());
    let tags =
        TAGS.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Keyaki")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(ABOUT))
                .build(),
        )
        .paths(paths)
        .components(Some(components))
        .tags(Some(tags))
        .build()
}

/// What the server alone says, and takes back as it said it.
fn told_back(name: &str) -> RefOr<Schema> {
    let told = |kind: Type| ObjectBuilder::new().schema_type(kind).read_only(true);
    let schema = match name {
        "use" => told(Type::Object),
        "buckets" => told(Type::Array),
        "tid" => told(Type::String).format(Some(SchemaFormat::Custom("uuid".to_owned()))),
        "time" => {
            let time = SchemaFormat::KnownFormat(KnownFormat::DateTime);
            told(Type::String).format(Some(time))
        }
        _ => told(Type::String),
    };
    Schema::from(schema).into()
}

/// Which backends a bucket may name is known, and whether any of them replicates.
fn set_backends(form: &mut Object, backends: &BTreeSet<String>) {
    let names = backends.iter().map(|name| json!(name)).chain([Value::Null]);
    let about = "Where it lives; chosen when it is made.";
    let backend = ObjectBuilder::new().enum_values(Some(names)).description(Some(about));
    form.properties.insert(
        "backend".to_owned(),
        Schema::from(backend.schema_type(SchemaType::AnyValue)).into(),
    );
    if !backends.contains("cql") {
        let about = "For clusters, of which this server has none.";
        let none = ObjectBuilder::new().schema_type(Type::Null).description(Some(about));
        form.properties.insert("replication".to_owned(), Schema::from(none).into());
    }
}

/// The form of a bucket of one type: its options are that type's.
fn of_type(mut form: Object, name: &str, options: &str) -> Object {
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([name]));
    form.properties.insert("type".to_owned(), Schema::from(kind).into());
    let own = Ref::from_schema_name(options);
    let options = match name == GRAPH {
        // There is no graph without a schema.
        true => {
            form.required.push("options".to_owned());
            own.into()
        }
        false => {
            let none = ObjectBuilder::new().schema_type(Type::Null);
            Schema::from(AnyOfBuilder::new().item(own).item(none)).into()
        }
    };
    form.properties.insert("options".to_owned(), options);
    form
}

/// Unknown fields are refused in every case; the derived schema of an enum says so of none.
fn close(choice: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = choice {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

fn named<T>(all: impl IntoIterator<Item = (&'static str, T)>) -> BTreeMap<String, RefOr<T>> {
    all.into_iter().map(|(name, one)| (name.to_owned(), RefOr::T(one))).collect()
}

fn bearer() -> SecurityScheme {
    SecurityScheme::Http(
        HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of this server, or a JWT that it knows the key of."))
            .build(),
    )
}

fn problem_schema() -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let slugs = KINDS.iter().map(|kind| format!("/problems/{}", kind.slug));
    ObjectBuilder::new()
        .property("type", text().enum_values(Some(slugs)))
        .property("title", text())
        .property(
            "status",
            ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(400)).maximum(Some(599)),
        )
        .property("detail", text())
        .property("instance", text())
        .required("type")
        .required("title")
        .required("status")
        .required("detail")
        .required("instance")
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(text().into()))))
        .description(Some("Why a request was not done. Further members say where and how much."))
        .into()
}

fn problem_response(kind: &ProblemKind) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let response = ResponseBuilder::new()
        .description(format!("{}. {}", kind.title, kind.meaning))
        .content("application/problem+json", content)
        .header_ref("X-Request-Id", fields::header("X-Request-Id"));
    let extra = match kind.slug {
        slug if slug == problem::UNAUTHENTICATED.slug => "WWW-Authenticate",
        slug if slug == problem::FORBIDDEN.slug => "WWW-Authenticate",
        slug if slug == problem::UNSUPPORTED_TYPE.slug => "Accept",
        slug if slug == problem::UNAVAILABLE.slug => "Retry-After",
        slug if slug == problem::METHOD_NOT_ALLOWED.slug => "Allow",
        _ => return response.build(),
    };
    response.header_ref(extra, fields::header(extra)).build()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::http::routes::Of;

    /// All references of a document, wherever they are.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    fn written() -> Value {
        json!(document(&BTreeSet::from(["default".to_owned()])))
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let (document, mut found) = (written(), Vec::new());
        references(&document, &mut found);
        assert!(found.len() > 100);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn the_table_and_the_document_agree() {
        let document = written();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        assert_eq!(paths.len(), ROUTES.len());
        let mut ids = HashSet::new();
        for route in ROUTES.iter() {
            let methods = paths[route.template].as_object().unwrap();
            assert_eq!(methods.len(), route.operations.len(), "{}", route.template);
            for operation in &route.operations {
                let told = &methods[&operation.method.as_str().to_ascii_lowercase()];
                let id = told["operationId"].as_str().expect(route.template);
                assert!(ids.insert(id.to_owned()), "{id} is there twice");
                assert!(told["summary"].is_string() && told["tags"][0].is_string(), "{id}");
                let status = |status: &String| status.starts_with('2');
                assert!(told["responses"].as_object().unwrap().keys().any(status), "{id}");
            }
        }
    }

    #[test]
    fn links_lead_to_operations_and_name_their_parameters() {
        let document = written();
        let operations = || {
            let paths = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
            paths.filter_map(Value::as_object).flat_map(|path| path.values())
        };
        let mut links = 0;
        for operation in operations() {
            let responses = operation["responses"].as_object().unwrap();
            let all = responses.values().filter_map(|response| response["links"].as_object());
            for link in all.flat_map(|all| all.values()) {
                links += 1;
                let to = operations().find(|other| other["operationId"] == link["operationId"]);
                let to = to.expect("there is such an operation");
                let takes = |name: &str| {
                    let reference = format!("#/components/parameters/{name}");
                    let listed = to["parameters"].as_array().unwrap();
                    listed.iter().any(|parameter| parameter["$ref"] == reference[..])
                };
                for name in link["parameters"].as_object().unwrap().keys() {
                    assert!(takes(name), "{link}");
                }
            }
        }
        assert!(links > 5);
    }

    #[test]
    fn the_paths_of_templates_are_told_apart() {
        let shape = |template: &str| {
            let segments = template.split('/');
            let shown =
                |segment: &str| if segment.starts_with('{') { "{}" } else { segment }.to_owned();
            segments.map(shown).collect::<Vec<_>>()
        };
        let mut shapes: HashMap<_, Vec<Of>> = HashMap::new();
        for route in ROUTES.iter() {
            let others = shapes.entry(shape(route.template)).or_default();
            // Buckets of different types may mean different things by one path.
            let both = |other: &Of| *other == route.of || *other == Of::Any || route.of == Of::Any;
            assert!(!others.iter().any(both), "{}", route.template);
            others.push(route.of);
        }
    }
}
