//! Composite keys: parts one after the other, so that the whole orders as the tuple of its parts.
//!
//! | part         | bytes                           |
//! |--------------|---------------------------------|
//! | byte string  | `escape(bytes) 00`              |
//! | u32, u64     | 4 or 8 bytes, big endian        |
//! | fixed width  | the bytes, raw                  |
//! | typed value  | see `typed`: self-delimiting    |
//! | tail         | raw; only as the last part      |
//!
//! Invariant: no encoded part is a prefix of another of its kind, and one position of a key always
//! holds one kind, so a difference in one part is never decided by the bytes of the next. Which kinds
//! follow each other is known to whoever builds the key; the bytes don't say.

use std::borrow::Cow;

use super::key::{BadKey, END, escape_into, leading_run, unescape};
use super::typed::{self, TypedValue};

/// Writes a composite key.
///
/// ```
/// # use keyaki::cell::parts::{Parts, PartsReader};
/// let key = Parts::new().bytes(b"likes").u64(7).tail(b"home/42");
/// let mut parts = PartsReader::new(&key);
/// assert_eq!(parts.bytes().unwrap(), &b"likes"[..]);
/// assert_eq!(parts.u64(), Ok(7));
/// assert_eq!(parts.rest(), b"home/42");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parts(Vec<u8>);

impl Parts {
    /// An empty key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on where `bytes` ends; how one key buffer serves many keys.
    #[must_use]
    pub fn onto(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// A byte string of any length.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        escape_into(bytes, &mut self.0);
        self.0.push(END);
        self
    }

    /// Four bytes.
    #[must_use]
    pub fn u32(self, number: u32) -> Self {
        self.fixed(&number.to_be_bytes())
    }

    /// Eight bytes.
    #[must_use]
    pub fn u64(self, number: u64) -> Self {
        self.fixed(&number.to_be_bytes())
    }

    /// Bytes whose number never varies in this position: a tid, a digest, a time.
    #[must_use]
    pub fn fixed<const N: usize>(mut self, bytes: &[u8; N]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A value of any JSON type but object.
    #[must_use]
    pub fn typed(mut self, value: &TypedValue<'_>) -> Self {
        value.encode_into(&mut self.0);
        self
    }

    /// The key so far.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Ends the key with raw bytes, read back by [`PartsReader::rest`].
    #[must_use]
    pub fn tail(mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.extend_from_slice(bytes);
        self.0
    }

    /// Ends with what all keys share whose next part is a byte string that starts with `prefix`.
    #[must_use]
    pub fn bytes_prefix(mut self, prefix: &[u8]) -> Vec<u8> {
        escape_into(prefix, &mut self.0);
        self.0
    }

    /// Ends with what all keys share whose next part is a typed string that starts with `prefix`.
    #[must_use]
    pub fn string_prefix(mut self, prefix: &str) -> Vec<u8> {
        self.0.push(typed::STRING);
        self.bytes_prefix(prefix.as_bytes())
    }
}

/// Reads a composite key part by part. Never panics, whatever the bytes; after an error its place is
/// unspecified.
#[derive(Clone, Debug)]
pub struct PartsReader<'a> {
    key: &'a [u8],
    at: usize,
}

impl<'a> PartsReader<'a> {
    /// Starts at the first part.
    #[must_use]
    pub fn new(key: &'a [u8]) -> Self {
        Self { key, at: 0 }
    }

    /// A byte string; borrowed unless it holds escaped bytes.
    pub fn bytes(&mut self) -> Result<Cow<'a, [u8]>, BadKey> {
        let start = self.at;
        unescape(self.until(END)?).map_err(|bad| bad.further_by(start))
    }

    /// Undoes [`Parts::u32`].
    pub fn u32(&mut self) -> Result<u32, BadKey> {
        self.fixed().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// Undoes [`Parts::u64`].
    pub fn u64(&mut self) -> Result<u64, BadKey> {
        self.fixed().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// Undoes [`Parts::fixed`].
    pub fn fixed<const N: usize>(&mut self) -> Result<&'a [u8; N], BadKey> {
        let bytes = self.unread().first_chunk().ok_or(self.bad("a part is cut short"))?;
        self.at += N;
        Ok(bytes)
    }

    /// Undoes [`Parts::typed`].
    pub fn typed(&mut self) -> Result<TypedValue<'a>, BadKey> {
        TypedValue::decode(self)
    }

    /// Everything not yet read.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.unread()
    }

    /// Asserts that everything has been read.
    pub fn finish(self) -> Result<(), BadKey> {
        if self.unread().is_empty() { Ok(()) } else { Err(self.bad("bytes after the last part")) }
    }

    /// What lies before the next byte `end`; goes past that byte.
    pub(super) fn until(&mut self, end: u8) -> Result<&'a [u8], BadKey> {
        let unread = self.unread();
        let len = leading_run(unread, |byte| byte != end);
        if len == unread.len() {
            return Err(self.bad("a part has no end"));
        }
        self.at += len + 1;
        Ok(&unread[..len])
    }

    /// Goes past the next byte if it is `byte`.
    pub(super) fn skip_if(&mut self, byte: u8) -> bool {
        let found = self.unread().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    /// An error at the byte that would be read next.
    pub(super) fn bad(&self, reason: &'static str) -> BadKey {
        BadKey { offset: self.at, reason }
    }

    fn unread(&self) -> &'a [u8] {
        &self.key[self.at..]
    }
}
