//! The one public error: a kind that tells the caller what to do, a constant message that logs
//! can be counted by, and context pairs that say what and where.
//!
//! A new kind needs a caller who would act differently on it.

use std::borrow::Cow;
use std::fmt;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It is not there.
    NotFound,
    /// Something else was faster: re-read and retry.
    Conflict,
    /// The request is wrong: mend it.
    Invalid,
    /// The caller may not do that: ask somebody who may.
    Forbidden,
    /// There is no room for it: remove something, or ask for more.
    Full,
    /// Not now: wait and retry.
    Unavailable,
    /// What is stored is damaged: stop, check, restore.
    Corrupt,
    /// This build or this engine can't do that.
    Unsupported,
    /// A bug of ours.
    Internal,
}

/// A failure with its context.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    message: &'static str,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure without context yet.
    #[must_use]
    pub fn new(kind: Kind, message: &'static str) -> Self {
        Self(Box::new(Inner { kind, message, context: Vec::new(), source: None }))
    }

    /// [`Kind::NotFound`].
    #[must_use]
    pub fn not_found(message: &'static str) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// [`Kind::Conflict`].
    #[must_use]
    pub fn conflict(message: &'static str) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// [`Kind::Invalid`].
    #[must_use]
    pub fn invalid(message: &'static str) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// [`Kind::Forbidden`].
    #[must_use]
    pub fn forbidden(message: &'static str) -> Self {
        Self::new(Kind::Forbidden, message)
    }

    /// [`Kind::Full`].
    #[must_use]
    pub fn full(message: &'static str) -> Self {
        Self::new(Kind::Full, message)
    }

    /// [`Kind::Unavailable`].
    #[must_use]
    pub fn unavailable(message: &'static str) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    /// [`Kind::Corrupt`].
    #[must_use]
    pub fn corrupt(message: &'static str) -> Self {
        Self::new(Kind::Corrupt, message)
    }

    /// [`Kind::Unsupported`].
    #[must_use]
    pub fn unsupported(message: &'static str) -> Self {
        Self::new(Kind::Unsupported, message)
    }

    /// [`Kind::Internal`].
    #[must_use]
    pub fn internal(message: &'static str) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// Adds a context pair.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Adds a context pair of bytes, shown as text where they are text and shortened where long.
    #[must_use]
    pub fn with_bytes(self, name: &'static str, bytes: &[u8]) -> Self {
        self.with(name, Excerpt(bytes))
    }

    /// Adds the failure below this one.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The constant message, without context.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// The value of a context pair.
    #[must_use]
    pub fn context(&self, name: &str) -> Option<&str> {
        self.0.context.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message)?;
        for (i, (name, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { " (" } else { ", " })?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        match &self.0.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Bytes for people: printable, and never a page long.
struct Excerpt<'a>(&'a [u8]);

const EXCERPT_BYTES_MAX: usize = 96;

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(EXCERPT_BYTES_MAX)];
        let text: Cow<'_, str> = String::from_utf8_lossy(shown);
        write!(f, "\"{}\"", text.escape_debug())?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "… and {more} more bytes"),
        }
    }
}
