//! Whole graphs: read in parts, exported to files, and imported again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{Engine, ScanRequest, Write};
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::Store;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use super::super::{ADMIN, Server};
use super::{add, all, at, edge, make, settings, with_graph};
use crate::{Ran, keyaki};

const ELEMENTS: &str = "/v1/d.example/g/elements";

cases! {
    elements_are_read_whole_and_in_parts,
    parts_are_of_one_graph_and_for_those_who_may_read_it,
    another_text_under_the_same_key_is_refused,
    an_export_can_be_imported_again,
    an_export_is_what_the_token_may_see,
    parquet_has_typed_columns,
    csv_is_imported_by_its_mapping,
    an_import_tells_what_is_wrong,
    a_large_import_that_is_refused_learns_why,
}

/// Runs the program against a server, on its graph `g` or another one.
fn run(server: &Server, command: &str, graph: &str, arguments: &[&str]) -> Ran {
    run_as(server, ADMIN, command, graph, arguments)
}

fn run_as(server: &Server, token: &str, command: &str, graph: &str, arguments: &[&str]) -> Ran {
    let bucket = server.own(&format!("d.example/{graph}"));
    let remote = ["--server", &server.process.address, "--token", token];
    let all: Vec<&str> =
        [command, &bucket].iter().chain(arguments).chain(&remote).copied().collect();
    keyaki(&all)
}

/// Directed and undirected edges, loops and entities, some of them equal.
fn fill(server: &Server) {
    let mut elements = Vec::new();
    for i in 0..300 {
        let mut one = edge(&format!("a{}", i % 40), &format!("a{}", i % 70), i);
        one["directed"] = json!(i % 3 != 0);
        elements.push(one);
        let name = format!("a{}", i % 50);
        let count = json!({"java.lang.Long": 1});
        elements.push(json!({"group": "person", "vertex": name, "properties": {"count": count}}));
    }
    let sent = server.ask("POST", ELEMENTS).admin().json(&json!(elements));
    assert_eq!(sent.status, 200, "{sent:?}");
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn sorted(all: &Value) -> Vec<String> {
    let mut all: Vec<String> = all.as_array().unwrap().iter().map(Value::to_string).collect();
    all.sort();
    all
}

fn all_of(server: &Server, graph: &str) -> Vec<String> {
    let chain = json!({"class": "GetAllElements"});
    let got = server.ask("POST", &super::execute(graph)).admin().settled().json(&chain);
    sorted(&got.value())
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn elements_are_read_whole_and_in_parts(server: &Server) {
    with_graph(server);
    let empty = server.ask("GET", ELEMENTS).send();
    assert_eq!((empty.status, empty.text()), (200, ""));
    fill(server);
    let whole = server.ask("GET", ELEMENTS).settled().send();
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("application/x-ndjson")));
    let parsed: Vec<Value> =
        whole.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(sorted(&json!(parsed)), sorted(&all(server)), "each edge once");
    for parts in [1, 3, 16] {
        let path = format!("{ELEMENTS}/splits?parts={parts}");
        let splits = server.ask("GET", &path).settled().send().value();
        let splits = splits["items"].as_array().unwrap();
        assert!(splits.len() <= 2 * parts && splits.len() >= 2, "{splits:?}");
        let mut together = Vec::new();
        for split in splits {
            let path = format!("{ELEMENTS}?split={}", split["split"].as_str().unwrap());
            let part = server.ask("GET", &path).send();
            assert_eq!(part.status, 200, "{part:?}");
            let of_group = format!("\"group\":{}", split["group"]);
            assert!(part.text().lines().all(|line| line.contains(&of_group)), "{split}");
            together.extend(lines(part.text()));
        }
        together.sort();
        assert_eq!(together, lines(whole.text()), "{parts} parts");
    }
    let head = server.ask("HEAD", ELEMENTS).send();
    assert_eq!((head.status, head.bytes.len()), (200, 0));
}

