//! The suite `spine`: the engine and the store beside RocksDB, with the same options and memory.
//!
//! Each side works alone while the other rests, in turns, so that what else the machine does
//! falls on both; of repeated rounds the best counts, of chunks the sum. Rates are by the wall
//! until the work was accepted, CPU seconds until compaction has settled.

use std::path::{Path, PathBuf};

use keyaki::settings::EmbeddedSettings;

use crate::Result;
use crate::bare::{self, Bare};
use crate::figure::Report;
use crate::ours::Ours;

mod bulk;
mod commits;
mod ingest;
mod merges;
mod scans;
mod visibility;

use ingest::{INGEST, RSS};

/// How much work is done, at full scale.
struct Amounts {
    cells: usize,
    prefix_scans: usize,
    commits: usize,
    increments: usize,
    sums: usize,
    chunks: usize,
}

impl Amounts {
    fn scaled(scale: f64) -> Self {
        // Whole batches and partitions, and at least one.
        let amount = |full: f64| ((full * scale / 1_000.0).round() as usize).max(1) * 1_000;
        Self {
            cells: amount(5e6),
            prefix_scans: amount(2e5),
            commits: amount(4e4),
            increments: amount(5e6),
            sums: amount(2e5),
            // Never smaller ones: what a chunk costs depends on its size.
            chunks: (20.0 * scale).ceil() as usize,
        }
    }
}

/// Where the suite works, how much, and with which settings on both sides.
struct Ground<'a> {
    dir: &'a Path,
    amounts: Amounts,
    settings: EmbeddedSettings,
}

/// The two sides with nothing in them yet, and folders that go with them.
struct Sides {
    ours: Ours,
    bare: Bare,
    _dirs: tempfile::TempDir,
}

impl Ground<'_> {
    fn sides(&self) -> Result<Sides> {
        let dirs = tempfile::tempdir_in(self.dir)?;
        let at = |name: &str| -> PathBuf { dirs.path().join(name) };
        let ours = Ours::open(&at("ours"), &self.settings)?;
        let bare = Bare::open(&at("bare"), &self.settings)?;
        bare::same(&ours.db_dir(), &at("bare"))?;
        Ok(Sides { ours, bare, _dirs: dirs })
    }
}

/// Which side's turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Ours,
    Bare,
}

/// Both sides in each round; who began the last round comes second in the next.
fn turns(rounds: usize) -> impl Iterator<Item = Turn> {
    (0..rounds).flat_map(|round| match round % 2 {
        0 => [Turn::Ours, Turn::Bare],
        _ => [Turn::Bare, Turn::Ours],
    })
}

/// Runs what the report wants.
pub fn run(dir: &Path, scale: f64, report: &mut Report) -> Result<()> {
    let settings = EmbeddedSettings::default();
    let ground = Ground { dir, amounts: Amounts::scaled(scale), settings };
    report.say(&format!(
        "both sides: {} MiB of cache, {} MiB for writes, every batch or group synced",
        ground.settings.cache_bytes >> 20,
        ground.settings.write_memory_bytes >> 20,
    ));
    visibility::measure(report)?;
    if report.wants(&[INGEST, RSS, bulk::VERSUS_PUTS, scans::PREFIX, scans::FULL, bulk::BULK]) {
        let loaded = ingest::measure(&ground, report)?;
        scans::measure(&ground, &loaded.sides, report)?;
        bulk::measure(&ground, &loaded, report)?;
    }
    merges::measure(&ground, report)?;
    commits::measure(&ground, report)
}
