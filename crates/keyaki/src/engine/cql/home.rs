//! How a home partition decides: one lightweight transaction that moves its head on, leaves the commit's mark and
//! writes its cells, all or nothing.
//!
//! The head holds the time of the partition's latest commit, so a transaction that demands the head as it was read
//! sees exactly the cells that were read with it. If the head is remembered, or the partition is expected to be
//! new, nothing is read: the cells' conditions go into the transaction, and only if it is not done the partition is
//! looked at.
//!
//! A transaction without an answer may have been done, or be done later. So its mark is barred: whoever inserts at
//! the mark's key first decides, the commit by `done`, everybody else by `aborted`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use scylla::statement::prepared::PreparedStatement;

use super::Inner;
use super::cluster::{Batched, Link};
use super::fault::{self, Fate};
use super::own::{NOTHING, OWN};
use super::rows;
use super::statements::Arg;
use crate::cell::{Tid, Time, key};
use crate::engine::commit::{Expect, Home, Refusal, StoredWrite, space_of};
use crate::engine::sight::Sight;
use crate::error::{Error, Result};

/// A mark of a commit that took.
pub const DONE: &[u8] = b"done";
/// A mark of one that never will.
pub const ABORTED: &[u8] = b"aborted";
/// The most bytes of one transaction: Cassandra takes 16 MiB, with what it adds.
const TRANSACTION_BYTES_MAX: usize = 15 << 20;
const TRANSACTION_CELLS_MAX: usize = 60_000;
/// Marks older than this are forgotten; intents are settled long before.
const MARKS_KEPT_US: u64 = 24 * 3_600 * 1_000_000;
/// One commit in so many forgets them.
const PRUNE_EVERY: u64 = 64;

/// What a commit wants of its home.
pub struct Proposal<'a> {
    /// The commit.
    pub tid: Tid,
    /// Its home.
    pub home: &'a Home,
    /// Whether dependents follow.
    pub pending: bool,
    /// Writes by stored keys.
    pub writes: Vec<(&'a [u8], StoredWrite<'a>)>,
    /// What it demands, as far as that can be said in the transaction itself.
    pub expectations: &'a [(Vec<u8>, Expect)],
    /// Stored keys of the cells that `judge` looks at.
    pub looks_at: Vec<&'a [u8]>,
}

/// What became of it.
pub enum Decision {
    /// It took.
    Took,
    /// It did not, for these reasons.
    Refused(Vec<Refusal>),
    /// It did not; stamped anew it may.
    Stale,
}

/// A partition as it was found.
pub struct Found {
    latest: Option<Time>,
    pending: Option<Tid>,
    barred: bool,
    cells: HashMap<Vec<u8>, Vec<u8>>,
}

impl Found {
    /// The time of the latest commit.
    pub fn latest(&self) -> Option<Time> {
        self.latest
    }

    /// The commit whose dependents may be missing.
    pub fn pending(&self) -> Option<Tid> {
        self.pending
    }

    /// A cell by its stored key.
    pub fn cell(&self, key: &[u8]) -> Option<&[u8]> {
        self.cells.get(key).map(Vec::as_slice)
    }
}

/// Decides from what is there; only asked if the transaction could not.
pub type Judge<'a> = dyn Fn(&Found) -> Result<Vec<Refusal>> + Send + Sync + 'a;

impl Proposal<'_> {
    fn check_size(&self) -> Result<()> {
        let value = |write: &StoredWrite<'_>| match write {
            StoredWrite::Put(value) | StoredWrite::Merge(value) => value.len(),
            StoredWrite::Delete => 0,
        };
        let bytes: usize = self.writes.iter().map(|(key, write)| key.len() + value(write)).sum();
        if bytes > TRANSACTION_BYTES_MAX || self.writes.len() > TRANSACTION_CELLS_MAX {
            return Err(Error::invalid(
                "home writes are too many for one transaction of the cluster",
            )
            .with("bytes", bytes)
            .with("most", TRANSACTION_BYTES_MAX)
            .with("cells", self.writes.len())
            .with("most_cells", TRANSACTION_CELLS_MAX));
        }
        Ok(())
    }

    /// Whether each expectation is on a cell that is written, so that the write can carry it.
    fn speaks_for_itself(&self, inner: &Inner) -> bool {
        let written = |key: &[u8]| self.writes.binary_search_by(|(k, _)| (*k).cmp(key)).is_ok();
        let mut seen: Vec<&[u8]> = Vec::new();
        self.expectations.iter().all(|(key, expect)| {
            let said = match expect {
                Expect::Absent => true,
                Expect::Present => false,
                // A value that its space doesn't keep is absent, whatever is stored.
                Expect::Equals(value) => inner.seen(key, value).is_ok_and(|seen| seen.is_some()),
            };
            let first = !seen.contains(&&key[..]);
            seen.push(key);
            said && first && written(key)
        })
    }
}

