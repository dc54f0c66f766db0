//! A graph in memory: the right answer for every test of the graph bucket. It keeps aggregated elements in a list
//! and looks at all of them for each scan.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::bucket::graph::element::{Directed, EdgeId, Element, Ends, Matched};
use crate::bucket::graph::operation::{Batches, Elements, Plan, Side, Sink, Source, Target};
use crate::bucket::graph::schema::{Group, Schema};
use crate::bucket::graph::value::Value;
use crate::cell::visibility::{self, Authorisations};
use crate::error::Result;

/// How many elements a batch has; small, so that tests see several.
const BATCH: usize = 3;

/// Where key packages give different answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// The flag of an edge lies between its ends.
    ByteEntity,
    /// The same, and edges lie in shards.
    Sharded,
    /// The flag comes last, so an edge seed of either direction also finds edges the other way round.
    Classic,
}

/// The graph, shared by all who look at it.
#[derive(Clone)]
pub struct MemoryGraph {
    schema: Arc<Schema>,
    package: Package,
    elements: Arc<Mutex<Vec<Element>>>,
}

/// The graph as somebody sees it.
pub struct Seen {
    graph: MemoryGraph,
    authorisations: Authorisations,
    now_ms: i64,
}

/// An element under one of its keys.
struct Copy {
    row: Value,
    other: Option<Value>,
    element: Element,
}

impl MemoryGraph {
    /// An empty graph.
    #[must_use]
    pub fn new(schema: Arc<Schema>, package: Package) -> Self {
        Self { schema, package, elements: Arc::default() }
    }

    /// For somebody with these authorisations.
    #[must_use]
    pub fn seen_by(&self, authorisations: Authorisations, now_ms: i64) -> Seen {
        Seen { graph: self.clone(), authorisations, now_ms }
    }

    fn elements(&self) -> MutexGuard<'_, Vec<Element>> {
        self.elements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn group(&self, element: &Element) -> &Arc<Group> {
        self.schema.group(element.group()).expect("only elements of the schema come in")
    }
}

#[async_trait]
impl Sink for MemoryGraph {
    async fn add(&self, added: Vec<Element>) -> Result<()> {
        let mut elements = self.elements();
        for mut element in added {
            let group = self.group(&element);
            let same = |own: &&mut Element| {
                own.group() == element.group() && group.same_key(own, &element)
            };
            match elements.iter_mut().find(same).filter(|_| group.aggregates()) {
                // The latest first, as the engine folds.
                Some(own) => {
                    std::mem::swap(&mut own.properties, &mut element.properties);
                    group.fold(&mut own.properties, &mut element.properties)?;
                }
                None => elements.push(element),
            }
        }
        Ok(())
    }

    async fn delete(&self, deleted: Vec<Element>) -> Result<()> {
        self.elements().retain(|own| {
            let gone = |element: &Element| {
                own.group() == element.group() && self.group(own).same_key(own, element)
            };
            !deleted.iter().any(gone)
        });
        Ok(())
    }
}

#[async_trait]
impl Source for Seen {
    async fn scan(&self, plan: Plan) -> Result<Elements> {
        let mut copies = Vec::new();
        for element in self.graph.elements().iter() {
            plan.budget.scanned(1)?;
            let group = self.graph.group(element);
            if plan.groups.contains(&group.id()) && self.shows(group, element)? {
                copies.extend(self.wanted(&plan, element));
            }
        }
        copies.sort_by(|one, other| self.order(one, other));
        let elements: Vec<Element> = copies.into_iter().map(|copy| copy.element).collect();
        Ok(Box::new(Listed(elements.into_iter())))
    }

    fn puts_flags_last(&self) -> bool {
        self.graph.package == Package::Classic
    }
}

impl Seen {
    fn shows(&self, group: &Group, element: &Element) -> Result<bool> {
        let label = group.visibility(element);
        let visible = visibility::evaluate(label, &self.authorisations).unwrap_or(false);
        Ok(visible && group.is_valid(element, self.now_ms)?)
    }

