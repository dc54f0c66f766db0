//! A schema as its JSON has it: one or several parts, merged, with what groups inherit from their parents.
//! Functions stay JSON here; `build` compiles them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::bucket::graph::fields::{known, list, named, object, text, texts, there};
use crate::bucket::graph::value::short_name;
use crate::error::{Error, Result};

/// All parts of a schema together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definition {
    /// Groups of entities, by name.
    pub entities: BTreeMap<String, GroupDefinition>,
    /// Groups of edges, by name.
    pub edges: BTreeMap<String, GroupDefinition>,
    /// Types, by name.
    pub types: BTreeMap<String, TypeDefinition>,
    /// The property that says who may see an element.
    pub visibility_property: Option<String>,
    /// The property that says when an element was.
    pub timestamp_property: Option<String>,
    /// Accepted and shown, but of no effect: vertices have one encoding.
    pub vertex_serialiser: Option<Json>,
    /// Accepted and shown.
    pub config: BTreeMap<String, Json>,
}

/// A group of entities or edges.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupDefinition {
    /// The types of its ends, by the names `vertex`, `source`, `destination`, `directed`.
    pub ends: BTreeMap<String, String>,
    /// The types of its properties, by name, in the order they were declared.
    pub properties: Vec<(String, String)>,
    /// The properties that tell elements apart.
    pub group_by: Vec<String>,
    /// Groups it takes all of this from.
    pub parents: Vec<String>,
    /// Whether equal elements become one.
    pub aggregate: bool,
    /// `[{"selection", "binaryOperator"}]`
    pub aggregate_functions: Vec<Json>,
    /// `[{"selection", "predicate"}]`
    pub validate_functions: Vec<Json>,
    /// For people.
    pub description: Option<String>,
}

/// A type of ends or properties.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypeDefinition {
    /// Its Java class.
    pub class: Option<String>,
    /// Accepted and shown, but of no effect.
    pub serialiser: Option<Json>,
    /// How two values become one.
    pub aggregate_function: Option<Json>,
    /// What must hold of a value.
    pub validate_functions: Vec<Json>,
    /// For people.
    pub description: Option<String>,
}

const SCHEMA_FIELDS: [&str; 8] = [
    "entities",
    "edges",
    "types",
    "visibilityProperty",
    "timestampProperty",
    "vertexSerialiser",
    "config",
    "description",
];
const GROUP_FIELDS: [&str; 13] = [
    "class",
    "vertex",
    "source",
    "destination",
    "directed",
    "properties",
    "groupBy",
    "parents",
    "aggregate",
    "aggregateFunctions",
    "validateFunctions",
    "description",
    "aggregator",
];
const TYPE_FIELDS: [&str; 6] =
    ["class", "serialiser", "aggregateFunction", "validateFunctions", "description", "position"];

