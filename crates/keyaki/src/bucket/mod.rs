//! What can a user say? One folder per bucket type; here is what they all share.
//!
//! A bucket type turns a request into one read plan or one commit. Who asks, what they demand of the item as it is,
//! and which operation they repeat come in with the request; ACLs and quotas have been looked at by then.

use std::time::Duration;

use crate::cell::Tid;
use crate::cell::visibility::{self, Authorisations};
use crate::engine::Rules;
use crate::error::{Error, Result};
use crate::store::Operation;

pub mod graph;
mod meter;
pub mod revisions;
mod usage;

pub use meter::{Limits, Meter};
pub use usage::Usage;

/// Retries of a write that nobody made conditional, before it gives up on a busy item.
const TRIES_MAX: usize = 64;
const LABEL_BYTES_MAX: usize = 4 << 10;

/// The rules of all bucket types: the book that engines are to be opened with.
#[must_use]
pub fn rules() -> Rules {
    graph::rules(Rules::default())
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Their name; none for somebody unknown.
    pub user: Option<String>,
    /// What opens cells to them.
    pub authorisations: Authorisations,
}

impl Caller {
    /// A label in its normal form: all spellings of one expression are one label.
    ///
    /// # Errors
    /// `Invalid` if it is no visibility expression, or a very long one; `Forbidden` if it would hide the cell from its
    /// writer.
    pub fn check_label(&self, label: &str) -> Result<String> {
        if label.len() > LABEL_BYTES_MAX {
            return Err(
                Error::invalid("visibility expression is too long").with("most", LABEL_BYTES_MAX)
            );
        }
        let bad = |bad| {
            Error::invalid("not a visibility expression").with("visibility", label).because(bad)
        };
        let normal = visibility::normalise(label.as_bytes()).map_err(bad)?;
        match visibility::evaluate(normal.as_bytes(), &self.authorisations).map_err(bad)? {
            true => Ok(normal),
            false => Err(Error::forbidden("a caller may only write what it could read back")
                .with("visibility", label)),
        }
    }
}

/// What all options of buckets have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonOptions {
    /// Whether every write must carry a condition.
    pub require_conditions: bool,
    /// How long operations are remembered; `None`: for ever.
    pub replay_window: Option<Duration>,
    /// How long change records are kept; `None`: for ever.
    pub changes_kept: Option<Duration>,
}

impl Default for CommonOptions {
    fn default() -> Self {
        Self {
            require_conditions: false,
            replay_window: Some(Duration::from_secs(7 * 86_400)),
            changes_kept: Some(Duration::from_secs(30 * 86_400)),
        }
    }
}

/// Tids that an item may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matching {
    /// Any, as long as the item is there.
    Any,
    /// One of these.
    Tids(Vec<Tid>),
}

impl Matching {
    /// Whether an item that has this tid, or is not there, is meant.
    #[must_use]
    pub fn holds(&self, tid: Option<Tid>) -> bool {
        match self {
            Self::Any => tid.is_some(),
            Self::Tids(tids) => tid.is_some_and(|tid| tids.contains(&tid)),
        }
    }
}

/// What a caller demands of an item before it is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    /// It must match this.
    pub matching: Option<Matching>,
    /// It must not match this.
    pub not_matching: Option<Matching>,
}

impl Demands {
    /// Whether nothing is demanded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matching.is_none() && self.not_matching.is_none()
    }

    /// Whether an item that has this tid, or is not there, may be changed.
    #[must_use]
    pub fn hold(&self, tid: Option<Tid>) -> bool {
        self.matching.as_ref().is_none_or(|matching| matching.holds(tid))
            && self.not_matching.as_ref().is_none_or(|matching| !matching.holds(tid))
    }
}

/// A request to change something.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// What they demand of it as it is.
    pub demands: Demands,
    /// Which operation this is, if it may be repeated.
    pub operation: Option<Operation>,
}

impl Request {
    /// The operation's id and step, for change records.
    fn operation_id(&self) -> (Option<String>, u64) {
        let operation = self.operation.as_ref();
        (operation.map(|op| op.id.clone()), operation.map_or(0, |op| op.sequence))
    }
}
