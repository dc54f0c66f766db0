//! Raw content of any type, with its history: what a key says now, what it said, and when.
//!
//! An item is a home partition named after its key.
//!
//! | sort | cell |
//! |---|---|
//! | `h` | the head: for each label, the newest revision that carries it; where reads are far, and if that is one without a label and its content is small, a copy of it |
//! | `m` tid | a revision: type, headers, length, whether it deletes or renames |
//! | `c` tid | its content |
//! | `r` tid, as text | what became of a rename to this key, until that is over |
//!
//! Every revision carries a label, and a caller's item is made of the revisions that it may see: the newest of them
//! is what the key says. So the head is kept per label, open itself, and judged here. All writes go over the head as it was
//! read, which makes them conditional; a listing entry per label follows it.

mod form;
mod listing;
mod model;
mod read;
mod rename;
mod retention;
mod sweep;
mod write;

use std::sync::Arc;
use std::time::Duration;

use crate::bucket::{CommonOptions, Meter, Usage};
use crate::cell::Tid;
use crate::cell::parts::Parts;
use crate::engine::{COMMIT_BYTES_MAX, SpaceSpec};
use crate::error::Result;
use crate::store::{Bucket, BucketSpec, View};

pub use listing::{ItemPage, ListRequest, Listed};
pub use model::{Content, Revision, Stored};
pub use read::{HistoryPage, When};
pub use rename::Rename;
pub use retention::Retention;
pub use sweep::Sweep;
pub use write::Written;

const HEAD: &[u8] = b"h";
const META: u8 = b'm';
const CONTENT: u8 = b'c';
const ARRIVAL: u8 = b'r';
const ITEMS: &str = "items";
/// More than a head, metadata and an answer to be remembered have together, with the keys of all chunks.
const BESIDE_CONTENT: usize = 1 << 20;

/// A bucket of revisions.
#[derive(Clone)]
pub struct Revisions {
    bucket: Bucket,
    retention: Retention,
    meter: Arc<Meter>,
}

impl Revisions {
    /// What such a bucket is made with.
    #[must_use]
    pub fn spec(common: &CommonOptions) -> BucketSpec {
        let spaces: Vec<SpaceSpec> = vec![Usage::space()];
        BucketSpec {
            replay_window: common.replay_window,
            changes_kept: common.changes_kept,
            spaces,
        }
    }

    /// One that is there.
    #[must_use]
    pub fn new(bucket: Bucket, retention: Retention, meter: Arc<Meter>) -> Self {
        Self { bucket, retention, meter }
    }

    /// How long its sweeps may be apart.
    #[must_use]
    pub fn sweeps_apart(&self) -> Duration {
        self.retention.sweeps_apart()
    }

    /// Its cells.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The most bytes that content may have: it is written with all that belongs to it in one commit.
    pub const CONTENT_BYTES_MAX: usize = COMMIT_BYTES_MAX - BESIDE_CONTENT;

    /// How much it holds.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn usage(&self) -> Result<Usage> {
        Usage::of(&self.bucket).await
    }
}

fn meta_sort(tid: Tid) -> Vec<u8> {
    [&[META], &tid.as_bytes()[..]].concat()
}

fn content_sort(tid: Tid) -> Vec<u8> {
    [&[CONTENT], &tid.as_bytes()[..]].concat()
}

fn arrival_sort(rename: &str) -> Vec<u8> {
    [&[ARRIVAL], rename.as_bytes()].concat()
}

/// Where an item is listed under one of its labels.
fn entry_key(key: &str, label: &str) -> Vec<u8> {
    Parts::new().bytes(key.as_bytes()).bytes(label.as_bytes()).into_bytes()
}

fn items() -> View {
    View::named(ITEMS)
}
