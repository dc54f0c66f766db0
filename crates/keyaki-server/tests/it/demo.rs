//! `keyaki serve --demo`: what it prints works as it is printed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::program;

/// What stands between two words of a line.
fn between<'a>(line: &'a str, before: &str, after: &str) -> &'a str {
    line.split_once(before).and_then(|(_, rest)| rest.split_once(after)).expect(line).0
}

/// A demo under way, and what it told until it was ready.
fn demo(arguments: &[&OsStr]) -> (Child, Vec<String>) {
    let mut child = program()
        .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .env("KEYAKI_ADMIN_TOKEN", "admin-token-of-this-test")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.take_while(|line| !line.contains("Ctrl-C")).collect();
    (child, told)
}

#[test]
fn the_graph_of_the_demo_answers_what_it_is_asked() {
    let (mut child, told) = demo(&[]);
    let command = told.iter().find(|line| line.contains("/graph/operations/execute")).unwrap();
    let question = between(command, "-d '", "'");
    let address = between(command, "' http", "execute");
    let answer = ureq::post(format!("http{address}execute"))
        .header("Content-Type", "application/json")
        .send(question)
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!told.iter().any(|line| line.contains("stays there")), "{told:?}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let answer = answer.as_array().unwrap();
    let station = answer.iter().find(|element| element["group"] == "station").unwrap();
    assert_eq!(
        station["properties"]["lines"]["java.lang.Long"], 2,
        "two lines added it: {station}"
    );
    let next = answer.iter().filter(|element| element["group"] == "track").count();
    assert_eq!(next, 3, "{answer:?}");
}

#[test]
fn a_demo_in_a_store_that_stays_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("keyaki.toml");
    let backend = format!("[backend.embedded.real]\ndata = {:?}\n", dir.path().join("real"));
    std::fs::write(&config, backend).unwrap();
    let (mut child, told) = demo(&["--config".as_ref(), config.as_ref()]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(told[1], "The demo is written to embedded/real, and stays there.");
}
