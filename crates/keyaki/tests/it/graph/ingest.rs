//! Chunks that are sent again, summaries, deletion: cases that hold on every engine.

use keyaki::Kind;
use keyaki::bucket::graph::element::Element;
use keyaki::bucket::graph::operation::Sink;
use keyaki::bucket::graph::{Ingest, IngestOptions, Summary};
use keyaki::testing::graph::Package;
use serde_json::{Value as Json, json};

use super::Asked;
use super::stored::{Case, Stored, everywhere, operation};

fn schema(aggregate: bool) -> Json {
    let mut schema = json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        }
    });
    schema["edges"]["knows"]["aggregate"] = json!(aggregate);
    schema
}

fn edge(from: &str, to: &str, count: i64) -> Element {
    let json = json!({"class": "Edge", "group": "knows", "source": from, "destination": to, "directed": true,
                      "properties": {"count": {"Long": count}}});
    Element::from_json(&json).unwrap()
}

/// Forty edges between few vertices, and one of an unknown group at the end if that is wished.
fn file(bad: bool) -> Vec<Element> {
    let name = |i: usize| format!("v{}", i % 7);
    let mut file: Vec<_> = (0..40).map(|i| edge(&name(i), &name(i * 3 + 1), i as i64)).collect();
    if bad {
        let json = json!({"class": "Entity", "group": "nobody", "vertex": "x"});
        file.push(Element::from_json(&json).unwrap());
    }
    file
}

/// Sends the first so many elements of a file in chunks of seven.
fn send(
    stored: &Stored,
    id: &str,
    file: &[Element],
    checks: IngestOptions,
) -> keyaki::Result<Summary> {
    stored.runtime.block_on(async {
        let writer = stored.graph.writer(Some("ann".into()), Some(operation(id)));
        let mut ingest = Ingest::new(writer, checks).with_chunks_of(7);
        for element in file {
            ingest.push(Ok(element.clone())).await?;
        }
        ingest.finish().await
    })
}

/// With equal elements made one, and kept apart.
const BOTH: [fn() -> Json; 2] = [|| schema(true), || schema(false)];
const FOLDED: [fn() -> Json; 1] = [|| schema(true)];

/// What must hold on every engine.
pub const CASES: &[Case] = &[
    (&BOTH, a_file_that_is_sent_again_counts_once),
    (&FOLDED, a_broken_ingest_goes_on_where_it_was),
    (&FOLDED, other_elements_under_the_same_operation_are_refused),
    (&FOLDED, what_is_left_out_is_told),
    (&FOLDED, equal_elements_of_a_chunk_are_folded_before_they_are_written),
    (&BOTH, deleted_elements_are_gone_under_both_ends),
    (&FOLDED, each_chunk_leaves_a_change_record),
    (&BOTH, an_erased_vertex_is_gone_from_its_neighbours_too),
];

#[test]
fn chunks_count_once_on_every_engine() {
    everywhere(CASES);
}

fn aggregates(stored: &Stored) -> bool {
    stored.graph.schema().group("knows").unwrap().aggregates()
}

fn a_file_that_is_sent_again_counts_once(stored: &Stored) {
    let summary = send(stored, "op", &file(false), IngestOptions::default()).unwrap();
    assert_eq!((summary.accepted, summary.chunks, summary.replayed), (40, 6, 0));
    let once = stored.all();
    assert_eq!(once.len() == 40, !aggregates(stored));
    let again = send(stored, "op", &file(false), IngestOptions::default()).unwrap();
    assert_eq!((again.accepted, again.chunks, again.replayed), (40, 6, 6));
    assert_eq!(again.aggregated, summary.aggregated, "the first answer");
    assert_eq!(stored.all(), once);
    send(stored, "another", &file(false), IngestOptions::default()).unwrap();
    assert_ne!(stored.all(), once, "another operation counts again");
}

