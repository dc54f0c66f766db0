//! Runs elements through a view. They come in the order of their keys, so those that query-time aggregation
//! makes one follow each other, and only one element is held back.

use std::sync::Arc;

use super::{ShownGroup, Transform, View};
use crate::bucket::graph::element::{Element, Ends};
use crate::bucket::graph::select::all_hold;
use crate::bucket::graph::value::Value;
use crate::error::Result;

/// A view at work.
pub struct Pipeline {
    view: Arc<View>,
    now_ms: i64,
    /// What the next element may yet be folded into.
    open: Option<Element>,
}

impl Pipeline {
    /// Starts with nothing.
    #[must_use]
    pub fn new(view: Arc<View>, now_ms: i64) -> Self {
        Self { view, now_ms, open: None }
    }

    /// Takes an element; what is finished by that goes to `out`.
    ///
    /// # Errors
    /// Those of the view's functions.
    pub fn push(&mut self, mut element: Element, out: &mut Vec<Element>) -> Result<()> {
        let Self { view, now_ms, open } = self;
        let Some(shown) = view.group(element.shape.number) else { return Ok(()) };
        if !shown.pre.is_empty() && !all_hold(&shown.pre, &element, *now_ms)? {
            return Ok(());
        }
        if shown.operators.is_empty() {
            emit(view, open.take(), *now_ms, out)?;
            return shown.emit(element, *now_ms, out);
        }
        if let Some(open) = open
            && shown.same(open, &element)
        {
            return shown.fold(open, &mut element);
        }
        emit(view, open.replace(element), *now_ms, out)
    }

    /// Gives out what is held back, when nothing more comes or what comes is of another key.
    ///
    /// # Errors
    /// Those of the view's functions.
    pub fn finish(&mut self, out: &mut Vec<Element>) -> Result<()> {
        emit(&self.view, self.open.take(), self.now_ms, out)
    }
}

fn emit(view: &View, open: Option<Element>, now_ms: i64, out: &mut Vec<Element>) -> Result<()> {
    match open.map(|open| (view.group(open.shape.number), open)) {
        Some((Some(shown), open)) => shown.emit(open, now_ms, out),
        _ => Ok(()),
    }
}

impl ShownGroup {
    /// Whether two elements are one at query time; all that the key has before the group-by values is equal.
    fn same(&self, one: &Element, other: &Element) -> bool {
        let ends = || match (&one.ends, &other.ends) {
            (
                Ends::Edge { source: a, destination: b, directed: c, matched: d },
                Ends::Edge { source: w, destination: x, directed: y, matched: z },
            ) => c == y && d == z && a == w && b == x,
            (Ends::Vertex(one), Ends::Vertex(other)) => one == other,
            _ => false,
        };
        let kept = &self.group.group_by()[..self.group_by];
        one.shape.number == other.shape.number
            && ends()
            && kept.iter().all(|slot| one.properties[*slot] == other.properties[*slot])
    }

    fn fold(&self, open: &mut Element, element: &mut Element) -> Result<()> {
        for (slot, operator) in &self.operators {
            let input = std::mem::take(&mut element.properties[*slot]);
            operator.apply(&mut open.properties[*slot], input)?;
        }
        Ok(())
    }

    fn emit(&self, mut element: Element, now_ms: i64, out: &mut Vec<Element>) -> Result<()> {
        if !self.post.is_empty() && !all_hold(&self.post, &element, now_ms)? {
            return Ok(());
        }
        if !self.transforms.is_empty() || self.shape.names.len() > element.properties.len() {
            element.properties.resize(self.shape.names.len(), Value::Null);
            element.shape = Arc::clone(&self.shape);
            for transform in &self.transforms {
                transform.apply(&mut element, now_ms)?;
            }
        }
        if !self.post_transform.is_empty() && !all_hold(&self.post_transform, &element, now_ms)? {
            return Ok(());
        }
        for slot in &self.dropped {
            element.properties[*slot] = Value::Null;
        }
        out.push(element);
        Ok(())
    }
}

impl Transform {
    /// Changes an element.
    ///
    /// # Errors
    /// Those of the function, or if the output can't be put where it should go.
    pub fn apply(&self, element: &mut Element, now_ms: i64) -> Result<()> {
        let input = self.selection.iter().map(|slot| slot.of(element).into_owned()).collect();
        let output = self.function.apply(input, now_ms)?;
        let mut output = match output.as_slice() {
            [Value::List(tuple)] if self.projection.len() > 1 => tuple.items.clone(),
            _ => output,
        };
        output.resize(self.projection.len(), Value::Null);
        for (slot, value) in self.projection.iter().zip(output) {
            slot.put(element, value)?;
        }
        Ok(())
    }
}
