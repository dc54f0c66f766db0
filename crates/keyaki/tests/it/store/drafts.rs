use keyaki::cell::{Value, ValueRef};
use keyaki::engine::{BucketId, Condition, Expect, SpaceSpec, Write};
use keyaki::store::{BucketSpec, Change, Committed, Draft, Previous, View};
use keyaki::{Error, Kind};

use super::{cells, create, done, found, holding, nobody, on_each, put};

#[tokio::test]
async fn a_primary_is_written_over_what_is_known_to_be_there() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let read = || async { bucket.read(&nobody(), b"p", b"a").await.unwrap() };
        assert_eq!(read().await, None);
        create(&bucket, b"p", b"a", b"one").await;
        assert_eq!(read().await.unwrap(), b"one");

        let first = bucket.stored(b"p", b"a").await.unwrap().unwrap();
        let over_first = || put(&bucket, b"p", b"a", Previous::Stored(&first), b"two");
        done(over_first().await);
        let second = bucket.stored(b"p", b"a").await.unwrap().unwrap();
        assert_eq!(ValueRef::decode(&second).unwrap().payload, b"two");

        assert_eq!(found(over_first().await), Some(second.clone()));
        let over_nothing = put(&bucket, b"p", b"a", Previous::Absent, b"three");
        assert_eq!(found(over_nothing.await), Some(second.clone()));
        let stale = bucket.commit(b"p", |draft| draft.remove(b"a", &first));
        assert_eq!(found(stale.await.unwrap()), Some(second.clone()));

        done(bucket.commit(b"p", |draft| draft.remove(b"a", &second)).await.unwrap());
        assert_eq!(read().await, None);
        let over_the_gone = put(&bucket, b"p", b"a", Previous::Stored(&second), b"four");
        assert_eq!(found(over_the_gone.await), None);
        assert_eq!(read().await, None);
    })
    .await;
}

#[tokio::test]
async fn a_refused_draft_leaves_nothing() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        create(&bucket, b"p", b"a", b"one").await;
        let refused = bucket.commit(b"p", |draft| {
            draft.put(b"a", Previous::Absent, Value::open(b"two"))?;
            draft.put(b"b", Previous::Absent, Value::open(&[7; 35]))?;
            draft.add_entry(&View::named("v"), b"k\0", b"b", Value::open(b""))?;
            draft.claim(b"name", b"b");
            draft.change(&Change { item: "b".into(), ..Change::default() }, b"", b"")
        });
        found(refused.await.unwrap());
        let mut counts = Vec::new();
        for label in ["primary", "chunks", "views", "claims", "changes"] {
            counts.push(cells(&bucket, label).await);
        }
        assert_eq!(counts, [1, 0, 0, 0, 0]);
        assert_eq!(bucket.read(&nobody(), b"p", b"a").await.unwrap().unwrap(), b"one");
    })
    .await;
}

#[tokio::test]
async fn something_can_be_expected_without_being_written() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let child = |sort: &'static [u8], expect: Expect| {
            bucket.commit(b"p", move |draft| {
                draft.expect(b"parent", expect.clone());
                draft.put(sort, Previous::Absent, Value::open(b"child"))
            })
        };
        assert_eq!(found(child(b"a", Expect::Present).await.unwrap()), None);
        done(child(b"b", Expect::Absent).await.unwrap());
        create(&bucket, b"p", b"parent", b"here").await;
        done(child(b"a", Expect::Present).await.unwrap());
        assert!(found(child(b"c", Expect::Absent).await.unwrap()).is_some());
    })
    .await;
}

