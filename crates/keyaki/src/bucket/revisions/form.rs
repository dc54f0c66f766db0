//! How revisions are bytes: in heads, on their own and in listings, and in answers to operations.
//!
//! | what     | bytes                                                                                               |
//! |----------|-----------------------------------------------------------------------------------------------------|
//! | revision | tid (16), flags (1), length of its content (u64), type, headers, then, if flagged, the key it came from and the one it went to |
//! | headers  | how many (u32), name and value of each                                                              |
//! | labelled | label, revision                                                                                     |
//! | head     | number of entries (u32), each labelled; whether a copy follows (1), and it; then, only if it is about to go, the departure as JSON |
//! | copy     | the content of the only entry, as long as that says                                                 |
//! | answer   | whether there was nothing before (1), labelled                                                      |
//!
//! Texts are UTF-8, each after its length (u32); numbers are big endian. Flags: 01 it deletes, 02 it came from a key, 04 it
//! went to one. What can't be read to its end is damaged; what of, the caller says.

use std::collections::BTreeMap;
use std::ops::Range;

use super::model::{Departure, LABELS_MAX, Revision, Stored};
use crate::cell::Tid;

/// What an entry of a head has, about.
const ENTRY_BYTES: usize = 128;
const DELETED: u8 = 1;
const RENAMED_FROM: u8 = 2;
const RENAMED_TO: u8 = 4;
const FLAGS: u8 = DELETED | RENAMED_FROM | RENAMED_TO;

/// A revision without its label, which is where it is kept.
pub(super) fn revision(revision: &Revision) -> Vec<u8> {
    let mut out = Vec::new();
    write_revision(revision, &mut out);
    out
}

/// The other way round.
pub(super) fn read_revision(label: String, bytes: &[u8]) -> Option<Revision> {
    let mut reader = Reader(bytes);
    let revision = reader.revision(label)?;
    reader.end(revision)
}

/// A head: its entries, a copy of the only one's content, and where it is about to go.
pub(super) fn head(
    entries: &[Revision],
    copy: Option<&[u8]>,
    leaving: Option<&Departure>,
) -> Vec<u8> {
    let copied = copy.map_or(0, <[u8]>::len);
    let mut out = Vec::with_capacity(copied + entries.len() * ENTRY_BYTES);
    write_count(entries.len(), &mut out);
    for revision in entries {
        write_labelled(revision, &mut out);
    }
    out.push(copy.is_some().into());
    out.extend_from_slice(copy.unwrap_or_default());
    if let Some(leaving) = leaving {
        serde_json::to_writer(&mut out, leaving).expect("strings and numbers are JSON");
    }
    out
}

/// What a head says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadRead {
    pub(super) entries: Vec<Revision>,
    /// Where the copy lies.
    pub(super) copy: Option<Range<usize>>,
    pub(super) leaving: Option<Box<Departure>>,
}

/// The other way round.
pub(super) fn read_head(bytes: &[u8]) -> Option<HeadRead> {
    let mut reader = Reader(bytes);
    let count = reader.count()?;
    let mut entries = Vec::with_capacity(count.min(LABELS_MAX));
    for _ in 0..count {
        entries.push(reader.labelled()?);
    }
    let is_copied = reader.flag()?;
    let copy = match (is_copied, &entries[..]) {
        (false, _) => None,
        (true, [only]) => {
            let start = bytes.len() - reader.0.len();
            let (copy, rest) = reader.0.split_at_checked(only.stored.length.try_into().ok()?)?;
            reader.0 = rest;
            Some(start..start + copy.len())
        }
        (true, _) => return None,
    };
    let leaving = match reader.0 {
        b"" => None,
        departure => Some(serde_json::from_slice(departure).ok()?),
    };
    Some(HeadRead { entries, copy, leaving })
}

/// What a repeat of an operation needs to be told.
pub(super) fn answer(revision: &Revision, created: bool) -> Vec<u8> {
    let mut out = vec![created.into()];
    write_labelled(revision, &mut out);
    out
}

/// The other way round.
pub(super) fn read_answer(bytes: &[u8]) -> Option<(Revision, bool)> {
    let mut reader = Reader(bytes);
    let created = reader.flag()?;
    let revision = reader.labelled()?;
    reader.end((revision, created))
}

fn write_labelled(revision: &Revision, out: &mut Vec<u8>) {
    write_text(&revision.visibility, out);
    write_revision(revision, out);
}

fn write_revision(Revision { tid, stored, .. }: &Revision, out: &mut Vec<u8>) {
    let flag = |flag, is_set| if is_set { flag } else { 0 };
    out.extend_from_slice(tid.as_bytes());
    out.push(
        flag(DELETED, stored.deleted)
            | flag(RENAMED_FROM, stored.renamed_from.is_some())
            | flag(RENAMED_TO, stored.renamed_to.is_some()),
    );
    out.extend_from_slice(&stored.length.to_be_bytes());
    write_text(&stored.content_type, out);
    write_count(stored.headers.len(), out);
    for text in stored.headers.iter().flat_map(|(name, value)| [name, value]) {
        write_text(text, out);
    }
    for key in [&stored.renamed_from, &stored.renamed_to].into_iter().flatten() {
        write_text(key, out);
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    let count = u32::try_from(count).expect("no commit is so large");
    out.extend_from_slice(&count.to_be_bytes());
}

/// What is still to be read.
struct Reader<'p>(&'p [u8]);