impl Definition {
    /// Reads one part, or a list of parts.
    ///
    /// # Errors
    /// `Invalid` if it is not a schema, or the parts contradict each other.
    pub fn from_json(json: &Json) -> Result<Self> {
        let parts = match json {
            Json::Array(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut whole = Self::default();
        for part in parts {
            whole.merge(Self::from_part(part)?)?;
        }
        whole.inherit()?;
        Ok(whole)
    }

    fn from_part(json: &Json) -> Result<Self> {
        let fields = object(json, "schema")?;
        known(fields, &SCHEMA_FIELDS, "schema")?;
        let config = match fields.get("config") {
            None | Some(Json::Null) => BTreeMap::new(),
            Some(config) => object(config, "config")?.clone().into_iter().collect(),
        };
        // Outside of `config` it says nothing, as in Gaffer since 2.0.
        text(fields, "timestampProperty")?;
        let timestamp = config.get("timestampProperty").and_then(Json::as_str);
        Ok(Self {
            entities: named(fields, "entities", |_, json| GroupDefinition::from_json(json))?,
            edges: named(fields, "edges", |_, json| GroupDefinition::from_json(json))?,
            types: named(fields, "types", |_, json| TypeDefinition::from_json(json))?,
            visibility_property: text(fields, "visibilityProperty")?,
            timestamp_property: timestamp.map(str::to_owned),
            vertex_serialiser: there(fields, "vertexSerialiser"),
            config,
        })
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        let hidden = [self.visibility_property.clone(), other.visibility_property.clone()];
        merge_groups(&mut self.entities, other.entities, &hidden)?;
        merge_groups(&mut self.edges, other.edges, &hidden)?;
        for (name, definition) in other.types {
            let merged = self.types.entry(name.clone()).or_default().merge(definition);
            merged.map_err(|error| error.with("type", name))?;
        }
        merge_field(
            &mut self.visibility_property,
            other.visibility_property,
            "visibilityProperty",
        )?;
        merge_field(&mut self.timestamp_property, other.timestamp_property, "timestampProperty")?;
        merge_field(&mut self.vertex_serialiser, other.vertex_serialiser, "vertexSerialiser")?;
        self.config.extend(other.config);
        Ok(())
    }

    fn inherit(&mut self) -> Result<()> {
        for groups in [&mut self.entities, &mut self.edges] {
            let names: Vec<String> = groups.keys().cloned().collect();
            for name in names {
                let expanded = expanded(groups, &name, 0)?;
                groups.insert(name, expanded);
            }
        }
        Ok(())
    }

    /// The schema as Gaffer shows it, inheritance resolved.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        let groups = |groups: &BTreeMap<String, GroupDefinition>| -> Json {
            groups.iter().map(|(name, group)| (name.clone(), group.to_json())).collect()
        };
        json.insert("edges".into(), groups(&self.edges));
        json.insert("entities".into(), groups(&self.entities));
        let types =
            self.types.iter().map(|(name, definition)| (name.clone(), definition.to_json()));
        json.insert("types".into(), types.collect());
        if let Some(name) = &self.visibility_property {
            json.insert("visibilityProperty".into(), json!(name));
        }
        if let Some(serialiser) = &self.vertex_serialiser {
            json.insert("vertexSerialiser".into(), serialiser.clone());
        }
        let mut config: Map<String, Json> = self.config.clone().into_iter().collect();
        if let Some(name) = &self.timestamp_property {
            config.insert("timestampProperty".into(), json!(name));
        }
        if !config.is_empty() {
            json.insert("config".into(), config.into());
        }
        json.into()
    }
}

impl GroupDefinition {
    fn from_json(json: &Json) -> Result<Self> {
        let fields = object(json, "group")?;
        known(fields, &GROUP_FIELDS, "group")?;
        let mut ends = BTreeMap::new();
        for name in ["vertex", "source", "destination", "directed"] {
            if let Some(text) = text(fields, name)? {
                ends.insert(name.to_owned(), text);
            }
        }
        let properties = named(fields, "properties", |name, json| {
            let wrong = || Error::invalid("a property names its type").with("property", name);
            json.as_str().map(str::to_owned).ok_or_else(wrong)
        })?;
        Ok(Self {
            ends,
            properties: properties.into_iter().collect(),
            group_by: texts(fields, "groupBy")?,
            parents: texts(fields, "parents")?,
            aggregate: fields.get("aggregate").and_then(Json::as_bool).unwrap_or(true),
            aggregate_functions: list(fields, "aggregateFunctions")?,
            validate_functions: list(fields, "validateFunctions")?,
            description: text(fields, "description")?,
        })
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        for (name, class) in other.properties {
            match self.properties.iter().find(|(own, _)| *own == name) {
                None => self.properties.push((name, class)),
                Some((_, own)) if *own == class => {}
                Some((_, own)) => {
                    return Err(Error::invalid("a property has two types")
                        .with("property", name)
                        .with("type", own)
                        .with("other", class));
                }
            }
        }
        self.ends.extend(other.ends);
        self.validate_functions.extend(other.validate_functions);
        self.aggregate_functions.extend(other.aggregate_functions);
        if !other.group_by.is_empty() {
            self.group_by = other.group_by;
        }
        if !other.parents.is_empty() {
            self.parents = other.parents;
        }
        self.description = other.description.or(self.description.take());
        self.aggregate &= other.aggregate;
        Ok(())
    }

    fn to_json(&self) -> Json {
        let mut json: Map<String, Json> =
            self.ends.iter().map(|(name, of)| (name.clone(), json!(of))).collect();
        let properties: Map<String, Json> =
            self.properties.iter().map(|(name, of)| (name.clone(), json!(of))).collect();
        json.insert("properties".into(), properties.into());
        json.insert("groupBy".into(), json!(self.group_by));
        if !self.aggregate {
            json.insert("aggregate".into(), json!(false));
        }
        for (name, functions) in [
            ("aggregateFunctions", &self.aggregate_functions),
            ("validateFunctions", &self.validate_functions),
        ] {
            if !functions.is_empty() {
                json.insert(name.into(), json!(functions));
            }
        }
        if let Some(text) = &self.description {
            json.insert("description".into(), json!(text));
        }
        json.into()
    }
}

