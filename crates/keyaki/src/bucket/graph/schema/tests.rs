use serde_json::{Value as Json, json};

use super::*;
use crate::bucket::graph::value::{Class, KeyReader, encode_part, encode_vertex};

fn schema() -> Json {
    json!({
        "edges": {"knows": {
            "source": "v", "destination": "v", "directed": "either",
            "properties": {"startDate": "date", "count": "count", "visibility": "vis", "note": "text"},
            "groupBy": ["startDate"]
        }},
        "entities": {"person": {"vertex": "v", "properties": {"count": "count"}, "groupBy": []}},
        "types": {
            "v": {"class": "java.lang.String"},
            "either": {"class": "java.lang.Boolean"},
            "date": {"class": "Long", "aggregateFunction": {"class": "Min"}},
            "count": {"class": "java.lang.Long", "aggregateFunction": {"class": "uk.gov.gchq.koryphe.impl.binaryoperator.Sum"},
                      "validateFunctions": [{"class": "IsMoreThan", "value": {"java.lang.Long": 0}}]},
            "text": {"class": "java.lang.String", "aggregateFunction": {"class": "StringConcat"}},
            "vis": {"class": "java.lang.String", "aggregateFunction": {"class": "VisibilityAnd"}}
        },
        "visibilityProperty": "visibility"
    })
}

/// What is wrong with the schema once `change` has been at it.
fn reason(change: impl FnOnce(&mut Json)) -> String {
    let mut json = schema();
    change(&mut json);
    Schema::from_json(&json).expect_err("a schema that Gaffer refuses").to_string()
}

fn edge(schema: &Schema, properties: Json) -> Element {
    let json = json!({
        "class": "uk.gov.gchq.gaffer.data.element.Edge", "group": "knows",
        "source": "b", "destination": "a", "directed": false, "properties": properties
    });
    let mut element = schema.element_from_json(&json).unwrap();
    schema.group("knows").unwrap().fill(&mut element.properties);
    element
}

#[test]
fn elements_are_read_folded_packed_and_checked() {
    let schema = Schema::from_json(&schema()).unwrap();
    let group = schema.group("knows").unwrap();
    let long = |number: i64| json!({"java.lang.Long": number});
    let mut one = edge(&schema, json!({"count": long(1), "startDate": long(7), "note": "x"}));
    let mut two = edge(&schema, json!({"count": long(2), "startDate": long(7)}));
    assert!(group.same_key(&one, &two));
    group.fold(&mut one.properties, &mut two.properties).unwrap();
    assert_eq!(one.property("count"), &Value::Long(3));
    assert_eq!(one.property("note"), &Value::from("x,"), "an absent string is read back as empty");
    assert_eq!(one.property("visibility"), &Value::from(""));
    let mut json = Vec::new();
    one.write_json(&mut json);
    let shown: Json = serde_json::from_slice(&json).unwrap();
    assert_eq!((&shown["source"], &shown["destination"]), (&json!("a"), &json!("b")));

    let mut bytes = Vec::new();
    group.encode_properties(&one.properties, &mut bytes).unwrap();
    assert_eq!(bytes, [2, 0b11, 6, 2, b'x', b','], "two slots, both filled: count 3, note \"x,\"");
    let mut read = one.clone();
    group.stored().iter().for_each(|slot| read.properties[*slot] = Value::Null);
    group.decode_properties(&bytes, &mut read.properties).unwrap();
    assert_eq!(read, one);

    assert!(group.validate(&one, 0).is_ok());
    let none = edge(&schema, json!({"count": long(0), "startDate": long(7)}));
    assert!(group.validate(&none, 0).is_err(), "a validate function of the type");
    let wrong = edge(&schema, json!({"count": 1, "startDate": long(7)}));
    assert!(group.validate(&wrong, 0).is_err(), "an Integer is no Long");
    let bare = json!({"group": "person", "vertex": "a"});
    let bare = schema.element_from_json(&bare).unwrap();
    assert!(schema.admit(bare.clone(), Checks::At(0)).is_err(), "validated before it is filled");
    assert!(schema.admit(bare, Checks::None).is_ok());
    let unknown = json!({"group": "nope", "vertex": "a"});
    assert!(schema.element_from_json(&unknown).unwrap_err().to_string().contains("nope"));
}

#[test]
fn a_schema_is_refused_for_gaffers_reasons() {
    let knows = |json: &mut Json, field: &str, value: Json| json["edges"]["knows"][field] = value;
    assert!(
        reason(|s| s["entities"]["knows"] = s["entities"]["person"].clone()).contains("shared")
    );
    assert!(reason(|s| s["types"]["count"] = json!({"class": "Long"})).contains("No aggregator"));
    assert!(reason(|s| knows(s, "source", Json::Null)).contains("source type is not defined"));
    assert!(reason(|s| knows(s, "groupBy", json!(["nope"]))).contains("groupBy"));
    assert!(reason(|s| knows(s, "aggregate", json!(false))).contains("aggregation disabled"));
    assert!(reason(|s| knows(s, "typo", json!(1))).contains("typo"));
    assert!(
        reason(|s| s["types"]["v"]["class"] = json!("java.lang.Nope")).contains("java.lang.Nope")
    );
    assert!(
        reason(|s| s["types"]["date"]["aggregateFunction"]["class"] = json!("a.b.Nope"))
            .contains("a.b.Nope")
    );
    assert!(
        reason(|s| s["types"]["text"]["aggregateFunction"]["class"] = json!("Sum"))
            .contains("can't take")
    );
    let selects = json!([{"selection": ["SOURCE"], "binaryOperator": {"class": "Max"}}]);
    assert!(reason(|s| knows(s, "aggregateFunctions", selects)).contains("Identifiers"));
    let many =
        |class: &str| json!([{"selection": ["count", "note"], "binaryOperator": {"class": class}}]);
    assert!(reason(|s| knows(s, "aggregateFunctions", many("Sum"))).contains("one property"));
    let mut first = schema();
    knows(&mut first, "aggregateFunctions", many("First"));
    assert!(Schema::from_json(&first).is_ok(), "the first of several is the first of each");
    let timed = |s: &mut Json| s["config"] = json!({"timestampProperty": "count"});
    assert!(reason(timed).contains("must be Max"));
    first["timestampProperty"] = json!("count");
    assert!(Schema::from_json(&first).is_ok(), "it is asked for in config only");
    let wrong = json!([{"class": "IsMoreThan", "value": 5}]);
    assert!(
        reason(|s| s["types"]["count"]["validateFunctions"] = wrong).contains("not compatible")
    );
}

