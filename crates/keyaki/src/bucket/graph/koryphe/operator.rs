//! Koryphe's binary operators: how two values of a property become one.
//!
//! Nothing and a value is the value. All of these are associative, so elements may be folded in any grouping;
//! those that look at the order (`First`, `Last`, the concatenations) see it as the cells are sorted.

use serde_json::Value as Json;

use super::{Function, Spec, catalogue, function, wrong_class};
use crate::bucket::graph::value::{Class, ListKind, Text, Value};
use crate::cell::visibility;
use crate::error::{Error, Result};

/// An operator.
#[derive(Debug, Clone)]
pub enum BinaryOperator {
    /// The sum of two numbers of one class; shorts stop at their largest.
    Sum,
    /// The product, likewise.
    Product,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// The earlier.
    First,
    /// The later.
    Last,
    /// Both truths.
    And,
    /// Either truth.
    Or,
    /// One string after the other.
    StringConcat(Box<str>),
    /// The parts of both strings, each once.
    StringDeduplicateConcat(Box<str>),
    /// One collection after the other; the union, if they are sets.
    CollectionConcat,
    /// What is in both collections.
    CollectionIntersect,
    /// Maps, entry by entry.
    Map(Box<BinaryOperator>),
    /// Frequencies, summed.
    FreqMap,
    /// What two sketches of a class have seen.
    Sketch(Class),
    /// Two labels, of which both must be satisfied.
    VisibilityAnd,
    /// One after the other, each with the same input.
    Composite(Vec<BinaryOperator>),
    /// On what functions make of both, and through another afterwards.
    Adapted(Box<Adapted>),
    /// Of two tuples, the places that are named.
    Tuple(Vec<(Box<str>, BinaryOperator)>),
}

/// An operator between functions.
#[derive(Debug, Clone)]
pub struct Adapted {
    input: Option<Function>,
    operator: BinaryOperator,
    output: Option<Function>,
}

impl BinaryOperator {
    /// Reads `{"class": …}`.
    ///
    /// # Errors
    /// `Invalid` for an unknown class or field.
    pub fn from_json(json: &Json) -> Result<Self> {
        let spec = Spec::new(json)?.listed(catalogue::operators(), "binary operator")?;
        let separator = || Ok::<_, Error>(spec.text("separator")?.unwrap_or(",").into());
        let operator = match spec.short() {
            "Sum" => Self::Sum,
            "Product" => Self::Product,
            "Min" => Self::Min,
            "Max" => Self::Max,
            "First" => Self::First,
            "Last" => Self::Last,
            "And" => Self::And,
            "Or" => Self::Or,
            "StringConcat" => Self::StringConcat(separator()?),
            "StringDeduplicateConcat" => Self::StringDeduplicateConcat(separator()?),
            "CollectionConcat" | "IterableMerge" => Self::CollectionConcat,
            "CollectionIntersect" => Self::CollectionIntersect,
            "BinaryOperatorMap" => {
                Self::Map(Box::new(Self::from_json(spec.need("binaryOperator")?)?))
            }
            "FreqMapAggregator" => Self::FreqMap,
            "HyperLogLogPlusAggregator" => Self::Sketch(Class::HyperLogLogPlus),
            "HllSketchAggregator" => Self::Sketch(Class::HllSketch),
            "HllUnionAggregator" => Self::Sketch(Class::HllUnion),
            "SketchAggregator" => Self::Sketch(Class::ThetaSketch),
            "UnionAggregator" => Self::Sketch(Class::ThetaUnion),
            "KllFloatsSketchAggregator" => Self::Sketch(Class::KllFloatsSketch),
            "LongsSketchAggregator" => Self::Sketch(Class::LongsSketch),
            "StringsSketchAggregator" => Self::Sketch(Class::ItemsSketch),
            "VisibilityAnd" => Self::VisibilityAnd,
            "BinaryOperatorComposite" => {
                let list = spec.list("operators")?.unwrap_or_default();
                Self::Composite(list.iter().map(Self::from_json).collect::<Result<_>>()?)
            }
            "AdaptedBinaryOperator" => {
                let output = spec.get("outputAdapter").map(output_adapter).transpose()?;
                Self::Adapted(Box::new(Adapted {
                    input: spec.get("inputAdapter").map(Function::from_json).transpose()?,
                    operator: Self::from_json(spec.need("binaryOperator")?)?,
                    output: output.flatten(),
                }))
            }
            "TupleAdaptedBinaryOperator" => Self::Tuple(vec![Self::on_place(json)?]),
            "TupleAdaptedBinaryOperatorComposite" | "ElementAggregator" => {
                let list = spec.list("operators")?.unwrap_or_default();
                Self::Tuple(list.iter().map(Self::on_place).collect::<Result<_>>()?)
            }
            _ => return Err(spec.unknown("binary operator")),
        };
        Ok(operator)
    }

