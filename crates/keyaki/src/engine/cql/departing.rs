//! Intents of complete commits, which go together: one request deletes all that lie in one partition. No caller waits
//! for that; until then the commits don't count as settled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Inner;
use super::cluster::{Batched, Link};
use super::commit::End;
use super::intent::{Intent, at};
use super::own::{self, OWN};
use super::statements::Arg;
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
pub struct Departing(Mutex<Vec<Departure>>);

impl Departing {
    fn waiting(&self) -> MutexGuard<'_, Vec<Departure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Deletes an intent soon.
    pub(super) fn depart(self: Arc<Self>, link: Arc<Link>, departure: Departure) {
        let first = {
            let mut waiting = self.departing.waiting();
            waiting.push(departure);
            waiting.len() == 1
        };
        if first {
            tokio::spawn(async move {
                tokio::time::sleep(APART).await;
                let all = std::mem::take(&mut *self.departing.waiting());
                self.delete_intents(&link, all).await;
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
    let tids = some.iter().map(|departure| departure.intent.tid);
    let places: Vec<_> = tids.map(|tid| (own::intent_of(tid), tid)).collect();
    for same in places.chunk_by(|a, b| a.0 == b.0) {
        let mut batch = Batched::default();
        for (partition, tid) in same {
            let row = [Arg::Long(at(*tid)), Arg::Int(OWN), Arg::Bytes(partition), Arg::Tid(*tid)];
            batch.push(&link.statements.delete_derived, row);
        }
        link.blind_batch(batch).await?;
    }
    Ok(())
}
