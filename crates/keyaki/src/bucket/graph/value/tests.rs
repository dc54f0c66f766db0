use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Boolean),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<i32>().prop_map(Value::Integer),
        any::<i64>().prop_map(Value::Long),
        any::<i64>().prop_map(Value::Date),
        any::<f32>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::Float),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::Double),
        "[a-c\u{0}\u{1}é\u{10000}]{0,30}".prop_map(Value::from),
        proptest::collection::vec(any::<u8>(), 0..30).prop_map(|bytes| Value::Bytes(bytes.into())),
        ("[a-c\u{0}]{0,3}", "[a-c]{0,3}").prop_map(|(a, b)| {
            Value::TypeValue(Box::new([a.as_str().into(), b.as_str().into()]))
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let items = || proptest::collection::vec(scalar(), 0..12);
    prop_oneof![
        4 => scalar(),
        1 => items().prop_map(Value::list),
        1 => items().prop_map(|items| Value::Set(Box::new(Set::of(SetKind::Tree, items)))),
        1 => items().prop_map(|items| Value::Set(Box::new(Set::of(SetKind::Linked, items)))),
        1 => items().prop_map(|items| {
            let mut map = Map::new(MapKind::Hash);
            items.into_iter().enumerate().for_each(|(i, item)| map.insert((i as i64).into(), item));
            Value::Map(Box::new(map))
        }),
    ]
}

proptest! {
    #[test]
    fn packed_values_come_back(value in value()) {
        let (mut tagged, mut bare) = (Vec::new(), Vec::new());
        encode_tagged(&value, &mut tagged).unwrap();
        let class = value.class().unwrap();
        encode(&value, class, &mut bare).unwrap();
        prop_assert_eq!(&decode_tagged(&mut &tagged[..]).unwrap(), &value);
        let mut read = Value::Null;
        decode(&mut &bare[..], class, &mut read).unwrap();
        prop_assert_eq!(&read, &value);
        for cut in 0..tagged.len() {
            prop_assert!(decode_tagged(&mut &tagged[..cut]).is_err());
        }
    }

    #[test]
    fn keys_sort_as_their_values_do(a in scalar(), b in scalar()) {
        let part = |value: &Value, class| {
            let mut bytes = Vec::new();
            encode_part(value, class, &mut bytes).unwrap();
            bytes
        };
        let class = a.class().unwrap();
        for class in [class, Class::Object] {
            let mut read = Value::Null;
            KeyReader::new(&part(&a, class)).part(class, &mut read).unwrap();
            prop_assert_eq!(&read, &a);
        }
        if b.class() == Some(class) {
            let order = match (&a, &b) {
                // Keys go by code points, Java by UTF-16 units.
                (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
                (Value::Bytes(_), _) => a.cmp(&b),
                _ => a.compare(&b).unwrap(),
            };
            prop_assert_eq!(part(&a, class).cmp(&part(&b, class)), order);
        }
    }

    #[test]
    fn json_comes_back(value in scalar()) {
        let mut bytes = Vec::new();
        value.write_typed(&mut bytes);
        let json: Json = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(Value::from_json(&json).unwrap(), value);
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_panic(bytes: Vec<u8>) {
        let _ = decode_tagged(&mut &bytes[..]);
        let _ = KeyReader::new(&bytes).part(Class::Object, &mut Value::Null);
        let _ = KeyReader::new(&bytes).vertex(VertexEncoding::Tagged);
    }
}

#[test]
fn json_is_as_gaffer_writes_it() {
    let written = |value: Value| -> Json { value.to_json() };
    assert_eq!(written(Value::Long(i64::MAX)), json!({"java.lang.Long": i64::MAX}));
    assert_eq!(written(Value::Integer(1)), json!(1));
    assert_eq!(written("x".into()), json!("x"));
    assert_eq!(written(Value::Double(1.5)), json!(1.5));
    assert_eq!(written(Value::Bytes(Box::new([1, 2]))), json!({"[B": "AQI="}));
    for json in [
        json!({"java.util.TreeSet": ["a", "b"]}),
        json!({"uk.gov.gchq.gaffer.types.FreqMap": {"a": 1}}),
        json!({"java.util.HashMap": {"k": 1}}),
        json!({"uk.gov.gchq.gaffer.types.TypeSubTypeValue": {"type": "t", "subType": "s", "value": "v"}}),
        json!({"java.util.Date": 5}),
        json!(9007199254740993i64),
    ] {
        let value = Value::from_json(&json).unwrap();
        let expected = if json.is_number() { json!({"java.lang.Long": json}) } else { json };
        assert_eq!(value.to_json(), expected);
    }
    assert_eq!(Value::from_json(&json!({"Long": 7})).unwrap(), Value::Long(7));
    let unknown = Value::from_json(&json!({"com.example.Thing": 7})).unwrap_err();
    assert_eq!(unknown.context("class"), Some("com.example.Thing"));
    assert_ne!(Value::Long(1), Value::Integer(1));
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn packed_values_have_these_bytes() {
    let packed = |value: Value| {
        let mut bytes = Vec::new();
        encode_tagged(&value, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(packed(Value::Null), [0]);
    assert_eq!(packed(Value::Boolean(true)), [1, 1]);
    assert_eq!(packed(Value::Long(-1)), [5, 1]);
    assert_eq!(packed(Value::Long(300)), [5, 0xd8, 4]);
    assert_eq!(packed(Value::Double(1.0)), [7, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(packed("ab".into()), [9, 2, b'a', b'b']);
    let set = Set::of(SetKind::Tree, vec!["b".into(), "a".into()]);
    assert_eq!(packed(Value::Set(Box::new(set))), [13, 2, 9, 1, b'a', 9, 1, b'b']);
    let freq = FreqMap::from([("x".into(), 2)]);
    assert_eq!(packed(Value::FreqMap(Box::new(freq))), [19, 1, 1, b'x', 4]);
}