fn a_broken_ingest_goes_on_where_it_was(stored: &Stored) {
    let whole = Stored::on_memory(&schema(true), Package::ByteEntity, &[]).unwrap();
    send(&whole, "whole", &file(false), IngestOptions::default()).unwrap();
    // The connection breaks inside the fourth chunk: nothing of that one is written.
    stored.runtime.block_on(async {
        let writer = stored.graph.writer(None, Some(operation("op")));
        let mut ingest = Ingest::new(writer, IngestOptions::default()).with_chunks_of(7);
        for element in &file(false)[..25] {
            ingest.push(Ok(element.clone())).await.unwrap();
        }
        assert_eq!(ingest.summary().chunks, 3);
    });
    assert_ne!(stored.all(), whole.all());
    let summary = send(stored, "op", &file(false), IngestOptions::default()).unwrap();
    assert_eq!((summary.accepted, summary.replayed), (40, 3));
    assert_eq!(stored.all(), whole.all());
}

fn other_elements_under_the_same_operation_are_refused(stored: &Stored) {
    send(stored, "op", &file(false)[..5], IngestOptions::default()).unwrap();
    let refused = send(stored, "op", &file(false)[..6], IngestOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), Kind::Conflict);
}

fn what_is_left_out_is_told(stored: &Stored) {
    let skip = IngestOptions { skip_invalid: true, ..IngestOptions::default() };
    let summary = send(stored, "op", &file(true), skip).unwrap();
    assert_eq!((summary.accepted, summary.rejected), (40, 1));
    assert_eq!(summary.reasons[0].index, 40);
    assert!(summary.reasons[0].reason.contains("nobody"), "{:?}", summary.reasons);
    let refused = send(stored, "strict", &file(true), IngestOptions::default()).unwrap_err();
    assert_eq!(refused.context("index"), Some("40"));
}

fn equal_elements_of_a_chunk_are_folded_before_they_are_written(stored: &Stored) {
    let same = vec![edge("a", "b", 1), edge("a", "b", 2), edge("b", "a", 4)];
    let summary = send(stored, "op", &same, IngestOptions::default()).unwrap();
    assert_eq!((summary.accepted, summary.aggregated), (3, 1));
    let all = stored.all();
    assert_eq!(all.len(), 2);
    assert!(all[0].contains(":4") && all[1].contains(":3"), "{all:?}");
}

fn deleted_elements_are_gone_under_both_ends(stored: &Stored) {
    let edges = vec![edge("a", "b", 1), edge("a", "b", 2), edge("a", "c", 4)];
    send(stored, "op", &edges, IngestOptions::default()).unwrap();
    let gone = stored.graph.schema().adopt(edge("a", "b", 100)).unwrap();
    let writer = stored.graph.writer(None, Some(operation("delete")));
    stored.runtime.block_on(writer.delete(vec![gone])).unwrap();
    assert_eq!(stored.all().len(), 1);
    let seed = json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": "b"}]});
    assert_eq!(stored.ask(&seed).unwrap(), json!([]));
}

fn each_chunk_leaves_a_change_record(stored: &Stored) {
    send(stored, "op", &file(false), IngestOptions::default()).unwrap();
    send(stored, "op", &file(false), IngestOptions::default()).unwrap();
    let changes = stored.changes(6);
    assert_eq!(changes.len(), 6);
    assert_eq!(changes[0].after, json!({"elements": 7}));
    assert_eq!(changes[0].user.as_deref(), Some("ann"));
}

fn an_erased_vertex_is_gone_from_its_neighbours_too(stored: &Stored) {
    let edges = vec![
        edge("a", "b", 1),
        edge("b", "a", 2),
        edge("a", "a", 4),
        edge("c", "b", 8),
        edge("a", "b", 16),
    ];
    send(stored, "op", &edges, IngestOptions::default()).unwrap();
    let vertex = "a".into();
    let erase = || {
        let erased = stored.graph.erase(&vertex, Some("ann".into()));
        let (erased, tid) = stored.runtime.block_on(erased).unwrap();
        assert_eq!(tid.is_some(), erased > 0);
        erased
    };
    assert_eq!(erase(), if aggregates(stored) { 3 } else { 4 });
    assert_eq!(stored.all().len(), 1);
    let seed = json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": "b"}]});
    assert_eq!(stored.ask(&seed).unwrap().as_array().unwrap().len(), 1);
    assert_eq!(erase(), 0, "again, it changes nothing");
}
