//! Operations from their JSON, compiled against the schema.

mod control;
mod generate;
mod get;
mod named;
mod table;

use std::cell::Cell;

use serde_json::Value as Json;

use super::catalogue::{self, Type};
use super::{Aggregation, ByGroup, Comparator, EdgeVertices, Named, Operation, Step};
use crate::bucket::graph::koryphe::predicate;
use crate::bucket::graph::koryphe::{BinaryOperator, Function, Predicate, Spec};
use crate::bucket::graph::schema::{Group, Schema};
use crate::bucket::graph::value::Value;
use crate::bucket::graph::view::{check_filters, check_transforms};
use crate::error::{Error, Result};
use get::{pair_of_sets, unwrapped};

/// How deep operations may lie in operations.
const DEPTH_MAX: usize = 32;

/// How deep named operations may come in others, as parameters; and how many there may be in all, since each brings
/// a whole chain.
const NAMES_DEEP_MAX: usize = 3;
const NAMES_MAX: usize = 100;

/// Named operations and views.
pub trait Names: Send + Sync {
    /// The chain behind a named operation.
    fn operation(&self, name: &str) -> Option<&Named>;

    /// The view behind a named view.
    fn view(&self, name: &str) -> Option<&Named>;
}

/// Nothing has a name.
pub struct NoNames;

impl Names for NoNames {
    fn operation(&self, _name: &str) -> Option<&Named> {
        None
    }

    fn view(&self, _name: &str) -> Option<&Named> {
        None
    }
}

impl Step {
    /// Reads a chain, or an operation alone.
    ///
    /// # Errors
    /// `Invalid` for unknown classes and fields, and views that do not fit the schema.
    pub fn from_json(json: &Json, schema: &Schema, names: &dyn Names) -> Result<Self> {
        let names_left = &Cell::new(NAMES_MAX);
        let names_deep = NAMES_DEEP_MAX;
        Parser { schema, names, depth: DEPTH_MAX, names_deep, names_left }.step(json)
    }
}

/// What is at hand while reading.
struct Parser<'a> {
    schema: &'a Schema,
    names: &'a dyn Names,
    depth: usize,
    /// How much deeper named operations may lie.
    names_deep: usize,
    /// How many more there may be.
    names_left: &'a Cell<usize>,
}

