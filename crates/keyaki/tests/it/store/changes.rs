use std::sync::mpsc;
use std::time::Duration;

use keyaki::cell::{Tid, Time};
use keyaki::engine::Outcome;
use keyaki::store::{Bucket, Change, ChangePage};
use keyaki::testing::clock::FakeClock;

use super::{done, holding, nobody, on_each};

fn change(item: &str) -> Change {
    Change { item: item.to_owned(), action: "put".to_owned(), ..Change::default() }
}

/// Records changes of some items in one commit.
async fn record(bucket: &Bucket, partition: &[u8], items: &[&str]) -> Tid {
    let record = bucket.commit(partition, |draft| {
        items.iter().try_for_each(|item| draft.change(&change(item), b"", b""))
    });
    done(record.await.unwrap())
}

fn items(page: &ChangePage) -> Vec<&str> {
    page.changes.iter().map(|record| record.change.item.as_str()).collect()
}

#[tokio::test]
async fn changes_come_in_order_and_a_page_never_splits_a_commit() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let mut ids = Vec::new();
        for number in 0..5 {
            let (a, b) = (format!("{number}a"), format!("{number}b"));
            let partition = [(7 * number) as u8];
            ids.push(record(&bucket, &partition, &[&a, &b]).await);
        }
        let page = bucket.changes(&nobody(), None, 100).await.unwrap();
        let all = ["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"];
        assert_eq!((items(&page), page.more), (all.to_vec(), false));
        assert_eq!(page.changes[4].id, ids[2]);
        assert_eq!(page.changes[4].owner.partition, [14]);

        for (limit, whole) in [(1, 2), (2, 2), (3, 4), (4, 4), (9, 10)] {
            let mut since = None;
            let mut read = Vec::new();
            loop {
                let page = bucket.changes(&nobody(), since, limit).await.unwrap();
                assert!(page.changes.len() <= whole);
                read.extend(page.changes.iter().map(|record| record.change.item.clone()));
                since = Some(page.next);
                if !page.more {
                    break;
                }
            }
            assert_eq!(read, all, "{limit}");
            record_nothing_more(&bucket, since).await;
        }
        let page = bucket.changes(&nobody(), Some(ids[2]), 100).await.unwrap();
        assert_eq!(items(&page), all[6..]);
    })
    .await;
}

async fn record_nothing_more(bucket: &Bucket, since: Option<Tid>) {
    let page = bucket.changes(&nobody(), since, 100).await.unwrap();
    assert_eq!(items(&page), [""; 0]);
}

#[tokio::test]
async fn a_reader_finds_what_is_far_behind() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let ids = record_far_apart(&bucket, &ground.wall).await;
        demand_what_is_far_behind(&bucket, &ids).await;
    })
    .await;
}

/// Changes with long times between them.
pub async fn record_far_apart(bucket: &Bucket, wall: &FakeClock) -> Vec<Tid> {
    let mut ids = vec![record(bucket, b"p", &["0"]).await];
    for (hours, item) in [(5, "1"), (24 * 365, "2"), (0, "3"), (26, "4")] {
        wall.advance(Duration::from_secs(3600 * hours));
        ids.push(record(bucket, b"p", &[item]).await);
    }
    ids
}

/// Whoever comes long after finds all of them.
pub async fn demand_what_is_far_behind(bucket: &Bucket, ids: &[Tid]) {
    let all = ["0", "1", "2", "3", "4"];
    let page = bucket.changes(&nobody(), None, 100).await.unwrap();
    assert_eq!(items(&page), all);
    for (at, id) in ids.iter().enumerate() {
        let page = bucket.changes(&nobody(), Some(*id), 100).await.unwrap();
        assert_eq!(items(&page), all[at + 1..]);
    }
    // As old as can be; looking at every hour since 1970 would take its time.
    let page = bucket.changes(&nobody(), Some(Tid::new(Time::ZERO, 0)), 100).await.unwrap();
    assert_eq!(items(&page), all);
}

