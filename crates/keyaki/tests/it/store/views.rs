use std::ops::Bound;

use keyaki::cell::Value;
use keyaki::cell::parts::Parts;
use keyaki::cell::visibility::Authorisations;
use keyaki::store::{Bucket, PageRequest, View};

use super::{done, holding, nobody, on_each};

fn view() -> View {
    View::named("by name")
}

fn key(text: &str) -> Vec<u8> {
    Parts::new().bytes(text.as_bytes()).into_bytes()
}

async fn add(bucket: &Bucket, text: &str, owner: &str, visibility: &str) {
    let value = Value::visible_to(visibility.as_bytes(), text.as_bytes());
    let add = bucket.commit(owner.as_bytes(), |draft| {
        draft.add_entry(&view(), &key(text), owner.as_bytes(), value)
    });
    done(add.await.unwrap());
}

async fn remove(bucket: &Bucket, text: &str, owner: &str) {
    let remove = bucket.commit(owner.as_bytes(), |draft| {
        draft.remove_entry(&view(), &key(text), owner.as_bytes())
    });
    done(remove.await.unwrap());
}

/// Every page from `request` on, as texts.
async fn pages(bucket: &Bucket, caller: &Authorisations, request: PageRequest) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut request = request;
    loop {
        let page = bucket.page(caller, &view(), &request).await.unwrap();
        let text = |payload: &Vec<u8>| String::from_utf8(payload.clone()).unwrap();
        pages.push(page.entries.iter().map(|entry| text(&entry.payload)).collect());
        let Some(next) = page.next else { return pages };
        request = request.after(next);
    }
}

async fn filled(ground: &super::Ground, visibility: impl Fn(usize) -> &'static str) -> Bucket {
    let bucket = ground.bucket().await;
    // Not in order, so that order is the view's own doing.
    for number in (0..25).map(|number| number * 7 % 25) {
        add(&bucket, &format!("{number:02}"), &format!("o{number}"), visibility(number)).await;
    }
    bucket
}

fn texts(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("{number:02}")).collect()
}

#[tokio::test]
async fn pages_go_both_ways() {
    on_each(async |ground| {
        let bucket = filled(&ground, |_| "").await;
        for limit in [1, 4, 24, 25, 26] {
            let forward = pages(&bucket, &nobody(), PageRequest::first(limit)).await;
            assert_eq!(forward.concat(), texts(0..25));
            assert_eq!(forward.len(), 25_usize.div_ceil(limit));
            let backward = pages(&bucket, &nobody(), PageRequest::first(limit).backward()).await;
            assert_eq!(backward.concat(), texts((0..25).rev()));
            assert!(backward.iter().rev().skip(1).all(|page| page.len() == limit));
        }
        // A page of nothing could never go on.
        assert_eq!(pages(&bucket, &nobody(), PageRequest::first(0)).await.len(), 25);
        let empty = View::named("by nam");
        let page = bucket.page(&nobody(), &empty, &PageRequest::first(5)).await.unwrap();
        assert!(page.entries.is_empty() && page.next.is_none());
    })
    .await;
}

#[tokio::test]
async fn hidden_entries_do_not_shorten_pages() {
    on_each(async |ground| {
        let bucket = filled(&ground, |number| if number % 3 == 0 { "" } else { "secret" }).await;
        let open: Vec<_> = (0..25).step_by(3).collect();
        for request in [PageRequest::first(4), PageRequest::first(4).backward()] {
            let pages = pages(&bucket, &nobody(), request.clone()).await;
            let lengths: Vec<_> = pages.iter().map(Vec::len).collect();
            assert_eq!(lengths, [4, 4, 1]);
            let mut seen = pages.concat();
            seen.sort();
            assert_eq!(seen, texts(open.iter().copied()));
        }
        // What follows a full page is hidden, so nothing says that more is there.
        let page = bucket.page(&nobody(), &view(), &PageRequest::first(9)).await.unwrap();
        assert_eq!((page.entries.len(), page.next), (9, None));
        let all = pages(&bucket, &holding(&["secret"]), PageRequest::first(10)).await;
        assert_eq!(all.concat(), texts(0..25));
    })
    .await;
}

