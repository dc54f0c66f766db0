//! Reading: what a key says, what it said, and its history.

use std::collections::HashMap;
use std::ops::Bound;

use super::model::{Head, Revision};
use super::{HEAD, META, Retention, Revisions, content_sort, meta_sort};
use crate::bucket::Caller;
use crate::cell::visibility::Decisions;
use crate::cell::{Tid, Time, ValueRef};
use crate::engine::{CellRef, ScanRequest};
use crate::error::{Error, Result};

/// Content goes with its revision: it is missing only if that went meanwhile.
const LOOKS_MAX: usize = 8;

/// Which revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This one.
    Tid(Tid),
    /// The one that was current then.
    Time(Time),
}

/// Some revisions of an item, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPage {
    /// Those that are kept and that the caller may see.
    pub revisions: Vec<Revision>,
    /// After which the next page begins, if there is one.
    pub next: Option<Tid>,
}

impl Revisions {
    pub(super) async fn head(&self, key: &str) -> Result<Head> {
        Head::decode(self.bucket.stored(key.as_bytes(), HEAD).await?)
    }

    /// What a key says now, without its content.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn current(&self, caller: &Caller, key: &str) -> Result<Option<Revision>> {
        Ok(self.current_and_copy(caller, key).await?.map(|(revision, _)| revision))
    }

    /// The same, with its content if the head has that.
    async fn current_and_copy(
        &self,
        caller: &Caller,
        key: &str,
    ) -> Result<Option<(Revision, Option<Vec<u8>>)>> {
        let mut decisions = Decisions::new(caller.authorisations.clone());
        let head = self.settled_head(key).await?;
        Ok(head.into_current(&mut decisions).filter(|(revision, _)| self.is_fresh(revision)))
    }

    /// Whether the newest revision of its label is kept.
    pub(super) fn is_fresh(&self, revision: &Revision) -> bool {
        match self.retention {
            Retention::Ttl { .. } => self.retention.keeps(revision.tid.time(), &[], self.now()),
            // Nothing but its age ends it: nobody needs to look at a clock.
            Retention::All | Retention::Latest { .. } | Retention::Interval { .. } => true,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.bucket.store().engine().clock().now()
    }

    /// What a key says now, and what `hold` took for it before it was read.
    ///
    /// # Errors
    /// Those of `hold` and of the engine; `Corrupt` if its content is missing.
    pub async fn get<T: Send>(
        &self,
        caller: &Caller,
        key: &str,
        hold: impl Fn(&Revision) -> Result<T> + Send + Sync,
    ) -> Result<Option<(Revision, Vec<u8>, T)>> {
        for _ in 0..LOOKS_MAX {
            let current = self.current_and_copy(caller, key).await?;
            let Some((revision, copy)) = current else { return Ok(None) };
            let held = hold(&revision)?;
            let content = match copy {
                Some(copy) => Some(copy),
                None => self.content(caller, key, revision.tid).await?,
            };
            if let Some(content) = content {
                return Ok(Some((revision, content, held)));
            }
        }
        Err(Error::corrupt("content of a revision is missing").with("item", key))
    }

    /// What a key said, as [`Self::get`] does it.
    ///
    /// # Errors
    /// Those of `hold` and of the engine.
    pub async fn get_at<T: Send>(
        &self,
        caller: &Caller,
        key: &str,
        when: When,
        hold: impl Fn(&Revision) -> Result<T> + Send + Sync,
    ) -> Result<Option<(Revision, Vec<u8>, T)>> {
        let Some(revision) = self.revision_at(caller, key, when).await? else { return Ok(None) };
        if revision.stored.deleted {
            return Ok(None);
        }
        let held = hold(&revision)?;
        // If it is missing, retention has just let go of it.
        let content = self.content(caller, key, revision.tid).await?;
        Ok(content.map(|content| (revision, content, held)))
    }

    /// A revision, a deletion too, without its content.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn revision_at(
        &self,
        caller: &Caller,
        key: &str,
        when: When,
    ) -> Result<Option<Revision>> {
        match when {
            When::Tid(tid) => self.revision(caller, key, tid).await,
            When::Time(time) => {
                let from = Some(Tid::new(time, u64::MAX));
                let page = self.history(caller, key, from, 1).await?;
                Ok(page.revisions.into_iter().next())
            }
        }
    }

    pub(super) async fn content(
        &self,
        caller: &Caller,
        key: &str,
        tid: Tid,
    ) -> Result<Option<Vec<u8>>> {
        self.bucket.read(&caller.authorisations, key.as_bytes(), &content_sort(tid)).await
    }

    async fn revision(&self, caller: &Caller, key: &str, tid: Tid) -> Result<Option<Revision>> {
        let stored = self.bucket.stored(key.as_bytes(), &meta_sort(tid)).await?;
        let Some(stored) = stored else { return Ok(None) };
        let value = ValueRef::decode(&stored)?;
        if !Decisions::new(caller.authorisations.clone()).visible(value.visibility) {
            return Ok(None);
        }
        let revision = Revision::decode(value.visibility, value.payload)?;
        let newer = self.newer(caller, key, &revision).await?;
        let kept = self.retention.keeps(tid.time(), &newer, self.now());
        Ok(kept.then_some(revision))
    }

    /// The times of the next newer revisions of the same label, as many as decide on this one.
    async fn newer(&self, caller: &Caller, key: &str, revision: &Revision) -> Result<Vec<Time>> {
        let window = self.retention.window();
        let mut newer = Vec::with_capacity(window);
        if window == 0 {
            return Ok(newer);
        }
        let from = Bound::Excluded(meta_sort(revision.tid));
        let to = Bound::Excluded(vec![META + 1]);
        let request = ScanRequest::range(self.bucket.primary(), key.as_bytes(), from, to);
        let mut cells = self.bucket.scan(&caller.authorisations, request).await?;
        while let Some(block) = cells.next_block().await? {
            let same = |cell: &CellRef<'_>| cell.visibility() == revision.visibility.as_bytes();
            newer.extend(block.iter().filter(same).map(|cell| cell.time()));
            if newer.len() >= window {
                newer.truncate(window);
                break;
            }
        }
        Ok(newer)
    }

    /// An item's revisions from the newest, or from behind one, that are kept.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn history(
        &self,
        caller: &Caller,
        key: &str,
        after: Option<Tid>,
        limit: usize,
    ) -> Result<HistoryPage> {
        let mut page = HistoryPage { revisions: Vec::new(), next: None };
        // Newer ones decide on older ones: then all of them are looked at.
        let start = after.filter(|_| self.retention.window() == 0);
        let to =
            start.map_or(Bound::Excluded(vec![META + 1]), |tid| Bound::Excluded(meta_sort(tid)));
        let from = Bound::Included(vec![META]);
        let request = ScanRequest::range(self.bucket.primary(), key.as_bytes(), from, to);
        let mut cells = self.bucket.scan(&caller.authorisations, request.backward()).await?;
        let mut kept = Kept::new(self.retention, self.now());
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter() {
                let revision = Revision::decode(cell.visibility(), cell.payload())?;
                let is_kept = kept.next(&revision);
                if !is_kept || after.is_some_and(|after| revision.tid >= after) {
                    continue;
                }
                if page.revisions.len() == limit {
                    page.next = page.revisions.last().map(|last| last.tid);
                    return Ok(page);
                }
                page.revisions.push(revision);
            }
        }
        Ok(page)
    }
}

/// Judges the revisions of an item one after the other, newest first.
pub(super) struct Kept {
    retention: Retention,
    now: Time,
    newer: HashMap<String, Vec<Time>>,
}

impl Kept {
    pub(super) fn new(retention: Retention, now: Time) -> Self {
        Self { retention, now, newer: HashMap::new() }
    }

    pub(super) fn next(&mut self, revision: &Revision) -> bool {
        let time = revision.tid.time();
        let newer = self.newer.entry(revision.visibility.clone()).or_default();
        let kept = self.retention.keeps(time, newer, self.now);
        newer.insert(0, time);
        newer.truncate(self.retention.window());
        kept
    }
}

pub(super) fn tid_of(sort: &[u8]) -> Result<Tid> {
    let tid = sort[1..].try_into().ok().and_then(|bytes| Tid::from_bytes(bytes).ok());
    tid.ok_or_else(|| Error::corrupt("revision has no id").with_bytes("sort", sort))
}
