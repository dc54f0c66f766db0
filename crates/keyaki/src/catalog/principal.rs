//! Who a request comes from, once that is known.

use std::sync::Arc;

use crate::cell::visibility::Authorisations;

/// A caller with what it was given. A clone shares most of it: every request has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// Its name; none for somebody unknown.
    pub user: Option<String>,
    /// Its roles.
    pub roles: Arc<[String]>,
    /// Authorisations that open cells to it.
    pub auths: Authorisations,
    /// Fingerprints of the services that have signed the request.
    pub services: Vec<String>,
}

/// Who may do everything, except see cells that are closed to it.
pub const ADMIN: &str = "admin";
const ROLE_PREFIX: &str = "role:";

impl Principal {
    /// Whether it has a role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }

    /// Whether it may do everything.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.has_role(ADMIN)
    }

    /// Whether it is on a list of users, and of roles written `role:name`.
    #[must_use]
    pub fn is_among(&self, list: &[String]) -> bool {
        list.iter().any(|entry| match entry.strip_prefix(ROLE_PREFIX) {
            Some(role) => self.has_role(role),
            None => self.user.as_ref() == Some(entry),
        })
    }
}
