//! Buckets: made, set, deleted, and opened for use.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::domain::bury;
use super::purge;
use super::record::{BucketKind, BucketRecord, BucketSettings, DomainRecord, Grave, Quota};
use super::snapshot::{BucketEntry, Domain, Place, Snapshot};
use super::{Catalog, Changed, Edits, Inner, Principal, ReplicationSetting, check_bucket};
use crate::bucket::graph::{Graph, Recount};
use crate::bucket::revisions::{Retention, Revisions, Sweep};
use crate::bucket::{Demands, Limits, Meter, Usage};
use crate::cell::{Tid, Time};
use crate::engine::BucketId;
use crate::error::{Error, Kind, Result};
use crate::store::{Bucket, BucketSpec};

/// What a graph's rules refuse goes with the engine's sweep. How much it holds is counted so often, if it changed; where
/// there is a quota, sooner.
const GRAPH_SWEEPS_APART: Duration = Duration::from_secs(86_400);
const LIMITED_GRAPH_SWEEPS_APART: Duration = Duration::from_secs(3_600);

/// A bucket that can be used.
pub struct OpenBucket {
    /// What it means.
    pub kind: OpenKind,
    /// How much it holds.
    pub meter: Arc<Meter>,
    /// The settings it was opened with.
    tid: Tid,
    /// Whether anybody asked for it since it was last counted.
    pub(super) asked_for: AtomicBool,
}

/// What a bucket means.
pub enum OpenKind {
    /// Raw content with its history.
    Revisions(Revisions),
    /// An aggregated property graph.
    Graph(Graph),
}

impl std::fmt::Debug for OpenBucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenBucket").field("tid", &self.tid).finish_non_exhaustive()
    }
}

impl OpenBucket {
    /// Its cells.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        match &self.kind {
            OpenKind::Revisions(revisions) => revisions.bucket(),
            OpenKind::Graph(graph) => graph.bucket(),
        }
    }

    /// As what it is.
    ///
    /// # Errors
    /// `NotFound` if it is something else.
    pub fn revisions(&self) -> Result<&Revisions> {
        match &self.kind {
            OpenKind::Revisions(revisions) => Ok(revisions),
            OpenKind::Graph(_) => Err(Error::not_found("the bucket holds no revisions")),
        }
    }

    /// As what it is.
    ///
    /// # Errors
    /// `NotFound` if it is something else.
    pub fn graph(&self) -> Result<&Graph> {
        match &self.kind {
            OpenKind::Graph(graph) => Ok(graph),
            OpenKind::Revisions(_) => Err(Error::not_found("the bucket holds no graph")),
        }
    }

    /// How long its sweeps may be apart.
    pub(super) fn sweeps_apart(&self) -> Duration {
        match &self.kind {
            OpenKind::Revisions(revisions) => revisions.sweeps_apart(),
            OpenKind::Graph(_) if self.meter.is_limited() => LIMITED_GRAPH_SWEEPS_APART,
            OpenKind::Graph(_) => GRAPH_SWEEPS_APART,
        }
    }

    /// Does some of a sweep; answers whether it is through.
    pub(super) async fn sweep(&self, sweep: &mut Sweeping, cells: usize) -> Result<bool> {
        match &self.kind {
            OpenKind::Revisions(revisions) => revisions.sweep(&mut sweep.revisions, cells).await,
            OpenKind::Graph(graph) => {
                graph.jobs().tidy().await?;
                graph.recount(&mut sweep.graph, cells).await
            }
        }
    }
}

/// A sweep under way, of whichever type.
#[derive(Default)]
pub(super) struct Sweeping {
    revisions: Sweep,
    graph: Recount,
}

/// Backend, replication and id: every replication counts its buckets by itself.
pub(super) type OpenPlace = (String, ReplicationSetting, u64);

/// Buckets that are open.
#[derive(Default)]
pub(super) struct OpenBuckets {
    buckets: RwLock<HashMap<OpenPlace, Arc<OpenBucket>>>,
    domains: RwLock<HashMap<String, Arc<Meter>>>,
}

impl OpenBuckets {
    pub(super) fn forget(&self, place: &OpenPlace) {
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(gone) = buckets.remove(place) {
            gone.meter.clear();
        }
    }

