//! What a space does to its cells by itself: how operands fold into one value (`Merge`), and
//! which cells stay (`Keep`).
//!
//! Rules are code, but which rule a space has is stored as a name and parameters, so that an
//! engine can look the rules up before it opens its files for writing. Layers above add theirs
//! to the book they open the engine with.

use std::collections::HashMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::scan::CellRef;
use crate::cell::Time;

mod standard;

/// Folds the payloads of one cell, oldest first, into one. It must be associative, and may
/// depend on the order. Engines call it with two payloads or more.
pub trait Merge: Send + Sync {
    /// Appends the folded payload to `out`.
    ///
    /// # Errors
    /// [`Unfoldable`] if a payload is not what this rule writes; the operands are then kept as
    /// they are.
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable>;
}

/// Payloads that a merge rule can't read, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfoldable(pub &'static str);

/// Judges which cells stay.
pub trait Keep: Send + Sync {
    /// What becomes of a cell at `now`. Once a cell is not kept it must never be kept again. If
    /// it panics there is no verdict: the cell is hidden, and stays.
    fn judge(&self, cell: &CellRef<'_>, now: Time) -> Verdict;

    /// Whether it keeps all cells between these sort keys, of any partition and at any time. Then a
    /// scan judges none of them.
    fn keeps_all(&self, _from: &Bound<Vec<u8>>, _to: &Bound<Vec<u8>>) -> bool {
        false
    }

    /// Whether the verdict rests on the key and the commit time alone and is never `Invalid`.
    /// Then an engine may drop the cell wherever it meets it.
    fn by_age(&self) -> bool {
        false
    }
}

/// Asks a rule; `None` if it panics. Who asks may hold what many depend on, such as the one
/// thread that writes.
pub(super) fn verdict(rule: &dyn Keep, cell: &CellRef<'_>, now: Time) -> Option<Verdict> {
    catch_unwind(AssertUnwindSafe(|| rule.judge(cell, now))).ok()
}

/// What becomes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// Its time is over: it is hidden now and removed later.
    Expired,
    /// It breaks a rule: hidden now, and moved to the space's quarantine later.
    Invalid,
}

/// A rule as it is stored: which, and with what parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSpec {
    /// The name it has in the [`Rules`].
    pub name: String,
    /// What its maker gets; text, so that it can be read where it is stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
}

impl RuleSpec {
    /// A rule without parameters.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), parameters: String::new() }
    }

    /// A rule with parameters.
    #[must_use]
    pub fn new(name: impl Into<String>, parameters: impl Into<String>) -> Self {
        Self { name: name.into(), parameters: parameters.into() }
    }
}

type Maker<R> = Box<dyn Fn(&str) -> Option<Arc<R>> + Send + Sync>;

/// The rules an engine knows, by name.
pub struct Rules {
    merges: HashMap<String, Maker<dyn Merge>>,
    keeps: HashMap<String, Maker<dyn Keep>>,
}

impl Default for Rules {
    fn default() -> Self {
        standard::rules()
    }
}

impl Rules {
    /// A book without rules.
    #[must_use]
    pub fn none() -> Self {
        Self { merges: HashMap::new(), keeps: HashMap::new() }
    }

    /// Adds a merge rule; its maker answers `None` to parameters it can't read.
    #[must_use]
    pub fn with_merge(
        mut self,
        name: &str,
        maker: impl Fn(&str) -> Option<Arc<dyn Merge>> + Send + Sync + 'static,
    ) -> Self {
        self.merges.insert(name.to_owned(), Box::new(maker));
        self
    }

    /// Adds a keep rule; its maker answers `None` to parameters it can't read.
    #[must_use]
    pub fn with_keep(
        mut self,
        name: &str,
        maker: impl Fn(&str) -> Option<Arc<dyn Keep>> + Send + Sync + 'static,
    ) -> Self {
        self.keeps.insert(name.to_owned(), Box::new(maker));
        self
    }

    /// The merge rule of that name, if it is known and its parameters make sense.
    #[must_use]
    pub fn merge(&self, spec: &RuleSpec) -> Option<Arc<dyn Merge>> {
        self.merges.get(&spec.name)?(&spec.parameters)
    }

    /// The keep rule of that name, if it is known and its parameters make sense.
    #[must_use]
    pub fn keep(&self, spec: &RuleSpec) -> Option<Arc<dyn Keep>> {
        self.keeps.get(&spec.name)?(&spec.parameters)
    }
}
