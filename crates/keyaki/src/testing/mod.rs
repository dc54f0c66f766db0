//! What tests of every layer share.

pub mod clock;
