//! Gaffer's aggregated property graph: what elements, schemas, views and operations mean.
//!
//! `value` is what vertices and properties are, `element` what they make up, `koryphe` what can be said and done
//! with them, `schema` what may be in the graph, `view` what a query wants to see of it, `operation` what can be
//! asked.

pub mod element;
mod fields;
pub mod json;
pub mod koryphe;
pub mod operation;
mod read;
pub mod schema;
pub mod select;
pub mod value;
pub mod view;
pub mod walk;
