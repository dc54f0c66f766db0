//! What must hold of a graph's cells: a check finds what does not, and how much there is can be counted anew.

use keyaki::bucket::Usage;
use keyaki::bucket::graph::element::Element;
use keyaki::bucket::graph::operation::Sink;
use keyaki::bucket::graph::{Graph, Ingest, IngestOptions, Recount};
use keyaki::cell::Value;
use keyaki::engine::{ScanRequest, Write};
use keyaki::testing::graph::Package;
use keyaki::{Error, catalog};
use serde_json::{Value as Json, json};

use super::stored::{Case, Stored, everywhere};

fn schema() -> Json {
    json!({
        "edges": {
            "knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count", "mean": "mean"}},
            "met": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count"}, "aggregate": false,
                    "validateFunctions": [{"selection": ["count"], "predicate": {"class": "IsMoreThan", "value": {"Long": 0}}}]}
        },
        "entities": {"person": {"vertex": "v", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}},
            "mean": {"class": "Double", "aggregateFunction": {"class": "Sum"}}
        }
    })
}

fn edge(group: &str, from: &str, to: &str, directed: bool, count: i64) -> Json {
    json!({"class": "Edge", "group": group, "source": from, "destination": to, "directed": directed,
           "properties": {"count": {"Long": count}, "mean": 0.1}})
}

/// Edges with and without direction, loops, entities, twice over.
fn elements() -> Vec<Json> {
    let mut elements = Vec::new();
    for i in 0..60 {
        let (from, to) = (format!("v{}", i % 5), format!("v{}", i % 7));
        for group in ["knows", "met"] {
            elements.push(edge(group, &from, &to, i % 2 == 0, i));
        }
        elements
            .push(json!({"group": "person", "vertex": from, "properties": {"count": {"Long": 1}}}));
    }
    elements
}

fn add(stored: &Stored) {
    stored.runtime.block_on(async {
        let options = IngestOptions { validate: false, skip_invalid: false };
        let writer = stored.graph.writer(None, None);
        let mut ingest = Ingest::new(writer, options).with_chunks_of(50);
        for json in elements() {
            ingest.push(Element::from_json(&json)).await.unwrap();
        }
        ingest.finish().await.unwrap();
    });
}

fn usage(stored: &Stored) -> Usage {
    stored.runtime.block_on(Usage::of(stored.graph.bucket())).unwrap()
}

/// How many rounds it takes, a few cells in each.
fn recount(stored: &Stored) -> usize {
    let mut recount = Recount::default();
    let mut rounds = 1;
    while !stored.runtime.block_on(stored.graph.recount(&mut recount, 10)).unwrap() {
        rounds += 1;
        assert!(rounds < 10_000);
    }
    rounds
}

/// Cells of a group: partition, sort key, payload.
async fn cells(graph: &Graph, group: &str) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let engine = graph.bucket().store().engine();
    let space = graph.space(graph.schema().group(group).unwrap().id()).unwrap();
    let mut cells = Vec::new();
    for split in engine.splits(space, 1).await.unwrap() {
        let mut scan = engine.scan(ScanRequest::split(space, split)).await.unwrap();
        while let Some(block) = scan.next_block().await.unwrap() {
            let cell = |cell: keyaki::engine::CellRef<'_>| {
                (cell.partition().to_vec(), cell.sort().to_vec(), cell.payload().to_vec())
            };
            cells.extend(block.iter().map(cell));
        }
    }
    cells
}

