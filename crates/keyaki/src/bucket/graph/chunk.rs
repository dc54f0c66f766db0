//! Some elements on their way into the graph: keys and values made, equal elements folded, ready for one commit.

use super::bucket::{Graph, StoredGroup};
use super::element::Element;
use super::form::{Place, Places};
use crate::cell::Value as Stored;
use crate::cell::key::KEY_BYTES_MAX;
use crate::engine::{PAYLOAD_BYTES_MAX, Write};
use crate::error::{Error, Result};
use crate::store::Draft;

/// From so many cells on a commit goes by sorted files.
const BULK_CELLS_MIN: usize = 10_000;
/// What a stored key has besides partition and sort key; zero bytes in a vertex take two.
const KEY_BYTES_SPARE: usize = 64;

/// Elements of one commit.
#[derive(Default)]
pub(super) struct Chunk {
    items: Vec<Item>,
}

struct Item {
    number: u16,
    places: Places,
    element: Element,
}

/// How much a chunk writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub elements: u64,
    pub bytes: u64,
}

impl Chunk {
    /// Takes an element of one of the graph's groups.
    ///
    /// # Errors
    /// `Invalid` if no cell can hold it.
    pub fn push(&mut self, graph: &Graph, element: Element) -> Result<()> {
        let number = element.shape.number;
        let places = graph.stored(number)?.form.places(&element)?;
        places.iter().try_for_each(check_key)?;
        self.items.push(Item { number, places, element });
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Makes equal elements one, in the order they came, and all of them values.
    ///
    /// # Errors
    /// `Invalid` if an operator can't take a value, or a value is too large.
    pub fn pack(mut self, graph: &Graph) -> Result<Packed> {
        self.items.sort_by(|a, b| (a.number, &a.places).cmp(&(b.number, &b.places)));
        let mut packed =
            Packed { cells: Vec::with_capacity(self.items.len()), ..Packed::default() };
        let mut items = self.items.into_iter().peekable();
        while let Some(mut item) = items.next() {
            let stored = graph.stored(item.number)?;
            let group = &stored.form.group;
            let equal = |next: &Item| {
                group.aggregates() && next.number == item.number && next.places == item.places
            };
            while let Some(mut next) = items.next_if(equal) {
                group.fold(&mut item.element.properties, &mut next.element.properties)?;
                packed.aggregated += 1;
            }
            packed.add(stored, item)?;
        }
        Ok(packed)
    }
}

/// Elements as they are written.
#[derive(Default)]
pub(super) struct Packed {
    cells: Vec<Cell>,
    /// How many elements were folded into others.
    pub aggregated: u64,
    pub size: Size,
}

struct Cell {
    stored: StoredGroup,
    places: Places,
    label: Vec<u8>,
    payload: Vec<u8>,
}

impl Packed {
    fn add(&mut self, stored: &StoredGroup, item: Item) -> Result<()> {
        let group = &stored.form.group;
        let mut payload = Vec::with_capacity(32);
        group.encode_properties(&item.element.properties, &mut payload)?;
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::invalid("the properties of an element are too large")
                .with("group", group.name())
                .with("bytes", payload.len())
                .with("most", PAYLOAD_BYTES_MAX));
        }
        let label = group.visibility(&item.element).to_vec();
        let key_bytes = |place: &Place| place.partition.len() + place.sort.len();
        let bytes: usize = item.places.iter().map(|place| key_bytes(place) + payload.len()).sum();
        self.size.elements += 1;
        self.size.bytes += bytes as u64;
        self.cells.push(Cell { stored: stored.clone(), places: item.places, label, payload });
        Ok(())
    }

    /// Writes all of it down. Elements that are kept apart get the commit's id and a number into their keys.
    pub fn write(&self, draft: &mut Draft<'_>) {
        if self.cells.len() * 2 >= BULK_CELLS_MIN {
            draft.by_bulk();
        }
        let tid = *draft.tid().as_bytes();
        let mut sort = Vec::new();
        for (number, cell) in self.cells.iter().enumerate() {
            let value = Stored::visible_to(&cell.label, &cell.payload);
            for place in cell.places.iter() {
                if cell.stored.form.group.aggregates() {
                    let write = Write::Merge(value);
                    draft.dependent(cell.stored.space, &place.partition, &place.sort, write);
                } else {
                    sort.clear();
                    sort.extend_from_slice(&place.sort);
                    sort.extend_from_slice(&tid);
                    sort.extend_from_slice(&(number as u32).to_be_bytes());
                    let write = Write::Put(value);
                    draft.dependent(cell.stored.space, &place.partition, &sort, write);
                }
            }
        }
    }

    /// The first key: what names the chunk if nothing else does.
    pub fn first(&self) -> Option<&Place> {
        self.cells.first().map(|cell| &cell.places.first)
    }
}

fn check_key(place: &Place) -> Result<()> {
    let bytes = place.partition.len() * 2 + place.sort.len() + KEY_BYTES_SPARE;
    if bytes > KEY_BYTES_MAX {
        return Err(Error::invalid("the vertices and group-by values of an element are too large")
            .with("bytes", bytes)
            .with("most", KEY_BYTES_MAX));
    }
    Ok(())
}