impl Parser<'_> {
    fn step(&self, json: &Json) -> Result<Step> {
        let too_deep = || Error::invalid("operations lie too deep in operations");
        let depth = self.depth.checked_sub(1).ok_or_else(too_deep)?;
        let inner = Parser { depth, ..*self };
        // A chain may stand without its class.
        let spec = match json.get("operations") {
            Some(_) => Spec::or_class(json, "OperationChain")?,
            None => Spec::new(json)?,
        };
        if catalogue::find(spec.class).is_none() {
            return Err(match spec.short() {
                "CancelScheduledJob" => Error::invalid("no jobs are scheduled here: they run once")
                    .with("class", spec.class),
                _ => spec.unknown("operation"),
            });
        }
        let operation = inner.operation(&spec)?;
        Ok(Step { class: spec.class.into(), input: inner.input(&spec, &operation)?, operation })
    }

    fn operation(&self, spec: &Spec<'_>) -> Result<Operation> {
        if let Some(operation) = self.get(spec)? {
            return Ok(operation);
        }
        if let Some(operation) = self.control(spec)? {
            return Ok(operation);
        }
        if let Some(operation) = self.generate(spec)? {
            return Ok(operation);
        }
        if let Some(operation) = self.naming(spec)? {
            return Ok(operation);
        }
        Ok(match spec.short() {
            "AddElements" => Operation::AddElements {
                validate: spec.flag("validate")?.unwrap_or(true),
                skip_invalid: spec.flag("skipInvalidElements")?.unwrap_or(false),
            },
            "DeleteElements" => Operation::DeleteElements {
                validate: spec.flag("validate")?.unwrap_or(true),
                skip_invalid: spec.flag("skipInvalidElements")?.unwrap_or(false),
            },
            "Validate" => Operation::Validate {
                skip_invalid: spec.flag("skipInvalidElements")?.unwrap_or(false),
            },
            "Aggregate" => Operation::Aggregate(Aggregation::from_json(spec, self.schema)?.into()),
            "Filter" => {
                self.check_groups(spec, "predicates", check_filters)?;
                Operation::Filter(self.by_group(spec, filter)?.into())
            }
            "Transform" => {
                self.check_groups(spec, "functions", check_transforms)?;
                Operation::Transform(self.by_group(spec, transforms)?.into())
            }
            "Map" => match (spec.get("function"), spec.get("functions")) {
                (None, None) => return Err(spec.wrong("a field is missing", "functions")),
                _ => Operation::Map(functions(spec)?),
            },
            "Reduce" => Operation::Reduce {
                // Gaffer takes no class from it: an object is a map.
                identity: spec.get("identity").map_or(Ok(Value::Null), Value::from_plain_json)?,
                operator: BinaryOperator::from_json(spec.need("aggregateFunction")?)?,
            },
            "Sort" => Operation::Sort {
                comparators: self.comparators(spec)?,
                limit: match spec.integer("resultLimit")? {
                    Some(limit @ ..=0) => {
                        return Err(spec
                            .wrong("Limit cannot be less than or equal to 0", "resultLimit")
                            .with("limit", limit));
                    }
                    limit => limit.map(|limit| limit as usize),
                },
                deduplicate: spec.flag("deduplicate")?.unwrap_or(true),
            },
            "Min" => Operation::Min(self.comparators(spec)?),
            "Max" => Operation::Max(self.comparators(spec)?),
            "Limit" => {
                spec.need("resultLimit")?;
                let count = spec.integer("resultLimit")?.unwrap_or(0);
                let negative = |_| spec.wrong("a limit can't be negative", "resultLimit");
                Operation::Limit {
                    count: u64::try_from(count).map_err(negative)?,
                    truncate: spec.flag("truncate")?.unwrap_or(true),
                }
            }
            "Count" => Operation::Count,
            "CountGroups" => {
                Operation::CountGroups(spec.integer("limit")?.map(|limit| limit.max(0) as u64))
            }
            "ToSet" => Operation::ToSet,
            "ToList" | "ToArray" | "ToStream" => Operation::ToList,
            "ToSingletonList" => Operation::ToSingletonList,
            "ToVertices" => Operation::ToVertices(edge_vertices(spec)?),
            "ToEntitySeeds" => Operation::ToEntitySeeds,
            "ToCsv" => self.to_csv(spec)?,
            "ToMap" => self.to_map(spec)?,
            "DiscardOutput" => Operation::DiscardOutput,
            "GetSchema" => Operation::GetSchema,
            "GetTraits" => {
                Operation::GetTraits { current: spec.flag("currentTraits")?.unwrap_or(true) }
            }
            "GetJobDetails" => Operation::GetJobDetails(job(spec)?),
            "GetAllJobDetails" => Operation::GetAllJobDetails,
            "GetJobResults" => Operation::GetJobResults(job(spec)?),
            "HasTrait" => {
                spec.need("trait")?;
                let name = spec.text("trait")?.unwrap_or_default().into();
                let current = spec.flag("currentTraits")?.unwrap_or(true);
                Operation::HasTrait { name, current }
            }
            _ => return Err(spec.unknown("operation")),
        })
    }

    /// The input, where the operation does not read it in a way of its own.
    fn input(&self, spec: &Spec<'_>, operation: &Operation) -> Result<Option<Value>> {
        let Some(json) = spec.get("input") else { return Ok(None) };
        if let Operation::GetElementsBetweenPair(_) = operation {
            return pair_of_sets(spec, json).map(Some);
        }
        let takes_many =
            catalogue::find(spec.class).and_then(|it| it.input) == Some(Type::Iterable);
        let read = match unwrapped(json) {
            Json::Array(items) => {
                items.iter().map(Value::from_json).collect::<Result<_>>().map(Value::list)
            }
            _ if takes_many => return Err(spec.wrong("a list is wanted", "input")),
            _ => Value::from_json(json),
        };
        read.map(Some).map_err(|error| error.with("at", "input"))
    }

    fn comparators(&self, spec: &Spec<'_>) -> Result<Vec<Comparator>> {
        spec.need("comparators")?;
        let list = spec.list("comparators")?.unwrap_or_default();
        list.iter().map(|json| self.comparator(json)).collect()
    }

    fn comparator(&self, json: &Json) -> Result<Comparator> {
        let spec = Spec::new(json)?;
        if spec.short() != "ElementPropertyComparator" {
            return Err(spec.unknown("comparator"));
        }
        let property = spec.text("property")?.unwrap_or_default();
        let groups = spec.texts("groups")?;
        for name in &groups {
            let group = self.schema.group(name);
            let group =
                group.ok_or_else(|| spec.wrong("a group does not exist in the schema", name))?;
            let class = group.shape().slot(property).map(|slot| group.classes()[slot]);
            if class.is_some_and(|class| !class.is_comparable()) {
                return Err(spec.wrong("a property has no order", property));
            }
        }
        Ok(Comparator {
            property: property.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            reversed: spec.flag("reversed")?.unwrap_or(false),
        })
    }

    /// Refuses what elements of the groups could not go through; `field` holds it, and `check` knows.
    fn check_groups(
        &self,
        spec: &Spec<'_>,
        field: &str,
        check: impl Fn(&[Json], &Group) -> Result<()>,
    ) -> Result<()> {
        for group in self.schema.groups() {
            let (kind, global) = match group.shape().is_edge {
                true => ("edges", "globalEdges"),
                false => ("entities", "globalEntities"),
            };
            let own = spec.get(kind).and_then(|groups| groups.get(group.name()));
            for json in own.into_iter().chain(spec.get(global)).chain(spec.get("globalElements")) {
                let list = json.get(field).and_then(Json::as_array);
                check(list.map_or(&[], Vec::as_slice), group)
                    .map_err(|error| error.with("group", group.name()))?;
            }
        }
        Ok(())
    }

    fn by_group<T>(
        &self,
        spec: &Spec<'_>,
        read: impl Fn(&Json) -> Result<T>,
    ) -> Result<ByGroup<T>> {
        let mut named = Vec::new();
        for (kind, is_edge) in [("entities", false), ("edges", true)] {
            let Some(groups) = spec.get(kind) else { continue };
            let groups =
                groups.as_object().ok_or_else(|| spec.wrong("groups are an object", kind))?;
            for (name, json) in groups {
                if self.schema.group(name).is_none_or(|group| group.shape().is_edge != is_edge) {
                    return Err(spec.wrong("a group does not exist in the schema", name));
                }
                if json.is_null() {
                    return Err(spec.wrong("a group is null", name));
                }
                named.push((name.as_str().into(), read(json)?));
            }
        }
        let any = spec.get("entities").is_some() || spec.get("edges").is_some();
        let global = |name| spec.get(name).map(&read).transpose();
        Ok(ByGroup {
            groups: any.then_some(named),
            global: [global("globalEntities")?, global("globalEdges")?, global("globalElements")?],
        })
    }
}

