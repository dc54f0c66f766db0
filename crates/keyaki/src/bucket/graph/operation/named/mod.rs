//! Named operations and views: what is kept under a name, who may see and change it, and how it is told.
//!
//! Parameters stand in the JSON as `"${name}"`; `parameters` fills them in.

mod access;
mod parameters;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

pub use access::Who;
pub use parameters::Parameter;

use super::catalogue;
use crate::bucket::graph::json::read_operation;
use crate::bucket::graph::value::short_name;
use crate::error::{Error, Result};
use access::Access;

/// What a name can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A chain of operations.
    Operation,
    /// A view.
    View,
}

/// A chain or a view under its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its JSON, as it was written, with parameters in it.
    pub json: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it; none if nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// What it is filed under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Who may see it, besides its creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_roles: Option<Vec<String>>,
    /// Who may change it, besides its creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_roles: Option<Vec<String>>,
    /// Who may see it, instead of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_access: Option<Json>,
    /// Who may change it, instead of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_access: Option<Json>,
    /// What is to be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<BTreeMap<String, Parameter>>,
    /// What it is said to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

impl Named {
    /// Its JSON with everything filled in.
    ///
    /// # Errors
    /// `Invalid` if a parameter is missing, not known, or not of its class.
    pub fn filled(&self, kind: NameKind, given: Option<&Json>) -> Result<Json> {
        let json = self.read()?;
        let Some(parameters) = &self.parameters else { return Ok(json) };
        parameters::fill(&json, &parameters::values(kind, parameters, given)?)
            .map_err(|error| error.with("name", &self.name))
    }

    /// The JSON that it stands for, parameters as they are written.
    fn read(&self) -> Result<Json> {
        read_operation(self.json.as_bytes())
    }

    /// Refuses what could never be used: parameters that occur nowhere, unknown operations, names inside names.
    pub(super) fn check(&self, kind: NameKind) -> Result<()> {
        if self.name.is_empty() {
            return Err(Error::invalid("a name must not be empty"));
        }
        for predicate in [&self.read_access, &self.write_access].into_iter().flatten() {
            Access::from_json(predicate)?;
        }
        let json = self.read()?;
        match kind {
            NameKind::Operation => check_chain(&json)?,
            NameKind::View => check_view(&json)?,
        }
        for name in self.parameters.iter().flatten().map(|(name, _)| name) {
            if !self.json.contains(&format!("${{{name}}}")) {
                return Err(Error::invalid("a parameter does not occur in what it is for")
                    .with("parameter", name));
            }
        }
        Ok(())
    }

    /// Whether somebody may see and use it.
    #[must_use]
    pub fn is_seen_by(&self, kind: NameKind, who: &Who) -> bool {
        let default = match kind {
            NameKind::Operation => Access::roles(self.creator.as_deref(), &self.read_roles),
            NameKind::View => Access::Everybody,
        };
        who.passes(&self.read_access, default)
    }

    /// Whether somebody may change and delete it.
    #[must_use]
    pub fn is_changed_by(&self, kind: NameKind, who: &Who) -> bool {
        let default = Access::roles(self.creator.as_deref(), &self.write_roles);
        // A view that nobody is known to have made is anybody's who is known.
        let open = kind == NameKind::View && self.creator.is_none() && who.user.is_some();
        open || who.passes(&self.write_access, default)
    }

    /// As Gaffer tells it.
    #[must_use]
    pub fn told(&self, kind: NameKind) -> Json {
        let mut told = Map::new();
        let mut put = |name: &str, value: Option<Json>| {
            if let Some(value) = value {
                told.insert(name.to_owned(), value);
            }
        };
        let texts = |list: &Option<Vec<String>>| list.as_ref().map(|list| json!(list));
        let parameters = self.parameters.as_ref().map(|list| json!(list));
        match kind {
            NameKind::Operation => {
                put("operationName", Some(json!(self.name)));
                put("operations", Some(json!(self.json)));
                put("labels", texts(&self.labels));
                put("inputType", self.input_class().map(|class| json!(class)));
                put("readAccessRoles", texts(&self.read_roles));
                put("score", self.score.map(|score| json!(score)));
                // One that has none says so; one that has an empty list of them does not.
                put(
                    "parameters",
                    Some(parameters.unwrap_or_default()).filter(|it| *it != json!({})),
                );
            }
            NameKind::View => {
                put("name", Some(json!(self.name)));
                put("view", Some(json!(self.json)));
                put("parameters", parameters.filter(|it| *it != json!({})));
            }
        }
        put("description", self.description.as_ref().map(|text| json!(text)));
        put("creatorId", self.creator.as_ref().map(|text| json!(text)));
        put("writeAccessRoles", texts(&self.write_roles));
        put("readAccessPredicate", self.read_access.clone());
        put("writeAccessPredicate", self.write_access.clone());
        Json::Object(told)
    }

