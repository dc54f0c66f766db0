//! Functions on strings. Nothing stays nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::wrong_class;
use super::Function;
use crate::bucket::graph::value::{ListKind, Value};
use crate::error::{Error, Result};

pub(super) fn apply(function: &Function, value: Value) -> Result<Value> {
    let text = match (function, &value) {
        (_, Value::Null) => return Ok(Value::Null),
        (Function::Lower, other) => return Ok(other.to_string().to_lowercase().into()),
        (Function::Upper, other) => return Ok(other.to_string().to_uppercase().into()),
        (Function::Base64Decode, Value::Bytes(bytes)) => {
            let decoded = STANDARD.decode(bytes).map_err(|_| Error::invalid("not base64"))?;
            return Ok(Value::Bytes(decoded.into()));
        }
        (_, Value::String(text)) => text.as_str(),
        (_, other) => return Err(wrong_class("a function on strings", other)),
    };
    let list = |parts: Vec<&str>| {
        Value::listed(ListKind::Fixed, parts.into_iter().map(Value::from).collect())
    };
    Ok(match function {
        Function::Trim => text.trim_matches(|char: char| char <= ' ').into(),
        Function::Reverse => text.chars().rev().collect::<String>().into(),
        Function::Append(suffix) => format!("{text}{suffix}").into(),
        Function::Prepend(prefix) => format!("{prefix}{text}").into(),
        Function::Replace(search, _) if search.is_empty() => text.into(),
        Function::Replace(search, replacement) => text.replace(&**search, replacement).into(),
        Function::RegexReplace(pattern, replacement) => {
            pattern.regex().replace_all(text, &**replacement).into_owned().into()
        }
        // Each character separates, and empty parts are left out.
        Function::Split(delimiters) => {
            let separates = |char: char| match delimiters.is_empty() {
                true => char.is_whitespace(),
                false => delimiters.contains(char),
            };
            list(text.split(separates).filter(|part| !part.is_empty()).collect())
        }
        Function::RegexSplit(pattern) => {
            let mut parts: Vec<&str> = pattern.regex().split(text).collect();
            while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
                parts.pop();
            }
            list(parts)
        }
        Function::Truncate { length, ellipses } => {
            let units: Vec<u16> = text.encode_utf16().collect();
            let cut = String::from_utf16_lossy(&units[..units.len().min(*length)]);
            let more = if *ellipses && units.len() > *length { "..." } else { "" };
            (cut + more).into()
        }
        Function::ToBytes => Value::Bytes(text.as_bytes().into()),
        _ => value,
    })
}