impl TypeDefinition {
    fn from_json(json: &Json) -> Result<Self> {
        let fields = object(json, "type")?;
        known(fields, &TYPE_FIELDS, "type")?;
        Ok(Self {
            class: text(fields, "class")?,
            serialiser: there(fields, "serialiser"),
            aggregate_function: there(fields, "aggregateFunction"),
            validate_functions: list(fields, "validateFunctions")?,
            description: text(fields, "description")?,
        })
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        let short = |class: &String| short_name(class).to_owned();
        if let (Some(own), Some(theirs)) = (&self.class, &other.class)
            && short(own) != short(theirs)
        {
            return Err(conflict("class", own, theirs));
        }
        self.class = self.class.take().or(other.class);
        merge_field(&mut self.serialiser, other.serialiser, "serialiser")?;
        merge_field(&mut self.aggregate_function, other.aggregate_function, "aggregateFunction")?;
        for function in other.validate_functions {
            if !self.validate_functions.contains(&function) {
                self.validate_functions.push(function);
            }
        }
        self.description = self.description.take().or(other.description);
        Ok(())
    }

    fn to_json(&self) -> Json {
        let mut json = Map::new();
        let fields = [
            ("class", self.class.as_ref().map(|class| json!(class))),
            ("serialiser", self.serialiser.clone()),
            ("aggregateFunction", self.aggregate_function.clone()),
            ("description", self.description.as_ref().map(|text| json!(text))),
        ];
        for (name, field) in fields {
            if let Some(field) = field {
                json.insert(name.into(), field);
            }
        }
        if !self.validate_functions.is_empty() {
            json.insert("validateFunctions".into(), json!(self.validate_functions));
        }
        json.into()
    }
}

/// Two parts may both speak of a group if one says nothing of its properties, or one says all that the other does.
fn merge_groups(
    own: &mut BTreeMap<String, GroupDefinition>,
    others: BTreeMap<String, GroupDefinition>,
    hidden: &[Option<String>],
) -> Result<()> {
    for (name, group) in others {
        let Some(known) = own.get_mut(&name) else {
            own.insert(name, group);
            continue;
        };
        let shown = |group: &GroupDefinition| -> Vec<(String, String)> {
            let is_hidden = |name: &String| hidden.iter().flatten().any(|hidden| hidden == name);
            group.properties.iter().filter(|(name, _)| !is_hidden(name)).cloned().collect()
        };
        let (ours, theirs) = (shown(known), shown(&group));
        let covers =
            |a: &[(String, String)], b: &[(String, String)]| b.iter().all(|p| a.contains(p));
        if !covers(&ours, &theirs) && !covers(&theirs, &ours) {
            return Err(Error::invalid(
                "a group is split over several parts of the schema: one must have all of its properties",
            )
            .with("group", name));
        }
        known.merge(group).map_err(|error| error.with("group", &name))?;
    }
    Ok(())
}

fn expanded(
    groups: &BTreeMap<String, GroupDefinition>,
    name: &str,
    depth: usize,
) -> Result<GroupDefinition> {
    let circular = || Error::invalid("a group is its own ancestor").with("group", name);
    let missing = || Error::invalid("a parent group does not exist").with("group", name);
    let own = groups.get(name).ok_or_else(missing)?;
    if depth > groups.len() {
        return Err(circular());
    }
    let mut whole: Option<GroupDefinition> = None;
    for parent in &own.parents {
        let parent = expanded(groups, parent, depth + 1)?;
        match &mut whole {
            None => whole = Some(parent),
            Some(whole) => whole.merge(parent)?,
        }
    }
    let Some(mut whole) = whole else { return Ok(own.clone()) };
    whole.description = None;
    whole.merge(GroupDefinition { parents: Vec::new(), ..own.clone() })?;
    whole.parents.clear();
    Ok(whole)
}

fn merge_field<T: PartialEq + std::fmt::Debug>(
    own: &mut Option<T>,
    other: Option<T>,
    name: &'static str,
) -> Result<()> {
    match (&own, &other) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            Err(conflict(name, &format!("{ours:?}"), &format!("{theirs:?}")))
        }
        _ => {
            *own = own.take().or(other);
            Ok(())
        }
    }
}

fn conflict(at: &'static str, own: &str, other: &str) -> Error {
    Error::invalid("parts of the schema contradict each other")
        .with("at", at)
        .with("one", own)
        .with("other", other)
}
