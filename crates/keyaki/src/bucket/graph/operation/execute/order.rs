//! Sorting, and the first and last of an order.

use std::cmp::Ordering;

use super::super::Comparator;
use super::{Executor, Output, Ready, collect};
use crate::bucket::graph::element::Element;
use crate::bucket::graph::value::Value;
use crate::error::Result;

impl Comparator {
    /// Elements of other groups, and those without the property, come last.
    fn order(&self, one: &Element, other: &Element) -> Ordering {
        match (self.value(one), self.value(other)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(one), Some(other)) if self.reversed => other.cmp(one),
            (Some(one), Some(other)) => one.cmp(other),
        }
    }

    fn value<'a>(&self, element: &'a Element) -> Option<&'a Value> {
        let is_for = self.groups.iter().any(|group| **group == *element.group());
        let value = element.property(&self.property);
        (is_for && !value.is_null()).then_some(value)
    }
}

fn order(comparators: &[Comparator], one: &Element, other: &Element) -> Ordering {
    let orders = comparators.iter().map(|comparator| comparator.order(one, other));
    orders.fold(Ordering::Equal, Ordering::then)
}

impl Executor {
    pub(super) async fn sort(
        &self,
        comparators: &[Comparator],
        limit: Option<usize>,
        deduplicate: bool,
        input: Output,
    ) -> Result<Output> {
        if matches!(input, Output::Nothing) || comparators.is_empty() {
            return Ok(Output::Nothing);
        }
        // Gaffer asks for the greatest if one is wanted, and so do we.
        if limit == Some(1) {
            let elements = match extreme(comparators, input, true).await? {
                Output::Value(Value::Element(element)) => vec![*element],
                _ => Vec::new(),
            };
            return Ok(Output::Elements(Box::new(Ready::new(elements))));
        }
        let mut elements = collect(input.into_elements()?, &self.budget).await?;
        elements.sort_by(|one, other| order(comparators, one, other));
        if deduplicate {
            let mut seen = std::collections::HashSet::new();
            elements.retain(|element| seen.insert(element.clone()));
        }
        elements.truncate(limit.unwrap_or(usize::MAX));
        Ok(Output::Elements(Box::new(Ready::new(elements))))
    }
}

/// The first element of an order, or the last one that has what is compared.
pub(super) async fn extreme(
    comparators: &[Comparator],
    input: Output,
    greatest: bool,
) -> Result<Output> {
    if matches!(input, Output::Nothing) || comparators.is_empty() {
        return Ok(Output::Nothing);
    }
    let mut best: Option<Element> = None;
    let mut elements = input.into_elements()?;
    while let Some(batch) = elements.next().await? {
        for element in batch {
            // Only a lone comparator passes over what it can't compare.
            if matches!(comparators, [comparator] if comparator.value(&element).is_none()) {
                continue;
            }
            let better = best.as_ref().is_none_or(|best| {
                let order = order(comparators, &element, best);
                if greatest { order.is_gt() } else { order.is_lt() }
            });
            if better {
                best = Some(element);
            }
        }
    }
    Ok(best.map_or(Output::Nothing, |best| Output::Value(Value::Element(Box::new(best)))))
}
