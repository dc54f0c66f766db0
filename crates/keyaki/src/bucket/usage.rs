//! How much a bucket holds: two sums that every commit adds its difference to.

use crate::cell::{Time, Value, ValueRef};
use crate::engine::{BucketId, CellRef, RuleSpec, SpaceRecord, SpaceSpec, Write};
use crate::error::{Error, Result};
use crate::store::{Bucket, Draft};

const SPACE: &str = "usage";
const ITEMS: &[u8] = b"items";
const BYTES: &[u8] = b"bytes";

/// Items and bytes, or a difference of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items that are there.
    pub items: i64,
    /// Bytes of all content that is kept.
    pub bytes: i64,
}

impl Usage {
    /// The space that a bucket needs for it.
    #[must_use]
    pub fn space() -> SpaceSpec {
        SpaceSpec::derived(BucketId(0), SPACE).merging(RuleSpec::named("sum"))
    }

    /// Adds this difference to a commit.
    pub(crate) fn add(self, bucket: &Bucket, draft: &mut Draft<'_>) -> Result<()> {
        let space = bucket.space(SPACE)?;
        for (name, difference) in [(ITEMS, self.items), (BYTES, self.bytes)] {
            if difference != 0 {
                let operand = difference.to_be_bytes();
                let write = Write::Merge(Value::open(&operand));
                draft.dependent(space, SPACE.as_bytes(), name, write);
            }
        }
        Ok(())
    }

    /// Leaves word in a commit that something changed, though no sum does.
    pub(crate) fn touch(self, bucket: &Bucket, draft: &mut Draft<'_>) -> Result<()> {
        if self.items == 0 {
            let write = Write::Merge(Value::open(&[0; 8]));
            draft.dependent(bucket.space(SPACE)?, SPACE.as_bytes(), ITEMS, write);
        }
        Ok(())
    }

    /// When its items last changed, or word was left that something did.
    pub(crate) async fn changed(bucket: &Bucket) -> Result<Option<Time>> {
        let (space, engine) = (bucket.space(SPACE)?, bucket.store().engine());
        let stored = engine.read(space, SPACE.as_bytes(), ITEMS).await?;
        stored.map(|stored| Ok(ValueRef::decode(&stored)?.time)).transpose()
    }

    /// What a stored sum adds, if the cell is one.
    pub(crate) fn told_by(record: &SpaceRecord, cell: &CellRef<'_>) -> Result<Option<Self>> {
        if record.spec.label != SPACE {
            return Ok(None);
        }
        let number = number(cell.payload())?;
        Ok(match cell.sort() {
            ITEMS => Some(Self { items: number, bytes: 0 }),
            BYTES => Some(Self { items: 0, bytes: number }),
            _ => None,
        })
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }

    /// Without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { items: self.items - other.items, bytes: self.bytes - other.bytes }
    }

    /// Only what it adds: what is about to go gives no room before it is gone.
    #[must_use]
    pub fn growth(self) -> Self {
        Self { items: self.items.max(0), bytes: self.bytes.max(0) }
    }

    /// What a bucket holds now.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn of(bucket: &Bucket) -> Result<Self> {
        Ok(Self::dated(bucket).await?.0)
    }

    /// The same, and since when.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn dated(bucket: &Bucket) -> Result<(Self, Time)> {
        let (space, engine) = (bucket.space(SPACE)?, bucket.store().engine());
        let (mut sums, mut since) = ([0; 2], Time::ZERO);
        for (sum, name) in sums.iter_mut().zip([ITEMS, BYTES]) {
            if let Some(stored) = engine.read(space, SPACE.as_bytes(), name).await? {
                let stored = ValueRef::decode(&stored)?;
                *sum = number(stored.payload)?;
                since = since.max(stored.time);
            }
        }
        let [items, bytes] = sums;
        Ok((Self { items, bytes }, since))
    }
}

fn number(payload: &[u8]) -> Result<i64> {
    let damaged = |_| Error::corrupt("a bucket's use is no number");
    Ok(i64::from_be_bytes(payload.try_into().map_err(damaged)?))
}
