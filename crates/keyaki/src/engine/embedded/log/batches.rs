//! Puts the records of the logs together to batches, and checks that they follow on one another.
//!
//! A batch is a Full, or a First, Middles and a Last. In a write-ahead log it begins with the
//! sequence number of its first change and the count of its changes; in a manifest it is a change
//! itself. All of it has passed its checksum: what is out of order here was lost or misplaced as a
//! whole.

use super::record::Kind;
use super::walk::Break;

/// What is looked at of a batch: its sequence number and count are 12 bytes, and a change to the
/// manifest says in no more than this which logs are needed.
const START: usize = 128;

/// The batches of all logs so far.
#[derive(Debug, Default)]
pub struct History {
    count: u64,
    /// The number of the last batch's first change, and the number after its last change.
    last: u64,
    next: u64,
    /// Where the log being read stands to the last batch.
    link: Link,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// They are in the same log.
    Same,
    /// The batch is in an earlier log.
    #[default]
    Earlier,
    /// And an unfinished record lies between.
    Torn,
}

impl History {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn ended_unfinished(&mut self) {
        self.link = Link::Torn;
    }

    /// The numbers of a write that failed are given out again. If its record is whole all the same,
    /// it is the last of its log and the next log starts with its number.
    fn least(&self) -> u64 {
        if self.link == Link::Same { self.next } else { self.last }
    }

    /// Files that are ingested take numbers, too, just after a batch of one change that is written for
    /// them. All others follow on one another; a commit has two changes at least.
    fn most(&self) -> u64 {
        if self.next - self.last <= 1 { u64::MAX } else { self.next }
    }

    fn add(&mut self, offset: u64, start: Start) -> Result<(), Break> {
        let (sequence, count) =
            start.parse().ok_or(Break::Damaged(offset, "a record too short for a batch"))?;
        if sequence < self.least() {
            return Err(Break::Damaged(offset, "sequence numbers don't rise"));
        }
        if sequence > self.most() {
            return Err(match self.link {
                Link::Same => Break::Damaged(offset, "batches before it are missing"),
                Link::Earlier | Link::Torn => Break::Missing,
            });
        }
        self.last = sequence;
        self.next = sequence.saturating_add(u64::from(count));
        self.link = Link::Same;
        Ok(())
    }
}

/// The batches of one log.
pub struct Batches<'a> {
    book: Book<'a>,
    /// The batch whose First has been read, and not its Last.
    open: Option<(u64, Start)>,
}

/// What batches are entered in.
enum Book<'a> {
    Commits(&'a mut History),
    /// The first log that the manifest needs.
    Changes(&'a mut u64),
}

impl<'a> Batches<'a> {
    pub fn of_new_log(history: &'a mut History) -> Self {
        if history.link == Link::Same {
            history.link = Link::Earlier;
        }
        Self { book: Book::Commits(history), open: None }
    }

    /// Those of a manifest, which say which log is the first that is needed.
    pub fn of_manifest(first_log: &'a mut u64) -> Self {
        Self { book: Book::Changes(first_log), open: None }
    }

    /// Where the batch starts that has no end yet.
    pub fn open(&self) -> Option<u64> {
        self.open.map(|(offset, _)| offset)
    }

    /// The least sequence number that the next batch of this log may have.
    pub fn least(&self) -> u64 {
        match &self.book {
            Book::Commits(history) => history.least(),
            Book::Changes(_) => 0,
        }
    }

    /// The record at `offset`.
    pub fn add(&mut self, offset: u64, kind: Option<Kind>, payload: &[u8]) -> Result<(), Break> {
        let kind = kind.ok_or(Break::Damaged(offset, "unknown record type"))?;
        match (kind, self.open.take()) {
            (Kind::Full, None) => self.close(offset, Start::default().and(payload)),
            (Kind::First, None) => {
                self.open = Some((offset, Start::default().and(payload)));
                Ok(())
            }
            (Kind::Middle, Some((first, start))) => {
                self.open = Some((first, start.and(payload)));
                Ok(())
            }
            (Kind::Last, Some((first, start))) => self.close(first, start.and(payload)),
            (Kind::Middle | Kind::Last, None) => {
                Err(Break::Damaged(offset, "the end of a batch without its start"))
            }
            (_, Some((first, _))) => {
                Err(Break::Damaged(first, "the start of a batch without its end"))
            }
        }
    }

    fn close(&mut self, offset: u64, start: Start) -> Result<(), Break> {
        match &mut self.book {
            Book::Commits(history) => {
                history.count += 1;
                history.add(offset, start)
            }
            Book::Changes(first_log) => {
                **first_log = start.first_log().max(**first_log);
                Ok(())
            }
        }
    }
}

/// The first bytes of a batch, which may come from several records.
#[derive(Debug, Clone, Copy)]
struct Start {
    bytes: [u8; START],
    length: usize,
}

impl Default for Start {
    fn default() -> Self {
        Self { bytes: [0; START], length: 0 }
    }
}

impl Start {
    fn and(mut self, payload: &[u8]) -> Self {
        let room = &mut self.bytes[self.length..];
        let taken = payload.len().min(room.len());
        room[..taken].copy_from_slice(&payload[..taken]);
        self.length += taken;
        self
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn parse(self) -> Option<(u64, u32)> {
        let (sequence, rest) = self.bytes().split_first_chunk()?;
        Some((u64::from_le_bytes(*sequence), u32::from_le_bytes(*rest.first_chunk()?)))
    }

    /// The first log that is needed after this change to the manifest, or 0 if it says nothing of it.
    fn first_log(self) -> u64 {
        let (mut rest, mut first) = (self.bytes(), 0);
        while let Some(field) = Field::read(&mut rest) {
            if let Field::FirstLog(number) = field {
                first = number.max(first);
            }
        }
        first
    }
}

/// What RocksDB's `db/version_edit.cc` puts first into a change to the manifest.
enum Field {
    FirstLog(u64),
    Other,
}

impl Field {
    const COMPARATOR: u64 = 1;
    const LOG_NUMBER: u64 = 2;
    const NEXT_FILE_NUMBER: u64 = 3;
    const PREVIOUS_LOG_NUMBER: u64 = 9;
    const MIN_LOG_NUMBER_TO_KEEP: u64 = 10;
    const MAX_COLUMN_FAMILY: u64 = 203;
    const STORE_ID: u64 = 8193;

    /// Nothing at the end, or at a field that comes behind these.
    fn read(rest: &mut &[u8]) -> Option<Self> {
        match varint(rest)? {
            Self::LOG_NUMBER | Self::MIN_LOG_NUMBER_TO_KEEP => varint(rest).map(Self::FirstLog),
            Self::NEXT_FILE_NUMBER | Self::PREVIOUS_LOG_NUMBER | Self::MAX_COLUMN_FAMILY => {
                varint(rest).map(|_| Self::Other)
            }
            Self::COMPARATOR | Self::STORE_ID => {
                let length = varint(rest)?.try_into().ok()?;
                *rest = rest.split_at_checked(length)?.1;
                Some(Self::Other)
            }
            _ => None,
        }
    }
}

/// A number in groups of seven bits, the lowest first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}
