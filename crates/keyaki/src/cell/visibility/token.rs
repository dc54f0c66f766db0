//! The words of an expression: terms, two operators, two parentheses.
//!
//! Reads each byte once and hands out terms as slices of the expression. A quoted term it yields is
//! not empty, is valid UTF-8 and has no escapes but `\"` and `\\`. Control characters pass: the
//! specification admits every Unicode character between quotes, and leaves stricter rules to those
//! who grant authorisations. Which word may follow which is for `parse`.

use super::Malformed;
use std::borrow::Cow;

#[derive(Clone, Copy)]
pub(super) enum Token<'e> {
    Term(Term<'e>),
    And,
    Or,
    Open,
    Close,
    End,
}

/// A term as written, without its quotes. `"abc"` and `abc` are the same term.
#[derive(Clone, Copy)]
pub(super) struct Term<'e> {
    written: &'e [u8],
    escaped: bool,
}

impl<'e> Term<'e> {
    /// What an authorisation must be to match; copied only if there are escapes to resolve.
    pub(super) fn bytes(self) -> Cow<'e, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.written);
        }
        let mut plain = Vec::with_capacity(self.written.len());
        let mut rest = self.written.iter();
        while let Some(&byte) = rest.next() {
            let literal = if byte == b'\\' { rest.next() } else { Some(&byte) };
            plain.extend(literal);
        }
        Cow::Owned(plain)
    }
}

/// Yields the tokens of an expression, then [`Token::End`] for ever.
pub(super) struct Tokens<'e> {
    expression: &'e [u8],
    at: usize,
}

impl<'e> Tokens<'e> {
    pub(super) fn new(expression: &'e [u8]) -> Self {
        Self { expression, at: 0 }
    }

    /// Where the next token starts.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<Token<'e>, Malformed> {
        let Some(&byte) = self.expression.get(self.at) else {
            return Ok(Token::End);
        };
        let token = match byte {
            b'&' => Token::And,
            b'|' => Token::Or,
            b'(' => Token::Open,
            b')' => Token::Close,
            b'"' => return self.quoted(),
            _ if is_bare(byte) => return Ok(self.bare()),
            _ => return Err(Malformed::at(self.at, "this character must be quoted")),
        };
        self.at += 1;
        Ok(token)
    }

    fn bare(&mut self) -> Token<'e> {
        let rest = &self.expression[self.at..];
        let length = rest.iter().position(|&byte| !is_bare(byte)).unwrap_or(rest.len());
        self.at += length;
        Token::Term(Term { written: &rest[..length], escaped: false })
    }

    fn quoted(&mut self) -> Result<Token<'e>, Malformed> {
        let start = self.at + 1;
        let (length, escaped) = self.closing_quote(start)?;
        let written = &self.expression[start..start + length];
        if written.is_empty() {
            return Err(Malformed::at(self.at, "a quoted term cannot be empty"));
        }
        if let Err(fault) = std::str::from_utf8(written) {
            let offset = start + fault.valid_up_to();
            return Err(Malformed::at(offset, "a quoted term must be UTF-8"));
        }
        self.at = start + length + 1;
        Ok(Token::Term(Term { written, escaped }))
    }

    /// How far the quote that ends the term is from its `start`, and whether it has escapes.
    fn closing_quote(&self, start: usize) -> Result<(usize, bool), Malformed> {
        let mut end = start;
        let mut escaped = false;
        loop {
            match self.expression[end..] {
                [b'"', ..] => return Ok((end - start, escaped)),
                [b'\\', b'"' | b'\\', ..] => {
                    escaped = true;
                    end += 2;
                }
                [b'\\', ..] => {
                    return Err(Malformed::at(end, "only a quote or a backslash can be escaped"));
                }
                [_, ..] => end += 1,
                [] => return Err(Malformed::at(start - 1, "this quote is never closed")),
            }
        }
    }
}

/// Whether a term may have this byte without quotes.
pub(super) fn is_bare(byte: u8) -> bool {
    const BARE: [bool; 256] = bare_bytes();
    BARE[usize::from(byte)]
}

const fn bare_bytes() -> [bool; 256] {
    let mut bare = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bare[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(byte as u8, b'_' | b'-' | b'.' | b':' | b'/');
        byte += 1;
    }
    bare
}
