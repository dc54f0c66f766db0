//! Graphs over HTTP.

pub mod erase; // a vertex and all that touches it
pub mod ingest; // elements in every form, broken off and sent again
pub mod jobs; // chains in the background
pub mod moves; // whole graphs: in parts, to files, and back
pub mod names; // chains and views under names

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{Case, Reply, Server, open_bucket};

cases! {
    we_answer_as_gaffer_does,
    chains_need_the_rights_of_what_they_do,
    chains_that_can_not_work_are_refused,
    what_a_chain_may_cost_depends_on_the_role,
    a_chain_tells_what_it_read,
    paths_belong_to_types,
    schemas_may_grow_but_not_shrink,
    quotas_hold_for_graphs,
    nobody_is_told_of_what_they_may_not_see,
    chains_that_write_count_once,
    what_gaffers_client_asks_about_a_graph,
    small_operations_answer,
    a_graph_was_made_once,
}

/// Two groups whose counts are summed.
pub fn schema() -> Value {
    json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count", "vis": "v"}}},
        "entities": {"person": {"vertex": "v", "properties": {"count": "count", "vis": "v"}}},
        "types": {
            "v": {"class": "String", "aggregateFunction": {"class": "First"}}, "b": {"class": "Boolean"},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        },
        "visibilityProperty": "vis"
    })
}

/// A graph that anybody may read, and editors write.
pub fn make(server: &Server, name: &str, schema: Value) {
    let made = server.ask("PUT", &at(name)).admin().json(&settings(json!({"schema": schema})));
    assert_eq!(made.status, 201, "{made:?}");
}

pub fn with_graph(server: &Server) {
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    make(server, "g", schema());
}

fn settings(options: Value) -> Value {
    let mut settings = open_bucket();
    settings["type"] = json!("graph");
    settings["options"] = options;
    settings
}

fn at(name: &str) -> String {
    format!("/v1/d.example/{name}")
}

fn execute(name: &str) -> String {
    at(name) + "/graph/operations/execute"
}

pub fn edge(from: &str, to: &str, count: i64) -> Value {
    json!({"class": "uk.gov.gchq.gaffer.data.element.Edge", "group": "knows", "source": from, "destination": to,
           "directed": true, "properties": {"count": {"java.lang.Long": count}}})
}

pub fn all(server: &Server) -> Value {
    let got = server.ask("POST", &execute("g")).settled().json(&json!({"class": "GetAllElements"}));
    assert_eq!(got.status, 200, "{got:?}");
    got.value()
}

fn add(server: &Server, elements: &Value) -> Reply {
    let chain = json!({"class": "AddElements", "input": elements});
    server.ask("POST", &execute("g")).admin().json(&chain)
}

/// As they are compared: each a set, class names short.
fn sorted(answer: &Value) -> Vec<String> {
    let items = answer.as_array().into_iter().flatten();
    let mut items: Vec<String> = items.map(|item| short(item).to_string()).collect();
    items.sort();
    items
}

