//! One log from its first byte to its last, with one block of it in memory.
//!
//! A healthy log is a row of whole batches, in order. The walk stops at the first thing that isn't:
//! what can be read but is out of place is damage, what can't be read is for `tail` to judge.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

use super::batches::{Batches, History};
use super::record::{self, BLOCK, Log};
use super::tail::{self, Verdict};

/// How a log without damage ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With its file, after a whole batch.
    Clean,
    /// After a whole batch, here, though the file goes on.
    Before(u64),
    /// In the batch that starts here.
    Torn(u64),
}

/// A log that was read to its end.
pub struct Walked {
    pub end: End,
    /// Where something is left of an older log in the padding between two blocks: the padding is
    /// written with the block behind it, and may get lost alone.
    pub strays: Vec<Range<u64>>,
}

/// Why the walk stopped before the end.
#[derive(Debug)]
pub enum Break {
    Damaged(u64, &'static str),
    /// This log doesn't follow on the one before it.
    Missing,
    Io(io::Error),
}

impl From<io::Error> for Break {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Walks through the write-ahead log `number` and adds its batches to `history`.
pub fn walk(file: File, number: u32, history: &mut History) -> Result<Walked, Break> {
    let walked = run(Log::WriteAhead(number), file, Batches::of_new_log(history))?;
    if matches!(walked.end, End::Torn(_)) {
        history.ended_unfinished();
    }
    Ok(walked)
}

/// Walks through a manifest; answers the number of the first write-ahead log that it needs.
pub fn walk_manifest(file: File) -> Result<u64, Break> {
    let mut first_log = 0;
    let walked = run(Log::Manifest, file, Batches::of_manifest(&mut first_log))?;
    match walked.strays.first() {
        Some(stray) => Err(Break::Damaged(stray.start, "padding that isn't zero")),
        None => Ok(first_log),
    }
}

fn run(log: Log, file: File, mut batches: Batches<'_>) -> Result<Walked, Break> {
    let mut blocks = Blocks::new(file);
    let mut strays = Vec::new();
    // In the padding of the block before.
    let mut stray = None::<Range<u64>>;
    while blocks.advance()? {
        let mut at = 0;
        while at + log.header() <= BLOCK && at < blocks.bytes().len() {
            match record::read(log, blocks.bytes(), at) {
                Ok(whole) => {
                    strays.extend(stray.take());
                    batches.add(blocks.offset(at), whole.kind, whole.payload)?;
                    at += whole.length;
                }
                Err(fault) => {
                    let offset = blocks.offset(at);
                    let verdict = tail::judge(log, &mut blocks, at, fault, batches.least())?;
                    let end = match (verdict, batches.open()) {
                        (Verdict::Damaged(reason), _) => Err(Break::Damaged(offset, reason)),
                        // What is torn is torn from the start of its batch.
                        (_, Some(start)) => Ok(End::Torn(start)),
                        (Verdict::Torn, None) => Ok(End::Torn(offset)),
                        (Verdict::Ended, None) => Ok(End::Before(offset)),
                    };
                    return Ok(Walked { end: end?.behind(stray), strays });
                }
            }
        }
        if blocks.bytes().iter().skip(at).any(|&byte| byte != 0) {
            stray = Some(blocks.offset(at)..blocks.offset(blocks.bytes().len()));
        }
    }
    let end = batches.open().map_or(End::Clean, End::Torn);
    Ok(Walked { end: end.behind(stray), strays })
}

impl End {
    /// The same, unless nothing but padding lies between it and the stray before it.
    fn behind(self, stray: Option<Range<u64>>) -> Self {
        match (self, stray) {
            (Self::Clean | Self::Before(_), Some(stray)) => Self::Before(stray.start),
            (Self::Torn(start), Some(stray)) => Self::Torn(start.min(stray.start)),
            (end, None) => end,
        }
    }
}

/// A file, block by block.
pub struct Blocks {
    file: File,
    bytes: Vec<u8>,
    /// Where the block after this one starts.
    read: u64,
}

impl Blocks {
    fn new(file: File) -> Self {
        Self { file, bytes: Vec::with_capacity(BLOCK), read: 0 }
    }

    /// Goes on to the next block; `false` at the end of the file.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.bytes.clear();
        let block = BLOCK as u64;
        self.read += Read::by_ref(&mut self.file).take(block).read_to_end(&mut self.bytes)? as u64;
        Ok(!self.bytes.is_empty())
    }

    /// The current block; only the last may be short.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn offset(&self, at: usize) -> u64 {
        self.read - self.bytes.len() as u64 + at as u64
    }
}
