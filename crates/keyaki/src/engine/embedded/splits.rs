//! Cuts a space into ranges of about equal size.
//!
//! A small space is measured by walking it. A large one is cut by RocksDB's own estimate of the
//! bytes in a key range, which is good to a block per file: for each cut we go down the tree of
//! key prefixes, always into the branch where the wanted byte lies, so that skew and long common
//! prefixes cost a few more steps but no accuracy.

use rocksdb::{DB, DBRawIterator, Range, ReadOptions};

use super::fault::reading;
use crate::cell::key::{self, KEY_BYTES_MAX};
use crate::engine::scan::Split;
use crate::engine::space::SpaceId;
use crate::error::Result;

/// Below this estimate a space is walked.
const WALKED_BYTES_MAX: u64 = 4 << 20;
/// A cut may miss its place by this part of a split.
const PRECISION: u64 = 16;

/// At most `parts` ranges that cover the space once.
pub fn splits(db: &DB, space: SpaceId, parts: usize) -> Result<Vec<Split>> {
    let (from, to) = key::space_range(space.0);
    let to = to.unwrap_or_else(|| vec![u8::MAX; KEY_BYTES_MAX + 1]);
    if parts <= 1 {
        return Ok(vec![Split { from, to }]);
    }
    // Estimates know nothing of what is still in memory.
    reading(db.flush())?;
    let measure = Measure { db, from, to };
    let total = measure.bytes(&measure.from, &measure.to);
    let parts = parts as u64;
    let mut cuts = vec![measure.from.clone()];
    if total < WALKED_BYTES_MAX {
        cuts.extend(measure.walk(parts)?);
    } else {
        for part in 1..parts {
            let wanted = (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
            cuts.push(measure.find(wanted, total / parts / PRECISION)?);
        }
    }
    cuts.push(measure.to.clone());
    cuts.dedup();
    Ok(cuts.windows(2).map(|pair| Split { from: pair[0].clone(), to: pair[1].clone() }).collect())
}

struct Measure<'a> {
    db: &'a DB,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Measure<'_> {
    fn bytes(&self, from: &[u8], to: &[u8]) -> u64 {
        self.db.get_approximate_sizes(&[Range::new(from, to)])[0]
    }

    fn iterator(&self, from: &[u8], to: &[u8]) -> DBRawIterator<'_> {
        let mut options = ReadOptions::default();
        options.set_iterate_range(from.to_vec()..to.to_vec());
        self.db.raw_iterator_opt(options)
    }

    /// Exact cuts of a small space: one walk for the total, one to cut.
    fn walk(&self, parts: u64) -> Result<Vec<Vec<u8>>> {
        let mut total = 0;
        self.each(|_, bytes| total += bytes)?;
        let mut cuts = Vec::new();
        let mut passed = 0;
        self.each(|key, bytes| {
            if passed > 0 && passed >= total * (cuts.len() as u64 + 1) / parts {
                cuts.push(key.to_vec());
            }
            passed += bytes;
        })?;
        Ok(cuts)
    }

    fn each(&self, mut visit: impl FnMut(&[u8], u64)) -> Result<()> {
        let mut iterator = self.iterator(&self.from, &self.to);
        iterator.seek_to_first();
        while let Some((key, value)) = iterator.item() {
            visit(key, (key.len() + value.len()) as u64);
            iterator.next();
        }
        reading(iterator.status())
    }

    /// A key with about `wanted` bytes of the space before it.
    fn find(&self, wanted: u64, precision: u64) -> Result<Vec<u8>> {
        let (mut low, mut high, mut before) = (self.from.clone(), self.to.clone(), 0);
        loop {
            let Some((first, last)) = self.ends(&low, &high)? else { return Ok(low) };
            let marks = branches(&first, &last);
            if marks.len() < 2 {
                return Ok(low);
            }
            let mut inside = None;
            for (pair, bytes) in marks.windows(2).zip(self.bytes_between(&marks)) {
                if before + bytes > wanted {
                    inside = Some((pair, bytes));
                    break;
                }
                before += bytes;
            }
            let Some((pair, bytes)) = inside else { return Ok(high) };
            let narrowed = (pair[0].clone().max(low), pair[1].clone().min(high));
            if bytes <= precision {
                return Ok(narrowed.0);
            }
            (low, high) = narrowed;
        }
    }

    fn ends(&self, low: &[u8], high: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut iterator = self.iterator(low, high);
        iterator.seek_to_first();
        let first = iterator.key().map(<[u8]>::to_vec);
        iterator.seek_to_last();
        let last = iterator.key().map(<[u8]>::to_vec);
        reading(iterator.status())?;
        Ok(first.zip(last))
    }

    fn bytes_between(&self, marks: &[Vec<u8>]) -> Vec<u64> {
        let ranges: Vec<Range<'_>> =
            marks.windows(2).map(|pair| Range::new(&pair[0], &pair[1])).collect();
        self.db.get_approximate_sizes(&ranges)
    }
}

/// Where the keys from `first` to `last` part ways: rising marks, the first at or below `first`
/// and the last above `last`. One mark only, if there is but one key.
fn branches(first: &[u8], last: &[u8]) -> Vec<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let Some(&highest) = last.get(common) else { return vec![first.to_vec()] };
    let lowest = first.get(common).copied();
    let mark = |byte: u8| [&first[..common], &[byte]].concat();
    let mut marks = Vec::new();
    if lowest.is_none() {
        marks.push(first.to_vec());
    }
    marks.extend((lowest.unwrap_or(0)..=highest).map(mark));
    marks.extend(key::successor_of_prefix(&mark(highest)));
    marks
}
