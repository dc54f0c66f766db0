//! Reading the graph around seeds.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::source::{Elements, Plan, Target, Values};
use super::super::{Query, Side};
use super::output::chained;
use super::{Each, Executor, Output, Stage, collect, matched_and_adjacent, through};
use crate::bucket::graph::element::{Directed, EdgeId, Element, Ends};
use crate::bucket::graph::row::merged;
use crate::bucket::graph::schema::GroupId;
use crate::bucket::graph::value::{Class, Value, VertexEncoding};
use crate::bucket::graph::view::Pipeline;
use crate::error::{Error, Result};

/// A view over a scan.
struct Viewed(Pipeline);

impl Stage<Element, Element> for Viewed {
    fn batch(&mut self, batch: Vec<Element>) -> Result<Vec<Element>> {
        self.0.batch(batch)
    }

    fn last_batch(&mut self, batch: Vec<Element>) -> Result<Vec<Element>> {
        let mut made = self.0.batch(batch)?;
        self.0.finish(&mut made)?;
        Ok(made)
    }

    fn finish(&mut self) -> Result<Vec<Element>> {
        let mut out = Vec::new();
        self.0.finish(&mut out)?;
        Ok(out)
    }
}

/// What an operation is seeded with; some of it more than once, perhaps.
#[derive(Default)]
struct Seeds {
    vertices: Vec<Value>,
    edges: Vec<EdgeId>,
}

impl Seeds {
    fn add(&mut self, seed: Value) -> Result<()> {
        match seed {
            Value::Null => {}
            Value::EntityId(vertex) => self.vertices.push(*vertex),
            Value::EdgeId(id) => self.edges.push(*id),
            Value::Element(element) => match element.ends {
                Ends::Vertex(vertex) => self.vertices.push(vertex),
                Ends::Edge { source, destination, directed, matched } => {
                    let directed = if directed { Directed::Directed } else { Directed::Undirected };
                    self.edges.push(EdgeId { source, destination, directed, matched });
                }
            },
            Value::Walk(_) => return Err(Error::invalid("a walk is no seed")),
            vertex => self.vertices.push(vertex),
        }
        Ok(())
    }
}

impl Executor {
    /// Scans, then looks through the view.
    pub(super) async fn scan(
        &self,
        query: &Query,
        target: Target,
        groups: Vec<GroupId>,
    ) -> Result<Elements> {
        self.source.scan(self.plan(query, target, groups)).await
    }

    fn plan(&self, query: &Query, target: Target, groups: Vec<GroupId>) -> Plan {
        Plan {
            target,
            groups,
            side: query.side,
            directed: query.directed,
            budget: Arc::clone(&self.budget),
        }
    }

    pub(super) fn viewed(&self, query: &Query, elements: Elements) -> Elements {
        through(elements, Viewed(Pipeline::new(Arc::clone(&query.view), self.budget.now_ms())))
    }

    async fn seeds(&self, input: Output) -> Result<Seeds> {
        self.seeds_of(collect(input.into_values()?, &self.budget).await?)
    }

    fn seeds_of(&self, values: impl IntoIterator<Item = Value>) -> Result<Seeds> {
        let mut seeds = Seeds::default();
        values.into_iter().try_for_each(|value| seeds.add(value))?;
        self.check_seeds(&mut seeds)?;
        Ok(seeds)
    }

    /// What can't be a vertex is no seed. Gaffer passes over it where vertices are strings, and fails elsewhere.
    pub(super) fn passes_over(&self, vertex: &Value) -> bool {
        self.schema.vertices() == VertexEncoding::Plain(Class::String)
            && self.schema.check_vertex(vertex).is_err()
    }

    fn check_seeds(&self, seeds: &mut Seeds) -> Result<()> {
        seeds.vertices.retain(|vertex| !self.passes_over(vertex));
        seeds
            .edges
            .retain(|id| !self.passes_over(&id.source) && !self.passes_over(&id.destination));
        let ends = seeds.edges.iter().flat_map(|id| [&id.source, &id.destination]);
        ends.chain(&seeds.vertices).try_for_each(|vertex| self.schema.check_vertex(vertex))
    }

    pub(super) async fn get_all(&self, query: &Query) -> Result<Output> {
        let elements = self.scan(query, Target::All, query.view.groups_by_name(None)).await?;
        Ok(Output::Elements(self.viewed(query, elements)))
    }

    pub(super) async fn get_elements(&self, query: &Query, input: Output) -> Result<Output> {
        let seeds = self.seeds(input).await?;
        self.around(query, seeds).await
    }

    /// The same at seeds that are there.
    pub(super) async fn get_elements_at(&self, query: &Query, seeds: &[Value]) -> Result<Output> {
        self.budget.holding(seeds.len() as u64)?;
        let seeds = seeds.iter().map(|seed| match seed {
            Value::EntityId(vertex) => Value::clone(vertex),
            other => other.clone(),
        });
        self.around(query, self.seeds_of(seeds)?).await
    }

    async fn around(&self, query: &Query, seeds: Seeds) -> Result<Output> {
        let mut streams = Vec::new();
        let matched = !seeds.vertices.is_empty();
        let ends = self.ends_of(query, &seeds);
        let ids = self.ids_of(query, &seeds);
        let scans = [
            (Target::Vertices(seeds.vertices), None),
            (Target::Vertices(ends), Some(false)),
            (Target::Edges { ids, matched }, Some(true)),
        ];
        for (target, edges) in scans {
            let is_empty = match &target {
                Target::Vertices(vertices) => vertices.is_empty(),
                Target::Edges { ids, .. } => ids.is_empty(),
                _ => false,
            };
            if is_empty {
                continue;
            }
            let groups = query.view.groups_by_name(edges);
            if !groups.is_empty() {
                let elements = self.scan(query, target, groups).await?;
                streams.push(self.viewed(query, elements));
            }
        }
        Ok(Output::Elements(merged(streams, self.source.puts_flags_last())))
    }

