//! Reads elements from their cells. A plan becomes runs of scans; a run works through its scans in order, some runs
//! work ahead of the reader at the same time, and each holds a few batches at most, so memory is bounded whatever the
//! size of the answer.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::bucket::{Graph, StoredGroup};
use super::element::{Directed, EdgeId, Element};
use super::form::{Copies, Form};
use super::key::{SortRange, Way, Ways};
use super::operation::{Batches, Budget, Elements, Plan, Side, Source, Target};
use super::value::Value;
use crate::cell::key::successor_of_prefix;
use crate::cell::visibility::Authorisations;
use crate::engine::{Block, ScanRequest};
use crate::error::Result;
use crate::store::Cells;

/// Elements in a batch, about.
const BATCH: usize = 1_000;
/// Scans of one run over seeds.
const RUN_SCANS: usize = 64;
/// Runs at work at the same time.
const RUNS_AHEAD: usize = 3;
/// Batches that a run may be ahead; enough that those behind the first seldom wait for it.
const BATCHES_AHEAD: usize = 16;
/// Parts of a space that is read whole.
const PARTS: usize = 64;

/// The graph as somebody sees it.
pub struct Reader {
    graph: Graph,
    authorisations: Authorisations,
}

/// One scan and what is wanted of it.
pub(super) struct Job {
    pub request: ScanRequest,
    pub wanted: Wanted,
}

/// What is wanted of the cells of a scan.
pub(super) struct Wanted {
    pub form: Arc<Form>,
    pub ways: Ways,
    pub copies: Copies,
    /// The first and the last partition, where the scan may meet others.
    pub within: Option<(Vec<u8>, Vec<u8>)>,
}

