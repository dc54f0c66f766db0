//! One log from its first byte to its last, with one block of it in memory.
//!
//! A healthy log is a row of whole batches, in order. The walk stops at the first thing that isn't:
//! what can be read but is out of place is damage, what can't be read is for `tail` to judge.

use std::fs::File;
use std::io::{self, Read};

use super::batches::{Batches, History};
use super::record::{self, BLOCK, Fault, HEADER, Whole};
use super::tail::{self, Verdict};

/// How a log without damage ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// After a whole batch.
    Clean,
    /// In the batch that starts here, at a byte like any other.
    CutShort(u64),
    /// In the batch that starts here, or would: the file is longer than what reached the disk.
    NeverWritten(u64),
}

/// Why the walk stopped before the end.
#[derive(Debug)]
pub enum Break {
    Damaged(u64, &'static str),
    /// This log doesn't follow on the one before it, which ended in an unfinished record.
    Missing,
    Io(io::Error),
}

impl From<io::Error> for Break {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Walks through `file` and adds its batches to `history`.
pub fn walk(file: File, history: &mut History) -> Result<End, Break> {
    let mut blocks = Blocks::new(file);
    let mut batches = Batches::of_new_log(history);
    let end = run(&mut blocks, &mut batches)?;
    if end != End::Clean {
        history.ended_unfinished();
    }
    Ok(end)
}

/// Walks through a log whose records hold something else than numbered batches.
pub fn walk_unnumbered(file: File) -> Result<End, Break> {
    run(&mut Blocks::new(file), &mut Batches::unnumbered(&mut History::default()))
}

fn run(blocks: &mut Blocks, batches: &mut Batches<'_>) -> Result<End, Break> {
    while blocks.advance()? {
        let mut at = 0;
        while at + HEADER <= BLOCK && at < blocks.bytes().len() {
            match record::read(blocks.bytes(), at) {
                Ok(Whole { kind, payload }) => {
                    batches.add(blocks.offset(at), kind, payload)?;
                    at += HEADER + payload.len();
                }
                Err(fault) => return judge(blocks, at, fault, batches),
            }
        }
        if let Some(stray) = blocks.bytes().iter().skip(at).position(|&byte| byte != 0) {
            return Err(Break::Damaged(blocks.offset(at + stray), "padding that isn't zero"));
        }
    }
    Ok(batches.open().map_or(End::Clean, End::CutShort))
}

/// What is torn is torn from the start of its batch.
fn judge(
    blocks: &mut Blocks,
    at: usize,
    fault: Fault,
    batches: &Batches<'_>,
) -> Result<End, Break> {
    let offset = blocks.offset(at);
    let start = batches.open().unwrap_or(offset);
    match tail::judge(blocks, at, fault, batches.least())? {
        Verdict::CutShort => Ok(End::CutShort(start)),
        Verdict::NeverWritten => Ok(End::NeverWritten(start)),
        Verdict::Damaged(reason) => Err(Break::Damaged(offset, reason)),
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
