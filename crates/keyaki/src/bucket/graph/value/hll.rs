//! How many different things were seen? A HyperLogLog sketch: exact while few were, then within about
//! 1.04 / √2^p. Merging is a union, so order and repetition do not matter.
//!
//! | bytes | content                                                            |
//! |-------|--------------------------------------------------------------------|
//! | 1     | format version, now 1                                              |
//! | 1     | p, 4 to 18                                                         |
//! | 1     | 0: hashes follow, 8 bytes each, sorted; 1: 2^p registers follow    |

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::{Value, encode_tagged};
use crate::error::{Error, Result};

const FORMAT_VERSION: u8 = 1;
/// Within one in a hundred. Gaffer's own default, 5, is wrong by a sixth.
const DEFAULT_P: u8 = 14;

/// The sketch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HyperLogLog {
    p: u8,
    seen: Seen,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Seen {
    /// Sorted hashes, each once.
    Few(Vec<u64>),
    /// The largest number of leading zeros, plus one, by the first p bits.
    Many(Vec<u8>),
}

impl HyperLogLog {
    /// A sketch that has seen nothing; `p` is its size.
    #[must_use]
    pub fn new(p: Option<u8>) -> Self {
        Self { p: p.unwrap_or(DEFAULT_P).clamp(4, 18), seen: Seen::Few(Vec::new()) }
    }

    /// Notes a value.
    pub fn offer(&mut self, value: &Value) {
        let mut bytes = Vec::new();
        if encode_tagged(value, &mut bytes).is_ok() {
            self.add(hash(&bytes));
        }
    }

    fn add(&mut self, hash: u64) {
        match &mut self.seen {
            Seen::Many(registers) => note(registers, self.p, hash),
            Seen::Few(hashes) => {
                if let Err(place) = hashes.binary_search(&hash) {
                    hashes.insert(place, hash);
                    self.settle();
                }
            }
        }
    }

    /// Goes over to registers once the hashes would take more room.
    fn settle(&mut self) {
        if let Seen::Few(hashes) = &self.seen
            && hashes.len() > (1 << self.p) / 8
        {
            let mut registers = vec![0; 1 << self.p];
            hashes.iter().for_each(|hash| note(&mut registers, self.p, *hash));
            self.seen = Seen::Many(registers);
        }
    }

    /// Takes in all that another one has seen.
    ///
    /// # Errors
    /// `Invalid` if their sizes differ.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.p != other.p {
            return Err(Error::invalid("sketches of different sizes can't be merged"));
        }
        match (&mut self.seen, &other.seen) {
            (_, Seen::Few(hashes)) => hashes.iter().for_each(|hash| self.add(*hash)),
            (Seen::Many(own), Seen::Many(others)) => {
                own.iter_mut().zip(others).for_each(|(own, other)| *own = (*own).max(*other));
            }
            (Seen::Few(hashes), Seen::Many(others)) => {
                let mut registers = others.clone();
                hashes.iter().for_each(|hash| note(&mut registers, self.p, *hash));
                self.seen = Seen::Many(registers);
            }
        }
        Ok(())
    }

    /// How many different values it has seen, about.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        let registers = match &self.seen {
            Seen::Few(hashes) => return hashes.len() as u64,
            Seen::Many(registers) => registers,
        };
        let m = registers.len() as f64;
        let sum: f64 = registers.iter().map(|rank| 0.5f64.powi((*rank).into())).sum();
        let zeros = registers.iter().filter(|rank| **rank == 0).count();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        match zeros {
            0 => raw.round() as u64,
            _ if raw > 2.5 * m => raw.round() as u64,
            zeros => (m * (m / zeros as f64).ln()).round() as u64,
        }
    }

    /// The bytes above.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT_VERSION, self.p];
        match &self.seen {
            Seen::Few(hashes) => {
                bytes.push(0);
                hashes.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_be_bytes()));
            }
            Seen::Many(registers) => {
                bytes.push(1);
                bytes.extend_from_slice(registers);
            }
        }
        bytes
    }

    /// Undoes [`Self::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([FORMAT_VERSION, p @ 4..=18, mode], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let seen = match mode {
            0 => {
                let (hashes, []) = rest.as_chunks() else { return None };
                Seen::Few(hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect())
            }
            1 if rest.len() == 1 << p => Seen::Many(rest.to_vec()),
            _ => return None,
        };
        Some(Self { p: *p, seen })
    }

    pub(super) fn from_json(json: &Json) -> Result<Self> {
        let json = json.get("hyperLogLogPlus").unwrap_or(json);
        let bytes = json.get("hyperLogLogPlusSketchBytes");
        let wrong = || Error::invalid("not a sketch that we know").with("json", json);
        let mut sketch = match bytes.filter(|bytes| !bytes.is_null()) {
            Some(bytes) => {
                let bytes = STANDARD.decode(bytes.as_str().unwrap_or_default());
                Self::from_bytes(&bytes.map_err(|_| wrong())?).ok_or_else(wrong)?
            }
            None => {
                let p = json.get("p").and_then(Json::as_u64);
                Self::new(p.and_then(|p| p.try_into().ok()))
            }
        };
        let offers = json.get("offers").and_then(Json::as_array);
        for offer in offers.into_iter().flatten() {
            sketch.offer(&Value::from_json(offer)?);
        }
        Ok(sketch)
    }

    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        let (bytes, estimate) = (STANDARD.encode(self.to_bytes()), self.estimate());
        let json = format!(
            r#"{{"hyperLogLogPlus":{{"hyperLogLogPlusSketchBytes":"{bytes}","cardinality":{estimate}}}}}"#
        );
        out.extend_from_slice(json.as_bytes());
    }
}

fn note(registers: &mut [u8], p: u8, hash: u64) {
    let register = &mut registers[(hash >> (64 - p)) as usize];
    let rank = ((hash << p) | (1 << (p - 1))).leading_zeros() as u8 + 1;
    *register = (*register).max(rank);
}

/// FNV-1a, then stirred so that all bits depend on all bytes. Persisted in sketches: never to change.
fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let stirred = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let stirred = (stirred ^ (stirred >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    stirred ^ (stirred >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(range: std::ops::Range<i64>) -> HyperLogLog {
        let mut sketch = HyperLogLog::new(Some(12));
        range.for_each(|number| sketch.offer(&Value::Long(number)));
        sketch
    }

    #[test]
    fn few_are_counted_exactly_and_many_nearly() {
        assert_eq!(sketch(0..500).estimate(), 500);
        let many = sketch(0..100_000).estimate() as f64;
        assert!((many / 100_000.0 - 1.0).abs() < 0.05, "{many}");
    }

    #[test]
    fn a_union_depends_neither_on_order_nor_on_repetition() {
        let (a, b, whole) = (sketch(0..400), sketch(200..5000), sketch(0..5000));
        let mut ab = a.clone();
        ab.merge(&b).unwrap();
        let mut ba = b.clone();
        ba.merge(&a).unwrap();
        ba.merge(&a).unwrap();
        assert_eq!(ab, whole);
        assert_eq!(ba, whole);
        assert_eq!(HyperLogLog::from_bytes(&ab.to_bytes()), Some(ab));
        assert_eq!(HyperLogLog::from_bytes(&a.to_bytes()), Some(a));
    }
}
