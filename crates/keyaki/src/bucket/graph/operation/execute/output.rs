//! What an operation gives to the next one, or to the caller.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use super::super::source::{Batches, Elements, Values};
use super::super::{Budget, stream};
use super::{Each, Ready, as_values, collect, through};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::koryphe::wrong_class;
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

/// The output of an operation.
pub enum Output {
    /// Nothing.
    Nothing,
    /// One value.
    Value(Value),
    /// Something that is no value of ours.
    Json(Json),
    /// A stream of elements.
    Elements(Elements),
    /// A stream of values.
    Values(Values),
}

impl Output {
    /// A value; what is in a list streams.
    pub(super) fn of(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::List(list) => Self::Values(Box::new(Ready::new(list.items))),
            other => Self::Value(other),
        }
    }

    /// Refuses to go on without input.
    pub(super) fn needed(self) -> Result<Self> {
        match self {
            Self::Nothing => Err(Error::invalid("Input cannot be null")),
            other => Ok(other),
        }
    }

    /// As a stream of values; one value alone is none.
    pub(super) fn into_values(self) -> Result<Values> {
        Ok(match self {
            Self::Json(Json::Array(items)) => {
                let items = items.iter().map(Value::from_plain_json).collect::<Result<_>>()?;
                Box::new(Ready::new(items))
            }
            Self::Nothing | Self::Json(_) => Box::new(Ready::new(Vec::new())),
            Self::Value(Value::List(list)) => Box::new(Ready::new(list.items)),
            Self::Value(Value::Set(set)) => Box::new(Ready::new(set.into_items())),
            Self::Value(value) => return Err(wrong_class("input", &value)),
            Self::Elements(elements) => as_values(elements),
            Self::Values(values) => values,
        })
    }

    /// As a stream that is only counted.
    pub(super) fn into_counted(self) -> Result<Box<dyn Batches<()>>> {
        Ok(match self {
            Self::Elements(elements) => {
                through(elements, Each(|batch: Vec<_>| Ok(vec![(); batch.len()])))
            }
            other => through(other.into_values()?, Each(|batch: Vec<_>| Ok(vec![(); batch.len()]))),
        })
    }

    /// Each batch of the stream through a function; nothing stays nothing.
    pub(super) fn mapped(
        self,
        function: impl FnMut(Vec<Value>) -> Result<Vec<Value>> + Send + 'static,
    ) -> Result<Self> {
        Ok(match self {
            Self::Nothing => Self::Nothing,
            other => Self::Values(through(other.into_values()?, Each(function))),
        })
    }

    /// As a stream of elements.
    pub(super) fn into_elements(self) -> Result<Elements> {
        let unwrap = |value| match value {
            Value::Element(element) => Ok(*element),
            other => Err(Error::invalid("elements are wanted").with("value", other)),
        };
        match self {
            Self::Nothing => Err(Error::invalid("the operation has null iterable of elements")),
            Self::Elements(elements) => Ok(elements),
            other => {
                let unwrap = move |batch: Vec<Value>| {
                    batch.into_iter().map(unwrap).collect::<Result<Vec<Element>>>()
                };
                Ok(through(other.into_values()?, Each(unwrap)))
            }
        }
    }

    /// As one value, a list if it was a stream.
    pub(super) async fn into_value(self, budget: &Budget) -> Result<Value> {
        Ok(match self {
            Self::Nothing => Value::Null,
            Self::Json(json) => Value::from_plain_json(&json)?,
            Self::Value(value) => value,
            other => Value::list(collect(other.into_values()?, budget).await?),
        })
    }

    /// Counts what goes to the caller.
    pub(super) fn counted(self, budget: Arc<Budget>) -> Self {
        match self {
            Self::Elements(elements) => {
                Self::Elements(Box::new(Counted { inner: elements, budget }))
            }
            Self::Values(values) => Self::Values(Box::new(Counted { inner: values, budget })),
            other => other,
        }
    }

    /// Appends the next piece of the answer's JSON; false once there is no more.
    ///
    /// A stream is an array, which `started` tells apart from its first piece.
    ///
    /// # Errors
    /// Whatever ends the stream.
    pub async fn write_json(&mut self, started: &mut bool, out: &mut Vec<u8>) -> Result<bool> {
        let before = out.len();
        let more = match self {
            Self::Nothing => false,
            Self::Value(value) => {
                value.write_plain(out);
                false
            }
            Self::Json(json) => {
                out.extend_from_slice(json.to_string().as_bytes());
                false
            }
            Self::Elements(elements) => {
                write_batch(elements.next().await?, started, Element::write_json, out)
            }
            Self::Values(values) => {
                write_batch(values.next().await?, started, Value::write_plain, out)
            }
        };
        if !more {
            *self = Self::Nothing;
        }
        Ok(more || out.len() > before)
    }
}

fn write_batch<T>(
    batch: Option<Vec<T>>,
    started: &mut bool,
    write: impl Fn(&T, &mut Vec<u8>),
    out: &mut Vec<u8>,
) -> bool {
    let is_more = batch.is_some();
    if !*started {
        out.push(b'[');
    }
    for item in batch.iter().flatten() {
        if std::mem::replace(started, true) {
            out.push(b',');
        }
        write(item, out);
    }
    if !is_more {
        out.push(b']');
    }
    is_more
}

struct Counted<T> {
    inner: Box<dyn Batches<T>>,
    budget: Arc<Budget>,
}

#[async_trait]
impl<T: Send> Batches<T> for Counted<T> {
    async fn next(&mut self) -> Result<Option<Vec<T>>> {
        let batch = self.inner.next().await?;
        self.budget.results(batch.as_ref().map_or(0, Vec::len) as u64)?;
        Ok(batch)
    }

    fn is_over(&self) -> bool {
        self.inner.is_over()
    }
}

/// Streams one after the other.
pub(super) fn chained(mut streams: Vec<Elements>) -> Output {
    if streams.len() == 1
        && let Some(only) = streams.pop()
    {
        return Output::Elements(only);
    }
    Output::Elements(Box::new(stream::Chained(streams.into())))
}
