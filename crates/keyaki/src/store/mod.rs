//! How do many cells change together and come back in pages?
//!
//! A [`Store`] stands on any engine. It gives each bucket its spaces, stamps commits, remembers
//! operations so that a repeat changes nothing, writes change records in the same commit, keeps
//! ordered views, cuts large values into chunks, and filters every read by visibility.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::engine::{
    BucketId, Commit, Engine, Home, Outcome, RuleSpec, SpaceId, SpaceRecord, SpaceSpec,
};
use crate::error::{Error, Kind, Result};
use crate::settings::StoreSettings;

mod changes;
mod check;
mod chunk;
mod commit;
mod owner;
mod replay;
mod scan;
mod view;

pub use crate::engine::embedded::Report;
pub use changes::{Change, ChangePage, ChangeRecord};
pub use check::{Closed, Look, check, check_with};
pub use commit::{Committed, Draft, Previous};
pub use owner::Owner;
pub use replay::Operation;
pub use scan::{Cells, Stage};
pub use view::{Entry, Page, PageRequest, View};

/// Commits that are stamped anew this often have met a bug, not a race.
const STAMPS_MAX: usize = 64;

/// The handle everybody clones.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<dyn Engine>,
    settings: StoreSettings,
    /// Tells this process's tids from those of others.
    node: u64,
}

impl Store {
    /// A store on `engine`. `node` should be random, and must differ between processes that share
    /// an engine. Must be called inside a tokio runtime if the settings ask for sweeps.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, settings: StoreSettings, node: u64) -> Self {
        let every = settings.sweep_every;
        let inner = Arc::new(Inner { engine, settings, node });
        if let Some(every) = every {
            tokio::spawn(sweep_regularly(Arc::downgrade(&inner), every));
        }
        Self { inner }
    }

    /// The engine below.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        &*self.inner.engine
    }

    /// Makes the spaces of a new bucket.
    ///
    /// # Errors
    /// `Invalid` if two of its spaces have one label; those of [`Engine::create_spaces`].
    pub async fn create_bucket(&self, spec: BucketSpec) -> Result<Bucket> {
        let id = self.reserve_bucket().await?;
        self.create_reserved(id, spec).await
    }

    /// An id for a bucket that is to be made, so that it can be written down before.
    ///
    /// # Errors
    /// Those of [`Engine::new_bucket`].
    pub async fn reserve_bucket(&self) -> Result<BucketId> {
        self.engine().new_bucket().await
    }

    /// Makes the spaces of a bucket that has its id.
    ///
    /// # Errors
    /// Those of [`Self::create_bucket`].
    pub async fn create_reserved(&self, id: BucketId, spec: BucketSpec) -> Result<Bucket> {
        spec.refuse_same_labels()?;
        let quarantine = self.engine().create_space(SpaceSpec::derived(id, QUARANTINE)).await?;
        let standard = standard_spaces(id, &spec);
        let own = spec.spaces.into_iter().map(|space| ruled(space, id, quarantine));
        let rest: Vec<_> = own.chain(standard).collect();
        let labels: Vec<_> = rest.iter().map(|space| space.label.clone()).collect();
        let mut spaces = BTreeMap::from([(QUARANTINE.to_owned(), quarantine)]);
        spaces.extend(labels.into_iter().zip(self.engine().create_spaces(rest).await?));
        Bucket::new(self.clone(), id, spaces)
    }

    /// Adds spaces to a bucket that is there; those whose label it has already are left alone.
    ///
    /// # Errors
    /// Those of [`Engine::create_spaces`].
    pub async fn extend_bucket(&self, bucket: &Bucket, spaces: Vec<SpaceSpec>) -> Result<Bucket> {
        // The caller's handle may be older than the last extension.
        let now = self.bucket(bucket.id)?;
        let new = spaces.into_iter().filter(|space| !now.spaces.contains_key(&space.label));
        let new: Vec<_> = new.map(|space| ruled(space, now.id, now.quarantine)).collect();
        if !new.is_empty() {
            self.engine().create_spaces(new).await?;
        }
        self.bucket(now.id)
    }

    /// A bucket that was made before.
    ///
    /// # Errors
    /// `NotFound` if it was not, or not to the end, or was dropped.
    pub fn bucket(&self, id: BucketId) -> Result<Bucket> {
        let live = |record: &SpaceRecord| record.spec.bucket == id && !record.retired;
        let spaces = self.engine().spaces().into_iter().filter(live);
        Bucket::new(self.clone(), id, spaces.map(|record| (record.spec.label, record.id)).collect())
    }

    /// The buckets that are there, whole.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        let mut ids: Vec<_> = self.engine().spaces().iter().map(|r| r.spec.bucket).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.bucket(id).ok()).collect()
    }

    /// A bucket that another process may just have made.
    ///
    /// # Errors
    /// As [`Self::bucket`]; those of [`Engine::all_spaces`].
    pub async fn find_bucket(&self, id: BucketId) -> Result<Bucket> {
        match self.bucket(id) {
            Err(unknown) if unknown.kind() == Kind::NotFound => {
                self.engine().all_spaces().await?;
                self.bucket(id)
            }
            known => known,
        }
    }

    /// Drops a bucket with all it holds, also if it was not made to the end.
    ///
    /// # Errors
    /// Those of [`Engine::all_spaces`] and [`Engine::drop_spaces`].
    pub async fn drop_bucket(&self, id: BucketId) -> Result<()> {
        let mut spaces = self.engine().all_spaces().await?;
        spaces.retain(|record| record.spec.bucket == id && !record.retired);
        match spaces.is_empty() {
            true => Ok(()),
            false => self.engine().drop_spaces(spaces.iter().map(|space| space.id).collect()).await,
        }
    }

    /// Makes permanent what the spaces' rules decided, everywhere; a space that can't be swept
    /// doesn't keep the others from it.
    ///
    /// # Errors
    /// The first of [`Engine::sweep`].
    pub async fn sweep(&self) -> Result<()> {
        let mut outcome = Ok(());
        for record in self.engine().spaces() {
            if record.spec.is_swept() && !record.retired {
                let swept = self.engine().sweep(record.id).await;
                outcome = outcome.and(swept.map(drop));
            }
        }
        outcome
    }
}

