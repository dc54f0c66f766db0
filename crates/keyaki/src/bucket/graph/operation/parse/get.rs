//! Operations that read the graph.

use std::sync::Arc;

use serde_json::Value as Json;

use super::super::{Operation, Query, Side, Step, Walks, catalogue};
use super::{Parser, Spec};
use crate::bucket::graph::element::Directed;
use crate::bucket::graph::value::{Value, short_name};
use crate::bucket::graph::view::View;
use crate::error::{Error, Result};

/// Gaffer's own limit on what a walk may find at a hop. One that comes with an operation it reads and forgets.
const WALKS_MAX: u64 = 1_000_000;

impl Parser<'_> {
    pub(super) fn get(&self, spec: &Spec<'_>) -> Result<Option<Operation>> {
        Ok(Some(match spec.short() {
            "GetElements" => Operation::GetElements(self.query(spec)?),
            "GetAllElements" => Operation::GetAllElements(self.query(spec)?),
            "GetAdjacentIds" => {
                Operation::GetAdjacentIds(self.query_with(spec, self.edge_view(spec)?)?)
            }
            "GetElementsWithinSet" => Operation::GetElementsWithinSet(self.query(spec)?),
            "GetElementsBetweenSets" => {
                spec.need("inputB")?;
                let other = spec.list("inputB")?.unwrap_or_default();
                Operation::GetElementsBetweenSets(self.query(spec)?, vertices(other)?)
            }
            "GetElementsBetweenSetsPairs" => Operation::GetElementsBetweenPair(self.query(spec)?),
            "GetElementsInRanges" => Operation::GetElementsInRanges(self.query(spec)?),
            "GetWalks" => Operation::GetWalks(Box::new(self.walks(spec)?)),
            _ => return Ok(None),
        }))
    }

    fn query(&self, spec: &Spec<'_>) -> Result<Query> {
        self.query_with(spec, self.view(spec)?)
    }

    fn query_with(&self, spec: &Spec<'_>, view: View) -> Result<Query> {
        let side = match spec.text("includeIncomingOutGoing")? {
            None | Some("EITHER") => Side::Either,
            Some("OUTGOING") => Side::Outgoing,
            Some("INCOMING") => Side::Incoming,
            Some(_) => return Err(spec.wrong("not a side of a seed", "includeIncomingOutGoing")),
        };
        let directed = spec.text("directedType")?.map_or(Ok(Directed::Either), Directed::named)?;
        let query = Query { view: Arc::new(view), side, directed };
        match spec.short() {
            "GetElements" | "GetAdjacentIds" => check_seeds(spec, &query)?,
            "GetElementsInRanges" if query.view.has_edges() => check_ranges(spec, &query)?,
            _ => {}
        }
        Ok(query)
    }

    /// The view of an operation; several are laid over each other, and names looked up.
    fn view(&self, spec: &Spec<'_>) -> Result<View> {
        self.compiled(&self.view_parts(spec)?)
    }

    /// The view without what it says of entities; one that then says nothing is of all edges.
    fn edge_view(&self, spec: &Spec<'_>) -> Result<View> {
        let mut parts = self.view_parts(spec)?;
        for part in parts.iter_mut().filter_map(Json::as_object_mut) {
            part.retain(|name, _| name != "entities" && name != "globalEntities");
        }
        self.compiled(&parts).map(View::edges_only)
    }

    fn compiled(&self, parts: &[Json]) -> Result<View> {
        View::merged(parts, self.schema).map_err(|error| error.with("at", "view"))
    }

    fn view_parts(&self, spec: &Spec<'_>) -> Result<Vec<Json>> {
        let mut parts = Vec::new();
        for json in spec.get("view").into_iter().chain(spec.list("views")?.unwrap_or_default()) {
            parts.extend(self.named_view(json)?);
            parts.push(json.clone());
        }
        Ok(parts)
    }

    fn walks(&self, spec: &Spec<'_>) -> Result<Walks> {
        let hops = spec.list("operations")?.unwrap_or_default();
        let hops = hops.iter().map(|hop| self.step(hop)).collect::<Result<Vec<_>>>()?;
        if hops.iter().map(edge_reads).sum::<usize>() == 0 {
            return Err(spec.wrong("No hops were provided", "operations"));
        }
        for (place, hop) in hops.iter().enumerate() {
            check_hop(hop, place + 1 == hops.len()).map_err(|error| error.with("hop", place))?;
        }
        let condition = spec.get("conditional").map(|json| self.condition(None, Some(json)));
        Ok(Walks {
            hops,
            include_partial: spec.flag("includePartial")?.unwrap_or(false),
            limit: spec.integer("resultsLimit").map(|_| WALKS_MAX)?,
            condition: condition.transpose()?,
        })
    }
}

