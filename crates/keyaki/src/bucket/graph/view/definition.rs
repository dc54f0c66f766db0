//! A view as its JSON has it, with the global definitions spread over the groups they are for.
//!
//! Unknown fields are ignored, and views merged, as Gaffer does it: an aggregator does not outlive a merge, and
//! `allEdges` or `allEntities` stands for all groups of the kind without anything that was said of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::bucket::graph::fields::{list, object, texts};
use crate::bucket::graph::schema::Schema;
use crate::error::{Error, Result};

type Groups = BTreeMap<String, GroupView>;

/// What a view says of one group, as JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupView {
    pub pre: Vec<Json>,
    pub group_by: Option<Vec<String>>,
    pub aggregator: Vec<Json>,
    pub post: Vec<Json>,
    pub transient: BTreeMap<String, String>,
    pub transforms: Vec<Json>,
    pub post_transform: Vec<Json>,
    pub properties: Option<Vec<String>>,
    pub exclude: Option<Vec<String>>,
    /// Whether functions may be given what does not look like their input.
    pub unchecked: bool,
}

/// A whole view.
#[derive(Debug, Default)]
struct Definition {
    entities: Groups,
    edges: Groups,
    global_elements: Vec<Json>,
    global_entities: Vec<Json>,
    global_edges: Vec<Json>,
    all_entities: bool,
    all_edges: bool,
    unchecked: bool,
}

/// What the views together say of each group that they show.
pub(super) fn groups(views: &[Json], schema: &Schema) -> Result<Groups> {
    let mut all = Definition::default();
    for view in views {
        all.merge(Definition::from_json(view)?)?;
    }
    all.fill(schema);
    check_kinds(&all.entities, schema, false)?;
    check_kinds(&all.edges, schema, true)?;
    // Those of the kind go behind those of all elements.
    spread(&all.global_entities, &mut [&mut all.entities], true)?;
    spread(&all.global_edges, &mut [&mut all.edges], true)?;
    spread(&all.global_elements, &mut [&mut all.entities, &mut all.edges], false)?;
    for (said, all_of_them) in
        [(&mut all.entities, all.all_entities), (&mut all.edges, all.all_edges)]
    {
        for view in said.values_mut() {
            if all_of_them {
                *view = GroupView::default();
            }
            view.unchecked = all.unchecked;
        }
    }
    all.entities.extend(all.edges);
    Ok(all.entities)
}

impl Definition {
    fn from_json(json: &Json) -> Result<Self> {
        let none = Map::new();
        let fields = match json {
            Json::Null => &none,
            json => object(json, "view")?,
        };
        let flag = |name: &str| fields.get(name).and_then(Json::as_bool).unwrap_or(false);
        let skip = fields.get("config").and_then(|config| config.get("skipViewValidation"));
        Ok(Self {
            entities: own_groups(fields, "entities")?,
            edges: own_groups(fields, "edges")?,
            global_elements: list(fields, "globalElements")?,
            global_entities: list(fields, "globalEntities")?,
            global_edges: list(fields, "globalEdges")?,
            all_entities: flag("allEntities"),
            all_edges: flag("allEdges"),
            unchecked: skip.and_then(Json::as_str) == Some("true"),
        })
    }

    /// Another view on top of this one.
    fn merge(&mut self, other: Self) -> Result<()> {
        for (own, other) in [(&mut self.entities, other.entities), (&mut self.edges, other.edges)] {
            for (group, view) in other {
                match own.get_mut(&group) {
                    Some(own) => own.merge(view)?,
                    None => {
                        own.insert(group, view);
                    }
                }
            }
        }
        self.global_elements.extend(other.global_elements);
        self.global_entities.extend(other.global_entities);
        self.global_edges.extend(other.global_edges);
        (self.all_entities, self.all_edges) = (other.all_entities, other.all_edges);
        self.unchecked |= other.unchecked;
        Ok(())
    }

    /// A view that names no group is of all, or of the one kind that it says something of.
    fn fill(&mut self, schema: &Schema) {
        let names_none = self.entities.is_empty() && self.edges.is_empty();
        let is_open = names_none && !self.all_entities && !self.all_edges;
        let says = |globals: &[Json]| !globals.is_empty();
        let of_all = says(&self.global_elements)
            || !(says(&self.global_entities) || says(&self.global_edges));
        let entities = self.all_entities || is_open && (of_all || says(&self.global_entities));
        let edges = self.all_edges || is_open && (of_all || says(&self.global_edges));
        for group in schema.groups() {
            let (shown, wanted) = match group.shape().is_edge {
                true => (&mut self.edges, edges),
                false => (&mut self.entities, entities),
            };
            if wanted {
                shown.entry(group.name().to_owned()).or_default();
            }
        }
    }
}

