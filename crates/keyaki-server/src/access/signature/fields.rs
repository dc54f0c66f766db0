//! Header lines as RFC 9421 and RFC 9651 read them: one value per name, and dictionaries.
//!
//! A value is printable ASCII with inner tabs at most, so no value can pretend to be two lines of a
//! signature base. A line break can't occur: `HeaderValue` refuses it, so a folded line (obs-fold)
//! was refused, or replaced by spaces, by whoever built the `HeaderMap`.

use std::fmt;

use http::{HeaderMap, HeaderName};
use sfv::visitor::{DictionaryVisitor, EntryVisitor};
use sfv::{Dictionary, KeyRef, Parser};

use super::error::Fault;

/// All lines of a name as one value: each trimmed, joined by a comma and a space. `None` if there
/// is no such line.
pub(super) fn joined(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Fault> {
    let mut lines = Vec::new();
    for line in headers.get_all(name) {
        let line = line.to_str().map_err(|_| Fault::Unprintable(quoted(name)))?;
        lines.push(line.trim_matches([' ', '\t']));
    }
    Ok(if lines.is_empty() { None } else { Some(lines.join(", ")) })
}

fn quoted(name: &HeaderName) -> String {
    format!("\"{name}\"")
}

/// The dictionary that a field's value is. RFC 9651 lets the last of equal keys win; we refuse
/// them, since no honest sender repeats a key and a proxy may see the first.
pub(super) fn dictionary(field: &'static str, value: &str) -> Result<Dictionary, Fault> {
    Parser::new(value)
        .parse_dictionary_with_visitor(Unique(Dictionary::new()))
        .map_err(|fault| Fault::Field { field, reason: fault.to_string() })
}

struct Unique(Dictionary);

impl<'de> DictionaryVisitor<'de> for Unique {
    type Out = Dictionary;
    type Error = Repeated;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Repeated> {
        if self.0.contains_key(key) {
            return Err(Repeated(key.to_string()));
        }
        DictionaryVisitor::entry(&mut self.0, key).map_err(|never| match never {})
    }

    fn finish(self) -> Result<Dictionary, Repeated> {
        Ok(self.0)
    }
}

#[derive(Debug)]
struct Repeated(String);

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key {:?} stands there twice", self.0)
    }
}

impl std::error::Error for Repeated {}
