//! Logs written here byte by byte, then torn, damaged and read.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use tempfile::TempDir;

use super::record::{BLOCK, HEADER, Masked, checksum};
use super::{LogDamage, LogSummary, TornTail, cut, verify_logs, verify_manifest};

/// A log as RocksDB's writer would leave it.
#[derive(Default, Clone)]
struct Log {
    bytes: Vec<u8>,
    /// The whole batches.
    batches: Vec<Range<usize>>,
    /// The physical records.
    records: Vec<Range<usize>>,
    next: u64,
}

impl Log {
    fn starting_at(next: u64) -> Self {
        Self { next, ..Self::default() }
    }

    /// Appends a batch of one change with `length` bytes in all.
    fn batch(mut self, length: usize) -> Self {
        let mut payload = noise(self.next, length - 12);
        payload.splice(..0, [self.next.to_le_bytes().as_slice(), &1_u32.to_le_bytes()].concat());
        self.next += 1;
        self.append(&payload)
    }

    fn append(mut self, mut payload: &[u8]) -> Self {
        self.pad();
        let (start, mut first) = (self.bytes.len(), true);
        loop {
            self.pad();
            let room = BLOCK - self.bytes.len() % BLOCK - HEADER;
            let (part, rest) = payload.split_at(payload.len().min(room));
            self.record([[3, 4], [2, 1]][usize::from(first)][usize::from(rest.is_empty())], part);
            (payload, first) = (rest, false);
            if rest.is_empty() {
                break;
            }
        }
        self.batches.push(start..self.bytes.len());
        self
    }

    fn record(&mut self, kind: u8, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend(Masked::of(checksum(kind, payload)).0.to_le_bytes());
        self.bytes.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
        self.bytes.push(kind);
        self.bytes.extend(payload);
        self.records.push(start..self.bytes.len());
    }

    fn pad(&mut self) {
        let room = BLOCK - self.bytes.len() % BLOCK;
        if room < HEADER {
            self.bytes.resize(self.bytes.len() + room, 0);
        }
    }

    fn last(&self) -> Range<usize> {
        self.batches.last().unwrap().clone()
    }

    /// The physical record that holds `byte`, or `byte` itself in the padding.
    fn record_of(&self, byte: usize) -> usize {
        self.records.iter().find(|record| record.contains(&byte)).map_or(byte, |at| at.start)
    }
}

/// Bytes without a pattern and without zeros.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8 | 1
    };
    std::iter::repeat_with(step).take(length).collect()
}

struct Store {
    dir: TempDir,
}

impl Store {
    fn of(logs: &[&[u8]]) -> Self {
        let store = Self { dir: tempfile::tempdir().unwrap() };
        for (at, bytes) in logs.iter().enumerate() {
            fs::write(store.file(at), bytes).unwrap();
        }
        store
    }

    fn file(&self, at: usize) -> PathBuf {
        self.dir.path().join(format!("{:06}.log", at + 8))
    }

    fn verify(&self) -> Result<LogSummary, LogDamage> {
        verify_logs(self.dir.path())
    }

    fn torn(&self, at: usize, offset: usize) -> TornTail {
        let bytes = fs::metadata(self.file(at)).unwrap().len() - offset as u64;
        TornTail { file: self.file(at), offset: offset as u64, bytes }
    }

    #[track_caller]
    fn refused(&self, at: usize, place: usize, why: &str) {
        match self.verify() {
            Err(LogDamage::Damaged { file, offset, reason }) => {
                assert_eq!((file, offset), (self.file(at), place as u64), "{reason}");
                assert!(reason.contains(why), "{reason}");
            }
            other => panic!("not refused: {other:?}"),
        }
    }

    /// The newest log is torn at `offset`; once cut, it is clean.
    #[track_caller]
    fn torn_at(&self, offset: usize, records: usize) {
        let summary = self.verify().unwrap();
        let torn = summary.torn_tail.expect("a torn tail");
        assert_eq!(torn, self.torn(0, offset));
        assert_eq!(summary.records, records as u64);
        cut(&torn).unwrap();
        let summary = self.verify().unwrap();
        assert_eq!((summary.records, summary.torn_tail), (records as u64, None));
    }
}

#[track_caller]
fn refused(bytes: &[u8], place: usize, why: &str) {
    Store::of(&[bytes]).refused(0, place, why);
}

#[track_caller]
fn torn(bytes: &[u8], offset: usize, records: usize) {
    Store::of(&[bytes]).torn_at(offset, records);
}

fn small() -> Log {
    Log::starting_at(1).batch(12).batch(40).batch(300).batch(13).batch(90)
}

