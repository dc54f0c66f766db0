//! The linked-commit workload: what crash tests write, and how they tell afterwards that nothing
//! was lost, torn or counted twice.
//!
//! Writers have a lane each, and a lane is one home partition with steps 1, 2, 3… and a `tip` that
//! every step moves on. A step names another that was acknowledged before it, and all else it
//! writes follows from its primary (`step`), so that a survey (`survey`) can demand each cell back
//! and allow no other. Runs on any engine; crashing is left to the tests.

mod step;
mod survey;

use crate::cell::{Tid, Value, ValueRef};
use crate::engine::{BucketId, RuleSpec, SpaceId, SpaceSpec, Write};
use crate::error::{Error, Result};
use crate::store::{Bucket, BucketSpec, Committed, Draft, Previous, Store, View};

pub use step::{Link, Load, Step};
pub use survey::Survey;

const ECHOES: &str = "echoes";
const COUNTS: &str = "counts";
const TIP: &[u8] = b"tip";
const VIEW: &str = "steps";
/// The partition of the merged counters.
const COUNTERS: &[u8] = b"counters";

/// The workload's bucket in a store.
#[derive(Clone)]
pub struct Workload {
    store: Store,
    bucket: Bucket,
    echoes: SpaceId,
    counts: SpaceId,
}

/// A step that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Which step.
    pub link: Link,
    /// The commit that took it.
    pub tid: Tid,
}

impl Workload {
    /// Finds the workload's bucket, or makes it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn begin(store: &Store) -> Result<Self> {
        let sum = RuleSpec::named("sum");
        let none = BucketId(0);
        match store.buckets().into_iter().next() {
            Some(bucket) => Self::of(store, bucket),
            None => {
                let spaces = vec![
                    SpaceSpec::derived(none, ECHOES),
                    SpaceSpec::derived(none, COUNTS).merging(sum),
                ];
                let spec = BucketSpec { spaces, ..BucketSpec::default() };
                Self::of(store, store.create_bucket(spec).await?)
            }
        }
    }

    fn of(store: &Store, bucket: Bucket) -> Result<Self> {
        let (echoes, counts) = (bucket.space(ECHOES)?, bucket.space(COUNTS)?);
        Ok(Self { store: store.clone(), bucket, echoes, counts })
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many steps a lane has.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn length(&self, lane: u16) -> Result<u32> {
        let stored = self.bucket.stored(&step::partition(lane), TIP).await?;
        stored.map_or(Ok(0), |tip| decode_tip(&tip))
    }

    /// Takes the next step of a lane. Only one caller at a time may use a lane.
    ///
    /// If this fails the step is whole or absent; the next call finds out which and goes on from
    /// there.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn advance(
        &self,
        lane: u16,
        load: Load,
        follows: Option<Link>,
    ) -> Result<Acknowledged> {
        let partition = step::partition(lane);
        let tip = self.bucket.stored(&partition, TIP).await?;
        let before = tip.as_deref().map_or(Ok(0), decode_tip)?;
        let link = Link { lane, number: before + 1 };
        let step = Step { link, load, follows };
        let previous = tip.as_deref().map_or(Previous::Absent, Previous::Stored);
        let committed = self.bucket.commit(&partition, |draft| self.write(draft, &step, previous));
        match committed.await? {
            Committed::Done(tid) => Ok(Acknowledged { link, tid }),
            other => Err(Error::internal("a step of the workload did not take")
                .with("step", link)
                .with("outcome", format!("{other:?}"))),
        }
    }

    /// Repeats the last step of a lane, which must change nothing.
    ///
    /// # Errors
    /// `Internal` if it was not known as a repeat; else those of the store.
    pub async fn repeat(&self, last: &Step, tid: Tid) -> Result<()> {
        let partition = step::partition(last.link.lane);
        let again = |draft: &mut Draft<'_>| self.write(draft, last, Previous::Absent);
        match self.bucket.commit(&partition, again).await? {
            Committed::Replayed { tid: first, .. } if first == tid => Ok(()),
            other => Err(Error::internal("a repeated step was not known as one")
                .with("step", last.link)
                .with("outcome", format!("{other:?}"))),
        }
    }

    /// Has the spaces packed that hold most.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn compact(&self) -> Result<()> {
        self.store.engine().compact(self.echoes).await?;
        self.store.engine().compact(self.counts).await
    }

    fn write(&self, draft: &mut Draft<'_>, step: &Step, previous: Previous<'_>) -> Result<()> {
        let sort = step.sort();
        draft.remember(&step.operation(), step.link.to_string().as_bytes())?;
        draft.put(&sort, Previous::Absent, Value::open(&step.payload()))?;
        draft.put(TIP, previous, Value::open(&step.link.number.to_be_bytes()))?;
        draft.change(&step.change(), b"", b"")?;
        draft.add_entry(&View::named(VIEW), &step.entry_key(), &sort, Value::open(b""))?;
        let owner = draft.owner(&sort);
        for number in 0..step.load.echoes() {
            let echo = step.echo(number);
            let sort = echo.sort(&owner)?;
            let value = Write::Put(Value::open(&echo.payload));
            draft.dependent(self.echoes, &echo.partition, &sort, value);
        }
        for counter in step.counters() {
            let one = 1_i64.to_be_bytes();
            let sort = counter.to_be_bytes();
            draft.dependent(self.counts, COUNTERS, &sort, Write::Merge(Value::open(&one)));
        }
        if step.load == Load::Bulk {
            draft.by_bulk();
        }
        Ok(())
    }
}

fn decode_tip(stored: &[u8]) -> Result<u32> {
    let payload = ValueRef::decode(stored)?.payload;
    let number = payload.try_into().map_err(|_| Error::corrupt("a tip is no number"))?;
    Ok(u32::from_be_bytes(number))
}
