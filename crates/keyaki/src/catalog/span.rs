//! Spans of time as people write them: `90s`, `15m`, `12h`, `7d`, `2w`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
const SECONDS_MAX: u64 = 1_000 * 365 * 86_400;

/// A span of whole seconds, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(Duration);

impl Span {
    /// Of so many seconds.
    #[must_use]
    pub const fn of_seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// How long it is.
    #[must_use]
    pub fn duration(self) -> Duration {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let unit = text.chars().next_back()?;
        let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let number = text.strip_suffix(unit)?;
        if !number.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let seconds = number.parse::<u64>().ok()?.checked_mul(seconds)?;
        (1..=SECONDS_MAX).contains(&seconds).then(|| Self::of_seconds(seconds))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let fits = UNITS.into_iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
        let (name, unit) = fits.unwrap_or(('s', 1));
        write!(f, "{}{name}", seconds / unit)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(SpanVisitor)
    }
}

struct SpanVisitor;

impl Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a span of time such as \"90s\", \"15m\", \"12h\", \"7d\" or \"2w\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
        Span::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// For how long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// For ever.
    Forever,
    /// For a while.
    For(Span),
}

impl Lasting {
    /// How long, unless for ever.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::Forever => None,
            Self::For(span) => Some(span.duration()),
        }
    }
}

impl Serialize for Lasting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Forever => serializer.serialize_str("forever"),
            Self::For(span) => span.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Lasting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match &text[..] {
            "forever" => Ok(Self::Forever),
            text => SpanVisitor.visit_str(text).map(Self::For),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_alike() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("12h", 43_200), ("2w", 1_209_600)] {
            let span = Span::parse(text).unwrap();
            assert_eq!((span.duration().as_secs(), &span.to_string()[..]), (seconds, text));
        }
        for bad in
            ["", "d", "0s", "-1d", "+1d", "1.5h", "1y", "7 d", "999999999999999999999w", "7é"]
        {
            assert_eq!(Span::parse(bad), None, "{bad}");
        }
    }
}
