//! Tokens and services' keys. A token is known by its digest; the token itself is shown once and never kept.

use super::record::{ServiceRecord, TokenRecord};
use super::snapshot::{Place, Snapshot};
use super::{Catalog, Changed, Edits, HONOURED_FOR, Principal};
use crate::bucket::Demands;
use crate::cell::Tid;
use crate::cell::visibility::Authorisations;
use crate::error::{Error, Result};

const TERMS_MAX: usize = 256;
const TERM_BYTES_MAX: usize = 256;

/// What a token is to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Who it speaks for.
    pub user: String,
    /// With which roles.
    pub roles: Vec<String>,
    /// And authorisations.
    pub auths: Vec<String>,
    /// Until when, in seconds since the epoch.
    pub expires: Option<u64>,
}

/// By what a token is known.
#[must_use]
pub fn digest_of(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

impl NewToken {
    fn record(&self, digest: &str) -> TokenRecord {
        TokenRecord {
            user: self.user.clone(),
            roles: self.roles.clone(),
            auths: self.auths.clone(),
            expires: self.expires,
            digest: digest.to_owned(),
            chosen: false,
        }
    }

    fn check(&self) -> Result<()> {
        let bad = |text: &String| {
            text.is_empty() || text.len() > TERM_BYTES_MAX || text.chars().any(char::is_control)
        };
        if bad(&self.user) {
            return Err(Error::invalid(
                "a user's name has 1 to 256 bytes and no control characters",
            )
            .with("at", "/user"));
        }
        for (at, list) in [("/roles", &self.roles), ("/auths", &self.auths)] {
            if list.len() > TERMS_MAX || list.iter().any(bad) {
                return Err(Error::invalid(
                    "at most 256 names, each of 1 to 256 bytes without control characters",
                )
                .with("at", at));
            }
        }
        let terms = self.auths.iter().map(String::as_str);
        Authorisations::new(terms)
            .map(drop)
            .map_err(|bad| Error::invalid("not authorisations").with("at", "/auths").because(bad))
    }
}

impl Catalog {
    /// Has a token of this digest be honoured from now on. Answers its id.
    ///
    /// # Errors
    /// `Invalid` if a name is not as it must be; those of the engine.
    pub async fn add_token(&self, by: &Principal, token: &NewToken, digest: &str) -> Result<Tid> {
        token.check()?;
        let changed = self
            .inner
            .change("add-token", &token.user, by, |_: &Snapshot, edits: &mut Edits| {
                edits.put(&Place::Token(edits.tid()), &token.record(digest));
                Ok(Changed::Done(edits.tid()))
            })
            .await?;
        match changed {
            Changed::Done(tid) => Ok(tid),
            Changed::Unmet | Changed::Absent => Err(Error::internal("a token demands nothing")),
        }
    }

    /// Has the token of this digest, which whoever starts servers chose, be honoured in the place of those that they chose
    /// before. When this answers, nobody honours those any more.
    ///
    /// # Errors
    /// `Conflict` if somebody else has that token; those of the engine.
    pub async fn choose_token(&self, token: &NewToken, digest: &str) -> Result<()> {
        token.check()?;
        let chosen = TokenRecord { chosen: true, ..token.record(digest) };
        let by = Principal::default();
        let changed = self
            .inner
            .change("choose-token", &token.user, &by, |snapshot: &Snapshot, edits: &mut Edits| {
                let mut there = None;
                for known in snapshot.tokens.values() {
                    match &known.record {
                        record if record.digest == digest => there = Some(known),
                        record if record.chosen => edits.remove(&Place::Token(known.id)),
                        _ => {}
                    }
                }
                let given = |record: &TokenRecord| TokenRecord { chosen: true, ..record.clone() };
                match there {
                    Some(known) if given(&known.record) != chosen => {
                        return Err(Error::conflict("somebody else has that token"));
                    }
                    Some(known) if known.record.chosen && edits.is_empty() => {
                        return Ok(Changed::Absent);
                    }
                    Some(known) => edits.put(&Place::Token(known.id), &chosen),
                    None => edits.put(&Place::Token(edits.tid()), &chosen),
                }
                Ok(Changed::Done(()))
            })
            .await?;
        if changed == Changed::Done(()) {
            self.wait_for_all().await;
        }
        Ok(())
    }

    /// Revokes a token. When this answers, nobody honours it any more; it answers the commit.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn revoke_token(&self, by: &Principal, id: Tid) -> Result<Changed<Tid>> {
        let name = id.to_string();
        let changed = self
            .inner
            .change("revoke-token", &name, by, |snapshot: &Snapshot, edits: &mut Edits| {
                if !snapshot.tokens.contains_key(&id) {
                    return Ok(Changed::Absent);
                }
                edits.remove(&Place::Token(id));
                Ok(Changed::Done(edits.tid()))
            })
            .await?;
        self.wait_for_all().await;
        Ok(changed)
    }

    /// Registers a service's key, or describes it anew.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn put_service(
        &self,
        by: &Principal,
        fingerprint: &str,
        description: &str,
        public_key: &str,
        demands: &Demands,
    ) -> Result<Changed<(bool, Tid)>> {
        self.inner
            .change("put-service", fingerprint, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let there = snapshot.services.get(fingerprint);
                if !demands.hold(there.and_then(|service| service.tid.parse().ok())) {
                    return Ok(Changed::Unmet);
                }
                let record = ServiceRecord {
                    tid: edits.tid().to_string(),
                    description: description.to_owned(),
                    public_key: public_key.to_owned(),
                };
                edits.put(&Place::Service(fingerprint.to_owned()), &record);
                Ok(Changed::Done((there.is_none(), edits.tid())))
            })
            .await
    }

    /// Forgets a service's key. When this answers, nobody honours it any more; it answers the commit.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn revoke_service(
        &self,
        by: &Principal,
        fingerprint: &str,
        demands: &Demands,
    ) -> Result<Changed<Tid>> {
        let changed = self
            .inner
            .change("revoke-service", fingerprint, by, |snapshot: &Snapshot, edits: &mut Edits| {
                let there = snapshot.services.get(fingerprint);
                let Some(service) = there else { return Ok(Changed::Absent) };
                if !demands.hold(service.tid.parse().ok()) {
                    return Ok(Changed::Unmet);
                }
                edits.remove(&Place::Service(fingerprint.to_owned()));
                Ok(Changed::Done(edits.tid()))
            })
            .await?;
        self.wait_for_all().await;
        Ok(changed)
    }

    /// Waits until no server can still honour the catalog as it was.
    pub(super) async fn wait_for_all(&self) {
        if self.inner.backends.is_default_shared() {
            tokio::time::sleep(HONOURED_FOR).await;
        }
    }
}
