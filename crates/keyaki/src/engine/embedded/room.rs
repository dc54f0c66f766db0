//! How much may wait for the writer: whoever brings more waits with it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::closed;
use crate::error::Result;
use crate::settings::EmbeddedSettings;

/// Bytes that one permit of the queue stands for.
const UNIT_BYTES: usize = 1 << 10;

/// The room there is.
pub struct Room {
    queue: Arc<Semaphore>,
    queue_units: u32,
    bulk: Arc<Semaphore>,
}

impl Room {
    /// As much as the settings say.
    pub fn new(settings: &EmbeddedSettings) -> Self {
        let units = (settings.queue_bytes_max / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        let queue_units = u32::try_from(units).unwrap_or(u32::MAX);
        Self {
            queue: Arc::new(Semaphore::new(queue_units as usize)),
            queue_units,
            bulk: Arc::new(Semaphore::new(settings.bulk_commits_max.max(1))),
        }
    }

    /// Room for a commit in the writer's queue, given back when it is dropped. One that is larger
    /// than all the room there is takes all of it.
    pub async fn queue(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes / UNIT_BYTES + 1).unwrap_or(u32::MAX);
        let room = self.queue.clone().acquire_many_owned(units.min(self.queue_units));
        room.await.map_err(|_| closed())
    }

    /// Room for a bulk commit, from its files to its end.
    pub async fn bulk(&self) -> Result<OwnedSemaphorePermit> {
        self.bulk.clone().acquire_owned().await.map_err(|_| closed())
    }
}
