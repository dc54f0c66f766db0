//! Vertices, erased.

use serde_json::json;

use super::super::Server;
use super::{at, edge, execute, with_graph};

cases! {
    a_vertex_is_erased_by_owners,
}

fn a_vertex_is_erased_by_owners(server: &Server) {
    with_graph(server);
    let mut hidden = edge("c", "a", 1);
    hidden["properties"]["vis"] = json!("secret");
    let cleared = server.token("cleo", &["editor"], &["secret"]);
    let adds = json!({"class": "AddElements", "input": [
        edge("a", "b", 1), edge("b", "c", 1), hidden,
        {"class": "Entity", "group": "person", "vertex": "a", "properties": {}}
    ]});
    assert_eq!(server.ask("POST", &execute("g")).bearer(&cleared).json(&adds).status, 200);
    let vertex = at("g") + "/vertices/a";
    server.ask("DELETE", &vertex).send().demand_problem(401);
    server.ask("DELETE", &vertex).bearer(&cleared).send().demand_problem(403);
    for (name, value, status) in
        [("If-Match", "\"a\"", 412), ("If-None-Match", "*", 412), ("Accept", "text/html", 406)]
    {
        server.ask("DELETE", &vertex).admin().with(name, value).send().demand_problem(status);
    }
    let erased = server.ask("DELETE", &vertex).admin().send();
    assert_eq!((erased.status, erased.value()), (200, json!({"erased": 3})), "all of it till now");
    assert!(erased.header("keyaki-session").is_some());
    let all = server.ask("POST", &execute("g")).bearer(&cleared).settled();
    let all = all.json(&json!({"class": "GetAllElements"})).value();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(all[0]["source"], "b");
    let again = server.ask("DELETE", &vertex).admin().send();
    assert_eq!(again.value(), json!({"erased": 0}));
    let dots = json!({"class": "AddElements", "input": [edge("..", "b", 1), edge("", "b", 1)]});
    assert_eq!(server.ask("POST", &execute("g")).bearer(&cleared).json(&dots).status, 200);
    let named = |query: &str| server.ask("DELETE", &(at("g") + "/graph/vertices" + query));
    named("?vertex=..").bearer(&cleared).send().demand_problem(403);
    named("").admin().send().demand_problem(400);
    for unnameable in ["?vertex=..", "?vertex="] {
        assert_eq!(named(unnameable).admin().send().value(), json!({"erased": 1}), "{unnameable}");
    }
    let long = server.ask("DELETE", &(vertex + "?vertexClass=java.lang.Long")).admin().send();
    long.demand_problem(400);
}
