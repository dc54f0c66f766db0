//! What a predicate can be asked about, so that a schema or a view is refused when it is made and not when it
//! is used.

use super::Predicate;
use crate::bucket::graph::value::Class;
use crate::error::{Error, Result};

impl Predicate {
    /// Refuses classes that it can't be asked about; `None` is a class nobody knows.
    ///
    /// # Errors
    /// `Invalid`, with the class.
    pub fn check(&self, classes: &[Option<Class>]) -> Result<()> {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().try_for_each(|it| it.check(classes)),
            Self::Not(predicate) => predicate.check(classes),
            Self::If(parts, _) => parts.iter().flatten().try_for_each(|it| it.check(classes)),
            Self::Selected(places, predicate) => {
                let picked: Vec<_> =
                    places.iter().map(|place| classes.get(*place).copied().flatten()).collect();
                predicate.check(&picked)
            }
            Self::Adapted(function, _) => function.check_input(classes),
            Self::IsXMoreThanY | Self::IsXLessThanY => {
                let known = takes(classes, &[Class::Comparable, Class::Comparable])?;
                match known.as_slice() {
                    [Some(x), Some(y)] if x != y => {
                        Err(Error::invalid("inputs must be of one class")
                            .with("class", x.full_name())
                            .with("other", y.full_name()))
                    }
                    _ => Ok(()),
                }
            }
            Self::AreEqual => takes(classes, &[Class::Object, Class::Object]).map(|_| ()),
            Self::AgeOffFromDays => takes(classes, &[Class::Long, Class::Integer]).map(|_| ()),
            Self::IsMoreThan(bound, _) | Self::IsLessThan(bound, _) => {
                takes(classes, &[bound.class().unwrap_or(Class::Comparable)]).map(|_| ())
            }
            Self::SketchIsLessThan(..) => match takes(classes, &[Class::Object])?[0] {
                Some(class) if !matches!(class, Class::HyperLogLogPlus | Class::HllSketch) => {
                    Err(not_taken(class))
                }
                _ => Ok(()),
            },
            Self::InRange(_) | Self::InTimeRange(_) => match classes.len() {
                1 | 2 => Ok(()),
                count => Err(wrong_number(1, count)),
            },
            Self::IsLongerThan(..) | Self::IsShorterThan(..) => {
                let known = takes(classes, &[Class::Object])?;
                match known[0] {
                    Some(class) if !has_length(class) => Err(not_taken(class)),
                    _ => Ok(()),
                }
            }
            _ => takes(classes, &[self.wants()]).map(|_| ()),
        }
    }

    /// The class of the one value it is asked about.
    fn wants(&self) -> Class {
        match self {
            Self::IsTrue | Self::IsFalse => Class::Boolean,
            Self::Regex(_) | Self::MultiRegex(_) | Self::StringContains { .. } => Class::String,
            Self::AgeOff(_) => Class::Long,
            Self::AreIn { .. } | Self::CollectionContains(_) => Class::Collection,
            Self::MapContains(_) | Self::MapContainsPredicate(_) | Self::Map(..) => Class::Map,
            _ => Class::Object,
        }
    }
}

fn has_length(class: Class) -> bool {
    matches!(class, Class::String | Class::Object | Class::Array)
        || class.is_a(Class::Collection)
        || class.is_a(Class::Map)
}

fn takes(classes: &[Option<Class>], wanted: &[Class]) -> Result<Vec<Option<Class>>> {
    if classes.len() != wanted.len() {
        return Err(wrong_number(wanted.len(), classes.len()));
    }
    for (class, wanted) in classes.iter().zip(wanted) {
        if let Some(class) = class
            && !class.is_a(*wanted)
        {
            return Err(not_taken(*class).with("wanted", wanted.full_name()));
        }
    }
    Ok(classes.to_vec())
}

fn not_taken(class: Class) -> Error {
    Error::invalid("the class is not compatible with the function").with("class", class.full_name())
}

fn wrong_number(wanted: usize, given: usize) -> Error {
    Error::invalid("the number of selected values is not what the function takes")
        .with("wanted", wanted)
        .with("given", given)
}
