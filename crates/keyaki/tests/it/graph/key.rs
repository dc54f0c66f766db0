//! The bytes of rows, which are promised.

use keyaki::bucket::graph::element::Directed;
use keyaki::bucket::graph::key::{KeyPackage, Way, Ways, by_name};
use keyaki::bucket::graph::operation::Side;
use keyaki::cell::key::{cell_key, escape_into};

/// The row of an edge as it is stored, behind the space.
fn edge(package: &dyn KeyPackage, way: Way, vertex: &[u8], other: &[u8]) -> Vec<u8> {
    let (mut escaped, mut sort, mut key) = (Vec::new(), Vec::new(), Vec::new());
    escape_into(other, &mut escaped);
    package.edge(way, &escaped, &mut sort);
    cell_key(7, vertex, &sort, &mut key);
    key.split_off(4)
}

fn entity(package: &dyn KeyPackage, vertex: &[u8]) -> Vec<u8> {
    let (mut sort, mut key) = (Vec::new(), Vec::new());
    package.entity(&mut sort);
    cell_key(7, vertex, &sort, &mut key);
    key.split_off(4)
}

#[test]
fn byte_entity_has_gaffers_rows() {
    let package = by_name("byteEntity").unwrap();
    assert_eq!(entity(package, b"a"), b"a\0\x01");
    assert_eq!(edge(package, Way::Out, b"a", b"b"), b"a\0\x02\0b\0\x02");
    assert_eq!(edge(package, Way::In, b"b", b"a"), b"b\0\x03\0a\0\x03");
    assert_eq!(edge(package, Way::Undirected, b"a", b"b"), b"a\0\x04\0b\0\x04");
    assert_eq!(edge(package, Way::Undirected, b"b", b"a"), b"b\0\x04\0a\0\x04");
    assert_eq!(edge(package, Way::Out, b"\0", b"\x01"), b"\x01\x01\0\x02\0\x01\x02\0\x02");
}

#[test]
fn classic_has_gaffers_rows() {
    let package = by_name("classic").unwrap();
    assert_eq!(entity(package, b"a"), b"a\0", "engines end each partition");
    assert_eq!(edge(package, Way::Out, b"a", b"b"), b"a\0b\0\x02");
    assert_eq!(edge(package, Way::In, b"b", b"a"), b"b\0a\0\x03");
    assert_eq!(edge(package, Way::Undirected, b"a", b"b"), b"a\0b\0\x01");
    assert_eq!(edge(package, Way::Undirected, b"b", b"a"), b"b\0a\0\x01");
}

#[test]
fn rows_come_apart_again() {
    for name in ["byteEntity", "classic", "sharded"] {
        let package = by_name(name).unwrap();
        for way in [Way::Out, Way::In, Way::Undirected] {
            let mut sort = Vec::new();
            package.edge(way, b"oth\x01\x01er", &mut sort);
            sort.extend_from_slice(b"\0rest");
            let parts = package.edge_parts(&sort).unwrap();
            assert_eq!(
                (parts.way, parts.other, parts.rest),
                (way, &b"oth\x01\x01er"[..], &b"\0rest"[..])
            );
            assert_eq!(package.edge_parts(&sort[..3]), None, "{name}: cut off");
        }
    }
    assert!(by_name("another").is_err());
}

#[test]
fn ranges_of_byte_entity_hold_one_way_only() {
    let package = by_name("byteEntity").unwrap();
    let flags = |side, directed| {
        let ranges = package.edges(Ways::of(side, directed));
        let within = |flag: &u8| {
            ranges.iter().any(|range| std::ops::RangeBounds::contains(range, &vec![*flag, 0]))
        };
        (1..=4).filter(within).collect::<Vec<u8>>()
    };
    assert_eq!(flags(Side::Either, Directed::Either), [2, 3, 4]);
    assert_eq!(flags(Side::Outgoing, Directed::Either), [2, 4]);
    assert_eq!(flags(Side::Incoming, Directed::Either), [3, 4]);
    assert_eq!(flags(Side::Incoming, Directed::Directed), [3]);
    assert_eq!(flags(Side::Outgoing, Directed::Undirected), [4]);
}
