//! Every parameter and every header of an answer, once.

use serde_json::{Value, json};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, Object, ObjectBuilder, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, Required, Schema};

use crate::http::docs;
use crate::http::problem::KINDS;
use crate::http::shapes::KEY;

const LABEL: &str = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
/// UUIDs of version 7 whose next ten bits count microseconds.
const TID: &str = "^[0-7][0-9a-f]{7}-[0-9a-f]{4}-7([0-2][0-9a-f]{2}|3[0-9a-d][0-9a-f]|3e[0-7])\
                   -[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
const CLASS: &str = "^[A-Za-z_$][A-Za-z0-9_$.]{0,255}$";
/// What a segment of a path can say.
const SEGMENT: &str = r"^(?!\.{1,2}$)[^\u0000-\u001f\u007f-\u009f]+$";
/// Right only if the server has handed them out.
pub const BY_STATE: [&str; 2] = ["cursor", "split"];
const VERTEX_IN_QUERY: &str = "vertexInQuery";
/// Tags between commas, or a star.
const ENTITY_TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$"#;

/// What can be asked about a graph.
const TOPICS: [&str; 11] = [
    "description",
    "graphId",
    "graphCreatedTime",
    "storeType",
    "storeTraits",
    "filterFunctions",
    "transformFunctions",
    "aggregationFunctions",
    "elementGenerators",
    "objectGenerators",
    "serialisedFields",
];

pub fn parameter(name: &str) -> Ref {
    Ref::new(format!("#/components/parameters/{name}"))
}

/// Of the query, where paths have one of the same name too.
pub fn in_query(name: &str) -> Ref {
    match name {
        "vertex" => parameter(VERTEX_IN_QUERY),
        _ => parameter(name),
    }
}

pub fn header(name: &str) -> Ref {
    Ref::new(format!("#/components/headers/{name}"))
}

/// By their names.
pub fn parameters() -> impl Iterator<Item = (&'static str, Parameter)> {
    path().into_iter().chain(query()).chain(request_headers())
}

type Named<const N: usize> = [(&'static str, Parameter); N];

fn path() -> Named<13> {
    let one = |name, about: &str, example: Value, schema: ObjectBuilder| {
        let parameter = field(name, ParameterIn::Path, about, schema);
        (name, parameter.required(Required::True).example(Some(example)).build())
    };
    let slugs = KINDS.iter().map(|kind| kind.slug);
    let tid = || text().format(Some(SchemaFormat::Custom("uuid".to_owned())));
    [
        one(
            "domain",
            "Named like a host.",
            json!("demo.example"),
            text().max_length(Some(253)).pattern(Some(format!(r"^{LABEL}(\.{LABEL})*$"))),
        ),
        one(
            "bucket",
            "Letters a to z, digits, `_` and `-`.",
            json!("pages"),
            text().pattern(Some("^[a-z0-9][a-z0-9_-]{0,63}$")),
        ),
        one(
            "key",
            "Any text without control characters, at most 1 KiB; a slash is `%2F`. Keys that begin with `_` are Keyaki's own.",
            json!("welcome"),
            text().min_length(Some(1)).max_length(Some(1024)).pattern(Some(KEY)),
        ),
        one(
            "asset",
            "A part of the page.",
            json!("docs.js"),
            text().enum_values(Some(docs::assets())),
        ),
        revision(),
        one(
            "topic",
            "What is asked about.",
            json!("filterFunctions"),
            text().enum_values(Some(TOPICS)),
        ),
        one(
            "class",
            "A class, by its short or full name.",
            json!("GetElements"),
            text().pattern(Some(CLASS)),
        ),
        one("vertex", "A vertex, as text.", json!("ann"), text().pattern(Some(SEGMENT))),
        one(
            "name",
            "The name of a property.",
            json!("gaffer.version"),
            text().pattern(Some(SEGMENT)),
        ),
        one(
            "about",
            "What is asked about it.",
            json!("next"),
            text().enum_values(Some(["next", "example", "all"])),
        ),
        one("id", "A token's id.", json!("01940000-0000-7000-8000-000000000000"), tid()),
        one(
            "fingerprint",
            "SHA-256 of the raw key, in hexadecimal.",
            json!("21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"),
            text().pattern(Some("^[0-9a-f]{64}$")),
        ),
        one(
            "slug",
            "The end of a problem's `type`.",
            json!("not-found"),
            text().enum_values(Some(slugs)),
        ),
    ]
}

/// A tid or a time: either is text, and which one it is shows.
fn revision() -> (&'static str, Parameter) {
    let time = text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    let either = AnyOfBuilder::new().item(text().pattern(Some(TID))).item(time);
    let parameter = ParameterBuilder::new()
        .name("revision")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("A tid, or an RFC 3339 time."))
        .schema(Some(Schema::from(either)))
        .example(Some(json!("2036-01-01T00:00:00Z")));
    ("revision", parameter.build())
}

fn query() -> Named<16> {
    let one = |name, about: &str, schema: ObjectBuilder| {
        (name, field(name, ParameterIn::Query, about, schema).build())
    };
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(1000))
        .default(Some(json!(100)));
    let parts = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(1000))
        .default(Some(json!(16)));
    let vertex = field("vertex", ParameterIn::Query, "A vertex, as text.", text());
    [
        (VERTEX_IN_QUERY, vertex.required(Required::True).build()),
        one("split", "Only the elements of this part of the graph.", text()),
        one("parts", "How many parts a group has at most.", parts),
        one("limit", "How many items a page has at most.", limit),
        one("cursor", "Where to go on: `next` of the page before.", text()),
        one("prefix", "Only keys that begin with this.", text()),
        one("from", "Only keys from this one on.", text()),
        one("to", "Only keys before this one.", text()),
        one("since", "Only changes after this one.", text().pattern(Some(TID))),
        one(
            "validate",
            "Whether elements are checked against the schema; they are unless told otherwise.",
            flag(),
        ),
        one(
            "skipInvalidElements",
            "Whether elements that fail are left out, instead of ending it.",
            flag(),
        ),
        one("map", "Of CSV: what columns are to be called, as `column:name,column:name`.", text()),
        one("group", "Of CSV: the group of rows that name none.", text()),
        one("directed", "Of CSV: whether edges have a direction that do not say so.", flag()),
        one(
            "vertexClass",
            "The class of the vertex, where the schema has several.",
            text().pattern(Some(CLASS)),
        ),
        one("explain", "Whether to answer what the chain costs, not what it gives.", flag()),
    ]
}

