//! The frame of a chunked body (RFC 9112, section 7.1), byte by byte and to the letter: sizes are plain hexadecimal, lines
//! end in CR LF, and data is as long as its size says.

const SIZE_DIGITS_MAX: u8 = 15;
const EXTENSION_BYTES_MAX: usize = 1 << 10;
const TRAILER_BYTES_MAX: usize = 8 << 10;

/// Where in the frame we are.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    at: At,
    /// Bytes of the chunk that are still to come, or its size while that is read.
    left: u64,
    digits: u8,
    /// Bytes of extensions and trailers so far.
    extra: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    Extension,
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    Trailers,
    Trailer,
    TrailerEnd,
    End,
    Done,
}

/// What became of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// So many of them are part of the body.
    pub bytes: usize,
    pub next: Next,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    More,
    Done,
    Broken,
}

impl Chunks {
    pub fn take(&mut self, bytes: &[u8]) -> Taken {
        let mut taken = 0;
        while taken < bytes.len() {
            if self.at == At::Data {
                let there = (bytes.len() - taken) as u64;
                let some = self.left.min(there);
                (self.left, taken) = (self.left - some, taken + some as usize);
                if self.left == 0 {
                    self.at = At::DataReturn;
                }
                continue;
            }
            let Some(next) = self.step(bytes[taken]) else {
                return Taken { bytes: taken, next: Next::Broken };
            };
            self.at = next;
            taken += 1;
            if next == At::Done {
                return Taken { bytes: taken, next: Next::Done };
            }
        }
        Taken { bytes: taken, next: Next::More }
    }

    /// Where a byte leads, or nowhere.
    fn step(&mut self, byte: u8) -> Option<At> {
        let text = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
        match (self.at, byte) {
            (At::Size, b'\r') if self.digits > 0 => Some(At::SizeEnd),
            (At::Size, b';') if self.digits > 0 => Some(At::Extension),
            (At::Size, digit) => {
                let value = (digit as char).to_digit(16)?;
                if self.digits == SIZE_DIGITS_MAX {
                    return None;
                }
                self.left = self.left * 16 + u64::from(value);
                self.digits += 1;
                Some(At::Size)
            }
            (At::Extension, b'\r') => Some(At::SizeEnd),
            (At::Extension, byte) if text(byte) => self.within(EXTENSION_BYTES_MAX, At::Extension),
            (At::SizeEnd, b'\n') => {
                self.digits = 0;
                Some(if self.left == 0 { At::Trailers } else { At::Data })
            }
            (At::DataReturn, b'\r') => Some(At::DataEnd),
            (At::DataEnd, b'\n') => Some(At::Size),
            (At::Trailers, b'\r') => Some(At::End),
            (At::Trailers, b' ' | b'\t') => None,
            (At::Trailer, b'\r') => Some(At::TrailerEnd),
            (At::Trailers | At::Trailer, byte) if text(byte) => {
                self.within(TRAILER_BYTES_MAX, At::Trailer)
            }
            (At::TrailerEnd, b'\n') => Some(At::Trailers),
            (At::End, b'\n') => Some(At::Done),
            _ => None,
        }
    }

    fn within(&mut self, most: usize, at: At) -> Option<At> {
        self.extra += 1;
        (self.extra <= most).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Taken {
        Chunks::default().take(text.as_bytes())
    }

    #[test]
    fn bodies_end_where_they_say() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "00a;x=\"y\"\r\n0123456789\r\nF\r\n012345678901234\r\n000\r\na: b\r\nc: d\r\n\r\n",
        ] {
            let more = format!("{body}GET / HTTP/1.1\r\n");
            assert_eq!(taken(&more), Taken { bytes: body.len(), next: Next::Done }, "{body:?}");
            let mut chunks = Chunks::default();
            for (at, byte) in body.bytes().enumerate() {
                let next = if at + 1 == body.len() { Next::Done } else { Next::More };
                assert_eq!(chunks.take(&[byte]), Taken { bytes: 1, next }, "{body:?} at {at}");
            }
        }
    }

    #[test]
    fn tricks_break_the_body() {
        for (body, good) in [
            ("\r\n", 0),
            ("5\nhello", 1),
            ("5 \r\nhello", 1),
            ("0x5\r\nhello", 1),
            ("+5\r\nhello", 0),
            ("5\r\nhello0\r\n\r\n", 8),
            ("5\r\nhello\n0\r\n\r\n", 8),
            ("fffffffffffffffff\r\n", 15),
            ("0\r\n a: b\r\n\r\n", 3),
            ("0\r\na: b\n\r\n", 7),
            ("5;\u{1}\r\nhello", 2),
            ("0\r\n\rX", 4),
        ] {
            assert_eq!(taken(body), Taken { bytes: good, next: Next::Broken }, "{body:?}");
        }
        let long = format!("5;{}\r\n", "x".repeat(EXTENSION_BYTES_MAX + 1));
        assert_eq!(taken(&long).next, Next::Broken);
    }
}
