use serde_json::{Value as Json, json};

use super::*;
use crate::bucket::graph::element::Element;

fn schema() -> Schema {
    let json = json!({
        "edges": {"call": {
            "source": "v", "destination": "v", "directed": "b",
            "properties": {"day": "day", "kind": "text", "count": "count"}, "groupBy": ["day", "kind"]
        }},
        "entities": {"person": {"vertex": "v", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "day": {"class": "Long", "aggregateFunction": {"class": "Min"}},
            "text": {"class": "String", "aggregateFunction": {"class": "StringConcat"}},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        }
    });
    Schema::from_json(&json).unwrap()
}

fn call(schema: &Schema, day: i64, kind: &str, count: i64) -> Element {
    let long = |number: i64| json!({"java.lang.Long": number});
    let json = json!({
        "group": "call", "source": "a", "destination": "b", "directed": true,
        "properties": {"day": long(day), "kind": kind, "count": long(count)}
    });
    schema.element_from_json(&json).unwrap()
}

/// What is left of three calls, as `day kind count label`.
fn seen(view: Json) -> Result<Vec<String>> {
    let schema = schema();
    let view = View::from_json(&view, &schema)?;
    let mut pipeline = Pipeline::new(Arc::new(view), 0);
    let mut out = Vec::new();
    for (day, kind, count) in [(1, "x", 1), (1, "y", 2), (2, "x", 4)] {
        out.extend(pipeline.batch(vec![call(&schema, day, kind, count)])?);
    }
    pipeline.finish(&mut out)?;
    let shown = |element: &Element| {
        let names = ["day", "kind", "count", "label"];
        names.map(|name| element.property(name).to_string()).join(" ").replace(" null", "")
    };
    Ok(out.iter().map(shown).collect())
}

#[test]
fn a_view_filters_folds_transforms_and_drops() {
    let call = |view: Json| seen(json!({"edges": {"call": view}})).unwrap();
    let more_than = |name: &str, bound: i64| json!([{"selection": [name], "predicate": {"class": "IsMoreThan", "value": {"Long": bound}}}]);
    assert_eq!(call(json!({})), ["1 x 1", "1 y 2", "2 x 4"]);
    assert_eq!(call(json!({"groupBy": ["day"]})), ["1 x,y 3", "2 x 4"]);
    assert_eq!(call(json!({"groupBy": []})), ["1 x,y,x 7"]);
    assert_eq!(
        call(json!({"groupBy": [], "preAggregationFilterFunctions": more_than("count", 1)})),
        ["1 y,x 6"]
    );
    assert_eq!(
        call(json!({"groupBy": ["day"], "postAggregationFilterFunctions": more_than("count", 3)})),
        ["2 x 4"]
    );
    let max = json!({"operators": [{"selection": ["count"], "binaryOperator": {"class": "Max"}}]});
    assert_eq!(call(json!({"groupBy": ["day"], "aggregator": max})), ["1 x,y 2", "2 x 4"]);
    let transformed = json!({
        "transientProperties": {"label": "java.lang.String"},
        "transformFunctions": [{"selection": ["SOURCE", "count"], "function": {"class": "Concat", "separator": "-"}, "projection": ["label"]}],
        "postTransformFilterFunctions": [{"selection": ["label"], "predicate": {"class": "IsIn", "values": ["a-1", "a-4"]}}],
        "properties": ["day", "label"]
    });
    assert_eq!(call(transformed), ["1 a-1", "2 a-4"]);
    assert_eq!(call(json!({"excludeProperties": ["kind", "day"]})), ["null 1", "null 2", "null 4"]);
    let global = json!({"edges": {"call": {}}, "globalElements": [{"groupBy": []}]});
    assert_eq!(seen(global).unwrap(), ["1 x,y,x 7"]);
    assert_eq!(seen(json!({"allEntities": true})).unwrap(), Vec::<String>::new());
    assert_eq!(seen(json!({"allEdges": true})).unwrap().len(), 3);
    assert_eq!(seen(Json::Null).unwrap().len(), 3);
}

#[test]
fn a_view_that_does_not_fit_the_schema_is_refused() {
    let wrong = |view: Json| seen(view).expect_err("a wrong view").to_string();
    assert!(wrong(json!({"edges": {"nope": {}}})).contains("nope"));
    assert!(wrong(json!({"entities": {"call": {}}})).contains("call"));
    assert!(wrong(json!({"edges": {"call": {"groupBy": ["kind"]}}})).contains("same order"));
    assert!(wrong(json!({"edges": {"call": {"groupBy": ["count"]}}})).contains("not all included"));
    assert!(
        wrong(json!({"edges": {"call": {"transientProperties": {"count": "Long"}}}}))
            .contains("transient")
    );
    let many = json!({"globalEdges": [{"groups": ["nope"]}], "edges": {"call": {}}});
    assert!(wrong(many).contains("nope"));
    let twice = json!({"globalEdges": [{"properties": ["day"]}], "edges": {"call": {"excludeProperties": ["kind"]}}});
    assert!(wrong(twice).contains("both"), "of which one is global");
    let filter =
        json!([{"selection": ["count"], "predicate": {"class": "IsMoreThan", "value": 5}}]);
    assert!(
        wrong(json!({"edges": {"call": {"postAggregationFilterFunctions": filter}}}))
            .contains("compatible")
    );
    assert!(
        wrong(json!({"edges": {"call": {"properties": ["day"], "excludeProperties": ["count"]}}}))
            .contains("both")
    );
}

#[test]
fn views_merge_as_gaffers_do() {
    let count = |bound: i64| json!([{"selection": ["count"], "predicate": {"class": "IsMoreThan", "value": {"Long": bound}}}]);
    let more = |bound| json!({"preAggregationFilterFunctions": count(bound)});
    let seen = |view: Json| seen(view).unwrap();
    assert_eq!(seen(json!({"globalEdges": [more(1)]})), ["1 y 2", "2 x 4"], "edges alone");
    assert_eq!(seen(json!({"globalEntities": [more(1)]})), Vec::<String>::new(), "entities alone");
    assert_eq!(seen(json!({"globalElements": [more(1)], "edges": {"call": more(2)}})), ["2 x 4"]);
    // What is said beside `allEdges` is lost on the way through Gaffer's graph.
    assert_eq!(seen(json!({"allEdges": true, "edges": {"call": more(2)}})).len(), 3);
    assert_eq!(seen(json!({"allEdges": true, "globalElements": [more(2)]})).len(), 3);
    assert_eq!(seen(json!({"edges": {"call": {"summarise": true}}})).len(), 3, "unknown fields");
    let max = json!({"operators": [{"selection": ["count"], "binaryOperator": {"class": "Max"}}]});
    let folded = json!({"groupBy": [], "aggregator": max});
    assert_eq!(seen(json!({"edges": {"call": folded}})), ["1 x,y,x 4"]);
    let lost = json!({"edges": {"call": folded}, "globalElements": [{}]});
    assert_eq!(seen(lost), ["1 x,y,x 7"], "an aggregator does not outlive a merge");
    let schema = schema();
    let parts = [json!({"edges": {"call": more(1)}}), json!({"entities": {"person": {}}})];
    let view = View::merged(&parts, &schema).unwrap();
    assert!(view.has_entities() && view.has_edges());
}