impl Reader<'_> {
    fn labelled(&mut self) -> Option<Revision> {
        let label = self.text()?;
        self.revision(label)
    }

    fn revision(&mut self, visibility: String) -> Option<Revision> {
        let tid = Tid::from_bytes(self.fixed()?).ok()?;
        let [flags] = self.fixed()?;
        if flags & !FLAGS != 0 {
            return None;
        }
        let stored = Stored {
            deleted: flags & DELETED != 0,
            length: u64::from_be_bytes(self.fixed()?),
            content_type: self.text()?,
            headers: self.headers()?,
            renamed_from: self.only_if(flags & RENAMED_FROM != 0, Self::text)?,
            renamed_to: self.only_if(flags & RENAMED_TO != 0, Self::text)?,
        };
        Some(Revision { tid, visibility, stored })
    }

    fn headers(&mut self) -> Option<BTreeMap<String, String>> {
        let mut headers = BTreeMap::new();
        for _ in 0..self.count()? {
            headers.insert(self.text()?, self.text()?);
        }
        Some(headers)
    }

    /// What may be there and is, or is not.
    fn only_if<T>(&mut self, is: bool, read: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match is {
            true => read(self).map(Some),
            false => Some(None),
        }
    }

    fn flag(&mut self) -> Option<bool> {
        match self.fixed()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    fn count(&mut self) -> Option<usize> {
        self.fixed().map(u32::from_be_bytes).and_then(|count| count.try_into().ok())
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// What was read, if that was all.
    fn end<T>(&self, read: T) -> Option<T> {
        self.0.is_empty().then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cell::Time;

    fn tid(micros: u64) -> Tid {
        Tid::new(Time::from_micros(micros), 7)
    }

    fn departure() -> Departure {
        Departure {
            id: "i".into(),
            to: "b".into(),
            moved: "m".into(),
            over: None,
            created: true,
            user: None,
            operation: None,
        }
    }

    /// Bytes written as hexadecimal, and text in quotes.
    fn bytes(line: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (at, piece) in line.split('\'').enumerate() {
            match at % 2 {
                0 => {
                    let digits: String = piece.split_whitespace().collect();
                    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
                    bytes.extend(pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()));
                }
                _ => bytes.extend_from_slice(piece.as_bytes()),
            }
        }
        bytes
    }

    #[test]
    fn these_are_the_bytes() {
        let first = Revision {
            tid: tid(1_700_000_000_000_001),
            visibility: "a&b".into(),
            stored: Stored {
                content_type: "text/plain".into(),
                headers: [("content-language".to_owned(), "de".to_owned())].into(),
                length: 258,
                renamed_from: Some("old".into()),
                ..Stored::default()
            },
        };
        let gone = Stored { deleted: true, renamed_to: Some("new".into()), ..Stored::default() };
        let second = Revision { tid: tid(5), visibility: String::new(), stored: gone };
        let first_bytes = "018bcfe5680070018000000000000007 02 0000000000000102 0000000a 'text/plain' \
                           00000001 00000010 'content-language' 00000002 'de' 00000003 'old'";
        let second_bytes = "00000000000070058000000000000007 05 0000000000000000 00000000 00000000 \
                            00000003 'new'";
        assert_eq!(revision(&first), bytes(first_bytes));
        let labelled = format!("00000003 'a&b' {first_bytes}");
        assert_eq!(answer(&first, true), bytes(&format!("01 {labelled}")));
        let entries = format!("00000002 {labelled} 00000000 {second_bytes}");
        let both = [first, second];
        assert_eq!(head(&both, None, None), bytes(&format!("{entries} 00")));
        let json = r#"{"id":"i","to":"b","moved":"m","over":null,"created":true,"user":null,"operation":null}"#;
        let leaving = departure();
        assert_eq!(head(&both, None, Some(&leaving)), bytes(&format!("{entries} 00 '{json}'")));
        let only = Revision {
            tid: tid(5),
            visibility: String::new(),
            stored: Stored { length: 5, ..Stored::default() },
        };
        let only_bytes = "00000001 00000000 00000000000070058000000000000007 00 0000000000000005 \
                          00000000 00000000 01 'hello'";
        let with_copy = head(&[only], Some(b"hello"), Some(&leaving));
        assert_eq!(with_copy, bytes(&format!("{only_bytes} '{json}'")));
        let read = read_head(&with_copy).unwrap();
        assert_eq!(&with_copy[read.copy.unwrap()], b"hello");
        assert_eq!(read.leaving, Some(Box::new(leaving)));
    }

    fn revisions() -> impl Strategy<Value = Revision> {
        let text = || ".{0,8}";
        let headers = proptest::collection::btree_map(text(), text(), 0..4);
        let keys = (proptest::option::of(text()), proptest::option::of(text()));
        (any::<u32>(), text(), text(), headers, (any::<u64>(), any::<bool>()), keys).prop_map(
            |(micros, visibility, content_type, headers, (length, deleted), keys)| {
                let (renamed_from, renamed_to) = keys;
                let stored =
                    Stored { content_type, headers, length, deleted, renamed_from, renamed_to };
                Revision { tid: tid(micros.into()), visibility, stored }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            entries in proptest::collection::vec(revisions(), 0..4),
            leaves in any::<bool>(),
            created in any::<bool>(),
        ) {
            let leaving = leaves.then(|| Box::new(departure()));
            let written = head(&entries, None, leaving.as_deref());
            let read = HeadRead { entries: entries.clone(), copy: None, leaving };
            prop_assert_eq!(read_head(&written), Some(read));
            for one in entries {
                let alone = revision(&one);
                prop_assert_eq!(read_revision(one.visibility.clone(), &alone), Some(one.clone()));
                for end in 0..alone.len() {
                    prop_assert_eq!(read_revision(String::new(), &alone[..end]), None);
                }
                prop_assert_eq!(read_answer(&answer(&one, created)), Some((one, created)));
            }
        }

        #[test]
        fn no_bytes_are_read_in_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (read_head(&bytes), read_answer(&bytes), read_revision(String::new(), &bytes));
        }
    }
}
