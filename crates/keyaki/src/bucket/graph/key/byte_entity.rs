//! The default: the flag lies before the other end, so that a range has just the edges of one way, and again behind
//! it, as in Gaffer.
//!
//! | element    | row                      | flag                        |
//! |------------|--------------------------|-----------------------------|
//! | entity     | `(v) 0 1`                |                             |
//! | edge       | `(s) 0 x 0 (d) 0 x`      | x: 2 directed, 4 undirected |
//! | edge again | `(d) 0 y 0 (s) 0 y`      | y: 3 directed, 4 undirected |

use std::ops::Bound;

use super::{END, EdgeSort, KeyPackage, SortRange, Way, Ways, closed};
use crate::bucket::graph::element::Directed;
use crate::bucket::graph::operation::Side;

const ENTITY: u8 = 1;

/// The package.
#[derive(Debug)]
pub struct ByteEntity;

fn flag(way: Way) -> u8 {
    match way {
        Way::Out => 2,
        Way::In => 3,
        Way::Undirected => 4,
    }
}

fn way(flag: u8) -> Option<Way> {
    [Way::Out, Way::In, Way::Undirected].into_iter().find(|way| self::flag(*way) == flag)
}

impl KeyPackage for ByteEntity {
    fn name(&self) -> &'static str {
        "byteEntity"
    }

    fn entity(&self, sort: &mut Vec<u8>) {
        sort.push(ENTITY);
    }

    fn edge(&self, way: Way, other: &[u8], sort: &mut Vec<u8>) {
        sort.extend_from_slice(&[flag(way), END]);
        sort.extend_from_slice(other);
        sort.extend_from_slice(&[END, flag(way)]);
    }

    fn entity_rest<'a>(&self, sort: &'a [u8]) -> Option<&'a [u8]> {
        sort.strip_prefix(&[ENTITY])
    }

    fn edge_parts<'a>(&self, sort: &'a [u8]) -> Option<EdgeSort<'a>> {
        let (first, behind) = sort.split_first()?;
        let (other, behind) = closed(behind.strip_prefix(&[END])?)?;
        let rest = behind.strip_prefix(&[*first])?;
        Some(EdgeSort { way: way(*first)?, other, rest })
    }

    fn edges(&self, ways: Ways) -> Vec<SortRange> {
        let mut flags: Vec<(u8, u8)> = Vec::new();
        for flag in ways.iter().map(flag) {
            match flags.last_mut() {
                Some((_, end)) if *end == flag => *end += 1,
                _ => flags.push((flag, flag + 1)),
            }
        }
        let range = |(from, to): (u8, u8)| (Bound::Included(vec![from]), Bound::Excluded(vec![to]));
        flags.into_iter().map(range).collect()
    }

    fn ways_lie_apart(&self) -> bool {
        true
    }

    fn seeded(&self, directed: Directed, _: Side) -> Ways {
        Ways::such(|way| way != Way::In && directed.admits(way != Way::Undirected))
    }
}
