//! Key bytes: golden layouts, and that they order, split and read back as what they were made from.

use keyaki::cell::key::{
    BadKey, CellKey, cell_key, escape_into, partition_range, space_range, split_cell_key,
    successor_of_prefix, unescape,
};
use keyaki::cell::parts::{Parts, PartsReader};
use proptest::collection::vec;
use proptest::prelude::*;

fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    escape_into(bytes, &mut out);
    out
}

fn key(space: u32, partition: &[u8], sort: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    cell_key(space, partition, sort, &mut out);
    out
}

/// Short strings over few byte values, so that equal, prefixed and escaped ones are common; and long
/// ones, which take the path by blocks.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let telling = prop::sample::select(vec![0u8, 1, 2, 3, b'a', 0xfe, 0xff]);
    prop_oneof![vec(telling, 0..6), vec(any::<u8>(), 0..100)]
}

#[test]
fn escaped_bytes_are_as_promised() {
    assert_eq!(escape(b""), b"");
    assert_eq!(escape(b"film"), b"film");
    assert_eq!(escape(&[0x00]), [0x01, 0x01]);
    assert_eq!(escape(&[0x01]), [0x01, 0x02]);
    assert_eq!(escape(&[0x02, 0x00, 0x01, 0xff]), [0x02, 0x01, 0x01, 0x01, 0x02, 0xff]);
    // The special byte lies in the second block of sixteen.
    assert_eq!(escape(b"0123456789abcdefgh\0i"), b"0123456789abcdefgh\x01\x01i");
}

#[test]
fn cell_key_bytes_are_as_promised() {
    assert_eq!(key(0x0102_0304, b"p\x00q", b"s\x00"), b"\x01\x02\x03\x04p\x01\x01q\x00s\x00");
    assert_eq!(key(7, b"", b""), b"\x00\x00\x00\x07\x00");
    let mut two = key(1, b"a", b"b");
    cell_key(2, b"c", b"d", &mut two);
    assert_eq!(two, b"\x00\x00\x00\x01a\x00b\x00\x00\x00\x02c\x00d", "keys are appended");
}

