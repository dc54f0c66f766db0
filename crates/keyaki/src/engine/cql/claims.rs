//! Names across partitions. A name has a row of its own among the home cells: who has it, since when, and which
//! commit is about to change that. A commit notes itself there before its home decides, and the name goes to its
//! owner, or stays, after.
//!
//! Whoever finds a name noted by another commit waits for it a moment, then settles it as a sweeper would. What
//! readers see is the derived cell, written with the other dependents; since a name's time only rises, so do the
//! times of that cell.

use std::time::{Duration, Instant};

use super::Inner;
use super::cluster::Link;
use super::fault;
use super::intent::{IntendedClaim, Intent};
use super::wire::{Reader, put_bytes};
use crate::cell::{Tid, Time, ValueRef};
use crate::engine::commit::Home;
use crate::engine::space::BucketId;
use crate::error::{Error, Result};

/// How long a commit that holds a name is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a commit learnt of a name.
pub enum Noted {
    /// It is the next to have it, or to give it back.
    Ours,
    /// Another has it: the stored owner.
    Theirs(Vec<u8>),
    /// It was changed at a time that is not earlier.
    Stale,
}

struct Name {
    owner: Option<Vec<u8>>,
    latest: Option<Time>,
    noted: Option<Vec<u8>>,
}

/// A commit's note at a name: enough to settle it without its intent.
pub struct Note {
    /// The commit.
    pub tid: Tid,
    /// Where its mark is, if it took.
    pub home: Home,
    /// Whether the name is taken, or given back.
    pub taken: bool,
    /// The owner as it will be stored.
    pub owner: Vec<u8>,
}

impl Note {
    fn of(intent: &Intent, claim: &IntendedClaim) -> Self {
        let (tid, home) = (intent.tid, intent.home.clone());
        Self { tid, home, taken: claim.taken, owner: claim.owner.clone() }
    }

    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.tid.as_bytes().to_vec();
        out.extend_from_slice(&self.home.bucket.0.to_be_bytes());
        put_bytes(&mut out, &self.home.partition);
        out.push(u8::from(self.taken));
        put_bytes(&mut out, &self.owner);
        out
    }

    /// Reads [`Self::encode`] back.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn decode(stored: &[u8]) -> Result<Self> {
        let parse = || {
            let mut reader = Reader::new(stored);
            let tid = Tid::from_bytes(reader.chunk()?).ok()?;
            let bucket = BucketId(reader.u64()?);
            let home = Home { bucket, partition: reader.bytes()?.to_vec() };
            Some(Self { tid, home, taken: reader.u8()? == 1, owner: reader.bytes()?.to_vec() })
        };
        parse()
            .ok_or_else(|| Error::corrupt("note at a name is damaged").with_bytes("note", stored))
    }
}

impl Inner {
    /// Notes a commit at a name.
    pub(super) async fn note_claim(
        &self,
        link: &Link,
        intent: &Intent,
        claim: &IntendedClaim,
    ) -> Result<Noted> {
        let note = Note::of(intent, claim).encode();
        let mut waiting: Option<(Vec<u8>, Instant)> = None;
        let mut attempts = self.attempts();
        while attempts.another().await {
            let name = self.name(link, claim).await?;
            match &name.noted {
                Some(noted) if *noted == note => return Ok(Noted::Ours),
                Some(noted) => {
                    let since = match &waiting {
                        Some((other, since)) if other == noted => *since,
                        _ => Instant::now(),
                    };
                    if since.elapsed() >= PATIENCE {
                        self.settle_note(link, claim, noted).await?;
                    }
                    waiting = Some((noted.clone(), since));
                    continue;
                }
                None => {}
            }
            if let Some(owner) = &name.owner
                && ValueRef::decode(owner)?.payload != ValueRef::decode(&claim.owner)?.payload
            {
                return Ok(Noted::Theirs(owner.clone()));
            }
            if let Some(latest) = name.latest
                && latest >= intent.tid.time()
            {
                self.stamps.clock().observe(latest);
                return Ok(Noted::Stale);
            }
            let latest = name.latest.map(|latest| latest.micros() as i64);
            let (bucket, partition, space, sort) = place(claim);
            let nothing: Option<&[u8]> = None;
            let values = (&note[..], bucket, partition, space, sort, nothing, latest);
            // Without an answer, the next look tells.
            if matches!(link.conditional(&link.statements.reserve_name, values).await, Ok(true)) {
                return Ok(Noted::Ours);
            }
        }
        Err(Error::unavailable("a name is claimed by too many at once")
            .with_bytes("name", &claim.name))
    }

    /// Does with a name what became of the commit that is noted there.
    pub(super) async fn settle_claim(
        &self,
        link: &Link,
        intent: &Intent,
        claim: &IntendedClaim,
        took: bool,
    ) -> Result<()> {
        self.conclude(link, claim, &Note::of(intent, claim), took).await
    }

    async fn settle_note(&self, link: &Link, claim: &IntendedClaim, noted: &[u8]) -> Result<()> {
        let note = Note::decode(noted)?;
        let took = !self.bar(link, &note.home, note.tid).await?;
        self.conclude(link, claim, &note, took).await
    }

    /// Nothing is left to do if the note is no longer there.
    async fn conclude(
        &self,
        link: &Link,
        claim: &IntendedClaim,
        note: &Note,
        took: bool,
    ) -> Result<()> {
        let encoded = note.encode();
        let (bucket, partition, space, sort) = place(claim);
        let nothing: Option<&[u8]> = None;
        let mut last = None;
        let mut attempts = self.attempts();
        while attempts.another().await {
            let done = if took {
                let owner = note.taken.then_some(&note.owner[..]);
                let at = note.tid.time().micros() as i64;
                let values = (owner, at, nothing, bucket, partition, space, sort, &encoded[..]);
                link.conditional(&link.statements.confirm_name, values).await
            } else {
                let values = (nothing, bucket, partition, space, sort, &encoded[..]);
                link.conditional(&link.statements.leave_name, values).await
            };
            match done {
                Ok(_) => return Ok(()),
                Err(fate) => last = Some(fate.into_error()),
            }
        }
        Err(last.unwrap_or_else(|| Error::unavailable("the cluster doesn't answer")))
    }

    async fn name(&self, link: &Link, claim: &IntendedClaim) -> Result<Name> {
        let rows = link.read(&link.statements.name, place(claim)).await?;
        let row = rows.maybe_first_row::<(Option<Vec<u8>>, Option<i64>, Option<Vec<u8>>)>();
        let (owner, latest, noted) = row.map_err(fault::misread)?.unwrap_or_default();
        Ok(Name { owner, latest: latest.map(|micros| Time::from_micros(micros as u64)), noted })
    }
}

fn place(claim: &IntendedClaim) -> (i64, &[u8], i32, &'static [u8]) {
    (claim.bucket.0 as i64, &claim.name, claim.space.0 as i32, &[])
}
