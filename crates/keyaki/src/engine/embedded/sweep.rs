//! Makes permanent what a space's rules decided: walks the space, and has the writer remove what
//! is condemned if it still is what was judged.

use std::ops::ControlFlow;

use rocksdb::{DB, ReadOptions};

use super::fault::reading;
use crate::cell::{Time, key};
use crate::engine::space::Space;
use crate::engine::sweep::Condemned;
use crate::error::Result;

/// Condemned cells that go to the writer together, and about how many bytes of them.
const BATCH_CELLS: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;

/// Hands condemned cells over in batches until all are seen or `remove` breaks.
pub fn walk(
    db: &DB,
    space: &Space,
    now: Time,
    mut remove: impl FnMut(Vec<Condemned>) -> ControlFlow<()>,
) -> Result<()> {
    let mut options = ReadOptions::default();
    options.fill_cache(false);
    let (from, to) = key::space_range(space.id().0);
    match to {
        Some(to) => options.set_iterate_range(from..to),
        None => options.set_iterate_lower_bound(from),
    }
    let mut iterator = db.raw_iterator_opt(options);
    iterator.seek_to_first();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some((key, value)) = iterator.item() {
        if let Some(cell) = Condemned::judge(space, key, value, now)? {
            bytes += key.len() + value.len();
            batch.push(cell);
        }
        if batch.len() >= BATCH_CELLS || bytes >= BATCH_BYTES {
            bytes = 0;
            if remove(std::mem::take(&mut batch)).is_break() {
                return Ok(());
            }
        }
        iterator.next();
    }
    reading(iterator.status())?;
    if !batch.is_empty() {
        let _ = remove(batch);
    }
    Ok(())
}
