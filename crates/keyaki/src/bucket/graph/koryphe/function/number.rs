//! Functions on numbers. Whole ones wrap around, as Java's do.

use super::super::wrong_class;
use super::Function;
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

pub(super) fn on_two(function: &Function, input: &[Value]) -> Result<Vec<Value>> {
    let items = match input {
        [tuple] => tuple.items().unwrap_or(input),
        _ => input,
    };
    let number = |place: usize| match items.get(place) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Integer(number)) => Ok(Some(*number)),
        Some(other) => Err(wrong_class("Divide or Multiply", other)),
    };
    let (a, b) = (number(0)?, number(1)?);
    match (function, a) {
        (Function::Multiply, a) => Ok(vec![match (a, b) {
            (Some(a), Some(b)) => Value::Integer(a.wrapping_mul(b)),
            (Some(a), None) => Value::Integer(a),
            _ => Value::Null,
        }]),
        (_, None) => Ok(vec![Value::Null, Value::Null]),
        (_, Some(a)) => divide(&Value::Integer(a), b.unwrap_or(1).into()),
    }
}

/// Quotient and remainder.
pub(super) fn divide(value: &Value, by: i64) -> Result<Vec<Value>> {
    let Value::Integer(number) = value else {
        return match value {
            Value::Null => Ok(vec![Value::Null, Value::Null]),
            other => Err(wrong_class("Divide", other)),
        };
    };
    let by = i32::try_from(by).map_err(|_| Error::invalid("a divisor is too large"))?;
    if by == 0 {
        return Err(Error::invalid("division by zero"));
    }
    let parts = [number.wrapping_div(by), number.wrapping_rem(by)];
    Ok(parts.map(Value::Integer).to_vec())
}

pub(super) fn multiply_by(value: &Value, by: i64) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Integer(number) => Ok(Value::Integer(number.wrapping_mul(by as i32))),
        other => Err(wrong_class("MultiplyBy", other)),
    }
}

/// The result is of the increment's class.
pub(super) fn increment(value: &Value, by: &Value) -> Result<Value> {
    let whole = || value.as_integer().or_else(|| value.as_double().map(|number| number as i64));
    let wrong = || wrong_class("Increment", value);
    Ok(match by {
        _ if value.is_null() => by.clone(),
        Value::Null => value.clone(),
        Value::Integer(by) => Value::Integer(by.wrapping_add(whole().ok_or_else(wrong)? as i32)),
        Value::Long(by) => Value::Long(by.wrapping_add(whole().ok_or_else(wrong)?)),
        Value::Short(by) => Value::Short(by.wrapping_add(whole().ok_or_else(wrong)? as i16)),
        Value::Double(by) => Value::Double(by + value.as_double().ok_or_else(wrong)?),
        Value::Float(by) => Value::Float(by + value.as_double().ok_or_else(wrong)? as f32),
        other => return Err(wrong_class("Increment", other)),
    })
}
