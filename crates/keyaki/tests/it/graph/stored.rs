//! A graph in a bucket, on every engine: Gaffer's cases again, and what only storage can show.

use std::sync::Arc;
use std::time::Duration;

use keyaki::Result;
use keyaki::bucket::CommonOptions;
use keyaki::bucket::graph::operation::{Budget, Executor, Limits, NoNames, Step};
use keyaki::bucket::graph::schema::Schema;
use keyaki::bucket::graph::{Graph, key, rules};
use keyaki::cell::HybridClock;
use keyaki::cell::visibility::Authorisations;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::memory::MemoryEngine;
use keyaki::engine::{Engine, Rules};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{Change, Operation, Store};
use keyaki::testing::clock::FakeClock;
use keyaki::testing::graph::Package;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::gaffer::{self, PACKAGES};
use super::{Asked, NOW_MS, answer};

/// A graph in a bucket and somebody who asks.
pub struct Stored {
    pub runtime: Arc<Runtime>,
    pub graph: Graph,
    pub wall: Arc<FakeClock>,
    pub authorisations: Authorisations,
    pub limits: Limits,
    dir: Option<TempDir>,
}

pub fn package_name(package: Package) -> &'static str {
    match package {
        Package::ByteEntity => "byteEntity",
        Package::Sharded => "sharded",
        Package::Classic => "classic",
    }
}

impl Stored {
    pub fn on_memory(schema: &Json, package: Package, auths: &[String]) -> Result<Self> {
        let make = |wall: Arc<FakeClock>| -> Arc<dyn Engine> {
            Arc::new(MemoryEngine::with_clock(rules(Rules::default()), HybridClock::new(wall)))
        };
        Self::new(schema, package, auths, make, None)
    }

