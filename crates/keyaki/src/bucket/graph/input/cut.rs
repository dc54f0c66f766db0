//! Where one element ends and the next begins, without reading what is in them: what has no end is found out here, all
//! else by those who read the elements.

use crate::error::{Error, Result};

/// Finds ends, byte by byte; remembers where it is from one piece of text to the next.
pub(super) enum Cut {
    /// At the ends of lines.
    Lines,
    /// At the ends of lines that are not between quotes.
    Records {
        quoted: bool,
    },
    Array(Array),
}

/// Where in an array it is.
#[derive(Default)]
pub(super) struct Array {
    place: Place,
    last: Last,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    After,
}

/// What it has met last.
#[derive(Default, PartialEq, Eq)]
enum Last {
    #[default]
    Start,
    Element,
    Comma,
}

impl Cut {
    pub fn array() -> Self {
        Self::Array(Array::default())
    }

    pub fn records() -> Self {
        Self::Records { quoted: false }
    }

    /// Leaves out what comes before the first element.
    pub fn begin<'a>(&mut self, text: &'a [u8]) -> Result<&'a [u8]> {
        let Self::Array(array) = self else { return Ok(text) };
        if array.place != Place::Before {
            return Ok(text);
        }
        match text.trim_ascii_start() {
            [] => Ok(&[]),
            [b'[', rest @ ..] => {
                array.place = Place::Inside;
                Ok(rest)
            }
            _ => Err(Error::invalid("an array of elements is wanted")),
        }
    }

    /// How long the element is that the text goes on with, if it ends there.
    pub fn end(&mut self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => text.iter().position(|byte| *byte == b'\n'),
            Self::Records { quoted } => text.iter().position(|byte| {
                *quoted ^= *byte == b'"';
                *byte == b'\n' && !*quoted
            }),
            Self::Array(array) if array.place == Place::Inside => {
                text.iter().position(|byte| array.ends_at(*byte))
            }
            Self::Array(_) => None,
        }
    }

    /// An element ended, with this byte.
    pub fn ended(&mut self, byte: u8) -> Result<()> {
        let Self::Array(array) = self else { return Ok(()) };
        match byte {
            b',' if array.last == Last::Element => {
                array.last = Last::Comma;
                Ok(())
            }
            b',' => Err(Error::invalid("an element is missing before a comma")),
            _ => {
                array.place = Place::After;
                Ok(())
            }
        }
    }

    /// There was an element.
    pub fn something(&mut self) {
        if let Self::Array(array) = self {
            array.last = Last::Element;
        }
    }

    /// There was none.
    pub fn nothing(&self) -> Result<()> {
        match self {
            Self::Array(array) if array.last == Last::Comma => {
                Err(Error::invalid("an element is missing behind a comma"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what comes after the last element.
    pub fn after(&self, text: &[u8]) -> Result<()> {
        match self.is_over() && !text.trim_ascii().is_empty() {
            true => Err(Error::invalid("there is more behind the array")),
            false => Ok(()),
        }
    }

    /// Whether nothing may come any more, nor has begun.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Array(Array { place: Place::After | Place::Before, .. }))
    }
}

impl Array {
    pub fn is_ended(&self) -> bool {
        self.place == Place::After
    }

    fn ends_at(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' if self.depth == 0 => return true,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        false
    }
}
