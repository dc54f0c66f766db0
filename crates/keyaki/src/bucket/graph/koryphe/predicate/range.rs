//! Ranges of comparable values and of times, which one value lies in or two span.

use super::super::{Spec, date, wrong_class};
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

/// A range, open where a bound is null.
#[derive(Debug, Clone)]
pub struct Range {
    /// The lower bound.
    pub start: Value,
    /// The upper bound.
    pub end: Value,
    start_inclusive: bool,
    end_inclusive: bool,
    start_fully_contained: bool,
    end_fully_contained: bool,
}

impl Range {
    pub(super) fn from_spec(spec: &Spec<'_>) -> Result<Self> {
        let range = Self::bounded(spec, spec.value("start")?, spec.value("end")?)?;
        let (start, end) = (range.start.class(), range.end.class());
        if start.is_some() && end.is_some() && start != end {
            return Err(spec.wrong("start and end must be of one class", "end"));
        }
        Ok(range)
    }

    fn bounded(spec: &Spec<'_>, start: Value, end: Value) -> Result<Self> {
        Ok(Self {
            start,
            end,
            start_inclusive: spec.flag("startInclusive")?.unwrap_or(true),
            end_inclusive: spec.flag("endInclusive")?.unwrap_or(true),
            start_fully_contained: spec.flag("startFullyContained")?.unwrap_or(false),
            end_fully_contained: spec.flag("endFullyContained")?.unwrap_or(false),
        })
    }

    /// Whether what goes from `start` to `end` lies in the range, or overlaps it where that is enough.
    ///
    /// # Errors
    /// `Invalid` if the classes differ.
    pub fn holds(&self, start: &Value, end: &Value) -> Result<bool> {
        if start.is_null() || end.is_null() {
            return Ok(false);
        }
        let (start_after, end_after) = (self.after_start(start)?, self.after_start(end)?);
        let (start_before, end_before) = (self.before_end(start)?, self.before_end(end)?);
        let start_in = start_after && start_before;
        let end_in = end_after && end_before;
        let may_pass_start = !start_after && !self.start_fully_contained;
        let may_pass_end = !end_before && !self.end_fully_contained;
        Ok((start_in || may_pass_start) && (end_in || may_pass_end))
    }

    fn after_start(&self, value: &Value) -> Result<bool> {
        let Some(order) = order(value, &self.start)? else { return Ok(true) };
        Ok(order.is_gt() || (self.start_inclusive && order.is_eq()))
    }

    fn before_end(&self, value: &Value) -> Result<bool> {
        let Some(order) = order(value, &self.end)? else { return Ok(true) };
        Ok(order.is_lt() || (self.end_inclusive && order.is_eq()))
    }
}

fn order(value: &Value, bound: &Value) -> Result<Option<std::cmp::Ordering>> {
    match bound {
        Value::Null => Ok(None),
        bound => value.compare(bound).map(Some).ok_or_else(|| wrong_class("a range", value)),
    }
}

/// A range of times, perhaps relative to now.
#[derive(Debug, Clone)]
pub struct TimeRange {
    range: Range,
    dates: bool,
    unit_ms: f64,
    start: Bound,
    end: Bound,
}

/// A time and an offset to it, both in the range's unit.
#[derive(Debug, Clone, Copy)]
struct Bound {
    time: Option<i64>,
    offset: Option<i64>,
}

impl TimeRange {
    pub(super) fn from_spec(spec: &Spec<'_>, dates: bool) -> Result<Self> {
        let unit_ms = spec.text("timeUnit")?.map_or(Ok(1.0), date::unit_ms)?;
        if dates && unit_ms != 1.0 {
            return Err(spec.wrong("dates are in milliseconds", "timeUnit"));
        }
        let offset_unit = spec.text("offsetUnit")?.map_or(Ok(1.0), date::unit_ms)?;
        let zone = spec.text("timeZone")?.map_or(Ok(0), date::zone_offset_ms)?;
        let bound = |time, offset| {
            let time = spec.text(time)?.map(|text| date::parse(text, zone)).transpose()?;
            let offset = spec.integer(offset)?.map(|offset| (offset as f64 * offset_unit) as i64);
            Ok::<_, Error>(Bound {
                time: time.map(|time| in_unit(time, unit_ms)),
                offset: offset.map(|offset| in_unit(offset, unit_ms)),
            })
        };
        Ok(Self {
            range: Range::bounded(spec, Value::Null, Value::Null)?,
            dates,
            unit_ms,
            start: bound("start", "startOffset")?,
            end: bound("end", "endOffset")?,
        })
    }

    /// The range as it is now.
    #[must_use]
    pub fn at(&self, now_ms: i64) -> Range {
        let value = |bound: Bound| match (bound.time, bound.offset) {
            (None, None) => Value::Null,
            (time, offset) => {
                let time = time.unwrap_or_else(|| in_unit(now_ms, self.unit_ms));
                let time = time.saturating_add(offset.unwrap_or(0));
                if self.dates { Value::Date(time) } else { Value::Long(time) }
            }
        };
        Range { start: value(self.start), end: value(self.end), ..self.range.clone() }
    }
}

fn in_unit(millis: i64, unit_ms: f64) -> i64 {
    if unit_ms == 1.0 { millis } else { (millis as f64 / unit_ms) as i64 }
}
