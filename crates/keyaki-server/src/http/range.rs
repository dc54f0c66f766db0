//! Parts of content (RFC 9110, section 14): one range of bytes at a time. Who asks for several gets the whole, as the RFC
//! allows; so does who asks in a way that can't be read.

use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::request::Parts;
use http::{Method, header};
use keyaki::cell::Tid;

use super::problem::{self, Problem};

/// A date is as good as a tag once nothing else can have been written in its second.
const DATES_SETTLE: Duration = Duration::from_secs(1);

/// What is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// These bytes, at least one.
    Bytes(Range<usize>),
    /// There is nothing in the range.
    Nothing,
}

/// Whether a part is asked for: then nothing is compressed that need not be.
pub fn is_asked_for(request: &Parts) -> bool {
    request.method == Method::GET && request.headers.contains_key(header::RANGE)
}

/// The part that a request asks for of something that is `length` bytes long.
pub fn part(request: &Parts, (tid, tag): (Tid, &str), length: usize, now: SystemTime) -> Part {
    let mut ranges = request.headers.get_all(header::RANGE).iter();
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return Part::Whole };
    if !is_asked_for(request) || !is_same(request, (tid, tag), now) {
        return Part::Whole;
    }
    range.to_str().ok().and_then(|text| parse(text, length)).unwrap_or(Part::Whole)
}

/// Whether the caller means what is there now, if it says what it means.
fn is_same(request: &Parts, (tid, tag): (Tid, &str), now: SystemTime) -> bool {
    let mut values = request.headers.get_all(header::IF_RANGE).iter();
    let text = match (values.next(), values.next()) {
        (None, _) => return true,
        (Some(value), None) => value.to_str().unwrap_or_default().trim(),
        (Some(_), Some(_)) => return false,
    };
    if let Some(opaque) = text.strip_prefix('"') {
        return opaque.strip_suffix('"') == Some(tag);
    }
    let modified = UNIX_EPOCH + Duration::from_secs(tid.time().micros() / 1_000_000);
    httpdate::parse_http_date(text).is_ok_and(|date| date == modified)
        && now >= modified + DATES_SETTLE
}

/// Tells how long the content is that has no such part.
pub fn unsatisfiable(length: usize) -> Result<Problem, Problem> {
    let there = super::answer::value(format!("bytes */{length}"))?;
    let nothing = Problem::new(&problem::UNSATISFIABLE, "there is nothing in this range");
    Ok(nothing.with_header(header::CONTENT_RANGE, there))
}

/// None if it can't be read, or is several.
fn parse(text: &str, length: usize) -> Option<Part> {
    let (unit, range) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    match (first, last) {
        ("", last) => {
            let suffix = number(last)?;
            Some(match (suffix, length) {
                (0, _) => Part::Nothing,
                (_, 0) => Part::Whole,
                (suffix, length) => Part::Bytes(length.saturating_sub(suffix)..length),
            })
        }
        (first, last) => {
            let first = number(first)?;
            let last = if last.is_empty() { usize::MAX } else { number(last)? };
            if last < first {
                return None;
            }
            Some(match first < length {
                true => Part::Bytes(first..last.saturating_add(1).min(length)),
                false => Part::Nothing,
            })
        }
    }
}

/// Larger numbers than there are bytes mean the same as the largest.
fn number(digits: &str) -> Option<usize> {
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_to_the_letter() {
        for (text, expected) in [
            ("bytes=0-0", Part::Bytes(0..1)),
            ("bytes=2-", Part::Bytes(2..10)),
            ("bytes=-3", Part::Bytes(7..10)),
            ("bytes=-30", Part::Bytes(0..10)),
            ("Bytes=5-99999999999999999999999", Part::Bytes(5..10)),
            ("bytes=9-9", Part::Bytes(9..10)),
            ("bytes=10-", Part::Nothing),
            ("bytes=99999999999999999999999-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
        ] {
            assert_eq!(parse(text, 10), Some(expected), "{text}");
        }
        for text in [
            "bytes=5-4",
            "bytes=a-b",
            "bytes=-",
            "bytes=",
            "bytes",
            "items=0-1",
            "bytes=0-1,3-4",
            "bytes=+1-2",
            "bytes=1--2",
            "bytes=0x1-2",
            "bytes= ",
        ] {
            assert_eq!(parse(text, 10), None, "{text}");
        }
        assert_eq!(parse("bytes=-5", 0), Some(Part::Whole));
        assert_eq!(parse("bytes=0-", 0), Some(Part::Nothing));
    }
}
