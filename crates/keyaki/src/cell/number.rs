//! Exact numbers in one order: integers of up to 1,233 digits and all finite doubles.
//!
//! A number other than zero is ±1.fraction × 2^exponent, in binary, and its key bytes are
//!
//! | bytes    | content                                                          |
//! |----------|------------------------------------------------------------------|
//! | 1        | 30 if negative, 32 if positive (31 is zero, and all of it)       |
//! | 2        | exponent + 0x8000, big endian                                    |
//! | variable | the fraction's bits, without zero bytes at the end, then escaped |
//! | 1        | 00                                                               |
//!
//! with all bytes after the first complemented if it is negative. 5 = 1.01 × 2^2 is `32 8002 40 00`.
//!
//! Invariant: equal numbers have equal bytes, 1 and 1.0 too, and no number is rounded once it is a
//! [`Number`]. JSON text becomes one by this rule: written with digits alone it is that integer, with
//! a fraction or an exponent it is the double nearest to it. NaN, the infinities and longer integers
//! are refused.

mod decimal;

use std::fmt;
use std::str::FromStr;

use super::key::{BadKey, END, escape_into, unescape};
use super::parts::PartsReader;
use super::typed::NotKeyable;

/// Integers lie below 2^4096, which lets in all of up to 1,233 digits.
pub const INTEGER_BITS_MAX: usize = 4096;

pub(super) const NEGATIVE: u8 = 0x30;
pub(super) const ZERO: u8 = 0x31;
pub(super) const POSITIVE: u8 = 0x32;

const EXPONENT_BIAS: i32 = 0x8000;
const FRACTION_BYTES_MAX: usize = INTEGER_BITS_MAX / 8;
/// 2^4096 - 1 has 1,234 digits; more are refused before they cost anything.
const DIGITS_MAX: usize = 1234;

const TOO_LONG: NotKeyable = NotKeyable { reason: "an integer of more than 4096 bits" };

/// An exact number. Displays as JSON that reads back as the same number.
#[derive(Clone, Debug, PartialEq)]
pub struct Number(Form);

/// A form is used only if none above it holds the number, so equal numbers are equal forms.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Whole, and below 2^127 in magnitude.
    Small(i128),
    /// Finite.
    Double(f64),
    /// Whole.
    Big(Scientific),
}

/// ±1.fraction × 2^exponent; the fraction's last byte is not zero.
#[derive(Clone, Debug, PartialEq)]
struct Scientific {
    negative: bool,
    exponent: i32,
    fraction: Vec<u8>,
}

/// No form holds NaN, so equality is reflexive.
impl Eq for Number {}

impl Number {
    /// Works with and without serde_json's `arbitrary_precision`. Without it serde_json has already
    /// turned integers beyond 64 bits into doubles when they arrive here.
    pub fn from_json(json: &serde_json::Number) -> Result<Self, NotKeyable> {
        if let Some(integer) = json.as_i64() {
            Ok(Self::from(integer))
        } else if let Some(integer) = json.as_u64() {
            Ok(Self::from(integer))
        } else if let (true, Some(double)) = (json.is_f64(), json.as_f64()) {
            Self::try_from(double)
        } else {
            json.to_string().parse()
        }
    }

    /// Appends the number's bytes to `out`.
    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Small(0) => out.push(ZERO),
            Form::Small(integer) => encode_scaled(*integer < 0, integer.unsigned_abs(), 0, out),
            Form::Double(double) => {
                let (significand, scale) = significand_and_scale(*double);
                encode_scaled(*double < 0.0, u128::from(significand), scale, out);
            }
            Form::Big(big) => encode(big.negative, big.exponent, &big.fraction, out),
        }
    }

    /// Reads what follows `tag`, which is one of the three above.
    pub(super) fn decode(tag: u8, reader: &mut PartsReader<'_>) -> Result<Self, BadKey> {
        if tag == ZERO {
            return Ok(Self(Form::Small(0)));
        }
        let negative = tag == NEGATIVE;
        let flip = if negative { 0xff } else { 0 };
        let bad = reader.bad("no number has these bytes");
        let exponent = reader.fixed()?.map(|byte| byte ^ flip);
        let escaped: Vec<u8> = reader.until(END ^ flip)?.iter().map(|byte| byte ^ flip).collect();
        let fraction = unescape(&escaped).map_err(|_| bad)?.into_owned();
        if fraction.last() == Some(&0) || fraction.len() > FRACTION_BYTES_MAX {
            return Err(bad);
        }
        let exponent = i32::from(u16::from_be_bytes(exponent)) - EXPONENT_BIAS;
        Scientific { negative, exponent, fraction }.into_number().ok_or(bad)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self(Form::Small(integer.into()))
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Self {
        Self(Form::Small(integer.into()))
    }
}

impl TryFrom<f64> for Number {
    type Error = NotKeyable;

    fn try_from(double: f64) -> Result<Self, NotKeyable> {
        const BOUND: f64 = (1u128 << 127) as f64;
        if !double.is_finite() {
            Err(NotKeyable { reason: "a number beyond the range of doubles" })
        } else if double.trunc() == double && double.abs() < BOUND {
            Ok(Self(Form::Small(double as i128)))
        } else {
            Ok(Self(Form::Double(double)))
        }
    }
}

