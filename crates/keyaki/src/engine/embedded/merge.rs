//! What RocksDB calls back: the merge operator that folds operands, and the compaction filter
//! that drops what no scan would show.
//!
//! Both look up the rules of the key's space. No panic crosses the C boundary, and neither ever
//! fails: what can't be folded stays side by side, what can't be judged stays.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use rocksdb::{CompactionDecision, MergeOperands, Options};

use crate::cell::{HybridClock, Time};
use crate::engine::commit::space_of;
use crate::engine::fold;
use crate::engine::rules::{self, Verdict};
use crate::engine::scan::CellRef;
use crate::engine::space::{Space, SpaceId, Spaces};

const OPERATOR_NAME: &str = "keyaki.fold.1";

/// Installs both.
pub fn install(options: &mut Options, spaces: &Arc<Spaces>, clock: &Arc<HybridClock>) {
    let (full, partial) = (spaces.clone(), spaces.clone());
    options.set_merge_operator(
        OPERATOR_NAME,
        move |key: &[u8], base: Option<&[u8]>, operands: &MergeOperands| {
            let values: Vec<&[u8]> = base.into_iter().chain(operands).collect();
            Some(fold_whole(&full, key, &values))
        },
        move |key: &[u8], _: Option<&[u8]>, operands: &MergeOperands| {
            let values: Vec<&[u8]> = operands.iter().collect();
            fold_some(&partial, key, &values)
        },
    );
    options.set_compaction_filter_factory(FilterMaker {
        spaces: spaces.clone(),
        clock: clock.clone(),
    });
}

/// Folds all there is of a cell.
fn fold_whole(spaces: &Spaces, key: &[u8], values: &[&[u8]]) -> Vec<u8> {
    if let [only] = values {
        return only.to_vec();
    }
    let space = spaces.get(space_of(key));
    let rule = space.as_ref().and_then(|space| space.merge.as_deref());
    fold::fold_or_list(rule, values)
}

/// Folds some operands of a cell, if there is a rule for it.
fn fold_some(spaces: &Spaces, key: &[u8], values: &[&[u8]]) -> Option<Vec<u8>> {
    let space = spaces.get(space_of(key))?;
    fold::fold(space.merge.as_deref()?, values).ok()
}

struct FilterMaker {
    spaces: Arc<Spaces>,
    clock: Arc<HybridClock>,
}

impl CompactionFilterFactory for FilterMaker {
    type Filter = Filter;

    fn create(&mut self, _: CompactionFilterContext) -> Filter {
        Filter { spaces: self.spaces.clone(), now: self.clock.now(), last: None }
    }

    fn name(&self) -> &CStr {
        c"keyaki.keep.1"
    }
}

/// Judges the cells of one compaction at one moment. Iterators pin the files they began with,
/// so what it drops was hidden from every scan that could miss it.
struct Filter {
    spaces: Arc<Spaces>,
    now: Time,
    last: Option<(SpaceId, Option<Arc<Space>>)>,
}

impl CompactionFilter for Filter {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> CompactionDecision {
        let drop = catch_unwind(AssertUnwindSafe(|| self.drops(key, value)));
        match drop {
            Ok(true) => CompactionDecision::Remove,
            _ => CompactionDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        c"keyaki.keep.1"
    }
}

impl Filter {
    fn drops(&mut self, key: &[u8], value: &[u8]) -> bool {
        let id = space_of(key);
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            self.last = Some((id, self.spaces.get(id)));
        }
        let Some((_, Some(space))) = &self.last else { return false };
        if space.record.retired {
            return true;
        }
        // A newer operand may still count on the base that the filter sees alone.
        let Some(rule) = space.keep.as_ref().filter(|rule| rule.by_age() && !space.merges()) else {
            return false;
        };
        CellRef::decode(key, value).is_ok_and(|cell| {
            rules::verdict(rule.as_ref(), &cell, self.now) == Some(Verdict::Expired)
        })
    }
}
