//! How the two sides take turns.

use std::time::Instant;

use futures_util::future::try_join_all;

use crate::Result;
use crate::figure::{Figure, Latencies};
use crate::meter::{Cost, Meter};

/// Operations of one side before it is the other's turn.
const TURN: usize = 10;
/// Operations at once in a crowd.
const CROWD: usize = 16;
/// Turns of each side in a crowd.
const CROWD_TURNS: usize = 4;

/// Something to be done to each of many things.
pub trait Act<T>: Sync {
    /// Does it once.
    fn act(&self, thing: &mut T) -> impl Future<Output = Result<()>> + Send;
}

/// What ours and bare did.
pub struct Raced {
    latencies: [Latencies; 2],
    crowd_rates: [f64; 2],
}

impl Raced {
    /// The median latencies, beside each other.
    pub fn figure(&self, bench: &'static str) -> Figure {
        let sides = [&self.latencies[0], &self.latencies[1]].map(Latencies::micros);
        let [[(_, ours), (_, ours_p99), _], [(_, bare), (_, bare_p99), _]] = sides;
        Figure::less(bench, "µs", ours, bare)
            .note("times_as_long", ours / bare)
            .note("ours_p99_us", ours_p99)
            .note("baseline_p99_us", bare_p99)
            .note("ours_per_s_16", self.crowd_rates[0])
            .note("baseline_per_s_16", self.crowd_rates[1])
    }
}

/// Does every thing once, on each side: the first half one at a time, the others in a crowd.
pub async fn race<T: Send>(
    ours: &impl Act<T>,
    our_things: &mut [T],
    bare: &impl Act<T>,
    bare_things: &mut [T],
) -> Result<Raced> {
    let half = our_things.len() / 2;
    let (our_first, our_rest) = our_things.split_at_mut(half);
    let (bare_first, bare_rest) = bare_things.split_at_mut(half);
    let mut latencies = [Latencies::default(), Latencies::default()];
    for (our_turn, bare_turn) in our_first.chunks_mut(TURN).zip(bare_first.chunks_mut(TURN)) {
        one_by_one(ours, our_turn, &mut latencies[0]).await?;
        one_by_one(bare, bare_turn, &mut latencies[1]).await?;
    }
    let mut costs = [Cost::default(); 2];
    let turn = our_rest.len().div_ceil(CROWD_TURNS);
    for (our_turn, bare_turn) in our_rest.chunks_mut(turn).zip(bare_rest.chunks_mut(turn)) {
        costs[0].add(crowd(ours, our_turn).await?);
        costs[1].add(crowd(bare, bare_turn).await?);
    }
    let things = our_rest.len();
    Ok(Raced { latencies, crowd_rates: costs.map(|cost| cost.rate(things)) })
}

async fn one_by_one<T>(
    act: &impl Act<T>,
    things: &mut [T],
    latencies: &mut Latencies,
) -> Result<()> {
    for thing in things {
        let began = Instant::now();
        act.act(thing).await?;
        latencies.add(began.elapsed());
    }
    Ok(())
}

/// Does every thing once, many at a time.
pub async fn crowd<T: Send>(act: &impl Act<T>, things: &mut [T]) -> Result<Cost> {
    let meter = Meter::start();
    let each = things.len().div_ceil(CROWD);
    try_join_all(things.chunks_mut(each).map(|lane| act_on_all(act, lane))).await?;
    Ok(meter.read())
}

async fn act_on_all<T: Send>(act: &impl Act<T>, things: &mut [T]) -> Result<()> {
    for thing in things {
        act.act(thing).await?;
    }
    Ok(())
}