/// What a check finds after something was done to the first cell of an edge between two vertices.
fn finds(package: Package, group: &str, write: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<Error> {
    let stored = Stored::on_embedded(&schema(), package, &[]).unwrap();
    add(&stored);
    recount(&stored);
    stored.runtime.block_on(async {
        let (graph, space) = (&stored.graph, stored.graph.schema().group(group).unwrap().id());
        let space = graph.space(space).unwrap();
        let cells = cells(graph, group).await;
        let loops =
            |partition: &[u8], sort: &[u8]| sort.windows(2).any(|pair| *pair == partition[..2]);
        let (partition, sort, payload) =
            cells.iter().find(|(partition, sort, _)| !loops(partition, sort)).unwrap();
        let planted = write(payload);
        let committed = graph.bucket().commit(b"planted", |draft| {
            let write = match &planted {
                Some(payload) => Write::Merge(Value::open(payload)),
                None => Write::Delete,
            };
            draft.dependent(space, partition, sort, write);
            Ok(())
        });
        committed.await.unwrap().tid().unwrap();
    });
    problems(stored)
}

fn problems(stored: Stored) -> Vec<Error> {
    let dir = stored.close();
    catalog::check(dir.path()).unwrap().problems
}

#[test]
fn a_sound_graph_is_found_sound() {
    for package in [Package::ByteEntity, Package::Sharded, Package::Classic] {
        let stored = Stored::on_embedded(&schema(), package, &[]).unwrap();
        add(&stored);
        add(&stored);
        let found = problems(stored);
        assert!(found.is_empty(), "{package:?}: {found:?}");
    }
}

#[test]
fn an_edge_that_is_under_one_end_only_is_found() {
    for package in [Package::ByteEntity, Package::Sharded, Package::Classic] {
        for group in ["knows", "met"] {
            let found = finds(package, group, |_| None);
            let [problem] = &found[..] else { panic!("{package:?} {group}: {found:?}") };
            assert_eq!(problem.message(), "an edge is missing under its other end");
            assert_eq!(problem.context("group"), Some(group));
            assert!(problem.context("key").is_some(), "{problem}");
        }
    }
}

#[test]
fn ends_that_say_different_things_are_found() {
    let found = finds(Package::ByteEntity, "knows", |payload| Some(payload.to_vec()));
    let differs = "an edge says something else under its other end";
    let differing = found.iter().filter(|problem| problem.message() == differs);
    assert_eq!(differing.count(), 2, "each end differs from the other: {found:?}");
}

#[test]
fn a_graph_that_holds_more_than_is_counted_is_found() {
    let stored = Stored::on_embedded(&schema(), Package::ByteEntity, &[]).unwrap();
    add(&stored);
    recount(&stored);
    stored.runtime.block_on(async {
        let bucket = stored.graph.bucket();
        let space = bucket.space("usage").unwrap();
        let committed = bucket.commit(b"planted", |draft| {
            let less = (-1_i64).to_be_bytes();
            draft.dependent(space, b"usage", b"items", Write::Merge(Value::open(&less)));
            Ok(())
        });
        committed.await.unwrap().tid().unwrap();
    });
    let found = problems(stored);
    let [problem] = &found[..] else { panic!("{found:?}") };
    assert_eq!(problem.message(), "a graph holds more than is counted for it");
}

/// What must hold on every engine.
pub const CASES: &[Case] = &[
    (&[schema], what_is_held_is_counted_anew),
    (&[schema], what_is_added_during_a_count_is_not_taken_off),
];

#[test]
fn counts_are_right_on_every_engine() {
    everywhere(CASES);
}

fn what_is_held_is_counted_anew(stored: &Stored) {
    add(stored);
    let (told, once) = (usage(stored), stored.all().len() as i64);
    assert!(told.items > once, "chunks are counted as if nothing were there: {told:?}");
    assert!(recount(stored) > 3, "a few cells at a time");
    let counted = usage(stored);
    assert_eq!(counted.items, once, "and what is not valid does not count");
    assert!(counted.bytes > 0 && counted.bytes < told.bytes, "{counted:?} {told:?}");
    recount(stored);
    assert_eq!(usage(stored), counted);
    let gone = edge("knows", "v1", "v1", false, 1);
    let gone = stored.graph.schema().element_from_json(&gone).unwrap();
    stored.runtime.block_on(stored.graph.writer(None, None).delete(vec![gone])).unwrap();
    assert_eq!(stored.all().len() as i64, once - 1);
    assert_eq!(usage(stored), counted, "deletion does not look how much goes");
    recount(stored);
    assert_eq!(usage(stored).items, once - 1);
    assert!(usage(stored).bytes < counted.bytes);
}

#[test]
fn what_did_not_change_is_not_counted_again() {
    let mut schema = schema();
    schema["edges"].as_object_mut().unwrap().remove("met");
    let stored = Stored::on_embedded(&schema, Package::ByteEntity, &[]).unwrap();
    let knows: Vec<Json> =
        elements().into_iter().filter(|element| element["group"] == "knows").collect();
    stored.runtime.block_on(async {
        let mut ingest = Ingest::new(stored.graph.writer(None, None), IngestOptions::default())
            .with_chunks_of(9);
        for json in &knows {
            ingest.push(Element::from_json(json)).await.unwrap();
        }
        ingest.finish().await.unwrap();
    });
    assert!(recount(&stored) > 1);
    assert_eq!(recount(&stored), 1, "nothing to look at");
    let gone = stored.graph.schema().element_from_json(&knows[1]).unwrap();
    stored.runtime.block_on(stored.graph.writer(None, None).delete(vec![gone])).unwrap();
    assert!(recount(&stored) > 1);
}

fn what_is_added_during_a_count_is_not_taken_off(stored: &Stored) {
    add(stored);
    let mut recount = Recount::default();
    let round = |recount: &mut Recount| stored.runtime.block_on(stored.graph.recount(recount, 1));
    for _ in 0..3 {
        assert!(!round(&mut recount).unwrap());
    }
    let before = usage(stored);
    stored.runtime.block_on(async {
        let writer = stored.graph.writer(None, None);
        let mut ingest = Ingest::new(writer, IngestOptions::default());
        for i in 0..20 {
            let new = edge("knows", "new", &format!("v{i}"), true, 1);
            ingest.push(Element::from_json(&new)).await.unwrap();
        }
        ingest.finish().await.unwrap();
    });
    assert_eq!(usage(stored).items, before.items + 20);
    while !round(&mut recount).unwrap() {}
    assert!(usage(stored).items >= stored.all().len() as i64);
}