#[test]
fn ranges_are_as_promised() {
    assert_eq!(
        partition_range(5, b"p"),
        (b"\x00\x00\x00\x05p\x00".to_vec(), b"\x00\x00\x00\x05p\x01".to_vec())
    );
    assert_eq!(space_range(5), (vec![0, 0, 0, 5], Some(vec![0, 0, 0, 6])));
    assert_eq!(space_range(0xff), (vec![0, 0, 0, 0xff], Some(vec![0, 0, 1, 0])));
    assert_eq!(space_range(u32::MAX), (vec![0xff; 4], None));
    assert_eq!(successor_of_prefix(b"ab"), Some(b"ac".to_vec()));
    assert_eq!(successor_of_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
    assert_eq!(successor_of_prefix(b"\xff"), None);
    assert_eq!(successor_of_prefix(b""), None);
}

#[test]
fn part_bytes_are_as_promised() {
    let key = Parts::new().bytes(b"a\x00").u32(1).u64(0x0203).fixed(b"xy").tail(b"\x00z");
    assert_eq!(key, b"a\x01\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02\x03xy\x00z");
    assert_eq!(Parts::onto(b"k".to_vec()).bytes(b"").into_bytes(), b"k\x00");
    assert_eq!(Parts::new().u32(9).bytes_prefix(b"a\x01"), b"\x00\x00\x00\x09a\x01\x02");
    assert_eq!(Parts::new().string_prefix("ab"), b"\x40ab");
}

#[test]
fn what_no_writer_wrote_is_refused_with_its_place() {
    let bad = |offset, reason| BadKey { offset, reason };
    assert_eq!(unescape(b"ab\x01"), Err(bad(2, "an unknown escape")));
    assert_eq!(unescape(b"a\x01\x01\x01\x03"), Err(bad(3, "an unknown escape")));
    assert_eq!(unescape(b"ab\x00"), Err(bad(2, "a zero byte inside an escaped string")));
    assert_eq!(split_cell_key(b"\x00\x00\x00"), Err(bad(3, "the space is cut short")));
    assert_eq!(split_cell_key(b"\x00\x00\x00\x01ab"), Err(bad(6, "the partition has no end")));
    let wrong = split_cell_key(b"\x00\x00\x00\x01ab\x01\x04\x00s").unwrap();
    assert_eq!(wrong.partition(), Err(bad(6, "an unknown escape")));

    let mut parts = PartsReader::new(b"ab\x00\x00\x00\x01x");
    assert_eq!(parts.bytes().unwrap(), &b"ab"[..]);
    assert_eq!(parts.clone().bytes(), Ok((&b""[..]).into()));
    assert_eq!(parts.clone().u64(), Err(bad(3, "a part is cut short")));
    assert_eq!(parts.clone().finish(), Err(bad(3, "bytes after the last part")));
    assert_eq!(parts.u32(), Ok(0x0178));
    assert_eq!(parts.clone().bytes(), Err(bad(7, "a part has no end")));
    assert_eq!(parts.finish(), Ok(()));
}

proptest! {
    #[test]
    fn escape_reads_back_without_zeros_and_keeps_order(a in bytes(), b in bytes()) {
        let escaped = escape(&a);
        prop_assert!(!escaped.contains(&0));
        prop_assert_eq!(unescape(&escaped).unwrap(), &a[..]);
        prop_assert_eq!(escaped.cmp(&escape(&b)), a.cmp(&b));
    }

    #[test]
    fn cell_keys_split_and_order_as_their_tuples(
        a in (0u32..3, bytes(), bytes()),
        b in (0u32..3, bytes(), bytes()),
    ) {
        let (key_a, key_b) = (key(a.0, &a.1, &a.2), key(b.0, &b.1, &b.2));
        prop_assert_eq!(key_a.cmp(&key_b), a.cmp(&b));
        let CellKey { space, sort, .. } = split_cell_key(&key_a).unwrap();
        prop_assert_eq!((space, sort), (a.0, &a.2[..]));
        prop_assert_eq!(split_cell_key(&key_a).unwrap().partition().unwrap(), &a.1[..]);
    }

    #[test]
    fn ranges_hold_exactly_their_keys(
        (space, partition) in (0u32..3, bytes()),
        other in (0u32..3, bytes(), bytes()),
    ) {
        let key = key(other.0, &other.1, &other.2);
        let (start, end) = partition_range(space, &partition);
        let inside = (other.0, &other.1) == (space, &partition);
        prop_assert_eq!(start <= key && key < end, inside);
        let (start, end) = space_range(space);
        prop_assert_eq!(start <= key && Some(&key) < end.as_ref(), other.0 == space);
    }

    #[test]
    fn a_successor_parts_prefixed_keys_from_the_others(prefix in bytes(), other in bytes()) {
        let successor = successor_of_prefix(&prefix);
        let below = successor.as_ref().is_none_or(|successor| &other < successor);
        prop_assert_eq!(prefix <= other && below, other.starts_with(&prefix));
        if let Some(successor) = successor {
            prop_assert!(!successor.starts_with(&prefix) && successor > prefix);
        }
    }

    #[test]
    fn parts_read_back_and_order_as_their_tuples(
        a in (bytes(), 0u32..3, bytes(), any::<u64>()),
        b in (bytes(), 0u32..3, bytes(), any::<u64>()),
    ) {
        let write = |t: &(Vec<u8>, u32, Vec<u8>, u64)| {
            Parts::new().bytes(&t.0).u32(t.1).bytes(&t.2).u64(t.3).into_bytes()
        };
        let key = write(&a);
        prop_assert_eq!(key.cmp(&write(&b)), a.cmp(&b));
        let mut parts = PartsReader::new(&key);
        prop_assert_eq!(parts.bytes().unwrap(), &a.0[..]);
        prop_assert_eq!(parts.u32(), Ok(a.1));
        prop_assert_eq!(parts.bytes().unwrap(), &a.2[..]);
        prop_assert_eq!(parts.u64(), Ok(a.3));
        prop_assert_eq!(parts.finish(), Ok(()));
    }

    #[test]
    fn no_byte_string_part_is_a_prefix_of_another(a in bytes(), b in bytes()) {
        let (part_a, part_b) = (Parts::new().bytes(&a), Parts::new().bytes(&b));
        prop_assert_eq!(part_b.into_bytes().starts_with(&part_a.into_bytes()), a == b);
    }

    #[test]
    fn a_prefix_finds_the_strings_that_start_with_it(prefix in bytes(), other in bytes()) {
        let key = Parts::new().u32(1).bytes(&other).into_bytes();
        let found = key.starts_with(&Parts::new().u32(1).bytes_prefix(&prefix));
        prop_assert_eq!(found, other.starts_with(&prefix));
    }

    #[test]
    fn readers_take_any_bytes_without_panic(bytes in bytes()) {
        if let Ok(plain) = unescape(&bytes) {
            prop_assert_eq!(escape(&plain), &bytes[..]);
        }
        if let Ok(split) = split_cell_key(&bytes)
            && let Ok(partition) = split.partition()
        {
            prop_assert_eq!(key(split.space, &partition, split.sort), &bytes[..]);
        }
        let mut parts = PartsReader::new(&bytes);
        while let Ok(part) = parts.bytes() {
            prop_assert!(part.len() < bytes.len());
            let _ = parts.fixed::<1>();
        }
    }
}
