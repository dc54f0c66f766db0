//! Judges the first place of a log that can't be read: was this write interrupted, or was it whole
//! once? Only what was interrupted may be cut.
//!
//! An interrupted write is the last of its log, so nothing may begin after it, and it is incomplete:
//! the file ends before the record does, or a page of the record never reached the disk. (File
//! systems may make a file longer before its pages arrive, in any order; until then they read as
//! zeros. Had a page of the last batch been zeroed later, the log alone couldn't tell.) A record
//! that is complete and fails its checksum was damaged, and so was one that becomes right when its
//! length, or any one byte of it, is taken for wrong.

use std::io;

use super::record::{self, Fault, HEADER, Header, Kind, Masked};
use super::walk::Blocks;

/// What file systems write as a whole.
const PAGE: usize = 4096;

/// So many zeros at the edge of a page are no coincidence.
const ZEROS: usize = 16;

/// What became of a record.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    CutShort,
    NeverWritten,
    Damaged(&'static str),
}

/// Judges what is at `at` of the current block, and reads on to the end of the file. Batches after
/// it would have sequence numbers from `least` on.
pub fn judge(blocks: &mut Blocks, at: usize, fault: Fault, least: u64) -> io::Result<Verdict> {
    let verdict = alone(blocks.bytes(), at, fault);
    let mut zeros = is_zero(&blocks.bytes()[at..]);
    let mut followed = batch_begins(blocks.bytes(), at + 1, least);
    while !followed && blocks.advance()? {
        zeros &= is_zero(blocks.bytes());
        followed = batch_begins(blocks.bytes(), 0, least);
    }
    Ok(match verdict {
        Verdict::CutShort | Verdict::NeverWritten if followed => {
            Verdict::Damaged("unreadable, and whole batches follow")
        }
        Verdict::Damaged(_) if zeros => Verdict::NeverWritten,
        verdict => verdict,
    })
}

/// The verdict that the record itself suggests.
fn alone(block: &[u8], at: usize, fault: Fault) -> Verdict {
    let bytes = &block[at..];
    match fault {
        Fault::Cut if other_length_agrees(bytes) => {
            Verdict::Damaged("the record's length is wrong")
        }
        Fault::Cut => Verdict::CutShort,
        Fault::Bad(reason) => {
            let was_whole = other_length_agrees(bytes) || other_byte_agrees(bytes);
            if page_missing(block, at) && !was_whole {
                Verdict::NeverWritten
            } else {
                Verdict::Damaged(reason)
            }
        }
    }
}

/// Does a batch begin anywhere in `block`, from `at` on? Behind bytes that mean nothing, it may be
/// at any. To look like one takes the right checksum and a sequence number still to come, so that a
/// copy of an older log, stored as a value, isn't taken for it.
fn batch_begins(block: &[u8], at: usize, least: u64) -> bool {
    (at..block.len().saturating_sub(HEADER - 1)).any(|at| {
        Kind::of(block[at + HEADER - 1]).is_some_and(Kind::begins)
            && record::read(block, at).is_ok_and(|whole| may_follow(whole.payload, least))
    })
}

fn may_follow(payload: &[u8], least: u64) -> bool {
    payload.first_chunk().is_none_or(|sequence| u64::from_le_bytes(*sequence) >= least)
}

/// Does a page that holds part of the record at `at` read as zeros, but for what was there before?
fn page_missing(block: &[u8], at: usize) -> bool {
    let end = Header::of(&block[at..]).map_or(block.len(), |header| at + header.end());
    let end = end.min(block.len());
    (at / PAGE..end.div_ceil(PAGE)).any(|page| {
        let part = &block[at.max(page * PAGE)..block.len().min((page + 1) * PAGE)];
        part.len() >= ZEROS && is_zero(part)
    })
}

/// Would the checksum agree if only the length were another?
fn other_length_agrees(bytes: &[u8]) -> bool {
    let Some(header) = Header::of(bytes) else {
        return false;
    };
    let mut crc = record::checksum(header.kind, &[]);
    let mut agrees = header.masked.agrees(crc);
    for byte in &bytes[HEADER..] {
        crc = crc32c::crc32c_append(crc, &[*byte]);
        agrees |= header.masked.agrees(crc);
    }
    agrees
}

/// Would the checksum agree if only one byte of it, of the type or of the payload were another?
///
/// The difference between two checksums of equal length depends on the bytes that differ alone. Run
/// backwards from the end, it shrinks to that one byte at the place where it entered.
fn other_byte_agrees(bytes: &[u8]) -> bool {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let Some(header) = Header::of(bytes) else {
        return false;
    };
    let Some(payload) = bytes.get(HEADER..header.end()) else {
        return false;
    };
    let crc = record::checksum(header.kind, payload);
    let stored = Masked::of(crc).0 ^ header.masked.0;
    let mut difference = crc ^ header.masked.crc();
    let within = (0..=payload.len()).any(|_| {
        for _ in 0..8 {
            let carried = difference >> 31;
            difference = ((difference ^ (POLYNOMIAL * carried)) << 1) | carried;
        }
        difference <= 0xff
    });
    within || stored.to_le_bytes().iter().filter(|&&byte| byte != 0).count() == 1
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
