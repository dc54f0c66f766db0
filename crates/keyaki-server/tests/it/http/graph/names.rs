//! Named operations and views over HTTP.

use serde_json::{Value, json};

use super::super::{Reply, Server};
use super::{add, edge, execute, with_graph};

cases! {
    named_operations_run_with_their_parameters,
    names_have_owners_and_are_taken_once,
    named_views_show_what_they_say,
}

fn send(server: &Server, token: &str, chain: &Value) -> Reply {
    server.ask("POST", &execute("g")).bearer(token).settled().json(chain)
}

fn fill(server: &Server) {
    with_graph(server);
    let edges: Vec<_> = (0..5).map(|i| edge("a", &format!("b{i}"), i)).collect();
    assert_eq!(add(server, &json!(edges)).status, 200);
}

fn hop() -> Value {
    json!({
        "class": "uk.gov.gchq.gaffer.named.operation.AddNamedOperation", "operationName": "hop",
        "operationChain": {"class": "uk.gov.gchq.gaffer.operation.OperationChain", "operations": [
            {"includeIncomingOutGoing": "OUTGOING", "class": "uk.gov.gchq.gaffer.operation.impl.get.GetElements"},
            {"class": "ToCsv", "elementGenerator": {"class": "CsvGenerator", "fields": {"SOURCE": "s", "DESTINATION": "d", "count": "c"}},
             "includeHeader": "${header}"},
            {"class": "Limit", "resultLimit": "${most}"}
        ]},
        "parameters": {
            "most": {"description": "how many", "valueClass": "java.lang.Integer", "required": true},
            "header": {"description": "a header", "valueClass": "java.lang.Boolean", "defaultValue": true}
        }
    })
}

fn named_operations_run_with_their_parameters(server: &Server) {
    fill(server);
    let ed = &server.token("ed", &["editor"], &[]);
    let sorted = r#"{"DESTINATION":"d","SOURCE":"s","count":"c"}"#;
    let columns = r#"{"SOURCE":"s","DESTINATION":"d","count":"c"}"#;
    let text = hop().to_string().replace(sorted, columns);
    let asked = server.ask("POST", &execute("g")).bearer(ed);
    let added = asked.with("Content-Type", "application/json").body(text.as_bytes());
    assert_eq!((added.status, added.text()), (200, ""), "{added:?}");
    let run = |parameters: Value| {
        let named = json!({"class": "NamedOperation", "operationName": "hop", "parameters": parameters,
                           "input": [{"class": "EntitySeed", "vertex": "a"}]});
        send(server, ed, &named)
    };
    assert_eq!(run(json!({"most": 2})).value(), json!(["s,d,c", "a,b0,0"]), "columns in order");
    assert_eq!(run(json!({"most": 2, "header": false})).value(), json!(["a,b0,0", "a,b1,1"]));
    for wrong in [json!({}), json!({"most": 1, "other": 2}), json!({"most": []})] {
        run(wrong).demand_problem(400);
    }
    let absent = json!({"class": "NamedOperation", "operationName": "nope"});
    let refused = send(server, ed, &absent);
    refused.demand_problem(400);
    assert!(refused.text().contains("nope"));
    let chained = json!({"operations": [
        {"class": "GetAdjacentIds", "input": [{"class": "EntitySeed", "vertex": "a"}]},
        {"class": "NamedOperation", "operationName": "hop", "parameters": {"most": 9}},
        {"class": "Count"}
    ]});
    assert_eq!(send(server, ed, &chained).value(), json!(1), "only the header: nothing goes on");
    let told = send(server, ed, &json!({"class": "GetAllNamedOperations"})).value();
    let [told] = &told.as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!(told["operationName"], "hop");
    assert_eq!(told["creatorId"], "ed");
    assert_eq!(told["inputType"], "uk.gov.gchq.gaffer.data.element.id.ElementId[]");
    assert_eq!(told["parameters"]["most"]["required"], true);
    let chain: Value = serde_json::from_str(told["operations"].as_str().unwrap()).unwrap();
    assert_eq!(chain, hop()["operationChain"]);
    let nested = json!({"class": "AddNamedOperation", "operationName": "nested",
                        "operationChain": {"operations": [absent]}});
    send(server, ed, &nested).demand_problem(400);
}

