//! Writing: a new revision over the head as it was read.

use super::form;
use super::model::{Content, Head, Revision, Stored};
use super::{CONTENT, HEAD, META, Revisions, entry_key, items};
use crate::bucket::{Request, TRIES_MAX, Usage};
use crate::cell::Value;
use crate::cell::visibility::Decisions;
use crate::error::{Error, Result};
use crate::store::{Change, Committed, Draft, Previous};

/// Cells that most steps write: head, revision, content, listing, use and change…
const CELLS: usize = 6;
/// …and what each of them has beside the content, about.
const CELL_BYTES: usize = 200;

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// There is a new revision.
    Done {
        /// It.
        revision: Revision,
        /// Whether there was nothing before, as far as the caller could see.
        created: bool,
    },
    /// The key says that already; nothing was written.
    Unchanged(Revision),
    /// The operation was done before, and this came of it.
    Replayed {
        /// The revision it made.
        revision: Revision,
        /// Whether there was nothing before.
        created: bool,
    },
    /// A demand is not met.
    Unmet,
    /// There is nothing that could be deleted.
    Absent,
}

/// What a draft writes.
pub(super) struct Step<'a> {
    pub(super) key: &'a str,
    pub(super) action: &'static str,
    pub(super) label: &'a str,
    /// None for a revision without content.
    pub(super) bytes: Option<&'a [u8]>,
    pub(super) request: &'a Request,
    pub(super) created: bool,
    /// Whether it ends the rename of an item of which nothing stays where it was: that makes room for it.
    pub(super) brings_room: bool,
}

impl Revisions {
    /// Stores content as a new revision; if `only_changed`, only if it differs from what the key says.
    ///
    /// # Errors
    /// `Invalid` and `Forbidden` for a label that is none or hides from its writer; those of the engine.
    pub async fn put(
        &self,
        request: &Request,
        key: &str,
        content: &Content,
        only_changed: bool,
    ) -> Result<Written> {
        let label = &request.caller.check_label(&content.visibility)?;
        if let Some(first) = self.first_answer(request, key).await? {
            return Ok(first);
        }
        let stored = Stored::of(content);
        for _ in 0..TRIES_MAX {
            let (head, current) = self.look(request, key).await?;
            if !request.demands.hold(current.as_ref().map(|revision| revision.tid)) {
                return self.replayed_or(request, key, Written::Unmet).await;
            }
            if let Some(current) = &current
                && only_changed
                && current.visibility == *label
                && self.has(request, key, current, content).await?
            {
                self.remember_unchanged(request, key, current).await?;
                return Ok(Written::Unchanged(current.clone()));
            }
            let created = current.is_none();
            // Of its own label: others may not know of what is hidden.
            let before = head.labelled(label);
            let updates = before.is_some_and(|before| !before.stored.deleted);
            let action = if updates { "update" } else { "create" };
            let bytes = Some(&content.bytes[..]);
            let step = Step { key, action, label, bytes, request, created, brings_room: false };
            let written = self.write(&head, &step, &stored).await?;
            if let Some(written) = written {
                return Ok(written);
            }
        }
        Err(busy(key))
    }

