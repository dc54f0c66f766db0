//! The physical records of a write-ahead log, as RocksDB's `db/log_format.h` lays them down.
//!
//! | bytes | field                                                       |
//! |-------|-------------------------------------------------------------|
//! | 4     | crc32c of type and payload, rotated and shifted (`Masked`)  |
//! | 2     | length of the payload                                       |
//! | 1     | type                                                        |
//! | ...   | payload                                                     |
//!
//! Numbers are little endian. A log is a row of 32 KiB blocks and no record crosses from one into
//! the next: a batch that doesn't fit is a First, Middles and a Last. Fewer than seven bytes at the
//! end of a block are zeros. The wider headers of recycled logs (types 5 to 8, 11 and 131) are
//! unknown here on purpose: in our recovery mode RocksDB doesn't recycle logs, and to meet such a
//! record in a log that began without them makes its reader spin for ever.

pub const BLOCK: usize = 32 * 1024;
pub const HEADER: usize = 7;

/// The types of records our logs may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Full,
    First,
    Middle,
    Last,
    /// The log's batches are compressed from here on.
    Compression,
    /// Anything else that describes the log and holds no batch.
    Note,
}

impl Kind {
    pub fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Full,
            2 => Self::First,
            3 => Self::Middle,
            4 => Self::Last,
            9 => Self::Compression,
            // The sizes of user-defined timestamps; the log before this one.
            10 | 130 => Self::Note,
            _ => return None,
        })
    }

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
}

/// Why there is no whole record at a place.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It starts well, but the file ends before the record does.
    Cut,
    /// No writer of ours left this.
    Bad(&'static str),
}

/// Reads the record at `at`. A `block` shorter than [`BLOCK`] is the last of its file.
pub fn read(block: &[u8], at: usize) -> Result<Whole<'_>, Fault> {
    let bytes = &block[at..];
    let header = Header::of(bytes).ok_or(Fault::Cut)?;
    if at + header.end() > BLOCK {
        return Err(Fault::Bad("the record's length reaches past its block"));
    }
    let kind = Kind::of(header.kind);
    match bytes.get(HEADER..header.end()) {
        Some(payload) if header.masked.agrees(checksum(header.kind, payload)) => {
            Ok(Whole { kind, payload })
        }
        Some(_) if bytes[..HEADER] == [0; HEADER] => Err(Fault::Bad("zeros in place of a record")),
        Some(_) => Err(Fault::Bad("checksum mismatch")),
        None if kind.is_none() => Err(Fault::Bad("unknown record type")),
        None => Err(Fault::Cut),
    }
}

/// The first bytes of a record, believed of nothing yet.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub masked: Masked,
    pub length: usize,
    pub kind: u8,
}

impl Header {
    /// Nothing if there are too few bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, d, low, high, kind] = bytes.first_chunk::<HEADER>()?;
        let masked = Masked(u32::from_le_bytes([a, b, c, d]));
        Some(Self { masked, length: usize::from(u16::from_le_bytes([low, high])), kind })
    }

    /// Where the record ends, from where it starts.
    pub fn end(self) -> usize {
        HEADER + self.length
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
pub fn checksum(kind: u8, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[kind]), payload)
}
