//! Strings of elements. Most are short (ids, labels), so up to 22 bytes live in the value itself and
//! cost no allocation; longer ones are boxed.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

const INLINE_BYTES_MAX: usize = 22;

/// A string that is cheap to hold and to clone while it is short. Ordered as Java orders strings: by UTF-16 units.
pub struct Text(Repr);

enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_BYTES_MAX] },
    Boxed(Box<str>),
}

impl Text {
    /// The string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Inline { len, bytes } => {
                str::from_utf8(&bytes[..usize::from(*len)]).expect("made from a string")
            }
            Repr::Boxed(text) => text,
        }
    }

    /// Its UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Boxed(text) => text.as_bytes(),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl Text {
    /// Makes it the string of these bytes, written where it stays; answers whether they are one.
    #[inline]
    pub(super) fn set(&mut self, utf8: &[u8]) -> bool {
        match &mut self.0 {
            Repr::Inline { len, bytes } if utf8.len() <= INLINE_BYTES_MAX && utf8.is_ascii() => {
                *len = utf8.len() as u8;
                bytes[..utf8.len()].copy_from_slice(utf8);
                true
            }
            _ => str::from_utf8(utf8).map(|text| *self = text.into()).is_ok(),
        }
    }
}

impl Clone for Text {
    #[inline]
    fn clone(&self) -> Self {
        match &self.0 {
            Repr::Inline { len, bytes } => Self(Repr::Inline { len: *len, bytes: *bytes }),
            Repr::Boxed(text) => Self(Repr::Boxed(text.clone())),
        }
    }
}

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        if text.len() > INLINE_BYTES_MAX {
            return Self(Repr::Boxed(text.into()));
        }
        let mut bytes = [0; INLINE_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self(Repr::Inline { len: text.len() as u8, bytes })
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        match text.len() > INLINE_BYTES_MAX {
            true => Self(Repr::Boxed(text.into_boxed_str())),
            false => Self::from(text.as_str()),
        }
    }
}

impl Default for Text {
    #[inline]
    fn default() -> Self {
        Self(Repr::Inline { len: 0, bytes: [0; INLINE_BYTES_MAX] })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.as_bytes(), other.as_bytes());
        match a.iter().zip(b).find(|(a, b)| a != b) {
            // UTF-8 and UTF-16 order the same, but for what lies beyond U+FFFF: its surrogates come before U+E000.
            Some((a, b)) if *a >= 0xee || *b >= 0xee => {
                self.as_str().encode_utf16().cmp(other.as_str().encode_utf16())
            }
            Some((a, b)) => a.cmp(b),
            None => a.len().cmp(&b.len()),
        }
    }
}

/// Java's `String.hashCode`.
pub(super) fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_come_back_and_order_as_in_java() {
        for len in [0, 1, 21, 22, 23, 100] {
            let text = "é".repeat(len / 2) + if len % 2 == 1 { "x" } else { "" };
            assert_eq!(Text::from(text.as_str()).as_str(), text);
        }
        let mut texts = ["\u{1F600}", "\u{FFFD}", "b", "a\u{1F600}", "a", ""].map(Text::from);
        texts.sort();
        assert_eq!(texts, ["", "a", "a\u{1F600}", "b", "\u{1F600}", "\u{FFFD}"].map(Text::from));
        assert_eq!(size_of::<Text>(), 24);
        assert_eq!(java_hash("hello"), 99162322);
    }
}
