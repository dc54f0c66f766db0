//! Operations on streams of elements, and those that write.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::aggregation::{Aggregation, Key};
use super::super::{ByGroup, EdgeVertices};
use super::{Each, Executor, Output, Ready, collect, through};
use crate::bucket::graph::element::{Element, Ends, Matched, Shape};
use crate::bucket::graph::koryphe::{Function, Predicate};
use crate::bucket::graph::schema::Checks;
use crate::bucket::graph::value::Value;
use crate::bucket::graph::view::{Transform, transforms};
use crate::error::{Error, Result};

/// How many elements are written at once.
const WRITTEN_AT_ONCE: usize = 10_000;

impl Executor {
    fn sink(&self) -> Result<&Arc<dyn super::Sink>> {
        self.sink.as_ref().ok_or_else(|| Error::forbidden("this graph can only be read"))
    }

    /// Elements of the schema's groups. Without skipping, one that is not valid fails all, so nothing is written
    /// before the last has been looked at.
    pub(super) async fn add(
        &self,
        input: Output,
        validate: bool,
        skip_invalid: bool,
    ) -> Result<Output> {
        let sink = self.sink()?;
        let checks = if validate { Checks::At(self.budget.now_ms()) } else { Checks::None };
        let mut stream = input.into_elements()?;
        let mut held: Vec<Element> = Vec::new();
        while let Some(batch) = stream.next().await? {
            for element in batch {
                if !validate && self.schema.group(element.group()).is_none() {
                    if element.group().is_empty() {
                        return Err(
                            Error::invalid("an element has no group").with("element", element)
                        );
                    }
                    // Nobody would see it again; Gaffer takes it and forgets it.
                    continue;
                }
                match self.schema.admit(element, checks) {
                    Ok(element) => held.push(element),
                    Err(_) if skip_invalid => {}
                    Err(error) => return Err(error),
                }
            }
            if skip_invalid && held.len() >= WRITTEN_AT_ONCE {
                sink.add(std::mem::take(&mut held)).await?;
            }
            self.budget.holding(held.len() as u64)?;
        }
        if !held.is_empty() {
            sink.add(held).await?;
        }
        Ok(Output::Nothing)
    }

    /// Deletes elements, and says how many they were, whether they were there or not.
    pub(super) async fn delete(
        &self,
        input: Output,
        validate: bool,
        skip_invalid: bool,
    ) -> Result<Output> {
        let sink = self.sink()?;
        let input = match validate {
            true => self.validated(Output::Elements(input.into_elements()?), skip_invalid)?,
            false => input,
        };
        let mut stream = input.into_elements()?;
        let mut count = 0;
        while let Some(batch) = stream.next().await? {
            count += batch.len() as i64;
            let admitted = batch.into_iter().map(|it| self.schema.admit(it, Checks::None));
            sink.delete(admitted.collect::<Result<_>>()?).await?;
        }
        Ok(Output::Value(Value::Long(count)))
    }

