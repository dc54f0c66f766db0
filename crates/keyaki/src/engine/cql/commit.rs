//! A commit from its intent to its end: intent, names, home, dependents, and the intent goes.
//!
//! It runs in a task of its own, so that a caller who no longer waits doesn't leave it half done. Whatever ends it
//! early, the intent stays for a sweeper. An answer is given when the dependents are written; if they can't be, the
//! commit has taken all the same, and they are tried again in the background.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Inner;
use super::claims::Noted;
use super::cluster::Link;
use super::departing::Departure;
use super::home::{Decision, Found, Proposal};
use super::intent::{Intent, Recorded};
use super::nodes::Leave;
use crate::cell::Tid;
use crate::engine::commit::{Outcome, Refusal, Sealed, StoredWrite};
use crate::error::{Error, Result};

/// Between attempts to end an intent.
const RETRY_APART: Duration = Duration::from_secs(1);

/// A commit with dependents, as it is carried out.
pub struct Errand<'a> {
    /// What it wants of its home.
    pub proposal: Proposal<'a>,
    /// What it writes down before.
    pub intent: Intent,
    /// What follows, in the order of keys.
    pub dependents: Vec<(&'a [u8], StoredWrite<'a>)>,
    /// Complete commits whose intents leave when this one's is written; they stay here if it is not.
    pub leaving: Vec<Departure>,
    /// What stands against it.
    pub judge: &'a FullJudge<'a>,
}

/// Decides from what is there, and who has the names that a commit wants.
pub type FullJudge<'a> =
    dyn Fn(&Found, &[Option<Vec<u8>>]) -> Result<Vec<Refusal>> + Send + Sync + 'a;

/// What is left to do with an intent.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// To delete it.
    Complete,
    /// To write its dependents first.
    Taken,
    /// To give its names back first.
    NotTaken,
    /// To find out.
    Unknown,
}

impl Inner {
    /// Does a sealed commit.
    pub(super) async fn commit(self: Arc<Self>, sealed: Sealed) -> Result<Outcome> {
        let link = self.cluster.link().await?.clone();
        let (room, turn) = self.take_turn(&sealed).await?;
        let proposal = proposal(&sealed);
        if !proposal.pending {
            let judge = |found: &Found| self.refusals(&sealed, &[], found);
            let decision = self.decide(&link, &proposal, None, &judge).await?;
            if matches!(decision, Decision::Took) {
                self.heads.note(sealed.home(), Some(sealed.tid().time()));
            }
            return Ok(answer(decision));
        }
        let hold = self.stamps.hold(sealed.tid());
        let mut errand = Errand {
            proposal,
            intent: Intent::of(&sealed, &self.spaces)?,
            dependents: sealed.dependents().collect(),
            leaving: Vec::new(),
            judge: &|found, owners| self.refusals(&sealed, owners, found),
        };
        if self.join(&link, sealed.tid()).await? == Leave::TooEarly {
            return Ok(Outcome::Stale);
        }
        errand.leaving = self.departing.leaving_with(sealed.tid());
        let (decided, end) = self.carry_out(&link, &mut errand).await;
        let Errand { intent, mut leaving, .. } = errand;
        drop(turn);
        if matches!((end, &intent.records), (End::Complete, Recorded::Here(_))) {
            leaving.push(Departure { intent, _held: (room, hold) });
            self.depart(&link, leaving);
            return decided.map(answer);
        }
        self.depart(&link, leaving);
        // The intent's end need not be waited for; until then nobody takes the commit for settled.
        tokio::spawn(async move {
            let carried = (room, hold, sealed);
            self.close(&link, &intent, end).await;
            drop(carried);
        });
        decided.map(answer)
    }

    /// Waits for room and for the partition's turn, no longer than for a request: while the cluster is away, both
    /// are held by commits that can't end.
    async fn take_turn(
        &self,
        sealed: &Sealed,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let taken = async {
            let room = self.room.clone().acquire_owned().await;
            let room = room.map_err(|_| Error::internal("commits have ended"))?;
            Ok((room, self.turns.take(sealed.home()).await?))
        };
        tokio::time::timeout(self.settings.request_timeout, taken).await.unwrap_or_else(|_| {
            Err(Error::unavailable("too many commits wait for the cluster")
                .with_bytes("partition", &sealed.home().partition))
        })
    }

    /// Carries out a commit whose node has joined; its intent is left to be ended.
    pub(super) async fn carry_out(
        &self,
        link: &Link,
        errand: &mut Errand<'_>,
    ) -> (Result<Decision>, End) {
        // Meanwhile the partitions are listed: nobody hears that a commit took before that is done.
        let ahead = self.ahead(errand.proposal.home, &errand.dependents);
        let listed = async { self.list(link, ahead?).await };
        let (decided, listed) =
            futures_util::future::join(self.attempt(link, errand), listed).await;
        let end = match (&decided, listed) {
            (Ok(Decision::Took), Ok(())) => self.finish(link, errand).await,
            (Ok(Decision::Took), Err(error)) => trail(errand.intent.tid, &error),
            (Ok(_), _) => End::NotTaken,
            (Err(_), _) => End::Unknown,
        };
        (decided, end)
    }

