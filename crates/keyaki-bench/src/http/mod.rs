//! The suite `http`: the real program as a process of its own, asked over 64 connections that are kept, with a bearer
//! token, by a client that is as light as can be.
//!
//! | figure | beside | bar |
//! |---|---|---|
//! | `http.get` | GET of an item of 1 KiB; a bare axum handler with the same bytes in memory | at least 0.6 of the rate |
//! | `http.put` | durable PUT of 1 KiB with `If-Match`; PostgreSQL's `UPDATE … WHERE key = $1 AND tid = $2` through pgbench | at least the rate |
//! | `http.list_memory` | how much the server grows while it lists a million items as NDJSON; 64 MiB | at most that |
//!
//! The sides take turns, and the round with the middle ratio stands for all. `cpu_us` is what the servers' processes
//! took for one answer, `client_us` what asking took; `cpu_ratio` compares both together, and is what to look at if
//! others use the machine meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::figure::Report;

pub mod bare;
pub mod child;
mod gets;
mod items;
mod listing;
pub mod load;
mod postgres;
mod puts;
pub mod rounds;
pub mod user;
pub mod wire;

const ROUNDS: usize = 7;

/// Where and how much is measured.
struct Ground<'a> {
    dir: &'a Path,
    /// How long a turn lasts.
    span: Duration,
    /// How many items are listed.
    items: usize,
}

impl Ground<'_> {
    fn warm_up(&self) -> Duration {
        self.span / 2
    }
}

/// For each round, whether ours comes first in it.
fn rounds() -> impl Iterator<Item = bool> {
    (0..ROUNDS).map(|round| round % 2 == 0)
}

/// Runs what the report wants.
pub fn run(dir: &Path, scale: f64, report: &mut Report) -> Result<()> {
    let ground = Ground {
        dir,
        span: Duration::from_secs_f64((4.0 * scale).max(1.0)),
        items: ((1e6 * scale) as usize).max(1_000),
    };
    report.say(&format!("load average {}", crate::load_average()?));
    // One thread for all connections: the server has the rest.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        gets::measure(&ground, report).await?;
        puts::measure(&ground, report).await?;
        listing::measure(&ground, report).await
    })?;
    report.say(&format!("load average {}", crate::load_average()?));
    Ok(())
}

/// A place on a disk that PostgreSQL's user can reach, too.
pub fn place(beside_the_build: PathBuf) -> PathBuf {
    match !rustix::process::geteuid().is_root() || is_open(&beside_the_build) {
        true => beside_the_build,
        false => PathBuf::from("/var/tmp"),
    }
}

/// Whether everybody may pass through to it.
fn is_open(dir: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let open = |dir: &Path| dir.metadata().is_ok_and(|dir| dir.permissions().mode() & 0o001 != 0);
    dir.ancestors().filter(|dir| !dir.as_os_str().is_empty()).all(open)
}
