//! `keyaki restore FROM TO`: copies a backup, byte for byte, to where a store is to be.

use std::io::Write;
use std::path::Path;

use keyaki::engine::embedded::restore;

use super::{Failure, Verdict, print};

/// Copies; the store is there whole, or not at all.
pub fn run(from: &Path, to: &Path, out: &mut impl Write) -> Result<Verdict, Failure> {
    restore(from, to)?;
    print(out, &format!("restored {} to {}\n", from.display(), to.display()))?;
    Ok(Verdict::Sound)
}
