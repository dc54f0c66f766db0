//! The few steps that tests of engines are made of: make a space, commit, read, do things at once.
//!
//! A step panics and says what it could not do. Commits are stamped anew while they are stale,
//! as every caller of an engine does, so that cases can commit from many tasks.

use std::future::Future;

use super::BUCKET;
use crate::cell::visibility::{Authorisations, evaluate};
use crate::cell::{Tid, Value, ValueRef};
use crate::engine::{
    Block, Commit, Engine, Home, Outcome, Refusal, RuleSpec, ScanRequest, SpaceId, SpaceSpec, Write,
};
use crate::error::{Error, Result};

/// Sort key and payload.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Fills a commit, where several ways of doing so are listed.
pub type Fill<'a> = &'a (dyn Fn(&mut Commit) + Sync);

const STAMPS_MAX: usize = 10_000;

/// Makes a space.
pub async fn create(engine: &dyn Engine, spec: SpaceSpec) -> SpaceId {
    engine.create_space(spec).await.expect("a space of this kind can be made")
}

/// A home space without rules.
pub async fn home(engine: &dyn Engine) -> SpaceId {
    create(engine, SpaceSpec::home(BUCKET, "home")).await
}

/// A derived space without rules.
pub async fn derived(engine: &dyn Engine) -> SpaceId {
    create(engine, SpaceSpec::derived(BUCKET, "derived")).await
}

/// A derived space with a merge rule.
pub async fn merging(engine: &dyn Engine, rule: &str) -> SpaceId {
    create(engine, SpaceSpec::derived(BUCKET, rule).merging(RuleSpec::named(rule))).await
}

/// A put that everybody may see.
pub fn put(payload: &[u8]) -> Write<'_> {
    Write::Put(Value::open(payload))
}

/// A merge that everybody may see.
pub fn merge(operand: &[u8]) -> Write<'_> {
    Write::Merge(Value::open(operand))
}

/// A set of one member, as the rule `union` writes it.
pub fn set_of(member: &[u8]) -> Vec<u8> {
    [&(member.len() as u32).to_be_bytes(), member].concat()
}

/// An empty commit, stamped now.
pub fn stamped(engine: &dyn Engine, partition: &[u8]) -> Commit {
    let home = Home { bucket: BUCKET, partition: partition.to_vec() };
    Commit::new(home, Tid::new(engine.clock().next(), 0))
}

/// What becomes of a commit of `partition` that `fill` fills.
pub async fn attempt(
    engine: &dyn Engine,
    partition: &[u8],
    fill: impl Fn(&mut Commit),
) -> Result<Outcome> {
    for _ in 0..STAMPS_MAX {
        let mut commit = stamped(engine, partition);
        fill(&mut commit);
        match engine.commit(commit).await? {
            Outcome::Stale => {}
            decided => return Ok(decided),
        }
    }
    panic!("a commit was stale however often it was stamped");
}

/// As [`attempt`], of a commit that keeps the contract.
pub async fn outcome(engine: &dyn Engine, partition: &[u8], fill: impl Fn(&mut Commit)) -> Outcome {
    attempt(engine, partition, fill).await.expect("the commit keeps the contract")
}

/// A commit that must take.
pub async fn done(engine: &dyn Engine, partition: &[u8], fill: impl Fn(&mut Commit)) {
    assert_eq!(outcome(engine, partition, fill).await, Outcome::Done);
}

/// A commit whose conditions must not be met: which, and what is there.
pub async fn refusals(
    engine: &dyn Engine,
    partition: &[u8],
    fill: impl Fn(&mut Commit),
) -> Vec<Refusal> {
    match outcome(engine, partition, fill).await {
        Outcome::Refused(refusals) => refusals,
        other => panic!("the commit should have been refused: {other:?}"),
    }
}

/// A commit that must break the contract.
pub async fn error(engine: &dyn Engine, partition: &[u8], fill: impl Fn(&mut Commit)) -> Error {
    attempt(engine, partition, fill).await.expect_err("the commit breaks the contract")
}

/// A cell's stored value, header included.
pub async fn stored(
    engine: &dyn Engine,
    space: SpaceId,
    partition: &[u8],
    sort: &[u8],
) -> Option<Vec<u8>> {
    engine.read(space, partition, sort).await.expect("the cell can be read")
}

/// A cell's payload.
pub async fn payload(
    engine: &dyn Engine,
    space: SpaceId,
    partition: &[u8],
    sort: &[u8],
) -> Option<Vec<u8>> {
    let stored = stored(engine, space, partition, sort).await?;
    Some(ValueRef::decode(&stored).expect("a stored value has a header").payload.to_vec())
}

/// A cell's payload as a number; an absent cell is 0.
pub async fn number(engine: &dyn Engine, space: SpaceId, partition: &[u8], sort: &[u8]) -> i64 {
    let payload = payload(engine, space, partition, sort).await;
    payload.map_or(0, |payload| i64::from_be_bytes(payload.try_into().expect("eight bytes")))
}

/// All cells of a scan in one block.
pub async fn block(engine: &dyn Engine, request: ScanRequest) -> Block {
    let mut scan = engine.scan(request).await.expect("the space can be scanned");
    let mut all = Block::default();
    while let Some(block) = scan.next_block().await.expect("the scan goes on") {
        assert!(!block.is_empty(), "an empty block would end the scan for its reader");
        all.append(&block);
    }
    all
}

/// Sort keys and payloads of a scan.
pub async fn pairs(engine: &dyn Engine, request: ScanRequest) -> Vec<Pair> {
    let block = block(engine, request).await;
    block.iter().map(|cell| (cell.sort().to_vec(), cell.payload().to_vec())).collect()
}

/// Sort keys of a scan.
pub async fn sorts(engine: &dyn Engine, request: ScanRequest) -> Vec<Vec<u8>> {
    block(engine, request).await.iter().map(|cell| cell.sort().to_vec()).collect()
}

/// Whether someone with these authorisations may see a cell of this visibility.
pub fn sees(authorisations: &[&str], visibility: &[u8]) -> bool {
    let held = Authorisations::new(authorisations.iter().copied()).expect("none is empty");
    evaluate(visibility, &held).expect("a stored visibility is well formed")
}

/// Runs `tasks` tasks at once and answers what they answer, in their order.
pub async fn together<F>(tasks: usize, task: impl Fn(usize) -> F) -> Vec<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let running: Vec<_> = (0..tasks).map(|index| tokio::spawn(task(index))).collect();
    let mut answers = Vec::with_capacity(tasks);
    for one in running {
        answers.push(one.await.expect("a task of the case has failed"));
    }
    answers
}
