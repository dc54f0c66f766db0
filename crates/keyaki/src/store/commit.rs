//! A draft: what a bucket type says when it commits.
//!
//! A primary is always written over a known previous state, so that its chunks and its derived
//! cells can go with it; the engine refuses the commit if that state is no longer there.

use super::Bucket;
use super::changes::{self, Change};
use super::chunk;
use super::owner::Owner;
use super::replay::{Operation, Remembered};
use super::view::View;
use crate::cell::visibility::{Authorisations, Decisions};
use crate::cell::{Tid, Value, ValueRef};
use crate::engine::{Commit, Condition, Expect, Home, Refusal, Route, SpaceId, Write};
use crate::error::{Error, Result};

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// It took.
    Done(Tid),
    /// The operation was done before; nothing changed now.
    Replayed {
        /// The commit that did it.
        tid: Tid,
        /// What that commit answered.
        answer: Vec<u8>,
    },
    /// A condition was not met; nothing changed.
    Refused(Vec<Refusal>),
}

impl Committed {
    /// The commit that did it, now or before.
    ///
    /// # Errors
    /// `Conflict` if a condition was not met.
    pub fn tid(&self) -> Result<Tid> {
        match self {
            Self::Done(tid) | Self::Replayed { tid, .. } => Ok(*tid),
            Self::Refused(refusals) => {
                Err(Error::conflict("a condition of the commit was not met")
                    .with("conditions", refusals.len()))
            }
        }
    }
}

/// What the writer of a primary knows to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previous<'a> {
    /// Nothing.
    Absent,
    /// This stored value, header included.
    Stored(&'a [u8]),
}

impl Previous<'_> {
    fn expect(self) -> Expect {
        match self {
            Self::Absent => Expect::Absent,
            Self::Stored(value) => Expect::Equals(value.to_vec()),
        }
    }
}

/// A commit being written down.
pub struct Draft<'a> {
    bucket: &'a Bucket,
    commit: Commit,
    remembered: Remembered,
}

impl<'a> Draft<'a> {
    pub(super) fn new(bucket: &'a Bucket, commit: Commit) -> Self {
        Self { bucket, commit, remembered: Remembered::default() }
    }

    pub(super) fn finish(self) -> Result<(Commit, Remembered)> {
        Ok((self.commit, self.remembered))
    }

    /// The commit's id, which holds its time.
    #[must_use]
    pub fn tid(&self) -> Tid {
        self.commit.tid()
    }

    /// Sends the commit as sorted files, which pays from some ten thousand cells on.
    pub fn by_bulk(&mut self) {
        self.commit.set_route(Route::Bulk);
    }

    /// Makes room for so many more cells with so many bytes.
    pub fn reserve(&mut self, cells: usize, bytes: usize) {
        self.commit.reserve(cells, bytes);
    }

    /// The home cell that derived cells of the primary at `sort` name as their owner.
    #[must_use]
    pub fn owner(&self, sort: &[u8]) -> Owner {
        Owner {
            space: self.bucket.primary,
            partition: self.commit.home().partition.clone(),
            sort: sort.to_vec(),
        }
    }

    /// Writes a primary over what is known to be there; a large one in chunks. Answers the
    /// condition that a refusal would name.
    pub fn put(
        &mut self,
        sort: &[u8],
        previous: Previous<'_>,
        value: Value<'_>,
    ) -> Result<Condition> {
        let condition = self.expect(sort, previous.expect());
        chunk::delete(self.bucket.chunks, &mut self.commit, sort, previous)?;
        self.write_primary(sort, value);
        Ok(condition)
    }

    /// Writes a primary at `prefix | commit id`; a large one in chunks. Nothing is demanded of what is there: no other
    /// commit has this id.
    pub fn put_own(&mut self, prefix: &[u8], value: Value<'_>) {
        let sort = [prefix, self.tid().as_bytes()].concat();
        self.write_primary(&sort, value);
    }

    fn write_primary(&mut self, sort: &[u8], value: Value<'_>) {
        let most = self.bucket.store.inner.settings.chunk_bytes;
        if value.payload.len() <= most {
            self.commit.write(self.bucket.primary, sort, Write::Put(value));
        } else {
            let head = chunk::put(self.bucket.chunks, &mut self.commit, sort, value, most);
            let head = Value { flags: chunk::HEAD, payload: &head, ..value };
            self.commit.write(self.bucket.primary, sort, Write::Put(head));
        }
    }

    /// Removes a primary that is known to be there.
    pub fn remove(&mut self, sort: &[u8], previous: &[u8]) -> Result<Condition> {
        let previous = Previous::Stored(previous);
        let condition = self.expect(sort, previous.expect());
        chunk::delete(self.bucket.chunks, &mut self.commit, sort, previous)?;
        self.commit.write(self.bucket.primary, sort, Write::Delete);
        Ok(condition)
    }

    /// Demands something of a primary without writing it.
    pub fn expect(&mut self, sort: &[u8], expect: Expect) -> Condition {
        Condition::Expectation(self.commit.expect(self.bucket.primary, sort, expect))
    }

