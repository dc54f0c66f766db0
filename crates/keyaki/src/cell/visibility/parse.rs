//! Parsing and evaluating, in one pass over the tokens.
//!
//! There is no tree and no recursion: an open parenthesis costs four bits, so nothing but the
//! length of an expression bounds its depth. Terms that can no longer change the value of their
//! level are not looked up, but the parse always runs to the end, so that no fault goes unseen.

use super::Malformed;
use super::token::{Term, Token, Tokens};

/// The value of `expression` when each term is worth what `holds` says; the empty one is true.
pub(super) fn fold(
    expression: &[u8],
    mut holds: impl FnMut(Term<'_>) -> bool,
) -> Result<bool, Malformed> {
    if expression.is_empty() {
        return Ok(true);
    }
    let mut parser =
        Parser { tokens: Tokens::new(expression), outer: Levels::default(), level: Level::START };
    loop {
        parser.operand(&mut holds)?;
        if let Some(value) = parser.operator()? {
            return Ok(value);
        }
    }
}

/// Its two steps are inlined so that all of this stays in registers.
struct Parser<'e> {
    tokens: Tokens<'e>,
    outer: Levels,
    level: Level,
}

impl Parser<'_> {
    /// Reads any number of opening parentheses, then a term.
    #[inline(always)]
    fn operand(&mut self, holds: &mut impl FnMut(Term<'_>) -> bool) -> Result<(), Malformed> {
        loop {
            let offset = self.tokens.offset();
            match self.tokens.next()? {
                Token::Open => {
                    self.outer.push(self.level);
                    self.level = Level::START;
                }
                Token::Term(term) => {
                    if !self.level.is_decided() {
                        self.level.add(holds(term));
                    }
                    return Ok(());
                }
                Token::And | Token::Or | Token::Close | Token::End => {
                    return Err(Malformed::at(offset, "a term or '(' is missing here"));
                }
            }
        }
    }

    /// Reads any number of closing parentheses, then an operator, or the end and with it the value.
    #[inline(always)]
    fn operator(&mut self) -> Result<Option<bool>, Malformed> {
        loop {
            let offset = self.tokens.offset();
            let fault = match self.tokens.next()? {
                Token::Close => match self.outer.pop() {
                    Some(enclosing) => {
                        let value = self.level.value();
                        self.level = enclosing;
                        self.level.add(value);
                        continue;
                    }
                    None => "this ')' closes nothing",
                },
                Token::And if self.level.join(Level::AND) => return Ok(None),
                Token::Or if self.level.join(Level::OR) => return Ok(None),
                Token::And | Token::Or => "'&' and '|' need parentheses between them",
                Token::End if self.outer.is_empty() => return Ok(Some(self.level.value())),
                Token::End => "a ')' is missing",
                Token::Term(_) | Token::Open => "an operator is missing here",
            };
            return Err(Malformed::at(offset, fault));
        }
    }
}

/// What is known of one pair of parentheses: its value so far, and its operator. Three bits.
#[derive(Clone, Copy)]
struct Level(u8);

impl Level {
    const VALUE: u8 = 1;
    const AND: u8 = 2;
    const OR: u8 = 4;

    /// Nothing read yet. True, so that *and*, the rule until a `|` comes, takes the first operand.
    const START: Level = Level(Self::VALUE);

    fn value(self) -> bool {
        self.0 & Self::VALUE != 0
    }

    /// Whether no further operand can change the value.
    fn is_decided(self) -> bool {
        self.value() == (self.0 & Self::OR != 0)
    }

    fn add(&mut self, operand: bool) {
        if !self.is_decided() {
            self.0 = self.0 & !Self::VALUE | u8::from(operand);
        }
    }

    /// Notes an operator; false if it is not the one this level already has.
    fn join(&mut self, operator: u8) -> bool {
        self.0 |= operator;
        self.0 & (Self::AND | Self::OR) == operator
    }
}

/// The levels around the current one, four bits each: sixteen in `near`, with the innermost lowest,
/// and those further out in full words. Nothing is allocated before the seventeenth.
#[derive(Default)]
struct Levels {
    near: u64,
    far: Vec<u64>,
    depth: usize,
}

impl Levels {
    const BITS: u32 = 4;
    const PER_WORD: usize = (u64::BITS / Self::BITS) as usize;

    fn push(&mut self, level: Level) {
        if self.depth > 0 && self.depth.is_multiple_of(Self::PER_WORD) {
            self.far.push(self.near);
        }
        self.near = self.near << Self::BITS | u64::from(level.0);
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<Level> {
        self.depth = self.depth.checked_sub(1)?;
        let level = Level((self.near & 0xf) as u8);
        self.near >>= Self::BITS;
        if self.depth > 0 && self.depth.is_multiple_of(Self::PER_WORD) {
            self.near = self.far.pop().expect("every full word but the last was moved to `far`");
        }
        Some(level)
    }

    fn is_empty(&self) -> bool {
        self.depth == 0
    }
}
