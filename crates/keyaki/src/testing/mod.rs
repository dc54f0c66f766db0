//! What tests of every layer share.

pub mod clock;
pub mod conformance;
pub mod graph;
#[cfg(feature = "cql")]
pub mod keyspaces;
pub mod random;
pub mod workload;
