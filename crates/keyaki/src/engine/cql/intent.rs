//! What a commit is about to do, written down before it does it, so that whoever finds it can finish it.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | format version, now 1 |
//! | 8 + 4 + … | home: bucket, length of the partition, partition |
//! | 4 | number of claims; each: space (4), bucket (8), name (4 + …), taken (1), stored owner (4 + …) |
//! | 4 | number of parts; 0: they are still being written; all ones: the records follow here |
//! | … | records: kind (1), key (4 + …), value (4 + …) |
//!
//! All numbers are big endian. Large intents lie in parts of their own, each a run of whole records. Rows are
//! put and deleted at the commit's own time: of two writes at one time a delete wins, so no late put brings an
//! intent back, and of two puts the greater value, so the number of parts replaces the 0.

use super::cluster::{Batched, Link};
use super::fault;
use super::own::{self, OWN};
use super::statements::Arg;
use super::wire::{Reader, put_bytes};
use crate::cell::{Tid, Value, key};
use crate::engine::commit::{Home, Sealed, SealedClaim, StoredWrite};
use crate::engine::space::{BucketId, SpaceId, Spaces};
use crate::error::{Error, Result};

const VERSION: u8 = 1;
/// Records beyond this go to parts.
const PART_BYTES: usize = 256 << 10;
const GROWING: u32 = 0;
const HERE: u32 = u32::MAX;
const PUT: u8 = 0;
const DELETE: u8 = 1;
const MERGE: u8 = 2;

/// A commit's intent, without its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The commit.
    pub tid: Tid,
    /// Where its mark is, if it took.
    pub home: Home,
    /// Names it takes or gives back.
    pub claims: Vec<IntendedClaim>,
    /// Where its records are.
    pub records: Recorded,
}

/// A name as an intent knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntendedClaim {
    /// The space of names.
    pub space: SpaceId,
    /// Its bucket.
    pub bucket: BucketId,
    /// The name.
    pub name: Vec<u8>,
    /// Whether it is taken, or given back.
    pub taken: bool,
    /// The owner as it will be stored.
    pub owner: Vec<u8>,
}

/// Where an intent's records are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// In it.
    Here(Vec<u8>),
    /// In so many parts.
    Parts(u32),
    /// Its writer had not yet written all parts.
    Growing,
}

impl Intent {
    /// Of a commit whose records are to follow.
    ///
    /// # Errors
    /// `NotFound` if a space of names is gone.
    pub fn of(sealed: &Sealed, spaces: &Spaces) -> Result<Self> {
        let claim = |claim: &SealedClaim| {
            let cell = key::split_cell_key(&claim.key).map_err(damaged)?;
            let space = spaces.usable(SpaceId(cell.space))?;
            let mut owner = Vec::new();
            Value::open(&claim.owner).encode(sealed.tid().time(), &mut owner);
            Ok(IntendedClaim {
                space: space.id(),
                bucket: space.record.spec.bucket,
                name: cell.partition().map_err(damaged)?.into_owned(),
                taken: claim.taken,
                owner,
            })
        };
        Ok(Self {
            tid: sealed.tid(),
            home: sealed.home().clone(),
            claims: sealed.claims().iter().map(claim).collect::<Result<_>>()?,
            records: Recorded::Here(Vec::new()),
        })
    }

