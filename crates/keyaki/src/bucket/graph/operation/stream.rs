//! Streams made of other streams, batch by batch, so that nothing is read before it is wanted.

use std::collections::VecDeque;

use async_trait::async_trait;

use super::budget::Budget;
use super::source::{Batches, Elements, Values};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::value::Value;
use crate::error::Result;

/// What becomes of each batch.
pub(super) trait Stage<A, B>: Send {
    /// What a batch becomes; it may be nothing.
    fn batch(&mut self, batch: Vec<A>) -> Result<Vec<B>>;

    /// What a batch becomes that is known to be the last, and what is left then.
    fn last_batch(&mut self, batch: Vec<A>) -> Result<Vec<B>> {
        let mut made = self.batch(batch)?;
        made.extend(self.finish()?);
        Ok(made)
    }

    /// What is left when there is no more.
    fn finish(&mut self) -> Result<Vec<B>> {
        Ok(Vec::new())
    }

    /// Whether more would change nothing.
    fn is_done(&self) -> bool {
        false
    }
}

/// A stage from a function on each batch.
pub(super) struct Each<F>(pub F);

impl<A, B, F: FnMut(Vec<A>) -> Result<Vec<B>> + Send> Stage<A, B> for Each<F> {
    fn batch(&mut self, batch: Vec<A>) -> Result<Vec<B>> {
        (self.0)(batch)
    }
}

struct Through<A, B, S> {
    inner: Option<Box<dyn Batches<A>>>,
    stage: S,
    made: std::marker::PhantomData<fn() -> B>,
}

#[async_trait]
impl<A: Send, B: Send, S: Stage<A, B>> Batches<B> for Through<A, B, S> {
    async fn next(&mut self) -> Result<Option<Vec<B>>> {
        while let Some(inner) = &mut self.inner {
            let made = match inner.next().await? {
                Some(batch) if inner.is_over() => {
                    self.inner = None;
                    self.stage.last_batch(batch)?
                }
                Some(batch) => {
                    let made = self.stage.batch(batch)?;
                    if self.stage.is_done() {
                        self.inner = None;
                    }
                    made
                }
                None => {
                    self.inner = None;
                    self.stage.finish()?
                }
            };
            if !made.is_empty() {
                return Ok(Some(made));
            }
        }
        Ok(None)
    }

    fn is_over(&self) -> bool {
        self.inner.is_none()
    }
}

/// Puts a stage over a stream.
pub(super) fn through<A: Send + 'static, B: Send + 'static>(
    inner: Box<dyn Batches<A>>,
    stage: impl Stage<A, B> + 'static,
) -> Box<dyn Batches<B>> {
    Box::new(Through { inner: Some(inner), stage, made: std::marker::PhantomData })
}

/// Elements as values.
pub(super) fn as_values(elements: Elements) -> Values {
    let wrap = |batch: Vec<Element>| {
        Ok(batch.into_iter().map(|element| Value::Element(Box::new(element))).collect())
    };
    through(elements, Each(wrap))
}

/// What is there already.
pub(super) struct Ready<T>(pub VecDeque<Vec<T>>);

impl<T> Ready<T> {
    pub(super) fn new(items: Vec<T>) -> Self {
        Self(if items.is_empty() { VecDeque::new() } else { VecDeque::from([items]) })
    }
}

#[async_trait]
impl<T: Send> Batches<T> for Ready<T> {
    async fn next(&mut self) -> Result<Option<Vec<T>>> {
        Ok(self.0.pop_front())
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// One stream after the other.
pub(super) struct Chained<T>(pub VecDeque<Box<dyn Batches<T>>>);

#[async_trait]
impl<T: Send> Batches<T> for Chained<T> {
    async fn next(&mut self) -> Result<Option<Vec<T>>> {
        while let Some(first) = self.0.front_mut() {
            if let Some(batch) = first.next().await? {
                return Ok(Some(batch));
            }
            self.0.pop_front();
        }
        Ok(None)
    }
}

/// Reads a stream to its end.
pub(super) async fn collect<T>(mut stream: Box<dyn Batches<T>>, budget: &Budget) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while let Some(batch) = stream.next().await? {
        match all.is_empty() {
            true => all = batch,
            false => all.extend(batch),
        }
        budget.holding(all.len() as u64)?;
    }
    Ok(all)
}