/// Ends its blocks in every way: with padding, with an empty First, with a Middle.
fn long() -> Log {
    let padded = Log::starting_at(1).batch(BLOCK - HEADER - 3).batch(50);
    let room = BLOCK - padded.bytes.len() % BLOCK - 2 * HEADER;
    padded.batch(room).batch(70).batch(3 * BLOCK).batch(200)
}

#[test]
fn whole_logs_are_counted() {
    let (one, two) = (small(), Log::starting_at(6).batch(2 * BLOCK).batch(BLOCK));
    let store = Store::of(&[&one.bytes, &two.bytes, &[]]);
    fs::write(store.dir.path().join("LOG"), b"not a log").unwrap();
    fs::write(store.dir.path().join("000009.sst"), b"nor this").unwrap();
    let summary = store.verify().unwrap();
    assert_eq!((summary.files, summary.records), (3, 7));
    assert_eq!(summary.bytes, (one.bytes.len() + two.bytes.len()) as u64);
    assert_eq!((summary.torn_tail, summary.abandoned), (None, vec![]));

    let missing = verify_logs(&store.dir.path().join("nowhere")).unwrap();
    assert_eq!((missing.files, missing.records), (0, 0));
}

#[test]
fn logs_are_read_in_the_order_of_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("1000000.log"), Log::starting_at(2).batch(20).bytes).unwrap();
    fs::write(dir.path().join("999999.log"), Log::starting_at(1).batch(20).bytes).unwrap();
    assert_eq!(verify_logs(dir.path()).unwrap().records, 2);
}

/// The first record of a log that RocksDB 11.8 wrote: a batch of two puts.
#[test]
fn records_are_those_of_rocksdb() {
    let real = b"\x22\x28\x54\x15\x21\0\x01\
        \x01\0\0\0\0\0\0\0\x02\0\0\0\
        \x01\x02k0\x0a\xae\xb9\x91\x0c\xe0\xce\x44\x2e\x85\xd3\x01\x02j0\x01x";
    assert_eq!(Log::default().append(&real[HEADER..]).bytes, real);
    assert_eq!(Store::of(&[real]).verify().unwrap().records, 1);
}

/// What `long` promises, or the tests below would try less than they seem to.
#[test]
fn the_long_log_has_every_kind_of_edge() {
    let log = long();
    let kinds: Vec<_> = log.records.iter().map(|record| log.bytes[record.start + 6]).collect();
    assert_eq!(kinds, [1, 1, 1, 2, 4, 2, 3, 3, 4, 1]);
    assert!(log.records.iter().any(|record| record.len() == HEADER), "an empty First");
    assert!(log.records.windows(2).any(|two| two[0].end < two[1].start), "padding");
    let store = Store::of(&[&log.bytes]);
    assert_eq!(store.verify().unwrap().records, log.batches.len() as u64);
}

fn cut_at(log: &Log, end: usize) {
    let whole = log.batches.iter().filter(|batch| batch.end <= end).count();
    match log.batches.iter().find(|batch| batch.start < end && end < batch.end) {
        Some(batch) => torn(&log.bytes[..end], batch.start, whole),
        None => {
            let summary = Store::of(&[&log.bytes[..end]]).verify().unwrap();
            assert_eq!((summary.records, summary.torn_tail), (whole as u64, None), "at {end}");
        }
    }
}

#[test]
fn a_log_cut_anywhere_is_torn_at_its_last_batch() {
    let log = small();
    (0..=log.bytes.len()).for_each(|end| cut_at(&log, end));
    let log = long();
    let edges = log.records.iter().flat_map(|record| [record.start, record.end]);
    let near = edges.flat_map(|edge| edge.saturating_sub(9)..=(edge + 9).min(log.bytes.len()));
    near.chain((0..log.bytes.len()).step_by(509)).for_each(|end| cut_at(&log, end));
}

fn flip(log: &Log, bit: usize) {
    let mut bytes = log.bytes.clone();
    bytes[bit / 8] ^= 1 << (bit % 8);
    refused(&bytes, log.record_of(bit / 8), "");
}

#[test]
fn every_flipped_bit_is_refused() {
    let log = small();
    (0..log.bytes.len() * 8).for_each(|bit| flip(&log, bit));
}

#[test]
fn flipped_bits_are_refused_across_blocks() {
    let log = long();
    let headers = log.records.iter().flat_map(|record| record.start * 8..(record.start + 8) * 8);
    let gaps = log.records.windows(2).flat_map(|two| two[0].end * 8..two[1].start * 8);
    let rest = (0..log.bytes.len() * 8).step_by(2003);
    headers.chain(gaps).chain(rest).for_each(|bit| flip(&log, bit));
}

