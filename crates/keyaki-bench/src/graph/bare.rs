//! The same graph by hand: the same cells in RocksDB, by sorted files with merge operands, and nothing above it.
//!
//! Keys and values are what the library stores, byte for byte but for the commit's time (`docs/format.md`), which
//! the suite makes sure of. Two threads make files and take them in: as fast as one gets here.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use keyaki::settings::EmbeddedSettings;
use rocksdb::{
    DB, DBCompressionType, IngestExternalFileOptions, MergeOperands, Options, SstFileWriter,
};

use super::data::{Edge, Name};
use crate::Result;
use crate::bare;

/// Edges in one file, as in one chunk of the library's.
const CHUNK: usize = 50_000;
const THREADS: usize = 2;
/// Version, flags, time and the length of the label.
const HEADER: usize = 11;

pub struct Bare {
    db: DB,
    file_options: Options,
    dir: PathBuf,
    space: [u8; 4],
}

impl Bare {
    pub fn open(dir: &Path, settings: &EmbeddedSettings, space: [u8; 4]) -> Result<Self> {
        let mut options = bare::options(settings);
        options.set_merge_operator_associative("edges", fold);
        let db = DB::open(&options, dir)?;
        // As the library's: quick to write, for compaction will soon write them anew.
        let mut file_options = bare::options(settings);
        file_options.set_merge_operator_associative("edges", fold);
        file_options.set_bottommost_compression_type(DBCompressionType::Lz4);
        Ok(Self { db, file_options, dir: dir.to_owned(), space })
    }

    /// Takes edges in, chunk by chunk.
    pub fn ingest(&self, edges: &[Edge]) -> Result<()> {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = || -> Result<()> {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(chunk) = edges.chunks(CHUNK).nth(number) else { return Ok(()) };
                    self.take_in(chunk, number)?;
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().map_err(|_| "a thread of the bare side panicked")?
            })
        })
    }

    fn take_in(&self, edges: &[Edge], number: usize) -> Result<()> {
        let mut bytes = Vec::with_capacity(edges.len() * 2 * 80);
        let mut cells = Vec::with_capacity(edges.len() * 2);
        for edge in edges {
            for (vertex, flag, other) in
                [(&edge.source, 2, &edge.destination), (&edge.destination, 3, &edge.source)]
            {
                let key = bytes.len();
                self.write_key(vertex, flag, other, edge, &mut bytes);
                let value = bytes.len();
                write_value(edge, &mut bytes);
                cells.push(Cell { prefix: prefix(&bytes[key..]), key, value, end: bytes.len() });
            }
        }
        cells.sort_unstable_by(|one, other| {
            let order = one.prefix.cmp(&other.prefix);
            order.then_with(|| one.key(&bytes).cmp(other.key(&bytes))).then(one.key.cmp(&other.key))
        });
        let path = self.dir.join(format!("chunk-{number}.sst"));
        let mut file = SstFileWriter::create(&self.file_options);
        file.open(&path)?;
        for same in cells.chunk_by(|one, other| one.key(&bytes) == other.key(&bytes)) {
            let values = same.iter().map(|cell| cell.value(&bytes));
            match same {
                [only] => file.merge(only.key(&bytes), only.value(&bytes))?,
                _ => file.merge(same[0].key(&bytes), folded(values).unwrap_or_default())?,
            }
        }
        file.finish()?;
        let mut taking = IngestExternalFileOptions::default();
        taking.set_move_files(true);
        Ok(self.db.ingest_external_file_opts(&taking, vec![&path])?)
    }

    fn write_key(&self, vertex: &Name, flag: u8, other: &Name, edge: &Edge, key: &mut Vec<u8>) {
        key.extend_from_slice(&self.space);
        key.extend_from_slice(vertex);
        key.extend_from_slice(&[0, flag, 0]);
        key.extend_from_slice(other);
        key.extend_from_slice(&[0, flag, 1]);
        key.extend_from_slice(&((edge.start_date as u64) ^ 1 << 63).to_be_bytes());
        key.push(1);
        key.extend_from_slice(edge.label.as_bytes());
        key.push(0);
    }

    /// Shows all that lies under a vertex.
    pub fn scan(&self, vertex: &Name, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let prefix = [&self.space, vertex.as_slice(), &[0]].concat();
        bare::show(&self.db, &bare::ReadRange::Prefix(&prefix), visit)
    }

    /// Shows every key and value.
    pub fn scan_all(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        bare::show(&self.db, &bare::ReadRange::All, visit)
    }

    /// Waits until no compaction is left to do.
    pub fn settle(&self) -> Result<()> {
        bare::settle(&self.db)
    }

    /// Packs everything into one sorted run.
    pub fn compact(&self) {
        bare::compact(&self.db);
    }
}

/// A cell in a chunk's bytes.
struct Cell {
    prefix: u128,
    key: usize,
    value: usize,
    end: usize,
}

impl Cell {
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.key..self.value]
    }

    fn value<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.value..self.end]
    }
}

/// What most keys differ in, behind the space that all have.
fn prefix(key: &[u8]) -> u128 {
    key.get(4..).and_then(|rest| rest.first_chunk()).map_or(0, |first| u128::from_be_bytes(*first))
}

/// Header, label, then how many properties, which are there, count and timestamp.
fn write_value(edge: &Edge, value: &mut Vec<u8>) {
    value.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, edge.label.len() as u8]);
    value.extend_from_slice(edge.label.as_bytes());
    write_properties(edge.count, edge.timestamp, value);
}

fn write_properties(count: i64, timestamp: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[2, 0b11]);
    write_number(count, out);
    write_number(timestamp, out);
}

fn write_number(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
}

fn fold(_: &[u8], base: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    folded(base.into_iter().chain(operands))
}

/// Counts add up, the latest timestamp stays.
fn folded<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let (mut count, mut timestamp, mut head) = (0, i64::MIN, None);
    for value in values {
        let label = usize::from(*value.get(HEADER - 1)?);
        head = head.or(value.get(..HEADER + label));
        let mut rest = value.get(HEADER + label + 2..)?;
        count += read_number(&mut rest)?;
        timestamp = timestamp.max(read_number(&mut rest)?);
    }
    let mut out = head?.to_vec();
    write_properties(count, timestamp, &mut out);
    Some(out)
}
