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
//! | `graph.http_ingest`     | the second million edges as NDJSON over HTTP               | `graph.ingest`         | 0.3 |
//! | `graph.http_seed`       | one seed an operation, over 16 connections                 | 5,000 operations/s     | 1   |
//! | `graph.hub_entity`      | the entity of a vertex with a million edges                | that of one with ten, times 3 | 1 |
//! | `graph.hub_memory`      | memory while its edges stream                              | 64 MiB                 | 1   |
//!
//! What goes over HTTP goes to the real program, as a process of its own, from one thread of this one; `cpu_us` is what
//! the server took for an edge or an answer, `client_us` what sending and asking took.

use std::path::Path;
use std::time::Duration;

use keyaki::settings::EmbeddedSettings;

use crate::Result;
use crate::figure::Report;

mod bare;
mod data;
mod http;
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
    /// How long a round over HTTP lasts.
    span: Duration,
    settings: EmbeddedSettings,
    package: &'a str,
}

/// Runs what the report wants.
pub fn run(dir: &Path, scale: f64, package: &str, report: &mut Report) -> Result<()> {
    let settings = EmbeddedSettings::default();
    let span = Duration::from_secs_f64((4.0 * scale).max(1.0));
    let ground = Ground { dir, amounts: Amounts::scaled(scale), span, settings, package };
    report.say(&format!("key package {package}, {} edges twice", ground.amounts.edges));
    let figures = [&ingest::FIGURES[..], &reads::FIGURES, &http::FIGURES];
    if figures.into_iter().any(|figures| report.wants(figures)) {
        let sides = ingest::measure(&ground, report)?;
        http::measure(&ground, &sides, report)?;
        reads::measure(&ground, &sides, report)?;
    }
    hub::measure(&ground, report)
}
