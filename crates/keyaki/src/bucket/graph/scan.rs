//! Reads elements from their cells. A plan becomes runs of scans; a run works through its scans in order, some runs
//! work ahead of the reader at the same time, and each holds a few batches at most, so memory is bounded whatever the
//! size of the answer.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;

use super::bucket::{Graph, StoredGroup};
use super::element::{Directed, EdgeId, Element};
use super::form::{Copies, Form};
use super::key::{SortRange, Way, Ways};
use super::operation::{Apart, Batches, Budget, Elements, Plan, Side, Source, Target, Values};
use super::row::merged;
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
pub(super) struct Job<W = Wanted> {
    pub request: ScanRequest,
    pub wanted: W,
}

/// What is wanted of the cells of a scan.
pub(super) struct Wanted {
    pub form: Arc<Form>,
    pub ways: Ways,
    pub copies: Copies,
    /// The first and the last partition, where the scan may meet others.
    pub within: Option<(Vec<u8>, Vec<u8>)>,
}

/// The other ends of a scan's edges, and nothing else of them.
struct Beside {
    form: Arc<Form>,
    ways: Ways,
    apart: Apart,
    /// What told the last edge apart.
    last: Vec<u8>,
}

/// What becomes of the cells of a scan.
pub(super) trait Want: Send {
    type Item: Send + 'static;

    fn form(&self) -> &Form;

    /// Appends what is wanted of a block.
    fn read(&mut self, block: &Block, batch: &mut Vec<Self::Item>) -> Result<()>;
}

impl Reader {
    pub(super) fn new(graph: Graph, authorisations: Authorisations) -> Self {
        Self { graph, authorisations }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn run<W: Want>(&self, jobs: Vec<Job<W>>, budget: Arc<Budget>) -> Run<W> {
        Run {
            graph: self.graph.clone(),
            cells: Cells::of_nothing(&self.authorisations),
            budget,
            jobs: VecDeque::from(jobs),
            open: None,
        }
    }

    /// What runs give, one after the other; so many such streams are read beside each other.
    fn stream<W: Want + 'static>(
        &self,
        mut runs: Vec<Vec<Job<W>>>,
        budget: &Arc<Budget>,
        beside: usize,
    ) -> Box<dyn Batches<W::Item>> {
        let run = |jobs| self.run(jobs, Arc::clone(budget));
        if runs.len() == 1
            && let Some(only) = runs.pop()
        {
            return Box::new(run(only));
        }
        let waiting = runs.into_iter().map(run).collect();
        Box::new(Ahead { waiting, working: VecDeque::new(), beside })
    }

    fn stored(&self, plan: &Plan) -> Result<Vec<&StoredGroup>> {
        plan.groups.iter().map(|group| self.graph.stored(group.0)).collect()
    }

    async fn runs(&self, plan: &Plan, groups: &[&StoredGroup]) -> Result<Vec<Vec<Job>>> {
        let mut runs = Vec::new();
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
                let ways = Ways::of(plan.side, plan.directed);
                let want = |group: usize| {
                    let (form, copies) = (groups[group].form.clone(), Copies::Matched);
                    Wanted { form, ways, copies, within: None }
                };
                runs = cut(vertex_jobs(groups, vertices, ways, want)?);
            }
            Target::Range(first, last) => {
                let ways = Ways::of(plan.side, plan.directed);
                for group in groups {
                    runs.extend(self.range(group, ways, first, last).await?);
                }
            }
            Target::Edges { ids, matched } => {
                let copies = if *matched { Copies::Matched } else { Copies::Unmatched };
                runs = cut(edge_jobs(groups, ids, (plan.side, plan.directed), copies)?);
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
        let groups = self.stored(&plan)?;
        let apart = apart(groups, &plan.target);
        let mut streams = Vec::with_capacity(apart.len());
        for groups in &apart {
            let runs = self.runs(&plan, groups).await?;
            streams.push(self.stream(runs, &plan.budget, apart.len()));
        }
        Ok(merged(streams, self.puts_flags_last()))
    }

    async fn adjacent(&self, plan: &Plan, apart: &[Apart]) -> Result<Option<Values>> {
        let Target::Vertices(vertices) = &plan.target else { return Ok(None) };
        let (groups, ways) = (self.stored(plan)?, Ways::of(plan.side, plan.directed));
        let want = |group: usize| {
            let (form, apart) = (groups[group].form.clone(), apart[group]);
            Beside { form, ways, apart, last: Vec::new() }
        };
        let runs = cut(vertex_jobs(&groups, vertices, ways, want)?);
        Ok(Some(self.stream(runs, &plan.budget, 1)))
    }

    fn puts_flags_last(&self) -> bool {
        self.graph.package().flags_last()
    }
}

