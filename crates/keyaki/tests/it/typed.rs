//! Typed values in keys: golden bytes, one exact order, nothing rounded, nothing read that was not
//! written.
//!
//! The order is checked against decimal text: every number written out in full, digit by digit.

use std::cmp::Ordering;

use keyaki::cell::key::successor_of_prefix;
use keyaki::cell::number::Number;
use keyaki::cell::parts::{Parts, PartsReader};
use keyaki::cell::typed::{Array, DEPTH_MAX, TypedValue};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A number as a test means it.
#[derive(Clone, Debug)]
enum Num {
    Digits(String),
    Double(f64),
}

#[derive(Clone, Debug)]
enum Model {
    Null,
    Bool(bool),
    Num(Num),
    Str(String),
    Arr(Vec<Model>),
}

impl Num {
    fn number(&self) -> Number {
        match self {
            Self::Digits(digits) => digits.parse().unwrap(),
            Self::Double(double) => Number::try_from(*double).unwrap(),
        }
    }

    /// The number written out in full: sign, digits before the point, digits after it.
    fn exact(&self) -> (bool, String, String) {
        let text = match self {
            Self::Digits(digits) => digits.clone(),
            Self::Double(double) => format!("{double:.1074}"),
        };
        let magnitude = text.trim_start_matches('-');
        let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let negative = text.starts_with('-') && !(whole.is_empty() && fraction.is_empty());
        (negative, whole.to_owned(), fraction.to_owned())
    }

    /// What JSON text means: digits alone are an integer, anything else a double.
    fn from_text(text: &str) -> Self {
        if text.contains(['.', 'e', 'E']) {
            Self::Double(text.parse().unwrap())
        } else {
            Self::Digits(text.into())
        }
    }

    fn negated(&self) -> Self {
        match self {
            Self::Digits(digits) => Self::Digits(format!("-{digits}")),
            Self::Double(double) => Self::Double(-double),
        }
    }
}

fn compare_exact(a: &(bool, String, String), b: &(bool, String, String)) -> Ordering {
    let magnitude = (a.1.len(), &a.1, &a.2).cmp(&(b.1.len(), &b.1, &b.2));
    match (a.0, b.0) {
        (false, false) => magnitude,
        (true, true) => magnitude.reverse(),
        (negative, other) => other.cmp(&negative),
    }
}

impl Model {
    fn value(&self) -> TypedValue<'_> {
        match self {
            Self::Null => TypedValue::Null,
            Self::Bool(bool) => (*bool).into(),
            Self::Num(num) => num.number().into(),
            Self::Str(string) => string.as_str().into(),
            Self::Arr(items) => {
                TypedValue::Array(Array::new(items.iter().map(Model::value).collect()).unwrap())
            }
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Num(a), Self::Num(b)) => compare_exact(&a.exact(), &b.exact()),
            (Self::Str(a), Self::Str(b)) => a.chars().cmp(b.chars()),
            (Self::Arr(a), Self::Arr(b)) => {
                let differing =
                    a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
                differing.unwrap_or(a.len().cmp(&b.len()))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Num(_) => 2,
            Self::Str(_) => 3,
            Self::Arr(_) => 4,
        }
    }
}

fn encode(value: &TypedValue<'_>) -> Vec<u8> {
    Parts::new().typed(value).into_bytes()
}

fn decode(bytes: &[u8]) -> TypedValue<'_> {
    let mut parts = PartsReader::new(bytes);
    let value = parts.typed().unwrap();
    parts.finish().unwrap();
    value
}

