//! Apache's sketches: what was seen, in a space that does not grow with it. The algorithms and the bytes are those of
//! the `datasketches` crate, which other languages' libraries of that name read and write too.
//!
//! | class                            | tells                          | merged             | bytes                    |
//! |----------------------------------|--------------------------------|--------------------|--------------------------|
//! | `HllSketch`, `hll.Union`         | how many different things      | the union          | HLL, four bits           |
//! | `theta.Sketch`, `theta.Union`    | the same                       | the union          | theta, compact, sorted   |
//! | `KllFloatsSketch`                | quantiles of numbers           | all of both, about | KLL of floats            |
//! | `LongsSketch`, `ItemsSketch`     | which were seen most often     | the sum, about     | frequent items           |
//!
//! Unions depend neither on order nor on repetition. The others are sums: once they are full they choose what to
//! forget, so two that saw the same things in another order may differ within their error.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datasketches::common::SearchCriteria;
use datasketches::frequencies::{ErrorType, FrequentItemsSketch};
use datasketches::hash::value::raw_bytes;
use datasketches::hll::{HllSketch, HllType, HllUnion};
use datasketches::kll::{KllFloat, KllSketch};
use datasketches::theta::{CompactThetaSketch, ThetaSketchBuilder, ThetaUnionBuilder};
use serde_json::{Value as Json, json};

use super::java::{double_text, float_text};
use super::{Class, Value};
use crate::error::{Error, Result};

/// Gaffer's default for `HllSketch`.
const LOG_K: u8 = 10;
/// Apache's defaults.
const THETA_LOG_K: u8 = 12;
const KLL_K: u16 = 200;
const ITEMS_MAX: usize = 1024;
/// The quantiles that JSON shows.
const SHOWN: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// A sketch.
#[derive(Debug, Clone)]
pub struct Sketch {
    class: Class,
    seen: Seen,
}

#[derive(Debug, Clone)]
enum Seen {
    Hll(HllSketch),
    Theta(CompactThetaSketch),
    Floats(KllSketch<KllFloat<f32>>),
    Longs(FrequentItemsSketch<i64>),
    Strings(FrequentItemsSketch<String>),
}

impl Class {
    /// Whether its values are sketches.
    #[must_use]
    pub fn is_sketch(self) -> bool {
        matches!(
            self,
            Self::HllSketch
                | Self::HllUnion
                | Self::ThetaSketch
                | Self::ThetaUnion
                | Self::KllFloatsSketch
                | Self::LongsSketch
                | Self::ItemsSketch
        )
    }
}

impl Sketch {
    /// One that has seen nothing, of a class of sketches; `log_k` is the size of an `HllSketch`.
    ///
    /// # Errors
    /// `Invalid` for another class, or a size that there is not.
    pub fn new(class: Class, log_k: Option<u8>) -> Result<Self> {
        let seen = match class {
            Class::HllSketch | Class::HllUnion => {
                HllSketch::new(log_k.unwrap_or(LOG_K), HllType::Hll4).map(Seen::Hll)
            }
            Class::ThetaSketch | Class::ThetaUnion => {
                let empty = ThetaSketchBuilder::default().lg_k(THETA_LOG_K).build();
                empty.map(|empty| Seen::Theta(empty.compact(true)))
            }
            Class::KllFloatsSketch => KllSketch::new(KLL_K).map(Seen::Floats),
            Class::LongsSketch => FrequentItemsSketch::new(ITEMS_MAX).map(Seen::Longs),
            Class::ItemsSketch => FrequentItemsSketch::new(ITEMS_MAX).map(Seen::Strings),
            other => {
                return Err(
                    Error::invalid("not a class of sketches").with("class", other.full_name())
                );
            }
        };
        let seen = seen.map_err(|error| Error::invalid("there is no such sketch").because(error));
        Ok(Self { class, seen: seen? })
    }