    /// Intent, names and home.
    async fn attempt(&self, link: &Link, errand: &mut Errand<'_>) -> Result<Decision> {
        let tid = errand.proposal.tid;
        self.list_span(link, tid).await?;
        // Meanwhile the home is made ready to decide.
        let ready = self.make_ready(link, &errand.proposal);
        let gone: Vec<Tid> = errand.leaving.iter().map(|departure| departure.intent.tid).collect();
        let written = errand.intent.write(link, &errand.dependents, &gone);
        let (_, found) = futures_util::future::try_join(written, ready).await?;
        errand.leaving.clear();
        if self.nodes.leave_for(tid, self.settings.lease) != Some(Leave::Granted) {
            return Ok(Decision::Stale);
        }
        let mut owners = Vec::with_capacity(errand.intent.claims.len());
        for claim in &errand.intent.claims {
            match self.note_claim(link, &errand.intent, claim).await? {
                Noted::Ours => owners.push(None),
                Noted::Theirs(owner) => owners.push(Some(owner)),
                Noted::Stale => return Ok(Decision::Stale),
            }
        }
        if owners.iter().any(Option::is_some) {
            // A name belongs to another: what else stands against the commit is told with it.
            let found = self.look(link, &errand.proposal).await?;
            return Ok(Decision::Refused((errand.judge)(&found, &owners)?));
        }
        self.decide(link, &errand.proposal, found, &|found| (errand.judge)(found, &owners)).await
    }

    fn refusals(
        &self,
        sealed: &Sealed,
        owners: &[Option<Vec<u8>>],
        found: &Found,
    ) -> Result<Vec<Refusal>> {
        sealed.refusals(|key| {
            if let Some(claim) = sealed.claims().iter().position(|claim| claim.key == key) {
                return Ok(owners.get(claim).cloned().flatten());
            }
            let Some(value) = found.cell(key) else { return Ok(None) };
            Ok(self.seen(key, value)?.map(Cow::into_owned))
        })
    }

    /// Does what follows from a commit that took. If the cluster can't now, that is left for the intent's end.
    async fn finish(&self, link: &Link, errand: &Errand<'_>) -> End {
        let intent = &errand.intent;
        let written = async {
            self.apply(link, intent.tid, &errand.dependents).await?;
            for claim in &intent.claims {
                self.settle_claim(link, intent, claim, true).await?;
            }
            Ok::<_, Error>(())
        };
        match written.await {
            Ok(()) => {
                self.heads.note(&intent.home, Some(intent.tid.time()));
                End::Complete
            }
            Err(error) => trail(intent.tid, &error),
        }
    }

    /// Ends an intent, however long it takes.
    pub(super) async fn close(&self, link: &Link, intent: &Intent, end: End) {
        loop {
            let closed = match end {
                End::Complete => intent.delete(link).await,
                End::Taken => self.conclude_intent(link, intent, true).await,
                End::NotTaken => self.conclude_intent(link, intent, false).await,
                End::Unknown => self.settle_intent(link, intent).await,
            };
            let Err(error) = closed else { return };
            tracing::warn!(%error, commit = %intent.tid, "intent can't be ended yet");
            tokio::time::sleep(RETRY_APART).await;
        }
    }

    /// Does all that an intent says, or nothing of it, and deletes it.
    pub(super) async fn conclude_intent(
        &self,
        link: &Link,
        intent: &Intent,
        took: bool,
    ) -> Result<()> {
        if took {
            self.finish_intent(link, intent).await?;
        }
        for claim in &intent.claims {
            self.settle_claim(link, intent, claim, took).await?;
        }
        intent.delete(link).await
    }

    /// Completes a commit that took, if it is not complete.
    pub(super) async fn finish_pending(&self, link: &Link, tid: Tid) -> Result<()> {
        match Intent::find(link, tid).await? {
            Some(intent) => self.conclude_intent(link, &intent, true).await,
            None => Ok(()),
        }
    }
}

/// What follows from a commit that took is left for its intent's end.
fn trail(tid: Tid, error: &Error) -> End {
    tracing::warn!(%error, commit = %tid, "dependents trail; they are tried again");
    End::Taken
}

fn proposal(sealed: &Sealed) -> Proposal<'_> {
    Proposal {
        tid: sealed.tid(),
        home: sealed.home(),
        pending: sealed.dependents().next().is_some(),
        writes: sealed.home_writes().collect(),
        expectations: sealed.expectations(),
        looks_at: sealed.expectations().iter().map(|(key, _)| &key[..]).collect(),
    }
}

fn answer(decision: Decision) -> Outcome {
    match decision {
        Decision::Took => Outcome::Done,
        Decision::Refused(refusals) => Outcome::Refused(refusals),
        Decision::Stale => Outcome::Stale,
    }
}
