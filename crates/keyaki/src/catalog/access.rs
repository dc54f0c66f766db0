//! May this caller? Admins and owners may do everything with what is theirs, others what an ACL says; what nothing
//! says anything about is closed.

use super::acl::Access;
use super::principal::Principal;
use super::snapshot::{BucketEntry, Domain, Snapshot};

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// To make domains, tokens and services' keys.
    Administer,
    /// To see that a domain is there, and what is in it.
    SeeDomain,
    /// To change or delete it.
    OwnDomain,
    /// To make buckets in it.
    MakeBuckets,
}

impl Snapshot {
    /// Whether a caller may do something with a domain, or with the catalog as a whole.
    #[must_use]
    pub fn permits(&self, principal: &Principal, right: Right, domain: Option<&Domain>) -> bool {
        if principal.is_admin() {
            return true;
        }
        let Some(domain) = domain else { return false };
        let spec = &domain.record.spec;
        let owns = principal.is_among(&spec.owners);
        match right {
            Right::Administer => false,
            Right::OwnDomain => owns,
            Right::MakeBuckets => owns || principal.is_among(&spec.bucket_creators),
            Right::SeeDomain => {
                owns || principal.is_among(&spec.bucket_creators)
                    || domain.acl.allows_somewhere(principal, Access::Read)
                    || domain.buckets.values().any(|bucket| bucket.is_seen_by(domain, principal))
            }
        }
    }
}

impl BucketEntry {
    /// Whether it is the caller's to change and delete.
    #[must_use]
    pub fn is_owned_by(&self, domain: &Domain, principal: &Principal) -> bool {
        let made = self.record.creator.is_some() && self.record.creator == principal.user;
        principal.is_admin() || made || principal.is_among(&domain.record.spec.owners)
    }

    /// Whether a caller may read or write at a path inside it, which begins with a slash.
    #[must_use]
    pub fn allows(
        &self,
        domain: &Domain,
        principal: &Principal,
        access: Access,
        path: &str,
    ) -> bool {
        self.is_owned_by(domain, principal)
            || self.acl.as_ref().unwrap_or(&domain.acl).allows(principal, access, path)
    }

    /// Whether there may be something in it that a caller may read or write.
    #[must_use]
    pub fn allows_somewhere(&self, domain: &Domain, principal: &Principal, access: Access) -> bool {
        let acl = self.acl.as_ref().unwrap_or(&domain.acl);
        self.is_owned_by(domain, principal) || acl.allows_somewhere(principal, access)
    }

    /// Whether a caller may read or write all that is in it, and will be.
    #[must_use]
    pub fn allows_everywhere(
        &self,
        domain: &Domain,
        principal: &Principal,
        access: Access,
    ) -> bool {
        let acl = self.acl.as_ref().unwrap_or(&domain.acl);
        self.is_owned_by(domain, principal) || acl.allows_everywhere(principal, access)
    }

    /// Whether a caller may know of it.
    #[must_use]
    pub fn is_seen_by(&self, domain: &Domain, principal: &Principal) -> bool {
        self.allows_somewhere(domain, principal, Access::Read)
            || self.allows_somewhere(domain, principal, Access::Write)
    }
}
