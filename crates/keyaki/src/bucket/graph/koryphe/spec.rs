//! The JSON of a predicate, operator or function: `{"class": …, fields…}`.

use serde_json::{Map, Value as Json};

use super::catalogue::{self, Known};
use crate::bucket::graph::value::{Value, short_name};
use crate::error::{Error, Result};

/// A JSON object that names its class.
#[derive(Debug, Clone, Copy)]
pub struct Spec<'a> {
    /// The class as it was written.
    pub class: &'a str,
    /// All of it.
    pub json: &'a Json,
    fields: &'a Map<String, Json>,
}

impl<'a> Spec<'a> {
    /// What is said of a class that nobody knows.
    pub const UNKNOWN: &'static str = "an unknown class";

    /// Reads the class.
    ///
    /// # Errors
    /// `Invalid` if it is not an object with a class.
    pub fn new(json: &'a Json) -> Result<Self> {
        let wrong = || Error::invalid("an object with a class is wanted").with("json", json);
        let fields = json.as_object().ok_or_else(wrong)?;
        let class = fields.get("class").and_then(Json::as_str).ok_or_else(wrong)?;
        Ok(Self { class, json, fields })
    }

    /// Like [`Self::new`], with a class for objects that have none.
    ///
    /// # Errors
    /// `Invalid` if it is not an object.
    pub fn or_class(json: &'a Json, class: &'static str) -> Result<Self> {
        let wrong = || Error::invalid("an object is wanted").with("json", json);
        let fields = json.as_object().ok_or_else(wrong)?;
        let class = fields.get("class").and_then(Json::as_str).unwrap_or(class);
        Ok(Self { class, json, fields })
    }

    /// The last part of the class name.
    #[must_use]
    pub fn short(&self) -> &'a str {
        short_name(self.class)
    }

    /// Whether the class is written in full, and in a package whose name has the part.
    #[must_use]
    pub fn is_in(&self, package: &str) -> bool {
        self.class.contains('.') && self.class.contains(package)
    }

    /// Refuses a class that is not listed.
    ///
    /// # Errors
    /// `Invalid`, naming it.
    pub fn listed(self, known: &'static [Known], what: &'static str) -> Result<Self> {
        catalogue::find_in(known, self.class).map(|_| self).ok_or_else(|| self.unknown(what))
    }

    /// An unknown class.
    #[must_use]
    pub fn unknown(&self, what: &'static str) -> Error {
        Error::invalid(Self::UNKNOWN).with("class", self.class).with("at", what)
    }

    /// An error in one of the fields.
    #[must_use]
    pub fn wrong(&self, message: &'static str, field: &str) -> Error {
        Error::invalid(message).with("class", self.class).with("at", field)
    }

    /// A field that is there and not null.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a Json> {
        self.fields.get(name).filter(|json| !json.is_null())
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// `Invalid` if it is not.
    pub fn need(&self, name: &str) -> Result<&'a Json> {
        self.get(name).ok_or_else(|| self.wrong("a field is missing", name))
    }

    /// A truth value, which may also be written as a string.
    ///
    /// # Errors
    /// `Invalid` for something else.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(*flag)),
            Some(Json::String(text)) if text == "true" => Ok(Some(true)),
            Some(Json::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(self.wrong("a truth value is wanted", name)),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// `Invalid` for something else.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        let wrong = || self.wrong("a string is wanted", name);
        self.get(name).map(|json| json.as_str().ok_or_else(wrong)).transpose()
    }

    /// A whole number, perhaps in its wrapper.
    ///
    /// # Errors
    /// `Invalid` for something else.
    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        let wrong = || self.wrong("a whole number is wanted", name);
        let Some(json) = self.get(name) else { return Ok(None) };
        let value = Value::from_json(json).map_err(|_| wrong())?;
        value.as_integer().map(Some).ok_or_else(wrong)
    }

    /// A value, perhaps in its wrapper; null if it is not there.
    ///
    /// # Errors
    /// `Invalid` if it can't be read.
    pub fn value(&self, name: &str) -> Result<Value> {
        let json = self.get(name);
        json.map_or(Ok(Value::Null), Value::from_json).map_err(|error| error.with("at", name))
    }

    /// A list of strings; one string is a list of one.
    ///
    /// # Errors
    /// `Invalid` for something else.
    pub fn texts(&self, name: &str) -> Result<Vec<&'a str>> {
        let wrong = || self.wrong("strings are wanted", name);
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Json::String(text)) => Ok(vec![text]),
            Some(Json::Array(items)) => {
                items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// A list of JSON; none if it is not there.
    ///
    /// # Errors
    /// `Invalid` for something else.
    pub fn list(&self, name: &str) -> Result<Option<&'a [Json]>> {
        let wrong = || self.wrong("a list is wanted", name);
        self.get(name).map(|json| json.as_array().map(Vec::as_slice).ok_or_else(wrong)).transpose()
    }
}
