//! A bookshop: what a bucket type does with the store.
//!
//! A book is one primary, on its shelf (the partition) under its number. All that follows from it
//! is in the same commit: entries in two ordered views, a claim on its title, a count of its
//! author's books, a change record, and the digest that makes the operation safe to repeat.

use keyaki::cell::parts::Parts;
use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{Value, ValueRef};
use keyaki::engine::{BucketId, RuleSpec, ScanRequest, SpaceId, SpaceSpec, Write};
use keyaki::store::{
    Bucket, BucketSpec, Change, Committed, Draft, Entry, Operation, PageRequest, Previous, Store,
    View,
};
use keyaki::{Error, Result};
use serde::{Deserialize, Serialize};

const COUNTS: &str = "counts";

/// What the shop knows of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    pub title: String,
    pub author: String,
    pub price: u32,
}

/// Where a book is: a home partition, and a sort key in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub shelf: String,
    pub number: String,
}

/// A bucket of books.
pub struct Shop {
    pub bucket: Bucket,
    pub by_title: View,
    pub by_author: View,
    counts: SpaceId,
}

impl Shop {
    /// Makes the bucket. Beside the spaces that every bucket has, it wants one whose cells are
    /// sums.
    pub async fn create(store: &Store) -> Result<Self> {
        let counts = SpaceSpec::derived(BucketId(0), COUNTS).merging(RuleSpec::named("sum"));
        let spec = BucketSpec { spaces: vec![counts], ..BucketSpec::default() };
        Self::on(store.create_bucket(spec).await?)
    }

    /// The shop that is in the store already.
    pub fn find(store: &Store) -> Result<Self> {
        let bucket = store.buckets().into_iter().next();
        Self::on(bucket.ok_or_else(|| Error::not_found("no shop in this store"))?)
    }

    fn on(bucket: Bucket) -> Result<Self> {
        let counts = bucket.space(COUNTS)?;
        let (by_title, by_author) = (View::named("by title"), View::named("by author"));
        Ok(Self { bucket, by_title, by_author, counts })
    }

    /// Shelves a new book: one commit, all or nothing. Sent again under the same operation id it
    /// changes nothing and gets the first answer.
    pub async fn add(
        &self,
        place: &Place,
        book: &Book,
        visibility: &str,
        operation_id: &str,
    ) -> Result<Committed> {
        let (visible_to, number) = (visibility.as_bytes(), place.number.as_bytes());
        let content = encode(book)?;
        let operation = Operation {
            caller: "ana".to_owned(),
            action: "add".to_owned(),
            id: operation_id.to_owned(),
            sequence: 0,
            parameters: [content.as_slice(), visible_to].concat(),
        };
        let shelve = |draft: &mut Draft<'_>| {
            draft.put(number, Previous::Absent, Value::visible_to(visible_to, &content))?;
            let entry = Value::visible_to(visible_to, book.title.as_bytes());
            draft.add_entry(&self.by_title, &key(&book.title), number, entry)?;
            draft.add_entry(&self.by_author, &key(&book.author), number, entry)?;
            draft.claim(book.title.as_bytes(), number);
            let one = 1_i64.to_be_bytes();
            let more = Write::Merge(Value::open(&one));
            draft.dependent(self.counts, book.author.as_bytes(), b"", more);
            let change = Change {
                item: place.number.clone(),
                action: operation.action.clone(),
                operation: Some(operation.id.clone()),
                user: Some(operation.caller.clone()),
                after: serde_json::json!({"title": book.title}),
                ..Change::default()
            };
            draft.change(&change, visible_to, visible_to)?;
            let answer = format!("shelved by commit {}", draft.tid());
            draft.remember(&operation, answer.as_bytes())
        };
        self.bucket.commit(place.shelf.as_bytes(), shelve).await
    }

    /// Writes a book over the state its writer has seen, header included; refused if that state
    /// is no longer there.
    pub async fn replace(&self, place: &Place, seen: &[u8], book: &Book) -> Result<Committed> {
        let (number, content) = (place.number.as_bytes(), encode(book)?);
        let visible_to = ValueRef::decode(seen)?.visibility;
        let write = |draft: &mut Draft<'_>| {
            draft.put(number, Previous::Stored(seen), Value::visible_to(visible_to, &content))
        };
        self.bucket.commit(place.shelf.as_bytes(), write).await
    }

    /// A book as a caller sees it: hidden is absent.
    pub async fn book(&self, caller: &Authorisations, place: &Place) -> Result<Option<Book>> {
        let (shelf, number) = (place.shelf.as_bytes(), place.number.as_bytes());
        let content = self.bucket.read(caller, shelf, number).await?;
        content.map(|content| decode(&content)).transpose()
    }

    /// All books of a shelf that a caller may see.
    pub async fn shelf(&self, caller: &Authorisations, shelf: &str) -> Result<Vec<Book>> {
        let request = ScanRequest::partition(self.bucket.primary(), shelf);
        let mut cells = self.bucket.scan(caller, request).await?;
        let mut books = Vec::new();
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter() {
                books.push(decode(cell.payload())?);
            }
        }
        Ok(books)
    }

    /// How many books of an author there are.
    pub async fn count(&self, author: &str) -> Result<i64> {
        let engine = self.bucket.store().engine();
        let Some(stored) = engine.read(self.counts, author.as_bytes(), b"").await? else {
            return Ok(0);
        };
        let sum = ValueRef::decode(&stored)?.payload;
        sum.try_into()
            .map(i64::from_be_bytes)
            .map_err(|_| Error::corrupt("count is no number").with("author", author))
    }

    /// A whole view, page by page.
    pub async fn entries(&self, caller: &Authorisations, view: &View) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut request = PageRequest::first(100);
        loop {
            let page = self.bucket.page(caller, view, &request).await?;
            entries.extend(page.entries);
            match page.next {
                Some(position) => request = request.after(position),
                None => return Ok(entries),
            }
        }
    }
}

/// Reads what [`Shop::add`] wrote.
pub fn decode(content: &[u8]) -> Result<Book> {
    serde_json::from_slice(content).map_err(|e| Error::corrupt("not a book").because(e))
}

fn encode(book: &Book) -> Result<Vec<u8>> {
    serde_json::to_vec(book).map_err(|e| Error::internal("a book is not JSON").because(e))
}

/// View keys are made of parts, so that none is a prefix of another.
fn key(text: &str) -> Vec<u8> {
    Parts::new().bytes(text.as_bytes()).into_bytes()
}
