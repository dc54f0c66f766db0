//! `keyaki tour`: shows on a store of its own what the library does, in a minute of reading.
//!
//! It is the library's example, too: `shop` is what a bucket type looks like, `story` what its
//! callers do and see, `crash` what is left when the process is killed. All that it prints was
//! read back from the store.

mod crash;
mod shop;
mod story;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use keyaki::Result;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::Store;

use super::{Failure, Verdict, runtime};

pub use crash::victim;

/// Takes the tour; the store goes with it.
pub fn run(out: impl Write) -> Result<Verdict, Failure> {
    let folder = tempfile::Builder::new().prefix("keyaki-tour-").tempdir()?;
    let dir = folder.path().join("store");
    let mut teller = Teller { out, bold: io::stdout().is_terminal(), step: 0 };
    teller.title(&dir)?;
    let runtime = runtime()?;
    let shelved = runtime.block_on(story::tell(&dir, &mut teller))?;
    let acknowledged = crash::kill_a_writer(&dir, &mut teller)?;
    runtime.block_on(crash::look(&dir, shelved, &acknowledged, &mut teller))?;
    crash::check(&dir, &mut teller)
}

/// Opens the store, or makes it. It closes when the last handle is dropped.
fn open(dir: &Path) -> Result<Store> {
    let engine = EmbeddedEngine::open(dir, &EmbeddedSettings::default(), keyaki::bucket::rules())?;
    let node = u64::from(std::process::id());
    Ok(Store::new(Arc::new(engine), StoreSettings::default(), node))
}

/// Who tells the story: headings, prose, and what was seen.
struct Teller<W> {
    out: W,
    bold: bool,
    step: u8,
}

impl<W: Write> Teller<W> {
    fn title(&mut self, dir: &Path) -> io::Result<()> {
        writeln!(self.out, "Keyaki in seven steps, on a store of its own that goes at the end:")?;
        writeln!(self.out, "{}", dir.display())
    }

    fn heading(&mut self, title: &str) -> io::Result<()> {
        self.step += 1;
        let (on, off) = if self.bold { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        writeln!(self.out, "\n{on}{}. {title}{off}", self.step)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "   {text}")?;
        self.out.flush()
    }

    /// Something read back from the store, and by whom or where.
    fn seen(&mut self, what: &str, saw: &str) -> io::Result<()> {
        writeln!(self.out, "     {what:<24} {saw}")?;
        self.out.flush()
    }
}
