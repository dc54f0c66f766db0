//! The rules that every book starts with.
//!
//! | rule | payload | folds to, or keeps |
//! |---|---|---|
//! | merge `sum` | i64, big endian | the sum, wrapping |
//! | merge `max`, `min` | any bytes | the greatest, the least, by memcmp |
//! | merge `union` | a set: sorted byte strings, each after its length as u32, big endian | the union |
//! | merge `append` | any bytes | one after another, oldest first |
//! | keep `age` | | cells younger than the parameter, a number of microseconds |

use std::sync::Arc;
use std::time::Duration;

use super::{Keep, Merge, Rules, Unfoldable, Verdict};
use crate::cell::Time;
use crate::engine::scan::CellRef;

pub(super) fn rules() -> Rules {
    Rules::none()
        .with_merge("sum", |_| Some(Arc::new(Sum)))
        .with_merge("max", |_| Some(Arc::new(Extreme::Max)))
        .with_merge("min", |_| Some(Arc::new(Extreme::Min)))
        .with_merge("union", |_| Some(Arc::new(Union)))
        .with_merge("append", |_| Some(Arc::new(Append)))
        .with_keep("age", |parameters| {
            let most = Duration::from_micros(parameters.parse().ok()?);
            Some(Arc::new(Age { most }))
        })
}

struct Sum;

impl Merge for Sum {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        let mut sum = 0_i64;
        for payload in payloads {
            let operand = (*payload).try_into().map_err(|_| Unfoldable("not an i64"))?;
            sum = sum.wrapping_add(i64::from_be_bytes(operand));
        }
        out.extend_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

enum Extreme {
    Max,
    Min,
}

impl Merge for Extreme {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        let chosen = match self {
            Self::Max => payloads.iter().max(),
            Self::Min => payloads.iter().min(),
        };
        out.extend_from_slice(chosen.ok_or(Unfoldable("nothing to fold"))?);
        Ok(())
    }
}

struct Union;

impl Merge for Union {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        let mut members = Vec::new();
        for payload in payloads {
            let mut rest = *payload;
            while !rest.is_empty() {
                let (length, after) =
                    rest.split_first_chunk().ok_or(Unfoldable("a set member has no length"))?;
                let length = u32::from_be_bytes(*length) as usize;
                let (member, after) =
                    after.split_at_checked(length).ok_or(Unfoldable("a set member is cut off"))?;
                members.push(member);
                rest = after;
            }
        }
        members.sort_unstable();
        members.dedup();
        for member in members {
            out.extend_from_slice(&(member.len() as u32).to_be_bytes());
            out.extend_from_slice(member);
        }
        Ok(())
    }
}

struct Append;

impl Merge for Append {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        out.extend(payloads.iter().flat_map(|payload| payload.iter()));
        Ok(())
    }
}

struct Age {
    most: Duration,
}

impl Keep for Age {
    fn judge(&self, cell: &CellRef<'_>, now: Time) -> Verdict {
        match cell.time().saturating_add(self.most) <= now {
            true => Verdict::Expired,
            false => Verdict::Keep,
        }
    }

    fn by_age(&self) -> bool {
        true
    }
}
