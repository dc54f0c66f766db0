//! Spaces: made once, dropped for good, and home and derived ones never mix.

use super::steps::*;
use super::{BUCKET, Trial};
use crate::engine::{BucketId, Engine, Expect, RuleSpec, ScanRequest, SpaceId, SpaceSpec};
use crate::engine::{Outcome, Write};
use crate::error::Kind;

/// Every way in refuses the space.
async fn assert_refused(engine: &dyn Engine, space: SpaceId) {
    let kinds = [
        engine.read(space, b"p", b"cell").await.map(drop).unwrap_err().kind(),
        engine.scan(ScanRequest::partition(space, b"p")).await.map(drop).unwrap_err().kind(),
        engine.splits(space, 2).await.map(drop).unwrap_err().kind(),
        engine.sweep(space).await.map(drop).unwrap_err().kind(),
        engine.compact(space).await.unwrap_err().kind(),
        error(engine, b"p", |c| c.write(space, b"cell", put(b"x"))).await.kind(),
        error(engine, b"p", |c| c.dependent(space, b"p", b"cell", put(b"x"))).await.kind(),
        error(engine, b"p", |c| c.dependent(space, b"p", b"cell", Write::Delete)).await.kind(),
        error(engine, b"p", |c| {
            c.expect(space, b"cell", Expect::Absent);
        })
        .await
        .kind(),
        error(engine, b"p", |c| {
            c.claim(space, b"name", b"owner");
        })
        .await
        .kind(),
    ];
    assert_eq!(kinds, [Kind::NotFound; 10]);
}

pub async fn a_dropped_space_is_gone_at_once_and_for_good(mut t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view, kept) = (home(engine).await, derived(engine).await, home(engine).await);
    done(engine, b"p", |c| {
        c.write(space, b"cell", put(b"x"));
        c.write(kept, b"cell", put(b"stays"));
        c.dependent(view, b"v", b"cell", put(b"x"));
    })
    .await;
    t.settle().await;
    for dropped in [space, view] {
        engine.drop_spaces(vec![dropped]).await.unwrap();
        assert_refused(engine, dropped).await;
        engine.drop_spaces(vec![dropped]).await.expect("dropping it again is no error");
    }
    t.reopen().await;
    let engine = t.engine().as_ref();
    engine.compact(kept).await.unwrap();
    for dropped in [space, view] {
        assert_refused(engine, dropped).await;
    }
    assert_eq!(payload(engine, kept, b"p", b"cell").await.unwrap(), b"stays");
}

pub async fn ids_are_never_given_again(mut t: Trial) {
    let mut given = Vec::new();
    for round in 0..6 {
        let space = home(t.engine().as_ref()).await;
        assert!(!given.contains(&space), "{space:?} was given twice");
        let there = sorts(t.engine().as_ref(), ScanRequest::partition(space, b"p")).await;
        assert!(there.is_empty(), "a new space has cells");
        done(t.engine().as_ref(), b"p", |c| c.write(space, b"cell", put(b"x"))).await;
        given.push(space);
        t.engine().drop_spaces(vec![space]).await.unwrap();
        if round % 2 == 1 {
            t.reopen().await;
        }
    }
    let records = t.engine().spaces();
    let listed: Vec<SpaceId> = records.iter().map(|record| record.id).collect();
    assert_eq!(listed, given);
    assert!(records.iter().all(|record| record.retired));
}

pub async fn spaces_come_and_go_together(mut t: Trial) {
    let spec = |label: &str| SpaceSpec::derived(BUCKET, label);
    let unfit = SpaceSpec::home(BUCKET, "unfit").merging(RuleSpec::named("sum"));
    let engine = t.engine().as_ref();
    let refused = engine.create_spaces(vec![spec("a"), unfit]).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
    assert!(engine.spaces().is_empty(), "one was refused: none is made");
    let made = engine.create_spaces(vec![spec("a"), spec("b"), spec("c")]).await.unwrap();
    let unknown = SpaceId(made[2].0 + 1);
    let refused = engine.drop_spaces(vec![made[0], unknown]).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::NotFound);
    let listed = |t: &Trial| {
        let records = t.engine().spaces().into_iter();
        records.map(|record| (record.id, record.spec.label, record.retired)).collect::<Vec<_>>()
    };
    let of = |space: usize, label: &str, retired| (made[space], label.to_owned(), retired);
    let all = [of(0, "a", false), of(1, "b", false), of(2, "c", false)];
    assert_eq!(listed(&t), all, "one is unknown: none is dropped");
    t.engine().drop_spaces(vec![made[0], made[2]]).await.unwrap();
    t.reopen().await;
    assert_eq!(listed(&t), [of(0, "a", true), of(1, "b", false), of(2, "c", true)]);
}

