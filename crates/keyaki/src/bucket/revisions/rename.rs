//! Renaming: two keys change, each in a partition of its own, and yet it happens once or not at all.
//!
//! | step | at | what |
//! |---|---|---|
//! | announce | source | the head says that it leaves, and over which head of the destination; a note says so too |
//! | decide | destination | the content arrives, if that head is still there; else it is called off. One cell says which |
//! | depart | source | a revision that tells where it went, or the head as it was |
//! | forget | both | the cell and the note go |
//!
//! Every step can be repeated by anybody, and whoever finds a head that leaves first sees it through to its departure: so
//! nobody reads or changes the source between the steps, and of two renames the second finds nothing. What was cut
//! short is found by its note. Only who began it forgets it, for it has to learn what became of it; or time does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::form;
use super::model::{Departure, Head, Revision, Stored};
use super::write::{Step, Written, arrived, busy};
use super::{HEAD, Revisions, arrival_sort, content_sort};
use crate::bucket::{Caller, Demands, Request, TRIES_MAX};
use crate::cell::parts::Parts;
use crate::cell::visibility::{self, Authorisations};
use crate::cell::{Value, ValueRef};
use crate::error::{Error, Kind, Result};
use crate::store::{Committed, PageRequest, Previous, View};

const NOTES: &str = "renames";
const NOTES_AT_ONCE: usize = 100;
/// What says in the place of an answer that nothing arrived.
const CALLED_OFF: &[u8] = b"";
/// By then nobody waits for an answer any more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// From where to where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The key that goes.
    pub from: String,
    /// The key that comes.
    pub to: String,
}

/// A rename that is not over.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    id: String,
    from: String,
    to: String,
}

/// What became of a rename at its destination.
#[derive(Debug, Clone)]
enum Fate {
    Arrived(Box<Written>),
    CalledOff,
}

impl Revisions {
    /// Moves what one key says to another. [`Written::Absent`] says that there is nothing to move.
    ///
    /// # Errors
    /// `Conflict` if both are the same; those of the engine.
    pub async fn rename(&self, request: &Request, rename: &Rename) -> Result<Written> {
        if rename.from == rename.to {
            return Err(Error::conflict("the item has that key already").with("key", &rename.to));
        }
        if let Some(first) = self.first_answer(request, &rename.to).await? {
            return Ok(first);
        }
        for _ in 0..TRIES_MAX {
            let (over, current) = self.look(request, &rename.to).await?;
            if !request.demands.hold(current.as_ref().map(|revision| revision.tid)) {
                return self.replayed_or(request, &rename.to, Written::Unmet).await;
            }
            let (head, source) = self.look(request, &rename.from).await?;
            let Some(source) = source else {
                return self.replayed_or(request, &rename.to, Written::Absent).await;
            };
            let departure = Departure {
                id: String::new(),
                to: rename.to.clone(),
                moved: source.tid.to_string(),
                over: over.digest(),
                created: current.is_none(),
                user: request.caller.user.clone(),
                operation: request.operation.clone(),
            };
            let Some(note) = self.announce(&head, rename, &departure).await? else { continue };
            let departure = Departure { id: note.id.clone(), ..departure };
            let fate = self.see_through(&rename.from, &departure).await;
            // Without a clear answer the note stays: the rename will be seen through later.
            if fate.as_ref().err().is_none_or(|error| error.kind() == Kind::Full) {
                self.forget(&note).await?;
            }
            match fate? {
                Fate::Arrived(written) => return Ok(*written),
                Fate::CalledOff => {
                    if let Some(first) = self.first_answer(request, &rename.to).await? {
                        return Ok(first);
                    }
                }
            }
        }
        Err(busy(&rename.to))
    }

    /// The first step; `None` if the source has moved on.
    async fn announce(
        &self,
        head: &Head,
        rename: &Rename,
        departure: &Departure,
    ) -> Result<Option<Note>> {
        let Some(previous) = &head.previous else { return Ok(None) };
        let mut made = None;
        let committed = self
            .bucket
            .commit(rename.from.as_bytes(), |draft| {
                let id = draft.tid().to_string();
                let (from, to) = (rename.from.clone(), rename.to.clone());
                let note = made.insert(Note { id: id.clone(), from, to });
                let text = serde_json::to_vec(note).expect("strings are JSON");
                let leaving = head.leaving(Some(&Departure { id, ..departure.clone() }));
                draft.put(HEAD, Previous::Stored(previous), Value::open(&leaving))?;
                draft.add_entry(&notes(), &note.key(), HEAD, Value::open(&text))
            })
            .await?;
        Ok(made.filter(|_| matches!(committed, Committed::Done(_))))
    }