    /// Reads `{"selection": ["place"], "binaryOperator": …}`.
    ///
    /// # Errors
    /// `Invalid` for another number of places, or an unknown class.
    pub fn on_place(json: &Json) -> Result<(Box<str>, Self)> {
        let spec = Spec::or_class(json, "TupleAdaptedBinaryOperator")?;
        let operator = Self::from_json(spec.need("binaryOperator")?)?;
        match spec.texts("selection")?.as_slice() {
            [place] => Ok(((*place).into(), operator)),
            places => Err(Error::invalid("an aggregator takes one property")
                .with("selection", format!("{places:?}"))),
        }
    }

    /// Whether properties of the class can be folded with it.
    #[must_use]
    pub fn takes(&self, class: Class) -> bool {
        match self {
            Self::Sum | Self::Product => class.is_number() && class != Class::Byte,
            Self::Min | Self::Max => class.is_comparable(),
            Self::First | Self::Last => true,
            Self::And | Self::Or => class == Class::Boolean,
            Self::StringConcat(_) | Self::StringDeduplicateConcat(_) | Self::VisibilityAnd => {
                class == Class::String
            }
            Self::CollectionConcat | Self::CollectionIntersect => class.is_a(Class::Collection),
            Self::Map(_) => class.is_a(Class::Map),
            Self::FreqMap => class == Class::FreqMap,
            Self::Sketch(own) => class == *own,
            Self::Composite(operators) => operators.iter().all(|operator| operator.takes(class)),
            Self::Adapted(_) => true,
            Self::Tuple(_) => class.is_a(Class::Map),
        }
    }

    /// Folds `input` into `state`.
    ///
    /// # Errors
    /// `Invalid` if they are not of a class that it takes.
    #[inline]
    pub fn apply(&self, state: &mut Value, input: Value) -> Result<()> {
        if let (Self::Sum, Value::Long(a), Value::Long(b)) = (self, &mut *state, &input) {
            *a = a.wrapping_add(*b);
            return Ok(());
        }
        if let Self::Composite(_) | Self::Adapted(_) | Self::Tuple(_) = self {
            return self.apply_to_any(state, input);
        }
        if input.is_null() {
            return Ok(());
        }
        if state.is_null() {
            *state = input;
            return Ok(());
        }
        self.apply_to_both(state, input)
    }

    /// Those that are asked about nothing too, and leave it to the operators inside.
    fn apply_to_any(&self, state: &mut Value, input: Value) -> Result<()> {
        match self {
            Self::Composite(operators) => {
                operators.iter().try_for_each(|operator| operator.apply(state, input.clone()))
            }
            Self::Adapted(adapted) => {
                let adapt = |value: Value| match &adapted.input {
                    Some(function) => function.apply_one(value, 0),
                    None => Ok(value),
                };
                let mut folded = adapt(std::mem::take(state))?;
                adapted.operator.apply(&mut folded, adapt(input)?)?;
                *state = match &adapted.output {
                    Some(function) => function.apply_one(folded, 0)?,
                    None => folded,
                };
                Ok(())
            }
            Self::Tuple(_) if state.is_null() => {
                *state = input;
                Ok(())
            }
            Self::Tuple(operators) => {
                for (place, operator) in operators {
                    let mut folded = function::place(state, place);
                    operator.apply(&mut folded, function::place(&input, place))?;
                    function::put(state, place, folded)?;
                }
                Ok(())
            }
            _ => self.apply_to_both(state, input),
        }
    }

    fn apply_to_both(&self, state: &mut Value, input: Value) -> Result<()> {
        match self {
            Self::Sum => sum(state, &input),
            Self::Product => product(state, &input),
            Self::Min | Self::Max => {
                let keep = match (self, state.compare(&input)) {
                    (_, None) => return Err(wrong_class("Min or Max", &input)),
                    (Self::Min, Some(order)) => order.is_le(),
                    (_, Some(order)) => order.is_ge(),
                };
                if !keep {
                    *state = input;
                }
                Ok(())
            }
            Self::First => Ok(()),
            Self::Last => {
                *state = input;
                Ok(())
            }
            Self::And | Self::Or => logic(matches!(self, Self::And), state, &input),
            Self::StringConcat(separator) => {
                join(state, input, |a, b| format!("{a}{separator}{b}"))
            }
            Self::StringDeduplicateConcat(separator) => {
                join(state, input, |a, b| deduplicated(a, b, separator))
            }
            Self::VisibilityAnd => join(state, input, |a, b| {
                let both = visibility::conjunction(a.as_bytes(), b.as_bytes());
                String::from_utf8_lossy(&both).into_owned()
            }),
            Self::CollectionConcat => concat(state, input),
            Self::CollectionIntersect => intersect(state, &input),
            Self::Map(operator) => fold_maps(operator, state, input),
            Self::FreqMap => fold_maps(&Self::Sum, state, input),
            Self::Sketch(_) => match (state, input) {
                (Value::HyperLogLog(state), Value::HyperLogLog(input)) => state.merge(&input),
                (Value::Sketch(state), Value::Sketch(input)) => state.merge(&input),
                (_, input) => Err(wrong_class("a sketch", &input)),
            },
            Self::Composite(_) | Self::Adapted(_) | Self::Tuple(_) => {
                self.apply_to_any(state, input)
            }
        }
    }
}

