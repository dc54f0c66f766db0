//! One file per command. A command writes to standard output and comes to a verdict, or fails.

mod backup;
mod check;
mod demo;
mod export;
mod import;
mod restore;
mod serve;
mod spaces;
mod stat;
mod tour;
mod visibility;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use keyaki::catalog::{check_bucket, check_domain};

use crate::args::Command;

/// Does what was asked.
pub fn run(command: Command) -> Result<Verdict, Failure> {
    let mut out = io::stdout();
    match command {
        Command::Serve { data, listen, config, demo } => {
            serve::run(serve::Wanted { data, listen, config, demo }, &mut out)
        }
        Command::Tour => tour::run(out),
        Command::Check { dir, json } => check::run(&dir, json, &mut out),
        Command::Stat { dir, json } => stat::run(&dir, json, &mut out),
        Command::Visibility => match visibility::run(io::stdin().lock(), out.lock())? {
            true => Ok(Verdict::Sound),
            false => Ok(Verdict::Unsound),
        },
        Command::Backup { dir, to } => backup::run(&dir, &to, &mut out),
        Command::Restore { from, to } => restore::run(&from, &to, &mut out),
        Command::Export(export) => export::run(export, &mut out),
        Command::Import(import) => import::run(import, &mut out),
        Command::TourVictim { dir } => tour::victim(&dir),
    }
}

/// How what was looked at is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Sound,
    /// Not as it should be, as the output says.
    Unsound,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Sound => Self::SUCCESS,
            Verdict::Unsound => Self::from(1),
        }
    }
}

/// Why a command could not be done.
#[derive(Debug)]
pub enum Failure {
    /// The store said no.
    Store(keyaki::Error),
    /// The configuration makes no sense, or can't be read.
    Config(String),
    /// A server said no.
    Server(String),
    /// A server can't be reached, or not now.
    Lost(String),
    /// Reading, writing or starting something failed.
    Io(io::Error),
}

impl Failure {
    /// Tells it on one line of standard error. A reader who has seen enough (`| head`) is no
    /// failure.
    pub fn report(&self) -> ExitCode {
        if let Self::Io(error) = self
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        let line = self.to_string().replace('\n', " ");
        // Nobody is left to be told if this fails.
        let _ = writeln!(io::stderr(), "keyaki: {line}");
        ExitCode::from(2)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Config(told) | Self::Server(told) | Self::Lost(told) => f.write_str(told),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl From<keyaki::Error> for Failure {
    fn from(error: keyaki::Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Where `DOMAIN/BUCKET` is on a server.
fn bucket_path(name: &str) -> Result<String, Failure> {
    let wrong = || Failure::Config(format!("not a bucket: {name}; say DOMAIN/BUCKET"));
    let (domain, bucket) = name.split_once('/').ok_or_else(wrong)?;
    check_domain(domain).and_then(|()| check_bucket(bucket)).map_err(|_| wrong())?;
    Ok(format!("/v1/{domain}/{bucket}"))
}

/// What engines run on.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Prints a finished text. The verdict is known by then: a closed pipe must not change it.
fn print(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
