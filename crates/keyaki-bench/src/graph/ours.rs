//! A graph as a program would hold it: the library on the embedded engine, one bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyaki::bucket::CommonOptions;
use keyaki::bucket::graph::element::{Directed, Element};
use keyaki::bucket::graph::operation::{
    Budget, Executor, Limits, NoNames, Output, Plan, Side, Source, Step, Target,
};
use keyaki::bucket::graph::schema::{Group, Schema};
use keyaki::bucket::graph::{Graph, Ingest, IngestOptions, key, rules};
use keyaki::cell::SystemWallClock;
use keyaki::cell::key::cell_key;
use keyaki::cell::visibility::Authorisations;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{Engine, Rules, ScanRequest};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Operation, Store};
use serde_json::Value as Json;
use tokio::runtime::Runtime;

use super::data::{Edge, Name, text};
use crate::Result;

pub const SCHEMA: &str = include_str!("schema.json");
/// What the reader may see: everything there is.
pub const READER: [&str; 2] = ["public", "private"];

/// A graph and the runtime that its callers stand on.
pub struct Ours {
    runtime: Runtime,
    engine: Arc<EmbeddedEngine>,
    graph: Graph,
    follows: Arc<Group>,
    reader: Authorisations,
    dir: PathBuf,
}

impl Ours {
    pub fn open(dir: &Path, settings: &EmbeddedSettings, package: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
        let engine = Arc::new(EmbeddedEngine::open(dir, settings, rules(Rules::default()))?);
        let quiet = StoreSettings { sweep_every: None, ..StoreSettings::default() };
        let store = Store::new(engine.clone(), quiet, 1);
        let schema = Arc::new(Schema::from_json(&serde_json::from_str::<Json>(SCHEMA)?)?);
        let package = key::by_name(package)?;
        let spec = Graph::spec(&CommonOptions::default(), &schema, package);
        let bucket = runtime.block_on(store.create_bucket(spec))?;
        let follows = schema.group("follows").ok_or("the schema has edges")?.clone();
        let graph = Graph::new(bucket, schema, package)?;
        let reader = Authorisations::new(READER)?;
        Ok(Self { runtime, engine, graph, follows, reader, dir: dir.to_owned() })
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Where its RocksDB is.
    pub fn db_dir(&self) -> PathBuf {
        self.dir.join("db")
    }

    /// The space of the edges, as it stands before their stored keys.
    pub fn space(&self) -> Result<[u8; 4]> {
        Ok(self.graph.space(self.follows.id())?.0.to_be_bytes())
    }

    /// Sends edges as an operation of that name; answers how many came in.
    pub fn ingest(&self, operation: &str, edges: &[Edge]) -> Result<u64> {
        self.ingest_elements(operation, edges.iter().map(|edge| self.element(edge)))
    }

    /// An edge as the library takes it.
    pub fn element(&self, edge: &Edge) -> Element {
        edge.element(&self.follows)
    }

    pub fn ingest_elements(
        &self,
        operation: &str,
        elements: impl Iterator<Item = Element>,
    ) -> Result<u64> {
        let operation = Operation {
            caller: "bench".to_owned(),
            action: String::new(),
            id: operation.to_owned(),
            sequence: 0,
            parameters: Vec::new(),
        };
        let writer = self.graph.writer(None, Some(operation));
        self.runtime.block_on(async {
            let mut ingest = Ingest::new(writer, IngestOptions::default());
            for element in elements {
                ingest.push(Ok(element)).await?;
            }
            Ok(ingest.finish().await?.accepted)
        })
    }

    /// An operation, ready to be run.
    pub fn step(&self, operation: &Json) -> Result<Step> {
        Ok(Step::from_json(operation, self.graph.schema(), &NoNames)?)
    }

    /// Reads all edges of a vertex; answers how many cells that were.
    pub async fn edges_of(&self, vertex: &Name) -> Result<u64> {
        let budget = Arc::new(Budget::new(Limits::default(), Arc::new(SystemWallClock)));
        let plan = Plan {
            target: Target::Vertices(vec![text(vertex).into()]),
            groups: vec![self.follows.id()],
            side: Side::Either,
            directed: Directed::Either,
            budget: Arc::clone(&budget),
        };
        let mut edges = self.graph.seen_by(self.reader.clone()).scan(plan).await?;
        let mut found = 0;
        while let Some(batch) = edges.next().await? {
            found += batch.len() as u64;
        }
        Ok(found)
    }

    /// Runs an operation to its end; answers how many results it had and how many cells were read.
    pub async fn run(&self, step: &Step) -> Result<(usize, u64)> {
        let budget = Arc::new(Budget::new(Limits::default(), Arc::new(SystemWallClock)));
        let source = Arc::new(self.graph.seen_by(self.reader.clone()));
        let schema = Arc::clone(self.graph.schema());
        let executor = Executor::new(schema, source, Arc::clone(&budget));
        let mut results = 0;
        match executor.execute(step).await? {
            Output::Elements(mut elements) => {
                while let Some(batch) = elements.next().await? {
                    results += batch.len();
                }
            }
            Output::Values(mut values) => {
                while let Some(batch) = values.next().await? {
                    results += batch.len();
                }
            }
            _ => results = 1,
        }
        Ok((results, budget.cells_scanned()))
    }

    /// Shows every stored edge cell: whole key, whole value.
    pub fn each_cell(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let space = self.graph.space(self.follows.id())?;
        self.runtime.block_on(async {
            let mut key = Vec::new();
            for split in self.engine.splits(space, 1).await? {
                let mut scan = self.engine.scan(ScanRequest::split(space, split)).await?;
                while let Some(block) = scan.next_block().await? {
                    for cell in block.iter() {
                        key.clear();
                        cell_key(space.0, &cell.partition(), cell.sort(), &mut key);
                        visit(&key, cell.encoded());
                    }
                }
            }
            Ok(())
        })
    }

    /// Waits until no compaction is left to do.
    pub fn settle(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.engine.settle())?)
    }

    /// Packs everything into one sorted run.
    pub fn pack(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.engine.pack())?)
    }
}