#[tokio::test]
async fn a_change_needs_both_its_old_and_its_new_visibility() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        for (item, before, after) in [("open", "", ""), ("to b", "a", "b"), ("from a", "a", "")] {
            let (before, after) = (before.as_bytes(), after.as_bytes());
            let change = change(item);
            let record = bucket.commit(b"p", |draft| draft.change(&change, before, after));
            done(record.await.unwrap());
        }
        for (caller, sees) in [
            (holding(&[]), vec!["open"]),
            (holding(&["a"]), vec!["open", "from a"]),
            (holding(&["b"]), vec!["open"]),
            (holding(&["a", "b"]), vec!["open", "to b", "from a"]),
        ] {
            let page = bucket.changes(&caller, None, 100).await.unwrap();
            assert_eq!(items(&page), sees, "{caller:?}");
            // Going on from here never shows what was hidden, nor anything twice.
            let page = bucket.changes(&caller, Some(page.next), 100).await.unwrap();
            assert_eq!(items(&page), [""; 0]);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_undecided_commit_is_passed_by() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let before = record(&bucket, b"p", &["before"]).await;
        let (stamped, is_stamped) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let slow = tokio::spawn({
            let bucket = bucket.clone();
            async move {
                let commit = bucket.commit(b"slow", move |draft| {
                    stamped.send(draft.tid()).unwrap();
                    let _ = may_go_on.recv();
                    draft.change(&change("slow"), b"", b"")
                });
                done(commit.await.unwrap())
            }
        });
        let slow_tid = is_stamped.recv().unwrap();
        let fast_tid = record(&bucket, b"fast", &["fast"]).await;
        assert!(slow_tid < fast_tid);

        let page = bucket.changes(&nobody(), None, 100).await.unwrap();
        assert_eq!((items(&page), page.more), (vec!["before"], false));
        assert!(before <= page.next && page.next < slow_tid);
        // Whoever is ahead already stays there.
        let ahead = bucket.changes(&nobody(), Some(fast_tid), 100).await.unwrap();
        assert_eq!((items(&ahead), ahead.next), (vec![], fast_tid));

        drop(go_on);
        let took = slow.await.unwrap();
        let page = bucket.changes(&nobody(), Some(page.next), 100).await.unwrap();
        // Stamped anew if the two partitions share a slot of the embedded engine's writer.
        let expected = if took == slow_tid { ["slow", "fast"] } else { ["fast", "slow"] };
        assert_eq!(items(&page), expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_knows_that_a_commit_took_finds_its_change() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let mut since = None;
        for number in 0..300 {
            let item = number.to_string();
            record(&bucket, item.as_bytes(), &[&item]).await;
            let page = bucket.changes(&nobody(), since, 100).await.unwrap();
            assert_eq!(items(&page), [&item]);
            since = Some(page.next);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_follower_sees_every_change_once_and_in_order() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..8_u8 {
            let bucket = bucket.clone();
            writers.spawn(async move {
                for number in 0..40 {
                    record(&bucket, &[writer, number % 3], &[&format!("{writer}-{number}")]).await;
                }
            });
        }
        let (mut since, mut read) = (None, Vec::new());
        while read.len() < 320 {
            let over = writers.is_empty();
            let page = bucket.changes(&nobody(), since, 7).await.unwrap();
            read.extend(page.changes.iter().map(|record| (record.id, record.change.item.clone())));
            since = Some(page.next);
            assert!(!over || page.more || read.len() == 320, "{} changes", read.len());
            while writers.try_join_next().is_some() {}
        }
        assert!(read.is_sorted());
        read.dedup();
        assert_eq!(read.len(), 320);
    })
    .await;
}

#[tokio::test]
async fn records_that_are_kept_for_a_while_go() {
    use keyaki::store::BucketSpec;
    on_each(async |ground| {
        let day = Duration::from_secs(24 * 3600);
        let spec = BucketSpec { changes_kept: Some(day), ..BucketSpec::default() };
        let bucket = ground.store.create_bucket(spec).await.unwrap();
        record(&bucket, b"p", &["old"]).await;
        ground.wall.advance(day - Duration::from_secs(1));
        record(&bucket, b"p", &["new"]).await;
        let page = bucket.changes(&nobody(), None, 100).await.unwrap();
        assert_eq!(items(&page), ["old", "new"]);
        ground.wall.advance(Duration::from_secs(1));
        let page = bucket.changes(&nobody(), None, 100).await.unwrap();
        assert_eq!(items(&page), ["new"]);
        let swept = ground.store.engine().sweep(bucket.space("changes").unwrap()).await.unwrap();
        assert_eq!((swept.expired, swept.invalid), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_position_is_never_beyond_the_newest_commit() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let newest = record(&bucket, b"p", &["before"]).await;
        ground.wall.advance(Duration::from_secs(3600));
        let position = bucket.changes(&nobody(), None, 100).await.unwrap().next;
        assert_eq!(position.time(), newest.time());
        let id = bucket.id();
        drop(bucket);
        // The clock goes on from the newest commit, so that a wall clock set back changes nothing.
        let Some(ground) = ground.reopen() else { return };
        ground.wall.jump_back(Duration::from_secs(2 * 3600));
        let bucket = ground.store.bucket(id).unwrap();
        let unchanged = bucket.changes(&nobody(), Some(position), 100).await.unwrap();
        assert_eq!((items(&unchanged), unchanged.next), (vec![], position));
        record(&bucket, b"q", &["after"]).await;
        let page = bucket.changes(&nobody(), Some(position), 100).await.unwrap();
        assert_eq!(items(&page), ["after"]);
    })
    .await;
}

#[tokio::test]
async fn a_reader_does_not_hold_writers_back() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        // Reading moves the clock on; commits that follow are still later.
        for number in 0..10 {
            let page = bucket.changes(&nobody(), None, 100).await.unwrap();
            let tid = record(&bucket, b"p", &[&number.to_string()]).await;
            assert!(tid > page.next);
        }
        let engine = bucket.store().engine();
        let home = keyaki::engine::Home { bucket: bucket.id(), partition: b"p".to_vec() };
        let stale = keyaki::engine::Commit::new(home, Tid::new(Time::ZERO, 0));
        assert_eq!(engine.commit(stale).await.unwrap(), Outcome::Stale);
    })
    .await;
}
