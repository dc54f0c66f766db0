//! Parameters of named operations and views: what is said of them, and how values take their places.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value as Json};

use super::NameKind;
use crate::bucket::graph::koryphe::Spec;
use crate::bucket::graph::value::short_name;
use crate::error::{Error, Result};

/// What all values that take places may have together, roughly, in bytes of text.
const FILLED_BYTES_MAX: usize = 32 << 20;

/// What is said of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// What it is for.
    pub description: String,
    /// What it is, unless it is said.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub default_value: Json,
    /// Java's name of its class.
    pub value_class: String,
    /// Whether it must be said.
    pub required: bool,
    /// What it can be, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Json>>,
}

impl Parameter {
    /// Reads it from its JSON.
    ///
    /// # Errors
    /// `Invalid` if description or class is missing, or it is required and has a default.
    pub fn from_json(name: &str, json: &Json) -> Result<Self> {
        let read = || {
            let spec = Spec::or_class(json, "ParameterDetail")?;
            let text =
                |field| spec.need(field).and(spec.text(field)).map(Option::unwrap_or_default);
            let parameter = Self {
                description: text("description")?.to_owned(),
                default_value: spec.get("defaultValue").cloned().unwrap_or_default(),
                value_class: text("valueClass")?.to_owned(),
                required: spec.flag("required")?.unwrap_or(false),
                options: spec.list("options")?.map(<[Json]>::to_vec),
            };
            if parameter.required && !parameter.default_value.is_null() {
                return Err(Error::invalid(
                    "required is true but a default value has been provided",
                ));
            }
            parameter.converted(&parameter.default_value)?;
            Ok(parameter)
        };
        read().map_err(|error: Error| error.with("parameter", name))
    }

    /// A value as one of the parameter's class, as Java's JSON reads it there.
    fn converted(&self, value: &Json) -> Result<Json> {
        let wrong = || {
            Error::invalid("a parameter is not of its class")
                .with("class", &self.value_class)
                .with("value", value)
        };
        let number = || match value {
            Json::Number(number) => Some(number.clone()),
            Json::String(text) => text.trim().parse::<Number>().ok(),
            _ => None,
        };
        if value.is_null() {
            return Ok(Json::Null);
        }
        match short_name(&self.value_class) {
            "Long" | "Integer" | "Short" | "Byte" => {
                let number = number().ok_or_else(wrong)?;
                let whole = number.as_i64().or_else(|| Some(number.as_f64()?.trunc() as i64));
                Ok(whole.ok_or_else(wrong)?.into())
            }
            "Double" | "Float" => number().map(Json::Number).ok_or_else(wrong),
            "Boolean" => match value {
                Json::Bool(_) => Ok(value.clone()),
                Json::String(text) if text == "true" || text == "false" => {
                    Ok((text == "true").into())
                }
                _ => Err(wrong()),
            },
            "String" => match value {
                Json::String(_) => Ok(value.clone()),
                Json::Number(_) | Json::Bool(_) => Ok(value.to_string().into()),
                _ => Err(wrong()),
            },
            _ => Ok(value.clone()),
        }
    }
}

/// The value of each parameter.
pub(super) fn values<'a>(
    kind: NameKind,
    parameters: &'a BTreeMap<String, Parameter>,
    given: Option<&Json>,
) -> Result<BTreeMap<&'a str, Json>> {
    let none = serde_json::Map::new();
    let given = match given {
        None => &none,
        Some(given) => given
            .as_object()
            .ok_or_else(|| Error::invalid("an object is wanted").with("at", "parameters"))?,
    };
    let is_operation = kind == NameKind::Operation;
    if let Some(name) = given.keys().find(|name| is_operation && !parameters.contains_key(*name)) {
        let unexpected = "Unexpected parameter name in NamedOperation";
        return Err(Error::invalid(unexpected).with("parameter", name));
    }
    let mut values = BTreeMap::new();
    for (name, parameter) in parameters {
        let value = match given.get(name) {
            Some(value) if is_operation => parameter.converted(value),
            Some(value) => Ok(value.clone()),
            // An operation may do without, a view not.
            None if !parameter.required && (is_operation || !parameter.default_value.is_null()) => {
                Ok(parameter.default_value.clone())
            }
            None => Err(Error::invalid("a parameter is missing that has no default")),
        };
        values.insert(name.as_str(), value.map_err(|error| error.with("parameter", name))?);
    }
    Ok(values)
}

