//! Purging what was deleted: a bucket leaves a grave in the commit that deletes it, and the grave goes when its cells
//! are gone. Whoever dies in between leaves the grave to the next.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::record::Grave;
use super::snapshot::Snapshot;
use super::{Changed, Edits, Inner, Principal};
use crate::engine::BucketId;
use crate::error::Result;

const ROUNDS_APART: Duration = Duration::from_millis(500);

pub(super) async fn purge_regularly(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(ROUNDS_APART).await;
        let Some(inner) = inner.upgrade() else { return };
        if let Err(error) = purge(&inner).await {
            tracing::warn!(%error, "deleted buckets can't be purged yet");
        }
    }
}

async fn purge(inner: &Arc<Inner>) -> Result<()> {
    let snapshot = inner.snapshot().await?;
    for (sort, grave) in &snapshot.graves {
        if let Err(error) = purge_one(inner, sort, grave).await {
            tracing::warn!(%error, backend = grave.backend, "a deleted bucket can't be purged yet");
        }
    }
    Ok(())
}

async fn purge_one(inner: &Inner, sort: &[u8], grave: &Grave) -> Result<()> {
    let store = inner.backends.store(&grave.backend, &grave.replication).await?;
    store.drop_bucket(BucketId(grave.id)).await?;
    inner.open.forget(&(grave.backend.clone(), grave.replication.clone(), grave.id));
    let keeper = Principal::default();
    inner
        .change("purge", &grave.id.to_string(), &keeper, |now: &Snapshot, edits: &mut Edits| {
            if !now.cells.contains_key(sort) {
                return Ok(Changed::Absent);
            }
            edits.writes.push((sort.to_vec(), None));
            Ok(Changed::Done(()))
        })
        .await
        .map(drop)
}
