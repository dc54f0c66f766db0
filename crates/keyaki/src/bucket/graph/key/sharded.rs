//! For vertices with very many edges: these are spread over sixteen partitions by their other end, so that no partition
//! grows with a vertex alone. An entity lies in the first of them.
//!
//! Rows are those of `byteEntity`, but for the partition: `escape(vertex) | 00 | shard (u8)`. The shard of an edge is
//! the CRC-32C of the other end's bytes, modulo 16; all that lies between two vertices lies together.

use super::{ByteEntity, EdgeSort, KeyPackage, SortRange, Way, Ways};
use crate::bucket::graph::element::Directed;
use crate::bucket::graph::operation::Side;

/// How many; in stored keys, so it never changes.
const SHARDS: u8 = 16;

/// The package.
#[derive(Debug)]
pub struct Sharded;

impl KeyPackage for Sharded {
    fn name(&self) -> &'static str {
        "sharded"
    }

    fn shards(&self) -> u8 {
        SHARDS
    }

    fn entity(&self, sort: &mut Vec<u8>) {
        ByteEntity.entity(sort);
    }

    fn edge(&self, way: Way, other: &[u8], sort: &mut Vec<u8>) {
        ByteEntity.edge(way, other, sort);
    }

    fn entity_rest<'a>(&self, sort: &'a [u8]) -> Option<&'a [u8]> {
        ByteEntity.entity_rest(sort)
    }

    fn edge_parts<'a>(&self, sort: &'a [u8]) -> Option<EdgeSort<'a>> {
        ByteEntity.edge_parts(sort)
    }

    fn edges(&self, ways: Ways) -> Vec<SortRange> {
        ByteEntity.edges(ways)
    }

    fn ways_lie_apart(&self) -> bool {
        ByteEntity.ways_lie_apart()
    }

    fn seeded(&self, directed: Directed, side: Side) -> Ways {
        ByteEntity.seeded(directed, side)
    }
}
