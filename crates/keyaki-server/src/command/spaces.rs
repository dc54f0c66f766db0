//! How `check` and `stat` show spaces: as a table for people, as objects for programs.

use std::fmt::Write;

use keyaki::engine::SpaceKind;
use keyaki::engine::embedded::SpaceReport;
use serde::Serialize;

/// A space as JSON tells it.
#[derive(Serialize)]
pub struct SpaceLine<'a> {
    id: u32,
    bucket: u64,
    label: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<&'a str>,
    dropped: bool,
    cells: u64,
    bytes: u64,
}

impl<'a> SpaceLine<'a> {
    /// What is told of a space.
    pub fn new(report: &'a SpaceReport) -> Self {
        let spec = &report.record.spec;
        Self {
            id: report.record.id.0,
            bucket: spec.bucket.0,
            label: &spec.label,
            kind: match spec.kind {
                SpaceKind::Home => "home",
                SpaceKind::Derived => "derived",
            },
            merge: spec.merge.as_ref().map(|rule| rule.name.as_str()),
            keep: spec.keep.as_ref().map(|rule| rule.name.as_str()),
            dropped: report.record.retired,
            cells: report.cells,
            bytes: report.bytes,
        }
    }
}

/// All spaces together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    pub spaces: usize,
    pub cells: u64,
    pub bytes: u64,
}

impl Totals {
    /// Counts the spaces that are not dropped.
    pub fn of(spaces: &[SpaceReport]) -> Self {
        let mut totals = Self::default();
        for space in spaces.iter().filter(|space| !space.record.retired) {
            totals.spaces += 1;
            totals.cells += space.cells;
            totals.bytes += space.bytes;
        }
        totals
    }
}

/// A line per space that is not dropped, under a heading.
pub fn table(spaces: &[SpaceReport]) -> String {
    let mut text = String::new();
    let mut row = |cells: [&str; 6]| {
        let [bucket, space, kind, label, count, bytes] = cells;
        writeln!(text, "{bucket:>6} {space:>6}  {kind:<8} {label:<16} {count:>12} {bytes:>16}")
            .expect("a string takes any text");
    };
    row(["bucket", "space", "kind", "label", "cells", "bytes"]);
    for space in spaces.iter().filter(|space| !space.record.retired) {
        let line = SpaceLine::new(space);
        let numbers = [line.bucket, line.id.into(), line.cells, line.bytes];
        let [bucket, id, cells, bytes] = numbers.map(|number| number.to_string());
        row([&bucket, &id, line.kind, line.label, &cells, &bytes]);
    }
    text
}

/// `1 cell`, `2 cells`.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}