/// Takes JSON's syntax; leading zeros do no harm.
impl FromStr for Number {
    type Err = NotKeyable;

    fn from_str(text: &str) -> Result<Self, NotKeyable> {
        const NOT_A_NUMBER: NotKeyable = NotKeyable { reason: "not the text of a number" };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(NOT_A_NUMBER);
        }
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::try_from(text.parse::<f64>().map_err(|_| NOT_A_NUMBER)?);
        }
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Ok(Self(Form::Small(0)));
        } else if digits.len() > DIGITS_MAX {
            return Err(TOO_LONG);
        }
        let magnitude = decimal::to_magnitude(digits);
        Scientific::from_magnitude(text.starts_with('-'), &magnitude).into_number().ok_or(TOO_LONG)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Small(integer) => write!(f, "{integer}"),
            // Debug always shows a point or an exponent; digits alone would mean another number.
            Form::Double(double) => write!(f, "{double:?}"),
            Form::Big(big) => {
                f.write_str(if big.negative { "-" } else { "" })?;
                f.write_str(&decimal::from_magnitude(big.magnitude()))
            }
        }
    }
}

impl Scientific {
    /// From a big-endian integer without leading zero bytes, and not empty.
    fn from_magnitude(negative: bool, magnitude: &[u8]) -> Self {
        let zeros = magnitude[0].leading_zeros();
        let exponent = magnitude.len() as i32 * 8 - 1 - zeros as i32;
        let following = magnitude[1..].iter().chain([&0]);
        let pairs = magnitude.iter().zip(following);
        let mut fraction: Vec<u8> = pairs
            .map(|(byte, next)| (u16::from_be_bytes([*byte, *next]) >> (7 - zeros)) as u8)
            .collect();
        fraction.truncate(trimmed(&fraction).len());
        Self { negative, exponent, fraction }
    }

    /// Undoes `from_magnitude`; the number must be whole.
    fn magnitude(&self) -> Vec<u8> {
        let len = self.exponent as usize / 8 + 1;
        let shift = 8 - self.exponent % 8;
        let fraction = self.fraction.iter().copied().chain(std::iter::repeat(0));
        let mut before = 1;
        let shifted = fraction.take(len).map(|byte| {
            let pair = u16::from_be_bytes([before, byte]);
            before = byte;
            (pair >> shift) as u8
        });
        shifted.collect()
    }

    /// The number in the first form that holds it exactly; none if no form does.
    fn into_number(self) -> Option<Number> {
        let whole = self.fraction_bits() <= self.exponent;
        if whole && self.exponent < 127 {
            let magnitude = ((1 << 127) | (self.leading_bits() >> 1)) >> (127 - self.exponent);
            let sign = if self.negative { -1 } else { 1 };
            Some(Number(Form::Small(sign * magnitude as i128)))
        } else if let Some(double) = self.as_double() {
            Some(Number(Form::Double(double)))
        } else if whole && self.exponent < INTEGER_BITS_MAX as i32 {
            Some(Number(Form::Big(self)))
        } else {
            None
        }
    }

    fn as_double(&self) -> Option<f64> {
        // Below 2^-1022 a double loses one bit of its fraction for each step down.
        let lost = (-1022 - self.exponent).max(0);
        if self.exponent > 1023 || self.fraction_bits() > 52 - lost {
            return None;
        }
        let fraction = (self.leading_bits() >> (128 - 52)) as u64;
        let magnitude = match lost {
            0 => (((self.exponent + 1023) as u64) << 52) | fraction,
            _ => ((1 << 52) | fraction) >> lost,
        };
        Some(f64::from_bits((u64::from(self.negative) << 63) | magnitude))
    }

    /// How many bits the fraction has, up to its last one.
    fn fraction_bits(&self) -> i32 {
        let zeros = self.fraction.last().map_or(0, |last| last.trailing_zeros());
        self.fraction.len() as i32 * 8 - zeros as i32
    }

    fn leading_bits(&self) -> u128 {
        let mut bits = [0; 16];
        let len = self.fraction.len().min(bits.len());
        bits[..len].copy_from_slice(&self.fraction[..len]);
        u128::from_be_bytes(bits)
    }
}

/// Appends ±`significand` × 2^`scale`; the significand is not zero.
fn encode_scaled(negative: bool, significand: u128, scale: i32, out: &mut Vec<u8>) {
    let zeros = significand.leading_zeros();
    let fraction = (significand << zeros) << 1;
    encode(negative, scale + 127 - zeros as i32, trimmed(&fraction.to_be_bytes()), out);
}

fn encode(negative: bool, exponent: i32, fraction: &[u8], out: &mut Vec<u8>) {
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    out.extend_from_slice(&((exponent + EXPONENT_BIAS) as u16).to_be_bytes());
    escape_into(fraction, out);
    out.push(END);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The magnitude of a finite double as a product: `significand * 2^scale`.
fn significand_and_scale(double: f64) -> (u64, i32) {
    let bits = double.to_bits();
    let exponent = (bits >> 52) as i32 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

/// Without the zero bytes at the end.
fn trimmed(fraction: &[u8]) -> &[u8] {
    let len = fraction.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &fraction[..len]
}
