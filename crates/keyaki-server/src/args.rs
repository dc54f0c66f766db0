//! Every command and every flag, once.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
                            instead. SIGTERM ends it in good order."
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

    /// The part of the tour that gets killed
    #[command(hide = true)]
    TourVictim {
        /// The tour's store
        dir: PathBuf,
    },
}
