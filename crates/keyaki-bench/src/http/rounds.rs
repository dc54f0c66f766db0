//! Both sides in turns, and what came of it: the round whose ratio is the middle one stands for all, so that what
//! disturbs one round, or drifts over all of them, does not count.

use std::time::Duration;

use crate::Result;
use crate::figure::Figure;
use crate::meter;

/// What one side did in one round.
#[derive(Clone, Copy, Default)]
pub struct Turn {
    /// So many a second.
    pub rate: f64,
    /// CPU that its server took for each, in microseconds.
    pub cpu_us: f64,
    /// And its client.
    pub client_us: f64,
}

/// One round.
#[derive(Clone, Copy, Default)]
pub struct Round {
    pub ours: Turn,
    pub baseline: Turn,
}

impl Round {
    fn ratio(&self) -> f64 {
        self.ours.rate / self.baseline.rate
    }

    /// What the rates would come to if nobody else wanted the CPU and nothing else were scarce.
    fn cpu_ratio(&self) -> f64 {
        let whole = |turn: &Turn| turn.cpu_us + turn.client_us;
        whole(&self.baseline) / whole(&self.ours)
    }
}

/// CPU of both ends from when this is made: of a server with its children, and of the client, which is this process or
/// a child of it that ends in between.
pub struct BothCpu {
    server: u32,
    before: [Duration; 2],
}

impl BothCpu {
    pub fn of(server: u32) -> Result<Self> {
        Ok(Self { server, before: Self::now(server)? })
    }

    pub fn turn(&self, answers: usize, rate: f64) -> Result<Turn> {
        let after = Self::now(self.server)?;
        let each = |end: usize| {
            let spent = after[end].saturating_sub(self.before[end]);
            spent.as_secs_f64() * 1e6 / answers.max(1) as f64
        };
        Ok(Turn { rate, cpu_us: each(0), client_us: each(1) })
    }

    fn now(server: u32) -> Result<[Duration; 2]> {
        Ok([meter::family_cpu(server)?, meter::own_cpu_with_ended_children()?])
    }
}

/// The middle round as a figure, with how far the others were from it.
pub fn figure(bench: &'static str, unit: &'static str, mut rounds: Vec<Round>) -> Figure {
    rounds.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let ratio_at = |index: usize| rounds.get(index).map_or(0.0, Round::ratio);
    // The middle one of its own: by it rounds are sorted otherwise.
    let mut cpu_ratios: Vec<f64> = rounds.iter().map(Round::cpu_ratio).collect();
    cpu_ratios.sort_by(f64::total_cmp);
    let cpu_ratio = cpu_ratios.get(rounds.len() / 2).copied().unwrap_or(0.0);
    let (least, most) = (ratio_at(0), ratio_at(rounds.len().saturating_sub(1)));
    let Round { ours, baseline } = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    Figure::more(bench, unit, ours.rate, baseline.rate)
        .note("ours_cpu_us", ours.cpu_us)
        .note("baseline_cpu_us", baseline.cpu_us)
        .note("ours_client_us", ours.client_us)
        .note("baseline_client_us", baseline.client_us)
        .note("cpu_ratio", cpu_ratio)
        .note("least_ratio", least)
        .note("most_ratio", most)
        .note("rounds", rounds.len() as f64)
}