#[tokio::test]
async fn a_bad_draft_is_an_error_that_says_what() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let twice = bucket.commit(b"p", |draft| {
            draft.put(b"a", Previous::Absent, Value::open(b"one"))?;
            draft.put(b"a", Previous::Absent, Value::open(b"two"))
        });
        let refused = twice.await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.message()),
            (Kind::Invalid, "commit writes a cell twice")
        );

        let bad = Value::visible_to(b"a&", b"");
        let malformed = bucket.commit(b"p", |draft| draft.put(b"a", Previous::Absent, bad));
        let refused = malformed.await.unwrap_err();
        assert_eq!((refused.kind(), refused.message()), (Kind::Invalid, "visibility is malformed"));

        let long = vec![b'k'; 33 << 10];
        let refused =
            bucket.commit(b"p", |draft| draft.put(&long, Previous::Absent, Value::open(b"")));
        assert_eq!(refused.await.unwrap_err().message(), "key is too large");
        let not_a_value = Previous::Stored(b"junk");
        let refused = bucket.commit(b"p", |draft| draft.put(b"a", not_a_value, Value::open(b"")));
        assert_eq!(refused.await.unwrap_err().kind(), Kind::Corrupt);
        assert_eq!(cells(&bucket, "primary").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_draft_that_gives_up_holds_nothing_back() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let refused = bucket.commit(b"p", |_| Err::<(), _>(Error::invalid("changed my mind")));
        assert_eq!(refused.await.unwrap_err().message(), "changed my mind");
        let change = Change { item: "a".into(), ..Change::default() };
        done(bucket.commit(b"p", |draft| draft.change(&change, b"", b"")).await.unwrap());
        let page = bucket.changes(&nobody(), None, 10).await.unwrap();
        assert_eq!(page.changes.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_names_the_condition_that_the_draft_was_told() {
    on_each(async |ground| {
        let spec = BucketSpec {
            spaces: vec![SpaceSpec::home(BucketId(0), "own")],
            ..BucketSpec::default()
        };
        let bucket = ground.store.create_bucket(spec).await.unwrap();
        let own = bucket.space("own").unwrap();
        create(&bucket, b"p", b"there", b"").await;
        let mut told = Vec::new();
        let refused = bucket.commit(b"p", |draft| {
            told = vec![
                draft.put(b"new", Previous::Absent, Value::open(b""))?,
                draft.put(b"there", Previous::Absent, Value::open(b""))?,
                draft.home(own, b"a", Expect::Present, Write::Put(Value::open(b""))),
                draft.claim(b"name", b"new"),
            ];
            Ok(())
        });
        let Committed::Refused(refusals) = refused.await.unwrap() else { panic!("it took") };
        let conditions: Vec<Condition> = refusals.iter().map(|refusal| refusal.condition).collect();
        assert_eq!(conditions, told[1..3]);
        assert_eq!(bucket.claimed(b"name").await.unwrap(), None);

        let own_cell = |draft: &mut Draft<'_>| {
            draft.claim(b"name", b"there");
            draft.home(own, b"a", Expect::Absent, Write::Put(Value::open(b"own")));
            Ok(())
        };
        done(bucket.commit(b"p", own_cell).await.unwrap());
        assert_eq!(bucket.claimed(b"name").await.unwrap().unwrap().sort, b"there");
        assert!(found(bucket.commit(b"p", own_cell).await.unwrap()).is_some());
    })
    .await;
}

#[tokio::test]
async fn hidden_is_absent() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        for (sort, visibility) in [(b"a", &b""[..]), (b"b", b"x&(y|z)")] {
            let value = Value::visible_to(visibility, b"said");
            let put = bucket.commit(b"p", |draft| draft.put(sort, Previous::Absent, value));
            done(put.await.unwrap());
        }
        for (caller, sees) in [(nobody(), [true, false]), (holding(&["x", "z"]), [true, true])] {
            let a = bucket.read(&caller, b"p", b"a").await.unwrap();
            let b = bucket.read(&caller, b"p", b"b").await.unwrap();
            assert_eq!([a.is_some(), b.is_some()], sees);
        }
    })
    .await;
}

#[tokio::test]
async fn of_many_who_create_one_does() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..16_u8 {
            let bucket = bucket.clone();
            tasks.spawn(async move { put(&bucket, b"p", b"a", Previous::Absent, &[writer]).await });
        }
        let outcomes = tasks.join_all().await;
        let won = outcomes.iter().filter(|outcome| matches!(outcome, Committed::Done(_))).count();
        assert_eq!(won, 1);
        let stored = bucket.stored(b"p", b"a").await.unwrap();
        for outcome in outcomes {
            if matches!(outcome, Committed::Refused(_)) {
                assert_eq!(found(outcome), stored);
            }
        }
    })
    .await;
}