async fn sweep_regularly(store: Weak<Inner>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(inner) = store.upgrade() else { return };
        if let Err(error) = (Store { inner }).sweep().await {
            tracing::warn!(%error, "sweep failed; the next one tries again");
        }
    }
}

/// What a bucket is made with.
#[derive(Debug, Clone, Default)]
pub struct BucketSpec {
    /// How long operations are remembered; `None`: for ever.
    pub replay_window: Option<Duration>,
    /// How long change records are kept; `None`: for ever.
    pub changes_kept: Option<Duration>,
    /// Spaces of the bucket type's own; the bucket id in them is filled in.
    pub spaces: Vec<SpaceSpec>,
}

impl BucketSpec {
    fn refuse_same_labels(&self) -> Result<()> {
        let own = self.spaces.iter().map(|space| space.label.as_str());
        let mut seen = BTreeSet::new();
        for label in LABELS.into_iter().chain(own) {
            if !seen.insert(label) {
                return Err(
                    Error::invalid("a bucket has two spaces of one label").with("label", label)
                );
            }
        }
        Ok(())
    }
}

/// A space of a bucket type's own; what breaks its rules goes to the bucket's quarantine.
fn ruled(mut space: SpaceSpec, bucket: BucketId, quarantine: SpaceId) -> SpaceSpec {
    space.bucket = bucket;
    if space.keep.is_some() {
        space.quarantine.get_or_insert(quarantine);
    }
    space
}

pub(crate) const PRIMARY: &str = "primary";
const CHUNKS: &str = "chunks";
const REPLAY: &str = "replay";
const CHANGES: &str = "changes";
const VIEWS: &str = "views";
const CLAIMS: &str = "claims";
const QUARANTINE: &str = "quarantine";
const LABELS: [&str; 7] = [PRIMARY, CHUNKS, REPLAY, CHANGES, VIEWS, CLAIMS, QUARANTINE];

