//! Names of a graph: chains and views that are kept under names, as primaries in one home partition.
//!
//! | partition | sort, as parts | value |
//! |---|---|---|
//! | `names` | `operation` or `view`, the name | JSON of what has the name |

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::bucket::Graph;
use super::operation::{KnownNames, NameKind, Named, Register, Who};
use super::write::Writer;
use crate::bucket::{TRIES_MAX, Usage};
use crate::cell::Value;
use crate::cell::parts::Parts;
use crate::cell::value::Flags;
use crate::cell::visibility::Authorisations;
use crate::engine::ScanRequest;
use crate::error::{Error, Result};
use crate::store::{Change, Committed, Draft, Operation, Previous};

const PARTITION: &[u8] = b"names";
/// The most names of a kind.
const NAMES_MAX: usize = 1000;

/// A graph's names, as somebody may see and change them.
pub struct NameBook {
    graph: Graph,
    who: Who,
    writer: Option<Arc<Writer>>,
}

impl Graph {
    /// Its names, for somebody who asks.
    #[must_use]
    pub fn names(&self, who: Who) -> NameBook {
        NameBook { graph: self.clone(), who, writer: None }
    }
}

impl NameBook {
    /// For changing them too, each change once if the writer has an operation.
    #[must_use]
    pub fn changed_by(mut self, writer: Arc<Writer>) -> Self {
        self.writer = Some(writer);
        self
    }

