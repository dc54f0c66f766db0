//! Keyaki: typed buckets over one sorted cell store.

pub mod cell;
pub mod engine;
mod error;
pub mod settings;
pub mod store;
pub mod testing;

pub use error::{Error, Kind, Result};