/// Refuses seeds that Gaffer fails on: none at all, and those of edges that do not say which direction they are for,
/// where the operation does.
fn check_seeds(spec: &Spec<'_>, query: &Query) -> Result<()> {
    let seeds = spec.get("input").map(unwrapped).and_then(Json::as_array);
    for seed in seeds.into_iter().flatten() {
        if seed.is_null() {
            return Err(spec.wrong("a seed is null", "input"));
        }
        if query.directed != Directed::Either && leaves_direction_open(seed) {
            return Err(spec.wrong("an edge seed does not say which direction it is for", "input"));
        }
    }
    Ok(())
}

/// The same of the ends of ranges, each of which is wrapped in its class.
fn check_ranges(spec: &Spec<'_>, query: &Query) -> Result<()> {
    let pairs = spec.get("input").map(unwrapped).and_then(Json::as_array);
    let ends = pairs.into_iter().flatten().flat_map(|pair| [pair.get("first"), pair.get("second")]);
    let wrapped = ends.flatten().filter_map(Json::as_object).flat_map(|end| end.iter());
    for (class, seed) in wrapped {
        if query.directed != Directed::Either
            && short_name(class) == "EdgeSeed"
            && !says_direction(seed)
        {
            return Err(spec.wrong("an edge seed does not say which direction it is for", "input"));
        }
    }
    Ok(())
}

fn leaves_direction_open(seed: &Json) -> bool {
    let class = seed.get("class").and_then(Json::as_str).map(short_name);
    class == Some("EdgeSeed") && !says_direction(seed)
}

fn says_direction(seed: &Json) -> bool {
    ["directed", "directedType"].iter().any(|name| seed.get(name).is_some_and(|it| !it.is_null()))
}

/// How many operations of a hop read edges.
fn edge_reads(step: &Step) -> usize {
    match &step.operation {
        Operation::GetElements(query) => query.view.has_edges().into(),
        Operation::Chain(steps) => steps.iter().map(edge_reads).sum(),
        Operation::While { operation, .. } => edge_reads(operation),
        _ => 0,
    }
}

/// A hop takes the seeds and reads edges once; the last may read entities alone.
fn check_hop(hop: &Step, is_last: bool) -> Result<()> {
    let first = match &hop.operation {
        Operation::Chain(steps) => steps.first().unwrap_or(hop),
        _ => hop,
    };
    if first.input.is_some() || hop.input.is_some() {
        return Err(Error::invalid("The input for operations must be null"));
    }
    if catalogue::find(&first.class).is_none_or(|described| described.input.is_none()) {
        return Err(Error::invalid("the first operation of a hop must take the seeds"));
    }
    match edge_reads(hop) {
        0 if !is_last => Err(Error::invalid("All operations must contain a single hop")),
        0 | 1 => Ok(()),
        _ => Err(Error::invalid("an operation contains multiple hops")),
    }
}

/// The content of `{"java.util.ArrayList": […]}`.
pub(super) fn unwrapped(json: &Json) -> &Json {
    match json.as_object() {
        Some(fields) if fields.len() == 1 => match fields.values().next() {
            Some(list @ Json::Array(_)) => list,
            _ => json,
        },
        _ => json,
    }
}

/// A pair of lists of vertices, which may be wrapped in their class.
pub(super) fn pair_of_sets(spec: &Spec<'_>, json: &Json) -> Result<Value> {
    let list = |name| {
        let inner = json.get(name).map(unwrapped);
        let wrong = || spec.wrong("a pair of lists is wanted", name);
        let list = inner.and_then(Json::as_array).ok_or_else(wrong)?;
        vertices(list).map(Value::list)
    };
    Ok(Value::Pair(Box::new([list("first")?, list("second")?])))
}

fn vertex(json: &Json) -> Result<Value> {
    match Value::from_json(json)? {
        Value::EntityId(vertex) => Ok(*vertex),
        Value::Null | Value::EdgeId(_) | Value::Element(_) | Value::Walk(_) => {
            Err(Error::invalid("a vertex or the id of an entity is wanted").with("seed", json))
        }
        vertex => Ok(vertex),
    }
}

fn vertices(list: &[Json]) -> Result<Vec<Value>> {
    list.iter().map(vertex).collect()
}
