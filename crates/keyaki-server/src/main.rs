//! The program: parses what was asked, does it, and says by its exit code how it went.

mod access;
mod args;
mod backends;
mod client;
mod command;
mod config;
mod http;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Requests allocate much and briefly, on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let filter = EnvFilter::try_from_env("KEYAKI_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match command::run(args.command) {
        Ok(verdict) => verdict.into(),
        Err(failure) => failure.report(),
    }
}
