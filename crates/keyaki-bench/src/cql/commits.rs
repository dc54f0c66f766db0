//! Conditional commits beside one bare lightweight transaction. Every item is committed once: on a new partition, or
//! over a value that this process wrote (the head of its partition is remembered), or another one.

use keyaki::cell::{Time, Value};
use keyaki::engine::{Expect, Write};

use super::Ground;
use super::bare::Bare;
use super::items::{Item, SORT};
use super::ours::Ours;
use super::race::{Act, crowd, race};
use crate::Result;
use crate::figure::Report;

const DEPENDENTS: usize = 5;
/// How much longer a commit may take than the transaction alone.
const ALONE_MAX: f64 = 1.3;
const LINKED_MAX: f64 = 2.5;

/// Who wrote an item before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nobody,
    Us,
    Another,
}

struct Case {
    bench: &'static str,
    before: Before,
    dependents: usize,
    longer_max: Option<f64>,
}

const CASES: [Case; 6] = [
    Case { bench: "cql.commit", before: Before::Us, dependents: 0, longer_max: Some(ALONE_MAX) },
    Case {
        bench: "cql.commit_new",
        before: Before::Nobody,
        dependents: 0,
        longer_max: Some(ALONE_MAX),
    },
    Case { bench: "cql.commit_cold", before: Before::Another, dependents: 0, longer_max: None },
    Case {
        bench: "cql.linked",
        before: Before::Us,
        dependents: DEPENDENTS,
        longer_max: Some(LINKED_MAX),
    },
    Case {
        bench: "cql.linked_new",
        before: Before::Nobody,
        dependents: DEPENDENTS,
        longer_max: Some(LINKED_MAX),
    },
    Case {
        bench: "cql.linked_cold",
        before: Before::Another,
        dependents: DEPENDENTS,
        longer_max: None,
    },
];

struct OurCommit<'a> {
    ours: &'a Ours,
    dependents: usize,
}

struct BareTransaction<'a>(&'a Bare);

impl Act<Item> for OurCommit<'_> {
    async fn act(&self, item: &mut Item) -> Result<()> {
        let (partition, payload) = (item.partition(), item.payload());
        let expect = match item.stored.is_empty() {
            true => Expect::Absent,
            false => Expect::Equals(item.stored.clone()),
        };
        let put = Write::Put(Value::open(&payload));
        let tid = self
            .ours
            .commit(&partition, |commit| {
                commit.expect(self.ours.items, SORT, expect.clone());
                commit.write(self.ours.items, SORT, put);
                for dependent in 0..self.dependents {
                    let there = item.dependent_partition(dependent);
                    commit.dependent(self.ours.entries, &there, &partition, put);
                }
            })
            .await?;
        item.store(&payload, tid.time());
        Ok(())
    }
}

impl Act<Item> for BareTransaction<'_> {
    async fn act(&self, item: &mut Item) -> Result<()> {
        let payload = item.payload();
        let mut next = Item { number: item.number, stored: Vec::new() };
        next.store(&payload, Time::ZERO);
        match item.stored.is_empty() {
            true => self.0.create(item, &next.stored).await?,
            false => self.0.replace(item, &next.stored).await?,
        }
        *item = next;
        Ok(())
    }
}

pub async fn measure(ground: &Ground, report: &mut Report) -> Result<()> {
    if report.wants(&CASES.map(|case| case.bench)) {
        warm_up(ground).await?;
    }
    for (number, case) in CASES.iter().enumerate() {
        if report.wants(&[case.bench]) {
            measure_case(ground, number, case, report).await?;
        }
    }
    Ok(())
}

/// A cluster that has just started gets faster for a while.
async fn warm_up(ground: &Ground) -> Result<()> {
    let ours = OurCommit { ours: &ground.ours, dependents: DEPENDENTS };
    let bare = BareTransaction(&ground.bare);
    let range = items_of(ground, CASES.len());
    let (mut our_items, mut bare_items) = (Item::fresh(range.clone()), Item::fresh(range));
    for _ in 0..2 {
        crowd(&ours, &mut our_items).await?;
        crowd(&bare, &mut bare_items).await?;
    }
    Ok(())
}

/// Numbers of a case's own: half of them for commits one at a time, the others for a crowd.
fn items_of(ground: &Ground, case: usize) -> std::ops::Range<usize> {
    let items = ground.amounts.commits * 2;
    case * items..(case + 1) * items
}

async fn measure_case(
    ground: &Ground,
    number: usize,
    case: &Case,
    report: &mut Report,
) -> Result<()> {
    let bare = BareTransaction(&ground.bare);
    let by = |ours| OurCommit { ours, dependents: case.dependents };
    let range = items_of(ground, number);
    let (mut our_items, mut bare_items) = (Item::fresh(range.clone()), Item::fresh(range));
    if case.before != Before::Nobody {
        let writer = if case.before == Before::Us { &ground.ours } else { &ground.other };
        crowd(&by(writer), &mut our_items).await?;
        crowd(&bare, &mut bare_items).await?;
        writer.finish().await?;
    }
    let raced = race(&by(&ground.ours), &mut our_items, &bare, &mut bare_items).await?;
    let bar = case.longer_max.map_or(0.0, |most| 1.0 / most);
    report.add(&raced.figure(case.bench).bar(bar));
    Ok(())
}