    /// Under which class it shows itself.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Notes values.
    ///
    /// # Errors
    /// `Invalid` for one that the sketch can't take.
    pub fn offer<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) -> Result<()> {
        let values = values.into_iter().filter(|value| !value.is_null());
        let wrong = |value: &Value| {
            Error::invalid("a sketch can't take a value of this class").with("value", value)
        };
        match &mut self.seen {
            Seen::Hll(sketch) => values.map(hashed).for_each(|bytes| {
                // As in Java, where an empty string is nothing.
                if !bytes.is_empty() {
                    sketch.update(raw_bytes::from_slice(&bytes));
                }
            }),
            Seen::Theta(sketch) => {
                let broken = |error| Error::internal("a sketch can't be made").because(error);
                let mut fresh =
                    ThetaSketchBuilder::default().lg_k(THETA_LOG_K).build().map_err(broken)?;
                for bytes in values.map(hashed).filter(|bytes| !bytes.is_empty()) {
                    fresh.update(raw_bytes::from_slice(&bytes));
                }
                *sketch = united(sketch, &fresh.compact(true))?;
            }
            Seen::Floats(sketch) => {
                for value in values {
                    let number = value.as_double().ok_or_else(|| wrong(value))?;
                    let number = KllFloat::<f32>::new(number as f32);
                    sketch.update(number.map_err(|error| wrong(value).because(error))?);
                }
            }
            Seen::Longs(sketch) => {
                for value in values {
                    sketch.update(value.as_integer().ok_or_else(|| wrong(value))?);
                }
            }
            Seen::Strings(sketch) => values.for_each(|value| sketch.update(value.to_string())),
        }
        Ok(())
    }

    /// Takes in all that another one has seen.
    ///
    /// # Errors
    /// `Invalid` if it is of another class, or both together are more than can be counted.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let wrong = || {
            Error::invalid("sketches that can't be merged")
                .with("class", self.class.full_name())
                .with("other", other.class.full_name())
        };
        match (&mut self.seen, &other.seen) {
            (Seen::Hll(own), Seen::Hll(others)) => {
                let mut union = HllUnion::new(own.lg_config_k()).map_err(|e| wrong().because(e))?;
                union.update(own);
                union.update(others);
                *own = union.to_sketch(HllType::Hll4);
            }
            (Seen::Theta(own), Seen::Theta(others)) => *own = united(own, others)?,
            (Seen::Floats(own), Seen::Floats(others))
                if own.n().checked_add(others.n()).is_some() =>
            {
                own.merge(others).map_err(|error| wrong().because(error))?;
            }
            (Seen::Longs(own), Seen::Longs(others)) => add(own, others).ok_or_else(wrong)?,
            (Seen::Strings(own), Seen::Strings(others)) => add(own, others).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// How many different things were seen, or of the others how many things.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        match &self.seen {
            Seen::Hll(sketch) => sketch.estimate(),
            Seen::Theta(sketch) => sketch.estimate(),
            Seen::Floats(sketch) => sketch.n() as f64,
            Seen::Longs(sketch) => sketch.total_weight() as f64,
            Seen::Strings(sketch) => sketch.total_weight() as f64,
        }
    }

    /// Apache's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.seen {
            Seen::Hll(sketch) => sketch.serialize(),
            Seen::Theta(sketch) => sketch.serialize(),
            Seen::Floats(sketch) => sketch.serialize(),
            Seen::Longs(sketch) => sketch.serialize(),
            Seen::Strings(sketch) => sketch.serialize(),
        }
    }

    /// Undoes [`Self::to_bytes`].
    ///
    /// # Errors
    /// `Invalid` if these are not such bytes.
    pub fn from_bytes(bytes: &[u8], class: Class) -> Result<Self> {
        let seen = match class {
            Class::HllSketch | Class::HllUnion => HllSketch::deserialize(bytes).map(Seen::Hll),
            Class::ThetaSketch | Class::ThetaUnion => {
                CompactThetaSketch::deserialize(bytes).map(Seen::Theta)
            }
            Class::KllFloatsSketch => KllSketch::deserialize(bytes).map(Seen::Floats),
            Class::LongsSketch => FrequentItemsSketch::deserialize(bytes).map(Seen::Longs),
            Class::ItemsSketch => FrequentItemsSketch::deserialize(bytes).map(Seen::Strings),
            _ => return Self::new(class, None),
        };
        let wrong = || Error::invalid("not the bytes of a sketch").with("class", class.full_name());
        Ok(Self { class, seen: seen.map_err(|error| wrong().because(error))? })
    }

    /// Reads `{"bytes": …, "values": […], "logK": …}`, all of which may be left out.
    pub(super) fn from_json(json: &Json, class: Class) -> Result<Self> {
        let wrong = || Error::invalid("not a sketch that we know").with("json", json);
        let bytes = json.get("bytes").filter(|bytes| !bytes.is_null());
        let mut sketch = match bytes {
            Some(bytes) => {
                let bytes = STANDARD.decode(bytes.as_str().ok_or_else(wrong)?);
                Self::from_bytes(&bytes.map_err(|_| wrong())?, class)?
            }
            None => {
                let log_k = json.get("logK").filter(|log_k| !log_k.is_null());
                let log_k = log_k.map(|it| it.as_u64().and_then(|it| it.try_into().ok()));
                Self::new(class, log_k.map(|it| it.ok_or_else(wrong)).transpose()?)?
            }
        };
        if let Some(values) = json.get("values").and_then(Json::as_array) {
            let values = values.iter().map(Value::from_json).collect::<Result<Vec<_>>>()?;
            sketch.offer(&values)?;
        }
        Ok(sketch)
    }

    /// Writes the bytes, and what they tell.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        let bytes = STANDARD.encode(self.to_bytes());
        let told = match &self.seen {
            Seen::Hll(_) | Seen::Theta(_) => {
                format!(r#""cardinality":{}"#, double_text(self.estimate()))
            }
            Seen::Floats(sketch) => {
                let at =
                    |rank: f64| sketch.quantile(rank, SearchCriteria::Inclusive).ok().flatten();
                let shown: Vec<String> =
                    SHOWN.into_iter().filter_map(at).map(|it| float_text(*it)).collect();
                format!(r#""n":{},"quantiles":[{}]"#, sketch.n(), shown.join(","))
            }
            Seen::Longs(sketch) => frequent(sketch),
            Seen::Strings(sketch) => frequent(sketch),
        };
        out.extend_from_slice(format!(r#"{{"bytes":"{bytes}",{told}}}"#).as_bytes());
    }
}

/// What is hashed of a value, as Gaffer hands it to its sketches.
fn hashed(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Integer(number) => i64::from(*number).to_le_bytes().to_vec(),
        Value::Long(number) => number.to_le_bytes().to_vec(),
        // One zero, and one of those that are no number.
        Value::Double(number) if *number == 0.0 => 0u64.to_le_bytes().to_vec(),
        Value::Double(number) if number.is_nan() => {
            0x7ff8u64.rotate_left(48).to_le_bytes().to_vec()
        }
        Value::Double(number) => number.to_le_bytes().to_vec(),
        other => other.to_string().into_bytes(),
    }
}

fn united(one: &CompactThetaSketch, other: &CompactThetaSketch) -> Result<CompactThetaSketch> {
    let wrong = |error| Error::invalid("sketches that can't be merged").because(error);
    let mut union = ThetaUnionBuilder::default().lg_k(THETA_LOG_K).build().map_err(wrong)?;
    union.update(one).map_err(wrong)?;
    union.update(other).map_err(wrong)?;
    Ok(union.to_sketch(true))
}

fn add<T: Eq + Hash + Clone>(
    own: &mut FrequentItemsSketch<T>,
    others: &FrequentItemsSketch<T>,
) -> Option<()> {
    own.total_weight().checked_add(others.total_weight())?;
    own.merge(others);
    Some(())
}

/// The items that were surely seen, the most frequent first.
fn frequent<T: Eq + Hash + Clone + ToString + Ord>(sketch: &FrequentItemsSketch<T>) -> String {
    let mut rows = sketch.frequent_items(ErrorType::NoFalsePositives);
    rows.sort_by(|a, b| b.estimate().cmp(&a.estimate()).then_with(|| a.item().cmp(b.item())));
    let item = |row: &datasketches::frequencies::Row<T>| json!({"item": row.item().to_string(), "count": row.estimate()});
    let items: Json = rows.iter().map(item).collect();
    format!(r#""n":{},"items":{items}"#, sketch.total_weight())
}

/// By class, then by bytes: enough to keep sets sorted.
impl Ord for Sketch {
    fn cmp(&self, other: &Self) -> Ordering {
        let class = self.class.full_name().cmp(other.class.full_name());
        class.then_with(|| self.to_bytes().cmp(&other.to_bytes()))
    }
}

impl PartialOrd for Sketch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Sketch {}

impl Hash for Sketch {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.class, self.to_bytes()).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(class: Class, json: Json) -> Sketch {
        Sketch::from_json(&json, class).unwrap()
    }

    fn written(sketch: &Sketch) -> Json {
        let mut out = Vec::new();
        sketch.write_json(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn strings(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|number| number.to_string()).collect()
    }

    /// Gaffer 2.3.2 was asked for these.
    #[test]
    fn hll_sketches_have_the_bytes_that_gaffer_writes() {
        for (json, bytes, cardinality) in [
            (json!({"values": []}), "AgEHCgMMAAA=", "0.0"),
            (json!({"values": ["a"]}), "AgEHCgMIAQAvgjsE", "1.0"),
            (json!({"values": ["x"], "logK": 5}), "AgEHBQMIAQBy4pIO", "1.0"),
            (json!({"values": ["x", "y"]}), "AgEHCgMIAgBy4pIO/ZORBg==", "2.000000004967054"),
        ] {
            let sketch = read(Class::HllSketch, json);
            let shown = written(&sketch);
            assert_eq!(shown["bytes"], bytes);
            assert_eq!(shown["cardinality"].to_string(), cardinality);
            let again = read(Class::HllSketch, json!({"bytes": bytes}));
            assert_eq!(again, sketch);
        }
    }

    #[test]
    fn a_union_counts_what_either_has_seen() {
        for class in [Class::HllSketch, Class::HllUnion, Class::ThetaSketch, Class::ThetaUnion] {
            let few = read(class, json!({"values": strings(0..200)}));
            let more = read(class, json!({"values": strings(100..1000)}));
            let (mut one, mut other) = (few.clone(), more.clone());
            one.merge(&more).unwrap();
            other.merge(&few).unwrap();
            other.merge(&few).unwrap();
            assert_eq!(one.estimate(), other.estimate(), "{class:?}");
            assert!((one.estimate() / 1000.0 - 1.0).abs() < 0.05, "{class:?}: {}", one.estimate());
            assert_eq!(Sketch::from_bytes(&one.to_bytes(), class).unwrap(), one);
        }
        let mut hll = read(Class::HllSketch, json!({}));
        assert!(hll.merge(&read(Class::ThetaSketch, json!({}))).is_err(), "they do not mix");
    }

    #[test]
    fn quantiles_and_frequencies_add_up() {
        let mut low = read(Class::KllFloatsSketch, json!({"values": [1, 2, 3.5]}));
        low.merge(&read(Class::KllFloatsSketch, json!({"values": [4, {"Long": 5}]}))).unwrap();
        let shown = written(&low);
        assert_eq!(shown["n"], 5);
        assert_eq!(shown["quantiles"], json!([1.0, 2.0, 3.5, 4.0, 5.0]));
        let again = read(Class::KllFloatsSketch, json!({"bytes": shown["bytes"]}));
        assert_eq!(written(&again)["quantiles"], shown["quantiles"]);
        assert!(Sketch::from_json(&json!({"values": ["x"]}), Class::KllFloatsSketch).is_err());

        let mut words = read(Class::ItemsSketch, json!({"values": ["a", "b", "a"]}));
        words.merge(&read(Class::ItemsSketch, json!({"values": ["b", "a", "c"]}))).unwrap();
        let shown = written(&words);
        assert_eq!(shown["n"], 6);
        assert_eq!(shown["items"][0], json!({"item": "a", "count": 3}));
        let again = read(Class::ItemsSketch, json!({"bytes": shown["bytes"]}));
        assert_eq!(written(&again)["items"], shown["items"]);
        let longs = read(Class::LongsSketch, json!({"values": [7, {"Long": 7}, 8]}));
        assert_eq!(written(&longs)["items"][0], json!({"item": "7", "count": 2}));
    }

    /// Bytes that we have promised to keep reading. Apache's own library in Java was asked for all but the first, in which
    /// it writes a number that neither of them reads.
    #[test]
    fn sketches_keep_their_bytes() {
        for (class, values, bytes) in [
            (Class::ThetaSketch, json!(["x", "y"]), "AgMDAAAazJMCAAAAAAAAAP7JSNm/y55jOXFJ2YI+9mg="),
            (
                Class::KllFloatsSketch,
                json!([1, 2]),
                "BQEPAMgACAACAAAAAAAAAMgAAQDGAAAAAACAPwAAAEAAAABAAACAPw==",
            ),
            (
                Class::LongsSketch,
                json!([1, 2, 2]),
                "BAEKCgMAAAACAAAAAAAAAAMAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAQAAAAAAAAACAAAAAAAAAA==",
            ),
            (
                Class::ItemsSketch,
                json!(["x", "y", "x"]),
                "BAEKCgMAAAACAAAAAAAAAAMAAAAAAAAAAAAAAAAAAAACAAAAAAAAAAEAAAAAAAAAAQAAAHgBAAAAeQ==",
            ),
        ] {
            let sketch = read(class, json!({"values": values}));
            assert_eq!(STANDARD.encode(sketch.to_bytes()), bytes, "{class:?}");
        }
        for class in [Class::HllSketch, Class::ThetaSketch, Class::KllFloatsSketch] {
            assert!(Sketch::from_bytes(b"\x01\x0e\x00", class).is_err(), "{class:?}");
            assert!(Sketch::from_bytes(b"", class).is_err(), "{class:?}");
        }
    }
}