fn parts_are_of_one_graph_and_for_those_who_may_read_it(server: &Server) {
    with_graph(server);
    make(server, "h", super::schema());
    fill(server);
    let splits = server.ask("GET", &format!("{ELEMENTS}/splits?parts=1")).send().value();
    let split = splits["items"][0]["split"].as_str().unwrap();
    let elsewhere = format!("{}/elements?split={split}", at("h"));
    for path in
        [&elsewhere[..], "/v1/d.example/g/elements?split=x", "/v1/d.example/g/elements?split="]
    {
        let refused = server.ask("GET", path).send();
        refused.demand_problem(400);
        assert_eq!(refused.value()["parameter"], "split", "{path}");
    }
    for path in ["splits?parts=0", "splits?parts=1001", "splits?parts=x", "splits?limit=1"] {
        server.ask("GET", &format!("{ELEMENTS}/{path}")).send().demand_problem(400);
    }
    server.ask("GET", ELEMENTS).with("Accept", "text/csv").send().demand_problem(406);
    // Limits of chains hold here too: nobody reads more by asking for all at once.
    let mut closed = settings(json!({"schema": super::schema(), "limits": {"*": {"results": 10}}}));
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&closed).status, 200);
    server.ask("GET", ELEMENTS).send().demand_problem(400);
    closed["acl"] = json!({"read": [[{"type": "role", "anyOf": ["reader"]}]]});
    assert_eq!(server.ask("PUT", &at("g")).admin().json(&closed).status, 200);
    let path = format!("{ELEMENTS}?split={split}");
    for path in [ELEMENTS, &path[..], "/v1/d.example/g/elements/splits"] {
        server.ask("GET", path).send().demand_problem(401);
    }
}

fn another_text_under_the_same_key_is_refused(server: &Server) {
    with_graph(server);
    let send = |kind: &str, query: &str, body: &str| {
        let asked = server.ask("POST", &format!("{ELEMENTS}{query}")).admin();
        asked.with("Idempotency-Key", kind).with("Content-Type", kind).body(body.as_bytes())
    };
    let ndjson = |count| format!("{}\n{}\n", edge("a", "b", 1), edge("a", "b", count));
    assert_eq!(send("application/x-ndjson", "", &ndjson(2)).status, 200);
    let before = all(server);
    send("application/x-ndjson", "", &ndjson(3)).demand_problem(409);
    let again = send("application/x-ndjson", "", &ndjson(2));
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
    assert_eq!(all(server), before);
    let csv = "source,destination,count\nc,d,1\n";
    let query = "?group=knows&map=x:y";
    assert_eq!(send("text/csv", query, csv).status, 200);
    send("text/csv", query, "destination,source,count\nc,d,1\n").demand_problem(409);
    send("text/csv", "?group=knows&map=count:", csv).demand_problem(409);
    let again = send("text/csv", query, csv);
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
}

fn an_export_can_be_imported_again(server: &Server) {
    with_graph(server);
    make(server, "h", super::schema());
    fill(server);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out");
    let (to, elements) = (to.to_str().unwrap(), all_of(server, "g"));
    let told = format!("exported {} elements", elements.len());
    run(server, "export", "g", &[to, "--format", "ndjson", "--splits", "3"]).expect(0, &[&told]);
    let written = files(Path::new(to));
    assert!(written.len() > 2 && written.len() <= 6, "{written:?}");
    assert!(written.iter().all(|file| file.extension().unwrap() == "ndjson"), "{written:?}");
    assert!(written[0].ends_with("edges/knows/part-00000.ndjson"), "{written:?}");
    run(server, "export", "g", &[to, "--format", "ndjson"]).expect(2, &["exists"]);
    let first = run(server, "import", "h", &[to, "--json"]).expect(0, &[]).json();
    assert_eq!(first["accepted"], elements.len(), "{first}");
    assert_eq!(first["replayed"], 0);
    assert_eq!(all_of(server, "h"), elements);
    let again = run(server, "import", "h", &[to, "--json"]).expect(0, &[]).json();
    assert_eq!((&again["accepted"], &again["replayed"]), (&first["accepted"], &again["chunks"]));
    assert_eq!(all_of(server, "h"), elements, "a file counts once");
    run(server, "import", "h", &[to, "--key", "more"]).expect(0, &["imported"]);
    assert_ne!(all_of(server, "h"), elements, "unless it is told otherwise");
}

fn an_export_is_what_the_token_may_see(server: &Server) {
    with_graph(server);
    let writer = server.token("wanda", &["editor"], &["blue"]);
    let mut hidden = edge("x", "y", 1);
    hidden["properties"]["vis"] = json!("blue");
    let sent = server.ask("POST", ELEMENTS).bearer(&writer).json(&json!([hidden]));
    assert_eq!(sent.status, 200, "{sent:?}");
    add(server, &json!([edge("a", "b", 1)]));
    let folder = tempfile::tempdir().unwrap();
    let exported = |token: &str| {
        let to = folder.path().join(token);
        let arguments = [to.to_str().unwrap(), "--format", "ndjson", "--splits", "1"];
        run_as(server, token, "export", "g", &arguments).expect(0, &[]);
        let texts: Vec<String> =
            files(&to).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        texts.concat().lines().count()
    };
    all(server);
    assert_eq!((exported(ADMIN), exported(&writer)), (1, 2));
}

