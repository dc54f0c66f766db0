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
            json!([{"java.util.ArrayList": ["a", "b"]}]),
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