impl Inner {
    /// Decides a commit on its home, beginning with what was found there, if it was looked at.
    pub(super) async fn decide(
        &self,
        link: &Link,
        proposal: &Proposal<'_>,
        mut found_before: Option<Found>,
        judge: &Judge<'_>,
    ) -> Result<Decision> {
        proposal.check_size()?;
        if let Some(latest) = self.guess(proposal)
            && proposal.speaks_for_itself(self)
        {
            if latest.is_some_and(|latest| latest >= proposal.tid.time()) {
                return Ok(Decision::Stale);
            }
            if let Some(decision) = self.transact(link, proposal, latest, true).await? {
                return Ok(decision);
            }
        }
        let mut attempts = self.attempts();
        while attempts.another().await {
            let mut found = match found_before.take() {
                Some(found) => found,
                None => self.look(link, proposal).await?,
            };
            if let Some(decision) = self.judge_found(proposal, &found, judge)? {
                return Ok(decision);
            }
            self.complete_found(link, &mut found).await?;
            if let Some(decision) = self.transact(link, proposal, found.latest, false).await? {
                return Ok(decision);
            }
        }
        Ok(Decision::Stale)
    }

    /// Does ahead of time what needs no intent. Answers the partition as it was found, if it had to be looked at.
    pub(super) async fn make_ready(
        &self,
        link: &Link,
        proposal: &Proposal<'_>,
    ) -> Result<Option<Found>> {
        if self.guess(proposal).is_some() {
            return Ok(None);
        }
        let mut found = self.look(link, proposal).await?;
        self.complete_found(link, &mut found).await?;
        Ok(Some(found))
    }

    /// Completes the commit before this one.
    async fn complete_found(&self, link: &Link, found: &mut Found) -> Result<()> {
        match found.pending.take() {
            Some(before) => self.finish_pending(link, before).await,
            None => Ok(()),
        }
    }

    /// The head as it may be: remembered, or none where everything is expected to be absent.
    fn guess(&self, proposal: &Proposal<'_>) -> Option<Option<Time>> {
        if let Some(latest) = self.heads.latest(proposal.home) {
            return Some(Some(latest));
        }
        let absent = |(_, expect): &(Vec<u8>, Expect)| *expect == Expect::Absent;
        let new = !proposal.expectations.is_empty() && proposal.expectations.iter().all(absent);
        new.then_some(None)
    }

    fn judge_found(
        &self,
        proposal: &Proposal<'_>,
        found: &Found,
        judge: &Judge<'_>,
    ) -> Result<Option<Decision>> {
        // Barred by a sweeper, or of another commit with the same id: ours has not taken.
        if found.barred {
            return Ok(Some(Decision::Stale));
        }
        if let Some(latest) = found.latest
            && latest >= proposal.tid.time()
        {
            self.stamps.clock().observe(latest);
            return Ok(Some(Decision::Stale));
        }
        let refusals = judge(found)?;
        Ok((!refusals.is_empty()).then_some(Decision::Refused(refusals)))
    }

