//! Intents of complete commits, which leave together: with the next intent that is written to their partition, in one
//! request and one change of it, or by themselves if none comes soon. No caller waits for that; until then the commits
//! don't count as settled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Inner;
use super::cluster::{Batched, Link};
use super::commit::End;
use super::intent::{self, Intent};
use super::own;
use crate::cell::Tid;
use crate::engine::Stamp;
use crate::error::Result;

/// How long the first waits for others.
const APART: Duration = Duration::from_millis(10);
/// How many go at once.
const TOGETHER: usize = 100;

/// A complete commit, and what it holds until its intent is gone.
pub struct Departure {
    /// What is to be deleted.
    pub intent: Intent,
    /// Its place among the commits under way, and its stamp.
    pub _held: (OwnedSemaphorePermit, Stamp),
}

/// Those that wait for each other.
#[derive(Default)]
pub struct Departing(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    departures: Vec<Departure>,
    /// Whether somebody will come for them in time.
    fetched: bool,
}

impl Departing {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes those that can leave with the intent of a commit.
    pub fn leaving_with(&self, tid: Tid) -> Vec<Departure> {
        let partition = own::intent_of(tid);
        let mut waiting = self.waiting();
        let same = |departure: &mut Departure| own::intent_of(departure.intent.tid) == partition;
        waiting.departures.extract_if(.., same).take(TOGETHER).collect()
    }
}

impl Inner {
    /// Deletes intents soon.
    pub(super) fn depart(self: &Arc<Self>, link: &Arc<Link>, departures: Vec<Departure>) {
        if departures.is_empty() {
            return;
        }
        let fetched = {
            let mut waiting = self.departing.waiting();
            waiting.departures.extend(departures);
            std::mem::replace(&mut waiting.fetched, true)
        };
        if !fetched {
            let (inner, link) = (self.clone(), link.clone());
            tokio::spawn(async move {
                tokio::time::sleep(APART).await;
                let all = std::mem::take(&mut *inner.departing.waiting());
                inner.delete_intents(&link, all.departures).await;
            });
        }
    }

    async fn delete_intents(&self, link: &Link, all: Vec<Departure>) {
        for some in all.chunks(TOGETHER) {
            if let Err(error) = delete_together(link, some).await {
                tracing::debug!(%error, "intents can't be ended together");
                for departure in some {
                    self.close(link, &departure.intent, End::Complete).await;
                }
            }
        }
    }
}

async fn delete_together(link: &Link, some: &[Departure]) -> Result<()> {
    let tids: Vec<Tid> = some.iter().map(|departure| departure.intent.tid).collect();
    for same in tids.chunk_by(|a, b| own::intent_of(*a) == own::intent_of(*b)) {
        let partition = own::intent_of(same[0]);
        let mut batch = Batched::default();
        intent::delete_in(&mut batch, link, &partition, same);
        link.blind_batch(batch).await?;
    }
    Ok(())
}
