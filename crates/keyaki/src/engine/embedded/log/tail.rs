//! Judges the first place of a log that can't be read: does the log end here, was a write
//! interrupted, or was it whole once? Only what was interrupted may be cut.
//!
//! Nothing of the log may begin behind its end. Where it ends there may be zeros, for file systems
//! may make a file longer before its pages arrive, or what is left of an older log, whole or cut
//! anywhere. An interrupted write is incomplete: the file ends before the record does, or one of
//! its sectors never reached the disk, and still holds what was there before. So a record that lies
//! within a sector was damaged if it fails its checksum, and so was one that becomes right when its
//! length, its log's number, or any one bit of it, is taken for wrong. (Had more of the last batch
//! been damaged later, in a record that lies in several sectors or in its header, the log alone
//! couldn't tell.)

use std::io;

use super::record::{self, BLOCK, Fault, Header, Kind, Log, Masked};
use super::walk::Blocks;

/// What disks write as a whole, at the least.
const SECTOR: usize = 512;

/// What became of a record.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was never begun.
    Ended,
    Torn,
    Damaged(&'static str),
}

/// Judges what is at `at` of the current block, and reads on to the end of the file. Batches after
/// it would have sequence numbers from `least` on.
pub fn judge(
    log: Log,
    blocks: &mut Blocks,
    at: usize,
    fault: Fault,
    least: u64,
) -> io::Result<Verdict> {
    let verdict = alone(log, blocks.bytes(), at, fault);
    let mut followed = batch_begins(log, blocks.bytes(), at + 1, least);
    while !followed && blocks.advance()? {
        followed = batch_begins(log, blocks.bytes(), 0, least);
    }
    Ok(match verdict {
        Verdict::Ended | Verdict::Torn if followed => {
            Verdict::Damaged("unreadable, and whole batches follow")
        }
        verdict => verdict,
    })
}

/// The verdict that the record itself suggests.
fn alone(log: Log, block: &[u8], at: usize, fault: Fault) -> Verdict {
    let bytes = &block[at..];
    match fault {
        Fault::Foreign if other_number_agrees(log, bytes) => {
            Verdict::Damaged("the record's log number is wrong")
        }
        Fault::Foreign => Verdict::Ended,
        Fault::Cut if other_length_agrees(log, bytes) => {
            Verdict::Damaged("the record's length is wrong")
        }
        Fault::Cut => Verdict::Torn,
        Fault::Bad(reason) => {
            let was_whole = other_length_agrees(log, bytes) || other_bit_agrees(log, bytes);
            if lies_in_sectors(log, block, at) && !was_whole {
                Verdict::Torn
            } else {
                Verdict::Damaged(reason)
            }
        }
    }
}

/// Does a batch begin anywhere in `block`, from `at` on? Behind bytes that mean nothing, it may be
/// at any. To look like one takes the right checksum and a sequence number still to come, so that a
/// copy of an older log, stored as a value, isn't taken for it.
fn batch_begins(log: Log, block: &[u8], at: usize, least: u64) -> bool {
    (at..block.len()).any(|at| {
        let header = Header::of(log, &block[at..]);
        header.is_some_and(|header| log.kind(header.kind).is_some_and(Kind::begins))
            && record::read(log, block, at).is_ok_and(|whole| may_follow(whole.payload, least))
    })
}

fn may_follow(payload: &[u8], least: u64) -> bool {
    payload.first_chunk().is_none_or(|sequence| u64::from_le_bytes(*sequence) >= least)
}

/// Does the record at `at` lie in more than one sector? Only its header is sure to be there if it
/// claims to reach past its block.
fn lies_in_sectors(log: Log, block: &[u8], at: usize) -> bool {
    let claimed = Header::of(log, &block[at..]).map(|header| at + header.end());
    let end = claimed.filter(|&end| end <= BLOCK).unwrap_or(at + log.header());
    at / SECTOR != (end - 1) / SECTOR
}

/// Would the checksum agree if only the length were another?
fn other_length_agrees(log: Log, bytes: &[u8]) -> bool {
    let Some(header) = Header::of(log, bytes) else {
        return false;
    };
    let (head, payload) = bytes.split_at(log.header());
    let mut crc = record::checksum(head);
    let mut agrees = header.masked.agrees(crc);
    for byte in payload {
        crc = crc32c::crc32c_append(crc, &[*byte]);
        agrees |= header.masked.agrees(crc);
    }
    agrees
}

/// Would the checksum agree if this log's number were there?
fn other_number_agrees(log: Log, bytes: &[u8]) -> bool {
    let (Log::WriteAhead(number), Some(header)) = (log, Header::of(log, bytes)) else {
        return false;
    };
    bytes.get(..header.end()).is_some_and(|record| {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&[header.kind]), &number.to_le_bytes());
        header.masked.agrees(crc32c::crc32c_append(crc, &record[log.header()..]))
    })
}

/// Would the checksum agree if only one bit of it, or of what it is of, were another?
///
/// The difference between two checksums of equal length depends on the bits that differ alone. Run
/// backwards from the end, it shrinks to that one bit at the place where it entered. (A torn record
/// of a whole block looks like this once in 16,000 times; with any one byte, it would in 500.)
fn other_bit_agrees(log: Log, bytes: &[u8]) -> bool {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let Some(header) = Header::of(log, bytes) else {
        return false;
    };
    let Some(record) = bytes.get(..header.end()) else {
        return false;
    };
    let crc = record::checksum(record);
    let stored = Masked::of(crc).0 ^ header.masked.0;
    let mut difference = crc ^ header.masked.crc();
    let within = record::checked(record).iter().any(|_| {
        for _ in 0..8 {
            let carried = difference >> 31;
            difference = ((difference ^ (POLYNOMIAL * carried)) << 1) | carried;
        }
        difference <= 0xff && difference.is_power_of_two()
    });
    within || stored.is_power_of_two()
}