    /// The copies of an element that the plan wants.
    fn wanted(&self, plan: &Plan, element: &Element) -> Vec<Copy> {
        if let Ends::Edge { directed, .. } = &element.ends
            && !plan.directed.admits(*directed)
        {
            return Vec::new();
        }
        let all = copies(element);
        match &plan.target {
            Target::All => all.into_iter().take(1).map(Copy::unmatched).collect(),
            Target::Vertices(vertices) => all
                .into_iter()
                .filter(|it| vertices.contains(&it.row) && it.is_on(plan.side))
                .collect(),
            Target::Range(first, last) => {
                let within = |it: &Copy| *first <= it.row && it.row <= *last;
                all.into_iter().filter(|it| within(it) && it.is_on(plan.side)).collect()
            }
            Target::Edges { ids, matched } => {
                let found = |it: &Copy| ids.iter().any(|id| self.is_meant(id, it, plan.side));
                let found = all.into_iter().filter(found);
                found.map(|it| if *matched { it } else { it.unmatched() }).collect()
            }
        }
    }

    /// Whether the key of this copy is one that an edge seed looks for.
    fn is_meant(&self, id: &EdgeId, copy: &Copy, side: Side) -> bool {
        let Ends::Edge { directed, matched, .. } = &copy.element.ends else { return false };
        let same_row = copy.row == id.source && copy.other.as_ref() == Some(&id.destination);
        let forward = !directed || *matched == Some(Matched::Source);
        let backward_too = self.graph.package == Package::Classic
            && id.directed == Directed::Either
            && side == Side::Either;
        let looped = *directed && id.source == id.destination;
        let lost = looped && self.graph.package == Package::Classic && side == Side::Incoming;
        same_row && id.directed.admits(*directed) && (forward || backward_too) && !lost
    }

    /// The order of keys: row, group, group-by values, label.
    fn order(&self, one: &Copy, other: &Copy) -> Ordering {
        let rest = |copy: &Copy| {
            let group = self.graph.group(&copy.element);
            let slots = group.group_by().iter().copied().chain(group.visibility_slot());
            let values: Vec<Value> =
                slots.map(|slot| copy.element.properties[slot].clone()).collect();
            (copy.other.clone(), copy.element.ends.clone(), group.id(), values)
        };
        one.row.cmp(&other.row).then_with(|| rest(one).cmp(&rest(other)))
    }
}

impl Copy {
    fn unmatched(mut self) -> Self {
        if let Ends::Edge { matched, .. } = &mut self.element.ends {
            *matched = None;
        }
        self
    }

    fn is_on(&self, side: Side) -> bool {
        match (&self.element.ends, side) {
            (Ends::Edge { directed: true, matched, .. }, Side::Outgoing) => {
                *matched == Some(Matched::Source)
            }
            (Ends::Edge { directed: true, matched, .. }, Side::Incoming) => {
                *matched == Some(Matched::Destination)
            }
            _ => true,
        }
    }
}

/// An entity once, an edge under both its ends, a loop under one.
fn copies(element: &Element) -> Vec<Copy> {
    let (source, destination) = match &element.ends {
        Ends::Vertex(vertex) => {
            return vec![Copy { row: vertex.clone(), other: None, element: element.clone() }];
        }
        Ends::Edge { source, destination, .. } => (source.clone(), destination.clone()),
    };
    let copy = |row: &Value, other: &Value, end| {
        let mut element = element.clone();
        if let Ends::Edge { matched, .. } = &mut element.ends {
            *matched = Some(end);
        }
        Copy { row: row.clone(), other: Some(other.clone()), element }
    };
    let mut both = vec![copy(&source, &destination, Matched::Source)];
    if source != destination {
        both.push(copy(&destination, &source, Matched::Destination));
    }
    both
}

struct Listed(std::vec::IntoIter<Element>);

#[async_trait]
impl Batches<Element> for Listed {
    async fn next(&mut self) -> Result<Option<Vec<Element>>> {
        let batch: Vec<Element> = self.0.by_ref().take(BATCH).collect();
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }
}
