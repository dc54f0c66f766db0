//! Durable conditional commits of five cells from eight threads: each thread goes round its own
//! items, and every commit expects what the last one on its item wrote.

use std::sync::Barrier;
use std::time::Instant;

use keyaki::cell::Value;
use keyaki::store::Previous;

use super::{Ground, Sides, Turn, turns};
use crate::Result;
use crate::bare::{Conditional, GroupCommit};
use crate::cells::Cell;
use crate::figure::{Figure, Latencies, Report};
use crate::meter::{Cost, Meter};

const COMMIT: &str = "spine.commit";
const ROUNDS: usize = 4;
const THREADS: usize = 8;
/// Items of one thread.
const ITEMS: usize = 1_000;
/// The item and what follows from it.
const DEPENDENTS: usize = 4;

pub fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[COMMIT]) {
        return Ok(());
    }
    let sides = ground.sides()?;
    let group = GroupCommit::new(sides.bare.db());
    let mut items = [Items::all(), Items::all()];
    let mut best = [None::<Cost>; 2];
    let mut latencies = [Latencies::default(), Latencies::default()];
    let commits = ground.amounts.commits / THREADS;
    for turn in turns(ROUNDS) {
        let side = turn as usize;
        let (cost, took) = race(&mut items[side], commits, |item| match turn {
            Turn::Ours => commit_ours(&sides, item),
            Turn::Bare => commit_bare(&group, item),
        })?;
        best[side] = Some(best[side].map_or(cost, |so_far| so_far.least(cost)));
        latencies[side].append(took);
    }
    let costs = best.map(Option::unwrap_or_default);
    // The rate is that of the best round; the latencies are those of all.
    let mut figure = Figure::rates(COMMIT, "commits/s", THREADS * commits, costs).bar(0.8);
    for (side, latencies) in ["ours", "baseline"].into_iter().zip(&latencies) {
        for (name, micros) in latencies.micros() {
            figure = figure.note(format!("{side}_{name}"), micros);
        }
    }
    report.add(&figure);
    Ok(())
}

/// An item and what its side stored for it last.
struct Item {
    number: usize,
    version: usize,
    stored: Option<Vec<u8>>,
}

/// The items of one thread.
struct Items(Vec<Item>);

impl Items {
    /// For each thread its own.
    fn all() -> Vec<Self> {
        let item = |number| Item { number, version: 0, stored: None };
        let of = |thread| Self((thread * ITEMS..(thread + 1) * ITEMS).map(item).collect());
        (0..THREADS).map(of).collect()
    }
}

impl Item {
    /// The cells of its next commit, the item itself first.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        (0..=DEPENDENTS).map(|place| Cell::numbered(self.number * 10 + place))
    }

    fn value(&self) -> Vec<u8> {
        let mut value = Cell::numbered(self.number).value().to_vec();
        value[..8].copy_from_slice(&(self.version as u64).to_be_bytes());
        value
    }
}

/// All threads at once; each makes so many commits and waits for every one.
fn race(
    items: &mut [Items],
    commits: usize,
    commit: impl Fn(&mut Item) -> Result<()> + Sync,
) -> Result<(Cost, Latencies)> {
    let (start, commit) = (&Barrier::new(items.len() + 1), &commit);
    std::thread::scope(|scope| {
        let run = |items: &mut Items| {
            let mut latencies = Latencies::default();
            start.wait();
            for turn in 0..commits {
                let began = Instant::now();
                commit(&mut items.0[turn % ITEMS])?;
                latencies.add(began.elapsed());
            }
            Result::<Latencies>::Ok(latencies)
        };
        let threads: Vec<_> =
            items.iter_mut().map(|items| scope.spawn(move || run(items))).collect();
        start.wait();
        let meter = Meter::start();
        let mut latencies = Latencies::default();
        for thread in threads {
            latencies.append(thread.join().map_err(|_| "a committing thread panicked")??);
        }
        Ok((meter.read(), latencies))
    })
}

fn commit_ours(sides: &Sides, item: &mut Item) -> Result<()> {
    let ours = &sides.ours;
    item.version += 1;
    let payload = item.value();
    let partition = Cell::numbered(item.number * 10);
    let commit = ours.bucket().commit(partition.partition(), |draft| {
        let mut cells = item.cells();
        let primary = cells.next().expect("an item has cells");
        let previous = item.stored.as_deref().map_or(Previous::Absent, Previous::Stored);
        draft.put(primary.sort(), previous, Value::open(&payload))?;
        cells.for_each(|cell| ours.put(draft, &cell));
        Ok(())
    });
    let tid = ours.runtime().handle().block_on(commit)?.tid()?;
    let stored = item.stored.get_or_insert_default();
    stored.clear();
    Value::open(&payload).encode(tid.time(), stored);
    Ok(())
}

fn commit_bare(group: &GroupCommit<'_>, item: &mut Item) -> Result<()> {
    item.version += 1;
    let payload = item.value();
    let mut writes: Vec<_> =
        item.cells().map(|cell| (cell.key().to_vec(), cell.value().to_vec())).collect();
    writes[0].1.clone_from(&payload);
    let key = writes[0].0.clone();
    let commit = Conditional { key, expected: item.stored.take(), writes };
    if !group.commit(commit)? {
        return Err("a commit of the bare engine was refused".into());
    }
    item.stored = Some(payload);
    Ok(())
}
