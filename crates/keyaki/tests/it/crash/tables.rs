//! A flipped bit in a table, or in one of the small files around the tables: reading says so, or
//! gives exactly the right bytes. Nothing goes missing in silence, and a store that has lost its way
//! to its tables is never begun anew.

use std::fs;
use std::path::{Path, PathBuf};

use keyaki::Kind;
use keyaki::engine::Rules;
use keyaki::store;
use keyaki::testing::random::Random;
use keyaki::testing::workload::{Link, Load};

use super::{chance, directory, open, runtime, sample, scratch};

const LANES: u16 = 3;
const STEPS: u32 = 40;

/// A store at rest: everything in tables, nothing in its log.
fn at_rest(folder: &Path) -> PathBuf {
    let (dir, backup) = (folder.join("store"), folder.join("backup"));
    runtime().block_on(async {
        let workload = open(&dir).await.unwrap();
        for number in 1..=STEPS {
            for lane in 0..LANES {
                let load = Load::mixed(Link { lane, number });
                workload.advance(lane, load, None).await.unwrap();
            }
            if number == STEPS / 2 {
                workload.compact().await.unwrap();
            }
        }
        workload.store().engine().backup(&backup).await.unwrap();
    });
    backup
}

/// What a damaged store answers to one who reads everything.
fn read_everything(dir: &Path) -> keyaki::Result<usize> {
    runtime().block_on(async {
        let survey = open(dir).await?.survey().await?;
        Ok(survey.steps())
    })
}

/// Flips bits all over a file, one at a time, and demands an error or all steps. Answers how many
/// flips were refused.
fn damage(backup: &Path, file: &Path, places: &[(u64, usize)]) -> usize {
    let copy = backup.with_file_name("copy");
    let mut refused = 0;
    for &(offset, bit) in places {
        let _ = fs::remove_dir_all(&copy);
        directory::copy(backup, &copy);
        directory::flip(&copy.join(file), offset, bit);
        let what = format!("bit {bit} of byte {offset} in {}", file.display());
        let checked = store::check(&copy, Rules::default());
        match read_everything(&copy) {
            Ok(steps) => assert_eq!(steps, usize::from(LANES) * STEPS as usize, "{what}"),
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, Kind::Corrupt | Kind::Unsupported), "{what}: {error:?}");
                let found = checked.map_or(true, |report| !report.problems.is_empty());
                assert!(found, "the check found nothing: {what}: {error}");
                refused += 1;
            }
        }
    }
    refused
}

fn places(chance: &mut Random, file: &Path, about: u64) -> Vec<(u64, usize)> {
    let offsets = sample(chance, directory::length(file), about);
    offsets.into_iter().map(|offset| (offset, chance.below(8))).collect()
}

#[test]
fn a_flipped_bit_in_a_table_is_an_error_never_wrong_bytes() {
    let folder = scratch();
    let backup = at_rest(folder.path());
    let mut chance = chance();
    let tables = directory::files(&backup.join("db"), "", ".sst");
    assert!(tables.len() > 1, "there are tables to damage");
    let count = tables.len() as u64;
    for table in tables {
        let places = places(&mut chance, &table, 200 / count);
        let refused = damage(&backup, table.strip_prefix(&backup).unwrap(), &places);
        assert!(refused * 2 > places.len(), "most of a table matters: {refused}");
    }
}

#[test]
fn a_flipped_bit_in_a_small_file_is_refused_or_harmless() {
    let folder = scratch();
    let backup = at_rest(folder.path());
    let mut chance = chance();
    let db = backup.join("db");
    for (file, about) in [
        (directory::files(&db, "MANIFEST", "").remove(0), 100),
        (db.join("CURRENT"), 20),
        (backup.join("SPACES"), 60),
        (backup.join("KEYAKI"), 20),
    ] {
        let places = places(&mut chance, &file, about);
        let refused = damage(&backup, file.strip_prefix(&backup).unwrap(), &places);
        assert!(refused > 0, "nothing in {} matters", file.display());
    }
}

#[test]
fn a_store_that_lost_a_file_is_never_begun_anew() {
    let folder = scratch();
    let backup = at_rest(folder.path());
    let db = backup.join("db");
    let mut files = directory::files(&db, "", ".sst");
    files.extend(directory::files(&db, "MANIFEST", ""));
    files.extend([db.join("CURRENT"), backup.join("SPACES"), backup.join("KEYAKI"), db.clone()]);
    for file in files {
        let copy = folder.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        directory::copy(&backup, &copy);
        // A backup has no lock file yet; a store that was opened has.
        fs::write(copy.join("LOCK"), "").unwrap();
        let lost = copy.join(file.strip_prefix(&backup).unwrap());
        match lost.is_dir() {
            true => fs::remove_dir_all(&lost).unwrap(),
            false => fs::remove_file(&lost).unwrap(),
        }
        let refused = read_everything(&copy).expect_err(&format!("without {}", file.display()));
        assert_eq!(refused.kind(), Kind::Corrupt, "without {}: {refused}", file.display());
        assert!(!lost.exists(), "made {} anew", lost.display());
    }
}
