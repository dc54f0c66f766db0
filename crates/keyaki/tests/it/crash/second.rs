//! Two processes on one directory: the second is refused at once, and the first goes on.

use std::path::Path;
use std::time::Duration;

use super::child::{Running, journal_path, wait_for_death};
use super::journal::{self, Journal};
use super::{open, open_store, runtime, settings};
use keyaki::Kind;
use keyaki::engine::Rules;
use keyaki::store;
use keyaki::testing::workload::Load;

#[test]
fn a_second_process_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, noted) = (folder.path().join("store"), folder.path().join("journal"));
    let mut first = Running::start("second", &dir, &noted);
    first.wait_until(&noted, "open");
    let opened = open_store(&dir, &settings()).map(drop);
    let checked = store::check(&dir, Rules::default()).map(drop);
    for refused in [opened, checked] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable);
        assert_eq!(refused.message(), "another process has this store open");
        assert_eq!(refused.context("dir"), dir.to_str());
    }
    Journal::open(&noted).note("refused");
    first.wait_until(&noted, "went on");
    first.kill();
    // A dead process has nothing open.
    let runtime = runtime();
    let survey = runtime.block_on(async { open(&dir).await?.survey().await }).unwrap();
    journal::read(&noted).demand(&survey);
    assert_eq!(survey.steps(), 2);
}

/// Commits a step before the other process comes, and one after it was refused.
pub fn child(dir: &Path, journal: &Journal) {
    runtime().block_on(async {
        let workload = open(dir).await.unwrap();
        journal.acknowledge(workload.advance(0, Load::Small, None).await.unwrap());
        journal.note("open");
        while !journal::read(&journal_path()).says("refused") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        journal.acknowledge(workload.advance(0, Load::Small, None).await.unwrap());
        journal.note("went on");
        wait_for_death()
    })
}
