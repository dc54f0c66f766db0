//! A child commits linked steps from eight threads, bulk chunks among them, and is killed at random
//! moments, many times on one directory, also while it is still opening it.

use std::thread;
use std::time::Duration;

use super::child::Running;
use super::{assert_sound, chance, journal, knob, open, runtime};
use keyaki::testing::workload::Load;

#[test]
fn a_killed_process_loses_nothing_acknowledged_and_leaves_nothing_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, noted) = (folder.path().join("store"), folder.path().join("journal"));
    let mut chance = chance();
    let cycles = knob("KEYAKI_CYCLES", 20);
    let mut steps = 0;
    for cycle in 0..cycles {
        let child = Running::start("lanes", &dir, &noted);
        // Every third one dies young: while it opens the store, or makes it.
        let most = if chance.once_in(3) { 60 } else { 900 };
        thread::sleep(Duration::from_millis(chance.below(most) as u64));
        child.kill();
        // Sometimes one killed child has to clear up after another.
        if cycle + 1 == cycles || !chance.once_in(3) {
            steps = survey(&dir, &noted, cycle);
        }
    }
    let acknowledged = journal::read(&noted).acknowledged.len();
    println!("{cycles} kills, {steps} steps, {acknowledged} of them acknowledged");
    assert!(acknowledged > 100, "hardly anything was committed between the kills");
}

/// Looks at all that the killed children left, and goes on writing.
fn survey(dir: &std::path::Path, noted: &std::path::Path, cycle: u64) -> usize {
    if dir.join("KEYAKI").exists() {
        assert_sound(dir, "killed");
    }
    let account = journal::read(noted);
    runtime().block_on(async {
        let workload = open(dir).await.unwrap();
        let survey = workload.survey().await.unwrap_or_else(|e| panic!("cycle {cycle}: {e}"));
        account.demand(&survey);
        for (last, tid) in survey.tips() {
            workload.repeat(last, tid).await.unwrap();
        }
        let follows = account.acknowledged.last().map(|last| last.link);
        let step = workload.advance(100, Load::Small, follows).await.unwrap();
        journal::Journal::open(noted).acknowledge(step);
        survey.steps()
    })
}
