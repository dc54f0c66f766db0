//! The library's tests, one binary.

#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so")]

mod conformance; // the table of what every engine must do
mod embedded; // what only an engine with a directory does
mod key; // order-preserving keys: round trips, order, golden bytes
mod tidy; // what the tree itself must look like
mod time; // the clock and its ids
mod typed; // values of several types in one order
mod visibility; // access expressions