pub async fn spaces_are_listed_as_they_were_made(mut t: Trial) {
    let quarantine = derived(t.engine().as_ref()).await;
    let spec = SpaceSpec::derived(BUCKET, "every field")
        .merging(RuleSpec::named("sum"))
        .keeping(RuleSpec::new("age", "5"))
        .quarantined_in(quarantine);
    let space = create(t.engine().as_ref(), spec.clone()).await;
    for reopened in [false, true] {
        if reopened {
            t.reopen().await;
        }
        let records = t.engine().spaces();
        let record = records.iter().find(|record| record.id == space).unwrap();
        assert!(record.spec == spec && !record.retired);
    }
}

pub async fn a_space_dropped_under_its_writers_takes_no_more(t: Trial) {
    let (space, kept) = (home(t.engine().as_ref()).await, home(t.engine().as_ref()).await);
    let taken = together(5, |task| {
        let engine = t.engine().clone();
        async move {
            if task == 0 {
                tokio::task::yield_now().await;
                engine.drop_spaces(vec![space]).await.unwrap();
                return 0;
            }
            for commit in 0..30_u8 {
                let answer = attempt(engine.as_ref(), &[task as u8], |c| {
                    c.write(space, &[commit], put(b"x"));
                    c.write(kept, &[commit], put(b"x"));
                })
                .await;
                match answer {
                    Ok(outcome) => assert_eq!(outcome, Outcome::Done),
                    Err(refused) => {
                        assert_eq!(refused.kind(), Kind::NotFound);
                        return commit;
                    }
                }
            }
            30
        }
    })
    .await;
    for (task, commits) in taken.into_iter().enumerate().skip(1) {
        let request = ScanRequest::partition(kept, [task as u8]);
        let there = sorts(t.engine().as_ref(), request).await;
        assert_eq!(there.len(), usize::from(commits), "all of a commit, or nothing");
    }
    assert_refused(t.engine().as_ref(), space).await;
}

pub async fn unknown_spaces_are_refused(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    for unknown in [SpaceId(0), SpaceId(space.0 + 1), SpaceId(u32::MAX)] {
        assert_refused(engine, unknown).await;
        assert_eq!(engine.drop_spaces(vec![unknown]).await.unwrap_err().kind(), Kind::NotFound);
    }
    // What is right in such a commit is not done either.
    let refused = error(engine, b"p", |c| {
        c.write(space, b"cell", put(b"x"));
        c.dependent(SpaceId(space.0 + 1), b"v", b"cell", put(b"x"));
    })
    .await;
    assert_eq!(refused.kind(), Kind::NotFound);
    assert_eq!(payload(engine, space, b"p", b"cell").await, None);
}

pub async fn home_and_derived_spaces_never_mix(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view, sums) =
        (home(engine).await, derived(engine).await, merging(engine, "sum").await);
    let number = 1_i64.to_be_bytes();
    assert_invalid(
        engine,
        &[
            ("a put into a derived space", &|c| c.write(view, b"x", put(b""))),
            ("a delete in a derived space", &|c| c.write(view, b"x", Write::Delete)),
            ("a merge by the home", &|c| c.write(sums, b"x", merge(&number))),
            ("a delete in a merge space by the home", &|c| c.write(sums, b"x", Write::Delete)),
            ("a dependent put into a home space", &|c| c.dependent(space, b"p", b"x", put(b""))),
            ("a dependent delete in one", &|c| c.dependent(space, b"p", b"x", Write::Delete)),
            ("a dependent merge in one", &|c| c.dependent(space, b"p", b"x", merge(&number))),
            ("an expectation on a derived space", &|c| {
                c.expect(view, b"x", Expect::Absent);
            }),
            ("a claim in a home space", &|c| {
                c.claim(space, b"name", b"owner");
            }),
            ("a release in a home space", &|c| {
                c.release(space, b"name", b"owner");
            }),
        ],
    )
    .await;
}

