//! What may be called what.

use crate::error::{Error, Result};

const DOMAIN_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
const BUCKET_BYTES_MAX: usize = 64;
const KEY_BYTES_MAX: usize = 1024;

/// A domain is named like a host: `en.wikipedia.org`.
///
/// # Errors
/// `Invalid` if this one is not.
pub fn check_domain(name: &str) -> Result<()> {
    let label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    match name.len() <= DOMAIN_BYTES_MAX && name.split('.').all(label) {
        true => Ok(()),
        false => Err(Error::invalid(
            "a domain's name is like a host's: letters a to z, digits and hyphens between dots",
        )
        .with("name", name)),
    }
}

/// A bucket's name fits into one label of a host's.
///
/// # Errors
/// `Invalid` if this one does not.
pub fn check_bucket(name: &str) -> Result<()> {
    let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let other = |b: u8| first(b) || b == b'_' || b == b'-';
    let fits = name.len() <= BUCKET_BYTES_MAX
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(other);
    match fits {
        true => Ok(()),
        false => Err(Error::invalid(
            "a bucket's name has letters a to z, digits, `_` and `-`, begins with a letter or digit, and is at most \
             64 long",
        )
        .with("name", name)),
    }
}

/// An item's key is any text without control characters.
///
/// # Errors
/// `Invalid` if this one is not.
pub fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid("a key has 1 to 1024 bytes").with("bytes", key.len()));
    }
    match key.chars().find(|c| c.is_control()) {
        Some(control) => Err(Error::invalid("a key has no control characters")
            .with("character", control.escape_unicode())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_like_hosts() {
        for good in ["en.wikipedia.org", "a", "x-1.2", "localhost"] {
            assert!(check_domain(good).is_ok(), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["", ".", "a..b", "-a", "a-", "A.org", "_system", "ä.de", "a b", "a/b", &long] {
            assert!(check_domain(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn buckets_have_no_dots() {
        for good in ["pages", "0_-", "a"] {
            assert!(check_bucket(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "a.b", "_a", "-a", "A", "ä", "a b", &long] {
            assert!(check_bucket(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_have_no_control_characters() {
        assert!(check_key("Fußball/2024 ♥").is_ok());
        for bad in ["", "a\0", "a\nb", "\u{7f}", "\u{85}", &"a".repeat(1025)] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
    }
}
