//! Purging what was deleted, and what was never born. A bucket leaves a grave in the commit that deletes it, and the
//! grave goes when its cells are gone. Before a bucket's spaces are made its birth is written down, and the commit that
//! lists the bucket ends it; so a birth that has not ended is of a bucket that nobody has seen, and is buried in time.
//! Whoever dies in between leaves the rest to the next.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::record::{Birth, Grave};
use super::snapshot::{Place, Snapshot};
use super::{Changed, Edits, Inner, Principal};
use crate::cell::Tid;
use crate::engine::BucketId;
use crate::error::{Error, Result};

const ROUNDS_APART: Duration = Duration::from_millis(500);
/// By then whoever was making a bucket has died, or finds that it may not list it any more.
const BORN_WITHIN: Duration = Duration::from_secs(600);

pub(super) async fn purge_regularly(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(ROUNDS_APART).await;
        let Some(inner) = inner.upgrade() else { return };
        if let Err(error) = purge(&inner).await {
            tracing::warn!(%error, "deleted buckets can't be purged yet");
        }
    }
}

/// Writes down that a bucket is about to be made.
pub(super) async fn announce(inner: &Inner, by: &Principal, place: &Grave) -> Result<()> {
    let id = place.id.to_string();
    let announced = inner.change("make-bucket", &id, by, |_: &Snapshot, edits: &mut Edits| {
        let birth = Birth { tid: edits.tid().to_string(), place: place.clone() };
        edits.put(&Place::Birth(place.name()), &birth);
        Ok(Changed::Done(()))
    });
    announced.await.map(drop)
}

/// Part of the commit that lists a bucket.
pub(super) fn end_birth(snapshot: &Snapshot, edits: &mut Edits, place: &Grave) -> Result<()> {
    let birth = Place::Birth(place.name());
    if !snapshot.cells.contains_key(&birth.sort()) {
        return Err(Error::conflict("the bucket took too long to be made"));
    }
    edits.remove(&birth);
    Ok(())
}

/// Removes what was made of a bucket that is not to be.
pub(super) async fn undo(inner: &Inner, place: &Grave) -> Result<()> {
    let store = inner.backends.store(&place.backend, &place.replication).await?;
    store.drop_bucket(BucketId(place.id)).await?;
    remove(inner, &Place::Birth(place.name()).sort()).await
}

/// Removes what a process has left that was killed, from stores that are ours alone: nobody else is making anything
/// there, and nothing has been made yet that could get the id of something that was given up.
pub(super) async fn undo_abandoned(inner: &Inner) -> Result<()> {
    let snapshot = inner.snapshot().await?;
    for birth in &snapshot.births {
        if inner.backends.is_known(&birth.place.backend)
            && !inner.backends.is_shared(&birth.place.backend)
        {
            undo(inner, &birth.place).await?;
        }
    }
    Ok(())
}

/// Makes graves of births that have not ended in time.
async fn bury_unborn(inner: &Inner, snapshot: &Snapshot) -> Result<()> {
    let now = inner.bucket.store().engine().clock().now();
    for birth in &snapshot.births {
        let begun = birth.tid.parse::<Tid>().map(|tid| tid.time());
        let late = begun.is_ok_and(|begun| begun.saturating_add(BORN_WITHIN) < now);
        if !late || !inner.backends.is_shared(&birth.place.backend) {
            continue;
        }
        let (place, keeper) = (&birth.place, Principal::default());
        let id = place.id.to_string();
        let buried = inner.change("bury", &id, &keeper, |now: &Snapshot, edits: &mut Edits| {
            if !now.births.contains(birth) {
                return Ok(Changed::Absent);
            }
            edits.remove(&Place::Birth(place.name()));
            edits.put(&Place::Grave(place.name()), place);
            Ok(Changed::Done(()))
        });
        buried.await?;
    }
    Ok(())
}

async fn purge(inner: &Arc<Inner>) -> Result<()> {
    let snapshot = inner.snapshot().await?;
    bury_unborn(inner, &snapshot).await?;
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
    inner.unschedule(grave).await?;
    inner.open.forget(&(grave.backend.clone(), grave.replication.clone(), grave.id));
    remove(inner, sort).await
}

async fn remove(inner: &Inner, sort: &[u8]) -> Result<()> {
    let keeper = Principal::default();
    inner
        .change("purge", "", &keeper, |now: &Snapshot, edits: &mut Edits| {
            if !now.cells.contains_key(sort) {
                return Ok(Changed::Absent);
            }
            edits.writes.push((sort.to_vec(), None));
            Ok(Changed::Done(()))
        })
        .await
        .map(drop)
}
