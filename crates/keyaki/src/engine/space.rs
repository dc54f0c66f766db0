//! Spaces: the kinds of cells an engine holds, and the rules each kind lives by.
//!
//! A space is made once, gets an id that is never given again, and is retired when dropped.
//! Every engine keeps its list in a [`Spaces`], which answers the lookups of commits, scans,
//! folds and compactions; how the list is made durable is the engine's own business.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::rules::{Keep, Merge, RuleSpec, Rules};
use crate::cell::value::Flags;
use crate::error::{Error, Result};

/// Names a space. Ids are never reused; 0 is the engine's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpaceId(pub u32);

/// Names a bucket, as far as an engine cares: the home spaces of one bucket share partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BucketId(pub u64);

/// Who writes a space's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceKind {
    /// Primaries, replay digests, commit marks: changed only by commits of the partition that
    /// owns the cell, conditionally if wished.
    Home,
    /// What follows from primaries: views, index entries, graph elements, change records.
    /// Written only as dependents.
    Derived,
}

/// What a space is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceSpec {
    /// The bucket it belongs to.
    pub bucket: BucketId,
    /// Who writes its cells.
    pub kind: SpaceKind,
    /// What it is for, for people and for `keyaki stat`.
    pub label: String,
    /// How operands fold; a space with a merge rule takes merges and deletes, no puts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<RuleSpec>,
    /// Which cells stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<RuleSpec>,
    /// Where invalid cells go; a derived space without rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<SpaceId>,
}

impl SpaceSpec {
    /// A home space without rules.
    #[must_use]
    pub fn home(bucket: BucketId, label: impl Into<String>) -> Self {
        Self {
            bucket,
            kind: SpaceKind::Home,
            label: label.into(),
            merge: None,
            keep: None,
            quarantine: None,
        }
    }

    /// A derived space without rules.
    #[must_use]
    pub fn derived(bucket: BucketId, label: impl Into<String>) -> Self {
        Self { kind: SpaceKind::Derived, ..Self::home(bucket, label) }
    }

    /// With a merge rule.
    #[must_use]
    pub fn merging(mut self, rule: RuleSpec) -> Self {
        self.merge = Some(rule);
        self
    }

    /// With a keep rule.
    #[must_use]
    pub fn keeping(mut self, rule: RuleSpec) -> Self {
        self.keep = Some(rule);
        self
    }

    /// With a place for invalid cells.
    #[must_use]
    pub fn quarantined_in(mut self, space: SpaceId) -> Self {
        self.quarantine = Some(space);
        self
    }

    /// Whether a sweep may find something to remove.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.keep.is_some() || (self.merge.is_some() && self.quarantine.is_some())
    }
}

/// A space as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceRecord {
    /// Its id.
    pub id: SpaceId,
    /// What it was made with.
    pub spec: SpaceSpec,
    /// Dropped: its cells are gone for every reader, and its id stays taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
}

/// A space with its rules looked up.
pub struct Space {
    /// As it is listed.
    pub record: SpaceRecord,
    /// The rule the record names; `None` also if this build doesn't know it.
    pub merge: Option<Arc<dyn Merge>>,
    /// The rule the record names; `None` also if this build doesn't know it.
    pub keep: Option<Arc<dyn Keep>>,
}

impl Space {
    fn new(record: SpaceRecord, rules: &Rules) -> Self {
        let merge = record.spec.merge.as_ref().and_then(|spec| rules.merge(spec));
        let keep = record.spec.keep.as_ref().and_then(|spec| rules.keep(spec));
        Self { record, merge, keep }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> SpaceId {
        self.record.id
    }

    /// Whether operands fold in it.
    #[must_use]
    pub fn merges(&self) -> bool {
        self.record.spec.merge.is_some()
    }

    /// Whether a cell with these flags is folded before it is seen.
    #[must_use]
    pub fn folds(&self, flags: Flags) -> bool {
        flags.contains(Flags::UNFOLDED) && self.merges()
    }

    /// Whether a cell with these flags is seen just as it is stored.
    #[must_use]
    pub fn shows_as_is(&self, flags: Flags) -> bool {
        self.keep.is_none() && !self.folds(flags)
    }

    /// Refuses a space whose rules this build doesn't know: serving or changing it could show
    /// what is to be hidden.
    fn usable(&self) -> Result<()> {
        for (named, known) in [
            (&self.record.spec.merge, self.merge.is_some()),
            (&self.record.spec.keep, self.keep.is_some()),
        ] {
            if let Some(rule) = named
                && !known
            {
                return Err(Error::unsupported("space has a rule that this build doesn't know")
                    .with("space", self.id().0)
                    .with("rule", &rule.name));
            }
        }
        Ok(())
    }
}

/// The spaces of an engine, by id.
#[derive(Default)]
pub struct Spaces {
    rules: Rules,
    by_id: RwLock<Vec<Option<Arc<Space>>>>,
    /// The last bucket id that was given, or that a space has.
    last_bucket: AtomicU64,
}

impl Spaces {
    /// The list an engine opens with.
    #[must_use]
    pub fn new(records: Vec<SpaceRecord>, rules: Rules) -> Self {
        let spaces = Self { rules, ..Self::default() };
        for record in records {
            spaces.set(record);
        }
        spaces
    }

