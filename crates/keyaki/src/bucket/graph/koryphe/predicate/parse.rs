//! Predicates from their JSON.

use serde_json::Value as Json;

use super::super::pattern::Pattern;
use super::super::{Function, Spec, catalogue};
use super::{OrEqual, Predicate, Range, TimeRange};
use crate::bucket::graph::value::{Class, Set, SetKind, Value};
use crate::error::{Error, Result};

/// A predicate without a class is one that selects.
const ADAPTED: &str = "TupleAdaptedPredicate";
const YEAR_MS: i64 = 365 * 86_400_000;

impl Predicate {
    /// Reads `{"class": …, …}`.
    ///
    /// # Errors
    /// `Invalid` for an unknown class, or fields that it can't have.
    pub fn from_json(json: &Json) -> Result<Self> {
        let spec = Spec::or_class(json, ADAPTED)?.listed(catalogue::predicates(), "predicate")?;
        let or_equal = || Ok::<_, Error>(OrEqual(spec.flag("orEqualTo")?.unwrap_or(false)));
        let list = || {
            let items = spec.list("predicates")?.unwrap_or_default();
            items.iter().map(Self::from_json).collect::<Result<Vec<_>>>()
        };
        Ok(match spec.short() {
            "Exists" => Self::Exists,
            "IsA" => Self::IsA(spec.text("type")?.map_or(Ok(Class::Object), Class::named)?),
            "IsEqual" => Self::IsEqual(spec.value("value")?),
            "IsIn" => Self::IsIn(values(&spec)?.unwrap_or_else(|| Set::new(SetKind::Hash))),
            "IsMoreThan" => Self::IsMoreThan(control(&spec)?, or_equal()?),
            "IsLessThan" => Self::IsLessThan(control(&spec)?, or_equal()?),
            "IsTrue" => Self::IsTrue,
            "IsFalse" => Self::IsFalse,
            "Regex" => Self::Regex(Pattern::from_json(spec.need("value")?)?),
            "MultiRegex" => {
                let patterns = spec.list("value")?.unwrap_or_default();
                Self::MultiRegex(patterns.iter().map(Pattern::from_json).collect::<Result<_>>()?)
            }
            "StringContains" => Self::StringContains {
                value: spec.text("value")?.unwrap_or_default().into(),
                ignore_case: spec.flag("ignoreCase")?.unwrap_or(false),
            },
            "AgeOff" => Self::AgeOff(age_off(&spec)?),
            "AgeOffFromDays" => Self::AgeOffFromDays,
            "IsLongerThan" => {
                Self::IsLongerThan(spec.integer("minLength")?.unwrap_or(0), or_equal()?)
            }
            "IsShorterThan" => {
                Self::IsShorterThan(spec.integer("maxLength")?.unwrap_or(0), or_equal()?)
            }
            "IsXMoreThanY" => Self::IsXMoreThanY,
            "IsXLessThanY" => Self::IsXLessThanY,
            "AreEqual" => Self::AreEqual,
            "AreIn" => Self::AreIn {
                values: values(&spec)?,
                accept_when_empty: spec.flag("nullOrEmptyValuesAccepted")?.unwrap_or(true),
            },
            "CollectionContains" => Self::CollectionContains(spec.value("value")?),
            "MapContains" => Self::MapContains(spec.text("key")?.unwrap_or_default().into()),
            "MapContainsPredicate" => {
                Self::MapContainsPredicate(boxed(spec.need("keyPredicate")?)?)
            }
            "PredicateMap" => Self::Map(spec.value("key")?, boxed(spec.need("predicate")?)?),
            "InRange" | "InRangeDual" => Self::InRange(Box::new(Range::from_spec(&spec)?)),
            "InTimeRange" | "InTimeRangeDual" => {
                Self::InTimeRange(Box::new(TimeRange::from_spec(&spec, false)?))
            }
            "InDateRange" | "InDateRangeDual" => {
                Self::InTimeRange(Box::new(TimeRange::from_spec(&spec, true)?))
            }
            "HyperLogLogPlusIsLessThan" | "HllSketchIsLessThan" => {
                let bound = spec.value("value")?.as_double().unwrap_or(0.0);
                Self::SketchIsLessThan(bound as i64, or_equal()?)
            }
            "And" | "PredicateComposite" => Self::And(list()?),
            "Or" => Self::Or(list()?),
            "Not" => Self::Not(boxed(spec.need("predicate")?)?),
            "If" => {
                let part = |name| spec.get(name).map(Self::from_json).transpose();
                let parts = [part("predicate")?, part("then")?, part("otherwise")?];
                Self::If(Box::new(parts), spec.flag("condition")?)
            }
            "AdaptedPredicate" => {
                let predicate = Self::from_json(spec.need("predicate")?)?;
                match spec.get("inputAdapter") {
                    None => predicate,
                    Some(json) => {
                        Self::Adapted(Box::new(Function::from_json(json)?), Box::new(predicate))
                    }
                }
            }
            "TupleAdaptedPredicate" | "IntegerTupleAdaptedPredicate" => {
                Self::Selected(places(&spec)?, boxed(spec.need("predicate")?)?)
            }
            "ElementFilter" | "PropertiesFilter" | "TupleAdaptedPredicateComposite" => {
                Self::OnElement(filters(spec.list("predicates")?.unwrap_or_default())?)
            }
            _ => return Err(spec.unknown("predicate")),
        })
    }
}

/// Reads `[{"selection": […], "predicate": {…}}, …]`.
///
/// # Errors
/// `Invalid` if it is not such a list.
pub fn filters(list: &[Json]) -> Result<Vec<(Vec<Box<str>>, Predicate)>> {
    let filter = |json: &Json| {
        let spec = Spec::or_class(json, ADAPTED)?;
        let selection = spec.texts("selection")?.into_iter().map(Into::into).collect();
        Ok((selection, Predicate::from_json(spec.need("predicate")?)?))
    };
    list.iter().map(filter).collect()
}

fn boxed(json: &Json) -> Result<Box<Predicate>> {
    Predicate::from_json(json).map(Box::new)
}

fn control(spec: &Spec<'_>) -> Result<Value> {
    spec.need("value")?;
    spec.value("value")
}

fn values(spec: &Spec<'_>) -> Result<Option<Set>> {
    let Some(items) = spec.list("values")? else { return Ok(None) };
    let items = items.iter().map(Value::from_json).collect::<Result<_>>()?;
    Ok(Some(Set::of(SetKind::Hash, items)))
}

fn places(spec: &Spec<'_>) -> Result<Vec<usize>> {
    let wrong = || spec.wrong("a selection here counts what was selected outside", "selection");
    let items = spec.list("selection")?.unwrap_or_default();
    let place = |item: &Json| item.as_u64().and_then(|n| n.try_into().ok()).ok_or_else(wrong);
    items.iter().map(place).collect()
}

/// Milliseconds, days or hours.
fn age_off(spec: &Spec<'_>) -> Result<i64> {
    for (name, unit_ms) in
        [("ageOffTime", 1), ("ageOffDays", 86_400_000), ("ageOffHours", 3_600_000)]
    {
        if let Some(number) = spec.integer(name)? {
            return Ok(number.saturating_mul(unit_ms));
        }
    }
    Ok(YEAR_MS)
}