    /// Adds a revision that says that nothing is here any more.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn delete(&self, request: &Request, key: &str) -> Result<Written> {
        if let Some(first) = self.first_answer(request, key).await? {
            return Ok(first);
        }
        for _ in 0..TRIES_MAX {
            let (head, current) = self.look(request, key).await?;
            // What is not there can't be deleted, whatever is demanded of it.
            let Some(current) = current else {
                return self.replayed_or(request, key, Written::Absent).await;
            };
            if !request.demands.hold(Some(current.tid)) {
                return self.replayed_or(request, key, Written::Unmet).await;
            }
            let label = &current.visibility;
            let step = Step {
                key,
                action: "delete",
                label,
                bytes: None,
                request,
                created: false,
                brings_room: false,
            };
            if let Some(written) = self.write(&head, &step, &Stored::gone()).await? {
                return Ok(written);
            }
        }
        Err(busy(key))
    }

    /// Whether a revision holds just this content.
    async fn has(
        &self,
        request: &Request,
        key: &str,
        revision: &Revision,
        content: &Content,
    ) -> Result<bool> {
        if !content.is_like(&revision.stored) {
            return Ok(false);
        }
        let bytes = self.content(&request.caller, key, revision.tid).await?;
        Ok(bytes.is_some_and(|bytes| bytes == content.bytes))
    }

    /// The head, and what the key says to the caller.
    pub(super) async fn look(
        &self,
        request: &Request,
        key: &str,
    ) -> Result<(Head, Option<Revision>)> {
        let head = self.settled_head(key).await?;
        let mut decisions = Decisions::new(request.caller.authorisations.clone());
        let current = head.current(&mut decisions).filter(|r| self.is_fresh(r)).cloned();
        Ok((head, current))
    }

    /// What the operation came to, if it was done before.
    pub(super) async fn first_answer(
        &self,
        request: &Request,
        key: &str,
    ) -> Result<Option<Written>> {
        let Some(operation) = &request.operation else { return Ok(None) };
        let remembered = self.bucket.remembered(key.as_bytes(), operation).await?;
        remembered.map(|(_, answer)| replayed(&answer)).transpose()
    }

    /// A repeat is answered as the first was, even if what it demanded no longer holds.
    pub(super) async fn replayed_or(
        &self,
        request: &Request,
        key: &str,
        other: Written,
    ) -> Result<Written> {
        Ok(self.first_answer(request, key).await?.unwrap_or(other))
    }

    async fn remember_unchanged(&self, request: &Request, key: &str, now: &Revision) -> Result<()> {
        let Some(operation) = &request.operation else { return Ok(()) };
        let commit = self
            .bucket
            .commit(key.as_bytes(), |draft| draft.remember(operation, &form::answer(now, false)));
        commit.await.map(drop)
    }

    /// Commits one step over a head; `None` if the head has moved on.
    pub(super) async fn write(
        &self,
        head: &Head,
        step: &Step<'_>,
        stored: &Stored,
    ) -> Result<Option<Written>> {
        self.write_and(head, step, stored, |_, _| Ok(())).await
    }

    /// The same, with more in the commit.
    pub(super) async fn write_and(
        &self,
        head: &Head,
        step: &Step<'_>,
        stored: &Stored,
        more: impl Fn(&mut Draft<'_>, &Revision) -> Result<()> + Send + Sync,
    ) -> Result<Option<Written>> {
        let mut made = None;
        let difference = Self::difference(head, step);
        // What a rename brings leaves its old key: there is room for it where it comes from.
        let counted = if step.brings_room {
            Usage { items: difference.items, bytes: 0 }
        } else {
            Usage::default()
        };
        let reserved = self.meter.reserve(difference.minus(counted)).await?;
        let committed = self
            .bucket
            .commit(step.key.as_bytes(), |draft| {
                let (tid, visibility) = (draft.tid(), step.label.to_owned());
                let revision = Revision { tid, visibility, stored: stored.clone() };
                self.draft(draft, head, step, &revision)?;
                more(draft, &revision)?;
                made = Some(revision);
                Ok(())
            })
            .await?;
        Ok(match committed {
            Committed::Done(_) => {
                reserved.keep();
                self.meter.add(counted);
                made.map(|revision| Written::Done { revision, created: step.created })
            }
            Committed::Replayed { answer, .. } => Some(replayed(&answer)?),
            Committed::Refused(_) => None,
        })
    }

    /// What a step adds to the bucket.
    fn difference(head: &Head, step: &Step<'_>) -> Usage {
        let items = match (head.is_live(), step.bytes) {
            (false, Some(_)) => 1,
            (true, None) if head.lives_only_by(step.label) => -1,
            _ => 0,
        };
        Usage { items, bytes: step.bytes.map_or(0, |bytes| bytes.len() as i64) }
    }

    /// All that a revision changes.
    pub(super) fn draft(
        &self,
        draft: &mut Draft<'_>,
        head: &Head,
        step: &Step<'_>,
        revision: &Revision,
    ) -> Result<()> {
        let label = step.label.as_bytes();
        let far = self.bucket.store().engine().reads_are_far();
        let (next, encoded) = head.with(revision.clone(), step.bytes.filter(|_| far))?;
        let content = step.bytes.map_or(0, <[u8]>::len);
        draft.reserve(CELLS, encoded.len() + content + CELLS * CELL_BYTES);
        let previous = head.previous.as_deref().map_or(Previous::Absent, Previous::Stored);
        draft.put(HEAD, previous, Value::open(&encoded))?;
        let stored = form::revision(revision);
        self.draft_revision(draft, step, &stored);
        self.draft_entries(draft, step, &next, &stored)?;
        Self::difference(head, step).add(&self.bucket, draft)?;
        let before = head.labelled(step.label);
        draft.change(&change(step, before, revision), b"", label)?;
        if let Some(operation) = &step.request.operation {
            draft.remember(operation, &form::answer(revision, step.created))?;
        }
        Ok(())
    }

    /// What the listing says: as long as any label is live, a deletion is listed too, for it may hide an older one.
    fn draft_entries(
        &self,
        draft: &mut Draft<'_>,
        step: &Step<'_>,
        next: &Head,
        stored: &[u8],
    ) -> Result<()> {
        if next.is_live() {
            let listed = Value::visible_to(step.label.as_bytes(), stored);
            return draft.add_entry(&items(), &entry_key(step.key, step.label), HEAD, listed);
        }
        for label in next.labels() {
            draft.remove_entry(&items(), &entry_key(step.key, label), HEAD)?;
        }
        Ok(())
    }

    /// The revision's own cells.
    pub(super) fn draft_revision(&self, draft: &mut Draft<'_>, step: &Step<'_>, stored: &[u8]) {
        let label = step.label.as_bytes();
        draft.put_own(&[META], Value::visible_to(label, stored));
        if let Some(bytes) = step.bytes {
            draft.put_own(&[CONTENT], Value::visible_to(label, bytes));
        }
    }
}

/// The revision has its own id: what found nothing to change made none.
fn decode_answer(answer: &[u8]) -> Result<(Revision, bool)> {
    form::read_answer(answer).ok_or_else(|| Error::corrupt("answer to an operation is damaged"))
}

fn replayed(answer: &[u8]) -> Result<Written> {
    decode_answer(answer).map(|(revision, created)| Written::Replayed { revision, created })
}

/// What was done by somebody else, for whoever asked for it.
pub(super) fn arrived(answer: &[u8]) -> Result<Written> {
    decode_answer(answer).map(|(revision, created)| Written::Done { revision, created })
}

fn change(step: &Step<'_>, before: Option<&Revision>, after: &Revision) -> Change {
    let (operation, sequence) = step.request.operation_id();
    let fields = |revision: &Revision| match revision.stored.deleted {
        true => serde_json::Value::Null,
        false => serde_json::json!({
            "tid": revision.tid.to_string(),
            "contentType": revision.stored.content_type,
            "length": revision.stored.length,
        }),
    };
    Change {
        item: step.key.to_owned(),
        action: step.action.to_owned(),
        operation,
        sequence,
        user: step.request.caller.user.clone(),
        before: before.map_or(serde_json::Value::Null, fields),
        after: fields(after),
    }
}

pub(super) fn busy(key: &str) -> Error {
    Error::unavailable("item is changed by too many at once").with("item", key)
}
