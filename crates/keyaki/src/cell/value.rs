//! What every stored value starts with: format version, flags, commit time and visibility.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | format version, now 1 |
//! | 1 | flags |
//! | 8 | commit time, microseconds since the Unix epoch, big endian |
//! | 1 or 2 | length of the visibility: below 128 in one byte, else two, high bit set, big endian |
//! | … | visibility, an access expression |
//! | … | payload, to the end |
//!
//! The header is read on every scanned cell, so it is parsed in place and never copied.

use super::time::Time;
use crate::error::{Error, Result};

/// The version this build writes; it refuses any other.
pub const FORMAT_VERSION: u8 = 1;
/// The longest visibility a value can carry.
pub const VISIBILITY_BYTES_MAX: usize = 8 << 10;

const TIME_AT: usize = 2;
const VISIBILITY_AT: usize = 10;
const LONG_LENGTH: u8 = 0x80;

/// What a value is, beyond its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// An ordinary value.
    pub const PLAIN: Self = Self(0);
    /// Operands kept side by side, because the rule that folds them was not known or failed:
    /// the payload is a list of whole values. Only engines write this.
    pub const UNFOLDED: Self = Self(1);
    /// The head of a value that the store keeps in several cells.
    pub const CHUNKED: Self = Self(2);
    /// One of the cells that follow such a head.
    pub const CHUNK: Self = Self(4);

    /// Whether all of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A value to be written; its commit gives it the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Value<'a> {
    /// See [`Flags`].
    pub flags: Flags,
    /// Who may see it; empty is everybody.
    pub visibility: &'a [u8],
    /// What it says.
    pub payload: &'a [u8],
}

impl<'a> Value<'a> {
    /// A value that everybody may see.
    #[must_use]
    pub fn open(payload: &'a [u8]) -> Self {
        Self { payload, ..Self::default() }
    }

    /// A value for those whose authorisations satisfy `visibility`.
    #[must_use]
    pub fn visible_to(visibility: &'a [u8], payload: &'a [u8]) -> Self {
        Self { flags: Flags::PLAIN, visibility, payload }
    }

    /// Length once encoded.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let length_bytes = if self.visibility.len() < usize::from(LONG_LENGTH) { 1 } else { 2 };
        VISIBILITY_AT + length_bytes + self.visibility.len() + self.payload.len()
    }

    /// Appends header and payload. The visibility must have been checked for its length.
    pub fn encode(&self, time: Time, out: &mut Vec<u8>) {
        debug_assert!(self.visibility.len() <= VISIBILITY_BYTES_MAX);
        out.reserve(self.encoded_len());
        out.push(FORMAT_VERSION);
        out.push(self.flags.0);
        out.extend_from_slice(&time.to_bytes());
        let [high, low] = (self.visibility.len() as u16).to_be_bytes();
        if high == 0 && low < LONG_LENGTH {
            out.push(low);
        } else {
            out.extend_from_slice(&[high | LONG_LENGTH, low]);
        }
        out.extend_from_slice(self.visibility);
        out.extend_from_slice(self.payload);
    }
}

/// A stored value, read in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueRef<'a> {
    /// When its commit was made.
    pub time: Time,
    /// See [`Flags`].
    pub flags: Flags,
    /// Who may see it; empty is everybody.
    pub visibility: &'a [u8],
    /// What it says.
    pub payload: &'a [u8],
}

impl<'a> ValueRef<'a> {
    /// Reads a stored value.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are no value of this format version.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        Self::parse(bytes).ok_or_else(|| damaged(bytes))
    }

    /// Time and flags of bytes that [`Self::decode`] has accepted before.
    #[inline]
    pub(crate) fn header(accepted: &[u8]) -> (Time, Flags) {
        let time = accepted[TIME_AT..VISIBILITY_AT].try_into().expect("eight bytes were cut");
        (Time::from_bytes(time), Flags(accepted[1]))
    }

    #[inline(always)]
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[version, flags], _) = bytes.split_first_chunk::<TIME_AT>()?;
        if version != FORMAT_VERSION {
            return None;
        }
        let time = Time::from_bytes(bytes.get(TIME_AT..VISIBILITY_AT)?.try_into().ok()?);
        let (length, start) = match *bytes.get(VISIBILITY_AT)? {
            short if short < LONG_LENGTH => (usize::from(short), VISIBILITY_AT + 1),
            high => {
                let low = *bytes.get(VISIBILITY_AT + 1)?;
                (usize::from(u16::from_be_bytes([high & !LONG_LENGTH, low])), VISIBILITY_AT + 2)
            }
        };
        let (visibility, payload) = bytes.get(start..)?.split_at_checked(length)?;
        Some(Self { time, flags: Flags(flags), visibility, payload })
    }
}

#[cold]
fn damaged(bytes: &[u8]) -> Error {
    Error::corrupt("value header is damaged or of another format").with_bytes("value", bytes)
}
