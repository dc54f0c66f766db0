//! Renaming: the content moves to another key in one commit, and leaves the old key in a second one.
//!
//! The first commit is conditional on the destination, and leaves a note of what is still to be done; the second adds a
//! revision to the source that says where it went, under an operation id of its own, so that it can be repeated; the
//! third removes the note. A rename that was cut short is finished by [`Revisions::finish_renames`]. If somebody
//! has changed the source meanwhile, that stays, and the history shows the rename all the same.

use serde::{Deserialize, Serialize};

use super::model::{Content, Head, Revision, Stored};
use super::write::{Step, Written, answer, busy};
use super::{HEAD, Revisions};
use crate::bucket::{Caller, Demands, Request, TRIES_MAX};
use crate::cell::parts::Parts;
use crate::cell::visibility::Authorisations;
use crate::cell::{Tid, Value};
use crate::error::{Error, Result};
use crate::store::{Change, Operation, PageRequest, View};

const NOTES: &str = "renames";
const NOTES_AT_ONCE: usize = 100;

/// From where to where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The key that goes.
    pub from: String,
    /// The key that comes.
    pub to: String,
}

/// What is left to be done at the source.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    from: String,
    to: String,
    /// The revision that was moved.
    moved: String,
    label: String,
    user: Option<String>,
    /// The operation of the second commit.
    operation: String,
}

impl Revisions {
    /// Moves what one key says to another. [`Written::Absent`] says that there is nothing to move.
    ///
    /// # Errors
    /// `Invalid` if both are the same; those of the engine.
    pub async fn rename(&self, request: &Request, rename: &Rename) -> Result<Written> {
        if rename.from == rename.to {
            return Err(Error::invalid("a key can't be renamed to itself").with("key", &rename.to));
        }
        if let Some(first) = self.first_answer(request, &rename.to).await? {
            return Ok(first);
        }
        for _ in 0..TRIES_MAX {
            let (head, current) = self.look(request, &rename.to).await?;
            if !request.demands.hold(current.as_ref().map(|revision| revision.tid)) {
                return self.replayed_or(request, &rename.to, Written::Unmet).await;
            }
            let Some((source, bytes)) = self.get(&request.caller, &rename.from).await? else {
                return self.replayed_or(request, &rename.to, Written::Absent).await;
            };
            let created = current.is_none();
            let arrived = self.arrive(&head, request, rename, &source, &bytes, created).await?;
            if let Some(written) = arrived {
                self.finish_renames_of(&rename.to).await?;
                return Ok(written);
            }
        }
        Err(busy(&rename.to))
    }

    /// The first commit.
    async fn arrive(
        &self,
        head: &Head,
        request: &Request,
        rename: &Rename,
        source: &Revision,
        bytes: &[u8],
        created: bool,
    ) -> Result<Option<Written>> {
        let Revision { stored, visibility, tid: moved } = source;
        let content = Content {
            content_type: stored.content_type.clone(),
            headers: stored.headers.clone(),
            visibility: visibility.clone(),
            bytes: bytes.to_vec(),
        };
        let (key, label) = (&rename.to[..], &visibility[..]);
        let step = Step { key, action: "rename", label, bytes: Some(bytes), request, created };
        let renamed =
            |tid| Stored { renamed_from: Some(rename.from.clone()), ..Stored::of(tid, &content) };
        let note = |tid: Tid| Note {
            from: rename.from.clone(),
            to: rename.to.clone(),
            moved: moved.to_string(),
            label: label.to_owned(),
            user: request.caller.user.clone(),
            operation: tid.to_string(),
        };
        self.write_and(head, &step, renamed, |draft| {
            let note = serde_json::to_vec(&note(draft.tid())).expect("strings are JSON");
            draft.add_entry(&notes(), &note_key(&rename.to, draft.tid()), HEAD, Value::open(&note))
        })
        .await
    }

    /// Finishes renames that were cut short.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn finish_renames(&self) -> Result<()> {
        self.finish_noted(&PageRequest::first(NOTES_AT_ONCE)).await
    }

    async fn finish_renames_of(&self, to: &str) -> Result<()> {
        let prefix = Parts::new().bytes(to.as_bytes()).into_bytes();
        self.finish_noted(&PageRequest::first(NOTES_AT_ONCE).with_prefix(&prefix)).await
    }

    async fn finish_noted(&self, which: &PageRequest) -> Result<()> {
        let mut which = which.clone();
        loop {
            let page = self.bucket.page(&Authorisations::none(), &notes(), &which).await?;
            for entry in &page.entries {
                let note: Note = serde_json::from_slice(&entry.payload)
                    .map_err(|e| Error::corrupt("note of a rename is damaged").because(e))?;
                self.depart(&note).await?;
                self.bucket
                    .commit(note.to.as_bytes(), |draft| {
                        draft.remove_entry(&notes(), &entry.key, HEAD)
                    })
                    .await?;
            }
            match page.next {
                Some(next) => which.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// The second commit.
    async fn depart(&self, note: &Note) -> Result<()> {
        let operation = Operation {
            caller: note.user.clone().unwrap_or_default(),
            action: "rename-from".to_owned(),
            id: format!("rename:{}", note.operation),
            sequence: 0,
            parameters: note.from.clone().into_bytes(),
        };
        let caller = Caller { user: note.user.clone(), authorisations: Authorisations::none() };
        let request = Request { caller, demands: Demands::default(), operation: Some(operation) };
        let (key, label) = (&note.from[..], &note.label[..]);
        let step =
            Step { key, action: "rename", label, bytes: None, request: &request, created: false };
        let gone = |tid| Stored { renamed_to: Some(note.to.clone()), ..Stored::gone(tid, true) };
        for _ in 0..TRIES_MAX {
            let head = self.head(&note.from).await?;
            let unchanged =
                head.labelled(label).is_some_and(|newest| newest.tid.to_string() == note.moved);
            let done = match unchanged {
                true => self.write(&head, &step, gone).await?.is_some(),
                false => self.record_departure(&step, gone).await?,
            };
            if done {
                return Ok(());
            }
        }
        Err(busy(&note.from))
    }

    /// Shows the rename in the history of a key that says something else by now.
    async fn record_departure(
        &self,
        step: &Step<'_>,
        stored: impl Fn(Tid) -> Stored + Send + Sync,
    ) -> Result<bool> {
        let committed = self.bucket.commit(step.key.as_bytes(), |draft| {
            let tid = draft.tid();
            // It did not delete anything.
            let stored = Stored { deleted: false, ..stored(tid) };
            let visibility = step.label.to_owned();
            let revision = Revision { tid, visibility, stored };
            self.draft_revision(draft, step, &revision.stored.encode());
            let change = Change {
                item: step.key.to_owned(),
                action: step.action.to_owned(),
                user: step.request.caller.user.clone(),
                ..Change::default()
            };
            draft.change(&change, b"", step.label.as_bytes())?;
            match &step.request.operation {
                Some(operation) => draft.remember(operation, &answer(&revision, false)),
                None => Ok(()),
            }
        });
        Ok(committed.await?.tid().is_ok())
    }
}

fn notes() -> View {
    View::named(NOTES)
}

fn note_key(to: &str, tid: Tid) -> Vec<u8> {
    Parts::new().bytes(to.as_bytes()).fixed(tid.as_bytes()).into_bytes()
}