#[test]
fn parts_are_merged_and_parents_inherited() {
    let mut whole = schema();
    let types = whole["types"].take();
    whole.as_object_mut().unwrap().remove("types");
    whole["edges"]["worksWith"] =
        json!({"parents": ["knows"], "properties": {"since": "date"}, "groupBy": ["since"]});
    let merged = Schema::from_json(&json!([whole, {"types": types}])).unwrap();
    let child = merged.group("worksWith").unwrap();
    assert!(child.shape().slot("count").is_some() && child.shape().slot("since").is_some());
    assert_eq!(child.group_by().len(), 1);
    let other = json!({"types": {"v": {"class": "java.lang.Long"}}});
    assert!(Schema::from_json(&json!([schema(), other])).is_err());
    let own = json!({"entities": {"a": {"vertex": "v", "parents": ["b"]}, "b": {"vertex": "v", "parents": ["a"]}}, "types": {"v": {"class": "String"}}});
    assert!(Schema::from_json(&own).unwrap_err().to_string().contains("ancestor"));
}

#[test]
fn a_schema_may_grow_but_not_turn_around() {
    let first = Schema::from_json(&schema()).unwrap();
    let mut grown = schema();
    grown["edges"]["knows"]["properties"]["aaa"] = json!("count");
    grown["entities"]["aGroup"] = json!({"vertex": "v"});
    let second = first.changed(&grown).unwrap();
    let (before, after) = (first.group("knows").unwrap(), second.group("knows").unwrap());
    assert_eq!(before.id(), after.id());
    assert_eq!(before.shape().slot("count"), after.shape().slot("count"));
    assert_eq!(after.shape().slot("aaa"), Some(4), "new properties come last");
    let stored = Layout::from_json(&second.layout().to_json()).unwrap();
    assert_eq!(Schema::with_layout(&grown, stored).unwrap().layout(), second.layout());

    let element = edge(&first, json!({"count": {"java.lang.Long": 5}}));
    let mut bytes = Vec::new();
    before.encode_properties(&element.properties, &mut bytes).unwrap();
    let mut read = vec![Value::Null; 5];
    after.decode_properties(&bytes, &mut read).unwrap();
    assert_eq!(read[after.shape().slot("count").unwrap()], Value::Long(5));

    for (path, value) in [
        ("/edges/knows/groupBy", json!([])),
        ("/types/count/class", json!("Integer")),
        ("/types/v/class", json!("Long")),
        ("/entities", json!({})),
    ] {
        let mut next = schema();
        *next.pointer_mut(path).unwrap() = value;
        next["types"]["count"]["validateFunctions"] = json!([]);
        assert!(first.changed(&next).is_err(), "{path}");
    }
}

#[test]
fn vertices_and_parts_have_these_bytes() {
    let vertex = |value: &Value, class| {
        let mut bytes = Vec::new();
        encode_vertex(value, VertexEncoding::Plain(class), &mut bytes).unwrap();
        assert_eq!(KeyReader::new(&bytes).vertex(VertexEncoding::Plain(class)).unwrap(), *value);
        bytes
    };
    assert_eq!(vertex(&"ab".into(), Class::String), b"ab");
    assert_eq!(vertex(&Value::Long(1), Class::Long), [0x80, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(vertex(&Value::Long(-1), Class::Long), [0x7f, 255, 255, 255, 255, 255, 255, 255]);
    let typed = Value::TypeValue(Box::new(["t".into(), "v".into()]));
    assert_eq!(vertex(&typed, Class::TypeValue), b"t\0v\0");
    let part = |value: &Value, class| {
        let mut bytes = Vec::new();
        encode_part(value, class, &mut bytes).unwrap();
        let mut reader = KeyReader::new(&bytes);
        let mut read = Value::Null;
        reader.part(class, &mut read).unwrap();
        assert_eq!(read, *value);
        assert!(reader.rest().is_empty());
        bytes
    };
    assert_eq!(part(&Value::Null, Class::Long), [0]);
    assert_eq!(part(&Value::Integer(3), Class::Integer), [1, 0x80, 0, 0, 3]);
    assert_eq!(part(&"a\0".into(), Class::String), [1, b'a', 1, 1, 0]);
    assert_eq!(part(&Value::Integer(3), Class::Object), [1, 4, 0x80, 1, 1, 1, 1, 3, 0]);
}
