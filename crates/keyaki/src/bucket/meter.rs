//! Quotas: what a bucket holds, what is being added, and what it may hold. Additions are reserved before they are
//! committed, so that no number of writers together get past a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Usage;
use crate::error::{Error, Result};

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
#[derive(Debug, Default)]
pub struct Meter {
    state: Mutex<State>,
    whole: Option<Arc<Meter>>,
}

#[derive(Debug, Default)]
struct State {
    used: Usage,
    /// Reserved and neither committed nor given up; what is counted anew may not have it.
    reserved: Usage,
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
    /// Of a part that holds so much already.
    #[must_use]
    pub fn within(whole: Arc<Meter>, used: Usage) -> Self {
        whole.add(used);
        Self { state: Mutex::new(State { used, ..State::default() }), whole: Some(whole) }
    }

    /// Sets what it may hold.
    pub fn limit(&self, limits: Limits) {
        self.state().limits = limits;
    }

    /// Whether it, or what it is part of, may hold only so much.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        let limits = self.state().limits;
        limits.items.is_some()
            || limits.bytes.is_some()
            || self.whole.as_ref().is_some_and(|whole| whole.is_limited())
    }

    /// What it holds.
    #[must_use]
    pub fn used(&self) -> Usage {
        self.state().used
    }

    /// Corrects what it holds, as others may have added to it.
    pub fn recount(&self, used: Usage) {
        let before = std::mem::replace(&mut self.state().used, used);
        if let Some(whole) = &self.whole {
            whole.add(used.minus(before));
        }
    }

    /// Reserves room.
    ///
    /// # Errors
    /// `Full` if there is not so much.
    pub fn reserve(&self, difference: Usage) -> Result<Reservation<'_>> {
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
            state.used = state.used.plus(difference);
        }
        drop(state);
        if let Some(whole) = &self.whole {
            whole.settle(difference, kept);
        }
    }

    /// Adds what needs no room.
    pub fn add(&self, difference: Usage) {
        let mut state = self.state();
        state.used = state.used.plus(difference);
        drop(state);
        if let Some(whole) = &self.whole {
            whole.add(difference);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

    #[test]
    fn reservations_count_until_they_are_dropped() {
        let whole = Arc::new(Meter::default());
        whole.limit(Limits { of: "domain", items: None, bytes: Some(15) });
        let part = Meter::within(whole.clone(), bytes(5));
        part.limit(Limits { of: "bucket", items: None, bytes: Some(10) });
        assert!(part.is_limited() && Meter::within(whole.clone(), bytes(0)).is_limited());
        assert!(!Meter::default().is_limited());
        let reserved = part.reserve(bytes(5)).unwrap();
        assert!(part.reserve(bytes(1)).is_err());
        drop(reserved);
        part.reserve(bytes(4)).unwrap().keep();
        assert_eq!((part.used().bytes, whole.used().bytes), (9, 9));
        let other = Meter::within(whole.clone(), bytes(0));
        let refused = other.reserve(bytes(7)).err().unwrap();
        assert_eq!(refused.context("of"), Some("domain"));
        assert_eq!(other.used().bytes, 0);
        other.reserve(bytes(6)).unwrap().keep();
        assert!(part.reserve(bytes(-3)).is_ok(), "less is always allowed");
        part.limit(Limits { of: "bucket", items: None, bytes: Some(12) });
        whole.limit(Limits::default());
        let reserved = part.reserve(bytes(3)).unwrap();
        part.recount(bytes(9));
        assert!(part.reserve(bytes(1)).is_err(), "what is reserved stays so when all is counted");
        drop(reserved);
        assert_eq!((part.used().bytes, whole.used().bytes), (9, 15));
    }
}