    /// A space, retired or not; `None` if there never was one with this id.
    #[must_use]
    pub fn get(&self, id: SpaceId) -> Option<Arc<Space>> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        by_id.get(id.0 as usize)?.clone()
    }

    /// A space that can be read and written.
    ///
    /// # Errors
    /// `NotFound` if there is none or it was dropped, `Unsupported` if its rules are unknown.
    pub fn usable(&self, id: SpaceId) -> Result<Arc<Space>> {
        let space = self.existing(id)?;
        space.usable()?;
        Ok(space)
    }

    /// A space that is there, though its rules may be unknown.
    ///
    /// # Errors
    /// `NotFound` if there is none or it was dropped.
    pub fn existing(&self, id: SpaceId) -> Result<Arc<Space>> {
        self.get(id)
            .filter(|space| !space.record.retired)
            .ok_or_else(|| Error::not_found("no such space").with("space", id.0))
    }

    /// What every engine demands of new spaces; answers the records they would get.
    ///
    /// # Errors
    /// `Invalid` if the rules don't fit the kind, `Unsupported` if they are unknown.
    pub fn admit(&self, specs: Vec<SpaceSpec>) -> Result<Vec<SpaceRecord>> {
        let ids = self.next_ids(specs.len())?;
        ids.zip(specs).map(|(id, spec)| self.admit_as(SpaceId(id), spec)).collect()
    }

    fn admit_as(&self, id: SpaceId, spec: SpaceSpec) -> Result<SpaceRecord> {
        if spec.kind == SpaceKind::Home && spec.merge.is_some() {
            return Err(
                Error::invalid("a home space can't have a merge rule").with("label", &spec.label)
            );
        }
        if let Some(quarantine) = spec.quarantine {
            let target = self.usable(quarantine)?.record.spec.clone();
            if target.kind != SpaceKind::Derived
                || target.bucket != spec.bucket
                || target.merge.is_some()
                || target.keep.is_some()
            {
                return Err(Error::invalid(
                    "a quarantine must be a derived space without rules in the same bucket",
                )
                .with("quarantine", quarantine.0));
            }
        }
        let record = SpaceRecord { id, spec, retired: false };
        Space::new(record.clone(), &self.rules).usable()?;
        Ok(record)
    }

    /// The record of a space with other rules.
    ///
    /// # Errors
    /// `NotFound` if there is no such space, `Invalid` if a rule would be added or taken away,
    /// `Unsupported` if one is unknown.
    pub fn with_rules(
        &self,
        id: SpaceId,
        merge: Option<RuleSpec>,
        keep: Option<RuleSpec>,
    ) -> Result<SpaceRecord> {
        let mut record = self.existing(id)?.record.clone();
        if record.spec.merge.is_some() != merge.is_some() {
            return Err(
                Error::invalid("a merge rule can't be added or taken away").with("space", id.0)
            );
        }
        (record.spec.merge, record.spec.keep) = (merge, keep);
        Space::new(record.clone(), &self.rules).usable()?;
        Ok(record)
    }

    /// Lists a record, in place of the one with the same id.
    pub fn set(&self, record: SpaceRecord) {
        let index = record.id.0 as usize;
        self.last_bucket.fetch_max(record.spec.bucket.0, Relaxed);
        let space = Arc::new(Space::new(record, &self.rules));
        let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        if by_id.len() <= index {
            by_id.resize(index + 1, None);
        }
        by_id[index] = Some(space);
    }

    /// Lists records; answers their ids.
    pub fn set_all(&self, records: Vec<SpaceRecord>) -> Vec<SpaceId> {
        let ids = records.iter().map(|record| record.id).collect();
        records.into_iter().for_each(|record| self.set(record));
        ids
    }

    /// The records of spaces once they are dropped; those that were dropped before are left out.
    ///
    /// # Errors
    /// `NotFound` if there never was one of them.
    pub fn retire(&self, ids: &[SpaceId]) -> Result<Vec<SpaceRecord>> {
        let mut retired = Vec::new();
        for id in ids {
            let space = self.get(*id);
            let space =
                space.ok_or_else(|| Error::not_found("no such space").with("space", id.0))?;
            if !space.record.retired {
                retired.push(SpaceRecord { retired: true, ..space.record.clone() });
            }
        }
        Ok(retired)
    }

    /// All of them, by id.
    #[must_use]
    pub fn records(&self) -> Vec<SpaceRecord> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        by_id.iter().flatten().map(|space| space.record.clone()).collect()
    }

    /// A bucket id that no space has; for engines that nobody shares.
    pub fn new_bucket(&self) -> BucketId {
        BucketId(self.last_bucket.fetch_add(1, Relaxed) + 1)
    }

    fn next_ids(&self, count: usize) -> Result<Range<u32>> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        let first = by_id.len().max(1);
        let bounds = (u32::try_from(first), u32::try_from(first + count));
        let (Ok(first), Ok(end)) = bounds else {
            return Err(Error::unavailable("no space ids are left"));
        };
        Ok(first..end)
    }
}
