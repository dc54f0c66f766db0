//! What a revision is, and the head of an item: the newest revision of each label.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::form::{self, HeadRead};
use crate::cell::visibility::Decisions;
use crate::cell::{Tid, ValueRef};
use crate::error::{Error, Result};
use crate::store::Operation;

/// Labels that one item may have revisions of.
pub(super) const LABELS_MAX: usize = 64;
/// A head is one cell: it must not be cut into chunks.
const HEAD_BYTES_MAX: usize = 256 << 10;
/// Content of at most so many bytes is in the head, too.
const COPY_BYTES_MAX: usize = 2 << 10;

/// What a caller stores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// What kind of content it is.
    pub content_type: String,
    /// Further headers to give back with it.
    pub headers: BTreeMap<String, String>,
    /// Who may see it; empty for everybody.
    pub visibility: String,
    /// The content itself.
    pub bytes: Vec<u8>,
}

/// A revision without its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// What kind of content it is.
    pub content_type: String,
    /// Further headers to give back with it.
    pub headers: BTreeMap<String, String>,
    /// Bytes of its content.
    pub length: u64,
    /// Whether it says that nothing is here any more.
    pub deleted: bool,
    /// The key it came from.
    pub renamed_from: Option<String>,
    /// The key it went to.
    pub renamed_to: Option<String>,
}

/// A revision as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The commit that made it.
    pub tid: Tid,
    /// Who may see it.
    pub visibility: String,
    /// All else but its content.
    pub stored: Stored,
}

impl Stored {
    /// One that holds content.
    pub(super) fn of(content: &Content) -> Self {
        Self {
            content_type: content.content_type.clone(),
            headers: content.headers.clone(),
            length: content.bytes.len() as u64,
            ..Self::default()
        }
    }

    /// One that says that nothing is here any more.
    pub(super) fn gone() -> Self {
        Self { deleted: true, ..Self::default() }
    }
}

impl Revision {
    /// Reads one that is kept under a label.
    pub(super) fn decode(label: &[u8], payload: &[u8]) -> Result<Self> {
        let label = String::from_utf8_lossy(label).into_owned();
        form::read_revision(label, payload).ok_or_else(|| Error::corrupt("revision is damaged"))
    }
}

impl Content {
    /// Whether a revision has all of this but perhaps its bytes.
    pub(super) fn is_like(&self, stored: &Stored) -> bool {
        stored.content_type == self.content_type
            && stored.headers == self.headers
            && stored.length == self.bytes.len() as u64
    }
}

/// The newest revisions of an item, one for each label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    entries: Vec<Revision>,
    /// Where it is about to go. Whoever finds that sees it through before anything else.
    pub(super) leaving: Option<Box<Departure>>,
    /// As it was read, to write over.
    pub(super) previous: Option<Vec<u8>>,
    /// Where in that the content of its only entry lies, if it does.
    copy: Option<Range<usize>>,
}

/// A rename under way, as the head of the key that goes has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Departure {
    /// The commit that began it, as text.
    pub(super) id: String,
    pub(super) to: String,
    /// The revision that goes, as text.
    pub(super) moved: String,
    /// The digest of the destination's head as it was judged, if there was one.
    pub(super) over: Option<String>,
    /// Whether the destination said nothing.
    pub(super) created: bool,
    pub(super) user: Option<String>,
    pub(super) operation: Option<Operation>,
}

impl Head {
    pub(super) fn decode(previous: Option<Vec<u8>>) -> Result<Self> {
        let Some(bytes) = &previous else { return Ok(Self::default()) };
        let payload = ValueRef::decode(bytes)?.payload;
        let HeadRead { entries, copy, leaving } =
            form::read_head(payload).ok_or_else(|| Error::corrupt("head of an item is damaged"))?;
        // The payload is what comes last.
        let before = bytes.len() - payload.len();
        let copy = copy.map(|copy| before + copy.start..before + copy.end);
        Ok(Self { entries, leaving, previous, copy })
    }

    /// As it is stored once it is about to go, or does not go after all.
    pub(super) fn leaving(&self, leaving: Option<&Departure>) -> Vec<u8> {
        let copy = self.previous.as_ref().zip(self.copy.clone());
        form::head(&self.entries, copy.map(|(bytes, copy)| &bytes[copy]), leaving)
    }

    /// Tells one state of a head from all others.
    pub(super) fn digest(&self) -> Option<String> {
        self.previous.as_deref().map(|bytes| blake3::hash(bytes).to_hex().to_string())
    }

    /// The revision of this id, if it is the newest of its label.
    pub(super) fn revision(&self, tid: &str) -> Option<&Revision> {
        let tid = tid.parse().ok()?;
        self.entries.iter().find(|revision| revision.tid == tid)
    }

    /// The newest revision that a caller may see, a deletion too.
    pub(super) fn newest(&self, decisions: &mut Decisions) -> Option<&Revision> {
        let visible = self.entries.iter().filter(|r| decisions.visible(r.visibility.as_bytes()));
        visible.max_by_key(|revision| revision.tid)
    }