fn hex(value: &TypedValue<'_>) -> String {
    encode(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json_hex(json: &Value) -> String {
    hex(&TypedValue::from_json(json).unwrap())
}

fn number_hex(text: &str) -> String {
    hex(&text.parse::<Number>().unwrap().into())
}

/// `digits`, one more and one less, where that changes the last digit only.
fn around(digits: &str) -> Vec<String> {
    let (front, last) = digits.split_at(digits.len() - 1);
    let last: u8 = last.parse().unwrap();
    let near = last.saturating_sub(1)..=(last + 1).min(9);
    near.map(|last| format!("{front}{last}")).collect()
}

/// Where encodings break: the ends of every machine type, of exactness, of range; as integers and as doubles.
fn edges() -> Vec<Num> {
    let mut doubles = vec![0.1, 0.5, 1.0 / 3.0, 1.5, 1e22, 1e23, 1e300, 9007199254740992.0];
    doubles.extend([
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits(3),
        f64::EPSILON,
    ]);
    doubles.extend(
        [1, 8, 31, 52, 53, 54, 63, 64, 126, 127, 128, 1023, -1, -1022].map(|k| 2f64.powi(k)),
    );
    let neighbours =
        doubles.iter().flat_map(|double| [double.next_down(), *double, double.next_up()]);
    let doubles: Vec<f64> = neighbours.filter(|double| double.is_finite()).collect();
    let whole = doubles.iter().filter(|double| double.fract() == 0.0);
    let mut nums: Vec<Num> =
        whole.flat_map(|double| around(&format!("{double:.0}"))).map(Num::Digits).collect();
    for digits in [
        "0",
        "10000000000000000000000",
        "100000000000000000000000",
        "340282366920938463463374607431768211457",
    ] {
        nums.extend(around(digits).into_iter().map(Num::Digits));
    }
    nums.extend([Num::Digits("9".repeat(1233)), Num::Digits(format!("1{}", "0".repeat(1232)))]);
    nums.extend(doubles.into_iter().chain([0.0]).map(Num::Double));
    let negated: Vec<Num> = nums.iter().map(Num::negated).collect();
    nums.extend(negated);
    nums
}

/// Bytes that mean something somewhere in an encoding.
fn telling_byte() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![0, 1, 2, 0x10, 0x30, 0x31, 0x32, 0x40, 0x50, 0x7f, 0x80, 0xff])
}

fn num() -> impl Strategy<Value = Num> {
    let double =
        any::<u64>().prop_map(f64::from_bits).prop_filter("JSON has no others", |d| d.is_finite());
    prop_oneof![
        prop::sample::select(edges()),
        any::<i64>().prop_map(|integer| Num::Digits(integer.to_string())),
        any::<u64>().prop_map(|integer| Num::Digits(integer.to_string())),
        any::<i128>().prop_map(|integer| Num::Digits(integer.to_string())),
        (-300i32..300).prop_map(|integer| Num::Double(f64::from(integer) / 4.0)),
        "-?[1-9][0-9]{0,90}".prop_map(Num::Digits),
        "-?[1-9][0-9]{1100,1232}".prop_map(Num::Digits),
        double.prop_map(Num::Double),
    ]
}

fn model() -> impl Strategy<Value = Model> {
    let leaf = prop_oneof![
        Just(Model::Null),
        any::<bool>().prop_map(Model::Bool),
        num().prop_map(Model::Num),
        "[\u{0}\u{1}\u{2}aé\u{ffff}\u{10000}]{0,4}".prop_map(Model::Str),
        any::<String>().prop_map(Model::Str),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| vec(inner, 0..4).prop_map(Model::Arr))
}

#[test]
fn bytes_of_each_type_are_as_promised() {
    assert_eq!(json_hex(&json!(null)), "10");
    assert_eq!(json_hex(&json!(false)), "20");
    assert_eq!(json_hex(&json!(true)), "21");
    assert_eq!(json_hex(&json!("")), "4000");
    assert_eq!(json_hex(&json!("a\u{0}\u{1}é")), "406101010102c3a900");
    assert_eq!(json_hex(&json!([])), "5000");
    assert_eq!(json_hex(&json!([null, "a", [true]])), "501040610050210000");
}

