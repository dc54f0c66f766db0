//! What can be said about values? Koryphe's predicates, binary operators and functions, in its JSON.
//!
//! `spec` reads what they all share: a class name, short or full, and fields. A class that we do not have is
//! `Invalid` and named. Values of the wrong class are `Invalid` where Java would throw.

pub mod catalogue;
pub mod date;
pub mod function;
pub mod operator;
mod pattern;
pub mod predicate;
mod spec;

pub use function::{Csv, Definition, Function};
pub use operator::BinaryOperator;
pub use predicate::Predicate;
pub use spec::Spec;

use super::value::Value;
use crate::error::Error;

/// What Java's `ClassCastException` is to us.
#[cold]
pub(in crate::bucket::graph) fn wrong_class(what: &'static str, value: &Value) -> Error {
    let class = value.class().map_or("null", super::value::Class::full_name);
    Error::invalid("a value of a class that this can't take").with("at", what).with("class", class)
}
