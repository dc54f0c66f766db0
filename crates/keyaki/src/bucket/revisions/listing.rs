//! The listing: items in the order of their keys, each as the caller sees it.
//!
//! An item has an entry for each of its labels, side by side, as long as anything of it is live; the newest that the
//! caller may see is the item, unless it deletes.

use std::ops::Bound;

use super::model::Revision;
use super::{Revisions, items};
use crate::bucket::Caller;
use crate::cell::key::successor_of_prefix;
use crate::cell::parts::{Parts, PartsReader};
use crate::engine::Reading;
use crate::error::{Error, Result};
use crate::store::{Entry, PageRequest};

/// Which items.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    /// Keys that begin so.
    pub prefix: Option<String>,
    /// Keys from this one on.
    pub from: Option<String>,
    /// Keys before this one.
    pub to: Option<String>,
    /// Keys behind this one.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whether others are likely to read the same soon.
    pub reading: Reading,
}

/// An item of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// What it says now.
    pub revision: Revision,
}

/// Some items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPage {
    /// In the order of their keys.
    pub items: Vec<Listed>,
    /// Behind which the next page begins, if there is one.
    pub next: Option<String>,
}

impl Revisions {
    /// Items in the order of their keys, those that are to be shown.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn list(
        &self,
        caller: &Caller,
        request: &ListRequest,
        is_shown: impl Fn(&str) -> bool + Send + Sync,
    ) -> Result<ItemPage> {
        let mut found = Found::default();
        let mut page_request = bounds(request);
        loop {
            let page = self.bucket.page(&caller.authorisations, &items(), &page_request).await?;
            for entry in &page.entries {
                let listed = listed(entry)?;
                if self.is_fresh(&listed.revision) && is_shown(&listed.key) {
                    found.add(listed);
                }
                if found.items.len() > request.limit {
                    return Ok(found.page(request.limit));
                }
            }
            let Some(next) = page.next else {
                found.close();
                return Ok(found.page(request.limit));
            };
            page_request.after = Some(next);
        }
    }
}

/// Entries on their way to become items.
#[derive(Default)]
struct Found {
    items: Vec<Listed>,
    /// The newest entry so far of the key that is being read.
    open: Option<Listed>,
}

impl Found {
    fn add(&mut self, listed: Listed) {
        match &mut self.open {
            Some(open) if open.key == listed.key => {
                if open.revision.tid < listed.revision.tid {
                    *open = listed;
                }
            }
            _ => {
                self.close();
                self.open = Some(listed);
            }
        }
    }

    fn close(&mut self) {
        self.items.extend(self.open.take().filter(|listed| !listed.revision.stored.deleted));
    }

    /// At most so many of them, and whether there were more.
    fn page(mut self, limit: usize) -> ItemPage {
        let more = self.items.len() > limit;
        self.items.truncate(limit);
        let last = self.items.last().map(|last| last.key.clone());
        ItemPage { items: self.items, next: last.filter(|_| more) }
    }
}

fn bounds(request: &ListRequest) -> PageRequest {
    let begin = |key: &str| Parts::new().bytes(key.as_bytes()).into_bytes();
    let mut page =
        PageRequest { reading: request.reading, ..PageRequest::first(request.limit + 1) };
    let mut lower = Vec::new();
    let mut upper: Option<Vec<u8>> = None;
    if let Some(prefix) = &request.prefix {
        let prefix = Parts::new().bytes_prefix(prefix.as_bytes());
        upper = successor_of_prefix(&prefix);
        lower = prefix;
    }
    if let Some(from) = &request.from {
        lower = lower.max(begin(from));
    }
    if let Some(after) = &request.after {
        let behind = successor_of_prefix(&begin(after)).unwrap_or_default();
        lower = lower.max(behind);
    }
    if let Some(to) = &request.to {
        let to = begin(to);
        upper = Some(upper.map_or(to.clone(), |upper| upper.min(to)));
    }
    page.from = Bound::Included(lower);
    page.to = upper.map_or(Bound::Unbounded, Bound::Excluded);
    page
}

fn listed(entry: &Entry) -> Result<Listed> {
    let damaged = || Error::corrupt("entry of a listing is damaged").with_bytes("key", &entry.key);
    let key = PartsReader::new(&entry.key).bytes().map_err(|bad| damaged().because(bad))?;
    let key = String::from_utf8(key.into_owned()).map_err(|bad| damaged().because(bad))?;
    Ok(Listed { key, revision: Revision::decode(&entry.visibility, &entry.payload)? })
}