impl Reader {
    pub(super) fn new(graph: Graph, authorisations: Authorisations) -> Self {
        Self { graph, authorisations }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn run(&self, jobs: Vec<Job>, budget: Arc<Budget>) -> Run {
        Run {
            graph: self.graph.clone(),
            cells: Cells::of_nothing(&self.authorisations),
            budget,
            jobs: VecDeque::from(jobs),
            open: None,
        }
    }

    async fn runs(&self, plan: &Plan) -> Result<Vec<Vec<Job>>> {
        let mut runs = Vec::new();
        let mut groups = Vec::new();
        for group in &plan.groups {
            groups.push(self.graph.stored(group.0)?);
        }
        match &plan.target {
            Target::All => {
                let ways = Ways::such(|way| {
                    way != Way::In && plan.directed.admits(way != Way::Undirected)
                });
                for group in groups {
                    runs.extend(self.whole(group, ways, Copies::Once, None).await?);
                }
            }
            Target::Vertices(vertices) => {
                let jobs = vertex_jobs(&groups, vertices, Ways::of(plan.side, plan.directed))?;
                runs = cut(jobs);
            }
            Target::Range(first, last) => {
                let ways = Ways::of(plan.side, plan.directed);
                for group in groups {
                    runs.extend(self.range(group, ways, first, last).await?);
                }
            }
            Target::Edges { ids, matched } => {
                let copies = if *matched { Copies::Matched } else { Copies::Unmatched };
                runs = cut(edge_jobs(&groups, ids, (plan.side, plan.directed), copies)?);
            }
        }
        Ok(runs)
    }

    /// All of a group, by splits.
    async fn whole(
        &self,
        group: &StoredGroup,
        ways: Ways,
        copies: Copies,
        within: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Vec<Vec<Job>>> {
        let engine = self.graph.bucket().store().engine();
        let splits = engine.splits(group.space, PARTS).await?;
        let job = |split| {
            let request = ScanRequest::split(group.space, split);
            let (form, within) = (group.form.clone(), within.clone());
            vec![Job { request, wanted: Wanted { form, ways, copies, within } }]
        };
        Ok(splits.into_iter().map(job).collect())
    }

    /// The vertices of a range: one scan where they are in order, and else all.
    async fn range(
        &self,
        group: &StoredGroup,
        ways: Ways,
        first: &Value,
        last: &Value,
    ) -> Result<Vec<Vec<Job>>> {
        let (first, last) = (group.form.vertex(first)?, group.form.vertex(last)?);
        if first > last {
            return Ok(Vec::new());
        }
        let (first, last) = group.form.partition_range(&first, &last);
        let engine = self.graph.bucket().store().engine();
        let Some(split) = engine.partitions_between(group.space, &first, &last) else {
            return self.whole(group, ways, Copies::Matched, Some((first, last))).await;
        };
        let request = ScanRequest::split(group.space, split);
        let (form, copies) = (group.form.clone(), Copies::Matched);
        Ok(vec![vec![Job { request, wanted: Wanted { form, ways, copies, within: None } }]])
    }
}

#[async_trait]
impl Source for Reader {
    async fn scan(&self, plan: Plan) -> Result<Elements> {
        let mut runs = self.runs(&plan).await?;
        let run = |jobs| self.run(jobs, Arc::clone(&plan.budget));
        if runs.len() == 1
            && let Some(only) = runs.pop()
        {
            return Ok(Box::new(run(only)));
        }
        let waiting = runs.into_iter().map(run).collect();
        Ok(Box::new(Ahead { waiting, working: VecDeque::new() }))
    }

    fn puts_flags_last(&self) -> bool {
        self.graph.package().flags_last()
    }
}

/// Seeds in the order of their keys, so that those that lie together are read together.
fn vertex_jobs(groups: &[&StoredGroup], vertices: &[Value], ways: Ways) -> Result<Vec<Job>> {
    let Some(any) = groups.first() else { return Ok(Vec::new()) };
    let vertices = vertices.iter().map(|vertex| any.form.vertex(vertex));
    let mut vertices = vertices.collect::<Result<Vec<_>>>()?;
    vertices.sort_unstable();
    vertices.dedup();
    let ranges = |group: &&StoredGroup| match group.form.group.shape().is_edge {
        true => group.form.package.edges(ways.and(group.ways)),
        false => vec![(Bound::Unbounded, Bound::Unbounded)],
    };
    let ranges: Vec<_> = groups.iter().map(ranges).collect();
    let mut jobs = Vec::with_capacity(vertices.len() * groups.len());
    for vertex in vertices {
        for (group, ranges) in groups.iter().zip(&ranges) {
            let Some((last, others)) = ranges.split_last() else { continue };
            let mut push = |partition: Vec<u8>, (from, to): &SortRange| {
                let request = ScanRequest::range(group.space, partition, from.clone(), to.clone());
                let (form, copies) = (group.form.clone(), Copies::Matched);
                jobs.push(Job { request, wanted: Wanted { form, ways, copies, within: None } });
            };
            for partition in group.form.partitions(&vertex) {
                others.iter().for_each(|range| push(partition.clone(), range));
                push(partition, last);
            }
        }
    }
    Ok(jobs)
}

/// The keys that ids of edges stand for, each once.
fn edge_jobs(
    groups: &[&StoredGroup],
    ids: &[EdgeId],
    (side, directed): (Side, Directed),
    copies: Copies,
) -> Result<Vec<Job>> {
    let groups: Vec<_> = groups.iter().filter(|group| group.form.group.shape().is_edge).collect();
    let Some(any) = groups.first() else { return Ok(Vec::new()) };
    let mut keys = BTreeSet::new();
    for id in ids {
        let (source, destination) =
            (any.form.vertex(&id.source)?, any.form.vertex(&id.destination)?);
        let loops = source != destination || any.form.package.finds_loops(side);
        for way in any.form.package.seeded(id.directed, side).iter() {
            if directed.admits(way != Way::Undirected) && (loops || way == Way::Undirected) {
                let partition = any.form.partition_of_edge(&source, &destination);
                keys.insert((partition, any.form.edge_sort(way, &destination, b"")));
            }
        }
    }
    let mut jobs = Vec::new();
    for (partition, prefix) in keys {
        for group in &groups {
            let to = successor_of_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
            let from = Bound::Included(prefix.clone());
            let (form, ways) = (group.form.clone(), Ways::all());
            jobs.push(Job {
                request: ScanRequest::range(group.space, partition.clone(), from, to),
                wanted: Wanted { form, ways, copies, within: None },
            });
        }
    }
    Ok(jobs)
}

fn cut(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    if (1..=RUN_SCANS).contains(&jobs.len()) {
        return vec![jobs];
    }
    let mut runs = Vec::new();
    let mut jobs = jobs.into_iter().peekable();
    while jobs.peek().is_some() {
        runs.push(jobs.by_ref().take(RUN_SCANS).collect());
    }
    runs
}

/// Scans one after the other.
pub(super) struct Run {
    graph: Graph,
    cells: Cells<'static>,
    budget: Arc<Budget>,
    jobs: VecDeque<Job>,
    /// What is wanted of the scan under way.
    open: Option<Wanted>,
}

impl Run {
    /// Reads another block into `batch`; answers whether there may be more.
    async fn step(&mut self, batch: &mut Vec<Element>) -> Result<bool> {
        let wanted = match &mut self.open {
            Some(open) => open,
            none => {
                let Some(Job { request, wanted }) = self.jobs.pop_front() else { return Ok(false) };
                self.cells.turn_to(self.graph.bucket(), request).await?;
                none.insert(wanted)
            }
        };
        let before = self.cells.cells_read();
        let block = self.cells.next_block().await?;
        let read = self.cells.cells_read() - before;
        if read > 0 {
            self.budget.scanned_of(wanted.form.group.id(), read)?;
        }
        let Some(block) = block else {
            self.open = None;
            return Ok(true);
        };
        wanted.read(&block, batch)?;
        if self.cells.is_over() {
            self.open = None;
        }
        Ok(true)
    }
}

impl Wanted {
    /// Appends the elements of a block that are wanted.
    fn read(&self, block: &Block, batch: &mut Vec<Element>) -> Result<()> {
        batch.reserve(block.len());
        // Cells of a vertex follow each other: it is read once.
        let mut under = None::<(&[u8], Value)>;
        for cell in block.iter() {
            if let Some((first, last)) = &self.within {
                let vertex = cell.partition();
                if *vertex < **first || *vertex > **last {
                    continue;
                }
            }
            let vertex = match &under {
                Some((partition, vertex)) if *partition == cell.partition_escaped() => vertex,
                _ => {
                    let vertex = self.form.vertex_of(&cell)?;
                    &under.insert((cell.partition_escaped(), vertex)).1
                }
            };
            batch.extend(self.form.read_under(vertex, &cell, self.ways, self.copies)?);
        }
        Ok(())
    }
}

#[async_trait]
impl Batches<Element> for Run {
    async fn next(&mut self) -> Result<Option<Vec<Element>>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH && self.step(&mut batch).await? {}
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }

    fn is_over(&self) -> bool {
        self.open.is_none() && self.jobs.is_empty()
    }
}

/// Runs in order, some of them at work before their turn. Dropping it ends them.
struct Ahead {
    waiting: VecDeque<Run>,
    working: VecDeque<mpsc::Receiver<Result<Vec<Element>>>>,
}

#[async_trait]
impl Batches<Element> for Ahead {
    async fn next(&mut self) -> Result<Option<Vec<Element>>> {
        loop {
            while self.working.len() < RUNS_AHEAD
                && let Some(run) = self.waiting.pop_front()
            {
                let (batches, receiver) = mpsc::channel(BATCHES_AHEAD);
                tokio::spawn(work(run, batches));
                self.working.push_back(receiver);
            }
            let Some(first) = self.working.front_mut() else { return Ok(None) };
            if let Some(batch) = first.recv().await {
                return batch.map(Some);
            }
            self.working.pop_front();
        }
    }
}

async fn work(mut run: Run, batches: mpsc::Sender<Result<Vec<Element>>>) {
    while let Some(batch) = run.next().await.transpose() {
        let failed = batch.is_err();
        // Nobody waits for more once the stream is dropped.
        if batches.send(batch).await.is_err() || failed {
            return;
        }
    }
}
