//! The disk that is measured on: a fresh folder of it, and how fast it syncs by itself.
//!
//! Durability costs nothing in memory, so figures from a tmpfs would flatter everyone.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;

use crate::Result;
use crate::figure::Latencies;

const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;
const SYNCS: usize = 200;
const PAGE: [u8; 4096] = [0x5a; 4096];

/// A folder in `place` that goes when dropped.
pub fn folder_in(place: &Path) -> Result<TempDir> {
    std::fs::create_dir_all(place)?;
    let magic = rustix::fs::statfs(place)?.f_type as u64;
    if [TMPFS_MAGIC, RAMFS_MAGIC].contains(&magic) {
        let place = place.display();
        return Err(format!("{place} is memory, not a disk: name another with --dir").into());
    }
    Ok(tempfile::Builder::new().prefix("keyaki-bench-").tempdir_in(place)?)
}

/// Lets other users reach what they have in a folder, without showing them what else is there.
pub fn let_others_pass(dir: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o711))?)
}

/// Where it is and how long it takes to keep 4 KiB for good.
pub fn describe(dir: &Path) -> Result<String> {
    let path = dir.join("syncs");
    let mut file = File::create(&path)?;
    let mut latencies = Latencies::default();
    for _ in 0..SYNCS {
        let began = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        latencies.add(began.elapsed());
    }
    std::fs::remove_file(path)?;
    Ok(format!("disk: {}; append and fdatasync of 4 KiB: {latencies}", dir.display()))
}
