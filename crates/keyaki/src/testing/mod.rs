//! What tests of every layer share.

pub mod clock;
pub mod conformance;
pub mod graph;
pub mod random;
pub mod workload;
