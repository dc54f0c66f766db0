//! Commits of one process on one home partition go one after the other: they would only make each other's
//! lightweight transactions fail. Between processes, the transactions decide.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::commit::Home;
use crate::error::{Error, Result};

const LANES: usize = 4096;

/// Whose turn it is; partitions that share a lane wait for each other for nothing.
pub struct Turns {
    hasher: RandomState,
    lanes: Vec<Arc<Semaphore>>,
}

impl Default for Turns {
    fn default() -> Self {
        let lanes = (0..LANES).map(|_| Arc::new(Semaphore::new(1))).collect();
        Self { hasher: RandomState::new(), lanes }
    }
}

impl Turns {
    /// Waits until it is this partition's turn; it ends when the answer is dropped.
    pub async fn take(&self, home: &Home) -> Result<OwnedSemaphorePermit> {
        let hash = self.hasher.hash_one((home.bucket, &home.partition));
        let lane = self.lanes[hash as usize % LANES].clone();
        lane.acquire_owned().await.map_err(|_| Error::internal("turns have ended"))
    }
}