    /// Runs the transaction; `None` if the partition is not as it was thought to be.
    async fn transact(
        &self,
        link: &Link,
        proposal: &Proposal<'_>,
        latest: Option<Time>,
        conditions: bool,
    ) -> Result<Option<Decision>> {
        self.heads.note(proposal.home, None);
        let begun = Instant::now();
        let transaction = link.conditional_batch(transaction(link, proposal, latest, conditions));
        // Nobody hears that a commit took before its partition is listed. If the process ends in between, the next
        // one to commit there lists it. Who has an intent lists all its partitions at once.
        let listed = async {
            match proposal.pending {
                true => Ok(()),
                false => self.list_home(link, proposal.home).await,
            }
        };
        let (done, listed) = tokio::join!(transaction, listed);
        let took = || {
            let Home { bucket, partition } = proposal.home;
            link.shown.settle(*bucket, partition, proposal.tid.time());
            Some(Decision::Took)
        };
        match done {
            Ok(true) => listed.map(|()| took()),
            Ok(false) => Ok(None),
            Err(Fate::NotDone(error)) => Err(error),
            Err(Fate::Unknown(error)) => {
                tracing::debug!(%error, commit = %proposal.tid, "unknown outcome is being settled");
                // Whoever waits hears in time that nothing is known, if the cluster is away.
                let most = self.settings.request_timeout;
                let left = most.saturating_sub(begun.elapsed()).max(most / 4);
                let bar = self.bar(link, proposal.home, proposal.tid);
                match tokio::time::timeout(left, bar).await {
                    Ok(Ok(true)) => Ok(Some(Decision::Stale)),
                    Ok(Ok(false)) => listed.map(|()| took()),
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(error),
                }
            }
        }
    }

    /// Sees to it that a commit never takes unless it already has. Answers whether it is barred.
    pub(super) async fn bar(&self, link: &Link, home: &Home, tid: Tid) -> Result<bool> {
        let mut last = None;
        let mut attempts = self.attempts();
        while attempts.another().await {
            let (bucket, partition) = (home.bucket.0 as i64, &home.partition[..]);
            let mark = (bucket, partition, OWN, &tid.as_bytes()[..], ABORTED);
            match link.conditional(&link.statements.mark, mark).await {
                Ok(true) => return Ok(true),
                Ok(false) => match self.mark_of(link, home, tid).await? {
                    Some(mark) => return Ok(mark != DONE),
                    None => {
                        last = Some(Error::internal("a mark that stood in the way is not there"));
                    }
                },
                Err(fate) => last = Some(fate.into_error()),
            }
        }
        Err(last.unwrap_or_else(|| Error::unavailable("the cluster doesn't answer")))
    }

    async fn mark_of(&self, link: &Link, home: &Home, tid: Tid) -> Result<Option<Vec<u8>>> {
        let (bucket, partition) = (home.bucket.0 as i64, &home.partition[..]);
        let place = (bucket, partition, OWN, &tid.as_bytes()[..]);
        let rows = link.read(&link.statements.home_row, place).await?;
        let row = rows.maybe_first_row::<(Option<Vec<u8>>,)>().map_err(fault::misread)?;
        Ok(row.and_then(|(mark,)| mark))
    }

    /// Completes the latest commit of a partition.
    pub(super) async fn finish_latest(&self, link: &Link, home: &Home) -> Result<()> {
        let mut found = self.head(link, home).await?;
        self.complete_found(link, &mut found).await
    }

    /// A partition's head alone.
    pub(super) async fn head(&self, link: &Link, home: &Home) -> Result<Found> {
        self.found(link, home, vec![(OWN, NOTHING)]).await
    }

    /// Reads a partition as far as a proposal goes.
    pub(super) async fn look(&self, link: &Link, proposal: &Proposal<'_>) -> Result<Found> {
        let mark = proposal.tid.as_bytes();
        let mut places: Vec<(i32, &[u8])> = vec![(OWN, NOTHING), (OWN, mark)];
        for stored in &proposal.looks_at {
            places.push((space_of(stored).0 as i32, sort_of(stored)?));
        }
        places.sort_unstable();
        places.dedup();
        self.found(link, proposal.home, places).await
    }

    /// Some rows of a partition, its head among them, no older than what this process has shown: a commit on what its
    /// caller has read would be refused, and what a reader follows up not found.
    async fn found(&self, link: &Link, home: &Home, places: Vec<(i32, &[u8])>) -> Result<Found> {
        let (statements, places) = (&link.statements, &places);
        let read = |serially| async move {
            let rows = if serially { &statements.home_rows_now } else { &statements.home_rows };
            let found = find_rows(link, rows, home, places).await?;
            let newest = found.latest.unwrap_or(Time::ZERO);
            Ok((found, newest))
        };
        rows::never_back(link, (home.bucket, &home.partition), read).await
    }

    /// A stored home cell as conditions see it.
    pub(super) fn seen<'v>(&self, key: &[u8], value: &'v [u8]) -> Result<Option<Cow<'v, [u8]>>> {
        let space = self.spaces.usable(space_of(key))?;
        Sight::new(space, self.stamps.clock()).see(key, value)
    }
}

