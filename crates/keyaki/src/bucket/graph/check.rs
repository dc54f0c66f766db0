//! What must hold of a graph's cells in a store that nobody has open: each edge lies under both its ends and says the
//! same there, and no graph holds more than is counted for it. What its rules no longer keep may be gone in part.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::form::{Copies, Form};
use super::key::{KeyPackage, Ways};
use super::recount::measure;
use super::rules;
use super::schema::Schema;
use super::select::Slot;
use super::value::Value;
use crate::bucket::Usage;
use crate::cell::{Time, ValueRef, value::Flags};
use crate::engine::{BucketId, CellRef, SpaceId, SpaceRecord};
use crate::error::{Error, Result};
use crate::store::Closed;

/// How far sums of the same numbers may be apart that were added in another order.
const ROUNDING: f64 = 1e-6;

/// Graphs that are looked at, cell by cell.
pub struct GraphCheck {
    now: Time,
    /// Graphs that are known from elsewhere than their spaces' rules.
    known: HashMap<BucketId, (Arc<Schema>, &'static dyn KeyPackage)>,
    forms: HashMap<SpaceId, Option<Form>>,
    graphs: BTreeMap<BucketId, Seen>,
}

/// What was seen of a graph.
#[derive(Default)]
struct Seen {
    counted: Usage,
    told: Usage,
    /// Whether all its elements could be read.
    partly: bool,
}

impl GraphCheck {
    /// By the rules as they are at a time.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { now, known: HashMap::new(), forms: HashMap::new(), graphs: BTreeMap::new() }
    }

    /// Tells of a graph what the rules of its spaces may not.
    pub fn learn(
        &mut self,
        bucket: BucketId,
        schema: Arc<Schema>,
        package: &'static dyn KeyPackage,
    ) {
        self.known.insert(bucket, (schema, package));
    }

    /// Looks at a cell, which may be of no graph.
    ///
    /// # Errors
    /// `Corrupt` if it has not its like under the edge's other end.
    pub fn cell(
        &mut self,
        closed: &Closed<'_>,
        record: &SpaceRecord,
        cell: &CellRef<'_>,
    ) -> Result<()> {
        let bucket = record.spec.bucket;
        if let Some(told) = Usage::told_by(record, cell)? {
            let seen = self.graphs.entry(bucket).or_default();
            seen.told = seen.told.plus(told);
            return Ok(());
        }
        if !rules::is_group(&record.spec) {
            return Ok(());
        }
        let Some(form) = form(&mut self.forms, &self.known, record) else {
            self.graphs.entry(bucket).or_default().partly = true;
            return Ok(());
        };
        let Some(element) = form.read(cell, Ways::all(), Copies::Unmatched)? else {
            return Ok(());
        };
        let now_ms = (self.now.micros() / 1000) as i64;
        if !form.group.is_valid(&element, now_ms).unwrap_or(false) {
            return Ok(());
        }
        let seen = self.graphs.entry(bucket).or_default();
        seen.counted = seen.counted.plus(measure(form, cell)?);
        match form.other_place(cell)? {
            Some(place) if is_certain(form) => {
                let other = closed.find(record.id, &place.partition, &place.sort)?;
                let found = other.ok_or_else(|| {
                    Error::corrupt("an edge is missing under its other end")
                        .with("group", form.group.name())
                })?;
                compare(form, cell, &found)
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with graphs as a whole.
    #[must_use]
    pub fn end(&self) -> Vec<Error> {
        let wrong = self.graphs.iter().filter(|(_, seen)| {
            !seen.partly
                && seen.counted.items > 0
                && (seen.counted.items > seen.told.items || seen.counted.bytes > seen.told.bytes)
        });
        wrong
            .map(|(bucket, seen)| {
                Error::corrupt("a graph holds more than is counted for it")
                    .with("bucket", bucket.0)
                    .with("items", seen.counted.items)
                    .with("counted_items", seen.told.items)
                    .with("bytes", seen.counted.bytes)
                    .with("counted_bytes", seen.told.bytes)
            })
            .collect()
    }
}

fn form<'a>(
    forms: &'a mut HashMap<SpaceId, Option<Form>>,
    known: &HashMap<BucketId, (Arc<Schema>, &'static dyn KeyPackage)>,
    record: &SpaceRecord,
) -> Option<&'a Form> {
    let find = || {
        let (schema, package) = known.get(&record.spec.bucket)?;
        let group = schema.groups().find(|group| rules::label(group) == record.spec.label)?;
        Some(Form { group: Arc::clone(group), vertices: schema.vertices(), package: *package })
    };
    let form = forms.entry(record.id);
    form.or_insert_with(|| rules::told_by(&record.spec).or_else(find)).as_ref()
}

/// Whether both cells of an edge must say the same. Where validate functions judge what was folded, each cell is swept by
/// itself, and what is folded in between finds the rest of one and nothing of the other.
fn is_certain(form: &Form) -> bool {
    let folded =
        |slot: &Slot| matches!(slot, Slot::Property(at) if form.group.stored().contains(at));
    let mut slots = form.group.validators().iter().flat_map(|filter| &filter.selection);
    !form.group.aggregates() || !slots.any(folded)
}

/// Refuses two cells of one edge that do not say the same. Operands that can't be folded say nothing.
fn compare(form: &Form, cell: &CellRef<'_>, other: &[u8]) -> Result<()> {
    let other = ValueRef::decode(other)?;
    if other.flags.contains(Flags::UNFOLDED) || other.payload == cell.payload() {
        return Ok(());
    }
    let read = |payload| -> Result<Vec<Value>> {
        let mut properties = vec![Value::Null; form.group.classes().len()];
        form.group.decode_properties(payload, &mut properties)?;
        Ok(properties)
    };
    let (here, there) = (read(cell.payload())?, read(other.payload)?);
    let differs = here.iter().zip(&there).position(|(here, there)| !is_like(here, there));
    match differs {
        None => Ok(()),
        Some(slot) => Err(Error::corrupt("an edge says something else under its other end")
            .with("group", form.group.name())
            .with("property", &form.group.shape().names[slot])),
    }
}

/// Numbers with a point may be rounded differently: which were added first is the engine's own business.
fn is_like(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(_) | Value::Double(_), Value::Float(_) | Value::Double(_)) => {
            let (one, other) = (one.as_double().unwrap_or(0.0), other.as_double().unwrap_or(0.0));
            one == other
                || one.is_nan() && other.is_nan()
                || (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
        }
        // What a sketch forgets first depends on what it saw first.
        (Value::Sketch(one), Value::Sketch(other)) => {
            is_like(&Value::Double(one.estimate()), &Value::Double(other.estimate()))
        }
        (Value::Map(one), Value::Map(other)) => {
            let (one, other) = (one.entries(), other.entries());
            one.len() == other.len()
                && one.iter().zip(other).all(|(a, b)| a.0 == b.0 && is_like(&a.1, &b.1))
        }
        (one, other) => one == other,
    }
}
