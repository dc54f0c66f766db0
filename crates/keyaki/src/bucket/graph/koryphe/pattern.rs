//! Java's regular expressions on an engine that is linear in the text. What needs backtracking (look-around,
//! back-references) is refused.

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

use crate::error::{Error, Result};

/// Larger compiled patterns are refused.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// A pattern that must match the whole text.
    ///
    /// # Errors
    /// `Invalid` if it is not one we can run.
    pub fn whole(source: &str) -> Result<Self> {
        Self::compile(source, &format!("^(?:{source})$"))
    }

    /// A pattern that is looked for.
    ///
    /// # Errors
    /// `Invalid` if it is not one we can run.
    pub fn part(source: &str) -> Result<Self> {
        Self::compile(source, source)
    }

    fn compile(source: &str, pattern: &str) -> Result<Self> {
        let built = RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build();
        let regex = built.map_err(|error| {
            Error::invalid("not a regular expression that we can run")
                .with("pattern", source)
                .because(error)
        })?;
        Ok(Self(regex))
    }

    /// Reads `"…"` or `{"java.util.regex.Pattern": "…"}`.
    ///
    /// # Errors
    /// `Invalid` if it is not one we can run.
    pub fn from_json(json: &Json) -> Result<Self> {
        let inner = json.as_object().and_then(|fields| fields.values().next()).unwrap_or(json);
        let wrong = || Error::invalid("a pattern is a string").with("pattern", json);
        Self::whole(inner.as_str().ok_or_else(wrong)?)
    }

    /// Whether it matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The compiled pattern.
    #[must_use]
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}