async fn find_rows(
    link: &Link,
    statement: &PreparedStatement,
    home: &Home,
    places: &[(i32, &[u8])],
) -> Result<Found> {
    let (bucket, partition) = (home.bucket.0 as i64, &home.partition[..]);
    let rows = link.read(statement, (bucket, partition, places)).await?;
    let mut found = Found { latest: None, pending: None, barred: false, cells: HashMap::new() };
    let rows = rows.rows::<HomeRow<'_>>().map_err(fault::misread)?;
    for row in rows {
        let (space, sort, value, latest, pending) = row.map_err(fault::misread)?;
        if space != OWN {
            if let Some(value) = value {
                let mut stored = Vec::new();
                key::cell_key(space as u32, partition, sort, &mut stored);
                found.cells.insert(stored, value.to_vec());
            }
        } else if sort.is_empty() {
            found.latest = latest.map(|micros| Time::from_micros(micros as u64));
            found.pending = pending.map(pending_tid).transpose()?;
        } else {
            found.barred = true;
        }
    }
    Ok(found)
}

type HomeRow<'r> = (i32, &'r [u8], Option<&'r [u8]>, Option<i64>, Option<&'r [u8]>);

fn transaction<'a>(
    link: &Link,
    proposal: &'a Proposal<'a>,
    latest: Option<Time>,
    conditions: bool,
) -> Batched<'a> {
    let statements = &link.statements;
    let home = [Arg::Long(proposal.home.bucket.0 as i64), Arg::Bytes(&proposal.home.partition)];
    let own = Arg::Int(OWN);
    let tid = Arg::Bytes(proposal.tid.as_bytes());
    let time = proposal.tid.time().micros();
    let mut batch = Batched::default();
    batch.push(
        &statements.advance_head,
        [
            Arg::Long(time as i64),
            if proposal.pending { tid } else { Arg::Null },
            home[0],
            home[1],
            own,
            Arg::Bytes(&[]),
            latest.map_or(Arg::Null, |latest| Arg::Long(latest.micros() as i64)),
        ],
    );
    batch.push(&statements.mark, [home[0], home[1], own, tid, Arg::Bytes(DONE)]);
    if time.is_multiple_of(PRUNE_EVERY) {
        let old = Tid::new(Time::from_micros(time.saturating_sub(MARKS_KEPT_US)), 0);
        batch.push(&statements.prune_marks, [home[0], home[1], own, Arg::Tid(old)]);
    }
    let mut expectations: HashMap<&[u8], Arg<'a>> = HashMap::new();
    // Where there is no head there are no cells, and the head's own condition says all.
    if conditions && latest.is_some() {
        for (key, expect) in proposal.expectations {
            let value = match expect {
                Expect::Equals(value) => Arg::Bytes(value),
                Expect::Absent | Expect::Present => Arg::Null,
            };
            expectations.insert(key, value);
        }
    }
    for (stored, write) in &proposal.writes {
        let space = Arg::Int(space_of(stored).0 as i32);
        let sort = Arg::Bytes(sort_of(stored).unwrap_or_default());
        let place = [home[0], home[1], space, sort];
        let mut values: Vec<Arg<'a>> = Vec::with_capacity(6);
        let expected = expectations.get(stored);
        let statement = match (write, expected) {
            (StoredWrite::Delete, None) => &statements.delete_home,
            (StoredWrite::Delete, Some(_)) => &statements.delete_home_if,
            (StoredWrite::Put(value) | StoredWrite::Merge(value), expected) => {
                values.push(Arg::Bytes(value));
                match expected {
                    None => &statements.put_home,
                    Some(_) => &statements.put_home_if,
                }
            }
        };
        values.extend(place);
        values.extend(expected);
        batch.push(statement, values);
    }
    batch
}

fn sort_of(stored: &[u8]) -> Result<&[u8]> {
    let cell = key::split_cell_key(stored);
    cell.map(|cell| cell.sort)
        .map_err(|bad| Error::internal("a sealed key is damaged").because(bad))
}

fn pending_tid(stored: &[u8]) -> Result<Tid> {
    let tid = stored.try_into().ok().and_then(|bytes| Tid::from_bytes(bytes).ok());
    tid.ok_or_else(|| {
        Error::corrupt("head of a partition is damaged").with_bytes("pending", stored)
    })
}
