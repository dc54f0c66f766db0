//! The second million edges into a graph that holds the first.

use super::Ground;
use super::bare::Bare;
use super::data::{self, Edge};
use super::ours::Ours;
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter, peak_memory_bytes, reset_peak_memory};
use crate::{Result, bare};

const INGEST: &str = "graph.ingest";
const CPU: &str = "graph.ingest_cpu";
const RSS: &str = "graph.rss";
pub const FIGURES: [&str; 3] = [INGEST, CPU, RSS];

/// What an edge may cost until it has settled.
const CPU_US_MOST: f64 = 8.0;
/// What a process needs beside cache and memtables: code, stacks, the buffers of compactions.
const BASE_BYTES: usize = 96 << 20;

/// Both sides with all edges, and the folder that goes with them.
pub struct Sides {
    pub ours: Ours,
    pub bare: Bare,
    /// Edges a second through the library.
    pub ingest_rate: f64,
    _dirs: tempfile::TempDir,
}

pub fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<Sides> {
    let dirs = tempfile::tempdir_in(ground.dir)?;
    let ours = Ours::open(&dirs.path().join("ours"), &ground.settings, ground.package)?;
    let bare = Bare::open(&dirs.path().join("bare"), &ground.settings, ours.space()?)?;
    bare::same(&ours.db_dir(), &dirs.path().join("bare"))?;
    let count = ground.amounts.edges;
    let (first, second) = (data::edges(count, data::FIRST), data::edges(count, data::SECOND));
    let seen = Meter::start();
    load_bare(&bare, &first)?;
    load_ours(&ours, "first", &first)?;
    report.say(&format!("the first edges on both sides: {:.1} s", seen.wall().as_secs_f64()));
    let bare_cost = load_bare(&bare, &second)?;
    reset_peak_memory()?;
    let ours_cost = load_ours(&ours, "second", &second)?;
    let peak = peak_memory_bytes()?;
    let ingest_rate = ours_cost.rate(count);
    let sides = Sides { ours, bare, ingest_rate, _dirs: dirs };
    check(ground, &sides)?;
    let rates = Figure::rates(INGEST, "edges/s", count, [ours_cost, bare_cost]);
    report.add(&rates.bar(0.5));
    let micros = |cost: Cost| cost.cpu.as_secs_f64() * 1e6 / count as f64;
    let cpu = Figure::less(CPU, "µs", micros(ours_cost), CPU_US_MOST);
    report.add(&cpu.note("bare_us", micros(bare_cost)));
    let settings = &ground.settings;
    let allowed = settings.cache_bytes + settings.write_memory_bytes + BASE_BYTES;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    report.add(&Figure::less(RSS, "MiB", mib(peak), mib(allowed as u64)));
    Ok(sides)
}

fn load_bare(bare: &Bare, edges: &[Edge]) -> Result<Cost> {
    let meter = Meter::start();
    bare.ingest(edges)?;
    let wall = meter.wall();
    bare.settle()?;
    Ok(Cost { wall, cpu: meter.cpu() })
}

fn load_ours(ours: &Ours, operation: &str, edges: &[Edge]) -> Result<Cost> {
    let meter = Meter::start();
    let accepted = ours.ingest(operation, edges)?;
    let wall = meter.wall();
    ours.settle()?;
    let cost = Cost { wall, cpu: meter.cpu() };
    match accepted == edges.len() as u64 {
        true => Ok(cost),
        false => Err(format!("{accepted} of {} edges came in", edges.len()).into()),
    }
}

/// Both sides must hold the same cells, or the comparison means nothing.
fn check(ground: &Ground<'_>, sides: &Sides) -> Result<()> {
    const TIME: std::ops::Range<usize> = 2..10;
    if ground.package != "byteEntity" {
        return Ok(());
    }
    let digest = |cells: &mut u64, sum: &mut u64, key: &[u8], value: &[u8]| {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&(key, &value[..TIME.start], &value[TIME.end..]), &mut hasher);
        *cells += 1;
        *sum = sum.wrapping_add(std::hash::Hasher::finish(&hasher));
    };
    let (mut cells, mut sum) = (0, 0);
    sides.bare.scan_all(|key, value| digest(&mut cells, &mut sum, key, value))?;
    let (mut our_cells, mut our_sum) = (0, 0);
    sides.ours.each_cell(|key, value| digest(&mut our_cells, &mut our_sum, key, value))?;
    match (cells, sum) == (our_cells, our_sum) {
        true => Ok(()),
        false => Err(format!("the sides differ: {our_cells} cells, and {cells} by hand").into()),
    }
}
