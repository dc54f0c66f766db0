//! The library's tests, one binary.

#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so")]

mod catalog; // domains and buckets that several processes share
mod check; // damage below the engine that a check must find
mod conformance; // the table of what every engine must do
#[cfg(feature = "cql")]
mod cql; // the engine on a real Cassandra
mod crash; // processes killed, power cut, disks full, bits flipped
mod embedded; // what only an engine with a directory does
mod golden; // every byte we persist, as docs/format.md tells it
mod graph; // Gaffer's answers, and operations on a graph in memory
mod key; // order-preserving keys: round trips, order, golden bytes
mod model; // random work on two engines side by side
mod store; // commits, chunks, replay, change feed, views: on every engine
mod tidy; // what the tree itself must look like
mod time; // the clock and its ids
mod typed; // values of several types in one order
mod visibility; // access expressions
