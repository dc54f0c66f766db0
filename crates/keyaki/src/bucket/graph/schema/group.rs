//! A group, compiled: where its properties lie, how two elements become one, and what must hold of one.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::bucket::graph::element::{Element, Ends, Shape};
use crate::bucket::graph::koryphe::BinaryOperator;
use crate::bucket::graph::select::Filter;
use crate::bucket::graph::value::{Class, Value, decode, encode, read_varint, write_varint};
use crate::cell::visibility;
use crate::error::{Error, Result};

/// The number of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// What the schema says of a group.
#[derive(Debug)]
pub struct Group {
    pub(super) id: GroupId,
    pub(super) shape: Arc<Shape>,
    /// By slot; a slot whose property is gone takes anything and is never filled.
    pub(super) classes: Vec<Class>,
    pub(super) vertex_classes: [Option<Class>; 2],
    pub(super) group_by: Vec<usize>,
    pub(super) visibility: Option<usize>,
    pub(super) timestamp: Option<usize>,
    pub(super) aggregate: bool,
    /// By slot.
    pub(super) operators: Vec<Option<BinaryOperator>>,
    pub(super) validators: Vec<Filter>,
    /// The slots that live in the value of a cell: neither group-by nor visibility.
    pub(super) stored: Vec<usize>,
    /// What fills a slot that is empty, where that is something.
    pub(super) absent: Vec<(usize, Value)>,
}

