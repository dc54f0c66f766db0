//! The suite `cql`: the engine on a cluster beside the bare `scylla` driver on equal tables of the same cluster, which
//! `KEYAKI_CQL=host:port[,…]` names; `scripts/cassandra` starts one.
//!
//! | figure | beside | bar |
//! |---|---|---|
//! | `cql.commit` | one home cell over the value it had; `UPDATE … IF value = ?` | at most 1.3 times as long |
//! | `cql.commit_new` | the first cell of a partition; `INSERT … IF NOT EXISTS` | the same |
//! | `cql.commit_cold` | as `cql.commit`, where another process wrote last | none |
//! | `cql.linked` | with 5 dependents in 5 partitions; the `UPDATE` alone | at most 2.5 times as long |
//! | `cql.linked_new` | with 5 dependents in 5 new partitions; the `INSERT` alone | the same |
//! | `cql.linked_cold` | as `cql.linked`, where another process wrote last | none |
//! | `cql.ingest` | chunks of derived cells, ten to a new partition; an `INSERT` for each, 64 in flight | at least 0.6 of the rate |
//! | `cql.ingest_batched` | the same; a batch for each partition, 64 in flight | none |
//! | `cql.read`, `cql.scan` | one cell, and a partition of 100; the `SELECT` of the same | at most 1.3 times as long |
//!
//! Ratios are told as everywhere, above 1 is better: 1.3 times as long is a ratio of 0.77. Latencies are medians of
//! operations one at a time, ours and bare in short turns, so that what drifts falls on both. Both have the same
//! consistency, connections and rows of the same length. `per_s_16` is how many a second there were with 16 at once.

use std::time::Duration;

use keyaki::settings::{CqlSettings, Replication};
use keyaki::testing::keyspaces::drop_keyspaces;

use crate::Result;
use crate::figure::Report;

mod bare;
mod commits;
mod ingest;
mod items;
mod ours;
mod race;
mod reads;

use bare::Bare;
use ours::Ours;

/// How much work is done, at full scale.
struct Amounts {
    /// Commits of each kind, one at a time; and as many in a crowd.
    commits: usize,
    chunks: usize,
    reads: usize,
}

impl Amounts {
    fn scaled(scale: f64) -> Self {
        let amount = |full: f64, least: usize| ((full * scale) as usize).max(least);
        Self { commits: amount(800.0, 40), chunks: amount(10.0, 2), reads: amount(3_000.0, 100) }
    }
}

/// Both sides, with what they need to work.
struct Ground {
    amounts: Amounts,
    ours: Ours,
    /// The engine again, as another process would have it.
    other: Ours,
    bare: Bare,
}

/// Runs what the report wants, and gives it back.
pub fn run(scale: f64, report: Report) -> Result<Report> {
    let nodes = std::env::var("KEYAKI_CQL").map_err(|_| {
        "KEYAKI_CQL names no cluster; scripts/cassandra start makes one and prints what to export"
    })?;
    let nodes: Vec<String> = nodes.split(',').map(str::to_owned).collect();
    let copies = if nodes.len() >= 3 { 3 } else { 1 };
    let settings = CqlSettings {
        nodes,
        keyspace_prefix: format!("bench_{}", std::process::id()),
        replication: Replication::Factor(copies),
        request_timeout: Duration::from_secs(20),
        ..CqlSettings::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // In a task, where a server's requests run: no thread has to be woken to look at an answer.
    runtime.block_on(async { tokio::spawn(suite(scale, settings, report)).await? })
}

async fn suite(scale: f64, settings: CqlSettings, mut report: Report) -> Result<Report> {
    let Replication::Factor(copies) = settings.replication else {
        return Err("the suite has one datacenter".into());
    };
    report.say(&format!(
        "cluster: {}, {copies} copies; load average {}",
        settings.nodes.join(","),
        crate::load_average()?
    ));
    let bare = Bare::open(&settings, copies).await?;
    let measured = measure(scale, &settings, &bare, &mut report).await;
    drop_keyspaces(&settings.nodes, &settings.keyspace_prefix).await;
    measured?;
    report.say(&format!("load average {}", crate::load_average()?));
    Ok(report)
}

async fn measure(
    scale: f64,
    settings: &CqlSettings,
    bare: &Bare,
    report: &mut Report,
) -> Result<()> {
    let ours = Ours::open(settings.clone()).await?;
    let other = ours.beside(settings.clone()).await?;
    let ground = Ground { amounts: Amounts::scaled(scale), ours, other, bare: bare.clone() };
    commits::measure(&ground, report).await?;
    ingest::measure(&ground, report).await?;
    reads::measure(&ground, report).await?;
    ground.ours.finish().await?;
    ground.other.finish().await
}