/// The function in the wrapper that Koryphe has around it.
fn output_adapter(json: &Json) -> Result<Option<Function>> {
    let spec = Spec::new(json)?;
    match spec.short() {
        "StateAgnosticOutputAdapter" => spec.get("adapter").map(Function::from_json).transpose(),
        _ => Err(spec.unknown("output adapter")),
    }
}

fn sum(state: &mut Value, input: &Value) -> Result<()> {
    match (&mut *state, input) {
        (Value::Long(a), Value::Long(b)) => *a = a.wrapping_add(*b),
        (Value::Integer(a), Value::Integer(b)) => *a = a.wrapping_add(*b),
        (Value::Double(a), Value::Double(b)) => *a += b,
        (Value::Float(a), Value::Float(b)) => *a += b,
        (Value::Short(a), Value::Short(b)) => *a = capped(i32::from(*a) + i32::from(*b)),
        _ => return Err(wrong_class("Sum", input)),
    }
    Ok(())
}

fn product(state: &mut Value, input: &Value) -> Result<()> {
    match (&mut *state, input) {
        (Value::Long(a), Value::Long(b)) => *a = a.wrapping_mul(*b),
        (Value::Integer(a), Value::Integer(b)) => *a = a.wrapping_mul(*b),
        (Value::Double(a), Value::Double(b)) => *a *= b,
        (Value::Float(a), Value::Float(b)) => *a *= b,
        (Value::Short(a), Value::Short(b)) => *a = capped(i32::from(*a) * i32::from(*b)),
        _ => return Err(wrong_class("Product", input)),
    }
    Ok(())
}

/// Koryphe stops at the largest short, but not at the smallest.
fn capped(number: i32) -> i16 {
    number.min(i16::MAX.into()) as i16
}

fn logic(and: bool, state: &mut Value, input: &Value) -> Result<()> {
    match (&mut *state, input) {
        (Value::Boolean(a), Value::Boolean(b)) => *a = if and { *a && *b } else { *a || *b },
        _ => return Err(wrong_class("And or Or", input)),
    }
    Ok(())
}

fn join(state: &mut Value, input: Value, join: impl Fn(&str, &str) -> String) -> Result<()> {
    let (Value::String(a), Value::String(b)) = (&*state, &input) else {
        return Err(wrong_class("strings", &input));
    };
    *state = Value::String(Text::from(join(a.as_str(), b.as_str())));
    Ok(())
}

fn deduplicated(a: &str, b: &str, separator: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for text in [a, b] {
        for part in split(text.strip_prefix(separator).unwrap_or(text), separator) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.join(separator)
}

/// As Java splits: without the empty parts at the end, except if there is nothing else.
pub(super) fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    if separator.is_empty() {
        return vec![text];
    }
    let mut parts: Vec<&str> = text.split(separator).collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}

fn concat(state: &mut Value, input: Value) -> Result<()> {
    let more = match input {
        Value::List(list) => list.items,
        Value::Set(set) => set.into_items(),
        other => return Err(wrong_class("a collection", &other)),
    };
    match state {
        Value::Set(set) => set.extend(more),
        Value::List(list) if list.kind == ListKind::List => list.items.extend(more),
        other => return Err(wrong_class("a collection", other)),
    }
    Ok(())
}

fn intersect(state: &mut Value, input: &Value) -> Result<()> {
    let kept = input.items().ok_or_else(|| wrong_class("a collection", input))?;
    match state {
        Value::Set(set) => set.retain(|item| kept.contains(item)),
        Value::List(list) => list.items.retain(|item| kept.contains(item)),
        other => return Err(wrong_class("a collection", other)),
    }
    Ok(())
}

