//! Keeps the tree in the shape ARCHITECTURE.md promises: reads our own sources and names every
//! place that breaks a rule. Modules cannot refuse an import the way crates can; this does.
//!
//! A rule that never fires is worth nothing, so below each is tried on snippets that break it.

mod rules;
mod source;

use rules::{RULES, Rule, Tree};
use source::Source;

#[test]
fn the_tree_is_tidy() {
    let sources = source::workspace();
    let is_this_file = |source: &Source| source.path == "crates/keyaki/tests/it/tidy.rs";
    assert!(sources.iter().any(is_this_file), "looked in the wrong place");
    let findings: Vec<_> = RULES.iter().flat_map(|rule| apply(*rule, &sources)).collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

/// What a rule finds, as `path:line: message`.
fn apply(rule: Rule, sources: &[Source]) -> Vec<String> {
    let tree = Tree::new(sources);
    let mut list = Vec::new();
    for source in sources {
        for (line, message) in rule(&tree, source) {
            list.push(format!("{}:{line}: {message}", source.path));
        }
    }
    list
}

/// Where a rule finds something in planted files, as `path:line`.
fn places(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let planted: Vec<_> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
    let place = |finding: &String| finding.split(": ").next().map(str::to_owned);
    apply(rule, &planted).iter().filter_map(place).collect()
}

/// Whether `rule` finds something in a file of the library.
fn fires(rule: Rule, path: &str, text: &str) -> bool {
    let lib = "pub mod store;\npub use store::{Store, scan::Scan};\npub use crate::engine::memory::Memory;";
    let path = format!("crates/keyaki/src/{path}");
    !places(rule, &[("crates/keyaki/src/lib.rs", lib), (&path, text)]).is_empty()
}

#[test]
fn an_upward_path_is_found_however_it_is_written() {
    let fires = |path, text| fires(rules::layers_point_down, path, text);
    assert!(fires("engine/mod.rs", "use crate::store::Store;"));
    assert!(fires("engine/mod.rs", "use crate::{\n  cell::Key,\n  store::{self, scan},\n};"));
    assert!(fires("cell/key.rs", "fn f() -> crate::engine::Block { todo }"));
    assert!(fires(
        "store/scan.rs",
        "pub(crate) use crate::bucket;\nuse crate::bucket::graph as g;"
    ));
    assert!(fires("engine/embedded/writer.rs", "use super::super::super::catalog::Acl;"));
    assert!(fires("engine/embedded/writer.rs", "use super::{super::{super::catalog::Acl}, scan};"));
    assert!(fires("engine/mod.rs", "use super::store::Store;"));
    assert!(fires("engine/mod.rs", "use crate::*;"));
    assert!(fires("error.rs", "use crate::cell::Key;"));
}

#[test]
fn an_upward_path_through_the_front_page_is_found() {
    let fires = |path, text| fires(rules::layers_point_down, path, text);
    assert!(fires("engine/memory.rs", "use crate::Store;"));
    assert!(fires("cell/key.rs", "use crate::{Scan, Error};"));
    assert!(!fires("bucket/mod.rs", "use crate::{Scan, Store, Memory};"));
}

#[test]
fn downward_and_sideways_paths_are_fine() {
    let fires = |path, text| fires(rules::layers_point_down, path, text);
    assert!(!fires(
        "catalog/acl.rs",
        "use crate::{bucket, store::Store, engine, cell, error, settings};"
    ));
    assert!(!fires(
        "store/scan.rs",
        "use super::commit; use crate::store::view; use super::super::cell;"
    ));
    assert!(!fires("cell/key.rs", "// see crate::store::Store\nlet a = \"crate::store::Store\";"));
    assert!(!fires("testing/workload.rs", "use crate::catalog::Acl; use crate::testing::clock;"));
}

#[test]
fn only_tests_use_what_is_for_testing() {
    let fires = |path, text| fires(rules::layers_point_down, path, text);
    assert!(fires("store/mod.rs", "use crate::testing::FakeClock;"));
    assert!(fires("store/mod.rs", "#[cfg(test)]\nuse a;\nuse crate::testing::FakeClock;"));
    assert!(!fires(
        "store/mod.rs",
        "#[cfg(test)]\nmod tests {\n  use crate::testing::FakeClock;\n}"
    ));
    assert!(!fires("store/tests.rs", "use crate::testing::FakeClock;"));
}

#[test]
fn a_module_outside_the_layers_is_found() {
    assert!(fires(rules::layers_point_down, "util.rs", ""));
}

#[test]
fn a_bucket_that_names_an_engine_is_found() {
    let fires = |path, text| fires(rules::buckets_name_no_engine, path, text);
    assert!(fires("bucket/graph/mod.rs", "use crate::engine::{Engine, embedded};"));
    assert!(fires("bucket/graph/mod.rs", "use crate::engine::MemoryEngine;"));
    assert!(fires("catalog/mod.rs", "fn f(engine: crate::Memory) {}"));
    assert!(!fires("bucket/graph/mod.rs", "use crate::engine::Engine;"));
    assert!(!fires("store/mod.rs", "use crate::engine::embedded::Embedded;"));
}

#[test]
fn the_disk_outside_the_embedded_engine_is_found() {
    let fires = |path, text| fires(rules::disk_stays_in_the_embedded_engine, path, text);
    assert!(fires("store/mod.rs", "use rocksdb::DB;"));
    assert!(fires("engine/memory.rs", "use std::{collections::BTreeMap, fs::File};"));
    assert!(fires("engine/mod.rs", "fn f() { tokio::fs::read(\"a\") }"));
    assert!(!fires("engine/embedded/scan.rs", "use rocksdb::DB; use std::fs;"));
    assert!(!fires("store/mod.rs", "//! Not rocksdb.\n#[cfg(test)]\nmod tests { use std::fs; }"));
    let server = [("crates/keyaki-server/src/main.rs", "use std::fs;\nuse rocksdb::DB;")];
    let found = places(rules::disk_stays_in_the_embedded_engine, &server);
    assert_eq!(found, ["crates/keyaki-server/src/main.rs:2"]);
}

#[test]
fn a_library_that_names_the_program_is_found() {
    let fires = |path, text| fires(rules::library_ignores_the_program, path, text);
    assert!(fires("store/mod.rs", "fn f() { keyaki_server::run() }"));
    assert!(!fires("store/mod.rs", "// The program is keyaki_server."));
}

#[test]
fn a_file_that_no_mod_reaches_is_found() {
    let files = [
        ("crates/keyaki/src/lib.rs", "mod cell;\npub mod engine;\n// mod lost;"),
        ("crates/keyaki/src/cell/mod.rs", "mod key;\nmod inline { fn f() {} }"),
        ("crates/keyaki/src/cell/key.rs", "#[cfg(test)]\nmod tests;"),
        ("crates/keyaki/src/cell/key/tests.rs", ""),
        ("crates/keyaki/src/engine.rs", "mod memory;"),
        ("crates/keyaki/src/engine/memory.rs", ""),
        ("crates/keyaki/src/lost.rs", ""),
        ("crates/keyaki/src/cell/inline.rs", ""),
        ("crates/keyaki/tests/it/main.rs", "mod tidy;"),
        ("crates/keyaki/tests/it/tidy.rs", ""),
        ("crates/keyaki/tests/second.rs", ""),
    ];
    let lost = ["src/lost.rs:1", "src/cell/inline.rs:1", "tests/second.rs:1"];
    let expected = lost.map(|place| format!("crates/keyaki/{place}"));
    assert_eq!(places(rules::every_file_is_reached, &files), expected);
}

#[test]
fn a_file_too_long_or_without_an_introduction_is_found() {
    let long = format!("//! Long.{}", "\n".repeat(601));
    let files = [
        ("crates/keyaki/src/cell/long.rs", long.as_str()),
        ("crates/keyaki/src/cell/bare.rs", "use std::fmt;\n//! Too late."),
        ("crates/keyaki/src/cell/fine.rs", "//! What it is for."),
        ("crates/keyaki/src/cell/tests.rs", "use super::*;"),
    ];
    let expected =
        ["long.rs:601", "bare.rs:1"].map(|place| format!("crates/keyaki/src/cell/{place}"));
    assert_eq!(places(rules::files_are_short_and_introduced, &files), expected);
}

#[test]
fn leftovers_are_found() {
    let fires = |text| fires(rules::nothing_is_left_over, "cell/key.rs", text);
    assert!(fires("fn f() { dbg!(1); }"));
    assert!(fires("fn f() { todo!() }"));
    assert!(fires("fn f() { unimplemented ! {} }"));
    assert!(fires("// FIXME: later"));
    assert!(fires("/* XXX */"));
    assert!(!fires(
        "fn dbg() {}\n/// Prints as `dbg!` does; XXXL.\nconst A: &str = \"FIXME dbg!()\";"
    ));
}