    fn get(&self, place: &OpenPlace) -> Option<Arc<OpenBucket>> {
        self.buckets.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    pub(super) fn all(&self) -> Vec<(OpenPlace, Arc<OpenBucket>)> {
        let buckets = self.buckets.read().unwrap_or_else(PoisonError::into_inner);
        buckets.iter().map(|(place, open)| (place.clone(), open.clone())).collect()
    }

    fn domain(&self, name: &str) -> Arc<Meter> {
        let known = self.domains.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(meter) = known {
            return meter;
        }
        let mut domains = self.domains.write().unwrap_or_else(PoisonError::into_inner);
        domains.entry(name.to_owned()).or_default().clone()
    }
}

impl Catalog {
    /// Makes a bucket, if the caller may make a new one, or sets it anew. Answers whether it is new, and the commit.
    ///
    /// # Errors
    /// `Conflict` if it was made or deleted since the caller's right was looked at, or the settings would change what
    /// can't be changed; `Invalid` if they are not as they must be; `Full` if the domain
    /// has as many as it may; `NotFound` without the domain; those of the engine.
    pub async fn put_bucket(
        &self,
        by: &Principal,
        (domain, name): (&str, &str),
        settings: &BucketSettings,
        (demands, new): (&Demands, bool),
    ) -> Result<Changed<(bool, Tid)>> {
        check_bucket(name)?;
        let mut settings = settings.clone();
        check(&settings)?;
        let snapshot = self.inner.refresh().await?;
        let there = snapshot.domains.get(domain).and_then(|d| d.buckets.get(name).cloned());
        if there.is_none() != new {
            return Err(Error::conflict("the bucket was made or deleted meanwhile"));
        }
        let _one_at_a_time = match &settings.kind {
            BucketKind::Graph(_) => Some(self.inner.schemas.lock().await),
            BucketKind::Revisions(_) => None,
        };
        let mut layout = settings.first_layout()?;
        let made = match &there {
            Some(there) => {
                // It may be called by an alias again.
                if let Some(named) = &settings.backend {
                    settings.backend = Some(self.backends().resolve(Some(named))?);
                }
                settings.keep_place_of(there)?;
                if !demands.hold(Some(there.tid)) {
                    return Ok(Changed::Unmet);
                }
                layout = self.follow_schema(domain, there, &settings).await?;
                None
            }
            None => {
                let backend = self.backends().resolve(settings.backend.as_deref())?;
                settings.backend = Some(backend.clone());
                Some(self.bring_forth(by, &backend, &settings).await?)
            }
        };
        let item = format!("{domain}/{name}");
        let changed = self
            .inner
            .change("put-bucket", &item, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let form = Form { settings: &settings, layout: &layout, over: there.as_deref() };
                let set = set(snapshot, edits, (domain, name), form, (demands, &made, by))?;
                if let (Changed::Done(_), Some(place)) = (&set, &made) {
                    purge::end_birth(snapshot, edits, place)?;
                }
                Ok(set)
            })
            .await;
        // Without a clear answer it may have been listed, now or later; if not, its birth is still there to tell.
        let unclear = |error: &Error| {
            matches!(error.kind(), Kind::Unavailable | Kind::Corrupt | Kind::Internal)
        };
        if let Some(place) = &made
            && !matches!(changed, Ok(Changed::Done(_)))
            && !changed.as_ref().is_err_and(unclear)
        {
            purge::undo(&self.inner, place).await?;
        }
        if there.is_some() {
            if !matches!(changed, Ok(Changed::Done(_)))
                && let Err(error) = self.inner.restore_schema(domain, name).await
            {
                tracing::warn!(%error, domain, name, "a graph's rules are not those of its schema");
            }
            self.wait_for_all().await;
        }
        changed
    }

    /// Makes the spaces of a bucket that is not listed yet. Its birth is written down first: whatever happens to us, the
    /// spaces are found by it.
    async fn bring_forth(
        &self,
        by: &Principal,
        backend: &str,
        settings: &BucketSettings,
    ) -> Result<Grave> {
        let store = self.backends().store(backend, &settings.replication).await?;
        let id = store.reserve_bucket().await?;
        let replication = settings.replication.clone();
        let place = Grave { backend: backend.to_owned(), replication, id: id.0 };
        purge::announce(&self.inner, by, &place).await?;
        match store.create_reserved(id, spec(&settings.kind)?).await {
            Ok(_) => Ok(place),
            Err(error) => {
                purge::undo(&self.inner, &place).await?;
                Err(error)
            }
        }
    }

