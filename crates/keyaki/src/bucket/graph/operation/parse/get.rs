//! Operations that read the graph.

use std::sync::Arc;

use serde_json::Value as Json;

use super::super::{Operation, Query, Side, Walks};
use super::{Parser, Spec};
use crate::bucket::graph::element::Directed;
use crate::bucket::graph::value::{Value, short_name};
use crate::bucket::graph::view::View;
use crate::error::{Error, Result};

/// Gaffer's own limit on walks.
const WALKS_MAX: u64 = 1_000_000;

impl Parser<'_> {
    pub(super) fn get(&self, spec: &Spec<'_>) -> Result<Option<Operation>> {
        Ok(Some(match spec.short() {
            "GetElements" => Operation::GetElements(self.query(spec)?),
            "GetAllElements" => Operation::GetAllElements(self.query(spec)?),
            "GetAdjacentIds" => {
                let query = self.query_with(spec, View::edges_only)?;
                Operation::GetAdjacentIds(query)
            }
            "GetElementsWithinSet" => Operation::GetElementsWithinSet(self.query(spec)?),
            "GetElementsBetweenSets" => {
                let other = spec.list("inputB")?.unwrap_or_default();
                Operation::GetElementsBetweenSets(self.query(spec)?, vertices(other)?)
            }
            "GetElementsBetweenSetsPairs" => return self.between_pair(spec).map(Some),
            "GetElementsInRanges" => {
                let pairs = spec.list("input")?.unwrap_or_default();
                let pairs = pairs.iter().map(range).collect::<Result<_>>()?;
                Operation::GetElementsInRanges(self.query(spec)?, pairs)
            }
            "GetWalks" => Operation::GetWalks(Box::new(self.walks(spec)?)),
            _ => return Ok(None),
        }))
    }

    fn query(&self, spec: &Spec<'_>) -> Result<Query> {
        self.query_with(spec, |view| view)
    }

    fn query_with(&self, spec: &Spec<'_>, change: impl Fn(View) -> View) -> Result<Query> {
        let side = match spec.text("includeIncomingOutGoing")? {
            None | Some("EITHER") => Side::Either,
            Some("OUTGOING") => Side::Outgoing,
            Some("INCOMING") => Side::Incoming,
            Some(_) => return Err(spec.wrong("not a side of a seed", "includeIncomingOutGoing")),
        };
        let directed = spec.text("directedType")?.map_or(Ok(Directed::Either), Directed::named)?;
        Ok(Query { view: Arc::new(change(self.view(spec)?)), side, directed })
    }

    /// The view of an operation; several are merged, and names looked up.
    fn view(&self, spec: &Spec<'_>) -> Result<View> {
        let json = match (spec.get("view"), spec.list("views")?) {
            (Some(view), _) => self.named_view(view)?,
            (None, Some([view])) => self.named_view(view)?,
            (None, Some([])) | (None, None) => Json::Null,
            (None, Some(_)) => return Err(spec.wrong("only one view is understood", "views")),
        };
        View::from_json(&json, self.schema).map_err(|error| error.with("at", "view"))
    }

    fn named_view(&self, json: &Json) -> Result<Json> {
        let class = json.get("class").and_then(Json::as_str).unwrap_or_default();
        let Some(name) = json.get("name").and_then(Json::as_str) else { return Ok(json.clone()) };
        if short_name(class) != "NamedView" {
            return Ok(json.clone());
        }
        let unknown = || Error::invalid("a named view does not exist").with("name", name);
        let view = self.names.view(name).ok_or_else(unknown)?;
        super::control::with_parameters(&view, json.get("parameters"))
    }

    /// The second list of a pair of lists; the first is the step's input.
    fn between_pair(&self, spec: &Spec<'_>) -> Result<Operation> {
        let pair = spec.need("input")?;
        let list = |name| {
            let inner = pair.get(name).map(unwrapped);
            inner
                .and_then(Json::as_array)
                .ok_or_else(|| spec.wrong("a pair of lists is wanted", name))
        };
        let query = self.query(spec)?;
        let first = vertices(list("first")?)?.into_iter().map(|it| Value::EntityId(Box::new(it)));
        let between = super::Step {
            class: spec.class.into(),
            input: Some(first.collect()),
            operation: Operation::GetElementsBetweenSets(query, vertices(list("second")?)?),
        };
        Ok(Operation::Chain(vec![between]))
    }

    fn walks(&self, spec: &Spec<'_>) -> Result<Walks> {
        let hops = spec.list("operations")?.unwrap_or_default();
        let hops = hops.iter().map(|hop| self.step(hop)).collect::<Result<Vec<_>>>()?;
        if hops.is_empty() {
            return Err(spec.wrong("No hops were provided", "operations"));
        }
        let condition = spec.get("conditional").map(|json| self.condition(None, Some(json)));
        Ok(Walks {
            hops,
            include_partial: spec.flag("includePartial")?.unwrap_or(false),
            limit: spec.integer("resultsLimit")?.map_or(WALKS_MAX, |limit| limit.max(0) as u64),
            condition: condition.transpose()?,
        })
    }
}

/// The content of `{"java.util.ArrayList": […]}` and of `{"…EntitySeed": {…}}`.
fn unwrapped(json: &Json) -> &Json {
    match json.as_object() {
        Some(fields) if fields.len() == 1 && !fields.contains_key("vertex") => {
            fields.values().next().unwrap_or(json)
        }
        _ => json,
    }
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

fn range(pair: &Json) -> Result<[Value; 2]> {
    let end = |name| {
        let missing = || Error::invalid("a range has two ends").with("at", name);
        vertex(pair.get(name).ok_or_else(missing)?)
    };
    let (first, second) = (end("first")?, end("second")?);
    Ok(if first <= second { [first, second] } else { [second, first] })
}