    pub fn on_embedded(schema: &Json, package: Package, auths: &[String]) -> Result<Self> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let make = |wall: Arc<FakeClock>| -> Arc<dyn Engine> {
            let settings = EmbeddedSettings::default();
            let book = rules(Rules::default());
            Arc::new(EmbeddedEngine::open_with_clock(&path, &settings, book, wall).unwrap())
        };
        Self::new(schema, package, auths, make, Some(dir))
    }

    fn new(
        schema: &Json,
        package: Package,
        auths: &[String],
        make: impl FnOnce(Arc<FakeClock>) -> Arc<dyn Engine>,
        dir: Option<TempDir>,
    ) -> Result<Self> {
        let runtime = runtime();
        let wall = Arc::new(FakeClock::at(NOW_MS as u64 * 1000));
        let store = {
            let _inside = runtime.enter();
            let settings = StoreSettings { sweep_every: None, ..StoreSettings::default() };
            Store::new(make(wall.clone()), settings, 1)
        };
        let stored = Self::within((runtime, &store, wall), schema, package, auths)?;
        Ok(Self { dir, ..stored })
    }

    /// A graph beside others.
    pub fn within(
        (runtime, store, wall): (Arc<Runtime>, &Store, Arc<FakeClock>),
        schema: &Json,
        package: Package,
        auths: &[String],
    ) -> Result<Self> {
        let schema = Arc::new(Schema::from_json(schema)?);
        let package = key::by_name(package_name(package))?;
        let spec = Graph::spec(&CommonOptions::default(), &schema, package);
        let bucket = runtime.block_on(store.create_bucket(spec))?;
        let graph = Graph::new(bucket, schema, package)?;
        let authorisations = Authorisations::new(auths.iter().map(String::as_str)).unwrap();
        let limits = Limits::default();
        Ok(Self { runtime, graph, wall, authorisations, limits, dir: None })
    }

    /// So many change records, once they are settled.
    pub fn changes(&self, wanted: usize) -> Vec<Change> {
        let bucket = self.graph.bucket();
        let begun = std::time::Instant::now();
        loop {
            let page = bucket.changes(&self.authorisations, None, 100);
            let page = self.runtime.block_on(page).unwrap();
            if page.changes.len() >= wanted || begun.elapsed() > Duration::from_secs(30) {
                return page.changes.into_iter().map(|record| record.change).collect();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What a chain answers, and how many cells it read.
    pub fn explain(&self, operation: &Json) -> Result<(Json, u64)> {
        let budget = Arc::new(Budget::new(self.limits, self.wall.clone()));
        let source = Arc::new(self.graph.seen_by(self.authorisations.clone()));
        let schema = self.graph.schema();
        let step = Step::from_json(operation, schema, &NoNames)?;
        let executor = Executor::new(Arc::clone(schema), source, Arc::clone(&budget))
            .with_sink(Arc::new(self.graph.writer(None, None)));
        let json = self.runtime.block_on(async { answer(executor.execute(&step).await?).await })?;
        Ok((json, budget.cells_scanned()))
    }

    /// All edges and entities as they are told, sorted.
    pub fn all(&self) -> Vec<String> {
        let all = self.ask(&json!({"class": "GetAllElements"})).unwrap();
        let mut all: Vec<String> =
            all.as_array().into_iter().flatten().map(Json::to_string).collect();
        all.sort();
        all
    }

    /// Cells of a group, hidden ones aside.
    pub fn sweep(&self) {
        self.runtime.block_on(self.graph.bucket().store().sweep()).unwrap();
    }

    /// How many cells are in quarantine.
    pub fn quarantined(&self) -> usize {
        let bucket = self.graph.bucket();
        let engine = bucket.store().engine();
        self.runtime.block_on(async {
            let mut cells = 0;
            for split in engine.splits(bucket.quarantine(), 1).await.unwrap() {
                let request = keyaki::engine::ScanRequest::split(bucket.quarantine(), split);
                let mut scan = engine.scan(request).await.unwrap();
                while let Some(block) = scan.next_block().await.unwrap() {
                    cells += block.len();
                }
            }
            cells
        })
    }

    /// Closes a store that has a directory.
    pub fn close(self) -> TempDir {
        let Self { runtime, graph, dir, .. } = self;
        drop(graph);
        drop(runtime);
        dir.unwrap()
    }

    pub fn later(&self, by: Duration) {
        self.wall.advance(by);
    }
}

impl Asked for Stored {
    fn ask(&self, operation: &Json) -> Result<Json> {
        self.explain(operation).map(|(json, _)| json)
    }
}

/// The schemas of graphs, and what must hold of each.
pub type Case = (&'static [fn() -> Json], fn(&Stored));

/// Tries cases on both engines that need no server.
pub fn everywhere(cases: &[Case]) {
    for (schemas, case) in cases {
        for schema in *schemas {
            in_every_form(&schema(), case);
        }
    }
}

/// The same with one of them.
pub fn in_every_form(schema: &Json, test: impl Fn(&Stored)) {
    for package in [Package::ByteEntity, Package::Sharded, Package::Classic] {
        test(&Stored::on_memory(schema, package, &[]).unwrap());
        test(&Stored::on_embedded(schema, package, &[]).unwrap());
    }
}

pub fn runtime() -> Arc<Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    Arc::new(runtime.worker_threads(2).enable_all().build().unwrap())
}

pub fn operation(id: &str) -> Operation {
    Operation {
        caller: "ann".into(),
        action: String::new(),
        id: id.into(),
        sequence: 0,
        parameters: Vec::new(),
    }
}

#[test]
fn the_memory_engine_answers_as_gaffer_does() {
    gaffer::all_cases(&PACKAGES, &|schema, package, auths| {
        Ok(Box::new(Stored::on_memory(schema, package, auths)?))
    });
}

#[test]
fn the_embedded_engine_answers_as_gaffer_does() {
    gaffer::all_cases(&PACKAGES, &|schema, package, auths| {
        Ok(Box::new(Stored::on_embedded(schema, package, auths)?))
    });
}

fn two_groups() -> Json {
    json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count"}}},
        "entities": {"person": {"vertex": "v", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        }
    })
}

fn by_day() -> Json {
    let mut schema = two_groups();
    schema["edges"]["knows"]["properties"] = json!({"day": "day", "count": "count"});
    schema["edges"]["knows"]["groupBy"] = json!(["day"]);
    schema["types"]["day"] = json!({"class": "Integer", "aggregateFunction": {"class": "Max"}});
    schema
}

fn edge(from: &str, to: &str, count: i64) -> Json {
    json!({"class": "Edge", "group": "knows", "source": from, "destination": to, "directed": true,
           "properties": {"count": {"Long": count}}})
}

fn person(vertex: &str, count: i64) -> Json {
    json!({"class": "Entity", "group": "person", "vertex": vertex, "properties": {"count": {"Long": count}}})
}

/// What must hold on every engine.
pub const CASES: &[Case] = &[
    (&[two_groups], a_query_reads_only_the_groups_that_it_names),
    (&[two_groups], many_seeds_are_answered_in_order_and_once),
    (&[two_groups], a_changed_schema_adds_groups_and_changes_rules),
    (&[by_day], a_vertex_is_adjacent_once_for_all_edges_that_are_alike),
];

#[test]
fn graphs_are_read_alike_on_every_engine() {
    everywhere(CASES);
}

fn a_query_reads_only_the_groups_that_it_names(stored: &Stored) {
    let mut elements: Vec<Json> = (0..50).map(|i| edge("a", &format!("b{i}"), 1)).collect();
    elements.push(person("a", 1));
    elements.push(person("b1", 1));
    stored.add(&json!(elements), &Json::Null).unwrap();
    let seeds = json!([{"class": "EntitySeed", "vertex": "a"}]);
    let query = |view: Json| json!({"class": "GetElements", "input": seeds, "view": view});
    let (found, read) = stored.explain(&query(json!({"entities": {"person": {}}}))).unwrap();
    assert_eq!((found.as_array().unwrap().len(), read), (1, 1));
    let (found, read) = stored.explain(&query(json!({"edges": {"knows": {}}}))).unwrap();
    assert_eq!((found.as_array().unwrap().len(), read), (50, 50));
    let all = json!({"class": "GetAllElements", "view": {"entities": {"person": {}}}});
    let (found, read) = stored.explain(&all).unwrap();
    assert_eq!((found.as_array().unwrap().len(), read), (2, 2));
}

fn many_seeds_are_answered_in_order_and_once(stored: &Stored) {
    let elements: Vec<Json> =
        (0..500).map(|i| edge(&format!("s{i:03}"), &format!("t{i:03}"), i)).collect();
    stored.add(&json!(elements), &Json::Null).unwrap();
    let seeds: Vec<Json> =
        (0..500).map(|i| json!({"class": "EntitySeed", "vertex": format!("s{i:03}")})).collect();
    let found = stored.ask(&json!({"class": "GetElements", "input": seeds})).unwrap();
    let counts: Vec<i64> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| edge["properties"]["count"]["java.lang.Long"].as_i64().unwrap())
        .collect();
    assert_eq!(counts, (0..500).collect::<Vec<_>>());
    let limited = json!({"class": "OperationChain", "operations": [
        {"class": "GetElements", "input": seeds}, {"class": "Limit", "resultLimit": 3}
    ]});
    assert_eq!(stored.ask(&limited).unwrap().as_array().unwrap().len(), 3);
}

