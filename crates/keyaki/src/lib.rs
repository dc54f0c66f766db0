//! Keyaki: typed buckets over one sorted cell store. This is the library; it knows nothing of
//! HTTP or flags.
//!
//! ```
//! use std::sync::Arc;
//! use keyaki::cell::{Value, visibility::Authorisations};
//! use keyaki::engine::{Rules, embedded::EmbeddedEngine};
//! use keyaki::settings::{EmbeddedSettings, StoreSettings};
//! use keyaki::store::{BucketSpec, PageRequest, Previous, Store, View};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let engine = EmbeddedEngine::open(dir.path(), &EmbeddedSettings::default(), Rules::default())?;
//! let store = Store::new(Arc::new(engine), StoreSettings::default(), 42);
//! let people = store.create_bucket(BucketSpec::default()).await?;
//! let by_year = View::named("by-year");
//!
//! people.commit(b"ada", |draft| {
//!     draft.put(b"profile", Previous::Absent, Value::visible_to(b"hr|self", b"born 1815"))?;
//!     draft.add_entry(&by_year, b"1815", b"profile", Value::open(b""))
//! }).await?.tid()?;
//!
//! let (hr, nobody) = (Authorisations::new(["hr"])?, Authorisations::none());
//! assert_eq!(people.read(&hr, b"ada", b"profile").await?.as_deref(), Some(&b"born 1815"[..]));
//! assert_eq!(people.read(&nobody, b"ada", b"profile").await?, None);
//!
//! let page = people.page(&nobody, &by_year, &PageRequest::first(10)).await?;
//! assert_eq!(page.entries[0].owner.partition, b"ada");
//! # Ok(())
//! # }
//! ```

pub mod bucket;
pub mod catalog;
pub mod cell;
pub mod engine;
mod error;
pub mod settings;
pub mod store;
pub mod testing;

pub use error::{Error, Kind, Result};