/// The case that RocksDB loses in silence: the length reaches past the end of the file.
#[test]
fn a_length_past_the_end_hides_nothing() {
    let log = small();
    let stretch = |batch: usize| {
        let mut bytes = log.bytes.clone();
        bytes[log.batches[batch].start + 5] |= 0x40;
        bytes
    };
    refused(&stretch(2), log.batches[2].start, "");
    refused(&stretch(4), log.last().start, "length");
    // The same, and the next write was torn too.
    let torn = [&stretch(4)[..], &Log::starting_at(6).batch(99).bytes[..50]].concat();
    refused(&torn, log.last().start, "length");
}

#[test]
fn damage_is_refused_though_the_tail_is_torn_too() {
    let log = small();
    let mut bytes = log.bytes[..log.last().end - 5].to_vec();
    bytes[log.batches[1].start + 20] ^= 0x10;
    refused(&bytes, log.batches[1].start, "checksum");
}

#[test]
fn zeros_after_the_last_batch_are_a_torn_tail() {
    let log = small();
    for zeros in [1, 6, 7, 20, 4096, BLOCK, 3 * BLOCK] {
        let bytes = [&log.bytes[..], &vec![0; zeros]].concat();
        torn(&bytes, log.bytes.len(), 5);
    }
    torn(&vec![0; BLOCK], 0, 0);
}

/// RocksDB skips what is left of a block that reads as zeros.
#[test]
fn zeros_before_a_batch_are_refused() {
    let log = long();
    let mut bytes = log.bytes.clone();
    bytes[log.batches[1].start..BLOCK * 2].fill(0);
    refused(&bytes, log.batches[1].start, "");
}

/// Any set of pages of the last write may be missing after a power cut, and only of the last.
#[test]
fn missing_pages_tear_the_last_batch_only() {
    const PAGE: usize = 4096;
    let log = Log::starting_at(1).batch(6000).batch(2 * BLOCK + 2000);
    let last = log.last();
    let pages: Vec<_> = (last.start / PAGE..=last.end / PAGE).collect();
    let without = |missing: &dyn Fn(usize) -> bool| {
        let mut bytes = log.bytes.clone();
        for &page in pages.iter().filter(|&&page| missing(page)) {
            bytes[last.start.max(page * PAGE)..last.end.min((page + 1) * PAGE)].fill(0);
        }
        bytes
    };
    for &page in &pages {
        torn(&without(&|missing| missing == page), last.start, 1);
        torn(&without(&|missing| missing >= page), last.start, 1);
        torn(&without(&|missing| missing <= page), last.start, 1);
        let followed = log.clone().batch(30).bytes[log.bytes.len()..].to_vec();
        let bytes = [without(&|missing| missing == page), followed].concat();
        refused(&bytes, log.record_of(last.start.max(page * PAGE)), "");
    }
}

