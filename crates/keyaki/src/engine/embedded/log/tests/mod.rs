//! Logs written here byte by byte, torn at every place, with any sector missing and any bit flipped.

mod logs;

use std::fs;

use super::record::{self, BLOCK};
use super::{LogDamage, end_copy, verify_logs, verify_manifest};
use logs::*;

#[test]
fn whole_logs_are_counted() {
    let (one, two) = (small(), Log::numbered(9, 6).batch(2 * BLOCK).batch(BLOCK));
    let store = Store::of(&[&one.bytes, &two.bytes, &[]]);
    fs::write(store.dir.path().join("LOG"), b"not a log").unwrap();
    fs::write(store.dir.path().join("000009.sst"), b"nor this").unwrap();
    let summary = store.verify().unwrap();
    assert_eq!((summary.files, summary.records), (3, 7));
    assert_eq!(summary.bytes, (one.bytes.len() + two.bytes.len()) as u64);
    assert_eq!((summary.tails, summary.strays), (vec![], vec![]));

    let missing = verify_logs(&store.dir.path().join("nowhere"), 0).unwrap();
    assert_eq!((missing.files, missing.records), (0, 0));
}

#[test]
fn logs_are_read_in_the_order_of_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    for (number, first) in [(1_000_000, 2), (999_999, 1)] {
        let log = Log::numbered(number, first).batch(20);
        fs::write(dir.path().join(format!("{number}.log")), log.bytes).unwrap();
    }
    assert_eq!(verify_logs(dir.path(), 0).unwrap().records, 2);
}

/// The first record of a log that RocksDB 11.8 wrote: a batch of two puts.
#[test]
fn records_are_those_of_rocksdb() {
    let real = b"\x54\xbe\xab\xd5\x21\0\x05\
        \x04\0\0\0\
        \x01\0\0\0\0\0\0\0\x02\0\0\0\
        \x01\x02k0\x0a\xae\xb9\x91\x0c\xe0\xce\x44\x2e\x85\xd3\x01\x02j0\x01x";
    assert_eq!(Log::numbered(4, 1).append(&real[HEADER..]).bytes, real);
}

/// Each log but the first is written over an older one, and shorter than that.
#[test]
fn logs_that_rocksdb_writes_over_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = rocksdb::Options::default();
    options.create_if_missing(true);
    options.set_recycle_log_file_num(9);
    let db = rocksdb::DB::open(&options, dir.path()).unwrap();
    let verify = || verify_logs(dir.path(), verify_manifest(dir.path()).unwrap()).unwrap();
    let mut remains = 0;
    for round in 0..6_u64 {
        let before = verify();
        assert_eq!((before.files, before.records), (1, 0), "what older logs hold is in tables");
        for put in 0..20 - round {
            db.put(put.to_le_bytes(), noise(put, 100 + 997 * put as usize % 9000)).unwrap();
            let found = verify();
            assert_eq!((found.records, found.torn_bytes), (put + 1, 0), "round {round}");
            remains += found.tails.len();
        }
        db.flush().unwrap();
    }
    assert!(remains > 50, "older logs were left behind {remains} times");
}

/// What `long` promises, or the tests below would try less than they seem to.
#[test]
fn the_long_log_has_every_kind_of_edge() {
    let log = long();
    let kinds: Vec<_> = log.records.iter().map(|record| log.bytes[record.start + 6]).collect();
    assert_eq!(kinds, [5, 5, 5, 6, 8, 6, 7, 7, 8, 5]);
    assert!(log.records.iter().any(|record| record.len() == HEADER), "an empty First");
    assert!(log.records.windows(2).any(|two| two[0].end < two[1].start), "padding");
    let store = Store::of(&[&log.bytes]);
    assert_eq!(store.verify().unwrap().records, log.batches.len() as u64);
}