    /// Deletes a bucket: gone at once, purged in the background. Answers the commit.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn delete_bucket(
        &self,
        by: &Principal,
        (domain, name): (&str, &str),
        demands: &Demands,
    ) -> Result<Changed<Tid>> {
        let item = format!("{domain}/{name}");
        let changed = self
            .inner
            .change("delete-bucket", &item, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let there = snapshot.domains.get(domain).and_then(|d| d.buckets.get(name));
                let Some(entry) = there else { return Ok(Changed::Absent) };
                if !demands.hold(Some(entry.tid)) {
                    return Ok(Changed::Unmet);
                }
                edits.remove(&Place::Bucket(domain.to_owned(), name.to_owned()));
                bury(entry, edits);
                touch(snapshot, domain, edits);
                Ok(Changed::Done(edits.tid()))
            })
            .await?;
        self.wait_for_all().await;
        Ok(changed)
    }

    /// A bucket ready for use.
    ///
    /// # Errors
    /// `Unavailable` if its backend is not configured; those of the engine.
    pub async fn open_bucket(&self, domain: &str, entry: &BucketEntry) -> Result<Arc<OpenBucket>> {
        let open = match entry.open.get() {
            Some(open) => open,
            None => {
                // Seldom needed: on the heap, lest every request's future be as large.
                let open = Box::pin(self.inner.open_bucket(domain, entry)).await?;
                Box::pin(self.inner.count_domain(domain)).await?;
                entry.open.get_or_init(|| open)
            }
        };
        // Most find it so: writing what is there already would hold up all others.
        if !open.asked_for.load(Relaxed) {
            open.asked_for.store(true, Relaxed);
        }
        Ok(open.clone())
    }
}

impl Catalog {
    /// How much a bucket holds now, and since when.
    ///
    /// # Errors
    /// Those of [`Self::open_bucket`].
    pub async fn used(&self, domain: &str, entry: &BucketEntry) -> Result<(Usage, Time)> {
        let open = self.open_bucket(domain, entry).await?;
        Usage::dated(open.bucket()).await
    }

    /// How much all buckets of a domain hold together, if there is a limit to it, and since when.
    ///
    /// # Errors
    /// Those of [`Self::used`].
    pub async fn used_in_domain(
        &self,
        name: &str,
        domain: &Domain,
    ) -> Result<Option<(Usage, Time)>> {
        let quota = &domain.record.spec.quota;
        if quota.items.is_none() && quota.bytes.is_none() {
            return Ok(None);
        }
        let (mut all, mut since) = (Usage::default(), Time::ZERO);
        for entry in domain.buckets.values() {
            match self.used(name, entry).await {
                // Deleted since the snapshot was taken.
                Err(error) if error.kind() == Kind::NotFound => {}
                used => {
                    let (used, changed) = used?;
                    (all, since) = (all.plus(used), since.max(changed));
                }
            }
        }
        Ok(Some((all, since)))
    }
}

/// What a record is to say.
struct Form<'a> {
    settings: &'a BucketSettings,
    layout: &'a Option<serde_json::Value>,
    /// What the layout follows.
    over: Option<&'a BucketEntry>,
}

/// The change that makes or sets a bucket.
fn set(
    snapshot: &Snapshot,
    edits: &mut Edits,
    (domain_name, name): (&str, &str),
    form: Form<'_>,
    (demands, made, by): (&Demands, &Option<Grave>, &Principal),
) -> Result<Changed<(bool, Tid)>> {
    let Some(domain) = snapshot.domains.get(domain_name) else {
        return Err(Error::not_found("no such domain").with("domain", domain_name));
    };
    let there = domain.buckets.get(name);
    if !demands.hold(there.map(|bucket| bucket.tid)) {
        return Ok(Changed::Unmet);
    }
    let most = domain.record.spec.quota.buckets;
    if there.is_none() && most.is_some_and(|most| domain.buckets.len() as u64 >= most) {
        return Err(Error::full("the domain has as many buckets as it may")
            .with("quota", "buckets")
            .with("domain", domain_name));
    }
    let (id, creator) = match (there, made) {
        (Some(there), None) => (there.record.id, there.record.creator.clone()),
        (None, Some(made)) => (made.id, by.user.clone()),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Error::conflict("the bucket was made or deleted meanwhile"));
        }
    };
    let mut settings = form.settings.clone();
    if let Some(there) = there {
        settings.keep_place_of(there)?;
        if form.over.is_none_or(|over| over.record.layout != there.record.layout) {
            return Err(Error::conflict("the schema was changed meanwhile"));
        }
    }
    let layout = form.layout.clone();
    let made = there.map(|there| there.record.made.as_ref().unwrap_or(&there.record.tid).clone());
    let record = BucketRecord { tid: edits.tid().to_string(), made, creator, id, settings, layout };
    edits.put(&Place::Bucket(domain_name.to_owned(), name.to_owned()), &record);
    touch(snapshot, domain_name, edits);
    Ok(Changed::Done((there.is_none(), edits.tid())))
}

/// A domain shows its buckets, so it changes with them.
fn touch(snapshot: &Snapshot, name: &str, edits: &mut Edits) {
    if let Some(domain) = snapshot.domains.get(name) {
        let set = Some(domain.set().to_string());
        let record = DomainRecord { tid: edits.tid().to_string(), set, ..domain.record.clone() };
        edits.put(&Place::Domain(name.to_owned()), &record);
    }
}