fn parquet_has_typed_columns(server: &Server) {
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    let types = [
        "String",
        "Boolean",
        "Byte",
        "Short",
        "Integer",
        "Long",
        "Float",
        "Double",
        "Date",
        "TreeSet",
        "FreqMap",
        "HashMap",
        "TypeValue",
        "byte[]",
    ];
    let named: serde_json::Map<String, Value> =
        types.iter().map(|class| ((*class).to_owned(), json!({"class": class}))).collect();
    let properties: serde_json::Map<String, Value> =
        types.iter().map(|class| (class.to_lowercase(), json!(class))).collect();
    make(
        server,
        "g",
        json!({
            "edges": {"odd|name+": {"source": "Long", "destination": "Long", "directed": "Boolean",
                                      "properties": properties, "aggregate": false}},
            "entities": {"thing": {"vertex": "Long", "properties": {"vertex": "Integer"}, "aggregate": false}},
            "types": named
        }),
    );
    let full = json!({
        "string": "text", "boolean": true, "byte": {"Byte": -1}, "short": {"Short": -2}, "integer": -3,
        "long": {"Long": 1_i64 << 60}, "float": {"Float": 0.5}, "double": 0.25, "date": {"Date": 1_700_000_000_123_i64},
        "treeset": {"TreeSet": ["b", "a"]}, "freqmap": {"FreqMap": {"x": 3}}, "hashmap": {"HashMap": {"k": 1}},
        "typevalue": {"TypeValue": {"type": "t", "value": "v"}}, "byte[]": {"[B": "AQI="}
    });
    let from = |source: i64, properties: Value| {
        json!({"group": "odd|name+", "source": {"Long": source}, "destination": {"Long": 2}, "directed": true,
               "properties": properties})
    };
    let thing = json!({"group": "thing", "vertex": {"Long": 9}, "properties": {"vertex": 4}});
    let elements = json!([from(1, full), from(3, json!({})), thing]);
    let sent = server.ask("POST", ELEMENTS).admin().json(&elements);
    assert_eq!(sent.status, 200, "{sent:?}");
    all(server);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out");
    let arguments = [to.to_str().unwrap(), "--format", "parquet", "--splits", "1"];
    run(server, "export", "g", &arguments).expect(0, &["exported 3 elements", "in 2 files"]);
    let rows = |place: &str| -> Vec<Value> {
        let reader = SerializedFileReader::new(File::open(to.join(place)).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| {
            let fields = row.unwrap();
            let fields = fields.get_column_iter();
            fields.map(|(name, field)| (name.clone(), json!(field.to_string()))).collect()
        })
        .collect()
    };
    let mut edges = rows("edges/odd%7Cname%2B/part-00000.parquet");
    // Partitions are in no order on a cluster.
    edges.sort_by_key(|edge| edge["source"].to_string());
    let has = |name: &str, text: &str| assert_eq!(edges[0][name], text, "{name}: {edges:?}");
    assert_eq!(edges.len(), 2);
    for (name, text) in [
        ("group", "\"odd|name+\""),
        ("source", "1"),
        ("destination", "2"),
        ("directed", "true"),
        ("string", "\"text\""),
        ("boolean", "true"),
        ("byte", "-1"),
        ("short", "-2"),
        ("integer", "-3"),
        ("long", "1152921504606846976"),
        ("float", "0.5"),
        ("double", "0.25"),
        ("date", "2023-11-14 22:13:20.123 +00:00"),
        ("treeset", "[\"a\", \"b\"]"),
        ("freqmap", "{\"x\" -> 3}"),
        ("hashmap", "{\"k\" -> \"1\"}"),
        ("byte[]", "[1, 2]"),
    ] {
        has(name, text);
    }
    assert!(edges[0]["typevalue"].as_str().unwrap().contains("TypeValue"), "{edges:?}");
    assert_eq!((&edges[1]["long"], &edges[1]["hashmap"]), (&json!("null"), &json!("null")));
    let things = rows("entities/thing/part-00000.parquet");
    assert_eq!((&things[0]["vertex"], &things[0]["property_vertex"]), (&json!("9"), &json!("4")));
}

fn csv_is_imported_by_its_mapping(server: &Server) {
    with_graph(server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    fs::write(&file, "from,to,n\na,b,1\na,b,2\nb,c,4\n").unwrap();
    let file = file.to_str().unwrap();
    let map = ["--map", "from:source,to:destination,n:count", "--group", "knows"];
    let arguments: Vec<&str> = [file].iter().chain(&map).copied().collect();
    let said =
        "imported 1 file: 3 elements accepted, 1 became one with others, 0 rejected; 1 chunk\n";
    run(server, "import", "g", &arguments).expect(0, &[said]);
    run(server, "import", "g", &arguments).expect(0, &["1 chunk, 1 of them there before"]);
    let counts: BTreeSet<String> = all(server)
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["properties"]["count"].to_string())
        .collect();
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>().join(""),
        r#"{"java.lang.Long":3}{"java.lang.Long":4}"#
    );
    run(server, "import", "g", &[file, "--directed", "false", map[0], map[1], map[2], map[3]])
        .expect(0, &["1 chunk\n"]);
}