fn own_groups(fields: &Map<String, Json>, name: &'static str) -> Result<Groups> {
    let read = |(group, json): (&String, &Json)| {
        if json.is_null() {
            return Err(Error::invalid("a group of the view is null").with("group", group));
        }
        let view = GroupView::from_json(json).map_err(|error| error.with("group", group))?;
        Ok((group.clone(), view))
    };
    match fields.get(name) {
        None | Some(Json::Null) => Ok(BTreeMap::new()),
        Some(Json::Object(groups)) => groups.iter().map(read).collect(),
        Some(_) => Err(Error::invalid("the groups of a view are an object").with("at", name)),
    }
}

fn check_kinds(groups: &Groups, schema: &Schema, edges: bool) -> Result<()> {
    for name in groups.keys() {
        if schema.group(name).is_none_or(|group| group.shape().is_edge != edges) {
            return Err(Error::invalid("a group of the view does not exist in the schema")
                .with("group", name)
                .with("at", if edges { "edges" } else { "entities" }));
        }
    }
    Ok(())
}

/// Puts global definitions before the groups' own.
fn spread(globals: &[Json], groups: &mut [&mut Groups], must_exist: bool) -> Result<()> {
    if groups.iter().all(|groups| groups.is_empty()) {
        return Ok(());
    }
    let mut common = Groups::new();
    for global in globals {
        let view = GroupView::from_json(global)?;
        let fields = object(global, "view")?;
        let named = fields.get("groups").filter(|groups| !groups.is_null());
        let named = named.map(|_| texts(fields, "groups")).transpose()?;
        let exists = |name: &String| groups.iter().any(|groups| groups.contains_key(name));
        if let Some(missing) = named.iter().flatten().find(|name| must_exist && !exists(name)) {
            return Err(Error::invalid(
                "a global definition is for a group that is not in the view",
            )
            .with("group", missing));
        }
        for group in groups.iter().flat_map(|groups| groups.keys()) {
            if named.as_ref().is_none_or(|named| named.contains(group)) {
                common.entry(group.clone()).or_default().merge(view.clone())?;
            }
        }
    }
    for (name, mut view) in common {
        if let Some(own) = groups.iter_mut().find_map(|groups| groups.get_mut(&name)) {
            view.merge(std::mem::take(own))?;
            *own = view;
        }
    }
    Ok(())
}

impl GroupView {
    fn from_json(json: &Json) -> Result<Self> {
        let none = Map::new();
        let fields = match json {
            Json::Null => &none,
            json => object(json, "view")?,
        };
        let optional = |name| match fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(_) => texts(fields, name).map(Some),
        };
        let mut transient = BTreeMap::new();
        if let Some(Json::Object(classes)) = fields.get("transientProperties") {
            for (name, class) in classes {
                let class = class.as_str().unwrap_or("java.lang.Object");
                transient.insert(name.clone(), class.to_owned());
            }
        }
        let aggregator = match fields.get("aggregator").and_then(|it| it.get("operators")) {
            Some(Json::Array(operators)) => operators.clone(),
            _ => Vec::new(),
        };
        let view = Self {
            pre: list(fields, "preAggregationFilterFunctions")?,
            group_by: optional("groupBy")?,
            aggregator,
            post: list(fields, "postAggregationFilterFunctions")?,
            transient,
            transforms: list(fields, "transformFunctions")?,
            post_transform: list(fields, "postTransformFilterFunctions")?,
            properties: optional("properties")?,
            exclude: optional("excludeProperties")?,
            unchecked: false,
        };
        view.check_properties()?;
        Ok(view)
    }

    fn check_properties(&self) -> Result<()> {
        match (&self.properties, &self.exclude) {
            (Some(_), Some(excluded)) if !excluded.is_empty() => {
                Err(Error::invalid("You cannot set both properties and excludeProperties"))
            }
            _ => Ok(()),
        }
    }

    /// Another definition on top of this one. Filters and transforms add up.
    fn merge(&mut self, other: Self) -> Result<()> {
        for (name, class) in other.transient {
            if self.transient.get(&name).is_some_and(|own| *own != class) {
                return Err(
                    Error::invalid("a transient property has two classes").with("property", name)
                );
            }
            self.transient.insert(name, class);
        }
        self.pre.extend(other.pre);
        self.group_by = other.group_by.or(self.group_by.take());
        self.aggregator.clear();
        self.post.extend(other.post);
        self.transforms.extend(other.transforms);
        self.post_transform.extend(other.post_transform);
        self.properties = other.properties.or(self.properties.take());
        if other.exclude.as_ref().is_some_and(|names| !names.is_empty()) {
            self.exclude = other.exclude;
        }
        self.check_properties()
    }
}
