//! What was begun is finished, whether or not somebody waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that runs where it is awaited. Whoever gives up waiting leaves the rest of it to a task of its own.
pub struct ToTheEnd<F>(Option<Pin<Box<F>>>)
where
    F: Future<Output: Send + 'static> + Send + 'static;

impl<F> ToTheEnd<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    pub fn new(future: Pin<Box<F>>) -> Self {
        Self(Some(future))
    }
}

impl<F> Future for ToTheEnd<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F> Drop for ToTheEnd<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn drop(&mut self) {
        // Where there is no runtime any more, the server has ended.
        if let (Some(rest), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::{Notify, oneshot};

    use super::*;

    #[tokio::test]
    async fn it_goes_on_though_nobody_waits_and_not_twice() {
        let go = std::sync::Arc::new(Notify::new());
        let (done, is_done) = oneshot::channel();
        let (may_go, mut steps) = (go.clone(), 0);
        let mut begun = ToTheEnd::new(Box::pin(async move {
            steps += 1;
            may_go.notified().await;
            steps += 1;
            done.send(steps).unwrap();
        }));
        let waited = tokio::time::timeout(Duration::from_millis(1), &mut begun).await;
        assert!(waited.is_err());
        drop(begun);
        go.notify_one();
        assert_eq!(is_done.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn it_gives_what_the_future_gives() {
        assert_eq!(ToTheEnd::new(Box::pin(async { 7 })).await, 7);
    }
}
