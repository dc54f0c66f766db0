use keyaki::cell::ValueRef;
use keyaki::store::{Bucket, Committed, Owner};

use super::{create, done, found, on_each};

async fn claim(bucket: &Bucket, partition: &[u8], name: &[u8]) -> Committed {
    let claim = bucket.commit(partition, |draft| {
        draft.claim(name, b"item");
        Ok(())
    });
    claim.await.unwrap()
}

async fn release(bucket: &Bucket, partition: &[u8], name: &[u8]) -> Committed {
    let release = bucket.commit(partition, |draft| {
        draft.release(name, b"item");
        Ok(())
    });
    release.await.unwrap()
}

#[tokio::test]
async fn a_name_has_one_owner_across_partitions() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        for partition in [b"p", b"q"] {
            create(&bucket, partition, b"item", b"").await;
        }
        let (p, q) = tokio::join!(claim(&bucket, b"p", b"name"), claim(&bucket, b"q", b"name"));
        let (winner, loser, refused) = match (&p, &q) {
            (Committed::Done(_), _) => (b"p", b"q", q),
            _ => (b"q", b"p", p),
        };
        let owner = found(refused).unwrap();
        let owner = Owner::decode(ValueRef::decode(&owner).unwrap().payload).unwrap();
        let expected =
            Owner { space: bucket.primary(), partition: winner.to_vec(), sort: b"item".to_vec() };
        assert_eq!(owner, expected);

        done(claim(&bucket, winner, b"name").await);
        assert!(found(release(&bucket, loser, b"name").await).is_some());
        done(release(&bucket, winner, b"name").await);
        done(claim(&bucket, loser, b"name").await);
        assert!(found(claim(&bucket, winner, b"name").await).is_some());
    })
    .await;
}

#[tokio::test]
async fn a_name_that_nobody_has_can_be_given_back() {
    on_each(async |ground| {
        let bucket = ground.bucket().await;
        done(release(&bucket, b"p", b"name").await);
        done(claim(&bucket, b"q", b"name").await);
    })
    .await;
}
