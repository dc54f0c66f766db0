//! Domains: set, changed and deleted with all their buckets.

use super::record::{DomainRecord, DomainSpec};
use super::snapshot::{Domain, Place, Snapshot};
use super::{Catalog, Changed, Edits, check_domain};
use crate::bucket::Demands;
use crate::catalog::Principal;
use crate::cell::Tid;
use crate::error::{Error, Result};

const LIST_MAX: usize = 1_000;

impl Catalog {
    /// Makes a domain, if the caller may make a new one, or sets it anew. Answers whether it is new, and the commit.
    ///
    /// # Errors
    /// `Conflict` if it was made or deleted since the caller's right was looked at; `Invalid` if the name or the settings are not as they must be; those of the engine.
    pub async fn put_domain(
        &self,
        by: &Principal,
        name: &str,
        spec: &DomainSpec,
        (demands, new): (&Demands, bool),
    ) -> Result<Changed<(bool, Tid)>> {
        check_domain(name)?;
        check(spec)?;
        let revokes = std::sync::atomic::AtomicBool::new(false);
        let changed = self
            .inner
            .change("put-domain", name, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let there = snapshot.domains.get(name);
                if !demands.hold(there.map(|domain| domain.tid)) {
                    return Ok(Changed::Unmet);
                }
                if there.is_none() != new {
                    return Err(Error::conflict("the domain was made or deleted meanwhile"));
                }
                revokes.store(there.is_some(), std::sync::atomic::Ordering::Relaxed);
                let (tid, spec) = (edits.tid().to_string(), spec.clone());
                let record = DomainRecord { tid, set: None, spec };
                edits.put(&Place::Domain(name.to_owned()), &record);
                Ok(Changed::Done((there.is_none(), edits.tid())))
            })
            .await?;
        if revokes.into_inner() {
            self.wait_for_all().await;
        }
        Ok(changed)
    }

    /// Deletes a domain with all its buckets: gone at once, purged in the background. Answers the commit.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn delete_domain(
        &self,
        by: &Principal,
        name: &str,
        demands: &Demands,
    ) -> Result<Changed<Tid>> {
        let changed = self
            .inner
            .change("delete-domain", name, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let there = snapshot.domains.get(name);
                let Some(domain) = there else { return Ok(Changed::Absent) };
                if !demands.hold(Some(domain.tid)) {
                    return Ok(Changed::Unmet);
                }
                bury_all(domain, name, edits);
                edits.remove(&Place::Domain(name.to_owned()));
                Ok(Changed::Done(edits.tid()))
            })
            .await?;
        self.wait_for_all().await;
        Ok(changed)
    }
}

fn bury_all(domain: &Domain, name: &str, edits: &mut Edits) {
    for (bucket, entry) in &domain.buckets {
        edits.remove(&Place::Bucket(name.to_owned(), bucket.clone()));
        bury(entry, edits);
    }
}

/// Leaves word that a bucket is to be purged.
pub(super) fn bury(entry: &super::BucketEntry, edits: &mut Edits) {
    let grave = entry.place();
    edits.put(&Place::Grave(grave.name()), &grave);
}

fn check(spec: &DomainSpec) -> Result<()> {
    for (at, list) in [("/owners", &spec.owners), ("/bucketCreators", &spec.bucket_creators)] {
        if list.len() > LIST_MAX {
            return Err(Error::invalid("list is too long").with("at", at).with("most", LIST_MAX));
        }
        if list.iter().any(|name| name.is_empty() || name.chars().any(char::is_control)) {
            return Err(
                Error::invalid("a user's name has characters, none of them control").with("at", at)
            );
        }
    }
    match &spec.acl {
        Some(acl) => acl.compile().map(drop),
        None => Ok(()),
    }
}
