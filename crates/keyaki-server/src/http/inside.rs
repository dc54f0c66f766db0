//! Inside a bucket: found, and open to a caller who may do there what it asks for. What all types of buckets share.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method};
use keyaki::bucket::Caller;
use keyaki::bucket::graph::JOB_BEGUN;
use keyaki::catalog::{Access, BucketEntry, OpenBucket, Principal, Snapshot, check_key};
use keyaki::store::Change;

use super::identify::{refuse, unauthenticated};
use super::problem::Problem;
use super::routes::{About, Of};
use super::{App, Call, is_read};

/// A bucket that the caller may use, as the catalog has it and open.
pub struct InBucket<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) names: (&'a str, &'a str),
    pub(super) entry: &'a BucketEntry,
    pub(super) open: Arc<OpenBucket>,
    pub(super) caller: Caller,
}

impl Call<'_> {
    /// Finds the bucket, and whether the caller may do what it asks for: `at` has domain, bucket and item.
    pub(super) async fn enter<'a>(
        &'a self,
        at: &[&'a str],
        about: About,
        of: Of,
    ) -> Result<InBucket<'a>, Problem> {
        let names = (at[0], at[1]);
        let (domain, entry) = self.find_bucket(names)?;
        let kind = &entry.record.settings.kind;
        if !of.serves(Of::kind(kind)) {
            return Err(match entry.is_seen_by(domain, &self.principal) {
                true => Problem::not_found("buckets of this type have no such path")
                    .with("bucketType", kind.name()),
                false => refuse(&self.principal),
            });
        }
        let access = match is_read(&self.parts.method) || self.parts.method == Method::OPTIONS {
            true => Access::Read,
            false => Access::Write,
        };
        let allowed = match about {
            About::Path(path) => entry.allows(domain, &self.principal, access, path),
            // A revision is its item's: nobody takes its name for a longer key.
            About::Item => entry.allows(domain, &self.principal, access, &["/", at[2]].concat()),
            About::Body => entry.allows_somewhere(domain, &self.principal, access),
            About::Filled(template) => {
                let filled = at[2..]
                    .iter()
                    .fold(template.to_owned(), |path, value| path.replacen("{}", value, 1));
                entry.allows(domain, &self.principal, access, &filled)
            }
            About::Chain(path) => [Access::Read, Access::Write]
                .into_iter()
                .any(|access| entry.allows(domain, &self.principal, access, path)),
        };
        if !allowed {
            return Err(refuse(&self.principal));
        }
        if let About::Item = about {
            check_item(at[2])?;
        }
        let open = self.app.catalog.open_bucket(names.0, entry).await?;
        let caller = Caller {
            user: self.principal.user.clone(),
            authorisations: self.authorisations.clone(),
        };
        Ok(InBucket { call: self, names, entry, open, caller })
    }
}

/// Looks again whether a stream may go on: its caller's rights may have ended since it began.
pub(super) struct Watch {
    app: Arc<App>,
    parts: Parts,
    names: (String, String),
    access: Access,
    path: String,
}

impl Watch {
    /// Answers which items the caller may still read.
    ///
    /// # Errors
    /// `Forbidden` once it may not.
    pub(super) async fn look(&self) -> keyaki::Result<Readable> {
        let names = (&self.names.0[..], &self.names.1[..]);
        look_again(&self.app, &self.parts, names, (self.access, &self.path)).await
    }
}

/// Whether a caller whose rights were found before still has them, and which items it may read.
async fn look_again(
    app: &Arc<App>,
    parts: &Parts,
    names: (&str, &str),
    (access, path): (Access, &str),
) -> keyaki::Result<Readable> {
    let ended = || keyaki::Error::forbidden("the caller's rights have ended");
    let call = app.call(parts).await.map_err(|_| ended())?;
    let (domain, entry) = call.find_bucket(names).map_err(|_| ended())?;
    match entry.allows(domain, &call.principal, access, path) {
        true => Ok(call.readable(names)),
        false => Err(ended()),
    }
}

/// What a caller may read: whoever may see a listing or a feed is shown nothing else there.
pub(super) struct Readable {
    items: ReadableItems,
    /// Whose jobs, if not everybody's.
    jobs_of: Option<Option<String>>,
}

