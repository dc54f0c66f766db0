//! `keyaki stat DIR`: what is in the store? Spaces, cells, bytes.

use std::io::Write;
use std::path::Path;

use keyaki::engine::embedded::Inspection;
use serde_json::json;

use super::spaces::{SpaceLine, Totals, count, table};
use super::{Failure, Verdict, print};

/// Counts by walking, so that the numbers are those of cells that can be read.
pub fn run(dir: &Path, json: bool, out: &mut impl Write) -> Result<Verdict, Failure> {
    let report = Inspection::open(dir, keyaki::bucket::rules())?.walk(|_, _| Ok(()));
    let totals = Totals::of(&report.spaces);
    let text = if json {
        let spaces: Vec<_> = report.spaces.iter().map(SpaceLine::new).collect();
        let dir = dir.display().to_string();
        format!("{}\n", json!({"dir": dir, "totals": totals, "spaces": spaces}))
    } else {
        let (cells, bytes) = (count(totals.cells, "cell"), count(totals.bytes, "byte"));
        let spaces = count(totals.spaces as u64, "space");
        format!("{}\n{cells} in {spaces}, {bytes} of keys and values\n", table(&report.spaces))
    };
    print(out, &text)?;
    if report.problems.is_empty() {
        return Ok(Verdict::Sound);
    }
    tracing::warn!(problems = report.problems.len(), "not all could be read: run keyaki check");
    Ok(Verdict::Unsound)
}
