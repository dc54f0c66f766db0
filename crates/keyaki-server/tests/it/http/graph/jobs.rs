//! Chains that run in the background.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::{Reply, Server};
use super::{add, all, at, edge, execute, settings, with_graph};

cases! {
    jobs_run_and_keep_what_they_gave,
    jobs_have_owners_and_rights,
    jobs_that_fail_say_why,
    jobs_run_once,
}

fn start(server: &Server, token: &str, chain: &Value) -> Reply {
    server.ask("POST", &(at("g") + "/graph/jobs")).bearer(token).json(chain)
}

fn get(server: &Server, token: &str, path: &str) -> Reply {
    server.ask("GET", &(at("g") + "/graph/jobs" + path)).bearer(token).settled().send()
}

/// A job's details once it is over.
fn ended(server: &Server, token: &str, id: &str) -> Value {
    let begun = Instant::now();
    loop {
        let told = get(server, token, &format!("/{id}"));
        assert_eq!(told.status, 200, "{told:?}");
        let told = told.value();
        if told["status"] != "RUNNING" {
            return told;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn jobs_run_and_keep_what_they_gave(server: &Server) {
    with_graph(server);
    let edges: Vec<_> = (0..5000).map(|i| edge("a", &format!("b{i:05}"), i)).collect();
    assert_eq!(add(server, &json!(edges)).status, 200);
    let ed = &server.token("ed", &["editor"], &[]);
    let chain = json!({"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"});
    // Anybody may read this graph, but what is kept is kept for somebody.
    assert_eq!(server.ask("POST", &execute("g")).json(&chain).status, 200);
    server.ask("POST", &(at("g") + "/graph/jobs")).json(&chain).demand_problem(401);
    let begun = start(server, ed, &chain);
    assert_eq!(begun.status, 201, "{begun:?}");
    let id = begun.value()["jobId"].as_str().unwrap().to_owned();
    assert_eq!(begun.header("job-id"), Some(&id[..]));
    let location = begun.header("location").unwrap().to_owned();
    assert!(location.ends_with(&format!("/graph/jobs/{id}")), "{location}");
    let told = ended(server, ed, &id);
    assert_eq!(told["status"], "FINISHED", "{told}");
    assert_eq!(told["opChain"], "OperationChain[GetAllElements]");
    assert_eq!(told["user"]["userId"], "ed");
    assert!(told["endTime"].as_u64() >= told["startTime"].as_u64(), "{told}");
    let got = get(server, ed, &format!("/{id}/results"));
    assert_eq!((got.status, got.value()), (200, all(server)));
    let count = json!({"operations": [chain, {"class": "Count"}]});
    let keyed = || {
        let asked = server.ask("POST", &(at("g") + "/graph/jobs")).bearer(ed);
        asked.with("Idempotency-Key", "once").json(&count)
    };
    let (first, again) = (keyed(), keyed());
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(first.value()["jobId"], again.value()["jobId"]);
    let counted = first.value()["jobId"].as_str().unwrap().to_owned();
    ended(server, ed, &counted);
    assert_eq!(get(server, ed, &format!("/{counted}/results")).value(), json!([5000]));
    let listed = get(server, ed, "").value();
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|job| job["jobId"].clone()).collect();
    assert_eq!(ids, [json!(id), json!(counted)]);
    let ask = |operation: Value| {
        server.ask("POST", &execute("g")).bearer(ed).settled().json(&operation).value()
    };
    assert_eq!(ask(json!({"class": "GetJobDetails", "jobId": id})), told);
    assert_eq!(ask(json!({"class": "GetAllJobDetails"})), listed);
    let results =
        json!({"operations": [{"class": "GetJobResults", "jobId": id}, {"class": "Count"}]});
    assert_eq!(ask(results), json!(5000));
}

fn jobs_have_owners_and_rights(server: &Server) {
    with_graph(server);
    let (rita, ron) = (&server.token("rita", &[], &["x"]), &server.token("ron", &[], &["x"]));
    let adds = json!({"class": "AddElements", "input": [edge("a", "b", 1)]});
    start(server, rita, &adds).demand_problem(403);
    let read = json!({"class": "GetAllElements"});
    let id = start(server, rita, &read).value()["jobId"].as_str().unwrap().to_owned();
    assert_eq!(ended(server, rita, &id)["status"], "FINISHED");
    for path in [format!("/{id}"), format!("/{id}/results"), "/nope".to_owned()] {
        get(server, ron, &path).demand_problem(404);
    }
    assert_eq!(get(server, ron, "").value(), json!([]));
    let narrowed = server.ask("GET", &(at("g") + "/graph/jobs/" + &id + "/results")).bearer(rita);
    narrowed.with("Keyaki-Auths", "").send().demand_problem(404);
    let seen = server.ask("GET", &(at("g") + "/graph/jobs")).admin().settled().send().value();
    assert_eq!(seen[0]["jobId"], json!(id), "owners see all");
    let ed = &server.token("ed", &["editor"], &[]);
    let id = start(server, ed, &adds).value()["jobId"].as_str().unwrap().to_owned();
    assert_eq!(ended(server, ed, &id)["status"], "FINISHED");
    assert_eq!(get(server, ed, &format!("/{id}/results")).value(), json!([]));
    assert_eq!(all(server).as_array().map(Vec::len), Some(1));
}

fn jobs_that_fail_say_why(server: &Server) {
    with_graph(server);
    let limits = json!({"*": {"results": 2}});
    let limited = settings(json!({"schema": super::schema(), "limits": limits}));
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&limited).status, 200);
    let edges: Vec<_> = (0..3).map(|i| edge("a", &format!("b{i}"), 1)).collect();
    assert_eq!(add(server, &json!(edges)).status, 200);
    let rita = &server.token("rita", &[], &[]);
    let id = start(server, rita, &json!({"class": "GetAllElements"})).value()["jobId"].clone();
    let told = ended(server, rita, id.as_str().unwrap());
    assert_eq!(told["status"], "FAILED");
    assert!(told["description"].as_str().unwrap().contains("costs more"), "{told}");
    let none = get(server, rita, &format!("/{}/results", id.as_str().unwrap()));
    none.demand_problem(404);
    assert!(none.text().contains("failed"), "{none:?}");
    start(server, rita, &json!({"class": "Nope"})).demand_problem(400);
    start(server, rita, &json!([])).demand_problem(400);
}

