//! Operations that the cases from Gaffer do not show, on one small graph.

use keyaki::bucket::graph::json::read_operation;
use keyaki::testing::graph::Package;
use serde_json::{Value as Json, json};

use super::{Asked, Graph};

fn graph() -> Graph {
    let schema = json!({
        "edges": {"knows": {
            "source": "v", "destination": "v", "directed": "b",
            "properties": {"day": "day", "count": "count"}, "groupBy": ["day"]
        }},
        "entities": {"person": {"vertex": "v", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "day": {"class": "Long", "aggregateFunction": {"class": "Min"}},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        }
    });
    let graph = Graph::new(&schema, Package::ByteEntity, &[]).unwrap();
    let edge = |from: &str, to: &str, day: i64, count: i64| {
        json!({"class": "Edge", "group": "knows", "source": from, "destination": to, "directed": true,
               "properties": {"day": {"Long": day}, "count": {"Long": count}}})
    };
    let person = |vertex: &str, count: i64| json!({"class": "Entity", "group": "person", "vertex": vertex, "properties": {"count": {"Long": count}}});
    let elements = json!([
        edge("a", "b", 1, 1),
        edge("a", "b", 1, 2),
        edge("a", "b", 2, 4),
        edge("b", "c", 1, 8),
        edge("c", "a", 1, 16),
        edge("b", "d", 1, 32),
        person("a", 1),
        person("b", 2),
        person("c", 3)
    ]);
    graph.add(&elements, &Json::Null).unwrap();
    graph
}

fn chain(operations: &[Json]) -> Json {
    json!({"class": "OperationChain", "operations": operations})
}

fn counts(answer: &Json) -> Vec<i64> {
    let count = |element: &Json| element["properties"]["count"]["java.lang.Long"].as_i64().unwrap();
    answer.as_array().unwrap().iter().map(count).collect()
}

fn all_edges() -> Json {
    json!({"class": "GetAllElements", "view": {"allEdges": true}})
}

fn by_count(reversed: bool) -> Json {
    json!([{"class": "uk.gov.gchq.gaffer.data.element.comparison.ElementPropertyComparator", "property": "count",
            "groups": ["knows", "person"], "reversed": reversed}])
}

#[test]
fn streams_are_counted_limited_sorted_and_reduced() {
    let graph = graph();
    let ask = |operations: &[Json]| graph.ask(&chain(operations)).unwrap();
    assert_eq!(ask(&[all_edges(), json!({"class": "Count"})]), json!([5]));
    assert_eq!(
        ask(&[all_edges(), json!({"class": "Limit", "resultLimit": 2})]).as_array().unwrap().len(),
        2
    );
    let sort = json!({"class": "Sort", "comparators": by_count(true), "resultLimit": 3});
    assert_eq!(counts(&ask(&[all_edges(), sort])), [32, 16, 8]);
    let max = json!({"class": "Max", "comparators": by_count(false)});
    assert_eq!(counts(&ask(&[all_edges(), max])), [32]);
    let min = json!({"class": "Min", "comparators": by_count(false)});
    assert_eq!(counts(&ask(&[all_edges(), min])), [3]);
    let extract = json!({"class": "Map", "functions": [{"class": "IterableFunction", "functions": [{"class": "ExtractProperty", "name": "count"}]}]});
    let reduce = json!({"class": "Reduce", "aggregateFunction": {"class": "Sum"}});
    assert_eq!(ask(&[all_edges(), extract.clone(), reduce]), json!([63]));
    assert_eq!(
        ask(&[all_edges(), extract, json!({"class": "Map", "function": {"class": "Size"}})]),
        json!([5])
    );
    let groups =
        ask(&[json!({"class": "GetAllElements"}), json!({"class": "CountGroups", "limit": 2})]);
    assert_eq!(groups[0]["limitHit"], json!(true));
}

#[test]
fn elements_are_filtered_transformed_and_aggregated_after_the_fact() {
    let graph = graph();
    let ask = |operations: &[Json]| graph.ask(&chain(operations)).unwrap();
    let more = json!({"predicates": [{"selection": ["count"], "predicate": {"class": "IsMoreThan", "value": {"Long": 7}}}]});
    let filter = json!({"class": "Filter", "edges": {"knows": more}});
    assert_eq!(counts(&ask(&[json!({"class": "GetAllElements"}), filter])).len(), 3);
    let global = json!({"class": "Filter", "globalElements": more});
    assert_eq!(counts(&ask(&[json!({"class": "GetAllElements"}), global])).len(), 3);
    let label = json!({"functions": [{"selection": ["SOURCE"], "function": {"class": "ToUpperCase"}, "projection": ["label"]}]});
    let transformed = ask(&[all_edges(), json!({"class": "Transform", "edges": {"knows": label}})]);
    assert_eq!(transformed[0]["properties"]["label"], json!("A"));
    let aggregate = json!({"class": "Aggregate", "edges": {"knows": {"groupBy": []}}});
    let mut sums = counts(&ask(&[all_edges(), aggregate]));
    sums.sort_unstable();
    assert_eq!(sums, [7, 8, 16, 32]);
}

#[test]
fn ids_rows_and_walks_are_made_of_elements() {
    let graph = graph();
    let ask = |operations: &[Json]| graph.ask(&chain(operations)).unwrap();
    let adjacent = |input: Json| json!({"class": "GetAdjacentIds", "input": input, "includeIncomingOutGoing": "OUTGOING"});
    let hop = json!({"class": "GetAdjacentIds", "includeIncomingOutGoing": "OUTGOING"});
    let two = ask(&[
        adjacent(json!(["a"])),
        json!({"class": "ToSet"}),
        hop,
        json!({"class": "ToVertices"}),
        json!({"class": "ToSet"}),
    ]);
    assert_eq!(two, json!(["c", "d"]));
    let get = json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": "c"}], "view": {"allEdges": true}});
    let opposite =
        json!({"class": "ToVertices", "edgeVertices": "BOTH", "useMatchedVertex": "OPPOSITE"});
    let mut vertices = ask(&[get, opposite]);
    vertices.as_array_mut().unwrap().sort_by_key(ToString::to_string);
    assert_eq!(vertices, json!(["a", "b"]));
    let people = json!({"class": "GetAllElements", "view": {"entities": {"person": {}}}});
    let csv = json!({"class": "ToCsv", "elementGenerator": {"class": "CsvGenerator", "fields": {"VERTEX": "who", "count": "how many"}}});
    assert_eq!(ask(&[people.clone(), csv]), json!(["who,how many", "a,1", "b,2", "c,3"]));
    let text = br#"{"class": "ToCsv", "elementGenerator": {"fields": {"count": "n", "VERTEX": "v", "GROUP": "g"}}}"#;
    let ordered = read_operation(text).unwrap();
    assert_eq!(ask(&[people.clone(), ordered])[1], json!("1,a,person"));
    let map = json!({"class": "ToMap", "elementGenerator": {"class": "MapGenerator", "fields": {"VERTEX": "who"}}});
    assert_eq!(ask(&[people, map])[0], json!({"who": "a"}));

    let edges = json!({"class": "GetElements", "view": {"edges": {"knows": {"groupBy": []}}}, "includeIncomingOutGoing": "OUTGOING"});
    let walks = json!({"class": "GetWalks", "input": ["a"], "operations": [edges, {"operations": [edges]}]});
    let walks = graph.ask(&walks).unwrap();
    let ends: Vec<&str> = walks
        .as_array()
        .unwrap()
        .iter()
        .map(|walk| walk["edges"][1][0]["destination"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["c", "d"]);
    assert_eq!(walks[0]["entities"], json!([{"a": []}, {"b": []}, {"c": []}]));
}

#[test]
fn chains_branch_repeat_and_join() {
    let graph = graph();
    let ask = |operations: &[Json]| graph.ask(&chain(operations)).unwrap();
    let count_is = |bound: i64| json!({"predicate": {"class": "IsMoreThan", "value": {"Long": bound}}, "transform": {"class": "Count"}});
    for (bound, length) in [(4, 1), (5, 5)] {
        let branch = json!({"class": "If", "conditional": count_is(bound), "then": {"class": "Limit", "resultLimit": 1}});
        assert_eq!(ask(&[all_edges(), branch]).as_array().unwrap().len(), length);
    }
    let hop = json!({"class": "GetAdjacentIds", "includeIncomingOutGoing": "OUTGOING"});
    let repeat = json!({"class": "While", "maxRepeats": 3, "operation": {"operations": [hop, {"class": "ToSet"}]}, "input": ["a"]});
    let mut reached = ask(&[repeat, json!({"class": "ToVertices"})]);
    reached.as_array_mut().unwrap().sort_by_key(ToString::to_string);
    assert_eq!(reached, json!(["a"]));
    let each = json!({"class": "ForEach", "input": [["a"], ["b"]], "operation": {"operations": [hop, {"class": "Count"}]}});
    assert_eq!(ask(&[each]), json!([2, 2]));
    let vertex = json!({"class": "ExtractId", "id": "VERTEX"});
    let source = json!({"class": "ExtractId", "id": "SOURCE"});
    let join = json!({"class": "Join", "operation": all_edges(), "joinType": "INNER", "matchKey": "LEFT", "flatten": true,
        "matchMethod": {"class": "KeyFunctionMatch", "firstKeyFunction": vertex, "secondKeyFunction": source}});
    let people = json!({"class": "GetAllElements", "view": {"allEntities": true}});
    assert_eq!(ask(&[people, join]).as_array().unwrap().len(), 5);
    let set = json!({"class": "SetVariable", "variableName": "x", "input": 5});
    assert_eq!(ask(&[set, json!({"class": "GetVariable", "variableName": "x"})]), json!([5]));
}

#[test]
fn deleted_elements_are_gone() {
    let graph = graph();
    let gone = json!({"class": "Edge", "group": "knows", "source": "a", "destination": "b", "directed": true,
                      "properties": {"day": {"Long": 1}}});
    graph.ask(&json!({"class": "DeleteElements", "input": [gone]})).unwrap();
    assert_eq!(graph.ask(&chain(&[all_edges(), json!({"class": "Count"})])).unwrap(), json!([4]));
}

#[test]
fn what_is_unknown_or_costs_too_much_is_refused_by_name() {
    let mut graph = graph();
    let unknown = graph.ask(&json!({"class": "com.example.Nope"})).unwrap_err();
    assert_eq!(unknown.context("class"), Some("com.example.Nope"));
    assert_eq!(unknown.kind(), keyaki::Kind::Invalid);
    let deep = (0..40).fold(json!({"class": "Count"}), |inner, _| chain(&[inner]));
    assert!(graph.ask(&deep).is_err());
    graph.limits.results = Some(4);
    assert!(graph.ask(&all_edges()).unwrap_err().to_string().contains("results"));
    graph.limits.results = None;
    graph.limits.operations = Some(2);
    let three = chain(&[all_edges(), json!({"class": "Count"})]);
    assert!(graph.ask(&three).unwrap_err().to_string().contains("operations"));
    graph.limits.operations = None;
    graph.limits.scanned = Some(5);
    assert!(graph.ask(&all_edges()).unwrap_err().to_string().contains("scanned"));
}

/// Each of these was read from Gaffer's handlers and validators.
#[test]
fn absent_and_unfit_input_is_answered_as_gaffer_answers_it() {
    let graph = graph();
    let discard = || json!({"class": "DiscardOutput"});
    let after_nothing = |next: Json| graph.ask(&chain(&[all_edges(), discard(), next]));
    for quiet in [
        json!({"class": "Limit", "resultLimit": 1}),
        json!({"class": "ToVertices"}),
        json!({"class": "ToEntitySeeds"}),
        json!({"class": "ToSet"}),
        json!({"class": "Validate"}),
        json!({"class": "Sort", "comparators": by_count(false)}),
        json!({"class": "ToCsv", "csvGenerator": {"fields": {"GROUP": "g"}}}),
        json!({"class": "GetWalks", "operations": [{"class": "GetElements"}]}),
    ] {
        assert_eq!(after_nothing(quiet.clone()).unwrap(), Json::Null, "{quiet}");
    }
    for loud in [
        json!({"class": "Count"}),
        json!({"class": "ToSingletonList"}),
        json!({"class": "Map", "functions": [{"class": "Identity"}]}),
        json!({"class": "Reduce", "aggregateFunction": {"class": "Sum"}}),
        json!({"class": "Filter"}),
        json!({"class": "ForEach", "operation": {"class": "Count"}}),
        json!({"class": "SetVariable", "variableName": "x"}),
    ] {
        assert!(after_nothing(loud.clone()).is_err(), "{loud}");
    }
    let refused = |operations: &[Json]| graph.ask(&chain(operations)).is_err();
    let limited = json!({"class": "Limit", "resultLimit": 1, "truncate": false});
    assert!(refused(&[all_edges(), all_edges()]), "which takes no input");
    assert!(refused(&[all_edges(), json!({"class": "ToStream"}), json!({"class": "Count"})]));
    assert!(refused(&[json!({"class": "Count", "input": 5})]), "a list is wanted");
    assert!(refused(&[
        json!({"class": "ForEach", "input": ["a"], "operation": {"class": "Count"}})
    ]));
    assert!(!refused(&[all_edges(), limited, discard()]), "what is discarded is not read");
    let sort = json!({"class": "Sort", "comparators": by_count(false), "resultLimit": 1});
    assert_eq!(counts(&graph.ask(&chain(&[all_edges(), sort])).unwrap()), [32], "the greatest");
    let elsewhere =
        json!([{"class": "ElementPropertyComparator", "property": "count", "groups": ["nope"]}]);
    assert!(refused(&[all_edges(), json!({"class": "Max", "comparators": elsewhere})]));
    let join = |more: Json| {
        let mut join = json!({"class": "Join", "input": [], "operation": all_edges(), "matchMethod": {"class": "ElementMatch"}});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        refused(&[join])
    };
    assert!(join(json!({})) && join(json!({"joinType": "FULL"})));
    assert!(
        !join(json!({"joinType": "FULL", "matchKey": "LEFT"}))
            && !join(json!({"joinType": "INNER"}))
    );
    let entities = || json!({"class": "GetElements", "view": {"allEntities": true}});
    let walk =
        |hops: Json| refused(&[json!({"class": "GetWalks", "input": ["a"], "operations": hops})]);
    assert!(walk(json!([entities()])) && walk(json!([entities(), {"class": "GetElements"}])));
    assert!(walk(json!([{"class": "GetElements", "input": ["a"]}])));
    assert!(!walk(json!([{"class": "GetElements"}, entities()])));
    let repeat = json!({"class": "While", "input": 1, "condition": true, "maxRepeats": 3,
        "conditional": {"predicate": {"class": "IsLessThan", "value": 3}},
        "operation": {"class": "Map", "functions": [{"class": "Increment", "increment": 1}]}});
    assert_eq!(graph.ask(&repeat).unwrap(), json!([3]), "the predicate goes first");
}

#[test]
fn traits_are_those_that_the_schema_uses_or_all() {
    let graph = graph();
    let traits = |current: bool| {
        let asked = json!({"class": "GetTraits", "currentTraits": current});
        graph.ask(&asked).unwrap()[0].as_array().unwrap().len()
    };
    assert_eq!((traits(false), traits(true)), (10, 8), "no labels and no validators are in use");
    let has = |name: &str| graph.ask(&json!({"class": "HasTrait", "trait": name})).unwrap();
    assert_eq!(has("QUERY_AGGREGATION"), json!([true]));
    assert_eq!(has("VISIBILITY"), json!([false]));
}

#[test]
fn an_element_without_a_group_is_refused_whoever_looks_at_it() {
    let graph = graph();
    let adds = |group: Json, validate: bool| {
        let element = json!({"class": "Entity", "group": group, "vertex": "z", "properties": {}});
        let options = json!({"validate": validate, "skipInvalidElements": !validate});
        graph.add(&json!([element]), &options)
    };
    for validate in [true, false] {
        assert!(adds(Json::Null, validate).is_err(), "{validate}");
    }
    assert!(adds(json!("nope"), false).is_ok(), "of a group that nobody knows, it is forgotten");
    let shown = json!({"class": "ToList", "input": [{"class": "Entity", "vertex": "z"}]});
    assert!(graph.ask(&shown).unwrap()[0].get("group").is_none());
}

/// Sketches of neighbours, made on the way in and folded.
#[test]
fn sketches_are_made_added_and_asked_about() {
    let schema = json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b"}},
        "entities": {"Cardinality": {"vertex": "v", "properties": {"cardinality": "hll"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "hll": {"class": "HllSketch", "aggregateFunction": {"class": "HllSketchAggregator"}}
        }
    });
    let graph = Graph::new(&schema, Package::ByteEntity, &[]).unwrap();
    let edge = |to: &str| json!({"class": "Edge", "group": "knows", "source": "a", "destination": to, "directed": true});
    let generate = json!({
        "class": "GenerateElements", "input": [edge("b"), edge("c"), edge("c")],
        "elementGenerator": {"class": "HllSketchEntityGenerator"}
    });
    graph.ask(&chain(&[generate, json!({"class": "AddElements"})])).unwrap();
    let fewer = |than: i64| {
        let filter = json!([{"selection": ["cardinality"], "predicate": {"class": "HllSketchIsLessThan", "value": than}}]);
        let view = json!({"entities": {"Cardinality": {"postAggregationFilterFunctions": filter}}});
        let asked = json!({"class": "GetAllElements", "view": view});
        let mut vertices: Vec<String> = graph
            .ask(&asked)
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|entity| entity["vertex"].as_str().unwrap().to_owned())
            .collect();
        vertices.sort();
        vertices
    };
    assert_eq!(fewer(2), ["b", "c"]);
    assert_eq!(fewer(3), ["a", "b", "c"]);
    let mut wrong = schema.clone();
    wrong["types"]["hll"]["class"] = json!("org.apache.datasketches.theta.Sketch");
    assert!(Graph::new(&wrong, Package::ByteEntity, &[]).is_err(), "an aggregator of others");
}
