//! Runs operations: each takes what the one before it gave, and gives a stream, a value or nothing.

mod control;
mod elements;
mod generate;
mod get;
mod join;
mod order;
mod output;
mod ranges;
mod table;
mod walks;

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value as Json, json};
use tokio::task::coop::consume_budget;

pub use output::Output;

use super::stream::{Each, Ready, Stage, as_values, collect, through};
use super::{
    Background, Budget, Named, Operation, Register, Sink, Source, Step, TRAITS, current_traits,
};
use crate::bucket::graph::element::{Element, Ends, Matched};
use crate::bucket::graph::koryphe::date;
use crate::bucket::graph::schema::Schema;
use crate::bucket::graph::value::{Set, SetKind, Value};
use crate::error::{Error, Result};

/// Runs chains for one caller.
#[derive(Clone)]
pub struct Executor {
    schema: Arc<Schema>,
    source: Arc<dyn Source>,
    sink: Option<Arc<dyn Sink>>,
    register: Option<Arc<dyn Register>>,
    background: Option<Arc<dyn Background>>,
    budget: Arc<Budget>,
    variables: Arc<Mutex<HashMap<Box<str>, Value>>>,
    exports: Arc<Mutex<HashMap<Box<str>, Exported>>>,
    identity: Option<(Box<str>, i64)>,
}

/// What was exported: each thing once, in the order in which it came.
#[derive(Default)]
struct Exported {
    known: HashSet<Value>,
    items: Vec<Value>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Output>> + Send + 'a>>;

impl Executor {
    /// For reading only.
    #[must_use]
    pub fn new(schema: Arc<Schema>, source: Arc<dyn Source>, budget: Arc<Budget>) -> Self {
        Self {
            schema,
            source,
            sink: None,
            register: None,
            background: None,
            budget,
            variables: Arc::default(),
            exports: Arc::default(),
            identity: None,
        }
    }

    /// For writing too.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn Sink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// With what the graph keeps under names.
    #[must_use]
    pub fn with_register(mut self, register: Arc<dyn Register>) -> Self {
        self.register = Some(register);
        self
    }

    /// With what was begun in the background.
    #[must_use]
    pub fn with_background(mut self, background: Arc<dyn Background>) -> Self {
        self.background = Some(background);
        self
    }

    /// With the graph's name, and when it was made, in milliseconds.
    #[must_use]
    pub fn with_identity(mut self, name: &str, made_ms: i64) -> Self {
        self.identity = Some((name.into(), made_ms));
        self
    }

    /// Runs a chain. What it streams is read while the answer is, and its cost shows up then.
    ///
    /// # Errors
    /// `Invalid` if an operation can't take its input or costs too much; those of storage.
    pub async fn execute(&self, step: &Step) -> Result<Output> {
        let output = self.run(step, Output::Nothing).await?;
        let budget = Arc::clone(&self.budget);
        Ok(output.counted(budget))
    }

    fn run<'a>(&'a self, step: &'a Step, input: Output) -> Running<'a> {
        Box::pin(async move {
            // What finds all it reads in memory never waits: others would wait for it, and nobody could end it.
            consume_budget().await;
            self.budget.operation()?;
            let result = match (&step.operation, &step.input) {
                // What is asked most often, and mostly of few seeds: they need not become a stream.
                (Operation::GetElements(query), Some(Value::List(seeds))) => {
                    self.get_elements_at(query, &seeds.items).await
                }
                (operation, Some(own)) => self.operate(operation, Output::of(own.clone())).await,
                (operation, None) => self.operate(operation, input).await,
            };
            result.map_err(|error| match error.context("operation") {
                None => error.with("operation", &step.class),
                Some(_) => error,
            })
        })
    }

