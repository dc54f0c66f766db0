//! Which bucket, whose, how much?
//!
//! The catalog knows the domains and their buckets, tokens and services' keys. All of it lies in one partition of a
//! bucket of its own on the default backend. Every change is a commit that finds the *epoch* cell as it was and
//! moves it on, so each is decided on the catalog exactly as it is; every server holds a copy, and asks for the epoch
//! several times a second if others may write.
//!
//! A copy is honoured for [`HONOURED_FOR`] after it was last found true, no longer. So whoever takes rights away waits
//! that long before it says so, and then no server honours what was, whether it is reachable or not.

mod access;
mod acl;
mod backend;
mod bucket;
mod check;
mod domain;
mod graph;
mod names;
mod principal;
mod purge;
mod record;
mod snapshot;
mod span;
mod spent;
mod sweep;
mod token;

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use crate::cell::{Tid, Value};
use crate::engine::{RuleSpec, SpaceSpec};
use crate::error::{Error, Result};
use crate::store::{Bucket, BucketSpec, Change, Committed, Draft, Previous, Store};
use serde::Serialize;

pub use access::Right;
pub use acl::{Access, Acl, Rule};
pub use backend::{Backend, Backends, ReplicationSetting, Single};
pub use bucket::{OpenBucket, OpenKind};
pub use check::check;
pub use graph::{CostLimits, GraphOptions};
pub use names::{check_bucket, check_domain, check_key};
pub use principal::{ADMIN, Principal};
pub use record::*;
pub use snapshot::{BucketEntry, Domain, Snapshot, Token};
pub use span::{Lasting, Span};
pub use token::{NewToken, digest_of};

use snapshot::{EPOCH, PARTITION, Place};

/// How long a copy is honoured after it was last found true.
pub const HONOURED_FOR: Duration = Duration::from_millis(800);
const POLL_EVERY: Duration = Duration::from_millis(250);
const TRIES_MAX: usize = 64;
/// A record is read whole with all others; none may be so large that the store would cut it into chunks.
const RECORD_BYTES_MAX: usize = 256 << 10;
/// The space by which the catalog's bucket is known.
const MARK: &str = "catalog";

/// The handle everybody clones.
#[derive(Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

struct Inner {
    bucket: Bucket,
    backends: Backends,
    copy: RwLock<Copy>,
    open: bucket::OpenBuckets,
    /// Held while the schema of a graph changes: the numbers of new groups are given to one change at a time.
    schemas: tokio::sync::Mutex<()>,
}

/// The catalog as it was found true.
struct Copy {
    snapshot: Arc<Snapshot>,
    at: Instant,
}

/// What a change of the catalog came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed<T> {
    /// It was made.
    Done(T),
    /// What was demanded doesn't hold.
    Unmet,
    /// There is nothing to change.
    Absent,
}

/// Records that a change writes and removes.
#[derive(Default)]
struct Edits {
    tid: Option<Tid>,
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Edits {
    /// The commit's id.
    fn tid(&self) -> Tid {
        self.tid.expect("a draft has an id")
    }

    fn put(&mut self, place: &Place, record: &impl Serialize) {
        let record = serde_json::to_vec(record).expect("records are JSON");
        self.writes.push((place.sort(), Some(record)));
    }

    fn remove(&mut self, place: &Place) {
        self.writes.push((place.sort(), None));
    }

    fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

impl Catalog {
    /// Opens the catalog on the default backend, or makes one. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn open(backends: Backends) -> Result<Self> {
        let store = backends.default_store().await?;
        let bucket = find_or_make(&store).await?;
        let bucket = store.extend_bucket(&bucket, vec![spent::space()]).await?;
        let snapshot = Arc::new(Snapshot::read(&bucket).await?);
        let copy = RwLock::new(Copy { snapshot, at: Instant::now() });
        let open = bucket::OpenBuckets::default();
        let inner = Arc::new(Inner { bucket, backends, copy, open, schemas: Default::default() });
        purge::undo_abandoned(&inner).await?;
        tokio::spawn(keep_up(Arc::downgrade(&inner)));
        tokio::spawn(purge::purge_regularly(Arc::downgrade(&inner)));
        tokio::spawn(sweep::sweep_regularly(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }

    /// The catalog as it is, or was a moment ago.
    ///
    /// # Errors
    /// Those of the engine, if the copy is too old to be honoured.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.inner.snapshot().await
    }

    /// Whether it can be read, and all stores that are open be written to.
    ///
    /// # Errors
    /// Those of the engine; `Unavailable` if writing has stopped.
    pub async fn check_ready(&self) -> Result<()> {
        self.inner.refresh().await?;
        let stores = self.inner.backends.stores();
        stores.iter().try_for_each(|(_, _, store)| store.engine().writable())
    }

    /// A secret that all servers of this catalog share: the first that anybody offered.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn secret(&self, offered: [u8; 32]) -> Result<[u8; 32]> {
        let keeper = Principal::default();
        self.inner
            .change("make-secret", "secret", &keeper, |snapshot: &Snapshot, edits: &mut Edits| {
                if snapshot.secret.is_some() {
                    return Ok(Changed::Absent);
                }
                edits.put(&Place::Secret, &offered.to_vec());
                Ok(Changed::Done(()))
            })
            .await?;
        let secret = self.snapshot().await?.secret.clone().unwrap_or_default();
        secret.try_into().map_err(|_| Error::corrupt("the catalog's secret is damaged"))
    }

    /// Where buckets can live.
    #[must_use]
    pub fn backends(&self) -> &Backends {
        &self.inner.backends
    }
}

impl Inner {
    async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        if let Some(snapshot) = self.honoured() {
            return Ok(snapshot);
        }
        // Seldom needed: on the heap, lest every request's future be as large.
        Box::pin(self.refresh()).await
    }

