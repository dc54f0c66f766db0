//! Signatures that were used. What the signature of a service opens to a change, it opens once: whoever overhears a
//! request can't have it done again, at this server or at another.
//!
//! A signature is known by a digest of what was signed. It counts for five minutes, and lies here for ten; by its first
//! byte in one of 256 partitions, so that changes seldom wait for each other.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Catalog;
use crate::cell::Value;
use crate::engine::{BucketId, Expect, RuleSpec, SpaceSpec, Write};
use crate::error::Result;
use crate::store::Committed;

const LABEL: &str = "signatures";
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Where they lie: in a space of the catalog's bucket.
pub(super) fn space() -> SpaceSpec {
    let age = RuleSpec::new("age", KEPT_FOR.as_micros().to_string());
    SpaceSpec::home(BucketId(0), LABEL).keeping(age)
}

impl Catalog {
    /// Uses signatures up. Answers whether none of them was used before.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn spend(&self, signatures: &BTreeSet<[u8; 32]>) -> Result<bool> {
        let bucket = &self.inner.bucket;
        let space = bucket.space(LABEL)?;
        for signature in signatures {
            let committed = bucket
                .commit(&signature[..1], |draft| {
                    let used = Write::Put(Value::open(b""));
                    draft.home(space, signature, Expect::Absent, used);
                    Ok(())
                })
                .await?;
            if let Committed::Refused(_) = committed {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
