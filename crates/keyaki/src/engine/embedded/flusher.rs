//! Durability `interval`: a thread that syncs the log every so often.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::writer::Shared;
use crate::error::{Error, Result};

/// The thread; dropping it syncs once more and ends it.
pub struct Flusher {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts syncing.
    ///
    /// # Errors
    /// `Unavailable` if there is no thread to be had.
    pub fn start(shared: Arc<Shared>, every: Duration) -> Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("keyaki-flusher".to_owned())
            .spawn(move || {
                loop {
                    let last = stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                    {
                        let _alone =
                            shared.ingesting.lock().unwrap_or_else(PoisonError::into_inner);
                        if let Err(error) = shared.db.flush_wal(true) {
                            shared.write_failed(error);
                        }
                    }
                    if last || shared.stopped.get().is_some() {
                        return;
                    }
                }
            })
            .map_err(|e| Error::unavailable("flusher thread can't start").because(e))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Nothing to be done about a flusher that panicked; the log has what it has.
            let _ = thread.join();
        }
    }
}
