//! Repeat-safety: an operation leaves its digest in the home partition, in the same commit; a
//! repeat finds it, changes nothing and gets the first answer.
//!
//! The digest covers caller, action, operation id, sequence and canonical parameters. Digests
//! live as long as the bucket's replay window; an operation id that tells its age (UUIDv7) and
//! is older than the window, or from the future, is refused, for its digest may be gone.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Bucket;
use super::commit::Committed;
use crate::cell::{HybridClock, Tid, Time, Value, ValueRef};
use crate::engine::{Commit, Condition, Engine, Expect, Refusal, SpaceId, Write};
use crate::error::{Error, Result};

/// How far a caller's clock may be ahead of ours, in ids that tell their time.
const AHEAD_MAX: Duration = Duration::from_secs(300);

/// A write that may be sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Who asks.
    pub caller: String,
    /// What is asked: the verb.
    pub action: String,
    /// The caller's name for the operation.
    pub id: String,
    /// Which of several steps of the operation.
    pub sequence: u64,
    /// All that shapes the outcome, in canonical form.
    pub parameters: Vec<u8>,
}

impl Operation {
    /// What the operation leaves behind.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.caller, &self.action, &self.id] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&self.sequence.to_be_bytes());
        hasher.update(&self.parameters);
        hasher.finalize().into()
    }

    /// Refuses an id that tells a time at which its digest may not be remembered. Callers' clocks
    /// may be ahead of ours: then the digest is older than the id says, and goes sooner.
    fn refuse_untimely(&self, window: Option<Duration>, clock: &HybridClock) -> Result<()> {
        let (Some(window), Some(made)) = (window, made_at(&self.id)) else { return Ok(()) };
        let (now, ahead) = (clock.now(), AHEAD_MAX.min(window / 2));
        let message = if made > now.saturating_add(ahead) {
            "operation id is from the future"
        } else if made.saturating_add(window - ahead) <= now {
            "operation id is older than the replay window"
        } else {
            return Ok(());
        };
        Err(Error::invalid(message)
            .with("operation", &self.id)
            .with("window_seconds", window.as_secs()))
    }
}

/// When a time-ordered id was made: a UUIDv7 of anybody's, to the millisecond.
fn made_at(id: &str) -> Option<Time> {
    let uuid = Uuid::try_parse(id).ok().filter(|uuid| uuid.get_version_num() == 7)?;
    let (high, _) = uuid.as_u64_pair();
    Some(Time::from_micros((high >> 16) * 1_000))
}

/// How long a replay space remembers.
pub fn window(engine: &dyn Engine, space: SpaceId) -> Option<Duration> {
    let record = engine.spaces().into_iter().find(|record| record.id == space)?;
    record.spec.keep?.parameters.parse().ok().map(Duration::from_micros)
}

/// The operation of a commit under way, if it has one.
#[derive(Default)]
pub struct Remembered {
    expectation: Option<usize>,
}

impl Remembered {
    /// Makes `commit` refuse a repeat, and remember `answer` for one.
    pub fn note(
        bucket: &Bucket,
        commit: &mut Commit,
        operation: &Operation,
        answer: &[u8],
    ) -> Result<Self> {
        operation.refuse_untimely(bucket.replay_window, bucket.engine().clock())?;
        let digest = operation.digest();
        let mut payload = commit.tid().as_bytes().to_vec();
        payload.extend_from_slice(answer);
        let expectation = commit.expect(bucket.replay, &digest, Expect::Absent);
        commit.write(bucket.replay, &digest, Write::Put(Value::open(&payload)));
        Ok(Self { expectation: Some(expectation) })
    }

    /// What a refused commit comes to: the first answer, if this is a repeat.
    pub fn judge(&self, refusals: Vec<Refusal>) -> Result<Committed> {
        let repeat = refusals.iter().find(|refusal| {
            self.expectation.is_some_and(|e| refusal.condition == Condition::Expectation(e))
        });
        match repeat.and_then(|refusal| refusal.found.as_deref()) {
            Some(found) => {
                let (tid, answer) = remembered(found)?;
                Ok(Committed::Replayed { tid, answer: answer.to_vec() })
            }
            None => Ok(Committed::Refused(refusals)),
        }
    }
}

/// Reads a stored digest: the commit that left it, and its answer.
pub fn remembered(stored: &[u8]) -> Result<(Tid, &[u8])> {
    let payload = ValueRef::decode(stored)?.payload;
    payload
        .split_first_chunk()
        .and_then(|(tid, answer)| Some((Tid::from_bytes(*tid).ok()?, answer)))
        .ok_or_else(|| Error::corrupt("replay digest is damaged").with_bytes("value", stored))
}

impl Bucket {
    /// The commit that did an operation before, and what it answered.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn remembered(
        &self,
        partition: &[u8],
        operation: &Operation,
    ) -> Result<Option<(Tid, Vec<u8>)>> {
        let stored = self.engine().read(self.replay, partition, &operation.digest()).await?;
        let read =
            |stored: Vec<u8>| remembered(&stored).map(|(tid, answer)| (tid, answer.to_vec()));
        stored.map(read).transpose()
    }
}
