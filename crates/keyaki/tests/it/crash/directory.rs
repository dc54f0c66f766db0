//! Directories as wholes: copied, compared byte for byte, damaged in one place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies a directory with all in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), &to).unwrap()),
        }
    }
}

/// Every file in a directory and below, with its bytes.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(contents(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

/// The files in a directory whose names begin and end so, in order.
pub fn files(dir: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut files: Vec<_> = names
        .filter(|name| name.starts_with(prefix) && name.ends_with(suffix))
        .map(|name| dir.join(name))
        .collect();
    files.sort();
    files
}

/// Turns one bit of a file round.
pub fn flip(file: &Path, offset: u64, bit: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[offset as usize] ^= 1 << bit;
    fs::write(file, bytes).unwrap();
}

/// Cuts a file off.
pub fn truncate(file: &Path, length: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

pub fn length(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}
