//! What the fault tests write: items that count their own steps, with all that can follow from a home.
//!
//! Everything a step writes follows from the item's number: an entry in each of three views moves on, a sum and a
//! total are merged, a name is claimed and the one before given back, a change is recorded. So a survey can demand
//! exactly what the number says, and no trace of a step that did not take.

use keyaki::Result;
use keyaki::cell::parts::Parts;
use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{Tid, Value, ValueRef};
use keyaki::engine::{BucketId, RuleSpec, SpaceId, SpaceSpec, Write};
use keyaki::store::{
    Bucket, BucketSpec, Change, Committed, Draft, PageRequest, Previous, Store, View,
};

use super::patiently;

const SUMS: &str = "sums";
const COUNT: &[u8] = b"count";
const LOAD: &[u8] = b"load";
const LOAD_BYTES: usize = 1 << 20;
/// A merged cell that all items share.
const TOTAL: &str = "total";
const VIEWS: [&str; 3] = ["one", "two", "three"];

/// An item's number, and how it is stored.
pub type Found = (u64, Option<Vec<u8>>);

/// Items in a bucket.
#[derive(Clone)]
pub struct Ledger {
    pub bucket: Bucket,
    sums: SpaceId,
}

/// A change as the feed shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorded {
    pub id: Tid,
    pub item: String,
    pub number: u64,
}

impl Ledger {
    pub async fn create(store: &Store) -> Self {
        let spaces = vec![SpaceSpec::derived(BucketId(0), SUMS).merging(RuleSpec::named("sum"))];
        let spec = BucketSpec { spaces, ..BucketSpec::default() };
        Self::of(patiently(|| store.create_bucket(spec.clone())).await)
    }

    /// The one that was created in this store's keyspace.
    pub fn find(store: &Store) -> Self {
        Self::of(store.buckets().into_iter().next().expect("the ledger was created"))
    }

    fn of(bucket: Bucket) -> Self {
        let sums = bucket.space(SUMS).unwrap();
        Self { bucket, sums }
    }

    /// The item's number, and how it is stored.
    pub async fn number(&self, item: &str) -> Result<Found> {
        let stored = self.bucket.stored(item.as_bytes(), COUNT).await?;
        let number = stored.as_deref().map_or(0, decode);
        Ok((number, stored))
    }

    /// Reads an item's number and moves it on, if nobody else does in between.
    pub async fn step(&self, item: &str) -> Result<Committed> {
        let found = self.number(item).await?;
        self.step_from(item, found).await
    }

    /// Moves it on from where it was found.
    pub async fn step_from(&self, item: &str, found: Found) -> Result<Committed> {
        self.step_with(item, found, |_| Ok(())).await
    }

    /// The first step of an item, with so much behind it that its intent lies in parts.
    pub async fn step_heavily(&self, item: &str) -> Result<Committed> {
        let load = load(item);
        let put =
            |draft: &mut Draft<'_>| draft.put(LOAD, Previous::Absent, Value::open(&load)).map(drop);
        self.step_with(item, (0, None), put).await
    }

    /// Demands of an item that its load is there whole, or not at all.
    pub async fn weigh(&self, item: &str, there: bool) {
        let nobody = Authorisations::none();
        let found = patiently(|| self.bucket.read(&nobody, item.as_bytes(), LOAD)).await;
        assert!(found == there.then(|| load(item)), "load of {item}");
    }

