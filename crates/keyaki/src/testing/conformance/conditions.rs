//! Conditions of commits: expectations on home cells, and time that only rises.

use super::Trial;
use super::steps::*;
use crate::cell::{Tid, Time, ValueRef};
use crate::engine::{Commit, Condition, Expect, Outcome, Refusal, Write};

pub async fn failed_expectations_say_what_is_there(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    done(engine, b"p", |c| c.write(space, b"there", put(b"value"))).await;
    let there = stored(engine, space, b"p", b"there").await.unwrap();
    let refused = refusals(engine, b"p", |c| {
        c.expect(space, b"there", Expect::Absent);
        c.expect(space, b"there", Expect::Present);
        c.expect(space, b"nowhere", Expect::Present);
        c.expect(space, b"there", Expect::Equals(b"something else".to_vec()));
        c.expect(space, b"nowhere", Expect::Absent);
        c.expect(space, b"nowhere", Expect::Equals(there.clone()));
        c.expect(space, b"there", Expect::Equals(there.clone()));
    })
    .await;
    let refusal = |index, found: Option<&Vec<u8>>| Refusal {
        condition: Condition::Expectation(index),
        found: found.cloned(),
    };
    let (found, none) = (Some(&there), None);
    let expected = [refusal(0, found), refusal(2, none), refusal(3, found), refusal(5, none)];
    assert_eq!(refused, expected);
}

pub async fn met_expectations_let_a_commit_take(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    done(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Absent);
        c.write(space, b"cell", put(b"1"));
    })
    .await;
    let there = stored(engine, space, b"p", b"cell").await.unwrap();
    done(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Present);
        c.expect(space, b"cell", Expect::Equals(there.clone()));
        c.write(space, b"cell", Write::Delete);
    })
    .await;
    done(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Absent);
    })
    .await;
    assert_eq!(payload(engine, space, b"p", b"cell").await, None);
}

pub async fn expectations_look_at_their_own_partition(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    // Written one after the other, partition and sort key are the same bytes.
    done(engine, b"a", |c| c.write(space, b"\0cell", put(b"1"))).await;
    done(engine, b"a\0", |c| {
        c.expect(space, b"cell", Expect::Absent);
        c.write(space, b"cell", put(b"2"));
    })
    .await;
    assert_eq!(payload(engine, space, b"a", b"\0cell").await.unwrap(), b"1");
}

pub async fn equal_means_the_whole_stored_value(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    done(engine, b"p", |c| c.write(space, b"cell", put(b"same"))).await;
    let first = stored(engine, space, b"p", b"cell").await.unwrap();
    done(engine, b"p", |c| c.write(space, b"cell", put(b"same"))).await;
    let second = stored(engine, space, b"p", b"cell").await.unwrap();
    let refused = refusals(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Equals(first.clone()));
    })
    .await;
    assert_eq!(refused[0].found, Some(second), "the same payload of an earlier commit");
}

pub async fn values_carry_their_commits_time(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    let mut commit = stamped(engine, b"p");
    let time = commit.tid().time();
    commit.write(space, b"cell", put(b"x"));
    commit.dependent(view, b"v", b"cell", put(b"x"));
    assert_eq!(engine.commit(commit).await.unwrap(), Outcome::Done);
    t.settle().await;
    for (space, partition) in [(space, b"p"), (view, b"v")] {
        let there = stored(engine, space, partition, b"cell").await.unwrap();
        assert_eq!(ValueRef::decode(&there).unwrap().time, time);
    }
}

pub async fn time_rises_within_a_home(mut t: Trial) {
    let space = home(t.engine().as_ref()).await;
    let mut late = stamped(t.engine().as_ref(), b"p");
    let (tid, partition) = (late.tid(), late.home().clone());
    late.write(space, b"late", put(b"x"));
    assert_eq!(t.engine().commit(late).await.unwrap(), Outcome::Done);
    let earlier = Tid::new(Time::from_micros(tid.time().micros() - 1), 0);
    for reopened in [false, true] {
        if reopened {
            t.reopen().await;
        }
        for (tid, sort) in [(tid, b"same time"), (earlier, b"a earlier")] {
            let mut commit = Commit::new(partition.clone(), tid);
            commit.write(space, sort, put(b"x"));
            let decided = t.engine().commit(commit).await.unwrap();
            assert_eq!(decided, Outcome::Stale, "reopened: {reopened}");
            assert_eq!(payload(t.engine().as_ref(), space, b"p", sort).await, None);
        }
    }
    done(t.engine().as_ref(), b"p", |c| c.write(space, b"stamped anew", put(b"x"))).await;
}

pub async fn the_clock_stays_ahead_of_what_is_stored(mut t: Trial) {
    let space = home(t.engine().as_ref()).await;
    done(t.engine().as_ref(), b"p", |c| c.write(space, b"cell", put(b"x"))).await;
    let there = stored(t.engine().as_ref(), space, b"p", b"cell").await.unwrap();
    let written = ValueRef::decode(&there).unwrap().time;
    for _ in 0..2 {
        t.clock().jump_back(std::time::Duration::from_secs(3600));
        t.reopen().await;
        assert!(t.engine().clock().next() > written, "the wall clock is an hour back");
        // Neither of these is a commit with a time of its own.
        let dropped = derived(t.engine().as_ref()).await;
        t.engine().drop_spaces(vec![dropped]).await.unwrap();
        t.engine().sweep(space).await.unwrap();
    }
}

pub async fn commits_may_be_conditions_alone_or_empty(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    done(engine, b"p", |_| ()).await;
    done(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Absent);
    })
    .await;
    let refused = refusals(engine, b"p", |c| {
        c.expect(space, b"cell", Expect::Present);
    })
    .await;
    assert_eq!(refused, [Refusal { condition: Condition::Expectation(0), found: None }]);
}
