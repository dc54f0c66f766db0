//! Spans of time that moments fall into, in UTC.

use super::super::date::{civil_from_days, days_from_civil};
use super::super::wrong_class;
use crate::bucket::graph::value::Value;
use crate::error::Result;

const DAY_MS: i64 = 86_400_000;

/// How long a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBucket {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    /// From Monday on.
    Week,
    Month,
    Year,
}

impl TimeBucket {
    /// By Gaffer's name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "MILLISECOND" => Self::Millisecond,
            "SECOND" => Self::Second,
            "MINUTE" => Self::Minute,
            "HOUR" => Self::Hour,
            "DAY" => Self::Day,
            "WEEK" => Self::Week,
            "MONTH" => Self::Month,
            "YEAR" => Self::Year,
            _ => return None,
        })
    }

    /// The first or the last millisecond of the span that a time falls into.
    pub(super) fn apply(self, value: &Value, end: bool, date: bool) -> Result<Value> {
        let time = match value {
            Value::Null => return Ok(Value::Null),
            Value::Date(time) | Value::Long(time) => *time,
            other => return Err(wrong_class("a time", other)),
        };
        let found = if end { self.next(time) - 1 } else { self.start(time) };
        Ok(if date { Value::Date(found) } else { Value::Long(found) })
    }

    fn start(self, time: i64) -> i64 {
        let down = |span: i64| time - time.rem_euclid(span);
        let (year, month, _) = civil_from_days(time.div_euclid(DAY_MS));
        match self {
            Self::Millisecond => time,
            Self::Second => down(1000),
            Self::Minute => down(60_000),
            Self::Hour => down(3_600_000),
            Self::Day => down(DAY_MS),
            Self::Week => {
                // The first day of 1970 was a Thursday.
                let days = time.div_euclid(DAY_MS);
                (days - (days + 3).rem_euclid(7)) * DAY_MS
            }
            Self::Month => days_from_civil(year, month.into(), 1) * DAY_MS,
            Self::Year => days_from_civil(year, 1, 1) * DAY_MS,
        }
    }

    fn next(self, time: i64) -> i64 {
        let start = self.start(time);
        let (year, month, _) = civil_from_days(start.div_euclid(DAY_MS));
        match self {
            Self::Millisecond => start + 1,
            Self::Second => start + 1000,
            Self::Minute => start + 60_000,
            Self::Hour => start + 3_600_000,
            Self::Day => start + DAY_MS,
            Self::Week => start + 7 * DAY_MS,
            Self::Month => days_from_civil(year, i64::from(month) + 1, 1) * DAY_MS,
            Self::Year => days_from_civil(year + 1, 1, 1) * DAY_MS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::graph::koryphe::date::parse;

    #[test]
    fn times_fall_into_spans() {
        let at = |text| parse(text, 0).unwrap();
        let time = at("2024-02-29 23:59:59.999");
        for (bucket, start, next) in [
            ("SECOND", "2024-02-29 23:59:59", "2024-03-01"),
            ("HOUR", "2024-02-29 23", "2024-03-01"),
            ("WEEK", "2024-02-26", "2024-03-04"),
            ("MONTH", "2024-02-01", "2024-03-01"),
            ("YEAR", "2024-01-01", "2025-01-01"),
        ] {
            let bucket = TimeBucket::named(bucket).unwrap();
            let given = |end, date| bucket.apply(&Value::Long(time), end, date).unwrap();
            assert_eq!(given(false, false), Value::Long(at(start)), "{bucket:?}");
            assert_eq!(given(true, true), Value::Date(at(next) - 1), "{bucket:?}");
        }
        assert!(TimeBucket::Day.apply(&"x".into(), false, false).is_err());
    }
}