pub async fn puts_and_merges_never_mix(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view, sums) =
        (home(engine).await, derived(engine).await, merging(engine, "sum").await);
    let number = 1_i64.to_be_bytes();
    assert_invalid(
        engine,
        &[
            ("a put into a merge space", &|c| c.dependent(sums, b"d", b"x", put(&number))),
            ("a claim in a merge space", &|c| {
                c.claim(sums, b"name", b"owner");
            }),
            ("a merge without a rule", &|c| c.dependent(view, b"d", b"x", merge(&number))),
            ("a merge in a home space", &|c| c.write(space, b"x", merge(&number))),
        ],
    )
    .await;
}

pub async fn a_commit_stays_in_its_bucket(t: Trial) {
    let engine = t.engine().as_ref();
    let foreign = create(engine, SpaceSpec::home(BucketId(BUCKET.0 + 1), "foreign")).await;
    assert_invalid(
        engine,
        &[
            ("a write", &|c| c.write(foreign, b"x", put(b""))),
            ("a delete", &|c| c.write(foreign, b"x", Write::Delete)),
            ("an expectation", &|c| {
                c.expect(foreign, b"x", Expect::Absent);
            }),
        ],
    )
    .await;
}

pub async fn a_commit_writes_each_cell_once(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view, sums) =
        (home(engine).await, derived(engine).await, merging(engine, "sum").await);
    let number = 1_i64.to_be_bytes();
    assert_invalid(
        engine,
        &[
            ("two puts", &|c| {
                c.write(space, b"x", put(b"1"));
                c.write(space, b"x", put(b"1"));
            }),
            ("a put and a delete", &|c| {
                c.dependent(view, b"d", b"x", put(b"1"));
                c.dependent(view, b"d", b"x", Write::Delete);
            }),
            ("a delete and a merge", &|c| {
                c.dependent(sums, b"d", b"x", Write::Delete);
                c.dependent(sums, b"d", b"x", merge(&number));
            }),
            ("two claims of one name", &|c| {
                c.claim(view, b"name", b"owner");
                c.claim(view, b"name", b"owner");
            }),
            ("a claim and its release", &|c| {
                c.claim(view, b"name", b"owner");
                c.release(view, b"name", b"owner");
            }),
        ],
    )
    .await;
}

/// Each is refused, and what is right in the same commit is not done.
async fn assert_invalid(engine: &dyn Engine, cases: &[(&str, Fill<'_>)]) {
    let (witness, far) = (home(engine).await, derived(engine).await);
    for (what, fill) in cases {
        let refused = error(engine, b"p", |c| {
            c.write(witness, b"cell", put(b"x"));
            c.dependent(far, b"d", b"cell", put(b"x"));
            fill(c);
        })
        .await;
        assert_eq!(refused.kind(), Kind::Invalid, "{what}: {refused}");
        assert_eq!(payload(engine, witness, b"p", b"cell").await, None, "{what}");
        assert_eq!(payload(engine, far, b"d", b"cell").await, None, "{what}");
    }
}

pub async fn rules_must_fit_the_kind_of_space(t: Trial) {
    let engine = t.engine().as_ref();
    let made = engine.spaces().len();
    let kind = async |spec: SpaceSpec| engine.create_space(spec).await.unwrap_err().kind();
    let (sum, age) = (RuleSpec::named("sum"), RuleSpec::new("age", "5"));
    let home_space = home(engine).await;
    let ruled = create(engine, SpaceSpec::derived(BUCKET, "d").keeping(age.clone())).await;
    let foreign = create(engine, SpaceSpec::derived(BucketId(BUCKET.0 + 1), "d")).await;
    assert_eq!(kind(SpaceSpec::home(BUCKET, "h").merging(sum)).await, Kind::Invalid);
    for quarantine in [home_space, ruled, foreign] {
        let spec = SpaceSpec::derived(BUCKET, "d").keeping(age.clone()).quarantined_in(quarantine);
        assert_eq!(kind(spec).await, Kind::Invalid);
    }
    for unknown in [RuleSpec::named("no such rule"), RuleSpec::new("age", "not a number")] {
        let spec = SpaceSpec::derived(BUCKET, "d");
        assert_eq!(kind(spec.clone().merging(unknown.clone())).await, Kind::Unsupported);
        assert_eq!(kind(spec.keeping(unknown)).await, Kind::Unsupported);
    }
    assert_eq!(engine.spaces().len(), made + 3, "a space that was refused is not listed");
}
