//! Keyaki: typed buckets over one sorted cell store.

pub mod cell;
mod error;
pub mod engine;
pub mod settings;
pub mod testing;

pub use error::{Error, Kind, Result};