fn request_headers() -> Named<13> {
    let one = |name, about: &str, schema: ObjectBuilder| {
        (name, field(name, ParameterIn::Header, about, schema).build())
    };
    let tags = || text().pattern(Some(ENTITY_TAGS));
    let whole = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
    [
        one("If-Match", "Only if it has one of these tags; `*`: only if it is there.", tags()),
        one(
            "If-None-Match",
            "Only if it has none of these tags; `*`: only if it is not there.",
            tags(),
        ),
        one(
            "If-Modified-Since",
            "Only if it has changed since. What is no date is ignored.",
            text(),
        ),
        one(
            "If-Unmodified-Since",
            "Only if it has not changed since. What is no date is ignored.",
            text(),
        ),
        one(
            "Idempotency-Key",
            "The caller's name for this operation: a repeat changes nothing and gets the first answer.",
            text().pattern(Some("^[!-~]{1,200}$")),
        ),
        one("Idempotency-Sequence", "Which step of that operation it is.", whole),
        one(
            "Keyaki-Auths",
            "Narrows what the request sees to these of the caller's authorisations.",
            text(),
        ),
        one(
            "Keyaki-Visibility",
            "Who may see what is written: `a&(b|c)`, which may go deeper than this pattern does.",
            text().pattern(Some(visibility())),
        ),
        one(
            "Keyaki-Only-If-Changed",
            "Stores only what differs from what is there.",
            text().enum_values(Some(["true", "false"])),
        ),
        one(
            "Keyaki-Session",
            "Of a write's answer: the read reflects that write, or waits for it.",
            text(),
        ),
        one("Last-Event-ID", "Where an event stream goes on.", text()),
        one("Range", "Which bytes: `bytes=0-99`, `bytes=100-`, `bytes=-100`.", text()),
        one("If-Range", "The part only if it has this tag, else the whole.", text()),
    ]
}

fn field(name: &str, place: ParameterIn, about: &str, schema: ObjectBuilder) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
}

/// Headers of answers, by their names.
pub fn headers() -> impl Iterator<Item = (&'static str, Header)> {
    [
        ("Accept", "What would be taken here."),
        ("Accept-Ranges", "`bytes`: parts can be asked for."),
        ("Allow", "The methods that there are."),
        ("Cache-Control", "Answers are for their caller, and asked about anew."),
        ("Content-Disposition", "As it was stored."),
        ("Content-Language", "As it was stored."),
        ("Content-Range", "Which bytes of how many."),
        ("Content-Security-Policy", "What is stored is data, and no part of a site."),
        ("ETag", "The tid of what there is, between quotes."),
        ("Idempotency-Replayed", "`true` if this answers a repeat."),
        ("Keyaki-Session", "Lets later reads reflect this write."),
        ("Keyaki-Unchanged", "`true` if nothing had to be stored."),
        ("Keyaki-Visibility", "Who may see it."),
        ("Last-Modified", "The time of that tid."),
        ("Link", "`rel=\"next\"`: the next page."),
        ("Location", "Where it is."),
        ("Retry-After", "Seconds to wait."),
        ("Vary", "What the answer depends on."),
        ("WWW-Authenticate", "How to say who one is."),
        ("X-Request-Id", "Under which the log has it."),
    ]
    .into_iter()
    .map(|(name, about)| {
        let header = HeaderBuilder::new().schema(Some(Object::with_type(Type::String)));
        (name, header.description(Some(about)).build())
    })
}

/// A visibility expression, as deep as patterns go: there are deeper ones.
fn visibility() -> String {
    let chain = |of: &str| format!(r"({of}(&{of})*|{of}(\|{of})*)");
    let term = "[A-Za-z0-9_:./-]+";
    let inner = format!(r"({term}|\({}\))", chain(term));
    format!("^{}?$", chain(&inner))
}

fn flag() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean)
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
