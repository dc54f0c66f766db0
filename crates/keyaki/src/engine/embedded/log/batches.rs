//! Puts the records of the logs together to batches, and checks that they follow on one another.
//!
//! A batch is a Full, or a First, Middles and a Last, and begins with the sequence number of its
//! first change and the count of its changes. All of it has passed its checksum: what is out of
//! order here was lost or misplaced as a whole.

use super::record::Kind;
use super::walk::Break;

/// The sequence number and the count: 8 and 4 bytes.
const START: usize = 12;

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

    /// Ingested files take numbers too, so a gap is no sign of loss in itself. But what follows an
    /// unfinished record has the number which that failed write didn't use up, or batches are gone.
    fn add(&mut self, offset: u64, start: Start) -> Result<(), Break> {
        let (sequence, count) =
            start.parse().ok_or(Break::Damaged(offset, "a record too short for a batch"))?;
        if sequence < self.least() {
            return Err(Break::Damaged(offset, "sequence numbers don't rise"));
        }
        if self.link == Link::Torn && sequence > self.next {
            return Err(Break::Missing);
        }
        self.last = sequence;
        self.next = sequence.saturating_add(u64::from(count));
        self.link = Link::Same;
        Ok(())
    }
}

/// The batches of one log.
pub struct Batches<'a> {
    history: &'a mut History,
    /// The batch whose First has been read, and not its Last.
    open: Option<(u64, Start)>,
    /// What is compressed has no sequence number we could read, and the manifest's have none.
    unnumbered: bool,
}

impl<'a> Batches<'a> {
    pub fn of_new_log(history: &'a mut History) -> Self {
        if history.link == Link::Same {
            history.link = Link::Earlier;
        }
        Self { history, open: None, unnumbered: false }
    }

    pub fn unnumbered(history: &'a mut History) -> Self {
        Self { history, open: None, unnumbered: true }
    }

    /// Where the batch starts that has no end yet.
    pub fn open(&self) -> Option<u64> {
        self.open.map(|(offset, _)| offset)
    }

    /// The least sequence number that the next batch of this log may have.
    pub fn least(&self) -> u64 {
        if self.unnumbered { 0 } else { self.history.least() }
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
            (Kind::Compression, None) => {
                self.unnumbered = true;
                Ok(())
            }
            (Kind::Note, None) => Ok(()),
            (Kind::Middle | Kind::Last, None) => {
                Err(Break::Damaged(offset, "the end of a batch without its start"))
            }
            (_, Some((first, _))) => {
                Err(Break::Damaged(first, "the start of a batch without its end"))
            }
        }
    }

    fn close(&mut self, offset: u64, start: Start) -> Result<(), Break> {
        self.history.count += 1;
        if self.unnumbered { Ok(()) } else { self.history.add(offset, start) }
    }
}

/// The first bytes of a batch, which may come from several records.
#[derive(Debug, Default, Clone, Copy)]
struct Start {
    bytes: [u8; START],
    length: usize,
}

impl Start {
    fn and(mut self, payload: &[u8]) -> Self {
        for (to, from) in self.bytes[self.length..].iter_mut().zip(payload) {
            *to = *from;
            self.length += 1;
        }
        self
    }

    fn parse(self) -> Option<(u64, u32)> {
        let (sequence, count) = self.bytes.split_first_chunk::<8>()?;
        let count = count.first_chunk::<4>().filter(|_| self.length == START)?;
        Some((u64::from_le_bytes(*sequence), u32::from_le_bytes(*count)))
    }
}
