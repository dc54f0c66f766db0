//! Quotas: what a bucket holds, what is being added, and what it may hold. Additions are reserved before they are
//! committed, so that no number of writers of one process together get past a limit. Where other processes write too,
//! what there is is counted anew before room is given: they get past it at most by what is under way in all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Usage;
use crate::error::{Error, Kind, Result};
use crate::store::Bucket;

/// When to look again whether there is room: what is just being committed may have been counted twice.
const LOOK_AGAIN_MS: [u64; 3] = [20, 80, 320];

/// How much there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Whose limits they are.
    pub of: &'static str,
    /// Items.
    pub items: Option<u64>,
    /// Bytes of content.
    pub bytes: Option<u64>,
}

/// How much there is, here and in what this is part of.
#[derive(Default)]
pub struct Meter {
    state: Mutex<State>,
    whole: Option<Arc<Meter>>,
    /// What it is of, if others add to that too.
    shared: Option<Bucket>,
    /// Those of its parts that others add to.
    shared_parts: Mutex<Vec<Weak<Meter>>>,
}

#[derive(Debug, Default)]
struct State {
    used: Usage,
    /// Reserved and neither committed nor given up; what is counted anew may not have it.
    reserved: Usage,
    /// All that was ever added here.
    grown: Usage,
    /// How many counts were begun, and which of them was the last that counted.
    counts: [u64; 2],
    limits: Limits,
}

/// An addition that is not yet committed; taken back when it is dropped.
#[must_use]
pub struct Reservation<'a> {
    meter: &'a Meter,
    difference: Usage,
    kept: bool,
}

impl Meter {
    /// Of a part that holds so much already; of which bucket, if others add to it too.
    #[must_use]
    pub fn within(whole: &Arc<Meter>, used: Usage, shared: Option<Bucket>) -> Arc<Self> {
        whole.add(used);
        let state = Mutex::new(State { used, ..State::default() });
        let shared_parts = Mutex::default();
        let part = Self { state, whole: Some(whole.clone()), shared, shared_parts };
        let part = Arc::new(part);
        if part.shared.is_some() {
            whole.shared_parts().push(Arc::downgrade(&part));
        }
        part
    }

    /// Sets what it may hold.
    pub fn limit(&self, limits: Limits) {
        self.state().limits = limits;
    }

    /// Whether it, or what it is part of, may hold only so much.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.has_limits() || self.whole.as_ref().is_some_and(|whole| whole.is_limited())
    }

    fn has_limits(&self) -> bool {
        let limits = self.state().limits;
        limits.items.is_some() || limits.bytes.is_some()
    }

    /// It holds nothing any more.
    pub fn clear(&self) {
        self.set(|_| Usage::default());
    }

    fn set(&self, used: impl FnOnce(&mut State) -> Usage) {
        let mut state = self.state();
        let used = used(&mut state);
        let before = std::mem::replace(&mut state.used, used);
        drop(state);
        if let Some(whole) = &self.whole {
            whole.add(used.minus(before));
        }
    }

    /// Counts anew what it is of, if others may have added to that.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn count(&self) -> Result<()> {
        let Some(bucket) = &self.shared else { return Ok(()) };
        let (before, number) = {
            let mut state = self.state();
            state.counts[0] += 1;
            (state.grown, state.counts[0])
        };
        let used = match Usage::of(bucket).await {
            // Others have deleted it.
            Err(error) if error.kind() == Kind::NotFound => Usage::default(),
            used => used?,
        };
        // What was added here meanwhile may not have been seen yet: it rather counts twice than not at all.
        self.set(|state| match number > state.counts[1] {
            true => {
                state.counts[1] = number;
                used.plus(state.grown.minus(before))
            }
            // A later one was quicker.
            false => state.used,
        });
        Ok(())
    }

    /// Counts anew all that room is to be taken from. Other parts of the whole that can't be counted are taken to hold what
    /// they held.
    async fn catch_up(&self) -> Result<()> {
        match &self.whole {
            Some(whole) if whole.has_limits() => {
                let parts: Vec<_> = whole.shared_parts().iter().filter_map(Weak::upgrade).collect();
                for part in parts {
                    match part.count().await {
                        Err(error) if !std::ptr::eq(&*part, self) => {
                            tracing::warn!(%error, "another bucket of the domain can't be counted");
                        }
                        counted => counted?,
                    }
                }
                Ok(())
            }
            _ if self.has_limits() => self.count().await,
            _ => Ok(()),
        }
    }

    /// Reserves room.
    ///
    /// # Errors
    /// `Full` if there is not so much; those of the engine, where others add too.
    pub async fn reserve(&self, difference: Usage) -> Result<Reservation<'_>> {
        if difference.growth() != Usage::default() && self.is_limited() {
            // Seldom needed: on the heap, lest every write's future be as large.
            return Box::pin(self.reserve_counted(difference)).await;
        }
        self.take(difference)
    }

    async fn reserve_counted(&self, difference: Usage) -> Result<Reservation<'_>> {
        let mut pauses = LOOK_AGAIN_MS.into_iter().map(Duration::from_millis);
        loop {
            let unsure = self.is_counted() && self.is_reserved();
            self.catch_up().await?;
            match self.take(difference) {
                Err(full) if full.kind() == Kind::Full && unsure => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(full),
                },
                taken => return taken,
            }
        }
    }

    /// Whether others add to it, or to any part of its whole.
    fn is_counted(&self) -> bool {
        let whole = || self.whole.as_ref().is_some_and(|whole| !whole.shared_parts().is_empty());
        self.shared.is_some() || whole()
    }

    fn is_reserved(&self) -> bool {
        self.state().reserved != Usage::default()
            || self.whole.as_ref().is_some_and(|whole| whole.is_reserved())
    }

    fn take(&self, difference: Usage) -> Result<Reservation<'_>> {
        self.state().add_within_limits(difference)?;
        if let Some(whole) = &self.whole
            && let Err(full) = whole.state().add_within_limits(difference)
        {
            self.state().give_up(difference);
            return Err(full);
        }
        Ok(Reservation { meter: self, difference, kept: false })
    }

    fn settle(&self, difference: Usage, kept: bool) {
        let mut state = self.state();
        state.give_up(difference);
        if kept {
            state.add(difference);
        }
        drop(state);
        if let Some(whole) = &self.whole {
            whole.settle(difference, kept);
        }
    }

    /// Adds what needs no room.
    pub fn add(&self, difference: Usage) {
        self.state().add(difference);
        if let Some(whole) = &self.whole {
            whole.add(difference);
        }
    }

    fn shared_parts(&self) -> MutexGuard<'_, Vec<Weak<Meter>>> {
        let mut parts = self.shared_parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.retain(|part| part.strong_count() > 0);
        parts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What it held is no longer part of the whole, however late it was counted.
