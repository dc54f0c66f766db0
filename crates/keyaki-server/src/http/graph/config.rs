//! What Gaffer's clients ask about a graph before they ask it anything: its schema, and what can be said to it.

use std::collections::BTreeMap;

use keyaki::bucket::graph::koryphe::catalogue::{self as koryphe, Known};
use keyaki::bucket::graph::koryphe::date;
use keyaki::bucket::graph::operation::catalogue::{self as operations, Described, Field};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::http::Answer;
use crate::http::answer::Representation;
use crate::http::inside::InBucket;
use crate::http::problem::Problem;

/// What the store calls itself.
const STORE: &str = "keyaki";
/// The version of Gaffer whose answers ours are compared with.
const GAFFER: &str = "2.3.2";
/// The paths of Gaffer's REST interface that can be read, and those that something is sent to.
const READ: [&str; 27] = [
    "/graph/config/aggregationFunctions",
    "/graph/config/description",
    "/graph/config/elementGenerators",
    "/graph/config/filterFunctions",
    "/graph/config/filterFunctions/{inputClass}",
    "/graph/config/graphCreatedTime",
    "/graph/config/graphId",
    "/graph/config/objectGenerators",
    "/graph/config/schema",
    "/graph/config/serialisedFields/{className}",
    "/graph/config/serialisedFields/{className}/classes",
    "/graph/config/storeTraits",
    "/graph/config/storeType",
    "/graph/config/transformFunctions",
    "/graph/jobs",
    "/graph/jobs/{id}",
    "/graph/jobs/{id}/results",
    "/graph/operations",
    "/graph/operations/all",
    "/graph/operations/details",
    "/graph/operations/details/all",
    "/graph/operations/{className}",
    "/graph/operations/{className}/example",
    "/graph/operations/{className}/next",
    "/graph/status",
    "/graph/version",
    "/properties",
];
const SENT: [&str; 3] =
    ["/graph/jobs", "/graph/operations/execute", "/graph/operations/execute/chunked"];
const PROPERTIES: [(&str, &str); 3] = [
    ("gaffer.version", GAFFER),
    ("koryphe.version", "2.6.0"),
    ("keyaki.version", env!("CARGO_PKG_VERSION")),
];