/// More edges than one block holds.
fn a_vertex_is_adjacent_once_for_all_edges_that_are_alike(stored: &Stored) {
    let on_day = |day: i32| {
        let mut edge = edge("a", if day < 5 { "b" } else { "c" }, 1);
        edge["properties"]["day"] = json!(day);
        edge
    };
    let edges: Vec<Json> = (0..2_000).map(on_day).collect();
    stored.add(&json!(edges), &Json::Null).unwrap();
    let seeds = json!([{"class": "EntitySeed", "vertex": "a"}]);
    let adjacent = |view: Json| {
        let query = json!({"class": "GetAdjacentIds", "input": seeds, "view": view});
        let (found, read) = stored.explain(&query).unwrap();
        assert_eq!(read, 2_000);
        found.as_array().unwrap().iter().map(|id| id["vertex"].to_string()).collect::<Vec<_>>()
    };
    let days = [vec!["\"b\""; 5], vec!["\"c\""; 1_995]].concat();
    assert_eq!(adjacent(json!({"edges": {"knows": {}}})), days);
    assert_eq!(adjacent(json!({"edges": {"knows": {"groupBy": []}}})), ["\"b\"", "\"c\""]);
}

fn a_changed_schema_adds_groups_and_changes_rules(stored: &Stored) {
    stored.add(&json!([edge("a", "b", 1), edge("a", "c", 9)]), &Json::Null).unwrap();
    let mut schema = two_groups();
    schema["entities"]["place"] = json!({"vertex": "v", "properties": {"count": "count"}});
    schema["edges"]["knows"]["validateFunctions"] = json!([{
        "selection": ["count"],
        "predicate": {"class": "IsMoreThan", "value": {"Long": 5}, "orEqualTo": true}
    }]);
    let graph = stored.runtime.block_on(stored.graph.changed(&schema)).unwrap();
    let again = stored.runtime.block_on(stored.graph.changed(&schema)).unwrap();
    let place = graph.schema().group("place").unwrap().id();
    assert_eq!(graph.space(place).unwrap(), again.space(place).unwrap());
    let [edge] = stored.all().try_into().unwrap();
    assert!(edge.contains("\"c\""), "the other is invalid now: {edge}");
    schema["edges"].as_object_mut().unwrap().remove("knows");
    assert!(stored.runtime.block_on(graph.changed(&schema)).is_err(), "groups stay");
}

#[test]
fn sharded_edges_lie_by_their_other_end_and_entities_in_the_first_shard() {
    let stored = Stored::on_memory(&two_groups(), Package::Sharded, &[]).unwrap();
    stored.add(&json!([edge("a", "b", 1), person("a", 1)]), &Json::Null).unwrap();
    let keys = |group: &str| {
        let engine = stored.graph.bucket().store().engine();
        let group = stored.graph.schema().group(group).unwrap().id();
        let space = stored.graph.space(group).unwrap();
        stored.runtime.block_on(async {
            let whole = engine.splits(space, 1).await.unwrap().remove(0);
            let request = keyaki::engine::ScanRequest::split(space, whole);
            let mut scan = engine.scan(request).await.unwrap();
            let block = scan.next_block().await.unwrap().unwrap();
            let key = |cell: keyaki::engine::CellRef<'_>| {
                [&*cell.partition(), b"|", cell.sort()].concat()
            };
            block.iter().map(key).collect::<Vec<_>>()
        })
    };
    assert_eq!(keys("person"), [b"a\0\x00|\x01"]);
    assert_eq!(keys("knows"), [&b"a\0\x04|\x02\0b\0\x02"[..], b"b\0\x00|\x03\0a\0\x03"]);
}