fn an_import_tells_what_is_wrong(server: &Server) {
    with_graph(server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.ndjson");
    fs::write(&file, format!("{}\n{{\"group\":\"nope\",\"vertex\":\"a\"}}\n", edge("a", "b", 1)))
        .unwrap();
    let file = file.to_str().unwrap();
    run(server, "import", "g", &[file]).expect(2, &["edges.ndjson", "422", "nope", "index 1"]);
    assert_eq!(all(server), json!([]));
    let skipped = run(server, "import", "g", &[file, "--skip-invalid"]);
    skipped.expect(1, &["1 element accepted", "1 rejected", "element 1: No element definition"]);
    run(server, "import", "nothing", &[file]).expect(2, &["there is no such bucket"]);
    run(server, "import", "g/x", &[file]).expect(2, &["say DOMAIN/BUCKET"]);
    run_as(server, "no-token", "import", "g", &[file]).expect(2, &["401", "--token"]);
    let other = folder.path().join("edges.txt");
    fs::copy(file, &other).unwrap();
    let other = other.to_str().unwrap();
    run(server, "import", "g", &[other]).expect(2, &["say --format"]);
    run(server, "import", "g", &[other, "--format", "csv"]).expect(2, &["422", "quoted"]);
    run(server, "import", "g", &["/no/such/file.csv"]).expect(2, &["/no/such/file.csv"]);
    let nowhere = ["import", "d/b", file, "--server", "http://127.0.0.1:1", "--retries", "0"];
    keyaki(&nowhere).expect(2, &["can't be reached", "the same command again"]);
    keyaki(&["import", "d/b", file, "--server", "ftp://x"]).expect(2, &["neither http"]);
}

/// The server answers while most of the body is still to come, and closes the connection behind its answer.
fn a_large_import_that_is_refused_learns_why(server: &Server) {
    with_graph(server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.ndjson");
    let mut text = format!("{}\nnonsense\n", edge("a", "b", 1));
    for i in 0..200_000 {
        writeln!(text, "{}", edge("a", &i.to_string(), 1)).unwrap();
    }
    fs::write(&file, text).unwrap();
    run(server, "import", "g", &[file.to_str().unwrap()]).expect(2, &["422", "index 1"]);
}

/// Groups without rules are known from the catalog.
#[test]
fn a_check_finds_an_edge_that_is_under_one_end_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let server = Server::on(&store, &[]);
    let mut apart = super::schema();
    apart["edges"]["knows"]["aggregate"] = json!(false);
    assert_eq!(server.ask("PUT", "/v1/d.example").admin().json(&json!({})).status, 201);
    make(&server, "g", apart);
    fill(&server);
    assert_eq!(server.stop(), Some(0));
    let check = || keyaki(&["check".as_ref(), store.as_os_str()]);
    check().expect(0, &["Sound"]);
    plant(&store);
    check().expect(
        1,
        &["NOT SOUND: 1 problem", "an edge is missing under its other end", "group=knows"],
    );
}

/// Deletes one of the two cells of an edge.
fn plant(store: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let rules = keyaki::bucket::rules();
    let engine =
        Arc::new(EmbeddedEngine::open(store, &EmbeddedSettings::default(), rules).unwrap());
    let space = engine
        .spaces()
        .into_iter()
        .find(|space| space.spec.label.starts_with("elements.") && space.spec.merge.is_none());
    let space = space.unwrap();
    let settings = StoreSettings { sweep_every: None, ..StoreSettings::default() };
    let bucket = Store::new(engine.clone(), settings, 7).bucket(space.spec.bucket).unwrap();
    runtime.block_on(async {
        let whole = engine.splits(space.id, 1).await.unwrap().remove(0);
        let mut scan = engine.scan(ScanRequest::split(space.id, whole)).await.unwrap();
        let block = scan.next_block().await.unwrap().unwrap();
        // Behind the flag and the other vertex: that of a loop would be the same.
        let cell =
            block.iter().find(|cell| !cell.sort()[2..].starts_with(&cell.partition())).unwrap();
        let committed = bucket.commit(b"planted", |draft| {
            draft.dependent(space.id, &cell.partition(), cell.sort(), Write::Delete);
            Ok(())
        });
        committed.await.unwrap().tid().unwrap();
    });
}
