//! Crashes that really happen: processes killed, logs torn, bits flipped, power cut, syncs failed,
//! disks full. What was acknowledged is there afterwards; what was not is whole or absent.
//!
//! A test starts its own binary again as the child that crashes (`child`). The child tells what was
//! acknowledged through a journal, a file outside the store; the parent reads it, opens the store
//! itself and surveys the workload. Numbers of cycles are small by default:
//!
//! | variable | meaning |
//! |---|---|
//! | `KEYAKI_SEED` | repeats a run; each prints its own |
//! | `KEYAKI_CYCLES` | how many times the killed child is started again |
//! | `KEYAKI_EVERY` | 1 tries every place of a damage or a power cut, not only samples |

mod child;
mod directory; // copies, comparisons and damage of whole directories
mod doubt; // commits whose fate a failed sync leaves open, and what rests on unsynced ones
mod full; // a disk without room
pub mod journal; // what the child says, and what became of it
mod kill; // SIGKILL at any moment, many times
mod log; // torn tails and damaged logs
mod power; // unsynced writes lost, syncs that fail
mod second; // a second process on the same directory
mod tables; // flipped bits in tables and in the small files around them

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use keyaki::engine::Rules;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::{self, Store};
use keyaki::testing::random::Random;
use keyaki::testing::workload::Workload;
use tokio::runtime::Runtime;

/// Little memory, so that short runs flush and compact too.
fn settings() -> EmbeddedSettings {
    EmbeddedSettings {
        cache_bytes: 8 << 20,
        write_memory_bytes: 3 << 20,
        ..EmbeddedSettings::default()
    }
}

/// A folder in memory where there is such a thing, for tests that copy and open stores by the
/// hundred and don't care whether a sync reaches a disk.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Opens the store in `dir` for the workload, which makes its bucket if it is new.
async fn open(dir: &Path) -> keyaki::Result<Workload> {
    Workload::begin(&open_store(dir, &settings())?).await
}

fn open_store(dir: &Path, settings: &EmbeddedSettings) -> keyaki::Result<Store> {
    let engine = EmbeddedEngine::open(dir, settings, Rules::default())?;
    // Values of several kilobytes are large here.
    let settings = StoreSettings { chunk_bytes: 4 << 10, sweep_every: None };
    Ok(Store::new(Arc::new(engine), settings, u64::from(std::process::id())))
}

/// Demands that `keyaki check` finds nothing to say.
fn assert_sound(dir: &Path, what: &str) {
    let report = store::check(dir, Rules::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
}

/// A number from the environment.
fn knob(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Seeded chance. Making one prints its seed; cargo shows that when a test fails.
fn chance() -> Random {
    let seed = knob("KEYAKI_SEED", RandomState::new().hash_one("seed") % 1_000_000);
    println!("KEYAKI_SEED={seed}");
    Random::seeded(seed)
}

/// A sorted sample of the numbers below `end`: all with `KEYAKI_EVERY`, else about `about`.
fn sample(chance: &mut Random, end: u64, about: u64) -> Vec<u64> {
    let stride = if knob("KEYAKI_EVERY", 0) == 1 { 1 } else { (end / about).max(1) };
    let starts = (0..end).step_by(stride as usize);
    let sample = starts.map(|start| start + chance.below(stride as usize) as u64);
    sample.filter(|&number| number < end).collect()
}
