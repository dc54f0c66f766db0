//! The physical records of RocksDB's logs, as its `db/log_format.h` lays them down.
//!
//! | bytes | field                                                        |
//! |-------|--------------------------------------------------------------|
//! | 4     | crc32c of all behind the length, rotated and shifted (`Masked`) |
//! | 2     | length of the payload                                        |
//! | 1     | type                                                         |
//! | 4     | in write-ahead logs: the log's number                        |
//! | ...   | payload                                                      |
//!
//! Numbers are little endian. A log is a row of 32 KiB blocks and no record crosses from one into
//! the next: a batch that doesn't fit is a First, Middles and a Last. What is too short for a
//! header at the end of a block is zeros.
//!
//! A write-ahead log is written over one that isn't needed any more, so that a sync need not make
//! the file longer. What is left of the old log behind the new has another number.

pub const BLOCK: usize = 32 * 1024;

/// Where the bytes begin that the checksum is of.
const CHECKED: usize = 6;

/// The logs, by the headers of their records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// The manifest, in a file that never held another.
    Manifest,
    /// The write-ahead log of this number.
    WriteAhead(u32),
}

impl Log {
    /// The length of a header.
    pub fn header(self) -> usize {
        match self {
            Self::Manifest => 7,
            Self::WriteAhead(_) => 11,
        }
    }

    pub fn kind(self, byte: u8) -> Option<Kind> {
        let plain = match self {
            Self::Manifest => byte,
            Self::WriteAhead(_) => byte.checked_sub(4)?,
        };
        Some(match plain {
            1 => Kind::Full,
            2 => Kind::First,
            3 => Kind::Middle,
            4 => Kind::Last,
            _ => return None,
        })
    }

    /// Did this log's writer begin a record here, as far as its header tells?
    fn began(self, bytes: &[u8]) -> bool {
        match self {
            Self::Manifest => bytes.iter().any(|&byte| byte != 0),
            Self::WriteAhead(number) => bytes[7..].starts_with(&number.to_le_bytes()),
        }
    }
}

/// What a record is of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Full,
    First,
    Middle,
    Last,
}

impl Kind {
    /// Does a batch begin with it?
    pub fn begins(self) -> bool {
        matches!(self, Self::Full | Self::First)
    }
}

/// A record that is all there and whose checksum agrees.
pub struct Whole<'a> {
    /// Nothing if we don't know the type.
    pub kind: Option<Kind>,
    pub payload: &'a [u8],
    /// Header and payload.
    pub length: usize,
}

/// Why there is no whole record at a place.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The file ends before the record does.
    Cut,
    /// Nothing that this log's writer put there: zeros, or what is left of an older log.
    Foreign,
    /// No writer of ours left this.
    Bad(&'static str),
}

/// Reads the record at `at`. A `block` shorter than [`BLOCK`] is the last of its file.
pub fn read(log: Log, block: &[u8], at: usize) -> Result<Whole<'_>, Fault> {
    let bytes = &block[at..];
    let header = Header::of(log, bytes).ok_or(Fault::Cut)?;
    if !log.began(bytes) {
        return Err(Fault::Foreign);
    }
    if at + header.end() > BLOCK {
        return Err(Fault::Bad("the record's length reaches past its block"));
    }
    let kind = log.kind(header.kind);
    match bytes.get(..header.end()) {
        Some(record) if header.masked.agrees(checksum(record)) => {
            Ok(Whole { kind, payload: &record[log.header()..], length: record.len() })
        }
        Some(_) => Err(Fault::Bad("checksum mismatch")),
        None if kind.is_none() => Err(Fault::Bad("unknown record type")),
        None => Err(Fault::Cut),
    }
}

/// The first bytes of a record, believed of nothing yet.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub masked: Masked,
    pub kind: u8,
    /// Of header and payload.
    length: usize,
}

impl Header {
    /// Nothing if there are too few bytes.
    pub fn of(log: Log, bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, d, low, high, kind] = bytes.get(..log.header())?.first_chunk()?;
        let masked = Masked(u32::from_le_bytes([a, b, c, d]));
        let length = log.header() + usize::from(u16::from_le_bytes([low, high]));
        Some(Self { masked, kind, length })
    }

    /// Where the record ends, from where it starts.
    pub fn end(self) -> usize {
        self.length
    }
}

/// A checksum as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masked(pub u32);

impl Masked {
    const DELTA: u32 = 0xa282_ead8;

    pub fn of(crc: u32) -> Self {
        Self(crc.rotate_right(15).wrapping_add(Self::DELTA))
    }

    pub fn crc(self) -> u32 {
        self.0.wrapping_sub(Self::DELTA).rotate_left(15)
    }

    pub fn agrees(self, crc: u32) -> bool {
        self.crc() == crc
    }
}

/// The checksum of a record, unmasked.
pub fn checksum(record: &[u8]) -> u32 {
    crc32c::crc32c(checked(record))
}

/// What the checksum of a record is of.
pub fn checked(record: &[u8]) -> &[u8] {
    &record[CHECKED..]
}