    /// Writes it with its records, and deletes those of complete commits that lie in its partition.
    ///
    /// # Errors
    /// Those of the cluster.
    pub async fn write(
        &mut self,
        link: &Link,
        records: &[(&[u8], StoredWrite<'_>)],
        gone: &[Tid],
    ) -> Result<()> {
        let (mut buffer, mut parts) = (Vec::new(), 0);
        for record in records {
            append_record(&mut buffer, *record);
            if buffer.len() >= PART_BYTES {
                if parts == 0 {
                    self.records = Recorded::Growing;
                    self.put(link, &[]).await?;
                }
                self.put_part(link, parts, &buffer).await?;
                parts += 1;
                buffer.clear();
            }
        }
        if parts == 0 {
            self.records = Recorded::Here(buffer);
            return self.put(link, gone).await;
        }
        self.put_part(link, parts, &buffer).await?;
        self.records = Recorded::Parts(parts + 1);
        self.put(link, gone).await
    }

    /// The intent of a commit, if it is still there.
    ///
    /// # Errors
    /// Those of the cluster; `Corrupt` if it is damaged.
    pub async fn find(link: &Link, tid: Tid) -> Result<Option<Self>> {
        let partition = own::intent_of(tid);
        let key = (OWN, &partition[..], &tid.as_bytes()[..]);
        let rows = link.read(&link.statements.derived_row, key).await?;
        let found = rows.maybe_first_row::<(Option<&[u8]>,)>().map_err(fault::misread)?;
        let Some((Some(value),)) = found else { return Ok(None) };
        Self::decode(tid, value).map(Some)
    }

    /// The records of one of its parts; `None` if somebody ends it.
    ///
    /// # Errors
    /// Those of the cluster.
    pub async fn part(&self, link: &Link, number: u32) -> Result<Option<Vec<u8>>> {
        let (partition, sort) = (own::part(self.tid, number), number.to_be_bytes());
        let key = (OWN, &partition[..], &sort[..]);
        let rows = link.read(&link.statements.derived_row, key).await?;
        let found = rows.maybe_first_row::<(Vec<u8>,)>().map_err(fault::misread)?;
        Ok(found.map(|(records,)| records))
    }

    /// Deletes it when nothing that it says is left to do, parts first: without the row nobody would find them.
    ///
    /// # Errors
    /// Those of the cluster.
    pub async fn delete(&self, link: &Link) -> Result<()> {
        match self.records {
            Recorded::Here(_) => {}
            Recorded::Parts(parts) => self.delete_parts(link, parts).await?,
            Recorded::Growing => {
                let parts = self.written_parts(link).await?;
                self.delete_parts(link, parts).await?;
            }
        }
        let partition = own::intent_of(self.tid);
        let row = (self.at(), OWN, &partition[..], &self.tid.as_bytes()[..]);
        link.blind(&link.statements.delete_derived, row).await
    }

    async fn delete_parts(&self, link: &Link, parts: u32) -> Result<()> {
        for first in own::part_blocks(parts) {
            let partition = own::part(self.tid, first);
            let block = (self.at(), OWN, &partition[..]);
            link.blind(&link.statements.clear_derived, block).await?;
        }
        Ok(())
    }

    /// How many parts may be there, up to the first block without any.
    async fn written_parts(&self, link: &Link) -> Result<u32> {
        for first in own::part_blocks(u32::MAX) {
            let partition = own::part(self.tid, first);
            let rows = link.read(&link.statements.derived_count, (OWN, &partition[..])).await?;
            if rows.first_row::<(i64,)>().map_err(fault::misread)?.0 == 0 {
                return Ok(first);
            }
        }
        Ok(u32::MAX)
    }

    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.home.bucket.0.to_be_bytes());
        put_bytes(&mut out, &self.home.partition);
        out.extend_from_slice(&(self.claims.len() as u32).to_be_bytes());
        for claim in &self.claims {
            out.extend_from_slice(&claim.space.0.to_be_bytes());
            out.extend_from_slice(&claim.bucket.0.to_be_bytes());
            put_bytes(&mut out, &claim.name);
            out.push(u8::from(claim.taken));
            put_bytes(&mut out, &claim.owner);
        }
        let (parts, here) = match &self.records {
            Recorded::Here(records) => (HERE, &records[..]),
            Recorded::Parts(parts) => (*parts, &[][..]),
            Recorded::Growing => (GROWING, &[][..]),
        };
        out.extend_from_slice(&parts.to_be_bytes());
        out.extend_from_slice(here);
        out
    }

    /// Reads [`Self::encode`] back.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged or of another format.
    pub fn decode(tid: Tid, stored: &[u8]) -> Result<Self> {
        Self::parse(tid, stored).ok_or_else(|| {
            Error::corrupt("intent is damaged or of another format").with("commit", tid)
        })
    }

