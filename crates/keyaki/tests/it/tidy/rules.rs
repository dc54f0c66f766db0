//! The rules, one small function each: a file in, what is wrong with it and on which line out.
//!
//! The compiler and clippy cannot know these: which module may name which, that every file is
//! reached and introduces itself. What they can know belongs in `clippy.toml`.

use std::collections::{HashMap, HashSet};

use super::source::{Source, paths, tokens};

pub type Findings = Vec<(usize, String)>;
pub type Rule = for<'a> fn(&Tree<'a>, &'a Source) -> Findings;

pub const RULES: [Rule; 7] = [
    layers_point_down,
    buckets_name_no_engine,
    disk_stays_in_the_embedded_engine,
    library_ignores_the_program,
    every_file_is_reached,
    files_are_short_and_introduced,
    nothing_is_left_over,
];

/// The library's modules. Each may name those of its own height and below: everyone may use the
/// first two, which stand on nothing; the last may use everything, and only tests may use it.
const HEIGHTS: [(&str, usize); 8] = [
    ("error", 0),
    ("settings", 0),
    ("cell", 1),
    ("engine", 2),
    ("store", 3),
    ("bucket", 4),
    ("catalog", 5),
    ("testing", 6),
];

const ENGINES: [&str; 3] = ["embedded", "memory", "cql"];

/// Where RocksDB may be named: in its engine, and where we compare with it or damage it.
const KNOW_ROCKSDB: [&str; 3] =
    ["crates/keyaki/src/engine/embedded/", "crates/keyaki/tests/", "crates/keyaki-bench/"];

const LINES_MAX: usize = 600;

/// Files that may be longer, each with its reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// What a rule must know of the other files.
pub struct Tree<'a> {
    /// What the library's front page re-exports: the name, and where it comes from.
    exports: HashMap<&'a str, Vec<&'a str>>,
    /// The paths at which the `mod` lines of all files look for their modules.
    declared: HashSet<String>,
}

impl<'a> Tree<'a> {
    pub fn new(sources: &'a [Source]) -> Tree<'a> {
        let mut exports = HashMap::new();
        for source in sources.iter().filter(|source| source.is_front_page()) {
            for mut path in paths(&source.code) {
                path.segments.retain(|name| !matches!(*name, "crate" | "self"));
                exports.extend(path.segments.last().copied().map(|name| (name, path.segments)));
            }
        }
        let declared = sources.iter().flat_map(declared_files).collect();
        Tree { exports, declared }
    }

    /// The paths in a file of the library that lead into the library, from its root.
    fn inner_paths(&self, source: &'a Source) -> Vec<(usize, Vec<&'a str>)> {
        let module = source.module();
        let mut found = Vec::new();
        for path in paths(&source.code) {
            let climbs = path.segments.iter().take_while(|name| **name == "super").count();
            let inner = match path.segments[..] {
                ["crate", name, ..] if self.exports.contains_key(name) => {
                    self.exports[name].clone()
                }
                ["crate", ..] => path.segments[1..].to_vec(),
                ["super", ..] => {
                    let stays = module.len().saturating_sub(climbs);
                    [&module[..stays], &path.segments[climbs..]].concat()
                }
                _ => continue,
            };
            found.push((path.line, inner));
        }
        found
    }
}

pub fn layers_point_down<'a>(tree: &Tree<'a>, source: &'a Source) -> Findings {
    let [layer, ..] = source.module()[..] else {
        return Vec::new();
    };
    let Some(own) = height(layer) else {
        return vec![(1, format!("`{layer}` is no layer we know"))];
    };
    let mut findings = Vec::new();
    for (line, path) in tree.inner_paths(source) {
        let name = path.first().copied().unwrap_or_default();
        let is_above = height(name).is_some_and(|other| other > own);
        let is_for_tests = name == "testing" && source.is_test_at(line);
        if name == "*" {
            findings.push((line, "imports the whole crate: name what is used".into()));
        } else if is_above && !is_for_tests {
            let path = path.join("::");
            findings.push((line, format!("`{layer}` names `{path}`, which is above it")));
        }
    }
    findings
}

