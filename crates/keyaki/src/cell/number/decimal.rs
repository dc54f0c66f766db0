//! Decimal digits of big integers, to and from big-endian bytes. Schoolbook arithmetic, quadratic in
//! the length; the caller keeps that short.

/// As many decimal digits as keep `byte * CHUNK + carry` far inside a `u64`.
const CHUNK_DIGITS: usize = 9;
const CHUNK: u64 = 1_000_000_000;

/// The bytes of an integer, none for 0; `digits` holds nothing but digits.
pub(super) fn to_magnitude(digits: &str) -> Vec<u8> {
    let mut little_endian = Vec::new();
    for chunk in digits.as_bytes().chunks(CHUNK_DIGITS) {
        let scale = 10u64.pow(chunk.len() as u32);
        let mut carry = chunk.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        for byte in &mut little_endian {
            carry += u64::from(*byte) * scale;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            little_endian.push(carry as u8);
            carry >>= 8;
        }
    }
    little_endian.reverse();
    little_endian
}

/// The digits of an integer.
pub(super) fn from_magnitude(mut magnitude: Vec<u8>) -> String {
    let mut chunks = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut remainder = 0;
        for byte in &mut magnitude {
            remainder = (remainder << 8) | u64::from(*byte);
            *byte = (remainder / CHUNK) as u8;
            remainder %= CHUNK;
        }
        chunks.push(remainder);
    }
    let leading = chunks.pop().unwrap_or(0).to_string();
    chunks.iter().rev().fold(leading, |digits, chunk| digits + &format!("{chunk:09}"))
}