    async fn step_with(
        &self,
        item: &str,
        found: Found,
        more: impl Fn(&mut Draft<'_>) -> Result<()> + Sync,
    ) -> Result<Committed> {
        let (number, stored) = found;
        let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
        let next = number + 1;
        self.bucket
            .commit(item.as_bytes(), |draft| {
                draft.put(COUNT, previous, Value::open(&next.to_be_bytes()))?;
                more(draft)?;
                for view in VIEWS {
                    let view = View::named(view);
                    let value = next.to_be_bytes();
                    draft.add_entry(&view, &entry_key(item, next), COUNT, Value::open(&value))?;
                    if number > 0 {
                        draft.remove_entry(&view, &entry_key(item, number), COUNT)?;
                    }
                }
                self.count(draft, item);
                draft.claim(&name(item, next), COUNT);
                if number > 0 {
                    draft.release(&name(item, number), COUNT);
                }
                draft.change(&change(item, next), b"", b"")
            })
            .await
    }

    fn count(&self, draft: &mut Draft<'_>, item: &str) {
        for sum in [item, TOTAL] {
            let one = 1_i64.to_be_bytes();
            let write = Write::Merge(Value::open(&one));
            draft.dependent(self.sums, SUMS.as_bytes(), sum.as_bytes(), write);
        }
    }

    /// Moves an item's number on without anything that follows from it.
    pub async fn step_alone(&self, item: &str) -> Result<Committed> {
        let found = self.number(item).await?;
        self.step_alone_from(item, found).await
    }

    pub async fn step_alone_from(&self, item: &str, found: Found) -> Result<Committed> {
        let (number, stored) = found;
        let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
        let next = (number + 1).to_be_bytes();
        let draft = self
            .bucket
            .commit(item.as_bytes(), |draft| draft.put(COUNT, previous, Value::open(&next)));
        draft.await
    }

    /// Moves an item's number on, with dependents that stay where they are. Mixed with other steps of an item, it
    /// would make a survey fail.
    pub async fn update(&self, item: &str) -> Result<Committed> {
        let (number, stored) = self.number(item).await?;
        let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
        let next = number + 1;
        self.bucket
            .commit(item.as_bytes(), |draft| {
                let value = next.to_be_bytes();
                draft.put(COUNT, previous, Value::open(&value))?;
                for view in VIEWS {
                    let view = View::named(view);
                    draft.add_entry(&view, &entry_key(item, 0), COUNT, Value::open(&value))?;
                }
                self.count(draft, item);
                draft.claim(&name(item, 0), COUNT);
                draft.change(&change(item, next), b"", b"")
            })
            .await
    }

    /// Demands all that follows from an item's number, which it answers.
    pub async fn survey(&self, item: &str) -> u64 {
        let (number, _) = patiently(|| self.number(item)).await;
        let caller = Authorisations::none();
        for view in VIEWS {
            let prefix = Parts::new().bytes(item.as_bytes()).into_bytes();
            let request = PageRequest::first(10).with_prefix(&prefix);
            let view = View::named(view);
            let page = patiently(|| self.bucket.page(&caller, &view, &request)).await;
            let entries: Vec<u64> =
                page.entries.iter().map(|entry| number_of(&entry.payload)).collect();
            let expected: Vec<u64> = (number..=number).filter(|number| *number > 0).collect();
            assert_eq!(entries, expected, "{view:?} of {item}");
        }
        assert_eq!(self.sum(item).await, number, "sum of {item}");
        for other in number.saturating_sub(1)..=number + 1 {
            let name = name(item, other);
            let owner = patiently(|| self.bucket.claimed(&name)).await;
            let expected = (other == number && number > 0).then_some(item.as_bytes());
            let owner = owner.map(|owner| owner.partition);
            assert_eq!(owner.as_deref(), expected, "name {other} of {item}");
        }
        number
    }

    /// Merges into what all items share, and does nothing else.
    pub async fn merge(&self, item: &str) -> Result<Committed> {
        let commit = self.bucket.commit(item.as_bytes(), |draft| {
            let one = 1_i64.to_be_bytes();
            let write = Write::Merge(Value::open(&one));
            draft.dependent(self.sums, SUMS.as_bytes(), TOTAL.as_bytes(), write);
            Ok(())
        });
        commit.await
    }

    /// What all items have merged into one cell.
    pub async fn total(&self) -> u64 {
        self.sum(TOTAL).await
    }

    /// Folds the merged cells.
    pub async fn fold(&self) -> Result<()> {
        self.bucket.store().engine().compact(self.sums).await
    }

    async fn sum(&self, item: &str) -> u64 {
        let engine = self.bucket.store().engine();
        let read = || engine.read(self.sums, SUMS.as_bytes(), item.as_bytes());
        let stored = patiently(read).await;
        stored.as_deref().map_or(0, decode)
    }

    /// The feed after `since`, as far as it goes now, and where it goes on.
    pub async fn changes(&self, mut since: Option<Tid>) -> (Vec<Recorded>, Option<Tid>) {
        let (mut read, caller) = (Vec::new(), Authorisations::none());
        loop {
            let page = patiently(|| self.bucket.changes(&caller, since, 100)).await;
            read.extend(page.changes.into_iter().map(|record| Recorded {
                id: record.id,
                item: record.change.item,
                number: record.change.sequence,
            }));
            since = Some(page.next);
            if !page.more {
                return (read, since);
            }
        }
    }
}

fn load(item: &str) -> Vec<u8> {
    item.bytes().cycle().take(LOAD_BYTES).collect()
}

fn entry_key(item: &str, number: u64) -> Vec<u8> {
    Parts::new().bytes(item.as_bytes()).u64(number).into_bytes()
}

fn name(item: &str, number: u64) -> Vec<u8> {
    format!("{item}#{number}").into_bytes()
}

fn change(item: &str, number: u64) -> Change {
    Change {
        item: item.to_owned(),
        action: "step".to_owned(),
        sequence: number,
        ..Change::default()
    }
}

fn decode(stored: &[u8]) -> u64 {
    number_of(ValueRef::decode(stored).unwrap().payload)
}

fn number_of(payload: &[u8]) -> u64 {
    u64::from_be_bytes(payload.try_into().unwrap())
}