#[test]
fn bytes_of_numbers_are_as_promised() {
    for (text, bytes) in [
        ("0", "31"),
        ("1", "32800000"),
        ("2", "32800100"),
        ("3", "3280018000"),
        ("5", "3280024000"),
        ("255", "328007fe00"),
        ("257", "328008010200"),
        ("-1", "307fffff"),
        ("-5", "307ffdbfff"),
        ("-257", "307ff7fefdff"),
        ("0.5", "327fff00"),
        ("-0.75", "3080007fff"),
        ("0.1", "327ffc999999999999a000"),
        ("5e-324", "327bce00"),
        ("9007199254740992", "32803500"),
        ("9007199254740993", "3280350101010101010101010101010800"),
        ("18446744073709551615", "32803ffffffffffffffffe00"),
        ("18446744073709551616", "32804000"),
        ("1e23", "32804c52d02c7e14af6000"),
        ("100000000000000000000000", "32804c52d02c7e14af6800"),
        ("-100000000000000000000000", "307fb3ad2fd381eb5097ff"),
    ] {
        assert_eq!(number_hex(text), bytes, "{text}");
    }
}

#[test]
fn equal_numbers_have_equal_bytes() {
    for [a, b] in [
        ["1", "1.0"],
        ["0", "-0.0"],
        ["-0", "0"],
        ["100", "1e2"],
        ["-7", "-7.00"],
        ["10000000000000000000000", "1e22"],
    ] {
        assert_eq!(number_hex(a), number_hex(b), "{a} and {b}");
    }
    assert_ne!(
        number_hex("100000000000000000000000"),
        number_hex("1e23"),
        "1e23 is not exactly a double"
    );
}

#[test]
fn all_pairs_of_edge_numbers_order_exactly() {
    let edges: Vec<_> =
        edges().iter().map(|num| (num.exact(), encode(&num.number().into()))).collect();
    for (a, a_bytes) in &edges {
        for (b, b_bytes) in &edges {
            assert_eq!(a_bytes.cmp(b_bytes), compare_exact(a, b), "{a:?} and {b:?}");
        }
    }
}

#[test]
fn integers_are_exact_or_refused() {
    // 2^4096 = 16^1024, by doubling decimal text.
    let mut power = vec![1u8];
    for _ in 0..4096 {
        let mut carry = 0;
        for digit in &mut power {
            let doubled = *digit * 2 + carry;
            (*digit, carry) = (doubled % 10, doubled / 10);
        }
        power.extend((carry > 0).then_some(carry));
    }
    let beyond: String = power.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
    let largest = &around(&beyond)[0];
    assert_eq!(largest.parse::<Number>().unwrap().to_string(), *largest);
    let smallest = format!("-{largest}");
    assert_eq!(smallest.parse::<Number>().unwrap().to_string(), smallest);
    assert_eq!(beyond.parse::<Number>().unwrap_err().reason, "an integer of more than 4096 bits");
    assert!("1".repeat(1_000_000).parse::<Number>().is_err());
}

#[test]
fn what_json_has_not_is_refused() {
    for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Number::try_from(double).is_err());
    }
    for text in [
        "", "-", "+1", "NaN", "inf", "-inf", "infinity", ".5", "0x10", "1e400", "--1", "1e", "1_0",
        "１",
    ] {
        assert!(text.parse::<Number>().is_err(), "{text}");
    }
    assert_eq!(
        TypedValue::from_json(&json!({"a": 1})).unwrap_err().reason,
        "objects have no order"
    );
    assert!(TypedValue::from_json(&json!([[{}]])).is_err());
}

#[test]
fn json_numbers_arrive_exactly() {
    for text in [
        "0",
        "-0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1.0",
        "0.1",
        "-2.5e-7",
        "1e22",
    ] {
        let json: Value = serde_json::from_str(text).unwrap();
        assert_eq!(json_hex(&json), number_hex(text), "{text}");
    }
}

/// Without serde_json's `arbitrary_precision` this text never reaches us.
#[test]
fn json_integers_beyond_64_bits_are_as_exact_as_serde_json_is() {
    let text = "100000000000000000000001";
    let json: Value = serde_json::from_str(text).unwrap();
    let kept = json.to_string();
    let expected = if kept == text { text } else { "1e23" };
    assert_eq!(json_hex(&json), number_hex(expected));
}