    /// The next two steps, whoever began it.
    async fn see_through(&self, from: &str, departure: &Departure) -> Result<Fate> {
        let (fate, full) = match self.decide(from, departure).await {
            // There is no room: then it does not happen.
            Err(full) if full.kind() == Kind::Full => (self.call_off(departure).await?, Some(full)),
            fate => (fate?, None),
        };
        self.depart(from, departure, &fate).await?;
        match (full, &fate) {
            (Some(full), Fate::CalledOff) => Err(full),
            _ => Ok(fate),
        }
    }

    /// Sees a rename of this key through, if one is under way.
    pub(super) async fn settled_head(&self, key: &str) -> Result<Head> {
        for _ in 0..TRIES_MAX {
            let head = self.head(key).await?;
            let Some(departure) = &head.leaving else { return Ok(head) };
            // Seldom needed: on the heap, lest every reader's future be as large.
            match Box::pin(self.see_through(key, departure)).await {
                Err(error) if error.kind() != Kind::Full => return Err(error),
                _ => {}
            }
        }
        Err(busy(key))
    }

    /// Lets the content arrive, or calls it off.
    async fn decide(&self, from: &str, departure: &Departure) -> Result<Fate> {
        if let Some(fate) = self.fate(departure).await? {
            return Ok(fate);
        }
        let (over, source) = (self.head(&departure.to).await?, self.head(from).await?);
        if source.leaving.as_ref().is_none_or(|leaving| leaving.id != departure.id) {
            // It has been seen through meanwhile. Who finds no word of it was not waiting for one.
            return Ok(self.fate(departure).await?.unwrap_or(Fate::CalledOff));
        }
        if over.digest() == departure.over
            && let Some(moved) = source.revision(&departure.moved)
            && let Some(bytes) = self.moved_content(from, moved).await?
            && let Some(Written::Done { revision, created }) =
                self.arrive(&over, (from, &source), departure, moved, &bytes).await?
        {
            return Ok(Fate::Arrived(Box::new(Written::Done { revision, created })));
        }
        self.call_off(departure).await
    }

    async fn fate(&self, departure: &Departure) -> Result<Option<Fate>> {
        let sort = arrival_sort(&departure.id);
        let Some(stored) = self.bucket.stored(departure.to.as_bytes(), &sort).await? else {
            return Ok(None);
        };
        Ok(Some(match ValueRef::decode(&stored)?.payload {
            CALLED_OFF => Fate::CalledOff,
            answer => Fate::Arrived(Box::new(arrived(answer)?)),
        }))
    }

    async fn call_off(&self, departure: &Departure) -> Result<Fate> {
        let (to, sort) = (departure.to.as_bytes(), arrival_sort(&departure.id));
        for _ in 0..TRIES_MAX {
            let committed = self
                .bucket
                .commit(to, |draft| draft.put(&sort, Previous::Absent, Value::open(CALLED_OFF)));
            if matches!(committed.await?, Committed::Done(_)) {
                return Ok(Fate::CalledOff);
            }
            if let Some(fate) = self.fate(departure).await? {
                return Ok(fate);
            }
        }
        Err(busy(&departure.to))
    }

    async fn moved_content(&self, from: &str, moved: &Revision) -> Result<Option<Vec<u8>>> {
        let opening = visibility::opening(moved.visibility.as_bytes())
            .map_err(|bad| Error::corrupt("label of a revision is damaged").because(bad))?;
        self.bucket.read(&opening, from.as_bytes(), &content_sort(moved.tid)).await
    }