/// Groups that one scan reads in the order of rows. Where a scan goes from vertex to vertex and reads all groups under
/// each, only the edges of several groups would lie between each other.
fn apart<'a>(mut groups: Vec<&'a StoredGroup>, target: &Target) -> Vec<Vec<&'a StoredGroup>> {
    let by_vertex = matches!(target, Target::Vertices(_) | Target::Edges { .. });
    let mut scans: Vec<Vec<&StoredGroup>> = Vec::new();
    if by_vertex {
        let edges = groups.extract_if(.., |stored| stored.form.group.shape().is_edge);
        scans = edges.map(|stored| vec![stored]).collect();
        match scans.first_mut() {
            Some(first) => first.splice(0..0, groups).for_each(drop),
            None => scans.push(groups),
        }
        return scans;
    }
    scans.extend(groups.into_iter().map(|stored| vec![stored]));
    scans
}

/// Seeds in the order of their keys, so that those that lie together are read together. What is wanted of a group is
/// said by its place.
fn vertex_jobs<W>(
    groups: &[&StoredGroup],
    vertices: &[Value],
    ways: Ways,
    want: impl Fn(usize) -> W,
) -> Result<Vec<Job<W>>> {
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
        for (place, (group, ranges)) in groups.iter().zip(&ranges).enumerate() {
            let Some((last, others)) = ranges.split_last() else { continue };
            let mut push = |partition: Vec<u8>, (from, to): &SortRange| {
                let request = ScanRequest::range(group.space, partition, from.clone(), to.clone());
                jobs.push(Job { request, wanted: want(place) });
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

fn cut<W>(jobs: Vec<Job<W>>) -> Vec<Vec<Job<W>>> {
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
pub(super) struct Run<W = Wanted> {
    graph: Graph,
    cells: Cells<'static>,
    budget: Arc<Budget>,
    jobs: VecDeque<Job<W>>,
    /// What is wanted of the scan under way.
    open: Option<W>,
}

impl<W: Want> Run<W> {
    /// Reads another block into `batch`; answers whether there may be more.
    async fn step(&mut self, batch: &mut Vec<W::Item>) -> Result<bool> {
        let wanted = match &mut self.open {
            Some(open) => open,
            none => {
                let Some(Job { request, wanted }) = self.jobs.pop_front() else { return Ok(false) };
                // Many scans that find all in memory let others run in between.
                consume_budget().await;
                self.cells.turn_to(self.graph.bucket(), request).await?;
                none.insert(wanted)
            }
        };
        let before = self.cells.cells_read();
        let block = self.cells.next_block().await?;
        let read = self.cells.cells_read() - before;
        if read > 0 {
            self.budget.scanned(read)?;
        }
        let Some(block) = block else {
            self.open = None;
            return Ok(true);
        };
        self.budget.seen_of(wanted.form().group.id(), block.len() as u64);
        wanted.read(&block, batch)?;
        if self.cells.is_over() {
            self.open = None;
        }
        Ok(true)
    }
}

impl Want for Wanted {
    type Item = Element;

    fn form(&self) -> &Form {
        &self.form
    }

    fn read(&mut self, block: &Block, batch: &mut Vec<Element>) -> Result<()> {
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
            self.form.read_under(vertex, &cell, self.ways, self.copies, batch)?;
        }
        Ok(())
    }
}

impl Want for Beside {
    type Item = Value;

    fn form(&self) -> &Form {
        &self.form
    }

    fn read(&mut self, block: &Block, batch: &mut Vec<Value>) -> Result<()> {
        batch.reserve(block.len());
        for cell in block.iter() {
            batch.extend(self.form.read_other(&cell, self.ways, self.apart, &mut self.last)?);
        }
        Ok(())
    }
}

#[async_trait]
impl<W: Want> Batches<W::Item> for Run<W> {
    async fn next(&mut self) -> Result<Option<Vec<W::Item>>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH && self.step(&mut batch).await? {}
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }

    fn is_over(&self) -> bool {
        self.open.is_none() && self.jobs.is_empty()
    }
}

/// Runs in order, some of them at work before their turn. Dropping it ends them.
struct Ahead<W: Want> {
    /// How many streams are read beside each other, this one among them: together they work as far ahead as one.
    beside: usize,
    waiting: VecDeque<Run<W>>,
    working: VecDeque<mpsc::Receiver<Result<Vec<W::Item>>>>,
}

#[async_trait]
impl<W: Want + 'static> Batches<W::Item> for Ahead<W> {
    async fn next(&mut self) -> Result<Option<Vec<W::Item>>> {
        loop {
            while self.working.len() < (RUNS_AHEAD / self.beside).max(1)
                && let Some(run) = self.waiting.pop_front()
            {
                let (batches, receiver) = mpsc::channel((BATCHES_AHEAD / self.beside).max(1));
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

async fn work<W: Want>(mut run: Run<W>, batches: mpsc::Sender<Result<Vec<W::Item>>>) {
    while let Some(batch) = run.next().await.transpose() {
        let failed = batch.is_err();
        // Nobody waits for more once the stream is dropped.
        if batches.send(batch).await.is_err() || failed {
            return;
        }
    }
}