    /// Java's name of what its first operation takes.
    fn input_class(&self) -> Option<&'static str> {
        let chain = self.read().ok()?;
        let first = catalogue::find(steps(&chain).first()?.get("class")?.as_str()?)?;
        first.fields.iter().find(|field| field.name == "input").map(|field| field.class_name)
    }
}

/// The operations of a chain, which may be one alone.
fn steps(chain: &Json) -> &[Json] {
    match chain.get("operations") {
        Some(Json::Array(steps)) => steps,
        _ => std::slice::from_ref(chain),
    }
}

fn check_chain(chain: &Json) -> Result<()> {
    let steps = steps(chain);
    if steps.is_empty() {
        return Err(Error::invalid("Operation chain contains no operations"));
    }
    for step in steps {
        let class = step.get("class").and_then(Json::as_str).unwrap_or_default();
        // A parameter may stand for a whole operation.
        let is_open = step.is_string() || class.starts_with("${");
        if !is_open && catalogue::find(class).is_none() {
            return Err(Error::invalid("an unknown class")
                .with("class", class)
                .with("at", "operation"));
        }
    }
    let nested = "NamedOperations can not be nested within NamedOperations";
    refuse_nested(chain, NameKind::Operation, nested)
}

fn check_view(view: &Json) -> Result<()> {
    if !view.is_object() {
        return Err(Error::invalid("a view is an object").with("at", "view"));
    }
    refuse_nested(view, NameKind::View, "NamedView can not be nested within NamedView")
}

fn refuse_nested(json: &Json, kind: NameKind, message: &'static str) -> Result<()> {
    match mentioned(json).iter().find(|(other, _)| *other == kind) {
        None => Ok(()),
        Some((_, name)) => Err(Error::invalid(message).with("name", name)),
    }
}

/// The names that JSON speaks of, wherever they stand.
#[must_use]
pub fn mentioned(json: &Json) -> BTreeSet<(NameKind, String)> {
    let mut names = BTreeSet::new();
    look(json, &mut names);
    names
}

fn look(json: &Json, names: &mut BTreeSet<(NameKind, String)>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| look(item, names)),
        Json::Object(fields) => {
            let text = |name| fields.get(name).and_then(Json::as_str).unwrap_or_default();
            let found = match short_name(text("class")) {
                "NamedOperation" => Some((NameKind::Operation, text("operationName"))),
                "NamedView" => Some((NameKind::View, text("name"))),
                _ => None,
            };
            names.extend(found.map(|(kind, name)| (kind, name.to_owned())));
            fields.values().for_each(|value| look(value, names));
        }
        _ => {}
    }
}

/// Names that were looked up before, and those that were asked for and are not among them.
#[derive(Debug, Default)]
pub struct KnownNames {
    known: BTreeMap<(NameKind, String), Named>,
    missed: Mutex<BTreeSet<(NameKind, String)>>,
}

impl KnownNames {
    /// Adds one.
    pub fn learn(&mut self, kind: NameKind, named: Named) {
        self.known.insert((kind, named.name.clone()), named);
    }

    /// What was asked for in vain since this was asked last.
    pub fn missed(&mut self) -> BTreeSet<(NameKind, String)> {
        std::mem::take(self.missed.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    fn find(&self, kind: NameKind, name: &str) -> Option<&Named> {
        let key = (kind, name.to_owned());
        let found = self.known.get(&key);
        if found.is_none() {
            self.missed.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        }
        found
    }
}

impl super::Names for KnownNames {
    fn operation(&self, name: &str) -> Option<&Named> {
        self.find(NameKind::Operation, name)
    }

    fn view(&self, name: &str) -> Option<&Named> {
        self.find(NameKind::View, name)
    }
}