impl Drop for Meter {
    fn drop(&mut self) {
        let used = self.state().used;
        if let Some(whole) = &self.whole {
            whole.add(Usage::default().minus(used));
        }
    }
}

impl State {
    fn add(&mut self, difference: Usage) {
        self.used = self.used.plus(difference);
        self.grown = self.grown.plus(difference.growth());
    }

    fn add_within_limits(&mut self, difference: Usage) -> Result<()> {
        let next = self.used.plus(self.reserved).plus(difference);
        let pairs = [
            ("items", self.limits.items, next.items, difference.items),
            ("bytes", self.limits.bytes, next.bytes, difference.bytes),
        ];
        for (quota, most, next, difference) in pairs {
            if let Some(most) = most
                && difference > 0
                && next > i64::try_from(most).unwrap_or(i64::MAX)
            {
                return Err(Error::full("the quota does not allow so much")
                    .with("quota", quota)
                    .with("of", self.limits.of)
                    .with("most", most));
            }
        }
        self.reserved = self.reserved.plus(difference.growth());
        Ok(())
    }

    fn give_up(&mut self, difference: Usage) {
        self.reserved = self.reserved.minus(difference.growth());
    }
}

impl Reservation<'_> {
    /// It was committed.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.meter.settle(self.difference, self.kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: i64) -> Usage {
        Usage { items: 0, bytes }
    }

    fn used(meter: &Meter) -> i64 {
        meter.state().used.bytes
    }

    #[test]
    fn reservations_count_until_they_are_dropped() {
        let whole = Arc::new(Meter::default());
        whole.limit(Limits { of: "domain", items: None, bytes: Some(15) });
        let part = Meter::within(&whole, bytes(5), None);
        part.limit(Limits { of: "bucket", items: None, bytes: Some(10) });
        assert!(part.is_limited() && Meter::within(&whole, bytes(0), None).is_limited());
        assert!(!Meter::default().is_limited());
        let reserved = part.take(bytes(5)).unwrap();
        assert!(part.take(bytes(1)).is_err());
        drop(reserved);
        part.take(bytes(4)).unwrap().keep();
        assert_eq!((used(&part), used(&whole)), (9, 9));
        let other = Meter::within(&whole, bytes(0), None);
        let refused = other.take(bytes(7)).err().unwrap();
        assert_eq!(refused.context("of"), Some("domain"));
        assert_eq!(used(&other), 0);
        other.take(bytes(6)).unwrap().keep();
        assert!(part.take(bytes(-3)).is_ok(), "less is always allowed");
        part.limit(Limits { of: "bucket", items: None, bytes: Some(12) });
        whole.limit(Limits::default());
        let reserved = part.take(bytes(3)).unwrap();
        part.set(|_| bytes(9));
        assert!(part.take(bytes(1)).is_err(), "what is reserved stays so when all is counted");
        drop(reserved);
        assert_eq!((used(&part), used(&whole)), (9, 15));
        drop(part);
        assert_eq!(used(&whole), 6, "what is gone is not counted");
    }
}