/// A job's id.
fn job(spec: &Spec<'_>) -> Result<Box<str>> {
    spec.need("jobId")?;
    Ok(spec.text("jobId")?.unwrap_or_default().into())
}

fn filter(json: &Json) -> Result<Predicate> {
    let list = json.get("predicates").and_then(Json::as_array);
    Ok(Predicate::OnElement(predicate::filters(list.map_or(&[], Vec::as_slice))?))
}

fn transforms(json: &Json) -> Result<Vec<Json>> {
    let list = json.get("functions").and_then(Json::as_array).cloned().unwrap_or_default();
    for transform in &list {
        let spec = Spec::or_class(transform, "TupleAdaptedFunction")?;
        Function::from_json(spec.need("function")?)?;
    }
    Ok(list)
}

fn functions(spec: &Spec<'_>) -> Result<Vec<Function>> {
    match spec.get("function") {
        Some(function) => Ok(vec![Function::from_json(function)?]),
        None => {
            let list = spec.list("functions")?.unwrap_or_default();
            list.iter().map(Function::from_json).collect()
        }
    }
}

fn edge_vertices(spec: &Spec<'_>) -> Result<EdgeVertices> {
    let ends = match spec.text("edgeVertices")? {
        None => None,
        Some("NONE") => Some([false, false]),
        Some("SOURCE") => Some([true, false]),
        Some("DESTINATION") => Some([false, true]),
        Some("BOTH") => Some([true, true]),
        Some(_) => return Err(spec.wrong("not vertices of an edge", "edgeVertices")),
    };
    let matched = match spec.text("useMatchedVertex")? {
        None | Some("IGNORE") => None,
        Some("EQUAL") => Some(true),
        Some("OPPOSITE") => Some(false),
        Some(_) => return Err(spec.wrong("not a use of a vertex", "useMatchedVertex")),
    };
    Ok(EdgeVertices { ends, matched })
}
