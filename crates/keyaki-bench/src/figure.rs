//! Figures, and how they are told: a table for people, or a line of JSON each.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::meter::Cost;

/// One measured thing beside its baseline.
#[derive(Serialize)]
pub struct Figure {
    bench: &'static str,
    unit: &'static str,
    ours: f64,
    baseline: f64,
    /// Above 1 is better than the baseline.
    ratio: f64,
    bar: f64,
    #[serde(flatten)]
    notes: BTreeMap<String, f64>,
}

impl Figure {
    /// Where more is better.
    pub fn more(bench: &'static str, unit: &'static str, ours: f64, baseline: f64) -> Self {
        let ratio = ours / baseline;
        Self { bench, unit, ours, baseline, ratio, bar: 1.0, notes: BTreeMap::new() }
    }

    /// Where less is better.
    pub fn less(bench: &'static str, unit: &'static str, ours: f64, baseline: f64) -> Self {
        Self { ratio: baseline / ours, ..Self::more(bench, unit, ours, baseline) }
    }

    /// Rates at which both did the same, and the CPU seconds that it cost them.
    pub fn rates(
        bench: &'static str,
        unit: &'static str,
        things: usize,
        [ours, bare]: [Cost; 2],
    ) -> Self {
        Self::more(bench, unit, ours.rate(things), bare.rate(things))
            .note("ours_cpu_s", ours.cpu.as_secs_f64())
            .note("baseline_cpu_s", bare.cpu.as_secs_f64())
            .note("cpu_ratio", bare.cpu.as_secs_f64() / ours.cpu.as_secs_f64())
    }

    /// The least ratio that is good enough; 0 for a figure that is only worth knowing.
    pub fn bar(mut self, bar: f64) -> Self {
        self.bar = bar;
        self
    }

    /// A number worth knowing beside it.
    pub fn note(mut self, name: impl Into<String>, value: f64) -> Self {
        self.notes.insert(name.into(), value);
        self
    }

    fn passes(&self) -> bool {
        self.ratio >= self.bar
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.passes() {
            true if self.bar == 0.0 => "    ",
            true => "pass",
            false => "FAIL",
        };
        let (ours, baseline) = (rounded(self.ours), rounded(self.baseline));
        write!(f, "{:<20} {ours:>12} {baseline:>12} {:<9}", self.bench, self.unit)?;
        write!(f, "{:>6.2} {:>5.2}  {verdict}", self.ratio, self.bar)?;
        for (name, value) in &self.notes {
            write!(f, "  {name}={}", rounded(*value))?;
        }
        Ok(())
    }
}

/// Three digits or so.
fn rounded(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Tells figures as they come and remembers whether one missed its bar.
pub struct Report {
    json: bool,
    only: Option<String>,
    figures: usize,
    missed: usize,
}

impl Report {
    pub fn new(json: bool, only: Option<String>) -> Self {
        Self { json, only, figures: 0, missed: 0 }
    }

    /// Whether any of these is to be measured.
    pub fn wants(&self, benches: &[&str]) -> bool {
        self.only.as_ref().is_none_or(|only| benches.iter().any(|bench| bench.contains(only)))
    }

    /// Something to read that is no figure.
    pub fn say(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }

    pub fn add(&mut self, figure: &Figure) {
        if !self.wants(&[figure.bench]) {
            return;
        }
        if self.json {
            let line = serde_json::to_string(figure).expect("names and numbers are always JSON");
            println!("{line}");
        } else {
            if self.figures == 0 {
                let (ours, baseline) = ("ours", "baseline");
                println!("{:<20} {ours:>12} {baseline:>12} {:<9} ratio   bar", "figure", "unit");
            }
            println!("{figure}");
        }
        self.figures += 1;
        self.missed += usize::from(!figure.passes());
    }

    /// Sums up; answers whether every figure reached its bar.
    pub fn finish(&self) -> bool {
        self.say(&format!("{} figures, {} below their bar", self.figures, self.missed));
        self.missed == 0
    }
}

/// How long each of many things took.
#[derive(Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn add(&mut self, one: Duration) {
        self.0.push(one);
    }

    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// p50, p99 and the worst, in microseconds.
    pub fn micros(&self) -> [(&'static str, f64); 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |share: f64| {
            let last = sorted.len().saturating_sub(1);
            let found = sorted.get((last as f64 * share).round() as usize);
            found.map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
        };
        [("p50_us", at(0.5)), ("p99_us", at(0.99)), ("worst_us", at(1.0))]
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(_, p50), (_, p99), (_, worst)] = self.micros();
        write!(f, "p50 {p50:.0} µs, p99 {p99:.0} µs, worst {worst:.0} µs")
    }
}