fn names_have_owners_and_are_taken_once(server: &Server) {
    fill(server);
    let (ed, eve) = (&server.token("ed", &["editor"], &[]), &server.token("eve", &["editor"], &[]));
    let rita = &server.token("rita", &["reader"], &[]);
    let add = |over: bool, readers: Value| {
        json!({"class": "AddNamedOperation", "operationName": "all", "overwriteFlag": over, "readAccessRoles": readers,
               "operationChain": {"operations": [{"class": "GetAllElements"}, {"class": "Count"}]}})
    };
    let run = json!({"class": "NamedOperation", "operationName": "all"});
    send(server, rita, &add(false, json!([]))).demand_problem(403);
    let keyed = || {
        let asked = server.ask("POST", &execute("g")).bearer(ed).with("Idempotency-Key", "once");
        asked.json(&add(false, json!(["reader"])))
    };
    assert_eq!(keyed().status, 200);
    let again = keyed();
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    send(server, ed, &add(false, json!([]))).demand_problem(409);
    send(server, eve, &add(true, json!([]))).demand_problem(403);
    assert_eq!(send(server, rita, &run).value(), json!(5));
    send(server, eve, &run).demand_problem(400);
    assert_eq!(send(server, ed, &add(true, json!([]))).status, 200);
    send(server, rita, &run).demand_problem(400);
    let forget = json!({"class": "DeleteNamedOperation", "operationName": "all"});
    send(server, eve, &forget).demand_problem(403);
    assert_eq!(server.ask("POST", &execute("g")).admin().json(&forget).status, 200);
    send(server, ed, &run).demand_problem(400);
    let changes = server.ask("GET", "/v1/d.example/g/_changes").settled().send().value();
    let actions: Vec<_> =
        changes["items"].as_array().unwrap().iter().map(|it| it["action"].clone()).collect();
    assert_eq!(actions, ["add", "addNamedOperation", "addNamedOperation", "deleteNamedOperation"]);
}

fn named_views_show_what_they_say(server: &Server) {
    fill(server);
    let ed = &server.token("ed", &["editor"], &[]);
    let add = json!({"class": "uk.gov.gchq.gaffer.named.view.AddNamedView", "name": "many", "description": "d",
        "view": {"edges": {"knows": {"preAggregationFilterFunctions": [{"selection": ["count"],
            "predicate": {"class": "IsMoreThan", "value": {"java.lang.Long": "${least}"}}}]}}},
        "parameters": {"least": {"description": "", "valueClass": "java.lang.Long", "defaultValue": 1}}});
    assert_eq!(send(server, ed, &add).status, 200);
    send(server, ed, &add).demand_problem(409);
    let count = |parameters: Value| {
        let view = json!({"class": "uk.gov.gchq.gaffer.data.elementdefinition.view.NamedView", "name": "many",
                          "parameters": parameters});
        let chain =
            json!({"operations": [{"class": "GetAllElements", "view": view}, {"class": "Count"}]});
        server.ask("POST", &execute("g")).settled().json(&chain)
    };
    assert_eq!(count(json!({})).value(), json!(3), "anybody may use it");
    assert_eq!(count(json!({"least": 3})).value(), json!(1));
    let told = send(server, ed, &json!({"class": "GetAllNamedViews"})).value();
    assert_eq!((&told[0]["name"], &told[0]["creatorId"]), (&json!("many"), &json!("ed")));
    assert!(told[0]["view"].as_str().unwrap().contains("${least}"), "{told}");
    assert_eq!(send(server, ed, &json!({"class": "DeleteNamedView", "name": "many"})).status, 200);
    count(json!({})).demand_problem(400);
}
