use keyaki::cell::Value;
use keyaki::store::{Bucket, Previous};

use super::{CHUNK_BYTES, cells, done, nobody, on_each, put};

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

async fn replace(bucket: &Bucket, length: usize) {
    let stored = bucket.stored(b"p", b"a").await.unwrap();
    let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
    done(put(bucket, b"p", b"a", previous, &pattern(length)).await);
}

#[tokio::test]
async fn a_large_value_takes_its_chunks_with_it() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        // A neighbour whose key begins alike must keep its own.
        done(put(&bucket, b"p", b"a\0", Previous::Absent, &pattern(25)).await);
        for (length, chunks) in
            [(35, 4), (12, 2), (11, 2), (20, 2), (CHUNK_BYTES, 0), (0, 0), (1_000, 100), (35, 4)]
        {
            replace(&bucket, length).await;
            assert_eq!(cells(&bucket, "chunks").await, chunks + 3, "{length}");
            let read = bucket.read(&nobody(), b"p", b"a").await.unwrap();
            assert_eq!(read, Some(pattern(length)));
        }
        let stored = bucket.stored(b"p", b"a").await.unwrap().unwrap();
        assert!(stored.len() < 35, "only the head");
        done(bucket.commit(b"p", |draft| draft.remove(b"a", &stored)).await.unwrap());
        assert_eq!(cells(&bucket, "chunks").await, 3);
        assert_eq!(bucket.read(&nobody(), b"p", b"a").await.unwrap(), None);
        assert_eq!(bucket.read(&nobody(), b"p", b"a\0").await.unwrap(), Some(pattern(25)));
    })
    .await;
}

#[tokio::test]
async fn a_hidden_large_value_is_absent() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        let content = pattern(35);
        let value = Value::visible_to(b"secret", &content);
        let put = bucket.commit(b"p", |draft| draft.put(b"a", Previous::Absent, value));
        done(put.await.unwrap());
        assert_eq!(bucket.read(&nobody(), b"p", b"a").await.unwrap(), None);
        let caller = super::holding(&["secret"]);
        assert_eq!(bucket.read(&caller, b"p", b"a").await.unwrap(), Some(content));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_of_a_value_being_replaced_see_one_version() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        replace(&bucket, 95).await;
        let writer = tokio::spawn({
            let bucket = bucket.clone();
            async move {
                for round in 0..150 {
                    replace(&bucket, 15 + round * 13 % 200).await;
                }
            }
        });
        let mut reads = 0;
        while !writer.is_finished() || reads == 0 {
            let read = bucket.read(&nobody(), b"p", b"a").await.unwrap().unwrap();
            assert_eq!(read, pattern(read.len()));
            reads += 1;
        }
        writer.await.unwrap();
    })
    .await;
}
