//! The suite `graph`: the graph bucket beside RocksDB with the same cells, and beside what Gaffer 2.3.2 on Accumulo did
//! with the same data on a machine like ours.
//!
//! Data is the reference generator's (`data`), the schema that of `schema.json`. Each side works alone while the other
//! rests. Rates are by the wall until the work was accepted or read, CPU until compaction has settled.
//!
//! | figure                  | what                                                       | baseline               | bar |
//! |-------------------------|------------------------------------------------------------|------------------------|-----|
//! | `graph.ingest`          | the second million edges into a graph that holds the first | the same cells by hand | 0.5 |
//! | `graph.ingest_cpu`      | CPU of that, per edge, until settled                       | 8 µs                   | 1   |
//! | `graph.rss`             | the most memory during it                                  | the settings and a base| 1   |
//! | `graph.vertex`          | all edges of a random vertex, by one operation             | a bare prefix scan     | 0.5 |
//! | `graph.seeds`           | 10,000 seeds in one operation                              | 37,000 seeds/s         | 1   |
//! | `graph.two_hops`        | two hops from 1,000 seeds                                  | 3,000 seeds/s          | 1   |
//! | `graph.scan`            | all elements                                               | 1,000,000 elements/s   | 1   |
//! | `graph.scan_aggregated` | all elements, folded by source and destination             | 1,000,000 elements/s   | 1   |
//! | `graph.hub_entity`      | the entity of a vertex with a million edges                | that of one with ten, times 3 | 1 |
//! | `graph.hub_memory`      | memory while its edges stream                              | 64 MiB                 | 1   |
//!
//! What goes over HTTP (NDJSON ingest, single seeds on 16 connections) is measured in `http`.

use std::path::Path;

use keyaki::settings::EmbeddedSettings;

use crate::Result;
use crate::figure::Report;

mod bare;
mod data;
mod hub;
mod ingest;
mod ours;
mod reads;

/// How much work is done, at full scale.
struct Amounts {
    edges: usize,
    vertices: usize,
    seeds: usize,
    hop_seeds: usize,
    hub_edges: usize,
}

impl Amounts {
    fn scaled(scale: f64) -> Self {
        let amount = |full: f64| ((full * scale / 1_000.0).round() as usize).max(1) * 1_000;
        Self {
            edges: amount(1e6),
            vertices: amount(2e4),
            seeds: amount(1e4),
            hop_seeds: 1_000,
            hub_edges: amount(1e6),
        }
    }
}

/// Where the suite works, how much, and with which settings on both sides.
struct Ground<'a> {
    dir: &'a Path,
    amounts: Amounts,
    settings: EmbeddedSettings,
    package: &'a str,
}

/// Runs what the report wants.
pub fn run(dir: &Path, scale: f64, package: &str, report: &mut Report) -> Result<()> {
    let settings = EmbeddedSettings::default();
    let ground = Ground { dir, amounts: Amounts::scaled(scale), settings, package };
    report.say(&format!("key package {package}, {} edges twice", ground.amounts.edges));
    if report.wants(&ingest::FIGURES) || report.wants(&reads::FIGURES) {
        let sides = ingest::measure(&ground, report)?;
        reads::measure(&ground, &sides, report)?;
    }
    hub::measure(&ground, report)
}