fn standard_spaces(id: BucketId, spec: &BucketSpec) -> Vec<SpaceSpec> {
    let aging = |space: SpaceSpec, most: Option<Duration>| match most {
        Some(most) => space.keeping(RuleSpec::new("age", most.as_micros().to_string())),
        None => space,
    };
    vec![
        SpaceSpec::home(id, PRIMARY),
        SpaceSpec::derived(id, CHUNKS),
        aging(SpaceSpec::home(id, REPLAY), spec.replay_window),
        aging(SpaceSpec::derived(id, CHANGES), spec.changes_kept),
        SpaceSpec::derived(id, VIEWS),
        SpaceSpec::derived(id, CLAIMS),
    ]
}

/// A bucket's spaces, and what can be done with them.
#[derive(Clone)]
pub struct Bucket {
    store: Store,
    id: BucketId,
    primary: SpaceId,
    chunks: SpaceId,
    replay: SpaceId,
    changes: SpaceId,
    views: SpaceId,
    claims: SpaceId,
    quarantine: SpaceId,
    spaces: Arc<BTreeMap<String, SpaceId>>,
    replay_window: Option<Duration>,
}

impl Bucket {
    fn new(store: Store, id: BucketId, spaces: BTreeMap<String, SpaceId>) -> Result<Self> {
        let space = |label: &str| {
            spaces.get(label).copied().ok_or_else(|| {
                Error::not_found("no such bucket").with("bucket", id.0).with("space", label)
            })
        };
        let replay = space(REPLAY)?;
        Ok(Self {
            replay_window: replay::window(&*store.inner.engine, replay),
            id,
            primary: space(PRIMARY)?,
            chunks: space(CHUNKS)?,
            replay,
            changes: space(CHANGES)?,
            views: space(VIEWS)?,
            claims: space(CLAIMS)?,
            quarantine: space(QUARANTINE)?,
            spaces: Arc::new(spaces),
            store,
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> BucketId {
        self.id
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The space of primaries.
    #[must_use]
    pub fn primary(&self) -> SpaceId {
        self.primary
    }

    /// The space of cells that broke a rule.
    #[must_use]
    pub fn quarantine(&self) -> SpaceId {
        self.quarantine
    }

    /// A space of the bucket type's own.
    ///
    /// # Errors
    /// `NotFound` if there is none of that label.
    pub fn space(&self, label: &str) -> Result<SpaceId> {
        self.spaces.get(label).copied().ok_or_else(|| {
            Error::not_found("no such space").with("bucket", self.id.0).with("label", label)
        })
    }

    fn engine(&self) -> &dyn Engine {
        self.store.engine()
    }

    /// Commits what `draft` says. It may be asked several times, each time with a later stamp:
    /// it must say the same again, or refuse.
    ///
    /// # Errors
    /// Those of `draft`, and of [`Engine::commit`].
    pub async fn commit<T>(
        &self,
        partition: &[u8],
        mut draft: impl FnMut(&mut Draft<'_>) -> Result<T> + Send,
    ) -> Result<Committed> {
        for _ in 0..STAMPS_MAX {
            let inner = &self.store.inner;
            let stamp = inner.engine.stamps().stamp(inner.node);
            let tid = stamp.tid();
            let home = Home { bucket: self.id, partition: partition.to_vec() };
            let mut commit = Commit::new(home, tid);
            commit.carry(stamp);
            let mut paper = Draft::new(self, commit);
            draft(&mut paper)?;
            let (commit, operation) = paper.finish()?;
            match inner.engine.commit(commit).await? {
                Outcome::Done => {
                    inner.engine.stamps().took(tid.time());
                    return Ok(Committed::Done(tid));
                }
                Outcome::Refused(refusals) => return operation.judge(refusals),
                Outcome::Stale => {}
            }
        }
        Err(Error::unavailable("partition is too busy to stamp a commit")
            .with("bucket", self.id.0)
            .with_bytes("partition", partition))
    }
}
