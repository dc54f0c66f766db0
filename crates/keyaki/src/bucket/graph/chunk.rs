//! Some elements on their way into the graph: keys and values in one buffer, equal elements folded, ready for one
//! commit. Nothing is kept of the elements themselves.

use std::collections::BTreeMap;

use super::bucket::{Graph, StoredGroup};
use super::element::Element;
use super::form::{KeyEnds, Scratch};
use super::rules::fold_payloads;
use crate::cell::Value as Stored;
use crate::cell::key::{KEY_BYTES_MAX, prefix};
use crate::engine::{PAYLOAD_BYTES_MAX, Write};
use crate::error::{Error, Result};
use crate::store::Draft;

/// From so many cells on a commit goes by sorted files.
const BULK_CELLS_MIN: usize = 10_000;
/// What tells equal elements apart in keys, where they are kept so: the commit's id and a number.
pub(super) const OWN_BYTES: usize = 16 + 4;
/// What a stored key has besides partition and sort key; zero bytes in a vertex take two.
const KEY_BYTES_SPARE: usize = 64;

/// Elements of one commit.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    items: Vec<Item>,
    scratch: Scratch,
}

/// How many elements have which label.
pub(super) type Labels = BTreeMap<Vec<u8>, u64>;

/// Where an element lies: its keys, its label and its payload.
#[derive(Clone, Copy)]
struct Item {
    number: u16,
    at: usize,
    keys: KeyEnds,
    label: Span,
    payload: Span,
}

#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

impl Span {
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.from..self.to]
    }
}

/// How much a chunk writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub elements: u64,
    pub bytes: u64,
}

impl Item {
    /// The key that tells elements apart: that of the first cell.
    fn first<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.at..self.at + self.keys.first[1] as usize]
    }

    /// Partition and sort key of each cell.
    fn places<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut at = self.at;
        let start = self.at;
        let mut part = move |end: u32| {
            let from = std::mem::replace(&mut at, start + end as usize);
            &bytes[from..at]
        };
        let both = std::iter::once(self.keys.first).chain(self.keys.second);
        both.map(move |[partition, sort]| (part(partition), part(sort)))
    }
}

impl Chunk {
    /// Takes an element of one of the graph's groups.
    ///
    /// # Errors
    /// `Invalid` if no cell can hold it; the chunk is then as it was.
    pub fn push(&mut self, graph: &Graph, element: &Element) -> Result<()> {
        let before = self.bytes.len();
        let pushed = self.encode(graph, element);
        if pushed.is_err() {
            self.bytes.truncate(before);
        }
        pushed
    }

    fn encode(&mut self, graph: &Graph, element: &Element) -> Result<()> {
        let number = element.shape.number;
        let form = &graph.stored(number)?.form;
        let at = self.bytes.len();
        let keys = form.encode(element, &mut self.scratch, &mut self.bytes)?;
        check_key(keys.first[0], keys.first[1])?;
        if let Some([partition, sort]) = keys.second {
            check_key(partition - keys.first[1], sort - keys.first[1])?;
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(form.group.visibility(element));
        let label = Span { from, to: self.bytes.len() };
        form.group.encode_properties(&element.properties, &mut self.bytes)?;
        let payload = Span { from: label.to, to: self.bytes.len() };
        check_payload(payload, form.group.name())?;
        self.items.push(Item { number, at, keys, label, payload });
        Ok(())
    }

    /// The chunk, and in its place an empty one with room for as much.
    pub fn next(&mut self) -> Self {
        let empty = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            items: Vec::with_capacity(self.items.len()),
            scratch: Scratch::default(),
        };
        std::mem::replace(self, empty)
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many elements it was given.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// How many elements have which label.
    pub fn labels(&self) -> Labels {
        let mut labels = BTreeMap::new();
        for item in &self.items {
            *labels.entry(&self.bytes[item.label.from..item.label.to]).or_default() += 1;
        }
        labels.into_iter().map(|(label, elements)| (label.to_vec(), elements)).collect()
    }

    /// Makes equal elements one, in the order they came.
    ///
    /// # Errors
    /// `Invalid` if an operator can't take a value, or a value is too large.
    pub fn pack(mut self, graph: &Graph) -> Result<Packed> {
        let order = self.order();
        let mut packed = Packed { items: Vec::with_capacity(order.len()), ..Packed::default() };
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let mut item = self.items[*first as usize];
            let stored = graph.stored(item.number)?;
            let mut run = 1;
            if stored.form.group.aggregates() {
                let key = item.first(&self.bytes);
                let equal = |next: &Item| {
                    next.number == item.number
                        && next.keys.first == item.keys.first
                        && next.first(&self.bytes) == key
                };
                run +=
                    rest[1..].iter().take_while(|next| equal(&self.items[**next as usize])).count();
            }
            let (same, after) = rest.split_at(run);
            if run > 1 {
                item.payload = self.fold(stored, same)?;
                packed.aggregated += run as u64 - 1;
            }
            packed.size.elements += 1;
            for (partition, sort) in item.places(&self.bytes) {
                let bytes = partition.len() + sort.len() + item.payload.of(&self.bytes).len();
                packed.size.bytes += bytes as u64;
            }
            packed.items.push((*first, item));
            rest = after;
        }
        packed.bytes = self.bytes;
        Ok(packed)
    }