    /// What the key says to a caller, without all else, and its content if that is here.
    pub(super) fn into_current(
        mut self,
        decisions: &mut Decisions,
    ) -> Option<(Revision, Option<Vec<u8>>)> {
        let tid = self.current(decisions)?.tid;
        let at = self.entries.iter().position(|revision| revision.tid == tid)?;
        let copy = self.previous.zip(self.copy).map(|(mut bytes, copy)| {
            bytes.truncate(copy.end);
            bytes.drain(..copy.start);
            bytes
        });
        Some((self.entries.swap_remove(at), copy))
    }

    /// What the key says to a caller.
    pub(super) fn current(&self, decisions: &mut Decisions) -> Option<&Revision> {
        self.newest(decisions).filter(|revision| !revision.stored.deleted)
    }

    /// Whether anything is there, for anybody.
    pub(super) fn is_live(&self) -> bool {
        self.entries.iter().any(|revision| !revision.stored.deleted)
    }

    /// Whether nothing is left if this label is deleted.
    pub(super) fn lives_only_by(&self, label: &str) -> bool {
        self.entries.iter().all(|revision| revision.stored.deleted || revision.visibility == label)
    }

    /// The newest of each label.
    pub(super) fn revisions(&self) -> impl Iterator<Item = &Revision> {
        self.entries.iter()
    }

    /// All labels.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|revision| &revision.visibility[..])
    }

    /// The newest of one label.
    pub(super) fn labelled(&self, label: &str) -> Option<&Revision> {
        self.entries.iter().find(|revision| revision.visibility == label)
    }

    /// The same with a newer revision, and as it is stored: with a copy of its content, where that is given and small.
    pub(super) fn with(
        &self,
        revision: Revision,
        content: Option<&[u8]>,
    ) -> Result<(Self, Vec<u8>)> {
        let mut entries = self.entries.clone();
        match entries.iter().position(|entry| entry.visibility == revision.visibility) {
            Some(at) => entries[at] = revision,
            None if entries.len() == LABELS_MAX => {
                return Err(Error::invalid("item has revisions of too many labels")
                    .with("most", LABELS_MAX));
            }
            None => entries.push(revision),
        }
        // A head is open, so what it holds must be; and all of it is written again with every label's revision.
        let is_copied = matches!(&entries[..], [only] if only.visibility.is_empty());
        let copy = content.filter(|content| is_copied && content.len() <= COPY_BYTES_MAX);
        let encoded = form::head(&entries, copy, None);
        let next = Self { entries, ..Self::default() };
        match encoded.len() > HEAD_BYTES_MAX {
            true => Err(Error::invalid("item has too many labels with too long headers")
                .with("most", HEAD_BYTES_MAX)),
            false => Ok((next, encoded)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::visibility::Authorisations;
    use crate::cell::{Time, Value};

    /// A head as it is read after this is stored.
    fn read(payload: &[u8]) -> Head {
        let mut stored = Vec::new();
        Value::open(payload).encode(Time::ZERO, &mut stored);
        Head::decode(Some(stored)).unwrap()
    }

    fn written(over: &Head, label: &str, time: u64, content: &[u8]) -> Head {
        let stored = Stored { length: content.len() as u64, ..Stored::default() };
        let tid = Tid::new(Time::from_micros(time), 0);
        let revision = Revision { tid, visibility: label.to_owned(), stored };
        read(&over.with(revision, Some(content)).unwrap().1)
    }

    fn copied(head: &Head) -> Option<Vec<u8>> {
        let holds = Authorisations::new(["a"]).unwrap();
        head.clone().into_current(&mut Decisions::new(holds)).unwrap().1
    }

    #[test]
    fn only_what_is_small_open_and_alone_is_copied() {
        let new = Head::default();
        let open = written(&new, "", 1, b"hello");
        assert_eq!(copied(&open).as_deref(), Some(&b"hello"[..]));
        assert_eq!(copied(&written(&open, "", 2, b"")).as_deref(), Some(&b""[..]));
        assert_eq!(copied(&written(&new, "", 1, &[7; COPY_BYTES_MAX + 1])), None, "large");
        assert_eq!(copied(&written(&new, "a", 1, b"hello")), None, "a head is open to all");
        assert_eq!(copied(&written(&open, "a", 2, b"hidden")), None, "one of two");
    }

    #[test]
    fn a_copy_outlasts_a_rename_that_is_called_off() {
        let head = written(&Head::default(), "", 1, b"hello");
        let departure = Departure {
            id: "i".into(),
            to: "b".into(),
            moved: "m".into(),
            over: None,
            created: true,
            user: None,
            operation: None,
        };
        let leaving = read(&head.leaving(Some(&departure)));
        assert_eq!(leaving.leaving.as_deref(), Some(&departure));
        let stays = read(&leaving.leaving(None));
        assert_eq!((copied(&stays), stays.leaving), (Some(b"hello".to_vec()), None));
    }
}
