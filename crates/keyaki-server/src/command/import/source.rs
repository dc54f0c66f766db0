//! Where elements are read from: a file, all files of a directory, or standard input.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use indicatif::ProgressBar;
use tokio::sync::mpsc;

use super::super::Failure;

const BLOCK_BYTES: usize = 256 << 10;
const BLOCKS_AHEAD: usize = 4;
/// Of a digest: enough that no two files share a key.
const KEY_BYTES: usize = 16;
/// Says standard input on the command line.
const STDIN: &str = "-";

/// Something to read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    File(PathBuf),
    Stdin,
}

/// All that was named: of a directory, the NDJSON in it and below, as exports write it.
pub fn files(named: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut files = Vec::new();
    for path in named {
        match path.as_os_str() == STDIN {
            true => files.push(Source::Stdin),
            false if path.is_dir() => files.extend(inside(path)?),
            false => files.push(Source::File(path.clone())),
        }
    }
    match files.is_empty() {
        true => Err(Failure::Config("there is no .ndjson file to import".to_owned())),
        false => Ok(files),
    }
}

fn inside(folder: &Path) -> Result<Vec<Source>, Failure> {
    let failed = |error| failed(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files.extend(inside(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "ndjson") {
            files.push(Source::File(path));
        }
    }
    files.sort();
    Ok(files)
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::Config(format!("{}: {error}", path.display()))
}

impl Source {
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdin => None,
        }
    }

    pub fn can_be_read_again(&self) -> bool {
        self.path().is_some()
    }

    /// How much there is to read, if that is known.
    pub fn length(&self) -> Result<Option<u64>, Failure> {
        let length = |path| fs::metadata(path).map_err(|error| failed(path, error));
        Ok(self
            .path()
            .map(length)
            .transpose()?
            .filter(fs::Metadata::is_file)
            .map(|file| file.len()))
    }

    /// A digest of what is in it and how it is read; none of what can be read but once.
    pub fn digest(&self, how: &[String]) -> Result<Option<String>, Failure> {
        let Self::File(path) = self else { return Ok(None) };
        let mut digest = Context::new(&SHA256);
        for part in how {
            digest.update(&(part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        let mut file = File::open(path).map_err(|error| failed(path, error))?;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            match file.read(&mut block).map_err(|error| failed(path, error))? {
                0 => break,
                read => digest.update(&block[..read]),
            }
        }
        let digest = digest.finish();
        Ok(Some(digest.as_ref().iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its text, read on a thread of its own, a few blocks ahead of whoever sends it.
    pub fn body(&self, progress: ProgressBar) -> Result<Body, Failure> {
        let mut input: Box<dyn Read + Send> = match self {
            Self::File(path) => Box::new(File::open(path).map_err(|error| failed(path, error))?),
            Self::Stdin => Box::new(io::stdin()),
        };
        let (blocks, sent) = mpsc::channel(BLOCKS_AHEAD);
        std::thread::spawn(move || {
            while let Some(block) = next_block(&mut input).transpose() {
                let over = block.is_err();
                // Nobody takes more once the server has answered.
                if blocks.blocking_send(block).is_err() || over {
                    return;
                }
            }
        });
        let text = stream::unfold((sent, progress), |(mut sent, progress)| async {
            let block: io::Result<Bytes> = sent.recv().await?;
            progress.inc(block.as_ref().map_or(0, |block| block.len() as u64));
            Some((block, (sent, progress)))
        });
        Ok(Body::from_stream(text))
    }
}

fn next_block(input: &mut impl Read) -> io::Result<Option<Bytes>> {
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    input.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
    Ok((!block.is_empty()).then(|| block.into()))
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}
