//! Folds whole stored values, header and all, by a space's merge rule.
//!
//! The folded header says: as late as the latest, and visible only to those who may see every
//! part. What can't be folded, because the rule is unknown to this build, refuses or panics, is
//! kept side by side in one `UNFOLDED` value and folded when someone can: nothing is dropped
//! and nothing fails in the middle of a compaction. Only damaged bytes are an error.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::rules::{Merge, Unfoldable};
use crate::cell::value::{Flags, VISIBILITY_BYTES_MAX};
use crate::cell::{Time, Value, ValueRef, visibility};
use crate::error::{Error, Result};

/// Folds values, oldest first, and always has an answer.
pub fn fold_or_list(rule: Option<&dyn Merge>, values: &[&[u8]]) -> Vec<u8> {
    rule.and_then(|rule| fold(rule, values).ok()).unwrap_or_else(|| list(values))
}

/// Folds values, oldest first.
///
/// # Errors
/// [`Unfoldable`] if one can't be read or the rule refuses them.
pub fn fold(rule: &dyn Merge, values: &[&[u8]]) -> Result<Vec<u8>, Unfoldable> {
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        unpack(value, &mut parts).map_err(|_| Unfoldable("a value is damaged"))?;
    }
    fold_parts(rule, &parts)
}

/// A stored value on its way to a reader.
pub enum Presented<'a> {
    /// In the form that may be shown.
    Whole(Cow<'a, [u8]>),
    /// Operands that can't be made one value.
    Unfoldable(Unfoldable),
}

/// The form of a stored value that may be shown: itself, unless operands lie unfolded in it.
///
/// # Errors
/// `Corrupt` if it can't be read.
pub fn presentable<'a>(rule: Option<&dyn Merge>, value: &'a [u8]) -> Result<Presented<'a>> {
    if !is_listed(&ValueRef::decode(value)?) {
        return Ok(Presented::Whole(Cow::Borrowed(value)));
    }
    let mut parts = Vec::new();
    unpack(value, &mut parts)?;
    let folded =
        rule.ok_or(Unfoldable("the rule is unknown")).and_then(|rule| fold_parts(rule, &parts));
    Ok(match folded {
        Ok(folded) => Presented::Whole(Cow::Owned(folded)),
        Err(why) => Presented::Unfoldable(why),
    })
}

/// The whole values that lie unfolded in a value, oldest first.
///
/// # Errors
/// `Corrupt` if it can't be read; so may each of them be.
pub fn operands(value: &[u8]) -> Result<impl Iterator<Item = Result<&[u8]>>> {
    Ok(listed(ValueRef::decode(value)?.payload))
}

fn is_listed(value: &ValueRef<'_>) -> bool {
    value.flags.contains(Flags::UNFOLDED)
}

fn fold_parts(rule: &dyn Merge, parts: &[ValueRef<'_>]) -> Result<Vec<u8>, Unfoldable> {
    let (first, rest) = parts.split_first().ok_or(Unfoldable("nothing to fold"))?;
    let mut time = first.time;
    let mut together = None::<Vec<u8>>;
    for part in rest {
        time = time.max(part.time);
        let so_far = together.as_deref().unwrap_or(first.visibility);
        if so_far != part.visibility {
            let both = visibility::conjunction(so_far, part.visibility);
            if both.len() > VISIBILITY_BYTES_MAX {
                return Err(Unfoldable("the visibilities together are too long"));
            }
            together = Some(both);
        }
    }
    let visibility = together.as_deref().unwrap_or(first.visibility);
    let mut payload = Vec::with_capacity(first.payload.len());
    if rest.is_empty() {
        payload.extend_from_slice(first.payload);
    } else {
        let payloads: Vec<&[u8]> = parts.iter().map(|part| part.payload).collect();
        catch_unwind(AssertUnwindSafe(|| rule.fold(&payloads, &mut payload)))
            .map_err(|_| Unfoldable("the merge rule panicked"))??;
    }
    let mut folded = Vec::new();
    Value { flags: Flags::PLAIN, visibility, payload: &payload }.encode(time, &mut folded);
    Ok(folded)
}

/// Appends the values that `value` stands for: itself, or the list in it. Lists don't nest.
fn unpack<'a>(value: &'a [u8], parts: &mut Vec<ValueRef<'a>>) -> Result<()> {
    let whole = ValueRef::decode(value)?;
    if !is_listed(&whole) {
        parts.push(whole);
        return Ok(());
    }
    for part in listed(whole.payload) {
        parts.push(ValueRef::decode(part?)?);
    }
    Ok(())
}

fn list(values: &[&[u8]]) -> Vec<u8> {
    let mut payload = Vec::new();
    for value in values {
        match ValueRef::decode(value) {
            Ok(whole) if is_listed(&whole) => payload.extend_from_slice(whole.payload),
            _ => {
                payload.extend_from_slice(&(value.len() as u32).to_be_bytes());
                payload.extend_from_slice(value);
            }
        }
    }
    let mut out = Vec::new();
    Value { flags: Flags::UNFOLDED, visibility: b"", payload: &payload }
        .encode(Time::ZERO, &mut out);
    out
}

fn listed(mut rest: &[u8]) -> impl Iterator<Item = Result<&[u8]>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let part = rest.split_first_chunk().and_then(|(length, after)| {
            after.split_at_checked(u32::from_be_bytes(*length) as usize)
        });
        match part {
            Some((part, after)) => {
                rest = after;
                Some(Ok(part))
            }
            None => {
                rest = &[];
                Some(Err(Error::corrupt("list of unfolded operands is cut off")))
            }
        }
    })
}