fn short(json: &Value) -> Value {
    match json {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match (&name[..], value) {
                ("class", Value::String(class)) => {
                    (name.clone(), json!(class.rsplit('.').next().unwrap()))
                }
                _ => (name.clone(), short(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(short).collect(),
        other => other.clone(),
    }
}

/// All labels that a case speaks of.
fn labels(case: &Value) -> Vec<String> {
    let text = case["elements"].to_string() + &case["auths"].to_string();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What is wrong with our answer to a case.
fn difference(server: &Server, name: &str, package: &str, case: &Value) -> Result<(), String> {
    let mut settings = settings(json!({"schema": case["schema"], "keyPackage": package}));
    settings["acl"]["write"] = settings["acl"]["read"].clone();
    let made = server.ask("PUT", &at(name)).admin().json(&settings);
    if made.status != 201 {
        return Err(format!("{made:?}"));
    }
    let labels = labels(case);
    let (all, own): (Vec<&str>, Vec<&str>) = (
        labels.iter().map(String::as_str).collect(),
        case["auths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    );
    let (writer, reader) = (server.token("writer", &[], &all), server.token("reader", &[], &own));
    let validate = case["add"]["validate"].as_bool().unwrap_or(true);
    let skip = case["add"]["skipInvalid"].as_bool().unwrap_or(false);
    let added = match package {
        "classic" => {
            let query = format!("/elements?validate={validate}&skipInvalidElements={skip}");
            server.ask("POST", &(at(name) + &query)).bearer(&writer).json(&case["elements"])
        }
        _ => server.ask("POST", &execute(name)).bearer(&writer).json(&json!({
            "class": "AddElements", "input": case["elements"], "validate": validate, "skipInvalidElements": skip
        })),
    };
    let expected = match (package, case.get("expectedClassic")) {
        ("classic", Some(classic)) => classic,
        _ => &case["expected"],
    };
    let alone = [case["operation"].clone()];
    let (operations, expected) = match case.get("operations").and_then(Value::as_array) {
        Some(operations) => (operations.as_slice(), expected.as_array().unwrap().clone()),
        None => (&alone[..], vec![expected.clone()]),
    };
    for (place, (operation, expected)) in operations.iter().zip(expected).enumerate() {
        let named = &case["named"][place];
        let refused = expected.get(0).is_some_and(|first| first.get("error").is_some());
        let answer = match added.status {
            200 => server.ask("POST", &execute(name)).bearer(&reader).settled().json(operation),
            status => Reply { status, headers: Vec::new(), bytes: added.bytes.clone() },
        };
        match (answer.status, refused) {
            (400..500, true) => {}
            (200 | 204, false) => {
                let answer = match answer.bytes.as_slice() {
                    [] => json!([]),
                    _ => answer.value(),
                };
                let answer = if answer.is_array() { answer } else { json!([answer]) };
                if sorted(&answer) != sorted(&expected) {
                    return Err(format!("{named}\n ours {answer}\n want {expected}"));
                }
            }
            _ => return Err(format!("{named} {answer:?}")),
        }
    }
    Ok(())
}

fn we_answer_as_gaffer_does(server: &Server) {
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    let mut paths = Vec::new();
    for (place, count) in [("gaffer", 31), ("oracle", 7)] {
        let place =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../keyaki/tests/golden").join(place);
        let before = paths.len();
        paths.extend(std::fs::read_dir(place).unwrap().map(|e| e.unwrap().path()));
        assert_eq!(paths.len() - before, count);
    }
    paths.sort();
    let mut wrong = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let case: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for (letter, package) in [('b', "byteEntity"), ('c', "classic")] {
            let name = format!("{letter}{number}");
            if let Err(difference) = difference(server, &name, package, &case) {
                wrong.push(format!("{} ({package}): {difference}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn chains_need_the_rights_of_what_they_do(server: &Server) {
    with_graph(server);
    let adds = json!({"class": "AddElements", "input": [edge("a", "b", 1)]});
    let both = json!({"operations": [adds, {"class": "GetAllElements"}]});
    let ask = |token: Option<&str>, chain: &Value| {
        let asked = server.ask("POST", &execute("g"));
        match token {
            Some(token) => asked.bearer(token),
            None => asked,
        }
        .json(chain)
    };
    ask(None, &adds).demand_problem(401);
    let reader = server.token("rita", &["reader"], &[]);
    ask(Some(&reader), &adds).demand_problem(403);
    ask(Some(&reader), &json!({"class": "ForEach", "operation": adds, "input": [1]}))
        .demand_problem(403);
    assert_eq!(all(server), json!([]), "anybody may read, and nothing was written");
    let editor = server.token("ed", &["editor"], &[]);
    assert_eq!(ask(Some(&editor), &adds).status, 200);
    assert_eq!(ask(Some(&editor), &both).value().as_array().map(Vec::len), Some(1));
    let mut closed = settings(json!({"schema": schema()}));
    closed["acl"]["read"] = json!([]);
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&closed).status, 200);
    ask(Some(&editor), &both).demand_problem(403);
    assert_eq!(ask(Some(&editor), &adds).status, 200, "who may only write does");

    let mut secret = edge("a", "c", 1);
    secret["properties"]["vis"] = json!("secret");
    let labelled = json!({"class": "AddElements", "input": [secret]});
    ask(Some(&editor), &labelled).demand_problem(403);
    let cleared = server.token("cleo", &["editor"], &["secret"]);
    assert_eq!(ask(Some(&cleared), &labelled).status, 200);
    let delete = json!({"class": "DeleteElements", "input": [secret]});
    ask(Some(&editor), &delete).demand_problem(403);
}

fn chains_that_can_not_work_are_refused(server: &Server) {
    with_graph(server);
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let nested = (0..40).fold(
        json!({"class": "GetAllElements"}),
        |inner, _| json!({"class": "OperationChain", "operations": [inner]}),
    );
    for (body, said) in [
        ("{", "JSON"),
        ("", "JSON"),
        ("[]", ""),
        (&deep, "JSON"),
        (r#"{"class":"GetAllElements","class":"Count"}"#, "twice"),
        (r#"{"class":"uk.gov.gchq.gaffer.operation.impl.Nope"}"#, "Nope"),
        (r#"{"class":"GetAllElements","view":{"edges":{"nope":{}}}}"#, "nope"),
        (r#"{"class":"Limit","resultLimit":99999999999999999999999}"#, ""),
        (
            r#"{"class":"GetElements","input":[{"class":"EntitySeed","vertex":{"a.b.C":1}}]}"#,
            "a.b.C",
        ),
        (&nested.to_string(), "deep"),
    ] {
        let asked = server.ask("POST", &execute("g")).with("Content-Type", "application/json");
        let refused = asked.body(body.as_bytes());
        refused.demand_problem(400);
        assert!(refused.text().contains(said), "{said}: {}", refused.text());
    }
    let asked = server.ask("POST", &execute("g")).with("Content-Type", "text/plain");
    asked.body(b"{}").demand_problem(415);
    let asked = server.ask("POST", &(execute("g") + "?explain=maybe"));
    asked.json(&json!({"class": "GetAllElements"})).demand_problem(400);
    let wrong = json!([{"group": "knows", "source": "a", "destination": 5, "directed": true}]);
    assert!((400..500).contains(&add(server, &wrong).status));
    assert_eq!(all(server), json!([]));
}

fn what_a_chain_may_cost_depends_on_the_role(server: &Server) {
    with_graph(server);
    let limits = json!({"*": {"results": 2, "operations": 3}, "big": {"results": 5}, "slow": {"scanned": 1}});
    let options = json!({"schema": schema(), "limits": limits});
    let set = server.ask("PUT", &at("g")).admin().json(&settings(options));
    assert_eq!((set.status, &set.value()["options"]["limits"]), (200, &limits), "{set:?}");
    let elements: Vec<_> = (0..4).map(|i| edge("a", &format!("b{i}"), 1)).collect();
    assert_eq!(add(server, &json!(elements)).status, 200);
    let query = json!({"class": "GetAllElements"});
    let small = server.ask("POST", &execute("g")).json(&query);
    small.demand_problem(400);
    assert_eq!((&small.value()["of"], &small.value()["limit"]), (&json!("results"), &json!("2")));
    let big = server.token("bob", &["big", "slow"], &[]);
    let asked = server.ask("POST", &execute("g")).bearer(&big).json(&query);
    assert_eq!(asked.status, 400, "{asked:?}");
    assert_eq!(asked.value()["of"], "scanned cells");
    let big = server.token("bea", &["big"], &[]);
    let got = server.ask("POST", &execute("g")).bearer(&big).settled().json(&query);
    assert_eq!(got.value().as_array().map(Vec::len), Some(4));
    let long =
        json!({"operations": [query, {"class": "ToSet"}, {"class": "ToSet"}, {"class": "Count"}]});
    let refused = server.ask("POST", &execute("g")).bearer(&big).json(&long);
    refused.demand_problem(400);
    assert_eq!(refused.value()["of"], "operations");
}

fn a_chain_tells_what_it_read(server: &Server) {
    with_graph(server);
    let person = json!({"class": "Entity", "group": "person", "vertex": "a", "properties": {"count": {"Long": 1}}});
    let mut elements: Vec<_> = (0..9).map(|i| edge("a", &format!("b{i}"), 1)).collect();
    elements.push(person);
    assert_eq!(add(server, &json!(elements)).status, 200);
    let query = json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": "a"}],
                       "view": {"entities": {"person": {}}}});
    let path = execute("g") + "?explain=true";
    let told = server.ask("POST", &path).settled().json(&query).value();
    assert_eq!((&told["groups"], &told["results"]), (&json!({"person": 1}), &json!(1)), "{told}");
    let lines =
        server.ask("POST", &(execute("g") + "/chunked")).json(&json!({"class": "GetAllElements"}));
    let lines: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 10);
    let shown = server.ask("GET", &(at("g") + "/graph/config/schema")).send().value();
    assert_eq!(shown["edges"]["knows"]["properties"]["count"], "count");
    assert_eq!(server.ask("GET", &(at("g") + "/graph/status")).send().value()["status"], "UP");
}

fn paths_belong_to_types(server: &Server) {
    with_graph(server);
    assert_eq!(server.ask("PUT", &at("b")).admin().json(&open_bucket()).status, 201);
    for path in ["/", "/item", "/item/", "/item/2036-01-01T00:00:00Z"] {
        let refused = server.ask("GET", &(at("g") + path)).admin().send();
        refused.demand_problem(404);
        assert_eq!(refused.value()["bucketType"], "graph", "{path}");
    }
    for path in ["/graph/operations/execute", "/graph/operations/execute/chunked"] {
        let refused = server.ask("POST", &(at("b") + path)).admin().json(&json!({}));
        assert!([404, 405].contains(&refused.status), "{path}: {refused:?}");
    }
    for (method, path) in [
        ("POST", "/elements"),
        ("GET", "/elements/splits?parts=2"),
        ("GET", "/graph/status"),
        ("POST", "/graph/jobs"),
    ] {
        let refused = server.ask(method, &(at("b") + path)).admin().json(&json!({}));
        refused.demand_problem(404);
        assert_eq!(refused.value()["bucketType"], "revisions", "{path}");
    }
    assert_eq!(server.ask("PUT", &(at("b") + "/elements")).admin().text("x").status, 201);
    assert_eq!(server.ask("GET", &(at("b") + "/elements")).send().text(), "x");
    let wrong = server.ask("PUT", &(at("g") + "/elements")).admin().text("x");
    wrong.demand_problem(405);
    assert_eq!(wrong.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
    assert_eq!(server.ask("GET", &(at("g") + "/_changes")).send().status, 200);
    assert_eq!(server.ask("GET", &at("g")).send().value()["type"], "graph");
    let mut hidden = settings(json!({"schema": schema()}));
    hidden["acl"] = json!({"read": [], "write": []});
    assert_eq!(server.ask("PUT", &at("hidden")).admin().json(&hidden).status, 201);
    for (method, path) in [("GET", "/item"), ("POST", "/elements"), ("GET", "/graph/status")] {
        server.ask(method, &(at("hidden") + path)).send().demand_problem(401);
    }
}

fn schemas_may_grow_but_not_shrink(server: &Server) {
    with_graph(server);
    assert_eq!(add(server, &json!([edge("a", "b", 1)])).status, 200);
    let put = |schema: &Value| {
        server.ask("PUT", &at("g")).admin().json(&settings(json!({"schema": schema})))
    };
    let mut larger = schema();
    larger["entities"]["city"] = json!({"vertex": "v", "properties": {"count": "count"}});
    larger["edges"]["knows"]["properties"]["more"] = json!("count");
    // The second part says what the first does not.
    let parts = json!([larger, {"types": {"other": {"class": "String"}}}]);
    assert_eq!(put(&parts).status, 200);
    let city = json!({"class": "Entity", "group": "city", "vertex": "x", "properties": {"count": {"Long": 2}}});
    assert_eq!(add(server, &json!([city, edge("a", "b", 2)])).status, 200);
    assert_eq!(all(server).as_array().map(Vec::len), Some(2));
    let mut smaller = larger.clone();
    smaller["edges"] = json!({});
    let refused = put(&smaller);
    refused.demand_problem(409);
    assert_eq!(refused.value()["at"], "/options/schema");
    assert!(refused.value()["reason"].as_str().unwrap().contains("knows"), "{refused:?}");
    let mut broken = larger.clone();
    broken["edges"]["knows"]["properties"]["count"] = json!("nowhere");
    let refused = put(&broken);
    refused.demand_problem(422);
    assert_eq!(refused.value()["at"], "/options/schema");
    let other = json!({"schema": larger, "keyPackage": "classic"});
    server.ask("PUT", &at("g")).admin().json(&settings(other)).demand_problem(409);
    server.ask("PUT", &at("g")).admin().json(&open_bucket()).demand_problem(409);
    for bad in [
        json!({}),
        json!({"schema": schema(), "keyPackage": "nope"}),
        json!({"schema": 5}),
        json!({"schema": schema(), "limit": {}}),
        json!({"schema": schema(), "limits": {"a": {"results": -1}}}),
    ] {
        server.ask("PUT", &at("bad")).admin().json(&settings(bad)).demand_problem(422);
    }
    assert_eq!(all(server).as_array().map(Vec::len), Some(2), "nothing of that has any effect");
}

fn quotas_hold_for_graphs(server: &Server) {
    with_graph(server);
    let mut limited = settings(json!({"schema": schema()}));
    limited["quota"] = json!({"items": 3});
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&limited).status, 200);
    let elements: Vec<_> = (0..3).map(|i| edge("a", &format!("b{i}"), 1)).collect();
    let send = || {
        let asked = server.ask("POST", &(at("g") + "/elements")).admin();
        asked.with("Idempotency-Key", "once").json(&json!(elements))
    };
    assert_eq!(send().status, 200);
    assert_eq!(
        send().header("idempotency-replayed"),
        Some("true"),
        "there is room for what is there"
    );
    add(server, &json!([edge("a", "c", 1)])).demand_problem(507);
    assert_eq!(server.ask("GET", &at("g")).admin().send().value()["use"]["items"], 3);
}

fn nobody_is_told_of_what_they_may_not_see(server: &Server) {
    with_graph(server);
    let mut hidden = edge("a", "secret", 1);
    hidden["properties"]["vis"] = json!("a");
    let writer = server.token("wanda", &["editor"], &["a"]);
    let elements = json!([hidden, edge("a", "b", 1), edge("a", "c", 1)]);
    let chain = json!({"class": "AddElements", "input": elements});
    let added = server.ask("POST", &execute("g")).bearer(&writer).json(&chain);
    assert_eq!(added.status, 200, "{added:?}");
    let job = json!({"class": "GetAllElements"});
    let begun = server.ask("POST", &(at("g") + "/graph/jobs")).bearer(&writer).json(&job);
    assert!(begun.status < 300, "{begun:?}");
    let reader = server.token("rita", &["reader"], &[]);
    let told = |token: &str| {
        let changes = server.ask("GET", &(at("g") + "/_changes")).settled().bearer(token).send();
        let changes = changes.value();
        let told = changes["items"].as_array().unwrap().iter();
        let mut told: Vec<String> = told
            .map(|c| format!("{} {}", c["action"].as_str().unwrap(), c["after"]["elements"]))
            .collect();
        told.sort();
        told
    };
    assert_eq!(told(&reader), ["add 2"]);
    assert_eq!(told(&writer), ["add 1", "add 2", "job null"]);
    let scanned = |vertex: &str| {
        let chain =
            json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": vertex}]});
        let path = execute("g") + "?explain=true";
        let mut told = server.ask("POST", &path).settled().bearer(&reader).json(&chain).value();
        told["timeMs"] = Value::Null;
        told
    };
    assert_eq!(scanned("secret"), scanned("nowhere"));
    assert_eq!(scanned("b")["scanned"], 1);
}

fn chains_that_write_count_once(server: &Server) {
    with_graph(server);
    let chain = json!({"class": "AddElements", "input": [edge("a", "b", 5)]});
    for replayed in [None, Some("true")] {
        let asked = server.ask("POST", &execute("g")).admin().with("Idempotency-Key", "chain");
        let added = asked.json(&chain);
        assert_eq!((added.status, added.header("idempotency-replayed")), (200, replayed));
    }
    let all = all(server);
    assert_eq!(all[0]["properties"]["count"]["java.lang.Long"], 5, "{all}");
}

fn what_gaffers_client_asks_about_a_graph(server: &Server) {
    with_graph(server);
    let get = |path: &str| server.ask("GET", &(at("g") + path)).send();
    for path in ["/graph/operations", "/graph/operations/", "/graph/operations/all"] {
        let all = get(path).value();
        let class = json!("uk.gov.gchq.gaffer.operation.impl.get.GetElements");
        assert!(all.as_array().unwrap().contains(&class), "{path}");
    }
    let detail =
        get("/graph/operations/uk.gov.gchq.gaffer.operation.impl.get.GetAllElements").value();
    assert_eq!(detail["name"], "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements");
    assert!(
        detail["summary"].is_string() && detail["exampleJson"]["class"].is_string(),
        "{detail}"
    );
    assert_eq!(get("/graph/operations/GetAllElements/next").value(), detail["next"]);
    assert_eq!(get("/graph/operations/GetAllElements/example").value(), detail["exampleJson"]);
    for path in ["/graph/operations/details", "/graph/operations/details/all"] {
        assert!(get(path).value().as_array().unwrap().contains(&detail), "{path}");
    }
    for topic in [
        "storeTraits",
        "filterFunctions/",
        "transformFunctions",
        "aggregationFunctions",
        "filterFunctions/java.lang.Long",
        "elementGenerators",
        "objectGenerators",
    ] {
        assert!(get(&format!("/graph/config/{topic}")).value().is_array(), "{topic}");
    }
    assert_eq!(get("/graph/config/graphId").text(), "g");
    for path in ["/graph/version", "/graph/config/description", "/graph/config/storeType"] {
        assert_eq!(get(path).status, 200, "{path}");
    }
    let fields = get("/graph/config/serialisedFields/IsMoreThan").value();
    assert!(fields.as_array().unwrap().contains(&json!("orEqualTo")), "{fields}");
    assert!(
        get("/graph/config/serialisedFields/IsMoreThan/classes").value()["orEqualTo"].is_string()
    );
    get("/graph/operations/Nope").demand_problem(404);
    get("/graph/config/nope").demand_problem(404);
    assert_eq!(get("/properties").value()["gaffer.version"], get("/graph/version").text());
    assert_eq!(get("/properties/gaffer.version").text(), "2.3.2");
    get("/properties/nope").demand_problem(404);
    let paths = get("/v3/api-docs").value()["paths"].clone();
    let readable = paths.as_object().unwrap().iter().filter(|(_, said)| said["get"].is_object());
    for (path, _) in readable.clone().filter(|(path, _)| !path.contains("{id}")) {
        let path = path.replace("{className}", "GetElements").replace("{inputClass}", "Long");
        assert_eq!(get(&path).status, 200, "{path}");
    }
    assert_eq!(readable.count(), 27);
    assert!(paths["/graph/operations/execute"]["post"].is_object(), "{paths}");
}

fn a_graph_was_made_once(server: &Server) {
    with_graph(server);
    let created = at("g") + "/graph/config/graphCreatedTime";
    let made = || server.ask("GET", &created).send().text().to_owned();
    let first = made();
    assert!(first.contains('T'), "{first}");
    let again = settings(json!({"schema": schema(), "limits": {"*": {"results": 10}}}));
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&again).status, 200);
    assert_eq!(made(), first, "it is set anew, not made anew");
    let told = server.ask("POST", &execute("g")).settled();
    let told = told.json(&json!({"class": "GetGraphCreatedTime"})).value();
    assert_eq!(told["g"], json!(first));
}

fn small_operations_answer(server: &Server) {
    with_graph(server);
    let ask = |chain: Value| {
        let got = server.ask("POST", &execute("g")).admin().settled().json(&chain);
        assert_eq!(got.status, 200, "{got:?}");
        got.value()
    };
    let made = ask(json!({"class": "GetGraphCreatedTime"}));
    assert!(made["g"].as_str().unwrap().contains('T'), "{made}");
    let adds = json!({"class": "OperationChain", "operations": [{"class": "AddElements", "input": [edge("a", "b", 1)]}]});
    let looked = ask(json!({"class": "ValidateOperationChain", "operationChain": adds}));
    assert_eq!(looked["valid"], true);
    assert_eq!(all(server), json!([]), "it was only looked at");
    let lines = ["_id,_labels,_type,_start,_end,count:Long", "a,person,,,,1", ",,knows,a,b,2"];
    let chain = json!({"operations": [
        {"class": "GenerateElements", "input": lines, "elementGenerator": {"class": "Neo4jCsvElementGenerator"}},
        {"class": "AddElements"}
    ]});
    assert_eq!(server.ask("POST", &execute("g")).admin().json(&chain).status, 200);
    assert_eq!(all(server).as_array().map(Vec::len), Some(2));
    let exported = json!({"operations": [
        {"class": "GetAllElements"}, {"class": "ExportToSet", "key": "k"}, {"class": "DiscardOutput"},
        {"class": "GetSetExport", "key": "k"}, {"class": "Count"}
    ]});
    assert_eq!(ask(exported), json!(2));
    assert_eq!(
        ask(json!({"class": "GetSchema", "compact": true}))["edges"]["knows"]["directed"],
        "b"
    );
    let generators =
        server.ask("GET", &(at("g") + "/graph/config/elementGenerators")).send().value();
    assert!(generators.to_string().contains("Neo4jCsvElementGenerator"), "{generators}");
}