    /// Adds to what is known those of the names that are there; answers whether any of them is new.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn learn(
        &self,
        known: &mut KnownNames,
        names: BTreeSet<(NameKind, String)>,
    ) -> Result<bool> {
        let mut any = false;
        for (kind, name) in names {
            if let Some(named) = self.find(kind, &name).await?
                && named.is_seen_by(kind, &self.who)
            {
                known.learn(kind, named);
                any = true;
            }
        }
        Ok(any)
    }

    async fn find(&self, kind: NameKind, name: &str) -> Result<Option<Named>> {
        self.read(&place(kind, name)).await
    }

    async fn read(&self, sort: &[u8]) -> Result<Option<Named>> {
        let read = self.graph.bucket().read(&Authorisations::none(), PARTITION, sort).await?;
        read.map(|json| decode(&json)).transpose()
    }

    async fn list(&self, kind: NameKind) -> Result<Vec<Named>> {
        let bucket = self.graph.bucket();
        let prefix = Parts::new().bytes(kind.label()).into_bytes();
        let request = ScanRequest::prefix(bucket.primary(), PARTITION, &prefix);
        let mut cells = bucket.scan(&Authorisations::none(), request).await?;
        let mut all = Vec::new();
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter() {
                match cell.value().flags.contains(Flags::CHUNKED) {
                    true => all.extend(self.read(cell.sort()).await?),
                    false => all.push(decode(cell.payload())?),
                }
            }
        }
        Ok(all)
    }

    fn writer(&self) -> Result<&Writer> {
        self.writer.as_deref().ok_or_else(|| Error::forbidden("this graph can only be read"))
    }

    /// Puts something in the place of what is under a name, or takes that away.
    async fn change(
        &self,
        kind: NameKind,
        name: &str,
        new: Option<&Named>,
        may: impl Fn(Option<&Named>) -> Result<()>,
    ) -> Result<()> {
        let (writer, bucket) = (self.writer()?, self.graph.bucket());
        let sort = place(kind, name);
        let operation = writer.operation("graph.name", writer.number());
        let encoded = new.map(encode).transpose()?;
        for _ in 0..TRIES_MAX {
            if let Some(operation) = &operation
                && let Some((tid, _)) = bucket.remembered(PARTITION, operation).await?
            {
                writer.count(Some(tid), true);
                return Ok(());
            }
            let stored = bucket.stored(PARTITION, &sort).await?;
            let old = self.read(&sort).await?;
            may(old.as_ref())?;
            if new.is_some() && old.is_none() && self.list(kind).await?.len() >= NAMES_MAX {
                return Err(Error::invalid("there are too many names").with("most", NAMES_MAX));
            }
            let size = |bytes: Option<usize>| bytes.unwrap_or_default() as i64;
            let before = old.as_ref().map(encode).transpose()?.map(|bytes| bytes.len());
            let bytes = size(encoded.as_ref().map(Vec::len)) - size(before);
            let used = Usage { items: 0, bytes };
            let room = self.graph.meter().reserve(used).await?;
            let committed = bucket.commit(PARTITION, |draft| {
                match (&encoded, &stored) {
                    (Some(json), stored) => {
                        let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
                        draft.put(&sort, previous, Value::open(json))?;
                    }
                    (None, Some(stored)) => drop(draft.remove(&sort, stored)?),
                    (None, None) => {}
                }
                used.add(bucket, draft)?;
                self.note(draft, kind, name, new, operation.as_ref())
            });
            match committed.await? {
                Committed::Refused(_) => {}
                committed => {
                    let replayed = matches!(committed, Committed::Replayed { .. });
                    writer.count(Some(committed.tid()?), replayed);
                    if !replayed {
                        room.keep();
                    }
                    return Ok(());
                }
            }
        }
        Err(Error::unavailable("the graph's names are too busy"))
    }

    fn note(
        &self,
        draft: &mut Draft<'_>,
        kind: NameKind,
        name: &str,
        new: Option<&Named>,
        operation: Option<&Operation>,
    ) -> Result<()> {
        let action = match (kind, new) {
            (NameKind::Operation, Some(_)) => "addNamedOperation",
            (NameKind::Operation, None) => "deleteNamedOperation",
            (NameKind::View, Some(_)) => "addNamedView",
            (NameKind::View, None) => "deleteNamedView",
        };
        let change = Change {
            action: action.to_owned(),
            operation: operation.map(|operation| operation.id.clone()),
            sequence: operation.map_or(0, |operation| operation.sequence),
            user: self.who.user.clone(),
            after: json!({"name": name}),
            ..Change::default()
        };
        draft.change(&change, b"", b"")?;
        match operation {
            Some(operation) => draft.remember(operation, b""),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Register for NameBook {
    async fn add(&self, kind: NameKind, mut named: Named, overwrite: bool) -> Result<()> {
        named.creator.clone_from(&self.who.user);
        let name = named.name.clone();
        let may = |old: Option<&Named>| match old {
            Some(_) if !overwrite => {
                Err(Error::conflict("the name is taken, and is not to be overwritten")
                    .with("name", &name))
            }
            Some(old) if !old.is_changed_by(kind, &self.who) => Err(forbidden(&name)),
            _ => Ok(()),
        };
        self.change(kind, &name, Some(&named), may).await
    }

    async fn delete(&self, kind: NameKind, name: &str) -> Result<()> {
        let may = |old: Option<&Named>| match old {
            Some(old) if !old.is_changed_by(kind, &self.who) => Err(forbidden(name)),
            _ => Ok(()),
        };
        self.change(kind, name, None, may).await
    }

    async fn all(&self, kind: NameKind) -> Result<Vec<Named>> {
        let mut all = self.list(kind).await?;
        all.retain(|named| named.is_seen_by(kind, &self.who));
        Ok(all)
    }
}

impl NameKind {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Operation => b"operation",
            Self::View => b"view",
        }
    }
}

fn forbidden(name: &str) -> Error {
    Error::forbidden("the name is another's").with("name", name)
}

fn place(kind: NameKind, name: &str) -> Vec<u8> {
    Parts::new().bytes(kind.label()).bytes(name.as_bytes()).into_bytes()
}

fn encode(named: &Named) -> Result<Vec<u8>> {
    serde_json::to_vec(named).map_err(|e| Error::internal("a name is not JSON").because(e))
}

fn decode(json: &[u8]) -> Result<Named> {
    serde_json::from_slice(json).map_err(|e| Error::corrupt("a name can't be read").because(e))
}