    /// Writes a cell of one of the bucket type's own home spaces, over what is expected there.
    pub fn home(
        &mut self,
        space: SpaceId,
        sort: &[u8],
        expect: Expect,
        write: Write<'_>,
    ) -> Condition {
        self.commit.write(space, sort, write);
        Condition::Expectation(self.commit.expect(space, sort, expect))
    }

    /// Adds an entry to an ordered view, owned by the primary at `owner`.
    pub fn add_entry(
        &mut self,
        view: &View,
        key: &[u8],
        owner: &[u8],
        value: Value<'_>,
    ) -> Result<()> {
        let owner = self.owner(owner);
        view.write(self.bucket, &mut self.commit, key, &owner, Write::Put(value))
    }

    /// Removes an entry of an ordered view.
    pub fn remove_entry(&mut self, view: &View, key: &[u8], owner: &[u8]) -> Result<()> {
        let owner = self.owner(owner);
        view.write(self.bucket, &mut self.commit, key, &owner, Write::Delete)
    }

    /// Writes a cell of one of the bucket type's own derived spaces.
    pub fn dependent(&mut self, space: SpaceId, partition: &[u8], sort: &[u8], write: Write<'_>) {
        self.commit.dependent(space, partition, sort, write);
    }

    /// Reserves a name in the bucket for the primary at `owner`; the commit is refused if
    /// another has it.
    pub fn claim(&mut self, name: &[u8], owner: &[u8]) -> Condition {
        let owner = self.owner(owner).encode();
        Condition::Claim(self.commit.claim(self.bucket.claims, name, &owner))
    }

    /// Gives a name back.
    pub fn release(&mut self, name: &[u8], owner: &[u8]) -> Condition {
        let owner = self.owner(owner).encode();
        Condition::Claim(self.commit.release(self.bucket.claims, name, &owner))
    }

    /// Writes a change record. It is seen by those who may see both `before` and `after`, the
    /// item's old and new visibility.
    pub fn change(&mut self, change: &Change, before: &[u8], after: &[u8]) -> Result<()> {
        let owner = self.owner(change.item.as_bytes());
        let space = self.bucket.changes;
        changes::write(space, &mut self.commit, &owner, change, (before, after))
    }

    /// Writes one of several change records, which are told apart by their visibility.
    pub fn change_under(&mut self, change: &Change, visibility: &[u8]) -> Result<()> {
        let digest = blake3::hash(visibility);
        let owner = self.owner(if visibility.is_empty() { b"" } else { digest.as_bytes() });
        let space = self.bucket.changes;
        changes::write(space, &mut self.commit, &owner, change, (b"", visibility))
    }

    /// Makes the commit repeat-safe: a repeat of `operation` changes nothing and gets `answer`.
    pub fn remember(&mut self, operation: &Operation, answer: &[u8]) -> Result<()> {
        self.remembered = Remembered::note(self.bucket, &mut self.commit, operation, answer)?;
        Ok(())
    }
}

impl Bucket {
    /// The stored primary at `sort`, header included, whole only in its head if it is large:
    /// what [`Previous::Stored`] wants.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn stored(&self, partition: &[u8], sort: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine().read(self.primary, partition, sort).await
    }

    /// Who has a name, if it is claimed.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn claimed(&self, name: &[u8]) -> Result<Option<Owner>> {
        let stored = self.engine().read(self.claims, name, b"").await?;
        stored.map(|stored| Owner::decode(ValueRef::decode(&stored)?.payload)).transpose()
    }

    /// What the primary at `sort` says, put together if it is in chunks, to those whose
    /// authorisations satisfy its visibility.
    ///
    /// # Errors
    /// Those of the engine; `Corrupt` if chunks are missing.
    pub async fn read(
        &self,
        authorisations: &Authorisations,
        partition: &[u8],
        sort: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let Some(mut stored) = self.stored(partition, sort).await? else { return Ok(None) };
        let mut decisions = Decisions::new(authorisations.clone());
        let mut followed = false;
        loop {
            let value = ValueRef::decode(&stored)?;
            if !decisions.visible(value.visibility) {
                return Ok(None);
            }
            if !value.flags.contains(chunk::HEAD) {
                // The payload is what comes last.
                let header = stored.len() - value.payload.len();
                stored.drain(..header);
                return Ok(Some(stored));
            }
            // Seldom needed: on the heap, lest every reader's future be as large.
            if let Some(whole) = Box::pin(chunk::read(self, partition, sort, &value)).await? {
                return Ok(Some(whole));
            }
            // Chunks go only with their head: it has changed since it was read, or they are still to come.
            match self.stored(partition, sort).await? {
                Some(now) if now != stored => stored = now,
                Some(_) if followed => return Err(chunk::missing(partition, sort)),
                Some(_) => {
                    let home = Home { bucket: self.id, partition: partition.to_vec() };
                    self.engine().follow_up(&home).await?;
                    followed = true;
                }
                None => return Ok(None),
            }
        }
    }
}
