//! The path of a request, decoded once: routes, ACLs and handlers all look at the same segments.
//!
//! Segments are split at the slashes of the wire, and decoded after: `a%2Fb` is one segment with a slash in it. What
//! could be read in two ways is refused: bad percent-encoding, bytes that are no UTF-8, control characters, and dot segments.

use std::borrow::Cow;

use super::problem::Problem;

/// Room for as many segments as most paths have.
const SEGMENTS: usize = 4;

/// Decoded segments, and whether a slash follows the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path<'r> {
    pub segments: Vec<Cow<'r, str>>,
    pub slash: bool,
}

impl<'r> Path<'r> {
    /// Decodes the path of a request target.
    pub fn parse(raw: &'r str) -> Result<Self, Problem> {
        let bad = |why: &str| Problem::bad_request(why).with("at", "path");
        let rest =
            raw.strip_prefix('/').ok_or_else(|| bad("the path does not begin with a slash"))?;
        let mut segments = Vec::with_capacity(SEGMENTS);
        let slash = rest.is_empty() || rest.ends_with('/');
        let mut rest = (!rest.is_empty()).then(|| rest.strip_suffix('/').unwrap_or(rest));
        while let Some(some) = rest {
            let piece;
            (piece, rest) = split_at_slash(some);
            let segment = decode(piece)?;
            match &segment[..] {
                "" => return Err(bad("the path has an empty segment")),
                "." | ".." => return Err(bad("the path has a dot segment")),
                text if text.chars().any(char::is_control) => {
                    return Err(bad("the path has a control character"));
                }
                _ => segments.push(segment),
            }
        }
        Ok(Self { segments, slash })
    }
}

/// What lies before the first slash, and behind it. Segments are short: no search is faster than looking at each byte.
fn split_at_slash(text: &str) -> (&str, Option<&str>) {
    match text.bytes().position(|byte| byte == b'/') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Undoes percent-encoding, strictly.
pub fn decode(text: &str) -> Result<Cow<'_, str>, Problem> {
    if !text.bytes().any(|byte| byte == b'%') {
        return Ok(Cow::Borrowed(text));
    }
    let bad = |why: &str| Problem::bad_request(why).with("text", text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| (digit as char).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err(bad("percent-encoding is broken")),
        }
    }
    let decoded = String::from_utf8(bytes);
    decoded.map(Cow::Owned).map_err(|_| bad("percent-encoded bytes are not UTF-8"))
}

/// A segment, or a value of a query, percent-encoded.
pub fn encode(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| match keep(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// The parameters of a query, each at most once and none that is not known.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(raw: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in raw.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?.into_owned();
            let value = decode(&value.replace('+', " "))?.into_owned();
            if !known.contains(&&name[..]) {
                return Err(
                    Problem::bad_request("unknown query parameter").with("parameter", &name)
                );
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(
                    Problem::bad_request("query parameter is given twice").with("parameter", &name)
                );
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &value[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        let path = Path::parse("/v1/d/b/a%2Fb%20c/").unwrap();
        assert_eq!(path.segments, ["v1", "d", "b", "a/b c"]);
        assert!(path.slash);
        assert_eq!(Path::parse("/").unwrap(), Path { segments: Vec::new(), slash: true });
        assert!(!Path::parse("/a").unwrap().slash);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for bad in [
            "/a%",
            "/a%2",
            "/a%zz",
            "/%ff",
            "/a/../b",
            "/a/%2e%2e/b",
            "/.",
            "//",
            "/a//b",
            "/a%00",
            "/%0A",
            "x",
        ] {
            assert!(Path::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn queries_are_strict() {
        let query = Query::parse(Some("prefix=a%26b&limit=5"), &["prefix", "limit"]).unwrap();
        assert_eq!((query.get("prefix"), query.get("limit")), (Some("a&b"), Some("5")));
        for bad in ["limit=1&limit=2", "lmit=1", "prefix=%"] {
            assert!(Query::parse(Some(bad), &["prefix", "limit"]).is_err(), "{bad}");
        }
    }
}
