use serde_json::{Value as Json, json};

use super::*;

fn apply(function: Json, input: &[Json]) -> Json {
    let input = input.iter().map(|json| Value::from_json(json).unwrap()).collect();
    let output = Function::from_json(&function).unwrap().apply(input, 1000).unwrap();
    output.iter().map(Value::to_json).collect()
}

#[test]
fn functions_do_as_koryphes_do() {
    let long = |number: i64| json!({"java.lang.Long": number});
    for (function, input, output) in [
        (json!({"class": "Concat", "separator": "|"}), vec![json!("a"), long(1)], json!(["a|1"])),
        (json!({"class": "Divide"}), vec![json!(7), json!(2)], json!([3, 1])),
        (json!({"class": "DivideBy", "by": 3}), vec![json!(7)], json!([2, 1])),
        (json!({"class": "MultiplyBy", "by": 3}), vec![json!(7)], json!([21])),
        (json!({"class": "MultiplyLongBy", "by": 3}), vec![long(7)], json!([long(21)])),
        (
            json!({"class": "Increment", "increment": {"java.lang.Long": 1}}),
            vec![json!(7)],
            json!([long(8)]),
        ),
        (
            json!({"class": "TupleAdaptedFunction", "selection": [0], "function": {"class": "ToUpperCase"}, "projection": [1]}),
            vec![json!({"ArrayList": ["a"]})],
            json!([{"java.util.ArrayList": ["a", "A"]}]),
        ),
        (json!({"class": "ToLong"}), vec![json!("7")], json!([long(7)])),
        (json!({"class": "ToString"}), vec![long(7)], json!(["7"])),
        (
            json!({"class": "uk.gov.gchq.koryphe.impl.function.Size"}),
            vec![json!({"TreeSet": ["a", "b"]})],
            json!([2]),
        ),
        (json!({"class": "Length"}), vec![json!("abc")], json!([3])),
        (json!({"class": "FirstItem"}), vec![json!({"ArrayList": ["a", "b"]})], json!(["a"])),
        (json!({"class": "Longest"}), vec![json!("abc"), json!("de")], json!(["abc"])),
        (
            json!({"class": "StringReplace", "searchString": "a", "replacement": "b"}),
            vec![json!("aXa")],
            json!(["bXb"]),
        ),
        (
            json!({"class": "StringRegexReplace", "regex": "(a)(b)", "replacement": "$2x$1"}),
            vec![json!("ab!")],
            json!(["bxa!"]),
        ),
        (
            json!({"class": "StringSplit", "delimiter": ","}),
            vec![json!("a,,b")],
            json!([{"java.util.Arrays$ArrayList": ["a", "b"]}]),
        ),
        (
            json!({"class": "StringTruncate", "length": 2, "ellipses": true}),
            vec![json!("abc")],
            json!(["ab..."]),
        ),
        (json!({"class": "ToUpperCase"}), vec![json!("abc")], json!(["ABC"])),
        (
            json!({"class": "ParseDate"}),
            vec![json!("1970-01-02")],
            json!([{"java.util.Date": 86_400_000}]),
        ),
        (
            json!({"class": "ParseTime", "timeUnit": "SECOND"}),
            vec![json!("1970-01-02")],
            json!([long(86_400)]),
        ),
        (json!({"class": "CurrentDate"}), vec![json!("x")], json!([{"java.util.Date": 1000}])),
        (
            json!({"class": "ExtractValue", "key": "k"}),
            vec![json!({"HashMap": {"k": 5}})],
            json!([5]),
        ),
        (
            json!({"class": "FunctionChain", "functions": [{"class": "ToString"}, {"class": "StringAppend", "suffix": "!"}]}),
            vec![json!(1)],
            json!(["1!"]),
        ),
        (
            json!({"class": "If", "predicate": {"class": "IsMoreThan", "value": 3}, "then": {"class": "SetValue", "value": "big"}}),
            vec![json!(5)],
            json!(["big"]),
        ),
        (
            json!({"class": "If", "predicate": {"class": "IsMoreThan", "value": 3}, "then": {"class": "SetValue", "value": "big"}}),
            vec![json!(2)],
            json!([2]),
        ),
        (
            json!({"class": "ToEntityId"}),
            vec![json!("a")],
            json!([{"uk.gov.gchq.gaffer.operation.data.EntitySeed": {"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}}]),
        ),
        (
            json!({"class": "ToFreqMap"}),
            vec![json!("a")],
            json!([{"uk.gov.gchq.gaffer.types.FreqMap": {"a": 1}}]),
        ),
    ] {
        assert_eq!(apply(function.clone(), &input), output, "{function}");
    }
    let unknown = Function::from_json(&json!({"class": "com.example.Nope"})).unwrap_err();
    assert_eq!(unknown.context("class"), Some("com.example.Nope"));
    let wrong = Function::from_json(&json!({"class": "MultiplyBy", "by": 2})).unwrap();
    assert!(wrong.apply(vec!["x".into()], 0).is_err());
}

#[test]
fn typed_values_and_counts_are_made_of_their_parts() {
    let apply = |function: Json, input: Vec<Value>| {
        Function::from_json(&function).unwrap().apply(input, 0).unwrap().remove(0)
    };
    let phone = || Value::TypeValue(Box::new(["phone".into(), "5".into()]));
    assert_eq!(
        apply(json!({"class": "ToTypeValue", "type": "phone"}), vec![Value::Long(5)]),
        phone()
    );
    let strings = json!({"class": "StringsToTypeValue"});
    assert_eq!(apply(strings, vec!["phone".into(), "5".into()]), phone());
    let inner = json!({"class": "ToTypeSubTypeValue", "type": "a", "subType": "b"});
    let made = Value::TypeSubTypeValue(Box::new(["a".into(), "b".into(), "".into()]));
    assert_eq!(apply(inner, vec![Value::Null]), made);
    let counts = Value::from_json(&json!({"FreqMap": {"k": 5}})).unwrap();
    let extract = |key: &str| json!({"class": "FreqMapExtractor", "key": key});
    assert_eq!(apply(extract("k"), vec![counts.clone()]), Value::Long(5));
    assert_eq!(apply(extract("x"), vec![counts]), Value::Null);
}

#[test]
fn tables_become_elements() {
    let apply = |function: Json, input: Value| {
        Function::from_json(&function).unwrap().apply_one(input, 0).map(|value| value.to_json())
    };
    let lines = |text: &[&str]| Value::list(text.iter().map(|&line| line.into()).collect());
    let csv = json!({"class": "CsvLinesToMaps", "header": ["a", "b", "c"], "firstRow": 1, "nullString": "-", "trim": true});
    let maps = apply(csv, lines(&["a,b,c", "1,\"x,\"\"y\", - ", "2,,z"])).unwrap();
    let rows = json!([{"a": "1", "b": "x,\"y", "c": null}, {"a": "2", "b": "", "c": "z"}]);
    assert_eq!(maps["java.util.ArrayList"], rows);
    let whole = json!({"class": "CsvToMaps", "header": ["a", "b"], "delimiter": ";"});
    let maps = apply(whole.clone(), "1;\"x;\n\"\"y\"\r\n2;\n".into()).unwrap();
    let rows = json!([{"a": "1", "b": "x;\n\"y"}, {"a": "2", "b": ""}]);
    assert_eq!(maps["java.util.ArrayList"], rows);
    assert!(apply(whole, "1;\"x".into()).is_err(), "a quote that does not end");
    let read = json!({"class": "DeserialiseJson"});
    let given = apply(read, "{\"a\": [1, \"x\"]}".into()).unwrap();
    assert_eq!(given["java.util.LinkedHashMap"], json!({"a": [1, "x"]}));

    let chain = json!({"class": "FunctionChain", "functions": [
        {"class": "CsvLinesToMaps", "header": ["from", "to", "n"], "firstRow": 1},
        {"class": "IterableFunction", "functions": [
            {"class": "MapToTuple"},
            {"class": "FunctionChain", "functions": [
                {"class": "TupleAdaptedFunction", "selection": ["n"], "function": {"class": "ToLong"}, "projection": ["count"]}
            ]}
        ]},
        {"class": "TuplesToElements", "elements": [
            {"GROUP": "knows", "SOURCE": "from", "DESTINATION": "to", "DIRECTED": false, "count": "count"},
            {"GROUP": "person", "VERTEX": "from"}
        ]}
    ]});
    let made = apply(chain, lines(&["from,to,n", "b,a,5"])).unwrap();
    let made = made["java.util.ArrayList"].as_array().unwrap();
    assert_eq!(
        (&made[0]["source"], &made[0]["directed"]),
        (&json!("a"), &json!(false)),
        "{made:?}"
    );
    assert_eq!(made[0]["properties"]["count"], json!({"java.lang.Long": 5}));
    assert_eq!((&made[1]["group"], &made[1]["vertex"]), (&json!("person"), &json!("b")));

    let edge = |group: &str, from: &str, to: &str| {
        let json = json!({"class": "Edge", "group": group, "source": from, "destination": to, "directed": true});
        Value::from_json(&json).unwrap()
    };
    let changed = json!({"class": "ElementTransformer", "functions": [
        {"selection": ["SOURCE"], "function": {"class": "ToUpperCase"}, "projection": ["loud"]}]});
    let given = apply(changed, edge("knows", "a", "b")).unwrap();
    let given = given.as_object().unwrap().values().next().unwrap();
    assert_eq!(given["properties"]["loud"], "A");
    let related = json!({"class": "ReduceRelatedElements", "vertexAggregator": {"class": "Max"},
                         "relatedVertexGroups": ["same"]});
    let elements = vec![edge("knows", "a", "x"), edge("same", "a", "b"), edge("same", "b", "c")];
    let given = apply(related, Value::list(elements)).unwrap();
    let given = given["java.util.ArrayList"].as_array().unwrap();
    assert_eq!(given.len(), 1, "what tells goes");
    assert_eq!((&given[0]["source"], &given[0]["destination"]), (&json!("c"), &json!("x")));
    let others = &given[0]["properties"]["sourceRelatedVertices"]["java.util.HashSet"];
    assert_eq!(others.as_array().map(Vec::len), Some(2), "{given:?}");
}
