//! Fields of JSON objects, where schemas and views are read.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

pub(super) fn object<'a>(json: &'a Json, what: &'static str) -> Result<&'a Map<String, Json>> {
    json.as_object().ok_or_else(|| Error::invalid("an object is wanted").with("at", what))
}

pub(super) fn known(fields: &Map<String, Json>, known: &[&str], at: &'static str) -> Result<()> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::invalid("an unknown field").with("field", name).with("at", at)),
    }
}

pub(super) fn there(fields: &Map<String, Json>, name: &str) -> Option<Json> {
    fields.get(name).filter(|json| !json.is_null()).cloned()
}

pub(super) fn text(fields: &Map<String, Json>, name: &'static str) -> Result<Option<String>> {
    let wrong = || Error::invalid("a string is wanted").with("at", name);
    let field = fields.get(name).filter(|json| !json.is_null());
    field.map(|json| json.as_str().map(str::to_owned).ok_or_else(wrong)).transpose()
}

pub(super) fn list(fields: &Map<String, Json>, name: &'static str) -> Result<Vec<Json>> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(items)) => Ok(items.clone()),
        Some(_) => Err(Error::invalid("a list is wanted").with("at", name)),
    }
}

pub(super) fn texts(fields: &Map<String, Json>, name: &'static str) -> Result<Vec<String>> {
    let wrong = || Error::invalid("a list of strings is wanted").with("at", name);
    list(fields, name)?.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

pub(super) fn named<T>(
    fields: &Map<String, Json>,
    name: &'static str,
    read: impl Fn(&str, &Json) -> Result<T>,
) -> Result<BTreeMap<String, T>> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(BTreeMap::new()),
        Some(json) => {
            let read = |(key, json): (&String, &Json)| {
                let read = read(key, json).map_err(|error| error.with("in", key));
                read.map(|it| (key.clone(), it))
            };
            object(json, name)?.iter().map(read).collect()
        }
    }
}