#[test]
fn nesting_ends_at_its_limit() {
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let deepest = nested(DEPTH_MAX);
    let value = TypedValue::from_json(&deepest).unwrap();
    let bytes = encode(&value);
    assert_eq!(decode(&bytes), value);
    assert!(Array::new(vec![value]).is_err());
    assert!(TypedValue::from_json(&nested(DEPTH_MAX + 1)).is_err());
    let too_deep = PartsReader::new(&[0x50; 10_000]).typed().unwrap_err();
    assert_eq!((too_deep.offset, too_deep.reason), (129, "arrays are nested more than 128 deep"));
}

#[test]
fn what_no_writer_wrote_is_refused() {
    for (bytes, why) in [
        (&b""[..], "nothing"),
        (b"\x00", "no type"),
        (b"\x33", "no type"),
        (b"\x40a", "no end"),
        (b"\x40\xff\x00", "not UTF-8"),
        (b"\x40\x01\x03\x00", "unknown escape"),
        (b"\x50\x10", "no end"),
        (b"\x32\x80", "exponent cut short"),
        (b"\x32\x80\x00", "no end"),
        (b"\x32\x80\x00\x80\x01\x01\x00", "a zero byte at the fraction's end"),
        (
            b"\x32\x80\x00\x80\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x10\x00",
            "1.5 + 2^-60 is no double",
        ),
        (b"\x32\x7b\xcd\x00", "2^-1075 is no double"),
        (b"\x32\x90\x00\x00", "2^4096"),
        (b"\x30\x7f\xff\x00", "complemented bytes end in ff"),
    ] {
        assert!(PartsReader::new(bytes).typed().is_err(), "{why}");
    }
}

proptest! {
    #[test]
    fn numbers_order_exactly(a in num(), b in num()) {
        let order = encode(&a.number().into()).cmp(&encode(&b.number().into()));
        prop_assert_eq!(order, compare_exact(&a.exact(), &b.exact()));
    }

    #[test]
    fn numbers_come_back_unchanged(num in num()) {
        let bytes = encode(&num.number().into());
        let TypedValue::Number(back) = decode(&bytes) else { panic!("not a number") };
        prop_assert_eq!(&back, &num.number());
        prop_assert_eq!(Num::from_text(&back.to_string()).exact(), num.exact());
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&back.to_string()).is_ok());
    }

    #[test]
    fn values_order_come_back_and_are_no_prefixes(a in model(), b in model()) {
        let (a_bytes, b_bytes) = (encode(&a.value()), encode(&b.value()));
        let order = a.compare(&b);
        prop_assert_eq!(a_bytes.cmp(&b_bytes), order);
        prop_assert_eq!(a_bytes.starts_with(&b_bytes), order.is_eq());
        prop_assert_eq!(decode(&a_bytes), a.value());
        prop_assert_eq!(a.value() == b.value(), order.is_eq());
    }

    #[test]
    fn values_order_before_what_follows_them(a in (model(), any::<u32>()), b in (model(), any::<u32>())) {
        let write = |t: &(Model, u32)| Parts::new().typed(&t.0.value()).u32(t.1).into_bytes();
        prop_assert_eq!(write(&a).cmp(&write(&b)), a.0.compare(&b.0).then(a.1.cmp(&b.1)));
    }

    #[test]
    fn a_string_prefix_bounds_its_strings(prefix in "[\u{0}\u{1}ab]{0,3}", other in model()) {
        let start = Parts::new().string_prefix(&prefix);
        let end = successor_of_prefix(&start).unwrap();
        let key = encode(&other.value());
        let matches = matches!(&other, Model::Str(string) if string.starts_with(&prefix));
        prop_assert_eq!(start <= key && key < end, matches);
    }

    #[test]
    fn readers_take_any_bytes_and_only_what_was_written(
        model in model(),
        edits in vec((any::<prop::sample::Index>(), telling_byte()), 0..4),
        noise in vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = encode(&model.value());
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [bytes, noise] {
            let mut parts = PartsReader::new(&bytes);
            if let Ok(value) = parts.typed() {
                let read = bytes.len() - parts.rest().len();
                prop_assert_eq!(encode(&value), &bytes[..read]);
            }
        }
    }
}
