//! The program: parses what was asked, does it, and says by its exit code how it went.

mod access;
mod args;
mod backends;
mod client;
mod command;
mod config;
mod http;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Requests allocate much and briefly, on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let filter = EnvFilter::try_from_env("KEYAKI_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // Colours are for people: what is read from a file is plain.
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    log.with_writer(std::io::stderr).init();
    match command::run(args.command) {
        Ok(verdict) => verdict.into(),
        Err(failure) => failure.report(),
    }
}
