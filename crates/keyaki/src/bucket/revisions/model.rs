//! What a revision is, and how heads and metadata are stored: JSON, for they are small and read by people.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::cell::visibility::Decisions;
use crate::cell::{Tid, ValueRef};
use crate::error::{Error, Result};
use crate::store::Operation;

/// Labels that one item may have revisions of.
const LABELS_MAX: usize = 64;
/// A head is one cell: it must not be cut into chunks.
const HEAD_BYTES_MAX: usize = 256 << 10;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The commit that made it, as text.
    pub(super) tid: String,
    /// What kind of content it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// Further headers to give back with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Bytes of its content.
    #[serde(default)]
    pub length: u64,
    /// The digest of content, type and headers, by which equal ones are known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Whether it says that nothing is here any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// The key it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// The key it went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub(super) fn of(tid: Tid, content: &Content) -> Self {
        Self {
            content_type: content.content_type.clone(),
            headers: content.headers.clone(),
            length: content.bytes.len() as u64,
            digest: content.digest(),
            ..Self::gone(tid, false)
        }
    }

    /// One that holds none.
    pub(super) fn gone(tid: Tid, deleted: bool) -> Self {
        Self {
            tid: tid.to_string(),
            content_type: String::new(),
            headers: BTreeMap::new(),
            length: 0,
            digest: String::new(),
            deleted,
            renamed_from: None,
            renamed_to: None,
        }
    }

    pub(super) fn tid(&self) -> Result<Tid> {
        self.tid.parse().map_err(|bad| Error::corrupt("revision has no id").because(bad))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers are JSON")
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self> {
        serde_json::from_slice(payload)
            .map_err(|e| Error::corrupt("revision is damaged").because(e))
    }
}

impl Content {
    fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let headers = self.headers.iter().flat_map(|(name, value)| [name, value]);
        for part in [&self.content_type].into_iter().chain(headers) {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&[0xff; 8]);
        hasher.update(&self.bytes);
        hasher.finalize().to_hex().to_string()
    }

    /// Whether a revision holds just this, under the same label.
    pub(super) fn equals(&self, label: &str, revision: &Revision) -> bool {
        revision.visibility == label && revision.stored.digest == self.digest()
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

/// A head that is about to go, as it is stored; every other is a list of entries.
#[derive(Serialize, Deserialize)]
struct Leaving<E, D> {
    entries: E,
    leaving: D,
}

/// What an entry with a label has in it.
const LABEL: &[u8] = b"\"visibility\"";

/// An entry as it is written.
#[derive(Serialize)]
struct HeadEntry<'r> {
    #[serde(skip_serializing_if = "str::is_empty")]
    visibility: &'r str,
    #[serde(flatten)]
    stored: &'r Stored,
}

/// What an entry has besides its revision. It is read by itself: to read a flattened one costs several times as much.
#[derive(Default, Deserialize)]
struct HeadLabel {
    #[serde(default)]
    visibility: String,
}

impl Head {
    pub(super) fn decode(previous: Option<Vec<u8>>) -> Result<Self> {
        let Some(bytes) = &previous else { return Ok(Self::default()) };
        let payload = ValueRef::decode(bytes)?.payload;
        let (labels, stored, leaving): (_, Vec<Stored>, _) = match payload.starts_with(b"{") {
            false => {
                let stored: Vec<Stored> = read(payload)?;
                // Most are open to all, and say nothing of a label: that is seen sooner than read.
                let labels = match payload.windows(LABEL.len()).any(|part| part == LABEL) {
                    true => read(payload)?,
                    false => stored.iter().map(|_| HeadLabel::default()).collect(),
                };
                (labels, stored, None)
            }
            true => {
                let labels: Leaving<Vec<HeadLabel>, IgnoredAny> = read(payload)?;
                let read: Leaving<Vec<Stored>, Box<Departure>> = read(payload)?;
                (labels.entries, read.entries, Some(read.leaving))
            }
        };
        let revision = |(HeadLabel { visibility }, stored): (HeadLabel, Stored)| {
            Ok(Revision { tid: stored.tid()?, visibility, stored })
        };
        let entries = labels.into_iter().zip(stored).map(revision).collect::<Result<_>>()?;
        Ok(Self { entries, leaving, previous })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let revisions = self.entries.iter();
        let entries: Vec<_> = revisions
            .map(|Revision { visibility, stored, .. }| HeadEntry { visibility, stored })
            .collect();
        let encoded = match &self.leaving {
            None => serde_json::to_vec(&entries),
            Some(leaving) => serde_json::to_vec(&Leaving { entries, leaving }),
        };
        encoded.expect("strings and numbers are JSON")
    }

    /// The same, about to go, or not after all.
    pub(super) fn leaving(&self, leaving: Option<Departure>) -> Self {
        let leaving = leaving.map(Box::new);
        Self { entries: self.entries.clone(), leaving, previous: None }
    }

    /// Tells one state of a head from all others.
    pub(super) fn digest(&self) -> Option<String> {
        self.previous.as_deref().map(|bytes| blake3::hash(bytes).to_hex().to_string())
    }

    /// The revision of this id, if it is the newest of its label.
    pub(super) fn revision(&self, tid: &str) -> Option<&Revision> {
        self.entries.iter().find(|revision| revision.stored.tid == tid)
    }

    /// The newest revision that a caller may see, a deletion too.
    pub(super) fn newest(&self, decisions: &mut Decisions) -> Option<&Revision> {
        let visible = self.entries.iter().filter(|r| decisions.visible(r.visibility.as_bytes()));
        visible.max_by_key(|revision| revision.tid)
    }

    /// What the key says to a caller, without all else.
    pub(super) fn into_current(mut self, decisions: &mut Decisions) -> Option<Revision> {
        let tid = self.current(decisions)?.tid;
        let at = self.entries.iter().position(|revision| revision.tid == tid)?;
        Some(self.entries.swap_remove(at))
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

    /// The same with a newer revision, and as it is stored.
    pub(super) fn with(&self, revision: Revision) -> Result<(Self, Vec<u8>)> {
        let mut entries = self.entries.clone();
        match entries.iter().position(|entry| entry.visibility == revision.visibility) {
            Some(at) => entries[at] = revision,
            None if entries.len() == LABELS_MAX => {
                return Err(Error::invalid("item has revisions of too many labels")
                    .with("most", LABELS_MAX));
            }
            None => entries.push(revision),
        }
        let next = Self { entries, leaving: None, previous: None };
        let encoded = next.encode();
        match encoded.len() > HEAD_BYTES_MAX {
            true => Err(Error::invalid("item has too many labels with too long headers")
                .with("most", HEAD_BYTES_MAX)),
            false => Ok((next, encoded)),
        }
    }
}

fn read<'p, T: Deserialize<'p>>(payload: &'p [u8]) -> Result<T> {
    serde_json::from_slice(payload)
        .map_err(|e| Error::corrupt("head of an item is damaged").because(e))
}
