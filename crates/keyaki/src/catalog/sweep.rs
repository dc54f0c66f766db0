//! Housekeeping in all buckets, whether anybody uses them or not: retention made permanent, renames that were cut short
//! finished, and what is held counted.
//!
//! When a bucket is swept next stands in the catalog's bucket, outside the catalog. Whoever moves that time on does the
//! sweep: so several servers share the work, and a restart doesn't begin it anew. A few buckets take turns, a limited
//! number of cells in each round.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Inner;
use super::bucket::{OpenBucket, Sweeping};
use super::record::Grave;
use super::snapshot::BucketEntry;
use crate::cell::{Time, Value, ValueRef};
use crate::error::{Error, Result};
use crate::store::{Committed, Previous};

const ROUNDS_APART: Duration = Duration::from_secs(2);
/// Before a bucket is tried again that could not be opened.
const RETRIES_APART: Duration = Duration::from_secs(60);
const CELLS_A_ROUND: usize = 50_000;
/// Buckets that take turns.
const AT_ONCE: usize = 4;
/// Buckets that a round may ask the catalog about.
const LOOKS_A_ROUND: usize = 100;
/// The partition of the schedule.
const SCHEDULE: &[u8] = b"sweeps";

/// What one process does in turn.
#[derive(Default)]
struct Sweeper {
    /// When a bucket need not be looked at before.
    due: HashMap<Vec<u8>, Time>,
    /// A large bucket doesn't keep small ones waiting.
    under_way: VecDeque<(Arc<OpenBucket>, Sweeping)>,
}

pub(super) async fn sweep_regularly(inner: Weak<Inner>) {
    let mut sweeper = Sweeper::default();
    loop {
        tokio::time::sleep(ROUNDS_APART).await;
        let Some(inner) = inner.upgrade() else { return };
        count(&inner).await;
        if let Err(error) = sweeper.round(&inner).await {
            tracing::warn!(%error, "a bucket can't be swept yet");
        }
    }
}

/// Counts the use of buckets that others write to, if anybody here asks for them.
async fn count(inner: &Inner) {
    for ((backend, ..), open) in inner.open.all() {
        if inner.backends.is_shared(&backend)
            && open.asked_for.swap(false, Relaxed)
            && let Err(error) = open.meter.count().await
        {
            tracing::warn!(%error, "a bucket can't be counted yet");
        }
    }
}

impl Sweeper {
    async fn round(&mut self, inner: &Inner) -> Result<()> {
        if self.under_way.len() < AT_ONCE
            && let Some(open) = self.next(inner).await?
        {
            self.under_way.push_back((open, Sweeping::default()));
        }
        // One that fails is left until it is due again.
        let Some((open, mut sweep)) = self.under_way.pop_front() else { return Ok(()) };
        if !open.sweep(&mut sweep, CELLS_A_ROUND).await? {
            self.under_way.push_back((open, sweep));
        }
        Ok(())
    }

    /// A bucket that is due, and ours to sweep.
    async fn next(&mut self, inner: &Inner) -> Result<Option<Arc<OpenBucket>>> {
        let snapshot = inner.snapshot().await?;
        let now = inner.bucket.store().engine().clock().now();
        let mut looks = 0;
        for (domain, buckets) in &snapshot.domains {
            for entry in buckets.buckets.values() {
                let name = entry.place().name();
                if self.due.get(&name).is_some_and(|due| *due > now) {
                    continue;
                }
                looks += 1;
                if looks > LOOKS_A_ROUND {
                    return Ok(None);
                }
                let turn = inner.take_turn(domain, entry, now).await;
                let (due, ours) = turn.unwrap_or_else(|error| {
                    tracing::debug!(%error, "a bucket can't be opened to be swept");
                    (now.saturating_add(RETRIES_APART), None)
                });
                self.due.insert(name, due);
                if ours.is_some() {
                    return Ok(ours);
                }
            }
        }
        Ok(None)
    }
}

impl Inner {
    /// Moves on the time of a bucket's next sweep, if it has come. Answers that time, and the bucket if it was we who
    /// moved it.
    async fn take_turn(
        &self,
        domain: &str,
        entry: &BucketEntry,
        now: Time,
    ) -> Result<(Time, Option<Arc<OpenBucket>>)> {
        let open = self.open_bucket(domain, entry).await?;
        let (name, apart) = (entry.place().name(), open.sweeps_apart());
        let stored = self.bucket.stored(SCHEDULE, &name).await?;
        let due = stored.as_deref().map(time_of).transpose()?;
        // One that is further off was set when sweeps were further apart.
        if let Some(due) = due.filter(|due| *due > now && *due <= now.saturating_add(apart)) {
            return Ok((due, None));
        }
        let next = now.saturating_add(apart);
        let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
        let committed = self.bucket.commit(SCHEDULE, |draft| {
            draft.put(&name, previous, Value::open(next.micros().to_string().as_bytes()))
        });
        let ours = matches!(committed.await?, Committed::Done(_));
        Ok((next, ours.then_some(open)))
    }

    /// Strikes a bucket that is gone from the schedule.
    pub(super) async fn unschedule(&self, gone: &Grave) -> Result<()> {
        let name = gone.name();
        let Some(stored) = self.bucket.stored(SCHEDULE, &name).await? else { return Ok(()) };
        self.bucket.commit(SCHEDULE, |draft| draft.remove(&name, &stored)).await.map(drop)
    }
}

fn time_of(stored: &[u8]) -> Result<Time> {
    let micros = std::str::from_utf8(ValueRef::decode(stored)?.payload);
    let micros = micros.ok().and_then(|text| text.parse().ok());
    micros.map(Time::from_micros).ok_or_else(|| Error::corrupt("time of a sweep is damaged"))
}
