//! The demo's graph: two railway lines of Tokyo. Each line adds its stations, so one that is on both lines is counted by
//! both: equal elements become one.

use keyaki::Result;
use keyaki::bucket::graph::{Graph, Ingest, IngestOptions};
use keyaki::catalog::GraphOptions;
use serde_json::{Value as Json, json};

/// A line that ends where it begins.
const YAMANOTE: [&str; 30] = [
    "Tokyo",
    "Kanda",
    "Akihabara",
    "Okachimachi",
    "Ueno",
    "Uguisudani",
    "Nippori",
    "Nishi-Nippori",
    "Tabata",
    "Komagome",
    "Sugamo",
    "Otsuka",
    "Ikebukuro",
    "Mejiro",
    "Takadanobaba",
    "Shin-Okubo",
    "Shinjuku",
    "Yoyogi",
    "Harajuku",
    "Shibuya",
    "Ebisu",
    "Meguro",
    "Gotanda",
    "Osaki",
    "Shinagawa",
    "Takanawa Gateway",
    "Tamachi",
    "Hamamatsucho",
    "Shimbashi",
    "Yurakucho",
];
const CHUO: [&str; 5] = ["Tokyo", "Kanda", "Ochanomizu", "Yotsuya", "Shinjuku"];

/// Stations count their lines, and tracks say which line they are of.
pub fn options() -> GraphOptions {
    GraphOptions {
        schema: json!({
            "entities": {"station": {"vertex": "name", "properties": {"lines": "count"}}},
            "edges": {"track": {
                "source": "name", "destination": "name", "directed": "undirected",
                "properties": {"line": "line"}, "groupBy": ["line"],
            }},
            "types": {
                "name": {"class": "java.lang.String"},
                "line": {
                    "class": "java.lang.String",
                    "aggregateFunction": {"class": "uk.gov.gchq.koryphe.impl.binaryoperator.First"},
                },
                "undirected": {"class": "java.lang.Boolean"},
                "count": {
                    "class": "java.lang.Long",
                    "aggregateFunction": {"class": "uk.gov.gchq.koryphe.impl.binaryoperator.Sum"},
                },
            },
        }),
        key_package: "byteEntity".to_owned(),
        replay_window: None,
        changes: Default::default(),
        limits: Default::default(),
    }
}

/// Adds both lines.
pub async fn fill(graph: &Graph, user: Option<String>) -> Result<()> {
    let mut ingest = Ingest::new(graph.writer(user, None), IngestOptions::default());
    let around = YAMANOTE.iter().zip(YAMANOTE.iter().cycle().skip(1));
    let across = CHUO.iter().zip(&CHUO[1..]);
    let tracks = around
        .map(|(from, to)| track("Yamanote", from, to))
        .chain(across.map(|(from, to)| track("Chuo", from, to)));
    let stations = YAMANOTE.iter().chain(&CHUO).map(|name| station(name));
    for json in tracks.chain(stations) {
        ingest.push(graph.schema().element_from_json(&json)).await?;
    }
    ingest.finish().await.map(drop)
}

fn track(line: &str, from: &str, to: &str) -> Json {
    json!({"group": "track", "source": from, "destination": to, "directed": false, "properties": {"line": line}})
}

fn station(name: &str) -> Json {
    json!({"group": "station", "vertex": name, "properties": {"lines": {"java.lang.Long": 1}}})
}
