//! Elements made of other things, sets that last as long as a chain, and chains that are only looked at.

use keyaki::Result;
use keyaki::testing::graph::Package;
use serde_json::{Value as Json, json};

use super::{Asked, Graph};

fn graph() -> Graph {
    let schema = json!({
        "entities": {"person": {"vertex": "v", "properties": {"count": "long", "since": "long"}}},
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "long"}}},
        "types": {"v": {"class": "String"}, "b": {"class": "Boolean"},
                  "long": {"class": "Long", "aggregateFunction": {"class": "Sum"}}}
    });
    Graph::new(&schema, Package::ByteEntity, &[]).unwrap()
}

fn generate(generator: &Json, input: &Json) -> Result<Json> {
    graph()
        .ask(&json!({"class": "GenerateElements", "input": input, "elementGenerator": generator}))
}

#[test]
fn tables_of_neo4j_and_neptune_become_elements() {
    for (class, header) in [
        (
            "Neo4jCsvElementGenerator",
            "_id,_labels,_type,_start,_end,count:Long,since:DateTime,a_note",
        ),
        (
            "NeptuneCsvElementGenerator",
            ":ID,:LABEL,:TYPE,:START_ID,:END_ID,count:Long,since:DateTime,a_note",
        ),
    ] {
        let lines = json!([header, "a,person,,,,3,1970-01-02,hello", "e1,,knows,a,b,4,,"]);
        let made = generate(&json!({"class": class}), &lines).unwrap();
        let [person, edge] = &made.as_array().unwrap()[..] else { panic!("{made}") };
        assert_eq!((&person["group"], &person["vertex"]), (&json!("person"), &json!("a")));
        let properties = json!({"count": {"java.lang.Long": 3}, "since": {"java.lang.Long": 86_400_000}, "a-note": "hello"});
        assert_eq!(person["properties"], properties);
        assert_eq!(
            (&edge["source"], &edge["destination"], &edge["directed"]),
            (&json!("a"), &json!("b"), &json!(true))
        );
        assert_eq!(edge["properties"], json!({"count": {"java.lang.Long": 4}, "edge-id": "e1"}));
        let wrong = json!([header, "a,person,,,,many,,"]);
        assert!(generate(&json!({"class": class}), &wrong).is_err());
    }
    assert_eq!(
        generate(&json!({"class": "Neo4jCsvElementGenerator"}), &json!([])).unwrap(),
        json!([])
    );
    assert!(generate(&json!({"class": "com.example.Mine"}), &json!([])).is_err());
}

#[test]
fn json_and_functions_make_elements_that_can_be_added() {
    let graph = graph();
    let text = json!({"class": "Entity", "group": "person", "vertex": "a", "properties": {"count": {"Long": 2}}}).to_string();
    let chain = json!({"operations": [
        {"class": "GenerateElements", "input": [text, text], "elementGenerator": {"class": "JsonToElementGenerator"}},
        {"class": "AddElements"}
    ]});
    graph.ask(&chain).unwrap();
    let all = graph.ask(&json!({"class": "GetAllElements"})).unwrap();
    assert_eq!(all[0]["properties"]["count"], json!({"java.lang.Long": 4}));
    let function = json!({"class": "FunctionChain", "functions": [
        {"class": "CsvLinesToMaps", "header": ["x", "y"]},
        {"class": "TuplesToElements", "elements": [{"GROUP": "knows", "SOURCE": "x", "DESTINATION": "y"}]}]});
    let made = generate(&function, &json!(["a,b"])).unwrap();
    assert_eq!((&made[0]["group"], &made[0]["destination"]), (&json!("knows"), &json!("b")));
    let objects = |generator: Json| {
        graph.ask(&json!({"operations": [
            {"class": "GetAllElements"}, {"class": "GenerateObjects", "elementGenerator": generator}]}))
    };
    let map = json!({"class": "MapGenerator", "fields": {"VERTEX": "who"}});
    assert_eq!(objects(map).unwrap(), json!([{"who": "a"}]));
    let csv = json!({"class": "CsvGenerator", "fields": {"VERTEX": "who"}});
    assert_eq!(objects(csv).unwrap(), json!(["a"]), "there is no header");
    let table = json!({"operations": [{"class": "GetAllElements"},
        {"class": "ToCsv", "elementGenerator": {"class": "Neo4jCsvGenerator"}}]});
    let table = graph.ask(&table).unwrap();
    assert_eq!(table[0], "_id,_labels,_type,_start,_end,count:Long,since:Long,DIRECTED:Boolean");
    assert_eq!(table[1], "a,person,,,,4,,");
}

#[test]
fn sets_last_as_long_as_a_chain() {
    let chain = |last: Json| {
        json!({"operations": [
            {"class": "ToList", "input": [3, 1, 3, 2]}, {"class": "ExportToSet", "key": "n"}, {"class": "DiscardOutput"},
            {"class": "ExportToSet", "input": "x"}, {"class": "DiscardOutput"}, last
        ]})
    };
    let ask = |last: Json| graph().ask(&chain(last)).unwrap();
    assert_eq!(ask(json!({"class": "GetSetExport", "key": "n"})), json!([3, 1, 2]));
    assert_eq!(ask(json!({"class": "GetSetExport", "key": "n", "start": 1, "end": 2})), json!([1]));
    assert_eq!(ask(json!({"class": "GetSetExport"})), json!(["x"]));
    assert_eq!(ask(json!({"class": "GetSetExport", "key": "other"})), json!([]));
    let both = json!({"class": "GetExports", "getExports": [
        {"class": "uk.gov.gchq.gaffer.operation.impl.export.set.GetSetExport", "key": "n"},
        {"class": "GetSetExport"}]});
    let all = json!([{"uk.gov.gchq.gaffer.operation.impl.export.set.GetSetExport: n": [3, 1, 2], "GetSetExport: ALL": ["x"]}]);
    assert_eq!(ask(both), all);
}

#[test]
fn chains_can_be_looked_at_without_being_run() {
    let look = |chain: Json| {
        graph().ask(&json!({"class": "ValidateOperationChain", "operationChain": chain})).unwrap()
            [0]
        .clone()
    };
    let fine = look(json!({"operations": [{"class": "GetAllElements"}, {"class": "Count"}]}));
    assert_eq!(fine, json!({"valid": true, "errors": [], "errorString": "Validation errors: \n"}));
    let wrong = look(json!({"operations": [{"class": "Count"}, {"class": "GetElements"}]}));
    assert_eq!(wrong["valid"], false);
    assert!(wrong["errors"][0].as_str().unwrap().contains("Invalid combination"), "{wrong}");
}

#[test]
fn a_branch_that_is_not_taken_may_be_wrong() {
    let ask = |condition: bool, other: &Json| {
        graph().ask(&json!({"class": "If", "input": [1, 2], "condition": condition,
                            "then": {"class": "Count"}, "otherwise": other}))
    };
    let absent = json!({"class": "GetAllElements", "view": {"edges": {"nobody": {}}}});
    assert_eq!(ask(true, &absent).unwrap(), json!([2]));
    let refused = ask(false, &absent).unwrap_err().to_string();
    assert!(refused.contains("nobody"), "{refused}");
    assert!(ask(true, &json!({"class": "Nope"})).is_err(), "what nobody knows is refused");
}
