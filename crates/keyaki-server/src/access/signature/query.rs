//! `@query-param`: one parameter of the query (RFC 9421, section 2.2.8).
//!
//! Names and values are decoded as a form's and encoded anew, so that `a+b`, `a%20b` and `a%20%62`
//! are the same to signer and verifier. Bytes that are no UTF-8 stay what they are: two different
//! values never look alike.

use std::fmt::Write;

/// The encoded values of all parameters with this encoded name.
pub(super) fn values(query: &str, name: &str) -> Vec<String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(key, _)| encoded_anew(key) == name)
        .map(|(_, value)| encoded_anew(value))
        .collect()
}

fn encoded_anew(text: &str) -> String {
    let mut encoded = String::new();
    for byte in decoded(text) {
        if byte.is_ascii_alphanumeric() || b"*-._".contains(&byte) {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes any text");
        }
    }
    encoded
}

fn decoded(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, tail @ ..] = rest {
        let (byte, tail) = match (first, tail) {
            (b'+', _) => (b' ', tail),
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'%', tail),
            },
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    bytes
}

fn digit(byte: u8) -> Option<u8> {
    // A hexadecimal digit is below 16.
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        let query = "var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace\
                     &fa%C3%A7ade%22%3A%20=something&qux=";
        assert_eq!(values(query, "var"), ["this%20is%20a%20big%0Amultiline%20value"]);
        assert_eq!(values(query, "bar"), ["with%20plus%20whitespace"]);
        assert_eq!(values(query, "fa%C3%A7ade%22%3A%20"), ["something"]);
        assert_eq!(values(query, "qux"), [""]);
    }

    #[test]
    fn spelling_does_not_matter_and_bytes_do() {
        assert_eq!(values("%61=%62", "a"), ["b"]);
        assert_eq!(values("a=%7e~", "a"), ["%7E%7E"]);
        assert_eq!(values("a=%ff", "a"), ["%FF"]);
        assert_eq!(values("a=100%&b=%zz&c=%4", "a"), ["100%25"]);
        assert_eq!(values("a=100%&b=%zz&c=%4", "b"), ["%25zz"]);
        assert_eq!(values("a=100%&b=%zz&c=%4", "c"), ["%254"]);
    }

    #[test]
    fn every_occurrence_is_found() {
        assert_eq!(values("a=1&&%61=2&a", "a"), ["1", "2", ""]);
        assert!(values("", "").is_empty());
        assert!(values("b=1", "a").is_empty());
    }
}
