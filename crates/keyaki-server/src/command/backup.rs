//! `keyaki backup DIR TO`: copies a store to a directory of its own, by hard links where it can.

use std::io::Write;
use std::path::Path;

use keyaki::engine::Engine;
use keyaki::engine::embedded::{EmbeddedEngine, require_store};
use keyaki::settings::EmbeddedSettings;

use super::{Failure, Verdict, print, runtime};

/// Opens the store, which finishes what a crash left, and copies it.
pub fn run(dir: &Path, to: &Path, out: &mut impl Write) -> Result<Verdict, Failure> {
    // Opening would make a store where none is.
    require_store(dir)?;
    let engine = EmbeddedEngine::open(dir, &EmbeddedSettings::default(), keyaki::bucket::rules())?;
    runtime()?.block_on(engine.backup(to))?;
    print(out, &format!("backed up {} to {}\n", dir.display(), to.display()))?;
    Ok(Verdict::Sound)
}
