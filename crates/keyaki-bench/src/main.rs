//! Keyaki beside the bare engine, on this machine: `keyaki-bench spine | cql | http | graph [--json]`.
//!
//! A figure is a ratio between two runs of one process, so it means something on any machine;
//! the timings beside it don't. The exit code says whether every figure reached its bar.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bare;
mod cells;
mod cql;
mod disk;
mod figure;
mod graph;
mod http;
mod meter;
mod ours;
mod spine;

use figure::Report;

/// The program's: what is measured of the library is what it does there. RocksDB has its own on both sides.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Measures Keyaki beside the bare engine.
#[derive(Parser)]
#[command(name = "keyaki-bench")]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// The engine and the store beside RocksDB itself.
    Spine {
        #[command(flatten)]
        choice: Choice,
        /// Where the stores are made, and removed again; a real disk. [default: beside the build]
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// The engine on the cluster that KEYAKI_CQL=host:port[,…] names beside the bare driver.
    Cql {
        #[command(flatten)]
        choice: Choice,
    },
    /// The server beside a bare axum handler and PostgreSQL.
    Http {
        #[command(flatten)]
        choice: Choice,
        /// Where the stores are made, and removed again; a real disk. [default: beside the build]
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// The graph bucket beside RocksDB itself and what Gaffer does.
    Graph {
        #[command(flatten)]
        choice: Choice,
        /// Where the stores are made, and removed again; a real disk. [default: beside the build]
        #[arg(long)]
        dir: Option<PathBuf>,
        /// How keys are laid out.
        #[arg(long, default_value = "byteEntity")]
        package: String,
    },
    /// The handler that `http` starts to compare with.
    #[command(hide = true)]
    BareHttp,
}

/// What is run, and how it is told.
#[derive(clap::Args)]
struct Choice {
    /// One line of JSON per figure.
    #[arg(long)]
    json: bool,
    /// The share of the full amount of work.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Only figures with this in their names.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> ExitCode {
    let ran = match Arguments::parse().suite {
        Suite::Spine { choice, dir } => run_spine(choice, dir),
        Suite::Cql { choice } => run_cql(choice),
        Suite::Http { choice, dir } => run_http(choice, dir),
        Suite::Graph { choice, dir, package } => run_graph(choice, dir, &package),
        Suite::BareHttp => http::bare::serve().map(|()| true),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("keyaki-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every figure reached its bar.
fn run_spine(choice: Choice, dir: Option<PathBuf>) -> Result<bool> {
    let place = match dir {
        Some(dir) => dir,
        None => beside_the_build()?,
    };
    let dir = disk::folder_in(&place)?;
    let mut report = Report::new(choice.json, choice.only);
    report.say(&disk::describe(dir.path())?);
    spine::run(dir.path(), choice.scale, &mut report)?;
    Ok(report.finish())
}

fn run_cql(choice: Choice) -> Result<bool> {
    let report = Report::new(choice.json, choice.only);
    Ok(cql::run(choice.scale, report)?.finish())
}

fn run_graph(choice: Choice, dir: Option<PathBuf>, package: &str) -> Result<bool> {
    let place = match dir {
        Some(dir) => dir,
        None => beside_the_build()?,
    };
    let dir = disk::folder_in(&place)?;
    let mut report = Report::new(choice.json, choice.only);
    report.say(&disk::describe(dir.path())?);
    graph::run(dir.path(), choice.scale, package, &mut report)?;
    Ok(report.finish())
}

fn run_http(choice: Choice, dir: Option<PathBuf>) -> Result<bool> {
    let place = match dir {
        Some(dir) => dir,
        None => http::place(beside_the_build()?),
    };
    let dir = disk::folder_in(&place)?;
    disk::let_others_pass(dir.path())?;
    let mut report = Report::new(choice.json, choice.only);
    report.say(&disk::describe(dir.path())?);
    http::run(dir.path(), choice.scale, &mut report)?;
    Ok(report.finish())
}

fn load_average() -> Result<String> {
    let loads = std::fs::read_to_string("/proc/loadavg")?;
    Ok(loads.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
}

/// The folder around cargo's target directory: the program is in `target/release`.
fn beside_the_build() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.ancestors().nth(3).ok_or("the program is nowhere; use --dir")?.to_owned())
}
