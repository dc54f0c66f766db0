//! A view as its JSON has it, with the global definitions spread over the groups they are for.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::bucket::graph::fields::{known, list, object, texts};
use crate::bucket::graph::schema::Schema;
use crate::error::{Error, Result};

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
}

const VIEW_FIELDS: [&str; 12] = [
    "class",
    "entities",
    "edges",
    "allEntities",
    "allEdges",
    "all",
    "globalElements",
    "globalEntities",
    "globalEdges",
    "config",
    "name",
    "parameters",
];
const GROUP_FIELDS: [&str; 12] = [
    "class",
    "groups",
    "preAggregationFilterFunctions",
    "groupBy",
    "aggregator",
    "aggregateFunctions",
    "postAggregationFilterFunctions",
    "transientProperties",
    "transformFunctions",
    "postTransformFilterFunctions",
    "properties",
    "excludeProperties",
];

/// What the view says of each group that it shows.
pub(super) fn groups(json: &Json, schema: &Schema) -> Result<BTreeMap<String, GroupView>> {
    let none = Map::new();
    let fields = match json {
        Json::Null => &none,
        json => object(json, "view")?,
    };
    known(fields, &VIEW_FIELDS, "view")?;
    let flag = |name: &str| fields.get(name).and_then(Json::as_bool).unwrap_or(false);
    let mut entities = own_groups(fields, "entities")?;
    let mut edges = own_groups(fields, "edges")?;
    let (all_entities, all_edges) =
        (flag("all") || flag("allEntities"), flag("all") || flag("allEdges"));
    let nothing_named = entities.is_empty() && edges.is_empty() && !all_entities && !all_edges;
    for group in schema.groups() {
        let (shown, all) = match group.shape().is_edge {
            true => (&mut edges, all_edges),
            false => (&mut entities, all_entities),
        };
        if all || nothing_named {
            shown.entry(group.name().to_owned()).or_default();
        }
    }
    check_kinds(&entities, schema, false)?;
    check_kinds(&edges, schema, true)?;
    spread(fields, "globalEntities", &mut [&mut entities], true)?;
    spread(fields, "globalEdges", &mut [&mut edges], true)?;
    spread(fields, "globalElements", &mut [&mut entities, &mut edges], false)?;
    entities.extend(edges);
    Ok(entities)
}

fn own_groups(
    fields: &Map<String, Json>,
    name: &'static str,
) -> Result<BTreeMap<String, GroupView>> {
    let read = |(group, json): (&String, &Json)| {
        let view = GroupView::from_json(json).map_err(|error| error.with("group", group))?;
        Ok((group.clone(), view))
    };
    match fields.get(name) {
        None | Some(Json::Null) => Ok(BTreeMap::new()),
        Some(Json::Object(groups)) => groups.iter().map(read).collect(),
        Some(_) => Err(Error::invalid("the groups of a view are an object").with("at", name)),
    }
}

fn check_kinds(groups: &BTreeMap<String, GroupView>, schema: &Schema, edges: bool) -> Result<()> {
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
fn spread(
    fields: &Map<String, Json>,
    name: &'static str,
    groups: &mut [&mut BTreeMap<String, GroupView>],
    must_exist: bool,
) -> Result<()> {
    let globals = match fields.get(name) {
        None | Some(Json::Null) => return Ok(()),
        Some(Json::Array(globals)) => globals,
        Some(_) => return Err(Error::invalid("global definitions are a list").with("at", name)),
    };
    let mut common: BTreeMap<String, GroupView> = BTreeMap::new();
    for global in globals {
        let view = GroupView::from_json(global)?;
        let fields = object(global, name)?;
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
                common.entry(group.clone()).or_default().merge(view.clone());
            }
        }
    }
    for (name, mut view) in common {
        for groups in groups.iter_mut() {
            if let Some(own) = groups.get_mut(&name) {
                view.merge(std::mem::take(own));
                *own = std::mem::take(&mut view);
            }
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
        known(fields, &GROUP_FIELDS, "view")?;
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
            _ => list(fields, "aggregateFunctions")?,
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
        };
        if view.properties.is_some() && view.exclude.as_ref().is_some_and(|names| !names.is_empty())
        {
            return Err(Error::invalid("You cannot set both properties and excludeProperties"));
        }
        Ok(view)
    }

    fn merge(&mut self, other: Self) {
        fn union(own: &mut Option<Vec<String>>, other: Option<Vec<String>>) {
            match (own, other) {
                (Some(own), Some(other)) => own.extend(other),
                (own @ None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
        self.pre.extend(other.pre);
        self.group_by = other.group_by.or(self.group_by.take());
        self.aggregator.extend(other.aggregator);
        self.post.extend(other.post);
        self.transient.extend(other.transient);
        self.transforms.extend(other.transforms);
        self.post_transform.extend(other.post_transform);
        union(&mut self.properties, other.properties);
        union(&mut self.exclude, other.exclude);
    }
}