    /// The second step, if all is as it was announced.
    async fn arrive(
        &self,
        over: &Head,
        (from, source): (&str, &Head),
        departure: &Departure,
        moved: &Revision,
        bytes: &[u8],
    ) -> Result<Option<Written>> {
        let request = departure.request();
        let (key, label, created) = (&departure.to[..], &moved.visibility[..], departure.created);
        let step = Step {
            key,
            action: "rename",
            label,
            bytes: Some(bytes),
            request: &request,
            created,
            brings_room: source.lives_only_by(label),
        };
        let renamed = Stored { renamed_from: Some(from.to_owned()), ..moved.stored.clone() };
        let sort = arrival_sort(&departure.id);
        self.write_and(over, &step, &renamed, |draft, revision| {
            let fate = form::answer(revision, created);
            draft.put(&sort, Previous::Absent, Value::open(&fate)).map(drop)
        })
        .await
    }

    /// The third step.
    async fn depart(&self, from: &str, departure: &Departure, fate: &Fate) -> Result<()> {
        for _ in 0..TRIES_MAX {
            let head = self.head(from).await?;
            if head.leaving.as_ref().is_none_or(|leaving| leaving.id != departure.id) {
                return Ok(());
            }
            let left = match fate {
                Fate::Arrived(_) => self.leave(&head, from, departure).await?,
                Fate::CalledOff => self.stay(&head, from).await?,
            };
            if left {
                return Ok(());
            }
        }
        Err(busy(from))
    }

    async fn leave(&self, head: &Head, from: &str, departure: &Departure) -> Result<bool> {
        let moved = head.revision(&departure.moved).ok_or_else(|| {
            Error::corrupt("the revision that a rename moves is missing").with("item", from)
        })?;
        let request = Request { operation: None, ..departure.request() };
        let label = &moved.visibility;
        let step = Step {
            key: from,
            action: "rename",
            label,
            bytes: None,
            request: &request,
            created: false,
            brings_room: false,
        };
        let gone = Stored { renamed_to: Some(departure.to.clone()), ..Stored::gone() };
        Ok(self.write(head, &step, &gone).await?.is_some())
    }

    async fn stay(&self, head: &Head, from: &str) -> Result<bool> {
        let Some(previous) = &head.previous else { return Ok(true) };
        let stays = head.leaving(None);
        let committed = self.bucket.commit(from.as_bytes(), |draft| {
            draft.put(HEAD, Previous::Stored(previous), Value::open(&stays))
        });
        Ok(matches!(committed.await?, Committed::Done(_)))
    }

    /// The last step.
    async fn forget(&self, note: &Note) -> Result<()> {
        let sort = arrival_sort(&note.id);
        if let Some(stored) = self.bucket.stored(note.to.as_bytes(), &sort).await? {
            let forgotten =
                self.bucket.commit(note.to.as_bytes(), |draft| draft.remove(&sort, &stored));
            forgotten.await?;
        }
        let forgotten = self
            .bucket
            .commit(note.from.as_bytes(), |draft| draft.remove_entry(&notes(), &note.key(), HEAD));
        forgotten.await.map(drop)
    }

    /// Sees renames through that were cut short.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn finish_renames(&self) -> Result<()> {
        let mut which = PageRequest::first(NOTES_AT_ONCE);
        loop {
            let page = self.bucket.page(&Authorisations::none(), &notes(), &which).await?;
            for entry in &page.entries {
                let note: Note = serde_json::from_slice(&entry.payload)
                    .map_err(|e| Error::corrupt("note of a rename is damaged").because(e))?;
                self.settled_head(&note.from).await?;
                if entry.time.saturating_add(FORGOTTEN_AFTER) < self.now() {
                    self.forget(&note).await?;
                }
            }
            match page.next {
                Some(next) => which.after = Some(next),
                None => return Ok(()),
            }
        }
    }
}

impl Departure {
    /// What the one who began it asked for; whoever sees it through does so for them.
    fn request(&self) -> Request {
        let caller = Caller { user: self.user.clone(), authorisations: Authorisations::none() };
        Request { caller, demands: Demands::default(), operation: self.operation.clone() }
    }
}

impl Note {
    fn key(&self) -> Vec<u8> {
        Parts::new().bytes(self.from.as_bytes()).bytes(self.id.as_bytes()).into_bytes()
    }
}

fn notes() -> View {
    View::named(NOTES)
}