    async fn operate(&self, operation: &Operation, input: Output) -> Result<Output> {
        let now_ms = self.budget.now_ms();
        Ok(match operation {
            Operation::Chain(steps) => {
                let mut output = input;
                for step in steps {
                    output = self.run(step, output).await?;
                }
                output
            }
            Operation::AddElements { validate, skip_invalid } => {
                return self.add(input, *validate, *skip_invalid).await;
            }
            Operation::DeleteElements { validate, skip_invalid } => {
                return self.delete(input, *validate, *skip_invalid).await;
            }
            Operation::Validate { skip_invalid } => self.validated(input, *skip_invalid)?,
            Operation::GetElements(query) => self.get_elements(query, input.needed()?).await?,
            Operation::GetAllElements(query) => self.get_all(query).await?,
            Operation::GetAdjacentIds(query) => self.get_adjacent(query, input).await?,
            Operation::GetElementsWithinSet(query) => {
                self.get_within(query, input.needed()?).await?
            }
            Operation::GetElementsBetweenSets(query, others) => {
                self.get_between(query, input.needed()?, others).await?
            }
            Operation::GetElementsBetweenPair(query) => {
                self.get_between_pair(query, input.needed()?).await?
            }
            Operation::GetElementsInRanges(query) => self.get_ranges(query, input).await?,
            Operation::GetWalks(walks) => self.get_walks(walks, input).await?,
            Operation::Aggregate(how) => self.aggregate(how, input).await?,
            Operation::Filter(filter) => elements::filter(filter, input, now_ms)?,
            Operation::Transform(transforms) => elements::transform(transforms, input, now_ms)?,
            Operation::Map(functions) => self.map(functions, input).await?,
            Operation::Reduce { identity, operator } => {
                let mut state = identity.clone();
                let mut values = input.needed()?.into_values()?;
                while let Some(batch) = values.next().await? {
                    batch.into_iter().try_for_each(|value| operator.apply(&mut state, value))?;
                }
                Output::Value(state)
            }
            Operation::Join(join) => self.join(join, input).await?,
            Operation::Sort { comparators, limit, deduplicate } => {
                self.sort(comparators, *limit, *deduplicate, input).await?
            }
            Operation::Min(comparators) => order::extreme(comparators, input, false).await?,
            Operation::Max(comparators) => order::extreme(comparators, input, true).await?,
            Operation::Limit { count, truncate } => limit(input, *count, *truncate)?,
            Operation::Count => {
                let mut count = 0;
                let mut values = input.needed()?.into_counted()?;
                while let Some(batch) = values.next().await? {
                    count += batch.len() as i64;
                }
                Output::Value(Value::Long(count))
            }
            Operation::CountGroups(limit) => elements::count_groups(input, *limit).await?,
            Operation::ToSet => to_set(input)?,
            Operation::ToList => input,
            Operation::ToSingletonList => {
                let value = input.needed()?.into_value(&self.budget).await?;
                Output::Values(Box::new(Ready::new(vec![value])))
            }
            Operation::ToVertices(which) => {
                let which = *which;
                let vertices = move |batch: Vec<Value>| {
                    Ok(batch.into_iter().flat_map(|id| elements::vertices(id, which)).collect())
                };
                input.mapped(vertices)?
            }
            Operation::ToEntitySeeds => {
                let wrap = |value| match value {
                    Value::EntityId(_) => value,
                    other => Value::EntityId(Box::new(other)),
                };
                let seeds = move |batch: Vec<Value>| Ok(batch.into_iter().map(wrap).collect());
                input.mapped(seeds)?
            }
            Operation::ToCsv(table, style) => table::to_csv(table.clone(), style.clone(), input)?,
            Operation::ToMap(table) => table::to_map(table.clone(), input)?,
            Operation::If { condition, then, otherwise } => {
                let input = input.into_value(&self.budget).await?;
                let chosen = match self.holds(condition, &input, false).await? {
                    true => then,
                    false => otherwise,
                };
                match chosen {
                    Some(step) => self.run(step, Output::of(input)).await?,
                    None => Output::of(input),
                }
            }
            Operation::While { condition, operation, repeats } => {
                self.repeat(condition, operation, *repeats, input).await?
            }
            Operation::ForEach(step) => self.for_each(step, input).await?,
            // As with Gaffer, what would have streamed is not even read.
            Operation::DiscardOutput => Output::Nothing,
            Operation::GetSchema => Output::Json(self.schema.to_json()),
            Operation::GetTraits { current } => Output::Json(json!(self.traits(*current))),
            Operation::HasTrait { name, current } => {
                Output::Value(Value::Boolean(self.traits(*current).contains(&&**name)))
            }
            Operation::SetVariable(name, value) => {
                let value = match value {
                    Some(value) => value.clone(),
                    None => input.needed()?.into_value(&self.budget).await?,
                };
                self.variables().insert(name.clone(), value);
                Output::Nothing
            }
            Operation::GetVariable(name) => {
                let value = self.variables().get(name).cloned().unwrap_or_default();
                Output::of(value)
            }
            Operation::GetVariables(names) => self.get_variables(names),
            Operation::AddNamed { kind, named, overwrite } => {
                self.register()?.add(*kind, Named::clone(named), *overwrite).await?;
                Output::Nothing
            }
            Operation::DeleteNamed(kind, name) => {
                self.register()?.delete(*kind, name).await?;
                Output::Nothing
            }
            Operation::GetAllNamed(kind) => {
                let all = self.register()?.all(*kind).await?;
                Output::Json(all.iter().map(|named| named.told(*kind)).collect())
            }
            Operation::GetJobDetails(id) => Output::Json(self.background()?.job(id).await?),
            Operation::GetAllJobDetails => Output::Json(self.background()?.jobs().await?.into()),
            Operation::ValidateChain(wrong) => generate::validation(wrong.as_deref()),
            Operation::GetGraphCreatedTime => Output::Json(self.created()),
            Operation::ExportToSet(key) => self.export(key, input).await?,
            Operation::GetSetExport(export) => {
                Output::Values(Box::new(Ready::new(self.exported(export))))
            }
            Operation::GetExports(exports) => self.all_exported(exports),
            Operation::GenerateElements(how) => self.generate(how, input).await?,
            Operation::Refused(why) => {
                return Err(Error::invalid("an operation can't be run").with("reason", why));
            }
            Operation::GetJobResults(id) => Output::Json(self.background()?.results(id).await?),
        })
    }

