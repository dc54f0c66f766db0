//! Runs elements through a view. They come in the order of their keys, so those that query-time aggregation
//! makes one follow each other, and only one element is held back.

use std::sync::Arc;

use super::{ShownGroup, Transform, View};
use crate::bucket::graph::element::{Element, Ends};
use crate::bucket::graph::operation::Apart;
use crate::bucket::graph::schema::GroupId;
use crate::bucket::graph::select::all_hold;
use crate::bucket::graph::value::{Class, Value};
use crate::error::{Error, Result};

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

    /// Takes elements, and gives out in their place those that are finished by that.
    ///
    /// # Errors
    /// Those of the view's functions.
    pub fn batch(&mut self, mut batch: Vec<Element>) -> Result<Vec<Element>> {
        let Self { view, now_ms, open } = self;
        let mut fault = None;
        batch.retain(|element| match view.group(element.shape.number) {
            Some(shown) if shown.pre.is_empty() => true,
            Some(shown) => held(all_hold(&shown.pre, element, *now_ms), &mut fault),
            None => false,
        });
        if batch.is_empty() {
            return fault.map_or(Ok(batch), Err);
        }
        if let Some(open) = open.take() {
            batch.insert(0, open);
        }
        batch.dedup_by(|element, before| match view.folding(element) {
            Some(shown) if shown.same(before, element) => {
                held(shown.fold(before, element).map(|()| true), &mut fault);
                true
            }
            _ => false,
        });
        *open = batch.pop_if(|last| view.folding(last).is_some());
        Self::emit(view, *now_ms, &mut batch, &mut fault);
        fault.map_or(Ok(batch), Err)
    }

    /// Gives out what is held back, when nothing more comes or what comes is of another key.
    ///
    /// # Errors
    /// Those of the view's functions.
    pub fn finish(&mut self, out: &mut Vec<Element>) -> Result<()> {
        let mut last: Vec<Element> = self.open.take().into_iter().collect();
        let mut fault = None;
        Self::emit(&self.view, self.now_ms, &mut last, &mut fault);
        out.append(&mut last);
        fault.map_or(Ok(()), Err)
    }

    fn emit(view: &View, now_ms: i64, batch: &mut Vec<Element>, fault: &mut Option<Error>) {
        if view.shows_as_is {
            return;
        }
        batch.retain_mut(|element| match view.group(element.shape.number) {
            Some(shown) if shown.shows_as_is() => true,
            Some(shown) => held(shown.emit(element, now_ms), fault),
            None => false,
        });
    }
}

/// What was found, or no; the first fault is kept.
fn held(found: Result<bool>, fault: &mut Option<Error>) -> bool {
    found.unwrap_or_else(|error| {
        fault.get_or_insert(error);
        false
    })
}

impl View {
    /// By what the edges of a group are told apart, if nothing else of the view decides which ends they show.
    #[must_use]
    pub fn apart(&self, group: GroupId) -> Option<Apart> {
        let shown = self.group(group.0)?;
        if !shown.pre.is_empty() || !shown.shows_as_is() {
            return None;
        }
        if shown.operators.is_empty() {
            return Some(Apart::Wholly);
        }
        let kept = shown.kept();
        let by_bytes = |slot: &usize| is_told_by_bytes(shown.group.classes()[*slot]);
        kept.iter().all(by_bytes).then_some(Apart::By(kept.len()))
    }

    /// How elements like this are folded, if they are.
    fn folding(&self, element: &Element) -> Option<&ShownGroup> {
        self.group(element.shape.number).filter(|shown| !shown.operators.is_empty())
    }
}

/// Whether values of the class are equal just where their bytes in a key are. An empty string is not: it is read back
/// where there was none, too.
fn is_told_by_bytes(class: Class) -> bool {
    matches!(class, Class::Byte | Class::Short | Class::Integer | Class::Long | Class::Date)
}

impl ShownGroup {
    /// The slots of group-by that tell elements apart.
    fn kept(&self) -> &[usize] {
        &self.group.group_by()[..self.group_by]
    }

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
        one.shape.number == other.shape.number
            && ends()
            && self.kept().iter().all(|slot| one.properties[*slot] == other.properties[*slot])
    }

    fn fold(&self, open: &mut Element, element: &mut Element) -> Result<()> {
        for (slot, operator) in &self.operators {
            let input = std::mem::take(&mut element.properties[*slot]);
            operator.apply(&mut open.properties[*slot], input)?;
        }
        Ok(())
    }

    /// Whether nothing is left to be done once elements are folded.
    pub(super) fn shows_as_is(&self) -> bool {
        self.post.is_empty()
            && self.transforms.is_empty()
            && self.shape.names.len() == self.group.shape().names.len()
            && self.post_transform.is_empty()
            && self.dropped.is_empty()
    }

    /// Does what the view wants once elements are folded; false if it wants no such element.
    fn emit(&self, element: &mut Element, now_ms: i64) -> Result<bool> {
        if !self.post.is_empty() && !all_hold(&self.post, element, now_ms)? {
            return Ok(false);
        }
        if !self.transforms.is_empty() || self.shape.names.len() > element.properties.len() {
            element.properties.resize(self.shape.names.len(), Value::Null);
            element.shape = Arc::clone(&self.shape);
            for transform in &self.transforms {
                transform.apply(element, now_ms)?;
            }
        }
        if !self.post_transform.is_empty() && !all_hold(&self.post_transform, element, now_ms)? {
            return Ok(false);
        }
        for slot in &self.dropped {
            element.properties[*slot] = Value::Null;
        }
        Ok(true)
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
