//! `keyaki check DIR`: is the store sound? Walks everything, changes nothing.
//!
//! A store that is too damaged to be opened is a finding like any other; only what is no store,
//! or can't be looked at now, is a failure.

use std::io::Write;
use std::path::Path;

use keyaki::engine::embedded::{Report, Unchecked};
use keyaki::{Error, Kind};
use serde_json::json;

use super::spaces::{SpaceLine, Totals, count, table};
use super::{Failure, Verdict, print};

const HINT: &str = "\
What to do: leave this directory as it is, and restore the latest backup to a new one with
`keyaki restore BACKUP NEW`. If the disk or the memory of this machine is at fault, other copies
made on it may be damaged too; `keyaki check` tells.
";

/// Checks, prints what was found, and says whether all is sound.
pub fn run(dir: &Path, json: bool, out: &mut impl Write) -> Result<Verdict, Failure> {
    let findings = match keyaki::catalog::check(dir) {
        Ok(report) => Findings::of(report),
        Err(error) if error.kind() == Kind::Corrupt => Findings::unopened(error),
        Err(error) => return Err(error.into()),
    };
    let text = if json { findings.json(dir) } else { findings.text(dir) };
    print(out, &text)?;
    Ok(if findings.report.problems.is_empty() { Verdict::Sound } else { Verdict::Unsound })
}

struct Findings {
    opened: bool,
    report: Report,
}

impl Findings {
    fn of(report: Report) -> Self {
        Self { opened: true, report }
    }

    fn unopened(error: Error) -> Self {
        let report = Report { problems: vec![error], ..Report::default() };
        Self { opened: false, report }
    }

    fn text(&self, dir: &Path) -> String {
        let mut text = format!("store {}\n\n", dir.display());
        if self.opened {
            text += &table(&self.report.spaces);
            text += "\n";
            text += &self.log();
            text.extend(self.report.unchecked.iter().map(unchecked_line));
        } else {
            text += "The store can't be opened; its cells were not looked at.\n";
        }
        let problems = &self.report.problems;
        if problems.is_empty() {
            let totals = Totals::of(&self.report.spaces);
            let (cells, spaces) =
                (count(totals.cells, "cell"), count(totals.spaces as u64, "space"));
            return text + &format!("\nSound: {cells} in {spaces}, no problem.\n");
        }
        text += &format!("\nNOT SOUND: {}\n", count(problems.len() as u64, "problem"));
        for problem in problems {
            text += &format!("- {problem}\n");
        }
        text + "\n" + HINT
    }

    fn log(&self) -> String {
        let Report { log_files, log_records, log_torn_bytes, .. } = self.report;
        let (files, records) = (count(log_files as u64, "file"), count(log_records, "record"));
        let mut text = format!("log: {files}, {records}\n");
        if log_torn_bytes > 0 {
            let bytes = count(log_torn_bytes, "byte");
            text += &format!(
                "A crash interrupted the last write: {bytes} at the end of the log never became a \
                 commit and were never acknowledged. The next open cuts them off.\n"
            );
        }
        text
    }

    fn json(&self, dir: &Path) -> String {
        let report = &self.report;
        let spaces: Vec<_> = report.spaces.iter().map(SpaceLine::new).collect();
        let unchecked: Vec<_> = report.unchecked.iter().map(unchecked_object).collect();
        let problems: Vec<_> = report.problems.iter().map(problem).collect();
        let object = json!({
            "dir": dir.display().to_string(),
            "sound": report.problems.is_empty(),
            "opened": self.opened,
            "totals": Totals::of(&report.spaces),
            "spaces": spaces,
            "log": {
                "files": report.log_files,
                "records": report.log_records,
                "tornBytes": report.log_torn_bytes,
            },
            "unchecked": unchecked,
            "problems": problems,
        });
        format!("{object}\n")
    }
}

fn merge_rule(unchecked: &Unchecked) -> &str {
    unchecked.record.spec.merge.as_ref().map_or("", |rule| &rule.name)
}

fn unchecked_line(unchecked: &Unchecked) -> String {
    let (cells, rule) = (count(unchecked.cells, "merged cell"), merge_rule(unchecked));
    let (space, label) = (unchecked.record.id.0, &unchecked.record.spec.label);
    let reason = unchecked.reason;
    format!(
        "not checked: {cells} of space {space}, {label}, that the merge rule {rule} can't fold \
         here: {reason}\n"
    )
}

fn unchecked_object(unchecked: &Unchecked) -> serde_json::Value {
    json!({
        "space": unchecked.record.id.0,
        "label": unchecked.record.spec.label,
        "rule": merge_rule(unchecked),
        "cells": unchecked.cells,
        "reason": unchecked.reason,
    })
}

/// A problem as JSON: what, and where as far as it is known.
fn problem(error: &Error) -> serde_json::Value {
    let mut object = json!({"message": error.message(), "detail": error.to_string()});
    for name in ["file", "offset", "space", "key"] {
        if let Some(place) = error.context(name) {
            object[name] = place.into();
        }
    }
    object
}
