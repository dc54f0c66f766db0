//! Every command and every flag, once.

use std::path::PathBuf;

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};

/// Typed buckets over one sorted cell store.
#[derive(Debug, Parser)]
#[command(
    name = "keyaki",
    version,
    after_help = "Exit codes: 0 all is well; 1 something was looked at and is not as it should be; \
                  2 the command could not be done, and one line on standard error says why.\n\
                  KEYAKI_LOG=debug (or info, warn, error) sets what is logged to standard error."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve HTTP, on the embedded store unless configured otherwise
    #[command(
        after_help = "The first start makes an admin token and shows it once; KEYAKI_ADMIN_TOKEN sets one \
                            instead, in the place of the one that it set before. SIGTERM ends it in good order."
    )]
    Serve {
        /// The store's directory [default: keyaki-data, or a temporary one with --demo]
        #[arg(long)]
        data: Option<PathBuf>,
        /// Address and port [default: 127.0.0.1:7170]
        #[arg(long)]
        listen: Option<String>,
        /// A file of settings, keyaki.toml
        #[arg(long)]
        config: Option<PathBuf>,
        /// Make a domain with something in it, and print commands to try
        #[arg(long)]
        demo: bool,
    },

    /// See in a minute what Keyaki does: commits, callers, a race, a crash
    Tour,

    /// Check a store that is not running: every checksum, every cell, every link between cells
    #[command(
        after_help = "Exit codes: 0 sound; 1 damaged; 2 not a store, in use, or a usage error."
    )]
    Check {
        /// The store's directory; nothing in it is changed
        dir: PathBuf,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },

    /// Count the cells and bytes in each space of a store that is not running
    Stat {
        /// The store's directory
        dir: PathBuf,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },

    /// Answer who may see what: reads lines of JSON, prints ACCESSIBLE, INACCESSIBLE or ERROR
    #[command(
        after_help = "Each line of standard input is {\"expression\": \"a&(b|c)\", \"auths\": \
                      [[\"a\", \"b\"], …]}; access needs every set of authorisations to pass.\n\
                      Exit codes: 0 every line was such a question; 1 some were not."
    )]
    Visibility,

    /// Copy a store to a new directory, which is a store of its own
    Backup {
        /// The store's directory
        dir: PathBuf,
        /// Where the copy goes; must not exist
        to: PathBuf,
    },

    /// Copy a backup to a new directory, sharing nothing with it
    Restore {
        /// The backup
        from: PathBuf,
        /// Where the store goes; must not exist
        to: PathBuf,
    },

    /// Write all of a graph that a token may see to files, some for each group
    #[command(
        after_help = "Writes TO/edges/GROUP/part-00000.ndjson and so on, or .parquet. NDJSON can be imported again."
    )]
    Export(Export),

    /// Add elements from files to a graph
    #[command(
        after_help = "A file counts once, however often it is imported by the same user, unless --key says otherwise. \
                      Exit codes: 0 all were taken; 1 some were left out (--skip-invalid); 2 it could not be done."
    )]
    Import(Import),

    /// The part of the tour that gets killed
    #[command(hide = true)]
    TourVictim {
        /// The tour's store
        dir: PathBuf,
    },
}

/// What is wanted of an export.
#[derive(Debug, Flags)]
pub struct Export {
    /// The graph, as DOMAIN/BUCKET
    pub bucket: String,
    /// A directory for the files; must not exist
    pub to: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Into how many files a group goes at most
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub splits: u16,
    /// How many of them are written at a time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub parallel: u16,
    #[command(flatten)]
    pub remote: Remote,
}

/// What is wanted of an import.
#[derive(Debug, Flags)]
pub struct Import {
    /// The graph, as DOMAIN/BUCKET
    pub bucket: String,
    /// Files; directories, for all .ndjson in them; or - for standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What is in them [default: what their names end in]
    #[arg(long, value_enum)]
    pub format: Option<ImportFormat>,
    /// Of CSV: what columns are to be called, as column:name,column:name
    #[arg(long)]
    pub map: Option<String>,
    /// Of CSV: the group of rows that name none
    #[arg(long)]
    pub group: Option<String>,
    /// Of CSV: whether edges have a direction that do not say so
    #[arg(long)]
    pub directed: Option<bool>,
    /// Leave out elements that are not valid, and tell them
    #[arg(long)]
    pub skip_invalid: bool,
    /// Take elements without validating them
    #[arg(long)]
    pub no_validate: bool,
    /// A name for this import, in place of one made from each file
    #[arg(long)]
    pub key: Option<String>,
    /// How often a file is sent again if the connection breaks
    #[arg(long, default_value_t = 5)]
    pub retries: u32,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub remote: Remote,
}

/// A server that is running.
#[derive(Debug, Flags)]
pub struct Remote {
    /// The server's address
    #[arg(long, default_value = "http://127.0.0.1:7170")]
    pub server: String,
    /// A token of it [default: what KEYAKI_TOKEN says]
    #[arg(long)]
    pub token: Option<String>,
    /// Certificates to trust, for https, as PEM: those of CAs, or the server's own if it is no CA's [default: the system's]
    #[arg(long)]
    pub ca: Option<PathBuf>,
}

/// What files an export writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Ndjson,
    Parquet,
}

impl ExportFormat {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }
}

/// What files an import reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// A line for each element
    Ndjson,
    /// An array of elements
    Json,
    /// A header and a row for each element
    Csv,
}

impl ImportFormat {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Json => "application/json",
            Self::Csv => "text/csv",
        }
    }
}