    pub(super) fn validated(&self, input: Output, skip_invalid: bool) -> Result<Output> {
        if matches!(input, Output::Nothing) {
            return Ok(Output::Nothing);
        }
        let schema = Arc::clone(&self.schema);
        let checks = Checks::At(self.budget.now_ms());
        let check = move |batch: Vec<Element>| {
            let mut valid = Vec::with_capacity(batch.len());
            for element in batch {
                match schema.admit(element, checks) {
                    Ok(element) => valid.push(element),
                    Err(_) if skip_invalid => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(valid)
        };
        Ok(Output::Elements(through(input.into_elements()?, Each(check))))
    }

    /// Elements with equal keys become one, which stands where the first of them stood.
    pub(super) async fn aggregate(&self, how: &Aggregation, input: Output) -> Result<Output> {
        let elements = collect(input.into_elements()?, &self.budget).await?;
        let mut out: Vec<Element> = Vec::with_capacity(elements.len());
        let mut places: HashMap<Key, usize> = HashMap::new();
        for element in elements {
            let mut element = self.schema.adopt(element)?;
            let key = self.schema.group(element.group()).and_then(|group| how.key(group, &element));
            match key.map(|key| places.entry(key)) {
                Some(Entry::Occupied(place)) => how.fold(&mut out[*place.get()], &mut element)?,
                Some(Entry::Vacant(place)) => {
                    place.insert(out.len());
                    out.push(element);
                }
                None => out.push(element),
            }
        }
        Ok(Output::Elements(Box::new(Ready::new(out))))
    }

    pub(super) async fn map(&self, functions: &[Function], input: Output) -> Result<Output> {
        let now_ms = self.budget.now_ms();
        let input = input.needed()?;
        if functions.is_empty() {
            return Ok(input);
        }
        // The common case, item by item, needs nothing in memory.
        if let [Function::IterableFunction(each)] = functions {
            let each = each.clone();
            let apply = move |value| each.iter().try_fold(value, |v, it| it.apply_one(v, now_ms));
            let apply = move |batch: Vec<Value>| batch.into_iter().map(&apply).collect();
            return Ok(Output::Values(through(input.into_values()?, Each(apply))));
        }
        let mut value = input.into_value(&self.budget).await?;
        for function in functions {
            value = match value {
                list @ Value::List(_) => function.apply_one(list, now_ms)?,
                other => function.apply_one(other, now_ms)?,
            };
        }
        Ok(Output::of(value))
    }
}

impl<T> ByGroup<T> {
    fn of(&self, element: &Element) -> Option<&T> {
        let groups = self.groups.as_ref()?;
        groups.iter().find(|(name, _)| **name == *element.group()).map(|(_, it)| it)
    }

    /// What is for all of the element's kind, and for all.
    fn globals(&self, element: &Element) -> impl Iterator<Item = &T> {
        let [entities, edges, elements] = &self.global;
        let kind = if element.is_edge() { edges } else { entities };
        [elements, kind].into_iter().flatten()
    }
}

pub(super) fn filter(
    filter: &Arc<ByGroup<Predicate>>,
    input: Output,
    now_ms: i64,
) -> Result<Output> {
    let filter = Arc::clone(filter);
    let holds = move |element: Element| -> Result<Option<Element>> {
        let own = filter.of(&element);
        if own.is_none() && filter.groups.is_some() {
            return Ok(None);
        }
        let value = Value::Element(Box::new(element));
        let Value::Element(element) = &value else { return Ok(None) };
        for predicate in filter.globals(element).chain(own) {
            if !predicate.test(&[&value], now_ms)? {
                return Ok(None);
            }
        }
        match value {
            Value::Element(element) => Ok(Some(*element)),
            _ => Ok(None),
        }
    };
    let keep = move |batch: Vec<Element>| {
        batch.into_iter().filter_map(|element| holds(element).transpose()).collect()
    };
    Ok(Output::Elements(through(input.into_elements()?, Each(keep))))
}

pub(super) fn transform(
    by_group: &Arc<ByGroup<Vec<Json>>>,
    input: Output,
    now_ms: i64,
) -> Result<Output> {
    let by_group = Arc::clone(by_group);
    // Compiled for each shape that comes by; they are few.
    let mut compiled: Vec<(Arc<Shape>, Arc<Shape>, Vec<Transform>)> = Vec::new();
    let apply = move |mut batch: Vec<Element>| {
        for element in &mut batch {
            let functions = match (by_group.of(element), &by_group.groups) {
                (Some(functions), _) => functions,
                (None, None) => continue,
                (None, Some(_)) => {
                    return Err(Error::invalid("nothing is said of how a group is transformed")
                        .with("group", element.group()));
                }
            };
            let known = compiled.iter().position(|(shape, ..)| Arc::ptr_eq(shape, &element.shape));
            let place = match known {
                Some(place) => place,
                None => {
                    let mut shape = Shape::clone(&element.shape);
                    let functions = transforms(functions, &mut shape)?;
                    compiled.push((Arc::clone(&element.shape), Arc::new(shape), functions));
                    compiled.len() - 1
                }
            };
            let (_, shape, functions) = &compiled[place];
            element.properties.resize(shape.names.len(), Value::Null);
            element.shape = Arc::clone(shape);
            functions.iter().try_for_each(|function| function.apply(element, now_ms))?;
        }
        Ok(batch)
    };
    Ok(Output::Elements(through(input.into_elements()?, Each(apply))))
}

pub(super) async fn count_groups(input: Output, limit: Option<u64>) -> Result<Output> {
    let mut counts = [BTreeMap::<Box<str>, u64>::new(), BTreeMap::new()];
    let (mut seen, mut limit_hit) = (0, false);
    if !matches!(input, Output::Nothing) {
        let mut elements = input.into_elements()?;
        'all: while let Some(batch) = elements.next().await? {
            for element in &batch {
                seen += 1;
                if limit.is_some_and(|limit| seen > limit) {
                    limit_hit = true;
                    break 'all;
                }
                *counts[usize::from(element.is_edge())]
                    .entry(element.group().into())
                    .or_default() += 1;
            }
        }
    }
    let [entities, edges] = counts;
    Ok(Output::Json(json!({"entityGroups": entities, "edgeGroups": edges, "limitHit": limit_hit})))
}

/// The vertices of an id or an element.
pub(super) fn vertices(id: Value, which: EdgeVertices) -> Vec<Value> {
    let (source, destination, matched) = match id {
        Value::EntityId(vertex) => return vec![*vertex],
        Value::EdgeId(id) => (id.source, id.destination, id.matched),
        Value::Element(element) => match element.ends {
            Ends::Vertex(vertex) => return vec![vertex],
            Ends::Edge { source, destination, matched, .. } => (source, destination, matched),
        },
        other => return vec![other],
    };
    let wanted = match (which.ends, which.matched, matched) {
        (Some([false, false]), ..) => [false, false],
        (_, Some(equal), Some(matched)) => {
            let is_source = (matched == Matched::Source) == equal;
            [is_source, !is_source]
        }
        (Some(ends), ..) => ends,
        (None, Some(equal), None) => [equal, !equal],
        (None, None, _) => [false, false],
    };
    let ends = [source, destination].into_iter().zip(wanted);
    ends.filter_map(|(end, wanted)| wanted.then_some(end)).collect()
}