    fn parse(tid: Tid, stored: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(stored);
        if reader.u8()? != VERSION {
            return None;
        }
        let bucket = BucketId(reader.u64()?);
        let home = Home { bucket, partition: reader.bytes()?.to_vec() };
        let mut claims = Vec::new();
        for _ in 0..reader.u32()? {
            claims.push(IntendedClaim {
                space: SpaceId(reader.u32()?),
                bucket: BucketId(reader.u64()?),
                name: reader.bytes()?.to_vec(),
                taken: reader.u8()? == 1,
                owner: reader.bytes()?.to_vec(),
            });
        }
        let records = match reader.u32()? {
            HERE => Recorded::Here(reader.rest().to_vec()),
            GROWING => Recorded::Growing,
            parts => Recorded::Parts(parts),
        };
        Some(Self { tid, home, claims, records })
    }

    async fn put(&self, link: &Link, gone: &[Tid]) -> Result<()> {
        let (partition, value) = (own::intent_of(self.tid), self.encode());
        if gone.is_empty() {
            let row = (OWN, &partition[..], &self.tid.as_bytes()[..], &value[..], self.at());
            return link.blind(&link.statements.put_derived, row).await;
        }
        let place = [Arg::Int(OWN), Arg::Bytes(&partition)];
        let put =
            [place[0], place[1], Arg::Tid(self.tid), Arg::Bytes(&value), Arg::Long(self.at())];
        let mut batch = Batched::default();
        batch.push(&link.statements.put_derived, put);
        delete_in(&mut batch, link, &partition, gone);
        link.blind_batch(batch).await
    }

    async fn put_part(&self, link: &Link, number: u32, records: &[u8]) -> Result<()> {
        let (partition, sort) = (own::part(self.tid, number), number.to_be_bytes());
        let row = (OWN, &partition[..], &sort[..], records, self.at());
        link.blind(&link.statements.put_derived, row).await
    }

    fn at(&self) -> i64 {
        at(self.tid)
    }
}

/// Deletes intents that lie in one partition.
pub fn delete_in<'a>(batch: &mut Batched<'a>, link: &Link, partition: &'a [u8], gone: &[Tid]) {
    for tid in gone {
        let row = [Arg::Long(at(*tid)), Arg::Int(OWN), Arg::Bytes(partition), Arg::Tid(*tid)];
        batch.push(&link.statements.delete_derived, row);
    }
}

/// The timestamp of all that a commit writes blindly.
pub fn at(tid: Tid) -> i64 {
    tid.time().micros() as i64
}

fn damaged(bad: key::BadKey) -> Error {
    Error::internal("a sealed key is damaged").because(bad)
}

/// Reads records back.
///
/// # Errors
/// `Corrupt` if they are damaged.
pub fn records(bytes: &[u8]) -> Result<Vec<(&[u8], StoredWrite<'_>)>> {
    let mut reader = Reader::new(bytes);
    let mut records = Vec::new();
    while !reader.is_empty() {
        let record = read_record(&mut reader)
            .ok_or_else(|| Error::corrupt("record of an intent is damaged"))?;
        records.push(record);
    }
    Ok(records)
}

fn read_record<'a>(reader: &mut Reader<'a>) -> Option<(&'a [u8], StoredWrite<'a>)> {
    let kind = reader.u8()?;
    let (key, value) = (reader.bytes()?, reader.bytes()?);
    let write = match kind {
        PUT => StoredWrite::Put(value),
        DELETE => StoredWrite::Delete,
        MERGE => StoredWrite::Merge(value),
        _ => return None,
    };
    Some((key, write))
}

/// Appends a record.
pub fn append_record(buffer: &mut Vec<u8>, (key, write): (&[u8], StoredWrite<'_>)) {
    let (kind, value) = match write {
        StoredWrite::Put(value) => (PUT, value),
        StoredWrite::Delete => (DELETE, &[][..]),
        StoredWrite::Merge(value) => (MERGE, value),
    };
    buffer.push(kind);
    put_bytes(buffer, key);
    put_bytes(buffer, value);
}