impl BucketSettings {
    /// A bucket stays where it is and what it is.
    fn keep_place_of(&mut self, there: &BucketEntry) -> Result<()> {
        let old = &there.record.settings;
        if old.kind.name() != self.kind.name() {
            return Err(fixed("/type"));
        }
        if old.kind.common().replay_window != self.kind.common().replay_window
            || old.kind.common().changes_kept != self.kind.common().changes_kept
        {
            return Err(fixed("/options"));
        }
        if let (BucketKind::Graph(old), BucketKind::Graph(new)) = (&old.kind, &self.kind)
            && old.key_package != new.key_package
        {
            return Err(fixed("/options/keyPackage"));
        }
        if self.backend.is_some() && self.backend != old.backend {
            return Err(fixed("/backend"));
        }
        if self.replication.is_some() && self.replication != old.replication {
            return Err(fixed("/replication"));
        }
        self.backend.clone_from(&old.backend);
        self.replication.clone_from(&old.replication);
        Ok(())
    }
}

fn fixed(at: &'static str) -> Error {
    Error::conflict("this is chosen when a bucket is made, and stays").with("at", at)
}

fn check(settings: &BucketSettings) -> Result<()> {
    match &settings.kind {
        BucketKind::Revisions(options) => options.retention().map(drop)?,
        BucketKind::Graph(_) => settings.check_graph()?,
    }
    if settings.quota.buckets.is_some() {
        return Err(Error::invalid("a bucket holds no buckets").with("at", "/quota/buckets"));
    }
    match &settings.acl {
        Some(acl) => acl.compile().map(drop),
        None => Ok(()),
    }
}

fn spec(kind: &BucketKind) -> Result<BucketSpec> {
    match kind {
        BucketKind::Revisions(options) => Ok(Revisions::spec(&options.common())),
        BucketKind::Graph(options) => options.spec(),
    }
}

/// A bucket of which it is not known yet how much it holds.
enum Unmetered {
    Revisions(Bucket, Retention),
    Graph(Graph),
}

impl Inner {
    pub(super) async fn open_bucket(
        &self,
        domain: &str,
        entry: &BucketEntry,
    ) -> Result<Arc<OpenBucket>> {
        let settings = &entry.record.settings;
        let backend = settings.backend.clone().unwrap_or_default();
        let place = (backend, settings.replication.clone(), entry.record.id);
        let known = self.open.get(&place);
        if let Some(open) = known.as_ref().filter(|open| open.tid == entry.tid) {
            return Ok(open.clone());
        }
        let store = self.backends.store(&place.0, &settings.replication).await?;
        let cells = store.find_bucket(BucketId(entry.record.id)).await?;
        let used = match known {
            Some(_) => Usage::default(),
            None => Usage::of(&cells).await?,
        };
        let shared = self.backends.is_shared(&place.0).then(|| cells.clone());
        let kind = match &settings.kind {
            BucketKind::Revisions(options) => {
                let retention = options.retention()?;
                Unmetered::Revisions(cells, retention)
            }
            BucketKind::Graph(options) => {
                Unmetered::Graph(options.open(cells, entry.record.layout.as_ref())?)
            }
        };
        let whole = self.open.domain(domain);
        let mut buckets = self.open.buckets.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have opened it meanwhile: what it holds is counted once.
        let meter = match buckets.get(&place) {
            Some(open) => open.meter.clone(),
            None => Meter::within(&whole, used, shared),
        };
        meter.limit(limits("bucket", &settings.quota));
        let kind = match kind {
            Unmetered::Revisions(cells, retention) => {
                OpenKind::Revisions(Revisions::new(cells, retention, meter.clone()))
            }
            Unmetered::Graph(graph) => OpenKind::Graph(graph.metered(meter.clone())),
        };
        let open =
            Arc::new(OpenBucket { kind, meter, tid: entry.tid, asked_for: AtomicBool::new(false) });
        buckets.insert(place, open.clone());
        Ok(open)
    }

    /// Sees to it that all buckets of a domain are counted, if it matters.
    async fn count_domain(&self, name: &str) -> Result<()> {
        let snapshot = self.snapshot().await?;
        let Some(domain) = snapshot.domains.get(name) else { return Ok(()) };
        let quota = &domain.record.spec.quota;
        self.open.domain(name).limit(limits("domain", quota));
        if quota.items.is_none() && quota.bytes.is_none() {
            return Ok(());
        }
        for entry in domain.buckets.values() {
            self.open_bucket(name, entry).await?;
        }
        Ok(())
    }
}

fn limits(of: &'static str, quota: &Quota) -> Limits {
    Limits { of, items: quota.items, bytes: quota.bytes }
}