    /// The ends of edge seeds, whose entities belong to the answer too.
    fn ends_of(&self, query: &Query, seeds: &Seeds) -> Vec<Value> {
        if seeds.edges.is_empty() || !query.view.has_entities() {
            return Vec::new();
        }
        let mut known: HashSet<&Value> = seeds.vertices.iter().collect();
        let ends = seeds.edges.iter().flat_map(|id| [&id.source, &id.destination]);
        ends.filter(|end| known.insert(*end)).cloned().collect()
    }

    /// Edge seeds that go with the operation's directedness, and are not found from a vertex already.
    fn ids_of(&self, query: &Query, seeds: &Seeds) -> Vec<EdgeId> {
        if seeds.edges.is_empty() {
            return Vec::new();
        }
        let vertices: HashSet<&Value> = seeds.vertices.iter().collect();
        let mut known = HashSet::new();
        let mut ids = Vec::new();
        for id in &seeds.edges {
            let Some(mut directed) = query.directed.and(id.directed) else { continue };
            if vertices.contains(&id.source) {
                // Under the vertex lies all of it, but for what leaves it where that is not asked for.
                if query.side != Side::Incoming || !directed.admits(true) {
                    continue;
                }
                directed = Directed::Directed;
            }
            let id = EdgeId { directed, matched: None, ..id.clone() };
            if known.insert(id.clone()) {
                ids.push(id);
            }
        }
        ids
    }

    pub(super) async fn get_adjacent(&self, query: &Query, input: Output) -> Result<Output> {
        let mut values = collect(input.into_values()?, &self.budget).await?;
        // The id of an edge is at no end of it, so nothing is beside it; an edge of the graph stands for its source.
        values.retain(|value| !matches!(value, Value::EdgeId(_)));
        let seeds = self.seeds_of(values)?;
        if let Some(vertices) = self.adjacent_alone(query, &seeds).await? {
            return Ok(Output::Values(through(vertices, Each(as_ids))));
        }
        let Output::Elements(edges) = self.around(query, seeds).await? else {
            return Ok(Output::Nothing);
        };
        let adjacent = |batch: Vec<Element>| {
            let ids = batch.iter().filter_map(matched_and_adjacent);
            Ok(ids.map(|(_, adjacent)| Value::EntityId(Box::new(adjacent.clone()))).collect())
        };
        Ok(Output::Values(through(edges, Each(adjacent))))
    }

    /// The vertices beside the seeds, where neither these nor the view ask for more of the edges than their other ends.
    async fn adjacent_alone(&self, query: &Query, seeds: &Seeds) -> Result<Option<Values>> {
        let groups = query.view.groups_by_name(Some(true));
        let apart = groups.iter().map(|group| query.view.apart(*group)).collect::<Option<Vec<_>>>();
        let Some(apart) = apart.filter(|_| seeds.edges.is_empty()) else { return Ok(None) };
        let plan = self.plan(query, Target::Vertices(seeds.vertices.clone()), groups);
        self.source.adjacent(&plan, &apart).await
    }

    pub(super) async fn get_within(&self, query: &Query, input: Output) -> Result<Output> {
        let seeds = self.seeds(input).await?.vertices;
        let others = seeds.iter().cloned().collect();
        self.get_joined(query, seeds, others).await
    }

    pub(super) async fn get_between(
        &self,
        query: &Query,
        input: Output,
        others: &[Value],
    ) -> Result<Output> {
        let seeds = self.seeds(input).await?;
        if others.is_empty() {
            return Ok(chained(Vec::new()));
        }
        if seeds.vertices.is_empty() && !seeds.edges.is_empty() {
            return Err(Error::invalid("a set has vertices, not edges"));
        }
        self.get_joined(query, seeds.vertices, others.iter().cloned().collect()).await
    }

    /// Entities at the seeds, and edges from them to one of the others.
    async fn get_joined(
        &self,
        query: &Query,
        seeds: Vec<Value>,
        others: HashSet<Value>,
    ) -> Result<Output> {
        if seeds.is_empty() {
            return Ok(chained(Vec::new()));
        }
        let groups = query.view.groups_by_name(None);
        let elements = self.scan(query, Target::Vertices(seeds), groups).await?;
        let joined = move |mut batch: Vec<Element>| {
            batch.retain(|element| {
                matched_and_adjacent(element).is_none_or(|(_, adjacent)| others.contains(adjacent))
            });
            Ok(batch)
        };
        let elements = through(elements, Each(joined));
        Ok(Output::Elements(self.viewed(query, elements)))
    }

    pub(super) async fn get_between_pair(&self, query: &Query, input: Output) -> Result<Output> {
        let Value::Pair(pair) = input.into_value(&self.budget).await? else {
            return Err(Error::invalid("a pair of sets is wanted"));
        };
        let [first, second] = *pair;
        let mut others = Seeds::default();
        let second = second.items().unwrap_or_default().iter().cloned();
        second.into_iter().try_for_each(|value| others.add(value))?;
        self.get_between(query, Output::of(first), &others.vertices).await
    }
}

fn as_ids(vertices: Vec<Value>) -> Result<Vec<Value>> {
    Ok(vertices.into_iter().map(|vertex| Value::EntityId(Box::new(vertex))).collect())
}
