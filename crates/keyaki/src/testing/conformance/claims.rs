//! Claims: a name has one owner, across partitions.

use super::Trial;
use super::steps::*;
use crate::cell::ValueRef;
use crate::engine::{Condition, Engine, Expect, Outcome, Refusal, SpaceId};

async fn owner(engine: &dyn Engine, names: SpaceId, name: &[u8]) -> Option<Vec<u8>> {
    payload(engine, names, name, b"").await
}

fn assert_claimed_by(refusal: &Refusal, index: usize, owner: &[u8]) {
    assert_eq!(refusal.condition, Condition::Claim(index));
    let found = refusal.found.as_deref().expect("someone has the name");
    assert_eq!(ValueRef::decode(found).unwrap().payload, owner);
}

pub async fn a_name_goes_to_the_first_who_claims_it(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, names) = (home(engine).await, derived(engine).await);
    done(engine, b"ann", |c| {
        c.claim(names, b"name", b"ann");
        c.write(space, b"cell", put(b"x"));
    })
    .await;
    let refused = refusals(engine, b"bob", |c| {
        c.claim(names, b"free", b"bob");
        c.claim(names, b"name", b"bob");
        c.write(space, b"cell", put(b"x"));
    })
    .await;
    assert_eq!(refused.len(), 1);
    assert_claimed_by(&refused[0], 1, b"ann");
    assert_eq!(owner(engine, names, b"name").await.unwrap(), b"ann");
    assert_eq!(owner(engine, names, b"free").await, None);
    assert_eq!(payload(engine, space, b"bob", b"cell").await, None);
}

pub async fn an_owner_may_claim_again(mut t: Trial) {
    let names = derived(t.engine().as_ref()).await;
    for _ in 0..3 {
        done(t.engine().as_ref(), b"p", |c| {
            c.claim(names, b"name", b"ann");
        })
        .await;
        t.reopen().await;
    }
    assert_eq!(owner(t.engine().as_ref(), names, b"name").await.unwrap(), b"ann");
}

pub async fn a_released_name_is_free(t: Trial) {
    let engine = t.engine().as_ref();
    let names = derived(engine).await;
    done(engine, b"ann", |c| {
        c.claim(names, b"name", b"ann");
    })
    .await;
    done(engine, b"ann", |c| {
        c.release(names, b"name", b"ann");
        c.release(names, b"nobody's", b"ann");
    })
    .await;
    assert_eq!(owner(engine, names, b"name").await, None);
    done(engine, b"bob", |c| {
        c.claim(names, b"name", b"bob");
    })
    .await;
    assert_eq!(owner(engine, names, b"name").await.unwrap(), b"bob");
}

pub async fn only_the_owner_releases(t: Trial) {
    let engine = t.engine().as_ref();
    let names = derived(engine).await;
    done(engine, b"ann", |c| {
        c.claim(names, b"name", b"ann");
    })
    .await;
    let refused = refusals(engine, b"bob", |c| {
        c.release(names, b"name", b"bob");
    })
    .await;
    assert_claimed_by(&refused[0], 0, b"ann");
    assert_eq!(owner(engine, names, b"name").await.unwrap(), b"ann");
}

pub async fn a_claim_is_not_taken_if_another_condition_fails(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, names) = (home(engine).await, derived(engine).await);
    done(engine, b"ann", |c| {
        c.claim(names, b"taken", b"ann");
    })
    .await;
    let refused = refusals(engine, b"bob", |c| {
        c.expect(space, b"cell", Expect::Present);
        c.claim(names, b"free", b"bob");
        c.claim(names, b"taken", b"bob");
        c.release(names, b"taken too", b"bob");
    })
    .await;
    assert_eq!(refused[0], Refusal { condition: Condition::Expectation(0), found: None });
    assert_claimed_by(&refused[1], 1, b"ann");
    assert_eq!(refused.len(), 2);
    assert_eq!(owner(engine, names, b"free").await, None);
}

pub async fn one_of_many_racing_claims_wins(t: Trial) {
    const NAMES: u8 = 10;
    const RACERS: usize = 8;
    let (space, names) = (home(t.engine().as_ref()).await, derived(t.engine().as_ref()).await);
    let won = together(RACERS, |racer| {
        let engine = t.engine().clone();
        async move {
            let mut won = Vec::new();
            for name in 0..NAMES {
                let outcome = outcome(engine.as_ref(), &[racer as u8], |c| {
                    c.claim(names, &[name], &[racer as u8]);
                    c.write(space, &[name], put(b"mine"));
                })
                .await;
                won.extend((outcome == Outcome::Done).then_some(name));
            }
            won
        }
    })
    .await;
    let engine = t.engine().as_ref();
    for name in 0..NAMES {
        let winners: Vec<u8> =
            (0..RACERS as u8).filter(|racer| won[usize::from(*racer)].contains(&name)).collect();
        assert_eq!(winners.len(), 1, "exactly one has the name");
        assert_eq!(owner(engine, names, &[name]).await.unwrap(), winners);
        for racer in 0..RACERS as u8 {
            let wrote = payload(engine, space, &[racer], &[name]).await.is_some();
            assert_eq!(wrote, winners == [racer], "the home write goes with the claim");
        }
    }
}

pub async fn a_name_changes_hands_in_one_commit(t: Trial) {
    let engine = t.engine().as_ref();
    let names = derived(engine).await;
    done(engine, b"ann", |c| {
        c.claim(names, b"old", b"ann");
    })
    .await;
    done(engine, b"ann", |c| {
        c.release(names, b"old", b"ann");
        c.claim(names, b"new", b"ann");
    })
    .await;
    assert_eq!(owner(engine, names, b"old").await, None);
    assert_eq!(owner(engine, names, b"new").await.unwrap(), b"ann");
}
