//! The flag comes last, so that all that lies between two vertices lies together; a query for one way reads the
//! others too.
//!
//! | element    | row               | flag                        |
//! |------------|-------------------|-----------------------------|
//! | entity     | `(v)`             |                             |
//! | edge       | `(s) 0 (d) 0 x`   | x: 2 directed, 1 undirected |
//! | edge again | `(d) 0 (s) 0 y`   | y: 3 directed, 1 undirected |

use std::ops::Bound;

use super::{END, EdgeSort, KeyPackage, SortRange, Way, Ways, closed};
use crate::bucket::graph::element::Directed;
use crate::bucket::graph::operation::Side;

/// The package.
#[derive(Debug)]
pub struct Classic;

fn flag(way: Way) -> u8 {
    match way {
        Way::Undirected => 1,
        Way::Out => 2,
        Way::In => 3,
    }
}

fn way(flag: u8) -> Option<Way> {
    [Way::Undirected, Way::Out, Way::In].into_iter().find(|way| self::flag(*way) == flag)
}

impl KeyPackage for Classic {
    fn name(&self) -> &'static str {
        "classic"
    }

    fn flags_last(&self) -> bool {
        true
    }

    fn entity(&self, _: &mut Vec<u8>) {}

    fn edge(&self, way: Way, other: &[u8], sort: &mut Vec<u8>) {
        sort.extend_from_slice(other);
        sort.extend_from_slice(&[END, flag(way)]);
    }

    fn entity_rest<'a>(&self, sort: &'a [u8]) -> Option<&'a [u8]> {
        Some(sort)
    }

    fn edge_parts<'a>(&self, sort: &'a [u8]) -> Option<EdgeSort<'a>> {
        let (other, behind) = closed(sort)?;
        let (flag, rest) = behind.split_first()?;
        Some(EdgeSort { way: way(*flag)?, other, rest })
    }

    fn edges(&self, _: Ways) -> Vec<SortRange> {
        vec![(Bound::Unbounded, Bound::Unbounded)]
    }

    /// A seed that says nothing of direction finds the edges the other way round too, as in Gaffer.
    fn ways_lie_apart(&self) -> bool {
        false
    }

    fn seeded(&self, directed: Directed, side: Side) -> Ways {
        let backward = directed == Directed::Either && side == Side::Either;
        Ways::such(|way| (way != Way::In || backward) && directed.admits(way != Way::Undirected))
    }

    /// It is not incoming, as in Gaffer.
    fn finds_loops(&self, side: Side) -> bool {
        side != Side::Incoming
    }
}