/// A value full of zeros looks like missing pages; its checksum tells.
#[test]
fn a_damaged_byte_is_refused_beside_pages_of_zeros() {
    let mut zeros = vec![0; 20_000];
    zeros[..12].copy_from_slice(&[6, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    let log = small().append(&zeros);
    let start = log.last().start;
    for place in (0..40).chain((40..zeros.len()).step_by(997)) {
        for damage in [0x01, 0x80, 0x5a, 0xff] {
            let mut bytes = log.bytes.clone();
            bytes[start + place] ^= damage;
            refused(&bytes, start, "");
        }
    }
}

#[test]
fn a_complete_record_with_more_damage_is_refused() {
    let log = small().batch(20_000);
    let start = log.last().start;
    for place in [0, 4, 7, 100, 5000, 19_990] {
        let mut bytes = log.bytes.clone();
        bytes[start + place..start + place + 10].copy_from_slice(b"overwrite!");
        refused(&bytes, start, "");
        bytes[start + place..start + place + 10].fill(0);
        refused(&bytes, start, "");
    }
}

#[test]
fn garbage_is_never_replayed() {
    let log = small();
    for seed in 0..500 {
        let garbage = noise(seed, 1 + (seed * 37 % 2000) as usize);
        let store = Store::of(&[&[&log.bytes[..], &garbage].concat()]);
        match store.verify() {
            Ok(summary) => {
                assert_eq!(summary.torn_tail, Some(store.torn(0, log.bytes.len())));
                assert_eq!(summary.records, 5);
            }
            Err(LogDamage::Damaged { offset, .. }) => assert_eq!(offset, log.bytes.len() as u64),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// A stored copy of an older log is no batch that follows.
#[test]
fn a_log_inside_a_value_does_not_hide_a_torn_tail() {
    let log = small();
    let batch = [&6_u64.to_le_bytes()[..], &1_u32.to_le_bytes(), &log.bytes, &[7; 99]].concat();
    let log = log.append(&batch);
    torn(&log.bytes[..log.bytes.len() - 50], log.last().start, 5);
}

#[test]
fn records_out_of_place_are_refused() {
    let log = small();
    let then = |kind: u8, payload: &[u8]| {
        let mut log = log.clone();
        log.record(kind, payload);
        log
    };
    let end = log.bytes.len();
    refused(&then(3, b"middle").bytes, end, "without its start");
    refused(&then(4, b"last").bytes, end, "without its start");
    refused(&then(2, b"first").batch(20).bytes, end, "without its end");
    refused(&then(1, b"too short").bytes, end, "too short");
    for recycled in [5, 6, 7, 8, 11, 131] {
        refused(&then(recycled, b"0123456789012345").bytes, end, "unknown");
    }
    let again = [&log.bytes[..], &Log::starting_at(5).batch(20).bytes].concat();
    refused(&again, end, "sequence");
}

#[test]
fn records_that_hold_no_batch_are_passed_over() {
    let mut log = Log::starting_at(1);
    log.record(130, &[0; 24]);
    log.record(10, &[0; 6]);
    let log = log.batch(20);
    assert_eq!(Store::of(&[&log.bytes]).verify().unwrap().records, 1);

    let mut log = Log::default();
    log.record(9, &[7, 0, 0, 0]);
    let log = log.append(b"compressed").append(b"and again");
    assert_eq!(Store::of(&[&log.bytes]).verify().unwrap().records, 2);
}

#[test]
fn an_older_log_may_end_in_a_write_that_failed() {
    let log = small();
    let (failed, end) = (log.clone().batch(500), log.bytes.len());
    let older = &failed.bytes[..end + 200];
    let store = Store::of(&[older, &[], &Log::starting_at(6).batch(20).bytes]);
    let summary = store.verify().unwrap();
    assert_eq!((summary.records, summary.torn_tail), (6, None));
    assert_eq!(summary.abandoned, vec![store.torn(0, end)]);

    // Its number is used again, even if all of it was written.
    let store = Store::of(&[&failed.bytes, &Log::starting_at(6).batch(20).bytes]);
    assert_eq!(store.verify().unwrap().records, 7);
}

#[test]
fn an_older_log_that_lost_its_end_is_refused() {
    let (log, newer) = (small(), Log::starting_at(6).batch(20));
    let last = log.last();
    Store::of(&[&log.bytes[..last.end - 1], &newer.bytes]).refused(0, last.start, "ends early");
    Store::of(&[&log.bytes[..last.end - 1], &newer.bytes[..9]]).verify().unwrap();
    let zeros = [&log.bytes[..], &[0; 100]].concat();
    Store::of(&[&zeros, &newer.bytes]).refused(0, last.end, "zeros");
    Store::of(&[&newer.bytes, &log.bytes]).refused(1, 0, "sequence");
}

#[test]
fn a_log_that_changed_is_not_cut() {
    let log = small();
    let store = Store::of(&[&log.bytes[..log.bytes.len() - 1]]);
    let torn = store.verify().unwrap().torn_tail.unwrap();
    fs::write(store.file(0), &log.bytes).unwrap();
    cut(&torn).unwrap_err();
    assert_eq!(fs::read(store.file(0)).unwrap(), log.bytes);
}

#[test]
fn a_manifest_may_be_torn_and_every_flipped_bit_of_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [current, file] = ["CURRENT", "MANIFEST-000005"].map(|name| dir.path().join(name));
    let log = Log::default().append(&noise(1, 5)).append(&noise(2, 200)).append(&noise(3, 60));
    let verify = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        verify_manifest(dir.path())
    };
    fs::write(&current, "MANIFEST-000005\n").unwrap();
    for end in 0..=log.bytes.len() {
        verify(&log.bytes[..end]).unwrap();
    }
    for bit in 0..log.bytes.len() * 8 {
        let mut bytes = log.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match verify(&bytes) {
            Err(LogDamage::Damaged { offset, .. }) => {
                assert_eq!(offset, log.record_of(bit / 8) as u64);
            }
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    for name in ["MANIFEST-000004\n", "MANIFEST-000005", "\n", "manifest\n"] {
        fs::write(&current, name).unwrap();
        assert!(matches!(verify(&log.bytes), Err(LogDamage::Damaged { .. })), "{name:?}");
    }
    fs::remove_file(current).unwrap();
    assert!(matches!(verify(&log.bytes), Err(LogDamage::Damaged { .. })));
}