    fn honoured(&self) -> Option<Arc<Snapshot>> {
        let copy = self.copy.read().unwrap_or_else(PoisonError::into_inner);
        // Nobody else writes to a store that is ours alone, and our own changes replace the copy.
        let fresh = !self.backends.is_default_shared() || copy.at.elapsed() < HONOURED_FOR;
        fresh.then(|| copy.snapshot.clone())
    }

    /// Finds out whether the copy is still true, and replaces it if not.
    async fn refresh(&self) -> Result<Arc<Snapshot>> {
        let asked = Instant::now();
        let epoch = self.bucket.stored(PARTITION, EPOCH).await?;
        let known = self.copy.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone();
        let snapshot = match known.epoch == epoch {
            true => known,
            false => Arc::new(Snapshot::read(&self.bucket).await?),
        };
        self.replace(snapshot, asked);
        Ok(self.copy.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone())
    }

    /// Of two copies the later one stays.
    fn replace(&self, snapshot: Arc<Snapshot>, asked: Instant) {
        let mut copy = self.copy.write().unwrap_or_else(PoisonError::into_inner);
        if snapshot.tid > copy.snapshot.tid || copy.snapshot.tid.is_none() {
            copy.snapshot = snapshot;
            copy.at = asked;
        } else if snapshot.tid == copy.snapshot.tid {
            copy.at = copy.at.max(asked);
        }
    }

    /// Changes the catalog as it is. `edit` is asked anew whenever somebody else was faster.
    async fn change<T: Send>(
        &self,
        action: &str,
        item: &str,
        by: &Principal,
        mut edit: impl FnMut(&Snapshot, &mut Edits) -> Result<Changed<T>> + Send,
    ) -> Result<Changed<T>> {
        let mut snapshot = self.refresh().await?;
        for _ in 0..TRIES_MAX {
            let mut outcome = None;
            let change = Change {
                item: item.to_owned(),
                action: action.to_owned(),
                user: by.user.clone(),
                ..Change::default()
            };
            let committed = self
                .bucket
                .commit(PARTITION, |draft| {
                    let mut edits = Edits { tid: Some(draft.tid()), ..Edits::default() };
                    let edited = outcome.insert(edit(&snapshot, &mut edits)?);
                    if !matches!(edited, Changed::Done(_)) {
                        return Err(Error::conflict("there is nothing to commit"));
                    }
                    write(draft, &snapshot, &edits)?;
                    draft.change(&change, b"", b"")
                })
                .await;
            match outcome {
                Some(outcome) if !matches!(outcome, Changed::Done(_)) => return Ok(outcome),
                outcome => {
                    let done = matches!(committed?, Committed::Done(_));
                    snapshot = self.refresh().await?;
                    if let Some(outcome) = outcome.filter(|_| done) {
                        return Ok(outcome);
                    }
                }
            }
        }
        Err(Error::unavailable("the catalog is changed by too many at once"))
    }
}

/// Over the cells as they were read, and the epoch with them.
fn write(draft: &mut Draft<'_>, snapshot: &Snapshot, edits: &Edits) -> Result<()> {
    for (sort, record) in &edits.writes {
        let stored = snapshot.cells.get(sort);
        if let Some(record) = record.as_ref().filter(|record| record.len() > RECORD_BYTES_MAX) {
            return Err(Error::invalid("the settings are too large")
                .with("at", "/")
                .with("bytes", record.len())
                .with("most", RECORD_BYTES_MAX));
        }
        match (record, stored) {
            (Some(record), Some(stored)) => {
                draft.put(sort, Previous::Stored(stored), Value::open(record))?;
            }
            (Some(record), None) => {
                draft.put(sort, Previous::Absent, Value::open(record))?;
            }
            (None, Some(stored)) => {
                draft.remove(sort, stored)?;
            }
            (None, None) => {}
        }
    }
    let epoch = snapshot.epoch.as_deref().map_or(Previous::Absent, Previous::Stored);
    let tid = draft.tid().to_string();
    draft.put(EPOCH, epoch, Value::open(tid.as_bytes()))?;
    Ok(())
}

/// Of several that were made at once, the one that was whole first.
async fn find_or_make(store: &Store) -> Result<Bucket> {
    if let Some(bucket) = find(store) {
        return Ok(bucket);
    }
    let mark = SpaceSpec::derived(crate::engine::BucketId(0), MARK).merging(RuleSpec::named("sum"));
    let spec = BucketSpec { spaces: vec![mark, spent::space()], ..BucketSpec::default() };
    let made = store.create_bucket(spec).await?;
    let found = find(store).unwrap_or_else(|| made.clone());
    if found.id() != made.id() {
        store.drop_bucket(made.id()).await?;
    }
    Ok(found)
}

/// Spaces are listed one after the other, and a bucket is whole with its last one.
fn find(store: &Store) -> Option<Bucket> {
    let spaces = store.engine().spaces();
    let buckets = store.buckets().into_iter().filter(|bucket| bucket.space(MARK).is_ok());
    buckets.min_by_key(|bucket| {
        let own = spaces.iter().filter(|record| record.spec.bucket == bucket.id());
        own.map(|record| record.id).max()
    })
}

/// Asks for the epoch, so that requests seldom have to.
async fn keep_up(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(POLL_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        if inner.backends.is_default_shared()
            && let Err(error) = inner.refresh().await
        {
            tracing::warn!(%error, "the catalog can't be read; nothing is answered from an old copy");
        }
    }
}