fn cut_at(log: &Log, end: usize) {
    match log.torn_by(end) {
        Some(start) => torn(&log.bytes[..end], start, log.whole(end)),
        None => {
            let summary = Store::of(&[&log.bytes[..end]]).verify().unwrap();
            assert_eq!((summary.records, summary.tails), (log.whole(end) as u64, vec![]), "{end}");
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
    let rest = (0..log.bytes.len() * 8).step_by(2003);
    let in_record = |bit: &usize| log.records.iter().any(|record| record.contains(&(bit / 8)));
    headers.chain(rest).filter(in_record).for_each(|bit| flip(&log, bit));
}

/// The padding of a block is written with the next one, and either may get lost alone.
#[test]
fn padding_that_keeps_an_older_log_is_blanked() {
    let log = long();
    let gaps = log.records.windows(2).map(|two| two[0].end..two[1].start);
    let gaps: Vec<_> = gaps.filter(|gap| !gap.is_empty()).collect();
    assert!(!gaps.is_empty());
    for gap in gaps {
        let mut bytes = log.bytes.clone();
        bytes[gap.clone()].fill(7);
        let store = Store::of(&[&bytes]);
        let found = store.verify().unwrap();
        assert_eq!((found.records, found.tails), (log.batches.len() as u64, vec![]));
        let [stray] = &found.strays[..] else { panic!("{:?}", found.strays) };
        assert_eq!((stray.offset, stray.bytes), (gap.start as u64, gap.len() as u64));
        stray.blank().unwrap();
        assert_eq!(fs::read(store.file(0)).unwrap(), log.bytes);
        ended(&bytes[..gap.end], gap.start, log.whole(gap.start));
    }
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
fn zeros_after_the_last_batch_are_its_end() {
    let log = small();
    for zeros in [1, 6, 7, 20, 4096, BLOCK, 3 * BLOCK] {
        let bytes = [&log.bytes[..], &vec![0; zeros]].concat();
        ended(&bytes, log.bytes.len(), 5);
    }
    ended(&vec![0; BLOCK], 0, 0);
}

/// RocksDB skips what is left of a block that reads as zeros.
#[test]
fn zeros_before_a_batch_are_refused() {
    let log = long();
    let mut bytes = log.bytes.clone();
    bytes[log.batches[1].start..BLOCK * 2].fill(0);
    refused(&bytes, log.batches[1].start, "");
}

/// Any set of sectors of the last write may be missing after a power cut, and only of the last.
#[test]
fn missing_sectors_tear_the_last_batch_only() {
    let log = Log::starting_at(1).batch(6000).batch(2 * BLOCK + 2000);
    let zeros = vec![0; log.bytes.len()];
    let older = Log::numbered(5, 1).batch(999).batch(BLOCK).batch(3 * BLOCK);
    let last = log.last();
    let sectors: Vec<_> = (last.start / SECTOR..=last.end / SECTOR).collect();
    for before in [&zeros, &older.bytes] {
        let without = |missing: &dyn Fn(usize) -> bool| {
            let mut bytes = log.bytes.clone();
            for &sector in sectors.iter().filter(|&&sector| missing(sector)) {
                let lost = last.start.max(sector * SECTOR)..last.end.min((sector + 1) * SECTOR);
                bytes[lost.clone()].copy_from_slice(&before[lost]);
            }
            bytes
        };
        for &sector in &sectors {
            ended(&without(&|missing| missing == sector), last.start, 1);
            ended(&without(&|missing| missing >= sector), last.start, 1);
            ended(&without(&|missing| missing <= sector), last.start, 1);
            let followed = log.clone().batch(30).bytes[log.bytes.len()..].to_vec();
            let bytes = [without(&|missing| missing == sector), followed].concat();
            refused(&bytes, log.record_of(last.start.max(sector * SECTOR)), "");
        }
    }
}

/// What the file held before is an older log, which may have ended anywhere in one still older.
fn older_logs() -> [Vec<u8>; 2] {
    let older = Log::numbered(5, 1).batch(999).batch(3 * BLOCK).batch(100).batch(2 * BLOCK);
    let oldest = Log::numbered(2, 1).batch(30).batch(9 * BLOCK).batch(BLOCK);
    [over(&older.bytes, &oldest.bytes), oldest.bytes]
}

#[test]
fn an_older_log_behind_the_end_is_left_out() {
    for log in [small(), long()] {
        for old in older_logs() {
            for batch in &log.batches {
                ended(&over(&log.bytes[..batch.end], &old), batch.end, log.whole(batch.end));
            }
            ended(&over(&[], &old), 0, 0);
        }
    }
}

#[test]
fn a_write_interrupted_over_an_older_log_is_cut() {
    let log = Log::starting_at(1).batch(700).batch(20_000).batch(400).batch(3 * BLOCK).batch(900);
    for old in older_logs() {
        for end in (SECTOR..log.bytes.len()).step_by(SECTOR) {
            let start = log.torn_by(end).unwrap_or(end);
            ended(&over(&log.bytes[..end], &old), start, log.whole(end));
        }
    }
}

#[test]
fn flipped_bits_are_refused_before_an_older_log() {
    let log = small();
    for old in older_logs() {
        for bit in 0..log.bytes.len() * 8 {
            let mut bytes = over(&log.bytes, &old);
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused(&bytes, log.record_of(bit / 8), "");
        }
    }
}

/// A power cut may take back the new name of a file and leave what was written to it.
#[test]
fn a_log_that_is_not_needed_may_be_half_written_over() {
    let over = over(&Log::numbered(30, 77).batch(2000).bytes[..SECTOR], &long().bytes);
    let store = Store::of(&[&over, &Log::numbered(9, 77).batch(20).bytes]);
    store.refused(0, 0, "batches follow");
    let summary = verify_logs(store.dir.path(), 9).unwrap();
    assert_eq!((summary.files, summary.records, summary.tails), (1, 1, vec![]));
    assert_eq!(summary.unneeded, [store.file(0)]);
}

#[test]
fn a_copy_of_a_growing_log_ends_where_it_was_overtaken() {
    let log = long().batch(500).batch(BLOCK).batch(40);
    for old in older_logs() {
        for start in (0..log.bytes.len()).step_by(SECTOR) {
            let mut bytes = over(&log.bytes, &old);
            let overtaken = start..(start + 4096).min(log.bytes.len());
            bytes[overtaken.clone()].copy_from_slice(&old[overtaken]);
            let store = Store::of(&[&bytes]);
            end_copy(store.dir.path()).unwrap();
            let summary = store.verify().unwrap();
            assert_eq!(summary.records, log.whole(start) as u64, "overtaken at {start}");
        }
    }
}

/// A value full of zeros looks like missing pages; its checksum tells.
#[test]
fn a_damaged_bit_is_refused_beside_pages_of_zeros() {
    let mut zeros = vec![0; 20_000];
    zeros[..12].copy_from_slice(&[6, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    let log = small().append(&zeros);
    let start = log.last().start;
    for place in (0..40).chain((40..zeros.len()).step_by(997)) {
        for damage in [0x01, 0x08, 0x80] {
            let mut bytes = log.bytes.clone();
            bytes[start + place] ^= damage;
            refused(&bytes, start, "");
        }
    }
}

#[test]
fn more_damage_within_a_sector_is_refused() {
    let log = Log::starting_at(1).batch(40).batch(400);
    let start = log.last().start;
    for place in [HEADER, 20, 100, 390] {
        for damage in [b"overwrite!", &[0; 10]] {
            let mut bytes = log.bytes.clone();
            bytes[start + place..start + place + 10].copy_from_slice(damage);
            refused(&bytes, start, "");
        }
    }
}

#[test]
fn any_damage_before_the_last_batch_is_refused() {
    let log = small().batch(20_000).batch(13);
    let start = log.batches[5].start;
    for place in [0, 4, 7, 100, 5000, 19_990] {
        for damage in [b"overwrite!", &[0; 10]] {
            let mut bytes = log.bytes.clone();
            bytes[start + place..start + place + 10].copy_from_slice(damage);
            refused(&bytes, start, "");
        }
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
                assert_eq!(summary.tails, vec![store.tail(0, log.bytes.len())]);
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
    refused(&then(7, b"middle").bytes, end, "without its start");
    refused(&then(8, b"last").bytes, end, "without its start");
    refused(&then(6, b"first").batch(20).bytes, end, "without its end");
    refused(&then(5, b"too short").bytes, end, "too short");
    for other in [0, 1, 2, 3, 4, 9, 10, 11, 130, 131] {
        refused(&then(other, b"0123456789012345").bytes, end, "unknown");
    }
    let again = [&log.bytes[..], &Log::starting_at(5).batch(20).bytes].concat();
    refused(&again, end, "sequence");
}

#[test]
fn an_older_log_may_end_in_a_write_that_failed() {
    let log = small();
    let (failed, end) = (log.clone().batch(500), log.bytes.len());
    let older = &failed.bytes[..end + 200];
    let store = Store::of(&[older, &[], &Log::numbered(10, 6).batch(20).bytes]);
    let summary = store.verify().unwrap();
    assert_eq!((summary.records, summary.torn_bytes), (6, 0));
    assert_eq!(summary.tails, vec![store.tail(0, end)]);

    // Its number is used again, even if all of it was written.
    let store = Store::of(&[&failed.bytes, &Log::numbered(9, 6).batch(20).bytes]);
    assert_eq!(store.verify().unwrap().records, 7);
}

#[test]
fn an_older_log_that_lost_its_end_is_refused() {
    let (log, newer) = (small().batch_of(2, 20).batch_of(2, 90), Log::numbered(9, 10).batch(20));
    let last = log.last();
    for shorter in [last.start, last.end - 1] {
        let store = Store::of(&[&log.bytes[..shorter], &newer.bytes]);
        store.refused(0, last.start, "ends early");
        Store::of(&[&log.bytes[..shorter], &newer.bytes[..9]]).verify().unwrap();
    }
    let [older, newer] = [Log::starting_at(6).batch(20), Log::numbered(9, 5).batch(20)];
    Store::of(&[&older.bytes, &newer.bytes]).refused(1, 0, "sequence");
}

/// Files that are ingested take numbers, and a batch of one change is written before.
#[test]
fn numbers_may_be_missing_behind_a_lone_change_only() {
    let log = Log::starting_at(1).batch_of(2, 20);
    let then = |log: &Log| [&log.bytes[..], &Log::starting_at(9).batch(20).bytes].concat();
    refused(&then(&log), log.bytes.len(), "missing");
    assert_eq!(Store::of(&[&then(&log.batch(12))]).verify().unwrap().records, 3);
}

/// The process was killed before it gave back what an older log had no use for.
#[test]
fn an_older_log_may_lie_before_what_is_left_of_one_still_older() {
    let (log, newer) = (small(), Log::numbered(9, 6).batch(20));
    for old in older_logs() {
        let store = Store::of(&[&over(&log.bytes, &old), &newer.bytes]);
        let summary = store.verify().unwrap();
        assert_eq!(summary.tails, vec![store.tail(0, log.bytes.len())]);
        assert_eq!((summary.records, summary.torn_bytes), (6, 0));
    }
}

#[test]
fn a_log_that_changed_is_not_cut() {
    let log = small();
    let store = Store::of(&[&log.bytes[..log.bytes.len() - 1]]);
    let torn = store.verify().unwrap().tails.remove(0);
    fs::write(store.file(0), &log.bytes).unwrap();
    torn.cut().unwrap_err();
    assert_eq!(fs::read(store.file(0)).unwrap(), log.bytes);
}

#[test]
fn a_manifest_may_be_torn_and_every_flipped_bit_of_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [current, file] = ["CURRENT", "MANIFEST-000005"].map(|name| dir.path().join(name));
    let log = Log::of(record::Log::Manifest);
    let log = log.append(&noise(1, 5)).append(&noise(2, 200)).append(&noise(3, 60));
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
