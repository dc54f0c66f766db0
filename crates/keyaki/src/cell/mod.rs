//! What is a cell? `(space, partition, sort) -> value`, as bytes whose order is their meaning.
//!
//! `key` and `typed` hold the order-preserving encodings, `value` the header that every value
//! starts with, `visibility` who may see it, `time` when it was written. Nothing here waits,
//! locks or knows where cells rest.

pub mod key;
pub mod number;
pub mod parts;
pub mod time;
pub mod typed;
pub mod value;
pub mod visibility;

pub use time::{HybridClock, SystemWallClock, Tid, Time, WallClock};
pub use value::{Value, ValueRef};
