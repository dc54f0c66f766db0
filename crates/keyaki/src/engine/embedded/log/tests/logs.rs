//! Logs as RocksDB's writer would leave them, and what is found in them.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use tempfile::TempDir;

use super::super::record::{self, BLOCK, Masked, checksum};
use super::super::{LogDamage, LogSummary, Part, verify_logs};

/// The header of a write-ahead log's record.
pub const HEADER: usize = 11;
pub const SECTOR: usize = 512;
/// The number of the first log in a [`Store`].
pub const FIRST: u32 = 8;

/// A log as RocksDB's writer would leave it.
#[derive(Clone)]
pub struct Log {
    pub form: record::Log,
    pub bytes: Vec<u8>,
    /// The whole batches.
    pub batches: Vec<Range<usize>>,
    /// The physical records.
    pub records: Vec<Range<usize>>,
    pub next: u64,
}

impl Log {
    pub fn starting_at(next: u64) -> Self {
        Self::numbered(FIRST, next)
    }

    pub fn numbered(number: u32, next: u64) -> Self {
        Self { next, ..Self::of(record::Log::WriteAhead(number)) }
    }

    pub fn of(form: record::Log) -> Self {
        Self { form, bytes: vec![], batches: vec![], records: vec![], next: 0 }
    }

    /// Appends a batch of one change with `length` bytes in all.
    pub fn batch(self, length: usize) -> Self {
        self.batch_of(1, length)
    }

    pub fn batch_of(mut self, changes: u32, length: usize) -> Self {
        let seed = match self.form {
            record::Log::Manifest => self.next,
            record::Log::WriteAhead(number) => self.next + (u64::from(number) << 32),
        };
        let mut payload = noise(seed, length - 12);
        let start = [self.next.to_le_bytes().as_slice(), &changes.to_le_bytes()].concat();
        payload.splice(..0, start);
        self.next += u64::from(changes);
        self.append(&payload)
    }

    pub fn append(mut self, mut payload: &[u8]) -> Self {
        self.pad();
        let (start, mut first) = (self.bytes.len(), true);
        loop {
            self.pad();
            let room = BLOCK - self.bytes.len() % BLOCK - self.form.header();
            let (part, rest) = payload.split_at(payload.len().min(room));
            let plain = [[3, 4], [2, 1]][usize::from(first)][usize::from(rest.is_empty())];
            self.record(plain + if self.form == record::Log::Manifest { 0 } else { 4 }, part);
            (payload, first) = (rest, false);
            if rest.is_empty() {
                break;
            }
        }
        self.batches.push(start..self.bytes.len());
        self
    }

    pub fn record(&mut self, kind: u8, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
        self.bytes.push(kind);
        if let record::Log::WriteAhead(number) = self.form {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(payload);
        let crc = Masked::of(checksum(&self.bytes[start..])).0;
        self.bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        self.records.push(start..self.bytes.len());
    }

    pub fn pad(&mut self) {
        let room = BLOCK - self.bytes.len() % BLOCK;
        if room < self.form.header() {
            self.bytes.resize(self.bytes.len() + room, 0);
        }
    }

    pub fn last(&self) -> Range<usize> {
        self.batches.last().unwrap().clone()
    }

    /// Where the physical record or the padding starts that holds `byte`.
    pub fn record_of(&self, byte: usize) -> usize {
        let last = self.records.iter().rfind(|record| record.start <= byte).unwrap();
        if last.contains(&byte) { last.start } else { last.end }
    }

    /// The batches that end at `end` at the latest.
    pub fn whole(&self, end: usize) -> usize {
        self.batches.iter().filter(|batch| batch.end <= end).count()
    }

    /// Where the batch starts that `end` would tear.
    pub fn torn_by(&self, end: usize) -> Option<usize> {
        let torn = self.batches.iter().find(|batch| batch.start < end && end < batch.end);
        torn.map(|batch| batch.start)
    }
}

/// `new` written over the start of `old`.
pub fn over(new: &[u8], old: &[u8]) -> Vec<u8> {
    [new, &old[new.len().min(old.len())..]].concat()
}

/// Bytes without a pattern and without zeros.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8 | 1
    };
    std::iter::repeat_with(step).take(length).collect()
}

pub struct Store {
    pub dir: TempDir,
}

impl Store {
    pub fn of(logs: &[&[u8]]) -> Self {
        let store = Self { dir: tempfile::tempdir().unwrap() };
        for (at, bytes) in logs.iter().enumerate() {
            fs::write(store.file(at), bytes).unwrap();
        }
        store
    }

    pub fn file(&self, at: usize) -> PathBuf {
        self.dir.path().join(format!("{:06}.log", at + FIRST as usize))
    }

    pub fn verify(&self) -> Result<LogSummary, LogDamage> {
        verify_logs(self.dir.path(), 0)
    }

    pub fn tail(&self, at: usize, offset: usize) -> Part {
        let bytes = fs::metadata(self.file(at)).unwrap().len() - offset as u64;
        Part { file: self.file(at), offset: offset as u64, bytes }
    }

    #[track_caller]
    pub fn refused(&self, at: usize, place: usize, why: &str) {
        match self.verify() {
            Err(LogDamage::Damaged { file, offset, reason }) => {
                assert_eq!((file, offset), (self.file(at), place as u64), "{reason}");
                assert!(reason.contains(why), "{reason}");
            }
            other => panic!("not refused: {other:?}"),
        }
    }

    /// The newest log ends at `offset`; once cut, it is clean.
    #[track_caller]
    pub fn ends_at(&self, offset: usize, records: usize) -> LogSummary {
        let found = self.verify().unwrap();
        assert_eq!(found.tails, vec![self.tail(0, offset)]);
        assert_eq!(found.records, records as u64);
        found.tails[0].cut().unwrap();
        let left = self.verify().unwrap();
        assert_eq!((left.records, left.tails), (records as u64, vec![]));
        found
    }
}

#[track_caller]
pub fn refused(bytes: &[u8], place: usize, why: &str) {
    Store::of(&[bytes]).refused(0, place, why);
}

#[track_caller]
pub fn torn(bytes: &[u8], offset: usize, records: usize) {
    let found = Store::of(&[bytes]).ends_at(offset, records);
    assert_eq!(found.torn_bytes, (bytes.len() - offset) as u64);
}

#[track_caller]
pub fn ended(bytes: &[u8], offset: usize, records: usize) {
    Store::of(&[bytes]).ends_at(offset, records);
}

pub fn small() -> Log {
    Log::starting_at(1).batch(12).batch(40).batch(300).batch(13).batch(90)
}

/// Ends its blocks in every way: with padding, with an empty First, with a Middle.
pub fn long() -> Log {
    let padded = Log::starting_at(1).batch(BLOCK - HEADER - 3).batch(50);
    let room = BLOCK - padded.bytes.len() % BLOCK - 2 * HEADER;
    padded.batch(room).batch(70).batch(3 * BLOCK).batch(200)
}
