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
    /// Whether it has become part of an equal one.
    folded: bool,
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

    /// Partition and sort key of one of its cells, if it has that one.
    fn place<'a>(&self, cell: Cell, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let (from, [partition, sort]) = match cell {
            Cell::First => (0, self.keys.first),
            Cell::Second => (self.keys.first[1], self.keys.second?),
        };
        let part = |from: u32, to: u32| &bytes[self.at + from as usize..self.at + to as usize];
        Some((part(from, partition), part(partition, sort)))
    }

    /// Keys and payloads of its cells.
    fn cell_bytes(&self) -> u64 {
        let payload = (self.payload.to - self.payload.from) as u64;
        let both =
            self.keys.second.map_or(0, |[_, end]| u64::from(end - self.keys.first[1]) + payload);
        u64::from(self.keys.first[1]) + payload + both
    }
}

/// Which of an element's cells.
#[derive(Clone, Copy)]
enum Cell {
    First,
    Second,
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
        self.items.push(Item { number, at, keys, label, payload, folded: false });
        Ok(())
    }

    /// An empty chunk with room for as much.
    pub fn another(&self) -> Self {
        Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            items: Vec::with_capacity(self.items.len()),
            scratch: Scratch::default(),
        }
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
        let places = self.order();
        let mut packed = Packed { order: Vec::with_capacity(places.len()), ..Packed::default() };
        let mut rest = places.as_slice();
        while let Some(first) = rest.first() {
            let item = &self.items[first.index as usize];
            let stored = graph.stored(item.number)?;
            let run = match stored.form.group.aggregates() {
                true => rest.iter().take_while(|next| self.equal(first, next)).count(),
                false => 1,
            };
            let (same, after) = rest.split_at(run);
            if run > 1 {
                let payload = self.fold(stored, same)?;
                self.items[first.index as usize].payload = payload;
                same[1..].iter().for_each(|folded| self.items[folded.index as usize].folded = true);
                packed.aggregated += run as u64 - 1;
            }
            packed.size.elements += 1;
            packed.size.bytes += self.items[first.index as usize].cell_bytes();
            packed.order.push(first.index);
            rest = after;
        }
        (packed.bytes, packed.items) = (self.bytes, self.items);
        Ok(packed)
    }

    /// Whether two elements are one.
    fn equal(&self, one: &ByKey, other: &ByKey) -> bool {
        let item = |place: &ByKey| &self.items[place.index as usize];
        (one.number, one.prefix) == (other.number, other.prefix)
            && item(one).keys.first == item(other).keys.first
            && item(one).first(&self.bytes) == item(other).first(&self.bytes)
    }

    /// Folds the payloads of equal elements and appends what they come to.
    fn fold(&mut self, stored: &StoredGroup, same: &[ByKey]) -> Result<Span> {
        let group = &stored.form.group;
        let mut folded = Vec::new();
        let payloads =
            same.iter().rev().map(|place| self.items[place.index as usize].payload.of(&self.bytes));
        fold_payloads(group, payloads, &mut folded)?;
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&folded);
        let payload = Span { from, to: self.bytes.len() };
        check_payload(payload, group.name())?;
        Ok(payload)
    }

    /// The elements by group and key, equal ones as they came.
    fn order(&self) -> Vec<ByKey> {
        let place = |(index, item): (usize, &Item)| ByKey {
            number: item.number,
            prefix: prefix(item.first(&self.bytes)),
            index: index as u32,
        };
        let mut places: Vec<ByKey> = self.items.iter().enumerate().map(place).collect();
        places.sort_unstable_by(|one, other| {
            let item = |place: &ByKey| &self.items[place.index as usize];
            let key = |place: &ByKey| item(place).first(&self.bytes);
            let split = |place: &ByKey| item(place).keys.first[0];
            let order = (one.number, one.prefix).cmp(&(other.number, other.prefix));
            order
                .then_with(|| key(one).cmp(key(other)))
                .then_with(|| split(one).cmp(&split(other)))
                .then(one.index.cmp(&other.index))
        });
        places
    }
}

/// An element in the order of keys, with what most keys differ in: those that do need not be looked for elsewhere.
struct ByKey {
    number: u16,
    prefix: u128,
    index: u32,
}

/// Elements as they are written.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    /// As they came.
    items: Vec<Item>,
    /// Those that are not folded into others, by group and key.
    order: Vec<u32>,
    /// How many elements were folded into others.
    pub aggregated: u64,
    pub size: Size,
}

impl Packed {
    /// Writes all of it down: the first cells by key, so that half of the sorting is done, then the others as they lie in
    /// memory. Elements that are kept apart get the commit's id and a number into their keys.
    ///
    /// # Errors
    /// `Invalid` if a group is gone.
    pub fn write(&self, graph: &Graph, draft: &mut Draft<'_>) -> Result<()> {
        if self.order.len() * 2 >= BULK_CELLS_MIN {
            draft.by_bulk();
        }
        draft.reserve(self.order.len() * 2, self.bytes.len() * 2);
        let mut own = Vec::new();
        for index in &self.order {
            self.write_cell(graph, draft, *index, Cell::First, &mut own)?;
        }
        for (index, item) in self.items.iter().enumerate() {
            if !item.folded {
                self.write_cell(graph, draft, index as u32, Cell::Second, &mut own)?;
            }
        }
        Ok(())
    }

    fn write_cell(
        &self,
        graph: &Graph,
        draft: &mut Draft<'_>,
        index: u32,
        cell: Cell,
        own: &mut Vec<u8>,
    ) -> Result<()> {
        let item = &self.items[index as usize];
        let Some((partition, sort)) = item.place(cell, &self.bytes) else { return Ok(()) };
        let stored = graph.stored(item.number)?;
        let value = Stored::visible_to(item.label.of(&self.bytes), item.payload.of(&self.bytes));
        if stored.form.group.aggregates() {
            draft.dependent(stored.space, partition, sort, Write::Merge(value));
            return Ok(());
        }
        own.clear();
        own.extend_from_slice(sort);
        own.extend_from_slice(draft.tid().as_bytes());
        own.extend_from_slice(&index.to_be_bytes());
        draft.dependent(stored.space, partition, own, Write::Put(value));
        Ok(())
    }

    /// An empty chunk in the same room.
    pub fn emptied(mut self) -> Chunk {
        self.bytes.clear();
        self.items.clear();
        Chunk { bytes: self.bytes, items: self.items, scratch: Scratch::default() }
    }

    /// The vertex of the first key: what names the chunk if nothing else does.
    pub fn first_vertex(&self) -> Option<&[u8]> {
        let item = &self.items[*self.order.first()? as usize];
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