impl Group {
    /// Its number in keys.
    #[must_use]
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shape.group
    }

    /// What its elements share.
    #[must_use]
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The classes of its properties, by slot.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The classes of its ends: the vertex, or source and destination.
    #[must_use]
    pub fn vertex_classes(&self) -> [Option<Class>; 2] {
        self.vertex_classes
    }

    /// The slots of group-by, in order.
    #[must_use]
    pub fn group_by(&self) -> &[usize] {
        &self.group_by
    }

    /// The slots that are neither group-by nor visibility.
    #[must_use]
    pub fn stored(&self) -> &[usize] {
        &self.stored
    }

    /// The slot of the label.
    #[must_use]
    pub fn visibility_slot(&self) -> Option<usize> {
        self.visibility
    }

    /// The slot of the time.
    #[must_use]
    pub fn timestamp_slot(&self) -> Option<usize> {
        self.timestamp
    }

    /// Whether equal elements become one.
    #[must_use]
    pub fn aggregates(&self) -> bool {
        self.aggregate
    }

    /// How the property of a slot is folded.
    #[must_use]
    pub fn operator(&self, slot: usize) -> Option<&BinaryOperator> {
        self.operators.get(slot)?.as_ref()
    }

    /// Reads how a query folds one of the properties: `{"selection": ["name"], "binaryOperator": …}`. None if the
    /// group has no such property, so that there is nothing to fold.
    ///
    /// # Errors
    /// `Invalid` for an operator that can't take the property.
    pub fn aggregator(&self, json: &Json) -> Result<Option<(usize, BinaryOperator)>> {
        let (name, operator) = BinaryOperator::on_place(json)?;
        let Some(slot) = self.shape.slot(&name) else { return Ok(None) };
        if !operator.takes(self.classes[slot]) {
            return Err(Error::invalid("an aggregator can't take the property's class")
                .with("class", self.classes[slot].full_name()));
        }
        Ok(Some((slot, operator)))
    }

    /// The label of an element of the group; empty if everybody may see it.
    #[must_use]
    pub fn visibility<'a>(&self, element: &'a Element) -> &'a [u8] {
        match self.visibility.map(|slot| &element.properties[slot]) {
            Some(Value::String(label)) => label.as_bytes(),
            _ => b"",
        }
    }

    /// Refuses an element whose label nobody could satisfy because it is malformed.
    ///
    /// # Errors
    /// `Invalid` with the place of the fault.
    pub fn check_label(&self, element: &Element) -> Result<()> {
        let label = self.visibility(element);
        visibility::validate(label).map_err(|bad| {
            Error::invalid("not a visibility expression")
                .with_bytes("visibility", label)
                .because(bad)
        })
    }

    /// Puts in place of absent properties what Gaffer's serialisers read back for them.
    pub fn fill(&self, properties: &mut [Value]) {
        for (slot, value) in &self.absent {
            let property = &mut properties[*slot];
            if property.is_null() {
                property.clone_from(value);
            }
        }
    }

    /// Folds the stored properties of `input` into those of `state`; the keys of both are equal.
    ///
    /// # Errors
    /// `Invalid` if an operator can't take a value.
    pub fn fold(&self, state: &mut [Value], input: &mut [Value]) -> Result<()> {
        for slot in &self.stored {
            if let Some(operator) = &self.operators[*slot] {
                operator.apply(&mut state[*slot], std::mem::take(&mut input[*slot]))?;
            }
        }
        Ok(())
    }

    /// Whether two elements are one after aggregation: same ends, group-by values and label.
    #[must_use]
    pub fn same_key(&self, one: &Element, other: &Element) -> bool {
        let same = |slot: &usize| one.properties[*slot] == other.properties[*slot];
        same_ends(&one.ends, &other.ends)
            && self.group_by.iter().all(same)
            && self.visibility.iter().all(same)
    }

    /// Whether an element may be in the graph: classes and validate functions.
    ///
    /// # Errors
    /// `Invalid` with the reason.
    pub fn validate(&self, element: &Element, now_ms: i64) -> Result<()> {
        let fail = |at: &str| {
            Error::invalid("Element is not valid")
                .with("group", self.name())
                .with("at", at)
                .with("element", element)
        };
        let ends = match &element.ends {
            Ends::Vertex(vertex) => [Some(("vertex", vertex)), None],
            Ends::Edge { source, destination, .. } => {
                [Some(("source", source)), Some(("destination", destination))]
            }
        };
        for ((name, value), class) in ends.into_iter().flatten().zip(self.vertex_classes) {
            if value.is_null() || class.is_some_and(|class| !value.is_a(class)) {
                return Err(fail(name));
            }
        }
        for (slot, value) in element.properties.iter().enumerate() {
            if !value.is_a(self.classes[slot]) {
                return Err(fail(&self.shape.names[slot]));
            }
        }
        match self.failing(element, now_ms)? {
            None => Ok(()),
            Some(filter) => Err(fail(&format!("validateFunctions {:?}", filter.predicate))),
        }
    }

    /// Whether the validate functions hold, as after aggregation, where classes are no question any more.
    ///
    /// # Errors
    /// `Invalid` if one can't take a value.
    pub fn is_valid(&self, element: &Element, now_ms: i64) -> Result<bool> {
        Ok(self.failing(element, now_ms)?.is_none())
    }

    /// The validate functions.
    #[must_use]
    pub fn validators(&self) -> &[Filter] {
        &self.validators
    }

    /// Whether there is anything to validate.
    #[must_use]
    pub fn has_validators(&self) -> bool {
        !self.validators.is_empty()
    }

    /// The first validate function that does not hold.
    ///
    /// # Errors
    /// `Invalid` if one can't take a value.
    pub fn failing(&self, element: &Element, now_ms: i64) -> Result<Option<&Filter>> {
        for filter in &self.validators {
            if !filter.holds(element, now_ms)? {
                return Ok(Some(filter));
            }
        }
        Ok(None)
    }

    /// Appends the stored properties: how many slots there were, a bit for each that is filled, lowest first, then
    /// the values. New properties come behind, so old bytes can be read by a newer schema.
    ///
    /// # Errors
    /// `Invalid` if a value can't be stored.
    pub fn encode_properties(&self, properties: &[Value], out: &mut Vec<u8>) -> Result<()> {
        let count = self.stored.len();
        write_varint(count as u64, out);
        let bits_at = out.len();
        out.resize(bits_at + count.div_ceil(8), 0);
        for (place, slot) in self.stored.iter().enumerate() {
            let value = &properties[*slot];
            if !value.is_null() {
                out[bits_at + place / 8] |= 1 << (place % 8);
                encode(value, self.classes[*slot], out)?;
            }
        }
        Ok(())
    }

    /// Reads what [`Self::encode_properties`] wrote into the slots of `properties`.
    ///
    /// # Errors
    /// `Corrupt` if these are not its bytes.
    pub fn decode_properties(&self, mut bytes: &[u8], properties: &mut [Value]) -> Result<()> {
        let damaged = || Error::corrupt("the properties of an element can't be read");
        let count = usize::try_from(read_varint(&mut bytes)?).map_err(|_| damaged())?;
        let (bits, rest) = bytes.split_at_checked(count.div_ceil(8)).ok_or_else(damaged)?;
        bytes = rest;
        for place in 0..count {
            if bits[place / 8] & (1 << (place % 8)) != 0 {
                let slot = *self.stored.get(place).ok_or_else(damaged)?;
                decode(&mut bytes, self.classes[slot], &mut properties[slot])?;
            }
        }
        if bytes.is_empty() { Ok(()) } else { Err(damaged()) }
    }
}

/// Whether two elements are at the same place; which end was a seed is of no matter.
#[must_use]
pub fn same_ends(one: &Ends, other: &Ends) -> bool {
    match (one, other) {
        (
            Ends::Edge { source: a, destination: b, directed: c, .. },
            Ends::Edge { source: x, destination: y, directed: z, .. },
        ) => c == z && a == x && b == y,
        (one, other) => one == other,
    }
}
