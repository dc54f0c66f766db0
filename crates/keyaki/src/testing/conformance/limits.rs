//! Bad input is refused whole, with what and where; good input at the limit is taken.

use super::Trial;
use super::steps::*;
use crate::cell::Value;
use crate::cell::value::{Flags, VISIBILITY_BYTES_MAX};
use crate::engine::{
    BULK_BYTES_MAX, COMMIT_BYTES_MAX, Commit, Engine, PAYLOAD_BYTES_MAX, SpaceId, Write,
};
use crate::error::{Error, Kind};

/// The commit is refused as invalid, and a cell that was right in it is not there.
async fn refused(engine: &dyn Engine, space: SpaceId, breach: impl Fn(&mut Commit)) -> Error {
    let refused = error(engine, b"p", |c| {
        c.write(space, b"witness", put(b"x"));
        breach(c);
    })
    .await;
    assert_eq!(refused.kind(), Kind::Invalid);
    assert_eq!(payload(engine, space, b"p", b"witness").await, None);
    refused
}

pub async fn malformed_visibilities_are_refused(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    let sums = merging(engine, "sum").await;
    for expression in ["a&", "a b", "a|b&c", "(a", "\"", "&", "a\0b", "()"] {
        let bad = Value::visible_to(expression.as_bytes(), b"12345678");
        let error = refused(engine, space, |c| c.write(space, b"x", Write::Put(bad))).await;
        assert!(error.context("visibility").is_some(), "it says which: {error}");
        refused(engine, space, |c| c.dependent(view, b"d", b"x", Write::Put(bad))).await;
        refused(engine, space, |c| c.dependent(sums, b"d", b"x", Write::Merge(bad))).await;
    }
}

pub async fn well_formed_visibilities_are_kept_as_written(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    let long = vec![b'x'; VISIBILITY_BYTES_MAX];
    for expression in [&b"a&(b|c)"[..], b"\"quoted \\\" term\"", "\"ü\"".as_bytes(), &long] {
        let value = Value::visible_to(expression, b"seen");
        done(engine, b"p", |c| c.write(space, b"cell", Write::Put(value))).await;
        let there = stored(engine, space, b"p", b"cell").await.unwrap();
        let there = crate::cell::ValueRef::decode(&there).unwrap();
        assert_eq!((there.visibility, there.payload), (expression, &b"seen"[..]));
    }
    let longer = vec![b'x'; VISIBILITY_BYTES_MAX + 1];
    refused(engine, space, |c| {
        c.write(space, b"x", Write::Put(Value::visible_to(&longer, b"")));
    })
    .await;
}

pub async fn unfolded_values_are_refused(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, sums) = (home(engine).await, merging(engine, "sum").await);
    let listed = Value { flags: Flags::UNFOLDED, ..Value::open(b"") };
    refused(engine, space, |c| c.write(space, b"x", Write::Put(listed))).await;
    refused(engine, space, |c| c.dependent(sums, b"d", b"x", Write::Merge(listed))).await;
}

pub async fn values_have_a_longest(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, view) = (home(engine).await, derived(engine).await);
    let longest = vec![7; PAYLOAD_BYTES_MAX];
    done(engine, b"p", |c| {
        c.write(space, b"cell", put(&longest));
        c.dependent(view, b"d", b"cell", put(&longest));
    })
    .await;
    t.settle().await;
    assert!(payload(engine, space, b"p", b"cell").await.unwrap() == longest);
    assert!(payload(engine, view, b"d", b"cell").await.unwrap() == longest);
    let longer = vec![7; PAYLOAD_BYTES_MAX + 1];
    let error = refused(engine, space, |c| c.write(space, b"x", put(&longer))).await;
    assert!(error.context("key").is_some(), "it says where: {error}");
    refused(engine, space, |c| c.dependent(view, b"d", b"x", put(&longer))).await;
}

pub async fn commits_have_a_largest(t: Trial) {
    let engine = t.engine().as_ref();
    let space = home(engine).await;
    let value = vec![7; PAYLOAD_BYTES_MAX];
    let error = refused(engine, space, |c| {
        for index in 0..=(COMMIT_BYTES_MAX / PAYLOAD_BYTES_MAX) as u8 {
            c.write(space, &[index], put(&value));
        }
    })
    .await;
    assert_eq!(error.context("most"), Some(COMMIT_BYTES_MAX.to_string().as_str()));
    // What no route would take is refused before it is copied. Zeroed pages cost nothing unread.
    let vast = vec![0; BULK_BYTES_MAX + 1];
    let error = refused(engine, space, |c| c.write(space, b"x", put(&vast))).await;
    assert_eq!(error.context("most"), Some(BULK_BYTES_MAX.to_string().as_str()));
}

pub async fn oversized_keys_in_conditions_are_refused(t: Trial) {
    let engine = t.engine().as_ref();
    let (space, names) = (home(engine).await, derived(engine).await);
    let long = vec![b'x'; crate::cell::key::KEY_BYTES_MAX];
    refused(engine, space, |c| {
        c.expect(space, &long, crate::engine::Expect::Absent);
    })
    .await;
    refused(engine, space, |c| {
        c.claim(names, &long, b"owner");
    })
    .await;
    refused(engine, space, |c| {
        c.claim(names, b"name", &vec![7; PAYLOAD_BYTES_MAX + 1]);
    })
    .await;
}