    /// Folds the payloads of equal elements and appends what they come to.
    fn fold(&mut self, stored: &StoredGroup, same: &[u32]) -> Result<Span> {
        let group = &stored.form.group;
        let mut folded = Vec::new();
        let payloads =
            same.iter().rev().map(|index| self.items[*index as usize].payload.of(&self.bytes));
        fold_payloads(group, payloads, &mut folded)?;
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&folded);
        let payload = Span { from, to: self.bytes.len() };
        check_payload(payload, group.name())?;
        Ok(payload)
    }

    /// The elements by group and key, equal ones as they came.
    fn order(&self) -> Vec<u32> {
        let place = |(index, item): (usize, &Item)| {
            (item.number, prefix(item.first(&self.bytes)), index as u32)
        };
        let mut places: Vec<(u16, u128, u32)> = self.items.iter().enumerate().map(place).collect();
        places.sort_unstable_by(|one, other| {
            let item = |place: &(u16, u128, u32)| &self.items[place.2 as usize];
            let key = |place: &(u16, u128, u32)| item(place).first(&self.bytes);
            let split = |place: &(u16, u128, u32)| item(place).keys.first[0];
            let order = (one.0, one.1).cmp(&(other.0, other.1));
            order
                .then_with(|| key(one).cmp(key(other)))
                .then_with(|| split(one).cmp(&split(other)))
                .then(one.2.cmp(&other.2))
        });
        places.into_iter().map(|(_, _, index)| index).collect()
    }
}

/// Elements as they are written.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    /// With the place that each had in the chunk.
    items: Vec<(u32, Item)>,
    /// How many elements were folded into others.
    pub aggregated: u64,
    pub size: Size,
}

impl Packed {
    /// Writes all of it down. Elements that are kept apart get the commit's id and a number into their keys.
    ///
    /// # Errors
    /// `Invalid` if a group is gone.
    pub fn write(&self, graph: &Graph, draft: &mut Draft<'_>) -> Result<()> {
        if self.items.len() * 2 >= BULK_CELLS_MIN {
            draft.by_bulk();
        }
        draft.reserve(self.items.len() * 2, self.bytes.len() * 2);
        let tid = *draft.tid().as_bytes();
        let mut own = Vec::new();
        for (place, item) in &self.items {
            let stored = graph.stored(item.number)?;
            let value =
                Stored::visible_to(item.label.of(&self.bytes), item.payload.of(&self.bytes));
            for (partition, sort) in item.places(&self.bytes) {
                if stored.form.group.aggregates() {
                    draft.dependent(stored.space, partition, sort, Write::Merge(value));
                    continue;
                }
                own.clear();
                own.extend_from_slice(sort);
                own.extend_from_slice(&tid);
                own.extend_from_slice(&place.to_be_bytes());
                draft.dependent(stored.space, partition, &own, Write::Put(value));
            }
        }
        Ok(())
    }

    /// The vertex of the first key: what names the chunk if nothing else does.
    pub fn first_vertex(&self) -> Option<&[u8]> {
        let (_, item) = self.items.first()?;
        Some(&self.bytes[item.at..item.at + item.keys.first[0] as usize])
    }
}

fn check_key(partition: u32, whole: u32) -> Result<()> {
    let bytes = partition as usize + whole as usize + KEY_BYTES_SPARE;
    if bytes > KEY_BYTES_MAX {
        return Err(Error::invalid("the vertices and group-by values of an element are too large")
            .with("bytes", bytes)
            .with("most", KEY_BYTES_MAX));
    }
    Ok(())
}

fn check_payload(payload: Span, group: &str) -> Result<()> {
    let bytes = payload.to - payload.from;
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(Error::invalid("the properties of an element are too large")
            .with("group", group)
            .with("bytes", bytes)
            .with("most", PAYLOAD_BYTES_MAX));
    }
    Ok(())
}