fn jobs_run_once(server: &Server) {
    with_graph(server);
    let ed = &server.token("ed", &["editor"], &[]);
    let repeat = json!({"initialDelay": 1, "repeatPeriod": 1, "timeUnit": "HOURS"});
    let job = json!({"repeat": repeat, "operation": {"class": "GetAllElements"}});
    let asked = server.ask("POST", &(at("g") + "/graph/jobs/schedule")).bearer(ed).json(&job);
    asked.demand_problem(400);
    assert!(asked.text().contains("scheduled"), "{asked:?}");
    let cancel = json!({"class": "CancelScheduledJob", "jobId": "x"});
    let asked = server.ask("POST", &execute("g")).bearer(ed).json(&cancel);
    asked.demand_problem(400);
    assert!(asked.text().contains("scheduled"), "{asked:?}");
}

/// A job that would run for hours, if it were let.
#[test]
fn a_job_is_told_to_have_failed_when_its_server_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let server = Server::on(&store, &[]);
    with_graph(&server);
    let limits = json!({"*": {"operations": 1_000_000_000}});
    let wide = settings(json!({"schema": super::schema(), "limits": limits}));
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&wide).status, 200);
    assert_eq!(add(&server, &json!([edge("a", "b", 1), edge("b", "a", 1)])).status, 200);
    let ed = &server.token("ed", &["editor"], &[]);
    let around = |operation: Value| json!({"class": "While", "condition": true, "maxRepeats": 1000, "operation": operation});
    let hop = json!({"operations": [{"class": "GetAdjacentIds"}, {"class": "ToSet"}]});
    let mut chain = around(around(around(hop)));
    chain["input"] = json!([{"class": "EntitySeed", "vertex": "a"}]);
    let begun = start(&server, ed, &chain);
    assert_eq!(begun.status, 201, "{begun:?}");
    let id = begun.value()["jobId"].as_str().unwrap().to_owned();
    assert_eq!(get(&server, ed, &format!("/{id}")).value()["status"], "RUNNING");
    assert_eq!(server.stop(), Some(0));
    let server = Server::on(&store, &[]);
    let told = get(&server, ed, &format!("/{id}")).value();
    assert_eq!(told["status"], "FAILED", "{told}");
    assert!(told["description"].as_str().unwrap().contains("stopped"), "{told}");
}
