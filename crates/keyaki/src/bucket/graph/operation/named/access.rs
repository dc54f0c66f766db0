//! Who may see or change what has a name: its creator, holders of some roles, and whoever administers the graph.

use serde_json::Value as Json;

use crate::bucket::graph::koryphe::Spec;
use crate::error::Result;

/// Somebody who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// Their name; none for somebody unknown.
    pub user: Option<String>,
    /// Their roles.
    pub roles: Vec<String>,
    /// Whether they may do everything with the graph.
    pub administers: bool,
}

/// Who is let through.
pub(super) enum Access<'a> {
    /// Everybody.
    Everybody,
    /// Nobody, administrators aside.
    Nobody,
    /// One user, and whoever has one of the roles.
    Some { user: Option<&'a str>, roles: Vec<&'a str> },
}

impl<'a> Access<'a> {
    /// A creator and some roles.
    pub(super) fn roles(user: Option<&'a str>, roles: &'a Option<Vec<String>>) -> Self {
        Self::Some { user, roles: roles.iter().flatten().map(String::as_str).collect() }
    }

    /// One of Gaffer's access predicates.
    ///
    /// # Errors
    /// `Invalid` for another one.
    pub(super) fn from_json(json: &'a Json) -> Result<Self> {
        let spec = Spec::or_class(json, "AccessPredicate")?;
        match spec.short() {
            "UnrestrictedAccessPredicate" => Ok(Self::Everybody),
            "NoAccessPredicate" => Ok(Self::Nobody),
            "AccessPredicate" | "NamedViewWriteAccessPredicate" => {
                let user = Spec::or_class(spec.need("userPredicate")?, "DefaultUserPredicate")?;
                match user.short() {
                    "DefaultUserPredicate" | "NamedViewWriteUserPredicate" => Ok(Self::Some {
                        user: user.text("creatingUserId")?,
                        roles: user.texts("auths")?,
                    }),
                    _ => Err(user.unknown("user predicate")),
                }
            }
            _ => Err(spec.unknown("access predicate")),
        }
    }
}

impl Who {
    /// Whether a predicate lets them through, or what holds without one.
    pub(super) fn passes(&self, predicate: &Option<Json>, default: Access<'_>) -> bool {
        let access = match predicate {
            None => default,
            // What can't be read lets nobody through.
            Some(json) => Access::from_json(json).unwrap_or(Access::Nobody),
        };
        self.administers
            || match access {
                Access::Everybody => true,
                Access::Nobody => false,
                Access::Some { user, roles } => {
                    let is_user = user
                        .is_some_and(|user| !user.is_empty() && self.user.as_deref() == Some(user));
                    is_user || roles.iter().any(|role| self.roles.iter().any(|own| own == role))
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn creators_roles_and_predicates_let_through() {
        let who = |user: &str, roles: &[&str], administers| Who {
            user: (!user.is_empty()).then(|| user.to_owned()),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
            administers,
        };
        let roles = Some(vec!["analyst".to_owned()]);
        let default = || Access::roles(Some("ana"), &roles);
        assert!(who("ana", &[], false).passes(&None, default()));
        assert!(who("bob", &["analyst"], false).passes(&None, default()));
        assert!(!who("bob", &["other"], false).passes(&None, default()));
        assert!(!who("", &[], false).passes(&None, Access::roles(None, &None)));
        assert!(who("", &[], true).passes(&None, Access::Nobody), "who administers may");
        let none = Some(json!({"class": "uk.gov.gchq.gaffer.access.predicate.NoAccessPredicate"}));
        assert!(!who("ana", &["analyst"], false).passes(&none, default()));
        let all = Some(json!({"class": "UnrestrictedAccessPredicate"}));
        assert!(who("", &[], false).passes(&all, default()));
        let some = Some(json!({"class": "AccessPredicate", "userPredicate": {
            "class": "DefaultUserPredicate", "creatingUserId": "x", "auths": ["y"]}}));
        assert!(who("x", &[], false).passes(&some, default()));
        assert!(who("z", &["y"], false).passes(&some, default()));
        assert!(!who("ana", &[], false).passes(&some, default()));
        assert!(Access::from_json(&json!({"class": "a.b.Other"})).is_err());
        assert!(!who("x", &[], false).passes(&Some(json!({"class": "a.b.Other"})), default()));
    }
}
