//! Walks: each hop is an operation seeded with where the hop before it arrived; then the hops are put together,
//! from each first seed on.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Operation, Step, Walks};
use super::{Executor, Output, Ready, collect, matched_and_adjacent};
use crate::bucket::graph::element::{Element, Ends};
use crate::bucket::graph::value::Value;
use crate::bucket::graph::walk::Walk;
use crate::error::{Error, Result};

/// What one hop found.
#[derive(Default)]
struct Hop {
    /// By where it starts and where it arrives.
    edges: BTreeMap<Value, BTreeMap<Value, BTreeSet<Element>>>,
    entities: BTreeMap<Value, BTreeSet<Element>>,
}

impl Executor {
    pub(super) async fn get_walks(&self, walks: &Walks, input: Output) -> Result<Output> {
        if matches!(input, Output::Nothing) {
            return Ok(Output::Nothing);
        }
        let first = collect(input.into_values()?, &self.budget).await?;
        if first.len() as u64 > walks.limit {
            return Err(Error::invalid("more seeds than results may be").with("limit", walks.limit));
        }
        let mut seeds: Vec<Value> = first.iter().map(vertex).collect::<Result<_>>()?;
        let starts = seeds.clone();
        let mut hops = Vec::new();
        for step in &walks.hops {
            let hop = self.hop(step, seeds, walks.limit).await?;
            seeds = hop.edges.values().flat_map(|to| to.keys().cloned()).collect();
            seeds.sort();
            seeds.dedup();
            hops.push(hop);
        }
        // A last operation that only fetches entities is no hop, but decorates where the walks end.
        let length = walks.hops.iter().filter(|step| reads_edges(step)).count();
        let mut found = Vec::new();
        for start in starts {
            let mut walk = Walk::default();
            self.walk(start, &hops, length, walks, &mut walk, &mut found)?;
        }
        let mut kept = Vec::new();
        for walk in found {
            let walk = Value::Walk(Box::new(walk));
            let holds = match &walks.condition {
                Some(condition) => self.holds(condition, &walk, true).await?,
                None => true,
            };
            if holds {
                kept.push(walk);
            }
        }
        Ok(Output::Values(Box::new(Ready::new(kept))))
    }

    async fn hop(&self, step: &Step, seeds: Vec<Value>, limit: u64) -> Result<Hop> {
        let seeds = seeds.into_iter().map(|vertex| Value::EntityId(Box::new(vertex))).collect();
        let seeds = Output::Values(Box::new(Ready::new(seeds)));
        let elements = collect(self.run(step, seeds).await?.into_elements()?, &self.budget).await?;
        if elements.len() as u64 > limit {
            return Err(Error::invalid("a hop has more results than it may").with("limit", limit));
        }
        let mut hop = Hop::default();
        for element in elements {
            match (&element.ends, matched_and_adjacent(&element)) {
                (_, Some((from, to))) => {
                    let (from, to) = (from.clone(), to.clone());
                    hop.edges.entry(from).or_default().entry(to).or_default().insert(element);
                }
                (Ends::Vertex(vertex), _) => {
                    hop.entities.entry(vertex.clone()).or_default().insert(element);
                }
                _ => {}
            }
        }
        Ok(hop)
    }

    /// Goes on from `at` in all ways, depth first.
    fn walk(
        &self,
        at: Value,
        hops: &[Hop],
        length: usize,
        walks: &Walks,
        walk: &mut Walk,
        found: &mut Vec<Walk>,
    ) -> Result<()> {
        let done = walk.edges.len();
        let entities = hops.get(done).and_then(|hop| hop.entities.get(&at));
        walk.vertices.push((at.clone(), entities.into_iter().flatten().cloned().collect()));
        let onward = hops.get(done).filter(|_| done < length).and_then(|hop| hop.edges.get(&at));
        if done == length || (onward.is_none() && walks.include_partial) {
            found.push(walk.clone());
            self.budget.holding(found.len() as u64)?;
        }
        for (to, edges) in onward.into_iter().flatten() {
            walk.edges.push(edges.iter().cloned().collect());
            self.walk(to.clone(), hops, length, walks, walk, found)?;
            walk.edges.pop();
        }
        walk.vertices.pop();
        Ok(())
    }
}

fn reads_edges(step: &Step) -> bool {
    match &step.operation {
        Operation::GetElements(query) => query.view.has_edges(),
        Operation::Chain(steps) => steps.iter().any(reads_edges),
        Operation::While { operation, .. } => reads_edges(operation),
        _ => false,
    }
}

fn vertex(seed: &Value) -> Result<Value> {
    match seed {
        Value::EntityId(vertex) => Ok((**vertex).clone()),
        Value::Element(element) => match &element.ends {
            Ends::Vertex(vertex) => Ok(vertex.clone()),
            Ends::Edge { .. } => Err(Error::invalid("a walk starts at a vertex")),
        },
        Value::EdgeId(_) | Value::Walk(_) => Err(Error::invalid("a walk starts at a vertex")),
        vertex => Ok(vertex.clone()),
    }
}