#[tokio::test]
async fn bounds_hold_in_both_directions() {
    on_each(async |ground| {
        let bucket = filled(&ground, |_| "").await;
        let bound = |text: &str| key(text);
        for (from, to, expected) in [
            (Bound::Included(bound("03")), Bound::Included(bound("05")), vec![3, 4, 5]),
            (Bound::Excluded(bound("03")), Bound::Included(bound("05")), vec![4, 5]),
            (Bound::Included(bound("03")), Bound::Excluded(bound("05")), vec![3, 4]),
            (Bound::Excluded(bound("03")), Bound::Excluded(bound("05")), vec![4]),
            (Bound::Excluded(bound("22")), Bound::Unbounded, vec![23, 24]),
            (Bound::Unbounded, Bound::Excluded(bound("02")), vec![0, 1]),
            (Bound::Included(bound("05")), Bound::Included(bound("03")), vec![]),
        ] {
            for limit in [1, 2, 100] {
                let request =
                    PageRequest { from: from.clone(), to: to.clone(), ..PageRequest::first(limit) };
                let forward = pages(&bucket, &nobody(), request.clone()).await;
                assert_eq!(forward.concat(), texts(expected.iter().copied()));
                let backward = pages(&bucket, &nobody(), request.backward()).await;
                assert_eq!(backward.concat(), texts(expected.iter().rev().copied()));
            }
        }
        // Nothing sorts beyond a key of the highest bytes, though entries under it do.
        let highest = [0xff; 2];
        let last = bucket
            .commit(b"o", |draft| draft.add_entry(&view(), &highest, b"o", Value::open(b"last")));
        done(last.await.unwrap());
        let beyond =
            PageRequest { from: Bound::Excluded(highest.to_vec()), ..PageRequest::first(9) };
        for request in [beyond.clone(), beyond.backward()] {
            assert!(pages(&bucket, &nobody(), request).await.concat().is_empty());
        }
        let prefix = Parts::new().bytes_prefix(b"2");
        let request = PageRequest::first(2).with_prefix(&prefix);
        assert_eq!(pages(&bucket, &nobody(), request.clone()).await.concat(), texts(20..25));
        let backward = pages(&bucket, &nobody(), request.backward()).await;
        assert_eq!(backward.concat(), texts((20..25).rev()));
    })
    .await;
}

#[tokio::test]
async fn reading_goes_on_where_it_stopped_whatever_happens_meanwhile() {
    on_each(async |ground| {
        let bucket = filled(&ground, |_| "").await;
        let first = bucket.page(&nobody(), &view(), &PageRequest::first(10)).await.unwrap();
        let next = first.next.unwrap();
        // The entry that the position names goes; others come on both sides of it.
        remove(&bucket, "09", "o9").await;
        add(&bucket, "08.5", "late", "").await;
        add(&bucket, "10.5", "late", "").await;
        remove(&bucket, "12", "o12").await;
        let rest = pages(&bucket, &nobody(), PageRequest::first(4).after(next)).await.concat();
        let expected: Vec<_> = ["10", "10.5", "11"].map(String::from).to_vec();
        assert_eq!(rest[..3], expected);
        assert_eq!(rest[3..], texts(13..25));
    })
    .await;
}

#[tokio::test]
async fn one_key_may_have_many_owners() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        for owner in ["c", "a", "b", "a\0"] {
            add(&bucket, "same", owner, "").await;
            add(&bucket, "samest", owner, "").await;
        }
        let request = PageRequest::first(3);
        let (mut owners, mut request) = (Vec::new(), request);
        loop {
            let page = bucket.page(&nobody(), &view(), &request).await.unwrap();
            for entry in page.entries {
                assert_eq!(entry.owner.space, bucket.primary());
                assert_eq!(entry.owner.partition, entry.owner.sort);
                owners.push((entry.key, String::from_utf8(entry.owner.sort).unwrap()));
            }
            let Some(next) = page.next else { break };
            request = request.after(next);
        }
        let keys = [key("same"), key("samest")];
        let expected: Vec<_> = keys
            .into_iter()
            .flat_map(|key| ["a", "a\0", "b", "c"].map(|owner| (key.clone(), owner.to_owned())))
            .collect();
        assert_eq!(owners, expected);
        remove(&bucket, "same", "b").await;
        assert_eq!(pages(&bucket, &nobody(), PageRequest::first(9)).await.concat().len(), 7);
    })
    .await;
}
