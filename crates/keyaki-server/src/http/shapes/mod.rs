//! What goes over the wire as JSON: small twins of the library's types, so that renaming a field inside can't break a
//! client outside. Handlers read and write these, and `/openapi.json` is made from them.

mod access;
mod catalog;
mod graph;
mod items;
mod settings;

use serde::Serialize;
use utoipa::ToSchema;

pub use access::{ServiceForm, ServiceShown, TokenForm, TokenMade, TokenShown};
pub use catalog::{BucketForm, BucketShown, DomainForm, DomainListed, DomainShown};
pub use catalog::{BucketListed, DomainUse};
pub use graph::{Erased, Explained, IngestSummary, SplitShown};
pub use items::{ChangeShown, Changes, ItemShown, RenameForm, RevisionShown};
pub use settings::KEY;

/// Everything there is.
#[derive(Serialize, ToSchema)]
pub struct Items<T> {
    pub items: Vec<T>,
}

/// A page of a listing.
#[derive(Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// How the server is.
#[derive(Serialize, ToSchema)]
pub struct Status {
    pub status: &'static str,
}

/// What a kind of problem means.
#[derive(Serialize, ToSchema)]
pub struct ProblemExplained {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: &'static str,
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    pub meaning: &'static str,
}