pub fn buckets_name_no_engine<'a>(tree: &Tree<'a>, source: &'a Source) -> Findings {
    let is_engine = |name: &&str| ENGINES.iter().any(|e| name.to_lowercase().starts_with(e));
    let mut findings = Vec::new();
    if let ["bucket" | "catalog", ..] = source.module()[..] {
        for (line, path) in tree.inner_paths(source) {
            let names_engine = path.first() == Some(&"engine") && path.iter().any(is_engine);
            if names_engine && !source.is_test_at(line) {
                let path = path.join("::");
                findings.push((line, format!("names `{path}`: the store knows its engine")));
            }
        }
    }
    findings
}

pub fn disk_stays_in_the_embedded_engine<'a>(_: &Tree<'a>, source: &'a Source) -> Findings {
    if KNOW_ROCKSDB.iter().any(|place| source.path.starts_with(place)) {
        return Vec::new();
    }
    let mut findings = places_of("rocksdb", source, "RocksDB is known to engine/embedded alone");
    let may_use_files = !source.is_library() || source.module().first() == Some(&"testing");
    for path in paths(&source.code) {
        let is_files = matches!(path.segments[..], ["std" | "tokio", "fs", ..]);
        if is_files && !may_use_files && !source.is_test_at(path.line) {
            findings.push((path.line, "only engine/embedded touches files".into()));
        }
    }
    findings
}

pub fn library_ignores_the_program<'a>(_: &Tree<'a>, source: &'a Source) -> Findings {
    if !source.path.starts_with("crates/keyaki/") {
        return Vec::new();
    }
    places_of("keyaki_server", source, "the library does not know the program")
}

pub fn every_file_is_reached<'a>(tree: &Tree<'a>, source: &'a Source) -> Findings {
    let inside = source.path.splitn(3, '/').nth(2).unwrap_or_default();
    let is_root = matches!(inside, "src/lib.rs" | "src/main.rs" | "tests/it/main.rs" | "build.rs");
    if is_root || inside.starts_with("src/bin/") || tree.declared.contains(&source.path) {
        return Vec::new();
    }
    let message = "no `mod` reaches this file (a crate has one test binary, tests/it)";
    vec![(1, message.into())]
}

pub fn files_are_short_and_introduced<'a>(_: &Tree<'a>, source: &'a Source) -> Findings {
    let mut findings = Vec::new();
    let lines = source.text.lines().count();
    let is_listed = LONG_FILES.iter().any(|(path, _)| *path == source.path);
    if lines > LINES_MAX && !is_listed {
        let message = format!("{lines} lines: find the second idea, or list it with a reason");
        findings.push((LINES_MAX + 1, message));
    }
    if lines <= LINES_MAX && is_listed {
        findings.push((1, "is no longer long: take it off the list".into()));
    }
    if !source.is_test() && !source.text.starts_with("//!") {
        findings.push((1, "opens without `//!`: what is this file for?".into()));
    }
    findings
}

pub fn nothing_is_left_over<'a>(_: &Tree<'a>, source: &'a Source) -> Findings {
    let mut findings = Vec::new();
    for pair in tokens(&source.code).windows(2) {
        let name = pair[0].text;
        if matches!(name, "dbg" | "todo" | "unimplemented") && pair[1].text == "!" {
            findings.push((pair[0].line, format!("a leftover `{name}!`")));
        }
    }
    for token in tokens(&source.comments) {
        if matches!(token.text, "FIXME" | "TODO" | "XXX") {
            findings.push((token.line, format!("`{}`: do it, or open an issue", token.text)));
        }
    }
    findings
}

fn height(module: &str) -> Option<usize> {
    let found = HEIGHTS.iter().find(|(name, _)| *name == module);
    found.map(|(_, height)| *height)
}

fn places_of(word: &str, source: &Source, message: &str) -> Findings {
    let tokens = tokens(&source.code);
    let places = tokens.iter().filter(|token| token.text == word);
    places.map(|token| (token.line, message.to_owned())).collect()
}

/// Both places where each `mod name;` of a file may find its module.
fn declared_files(source: &Source) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or_default();
    let folder = match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder,
        _ => source.path.trim_end_matches(".rs"),
    };
    let mut files = Vec::new();
    for line in tokens(&source.code).windows(3) {
        if let ["mod", name, ";"] = [0, 1, 2].map(|at| line[at].text) {
            files.push(format!("{folder}/{name}.rs"));
            files.push(format!("{folder}/{name}/mod.rs"));
        }
    }
    files
}
