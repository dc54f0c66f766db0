//! The head of a request (RFC 9112), line by line as it arrives, and to the letter: what proxies are known to read in
//! two ways is refused here.

use std::net::Ipv6Addr;

use http::Uri;
use http::uri::Authority;
use memchr::memchr;

use super::super::problem::{self, Problem, ProblemKind};
use super::{HeadLimits, REFUSED};

/// What the rest of the request line needs, besides the target.
const LINE_BYTES_MORE: usize = 64;

const PLAIN_BYTES_MAX: usize = 4 << 10;

/// By byte: whether it may be in a token. Every head has hundreds of them.
const IS_TOKEN: [bool; 256] = letters_digits_and(b"!#$%&'*+-.^_`|~");
/// By byte: whether it may be anywhere in the name of a host.
const IS_HOST: [bool; 256] = letters_digits_and(b"-.");
/// By byte: whether it may be anywhere in a path and its query.
const IS_PLAIN: [bool; 256] = letters_digits_and(b"-._~!$&'()*+,;=:@%/?");

const fn letters_digits_and(mut others: &[u8]) -> [bool; 256] {
    let mut among = [false; 256];
    let mut byte: u8 = 0;
    while byte < 0x80 {
        among[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    while let [other, rest @ ..] = others {
        among[*other as usize] = true;
        others = rest;
    }
    among
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

/// What is known of a head so far.
#[derive(Debug, Default)]
pub struct Head {
    /// Where the line begins that is not yet whole.
    line: usize,
    lines: usize,
    is_1_1: bool,
    hosts: usize,
    length: Option<u64>,
    codings: Option<Vec<String>>,
}

impl Head {
    pub fn is_new(&self) -> bool {
        self.line == 0
    }

    /// Looks at all that has come. Answers how long the head is, and what follows it, once it is whole.
    pub fn read(
        &mut self,
        buffer: &[u8],
        limits: &HeadLimits,
    ) -> Result<Option<(usize, Framing)>, Problem> {
        while let Some(length) = memchr(b'\n', &buffer[self.line..]) {
            let line = &buffer[self.line..self.line + length];
            let line = line.strip_suffix(b"\r").ok_or_else(|| bad("a line ends without CR"))?;
            self.line += length + 1;
            self.lines += 1;
            match (self.lines, line) {
                (1, line) => self.request_line(line, limits)?,
                (_, b"") => return self.end().map(|framing| Some((self.line, framing))),
                (_, line) => self.field(line, limits)?,
            }
            self.refuse_large(limits)?;
        }
        self.refuse_unfinished(buffer, limits).map(|()| None)
    }

    fn request_line(&mut self, line: &[u8], limits: &HeadLimits) -> Result<(), Problem> {
        std::str::from_utf8(line).map_err(|_| bad("the request line is not ASCII"))?;
        let mut parts = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("the request line is not a method, a target and a version"));
        };
        if !is_token(method) {
            return Err(bad("the method is no token"));
        }
        if method == REFUSED.as_bytes() {
            return Err(Problem::new(&problem::UNSUPPORTED, "there is no such method"));
        }
        self.is_1_1 = match version {
            b"HTTP/1.1" => true,
            b"HTTP/1.0" => false,
            [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
                return Err(Problem::new(&problem::VERSION, "this is HTTP/1.1 or HTTP/2"));
            }
            _ => return Err(bad("the version is none of HTTP's")),
        };
        if target.len() > limits.target_bytes {
            return Err(too_long());
        }
        // Most are plain and short, and need not be parsed to be known for addresses.
        let plain = target.starts_with(b"/")
            && target.len() < PLAIN_BYTES_MAX
            && target.iter().all(|byte| IS_PLAIN[usize::from(*byte)]);
        // No fragment is ever sent.
        let is_text = || target.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#');
        match plain || (is_text() && Uri::try_from(target).is_ok()) {
            true => Ok(()),
            false => Err(bad("the target is no address")),
        }
    }

    fn field(&mut self, line: &[u8], limits: &HeadLimits) -> Result<(), Problem> {
        if self.lines > limits.fields + 1 {
            return Err(too_large("there are too many header fields"));
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return Err(bad("a header field is folded over lines"));
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.ok_or_else(|| bad("a header field has no colon"))?);
        if !is_token(name) {
            return Err(bad("the name of a header field is no token"));
        }
        let value = value[1..].trim_ascii();
        // All of them, without a branch for each: that is faster than to stop at the first.
        let is_control = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f;
        if value.iter().fold(false, |any, byte| any | is_control(*byte)) {
            return Err(bad("a header field has a control character"));
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            self.content_length(value)
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.transfer_encoding(value)
        } else if name.eq_ignore_ascii_case(b"host") {
            self.host(value)
        } else {
            Ok(())
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Problem> {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let length = std::str::from_utf8(value).ok().filter(|_| digits);
        let length = length.and_then(|digits| digits.parse().ok());
        let length = length.ok_or_else(|| bad("Content-Length is no number"))?;
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(bad("Content-Length is there twice")),
        }
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Problem> {
        let value = String::from_utf8_lossy(value).to_ascii_lowercase();
        let codings = value.split(',').map(|coding| coding.trim().to_owned());
        self.codings.get_or_insert_default().extend(codings);
        Ok(())
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Problem> {
        self.hosts += 1;
        match self.hosts == 1 && (value.is_empty() || is_host(value)) {
            true => Ok(()),
            false => Err(bad("Host is there twice, or names no host")),
        }
    }

    fn end(&self) -> Result<Framing, Problem> {
        if self.is_1_1 && self.hosts == 0 {
            return Err(bad("there is no Host"));
        }
        let Some(codings) = &self.codings else {
            return Ok(Framing::Length(self.length.unwrap_or(0)));
        };
        if self.length.is_some() {
            return Err(bad("there are both Content-Length and Transfer-Encoding"));
        }
        if !self.is_1_1 {
            return Err(bad("HTTP/1.0 has no Transfer-Encoding"));
        }
        let chunked = codings.iter().filter(|coding| *coding == "chunked").count();
        match (codings.last().map(String::as_str), chunked) {
            (Some("chunked"), 1) if codings.len() == 1 => Ok(Framing::Chunked),
            (Some("chunked"), 1) => {
                Err(Problem::new(&problem::UNSUPPORTED, "the only transfer coding is `chunked`"))
            }
            _ => Err(bad("the end of the body can't be known: `chunked` is to be the last coding")),
        }
    }

    fn refuse_large(&self, limits: &HeadLimits) -> Result<(), Problem> {
        match self.line > limits.bytes {
            true => Err(too_large("the header fields are too large")),
            false => Ok(()),
        }
    }

    /// Not everything can still become a head.
    fn refuse_unfinished(&self, buffer: &[u8], limits: &HeadLimits) -> Result<(), Problem> {
        let is_first = self.lines == 0;
        if is_first && buffer.first().is_some_and(|byte| *byte != b'\r' && !is_token(&[*byte])) {
            return Err(bad("this is no request"));
        }
        if is_first && buffer.len() > limits.target_bytes + LINE_BYTES_MORE {
            return Err(too_long());
        }
        match buffer.len() > limits.bytes {
            true => Err(too_large("the header fields are too large")),
            false => Ok(()),
        }
    }
}

fn is_host(value: &[u8]) -> bool {
    // Most are a plain name, perhaps with a port, and need not be parsed.
    let name = value.iter().take_while(|byte| IS_HOST[usize::from(**byte)]).count();
    let plain = match &value[name..] {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (plain && name > 0) || std::str::from_utf8(value).is_ok_and(is_strange_host)
}

/// A name with escapes or an address in brackets, perhaps with a port.
fn is_strange_host(text: &str) -> bool {
    let name_ends =
        if text.starts_with('[') { text.find(']').map(|at| at + 1) } else { text.find(':') };
    let (name, port) = text.split_at(name_ends.unwrap_or(text.len()));
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => Authority::try_from(name).is_ok() && !name.contains('@'),
    };
    is_name && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| IS_TOKEN[usize::from(*byte)])
}

fn bad(detail: &str) -> Problem {
    Problem::bad_request(detail).with("at", "head")
}

fn too_large(detail: &str) -> Problem {
    of(&problem::HEADERS_TOO_LARGE, detail)
}

fn too_long() -> Problem {
    of(&problem::URI_TOO_LONG, "the address is too long")
}

fn of(kind: &'static ProblemKind, detail: &str) -> Problem {
    Problem::new(kind, detail).with("at", "head")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits =
        HeadLimits { target_bytes: 100, bytes: 500, fields: 5, within: std::time::Duration::ZERO };

    fn read(text: &str) -> Result<Option<(usize, Framing)>, Problem> {
        Head::default().read(text.as_bytes(), &LIMITS)
    }

    #[test]
    fn heads_are_known_by_their_end() {
        let head = "PUT /a?b=c HTTP/1.1\r\nHost: x:80\r\nX:\r\nContent-Length: 7\r\n\r\n";
        let whole = Some((head.len(), Framing::Length(7)));
        assert_eq!(read(&format!("{head}1234567")).unwrap(), whole);
        let mut slow = Head::default();
        for end in 1..head.len() {
            assert_eq!(slow.read(&head.as_bytes()[..end], &LIMITS).unwrap(), None);
        }
        assert_eq!(slow.read(head.as_bytes(), &LIMITS).unwrap(), whole);
        let chunked = "POST * HTTP/1.1\r\nhost:\r\ntransfer-encoding: Chunked\r\n\r\n";
        assert_eq!(read(chunked).unwrap(), Some((chunked.len(), Framing::Chunked)));
        let old = "GET / HTTP/1.0\r\n\r\n";
        assert_eq!(read(old).unwrap(), Some((old.len(), Framing::Length(0))));
    }

    #[test]
    fn what_could_be_more_than_a_head_is_refused_early() {
        for bad in ["\u{16}\u{3}", "GET / HTTP/1.1\n", "GET  / HTTP/1.1\r\n", " GET / HTTP/1.1\r\n"]
        {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        assert!(read(&format!("GET /{}", "a".repeat(200))).is_err());
        assert!(read(&format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(500))).is_err());
    }
}