fn fold_maps(operator: &BinaryOperator, state: &mut Value, input: Value) -> Result<()> {
    match (state, input) {
        (Value::Map(state), Value::Map(input)) => {
            for (key, value) in input.entries() {
                operator.apply(state.entry(key.clone()), value.clone())?;
            }
        }
        (Value::FreqMap(state), Value::FreqMap(input)) => {
            for (key, count) in *input {
                let mut sum = state.get(&key).map_or(Value::Null, |count| Value::Long(*count));
                operator.apply(&mut sum, Value::Long(count))?;
                if let Value::Long(sum) = sum {
                    state.insert(key, sum);
                }
            }
        }
        (_, input) => return Err(wrong_class("a map", &input)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operators_fold_as_koryphes_do() {
        let long = |number: i64| json!({"java.lang.Long": number});
        let freq = |json: Json| json!({"uk.gov.gchq.gaffer.types.FreqMap": json});
        for (operator, state, input, folded) in [
            (json!({"class": "Sum"}), long(1), long(2), long(3)),
            (json!({"class": "Sum"}), json!(null), long(2), long(2)),
            (
                json!({"class": "Sum"}),
                json!({"Short": 32000}),
                json!({"Short": 32000}),
                json!({"java.lang.Short": 32767}),
            ),
            (json!({"class": "Product"}), json!(3), json!(4), json!(12)),
            (json!({"class": "Min"}), json!("b"), json!("a"), json!("a")),
            (json!({"class": "Max"}), json!("b"), json!(null), json!("b")),
            (json!({"class": "First"}), json!("b"), json!("a"), json!("b")),
            (json!({"class": "Last"}), json!("b"), json!("a"), json!("a")),
            (json!({"class": "And"}), json!(true), json!(false), json!(false)),
            (json!({"class": "Or"}), json!(true), json!(false), json!(true)),
            (
                json!({"class": "StringConcat", "separator": "-"}),
                json!("a"),
                json!("b"),
                json!("a-b"),
            ),
            (
                json!({"class": "StringDeduplicateConcat"}),
                json!("a,b"),
                json!("b,c"),
                json!("a,b,c"),
            ),
            (
                json!({"class": "CollectionConcat"}),
                json!({"TreeSet": ["b"]}),
                json!({"TreeSet": ["a"]}),
                json!({"java.util.TreeSet": ["a", "b"]}),
            ),
            (
                json!({"class": "CollectionIntersect"}),
                json!({"TreeSet": ["a", "b"]}),
                json!({"TreeSet": ["b"]}),
                json!({"java.util.TreeSet": ["b"]}),
            ),
            (
                json!({"class": "BinaryOperatorMap", "binaryOperator": {"class": "Sum"}}),
                json!({"HashMap": {"a": 1}}),
                json!({"HashMap": {"a": 2, "b": 3}}),
                json!({"java.util.HashMap": {"a": 3, "b": 3}}),
            ),
            (
                json!({"class": "FreqMapAggregator"}),
                freq(json!({"a": 1})),
                freq(json!({"a": 2, "b": 3})),
                freq(json!({"a": 3, "b": 3})),
            ),
            (json!({"class": "VisibilityAnd"}), json!("a"), json!("b|c"), json!("a&(b|c)")),
            (
                json!({"class": "BinaryOperatorComposite", "operators": [{"class": "Sum"}, {"class": "Product"}]}),
                json!(3),
                json!(4),
                json!(28),
            ),
            (
                json!({"class": "BinaryOperatorComposite", "operators": [{"class": "Sum"}, {"class": "Product"}]}),
                json!(null),
                json!(4),
                json!(16),
            ),
            (
                json!({
                    "class": "AdaptedBinaryOperator",
                    "inputAdapter": {"class": "ToLong"},
                    "binaryOperator": {"class": "Sum"},
                    "outputAdapter": {"class": "StateAgnosticOutputAdapter", "adapter": {"class": "ToString"}}
                }),
                json!("3"),
                json!("4"),
                json!("7"),
            ),
            (
                json!({
                    "class": "TupleAdaptedBinaryOperatorComposite",
                    "operators": [{"selection": ["a"], "binaryOperator": {"class": "Sum"}}]
                }),
                json!({"HashMap": {"a": 1, "b": 5}}),
                json!({"HashMap": {"a": 2, "b": 6}}),
                json!({"java.util.HashMap": {"a": 3, "b": 5}}),
            ),
        ] {
            let mut value = Value::from_json(&state).unwrap();
            let fold = BinaryOperator::from_json(&operator).unwrap();
            fold.apply(&mut value, Value::from_json(&input).unwrap()).unwrap();
            assert_eq!(value.to_json(), folded, "{operator}");
        }
        let sum = BinaryOperator::from_json(&json!({"class": "Sum"})).unwrap();
        assert!(sum.apply(&mut Value::Long(1), Value::Integer(1)).is_err(), "classes do not mix");
        assert!(
            BinaryOperator::from_json(&json!({"class": "Sum", "other": 1})).is_ok(),
            "as in Gaffer"
        );
    }
}