impl InBucket<'_> {
    /// `/graph/config/schema`.
    pub(in crate::http) fn graph_schema(&self) -> Answer {
        let schema = self.graph()?.schema().to_json();
        Representation::json(Some(self.entry.tid), &schema).answer(self.call.parts)
    }

    /// `/graph/status`.
    pub(in crate::http) fn graph_status(&self) -> Answer {
        self.graph()?;
        self.told(&json!({"status": "UP", "description": "The system is working normally."}))
    }

    /// `/graph/version`.
    pub(in crate::http) fn graph_version(&self) -> Answer {
        self.text(GAFFER)
    }

    /// `/graph/config/{topic}`.
    pub(in crate::http) fn graph_config(&self, topic: &str) -> Answer {
        match topic {
            "description" => self.text(&format!("{}/{}", self.names.0, self.names.1)),
            "graphId" => self.text(self.names.1),
            "graphCreatedTime" => {
                let made_ms = self.entry.made().time().micros() / 1000;
                self.text(&date::format_with(made_ms as i64, date::CREATED))
            }
            "storeType" => self.text(STORE),
            "storeTraits" => self.told(&keyaki::bucket::graph::operation::TRAITS),
            "filterFunctions" => self.told(&classes(koryphe::predicates())),
            "transformFunctions" => self.told(&classes(koryphe::functions())),
            "aggregationFunctions" => self.told(&classes(koryphe::operators())),
            "elementGenerators" => self.told(&classes(koryphe::element_generators())),
            "objectGenerators" => self.told(&classes(koryphe::object_generators())),
            _ => Err(Problem::not_found("nothing of that kind is configured").with("topic", topic)),
        }
    }

    /// `/graph/config/{topic}/{class}`.
    pub(in crate::http) fn graph_config_of(&self, topic: &str, class: &str) -> Answer {
        match topic {
            // Predicates here look at what they get: none is for one class only.
            "filterFunctions" => self.told(&classes(koryphe::predicates())),
            "serialisedFields" => {
                let names: Vec<_> = fields_of(class)?.into_iter().map(|(name, _)| name).collect();
                self.told(&names)
            }
            _ => Err(Problem::not_found("nothing of that kind is configured").with("topic", topic)),
        }
    }

    /// `/graph/config/serialisedFields/{class}/classes`.
    pub(in crate::http) fn field_classes(&self, class: &str) -> Answer {
        let fields: Map<_, _> = fields_of(class)?
            .into_iter()
            .map(|(name, class)| (name.to_owned(), json!(class)))
            .collect();
        self.told(&fields)
    }

    /// `/properties`: of Gaffer's, those that say something here.
    pub(in crate::http) fn properties(&self) -> Answer {
        self.graph()?;
        self.told(&PROPERTIES.into_iter().collect::<BTreeMap<_, _>>())
    }

    /// `/properties/{name}`.
    pub(in crate::http) fn property(&self, name: &str) -> Answer {
        self.graph()?;
        let absent = || Problem::not_found("there is no such property").with("property", name);
        let (_, value) = PROPERTIES.iter().find(|(own, _)| *own == name).ok_or_else(absent)?;
        self.text(value)
    }

    /// `/v3/api-docs`: the paths of a graph, as Gaffer's generators of clients look for them.
    pub(in crate::http) fn graph_paths(&self) -> Answer {
        self.graph()?;
        self.told(&json!({
            "openapi": "3.0.1",
            "info": {"title": format!("{}/{}", self.names.0, self.names.1), "version": GAFFER},
            "paths": paths_inside(),
        }))
    }

    /// `/graph/operations`.
    pub(in crate::http) fn operation_classes(&self) -> Answer {
        let all: Vec<_> = operations::all().iter().map(|described| described.class).collect();
        self.told(&all)
    }

    /// `/graph/operations/{class}`, and `all` or `details` in its place.
    pub(in crate::http) fn operation_details(&self, class: &str) -> Answer {
        match class {
            "all" => self.operation_classes(),
            "details" => self.told(&operations::all().iter().map(detail).collect::<Vec<_>>()),
            class => self.told(&detail(described(class)?)),
        }
    }

    /// `/graph/operations/{class}/{about}`: `next` or `example`.
    pub(in crate::http) fn operation_about(&self, class: &str, about: &str) -> Answer {
        match (class, about) {
            ("details", "all") => self.operation_details(class),
            (class, "next") => self.told(&described(class)?.next().collect::<Vec<_>>()),
            (class, "example") => self.told(&example(described(class)?)),
            _ => Err(Problem::not_found("nothing of that kind is known").with("about", about)),
        }
    }

    fn told(&self, shown: &impl Serialize) -> Answer {
        Representation::json(None, shown).answer(self.call.parts)
    }

    fn text(&self, text: &str) -> Answer {
        let mut shown = Representation::json(None, &"");
        shown.content_type = "text/plain; charset=utf-8".to_owned();
        shown.bytes = text.as_bytes().to_vec();
        shown.answer(self.call.parts)
    }
}

/// What Gaffer's clients may ask at which path. They make a name of each path, so these are Gaffer's own: one for each
/// topic, where our table has a parameter.
fn paths_inside() -> BTreeMap<&'static str, BTreeMap<&'static str, Json>> {
    let mut paths: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    let read = READ.iter().map(|path| (*path, "get"));
    for (path, method) in read.chain(SENT.iter().map(|path| (*path, "post"))) {
        paths.entry(path).or_default().insert(method, json!({}));
    }
    paths
}

fn classes(known: &[Known]) -> Vec<&'static str> {
    known.iter().map(|known| known.class).collect()
}

fn described(class: &str) -> Result<&'static Described, Problem> {
    let absent = || Problem::not_found("there is no such operation").with("class", class);
    operations::find(class).ok_or_else(absent)
}

/// Names and classes of what can be said in the JSON of a class.
fn fields_of(class: &str) -> Result<Vec<(&'static str, &'static str)>, Problem> {
    if let Some(described) = operations::find(class) {
        return Ok(described.fields.iter().map(|field| (field.name, field.class_name)).collect());
    }
    let absent = || Problem::not_found("there is no such class").with("class", class);
    koryphe::find(class).map(|known| known.fields.to_vec()).ok_or_else(absent)
}

fn detail(described: &Described) -> Json {
    let mut detail = json!({
        "name": described.class,
        "summary": described.summary,
        "fields": described.fields.iter().map(field).collect::<Vec<_>>(),
        "next": described.next().collect::<Vec<_>>(),
        "exampleJson": example(described),
    });
    if let Some(class) = described.output_class {
        detail["outputClassName"] = json!(class);
    }
    detail
}

fn field(field: &Field) -> Json {
    let mut shown =
        json!({"name": field.name, "className": field.class_name, "required": field.required});
    if let Some(summary) = field.summary {
        shown["summary"] = json!(summary);
    }
    if !field.options.is_empty() {
        shown["options"] = json!(field.options);
    }
    shown
}

fn example(described: &Described) -> Json {
    serde_json::from_str(described.example).unwrap_or_default()
}
