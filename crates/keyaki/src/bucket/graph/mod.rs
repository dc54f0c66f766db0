//! Gaffer's aggregated property graph: what elements, schemas, views and operations mean.
//!
//! `value` is what vertices and properties are, `element` what they make up, `koryphe` what can be said and done
//! with them, `schema` what may be in the graph, `view` what a query wants to see of it, `operation` what can be
//! asked. `key` and `form` are how elements are cells, `rules` what the engine makes of these by itself, `bucket` the
//! graph in a bucket, `input`, `chunk`, `write` and `ingest` how elements come into it, `scan` how they come out, `row` in
//! which order, `split` all of them in parts, `check` what must hold of their cells, `names` what is kept under names, `jobs` what runs in the
//! background.

mod bucket;
mod check;
mod chunk;
pub mod element;
mod fields;
mod form;
mod ingest;
pub mod input;
mod jobs;
pub mod json;
pub mod key;
pub mod koryphe;
mod names;
pub mod operation;
mod read;
mod recount;
mod row;
mod rules;
mod scan;
pub mod schema;
pub mod select;
mod split;
pub mod value;
pub mod view;
pub mod walk;
mod write;

pub use bucket::Graph;
pub use check::GraphCheck;
pub use ingest::{AHEAD_CHUNKS, CHUNK_BYTES_MAX, Ingest, IngestOptions, Rejection, Summary};
pub use jobs::{
    BELIEVED_FOR, JOB_BEGUN, Job, JobStatus, Jobs, KEPT_FOR, RESULT_BYTES_MAX, SeenJobs,
};
pub use names::NameBook;
pub use recount::Recount;
pub use rules::rules;
pub use scan::Reader;
pub use split::GraphSplit;
pub use write::{CHUNK_ELEMENTS_MAX, ChunkAnswer, Done, Writer};