enum ReadableItems {
    All,
    Some { snapshot: Arc<Snapshot>, principal: Principal, names: (String, String) },
}

impl Readable {
    pub(super) fn has(&self, key: &str) -> bool {
        let ReadableItems::Some { snapshot, principal, names } = &self.items else { return true };
        let Some(domain) = snapshot.domains.get(&names.0) else { return false };
        let Some(entry) = domain.buckets.get(&names.1) else { return false };
        entry.allows(domain, principal, Access::Read, &format!("/{key}"))
    }

    pub(super) fn has_change(&self, change: &Change) -> bool {
        let is_hidden_job = change.action == JOB_BEGUN
            && self.jobs_of.as_ref().is_some_and(|user| *user != change.user);
        !is_hidden_job && self.has(&change.item)
    }
}

impl Call<'_> {
    fn readable(&self, names: (&str, &str)) -> Readable {
        let found = self.find_bucket(names);
        let is_all = found.as_ref().is_ok_and(|(domain, entry)| {
            let has_items = Of::kind(&entry.record.settings.kind) == Of::Revisions;
            !has_items || entry.allows_everywhere(domain, &self.principal, Access::Read)
        });
        let items = match is_all {
            true => ReadableItems::All,
            false => ReadableItems::Some {
                snapshot: self.snapshot.clone(),
                principal: self.principal.clone(),
                names: (names.0.to_owned(), names.1.to_owned()),
            },
        };
        let owned = found.is_ok_and(|(domain, entry)| entry.is_owned_by(domain, &self.principal));
        Readable { items, jobs_of: (!owned).then(|| self.principal.user.clone()) }
    }
}

/// Refuses what no item can be called.
pub(super) fn check_item(key: &str) -> Result<(), Problem> {
    check_key(key)?;
    if key == "." || key == ".." {
        return Err(Problem::bad_request("no path leads to such a key").with("key", key));
    }
    match key.starts_with('_') {
        true => {
            Err(Problem::bad_request("names that begin with `_` are Keyaki's own").with("key", key))
        }
        false => Ok(()),
    }
}

impl InBucket<'_> {
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.call.parts.headers
    }

    /// Refuses whoever has not this right to a path.
    pub(super) fn demand(&self, access: Access, path: &str) -> Result<(), Problem> {
        let (domain, entry) = self.call.find_bucket(self.names)?;
        match entry.allows(domain, &self.call.principal, access, path) {
            true => Ok(()),
            false => Err(refuse(&self.call.principal)),
        }
    }

    /// Uses up the signatures of a change that the caller could not make without them: what they open they open once.
    pub(super) async fn spend_signatures(&self, rights: &[(Access, &str)]) -> Result<(), Problem> {
        let call = self.call;
        if call.signed.is_empty() {
            return Ok(());
        }
        let (domain, entry) = call.find_bucket(self.names)?;
        let alone = Principal { services: Vec::new(), ..call.principal.clone() };
        if rights.iter().all(|(access, path)| entry.allows(domain, &alone, *access, path)) {
            return Ok(());
        }
        let digests = call.signed.iter().map(|signed| signed.digest).collect();
        match call.app.catalog.spend(&digests).await? {
            true => Ok(()),
            false => Err(unauthenticated("a signature was used before; sign anew, with a nonce")),
        }
    }

    /// Looks again at rights to a path: they may end while a body is on its way.
    pub(super) async fn look_again(&self, access: Access, path: &str) -> keyaki::Result<()> {
        look_again(self.call.app, self.call.parts, self.names, (access, path)).await.map(drop)
    }

    /// The items that the caller may read.
    pub(super) fn readable(&self) -> Readable {
        self.call.readable(self.names)
    }

    /// Looks again and again at rights to a path, as long as a stream lasts.
    pub(super) fn watch(&self, access: Access, path: &str) -> Watch {
        let (domain, bucket) = self.names;
        Watch {
            app: self.call.app.clone(),
            parts: self.call.parts.clone(),
            names: (domain.to_owned(), bucket.to_owned()),
            access,
            path: path.to_owned(),
        }
    }
}
