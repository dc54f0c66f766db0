use std::time::Duration;

use keyaki::cell::{Tid, Time, Value};
use keyaki::store::{Bucket, BucketSpec, Change, Committed, Operation, Previous};
use keyaki::{Kind, Result};

use super::{Ground, NOVEMBER_2023_US, cells, done, found, on_each};

const HOUR: Duration = Duration::from_secs(3600);

fn operation(id: &str) -> Operation {
    Operation {
        caller: "ana".into(),
        action: "create".into(),
        id: id.into(),
        sequence: 0,
        parameters: b"{}".to_vec(),
    }
}

async fn bucket(ground: &Ground) -> Bucket {
    let spec = BucketSpec { replay_window: Some(HOUR), ..BucketSpec::default() };
    ground.store.create_bucket(spec).await.unwrap()
}

/// Writes a primary under a key of its own, so that only the digest can refuse it.
async fn run(bucket: &Bucket, operation: &Operation, sort: &[u8]) -> Result<Committed> {
    let run = bucket.commit(b"p", |draft| {
        draft.put(sort, Previous::Absent, Value::open(b"made"))?;
        draft.change(&Change { item: "a".into(), ..Change::default() }, b"", b"")?;
        draft.remember(operation, &[b"made ", sort].concat())
    });
    run.await
}

#[tokio::test]
async fn a_repeat_changes_nothing_and_gets_the_first_answer() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        let first = done(run(&bucket, &operation("1"), b"a").await.unwrap());
        for sort in [b"a", b"b"] {
            let again = run(&bucket, &operation("1"), sort).await.unwrap();
            let answer = b"made a".to_vec();
            assert_eq!(again, Committed::Replayed { tid: first, answer });
            assert_eq!(again.tid().unwrap(), first);
        }
        assert_eq!([cells(&bucket, "primary").await, cells(&bucket, "changes").await], [1, 1]);
    })
    .await;
}

#[tokio::test]
async fn repeats_at_once_are_one() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8_u8 {
            let bucket = bucket.clone();
            tasks.spawn(async move { run(&bucket, &operation("1"), &[task]).await.unwrap() });
        }
        let outcomes = tasks.join_all().await;
        let first = outcomes.iter().find(|one| matches!(one, Committed::Done(_))).unwrap();
        for outcome in &outcomes {
            assert_eq!(outcome.tid().unwrap(), first.tid().unwrap());
        }
        assert_eq!(cells(&bucket, "primary").await, 1);
    })
    .await;
}

#[tokio::test]
async fn whatever_differs_is_another_operation() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        let base = operation("1");
        let others = [
            base.clone(),
            Operation { caller: "ben".into(), ..base.clone() },
            Operation { action: "replace".into(), ..base.clone() },
            Operation { id: "2".into(), ..base.clone() },
            Operation { sequence: 1, ..base.clone() },
            Operation { parameters: b"{\"a\":1}".to_vec(), ..base.clone() },
            // Parts don't run into each other.
            Operation { caller: "an".into(), action: "acreate".into(), ..base.clone() },
        ];
        for (number, other) in others.iter().enumerate() {
            done(run(&bucket, other, &[number as u8]).await.unwrap());
        }
        assert_eq!(cells(&bucket, "replay").await, others.len());
    })
    .await;
}

#[tokio::test]
async fn a_refused_operation_is_not_remembered() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        done(run(&bucket, &operation("1"), b"a").await.unwrap());
        assert!(found(run(&bucket, &operation("2"), b"a").await.unwrap()).is_some());
        done(run(&bucket, &operation("2"), b"b").await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn an_operation_is_forgotten_after_the_window() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        done(run(&bucket, &operation("1"), b"a").await.unwrap());
        ground.wall.advance(HOUR - Duration::from_secs(1));
        let again = run(&bucket, &operation("1"), b"b").await.unwrap();
        assert!(matches!(again, Committed::Replayed { .. }), "{again:?}");
        ground.wall.advance(Duration::from_secs(1));
        done(run(&bucket, &operation("1"), b"b").await.unwrap());
        let again = run(&bucket, &operation("1"), b"c").await.unwrap();
        assert!(matches!(again, Committed::Replayed { .. }), "{again:?}");
    })
    .await;
}

#[tokio::test]
async fn the_window_is_known_to_a_bucket_found_later() {
    on_each(async |ground| {
        let id = bucket(&ground).await.id();
        let bucket = ground.store.bucket(id).unwrap();
        let late = Tid::new(Time::from_micros(NOVEMBER_2023_US - 3_600_000_000), 1).to_string();
        let refused = run(&bucket, &operation(&late), b"a").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Invalid);
    })
    .await;
}

#[tokio::test]
async fn an_id_that_tells_an_age_beyond_the_window_is_refused() {
    on_each(async |ground| {
        let bucket = bucket(&ground).await;
        let millis = NOVEMBER_2023_US / 1000;
        // Five minutes of the hour are for callers whose clocks are ahead of ours.
        let (late, on_time) = (millis - 3_300_000, millis - 3_299_000);
        let (ahead, future) = (millis + 300_000, millis + 301_000);
        // Any UUIDv7, however its maker filled it, and however it is spelled.
        let spellings = |millis: u64| {
            let time = format!("{:08x}-{:04x}", millis >> 16, millis & 0xffff);
            [
                format!("{time}-7000-8000-000000000000"),
                format!("{time}-7fff-bfff-ffffffffffff"),
                format!("{time}-7abc-8000-0000deadbeef").to_uppercase(),
            ]
        };
        for id in spellings(late) {
            let refused = run(&bucket, &operation(&id), id.as_bytes()).await.unwrap_err();
            assert_eq!(refused.message(), "operation id is older than the replay window");
        }
        for id in spellings(future) {
            let refused = run(&bucket, &operation(&id), id.as_bytes()).await.unwrap_err();
            assert_eq!(refused.message(), "operation id is from the future");
        }
        for id in spellings(on_time).into_iter().chain(spellings(ahead)) {
            done(run(&bucket, &operation(&id), id.as_bytes()).await.unwrap());
        }
        // Another version tells another time, or none.
        let random = "018bcfe5-6800-4000-8000-000000000000";
        done(run(&bucket, &operation(random), b"random").await.unwrap());
    })
    .await;
}