    fn register(&self) -> Result<&dyn Register> {
        let none = || Error::unsupported("this graph keeps nothing under names");
        self.register.as_deref().ok_or_else(none)
    }

    fn background(&self) -> Result<&dyn Background> {
        let none = || Error::unsupported("this graph runs nothing in the background");
        self.background.as_deref().ok_or_else(none)
    }

    fn traits(&self, current: bool) -> Vec<&'static str> {
        match current {
            true => current_traits(&self.schema).collect(),
            false => TRAITS.to_vec(),
        }
    }

    fn variables(&self) -> MutexGuard<'_, HashMap<Box<str>, Value>> {
        self.variables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exports(&self) -> MutexGuard<'_, HashMap<Box<str>, Exported>> {
        self.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn created(&self) -> Json {
        let shown = |(name, made_ms): &(Box<str>, i64)| {
            let time = date::format_with(*made_ms, date::CREATED);
            json!({&**name: time})
        };
        self.identity.as_ref().map_or(json!({}), shown)
    }

    fn get_variables(&self, names: &[Box<str>]) -> Output {
        let variables = self.variables();
        let shown = names.iter().filter_map(|name| {
            let value = variables.get(name)?;
            Some((name.to_string(), value.to_json()))
        });
        Output::Json(Json::Object(shown.collect()))
    }
}

impl Exported {
    fn insert(&mut self, value: Value) {
        if self.known.insert(value.clone()) {
            self.items.push(value);
        }
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

/// What is more than the limit is left out, or an error.
fn limit(input: Output, count: u64, truncate: bool) -> Result<Output> {
    struct Limit {
        left: u64,
        count: u64,
        truncate: bool,
    }
    impl<T> Stage<T, T> for Limit {
        fn batch(&mut self, mut batch: Vec<T>) -> Result<Vec<T>> {
            if batch.len() as u64 > self.left {
                if !self.truncate {
                    return Err(Error::invalid("the limit was exceeded").with("limit", self.count));
                }
                batch.truncate(self.left as usize);
            }
            self.left -= batch.len() as u64;
            Ok(batch)
        }

        fn is_done(&self) -> bool {
            self.truncate && self.left == 0
        }
    }
    let stage = Limit { left: count, count, truncate };
    Ok(match input {
        Output::Nothing | Output::Json(_) => input,
        Output::Elements(elements) => Output::Elements(through(elements, stage)),
        other => Output::Values(through(other.into_values()?, stage)),
    })
}

/// Each thing once, in the order in which they first came.
fn to_set(input: Output) -> Result<Output> {
    let mut seen = HashSet::new();
    let fresh = move |batch: Vec<Value>| {
        Ok(batch.into_iter().filter(|value| seen.insert(value.clone())).collect())
    };
    Ok(match input {
        Output::Nothing => Output::Nothing,
        Output::Value(Value::List(list)) => {
            Output::Value(Value::Set(Box::new(Set::of(SetKind::Linked, list.items))))
        }
        other => Output::Values(through(other.into_values()?, Each(fresh))),
    })
}

/// The vertex of the matched end and that of the other; the source counts where none was matched.
fn matched_and_adjacent(element: &Element) -> Option<(&Value, &Value)> {
    match &element.ends {
        Ends::Edge { source, destination, matched: Some(Matched::Destination), .. } => {
            Some((destination, source))
        }
        Ends::Edge { source, destination, .. } => Some((source, destination)),
        Ends::Vertex(_) => None,
    }
}