/// Puts values in place of `"${name}"`.
///
/// # Errors
/// `Invalid` if the whole would become very large.
pub(super) fn fill(json: &Json, values: &BTreeMap<&str, Json>) -> Result<Json> {
    let sizes = values.iter().map(|(name, value)| (*name, value.to_string().len())).collect();
    Filler { values, sizes, left: FILLED_BYTES_MAX }.fill(json)
}

struct Filler<'a> {
    values: &'a BTreeMap<&'a str, Json>,
    sizes: BTreeMap<&'a str, usize>,
    left: usize,
}

impl<'a> Filler<'a> {
    fn fill(&mut self, json: &Json) -> Result<Json> {
        Ok(match json {
            Json::String(text) => self.value(text)?.cloned().unwrap_or_else(|| json.clone()),
            Json::Array(items) => {
                items.iter().map(|item| self.fill(item)).collect::<Result<Vec<_>>>()?.into()
            }
            Json::Object(fields) => {
                let mut filled = serde_json::Map::new();
                for (name, value) in fields {
                    let name = match self.value(name)? {
                        Some(Json::String(text)) => text.clone(),
                        _ => name.clone(),
                    };
                    filled.insert(name, self.fill(value)?);
                }
                filled.into()
            }
            other => other.clone(),
        })
    }

    /// What stands in place of a text, if it is a parameter.
    fn value(&mut self, text: &str) -> Result<Option<&'a Json>> {
        let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let Some((name, value)) = name.and_then(|name| self.values.get_key_value(name)) else {
            return Ok(None);
        };
        let size = self.sizes.get(name).copied().unwrap_or_default();
        let large = || Error::invalid("too much is filled in").with("most", FILLED_BYTES_MAX);
        self.left = self.left.checked_sub(size).ok_or_else(large)?;
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameters(json: &Json) -> BTreeMap<String, Parameter> {
        let read = |(name, json): (&String, &Json)| {
            (name.clone(), Parameter::from_json(name, json).unwrap())
        };
        json.as_object().unwrap().iter().map(read).collect()
    }

    #[test]
    fn values_are_given_or_default_and_of_their_class() {
        let known = parameters(&json!({
            "n": {"description": "", "valueClass": "java.lang.Long", "defaultValue": 5},
            "must": {"description": "", "valueClass": "java.lang.String", "required": true},
            "open": {"description": "", "valueClass": "java.lang.Object"}
        }));
        let of = |kind, given: &Json| values(kind, &known, Some(given));
        let operation = |given: &Json| of(NameKind::Operation, given);
        let got = operation(&json!({"must": 7})).unwrap();
        assert_eq!((&got["n"], &got["must"], &got["open"]), (&json!(5), &json!("7"), &Json::Null));
        assert_eq!(operation(&json!({"must": "", "n": "8"})).unwrap()["n"], json!(8));
        assert_eq!(operation(&json!({"must": "", "n": 8.7})).unwrap()["n"], json!(8));
        for (wrong, what) in [
            (json!({}), "missing"),
            (json!({"must": "", "n": "x"}), "class"),
            (json!({"must": "", "n": {"java.lang.Long": 1}}), "class"),
            (json!({"must": "", "other": 1}), "Unexpected"),
            (json!([]), "object"),
        ] {
            let refused = operation(&wrong).unwrap_err();
            assert!(refused.to_string().contains(what), "{wrong}: {refused}");
        }
        let view = |given: &Json| of(NameKind::View, given);
        assert!(view(&json!({"must": "a"})).is_err(), "a view needs all that has no default");
        assert!(view(&json!({"must": "a", "open": 1, "other": 2})).is_ok());
    }

    #[test]
    fn places_are_whole_texts_and_keys() {
        let values = BTreeMap::from([("a", json!("knows")), ("b", json!([1, 2]))]);
        let filled =
            fill(&json!({"${a}": "${b}", "x": ["${a}", "x${a}", "${c}"]}), &values).unwrap();
        assert_eq!(filled, json!({"knows": [1, 2], "x": ["knows", "x${a}", "${c}"]}));
        let large = BTreeMap::from([("a", json!("x".repeat(1 << 20)))]);
        assert!(fill(&json!(vec!["${a}"; 40]), &large).is_err());
    }
}
