//! Large values: beyond what one transaction of the cluster takes, and whole for whoever sees their head, even if their
//! chunks trail.

use std::sync::Arc;

use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{SystemWallClock, Value};
use keyaki::engine::Rules;
use keyaki::settings::CqlSettings;
use keyaki::store::{Bucket, BucketSpec, Committed, Previous};

use super::proxy::{Fate, Proxy};
use super::{Keyspaces, nodes, open, patiently, shared, store_on};

/// Cassandra takes 16 MiB in one change of a partition.
const LARGE: usize = 20 << 20;
/// A few chunks.
const MIDDLING: usize = 2 << 20;

fn content(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 ^ salt).collect()
}

async fn put(bucket: &Bucket, content: &[u8]) {
    let stored = patiently(|| bucket.stored(b"p", b"large")).await;
    let previous = stored.as_deref().map_or(Previous::Absent, Previous::Stored);
    let put = bucket.commit(b"p", |draft| draft.put(b"large", previous, Value::open(content)));
    assert!(matches!(put.await.unwrap(), Committed::Done(_)));
}

async fn read(bucket: &Bucket) -> Vec<u8> {
    let nobody = Authorisations::none();
    patiently(|| bucket.read(&nobody, b"p", b"large")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_a_large_value_is_whole_as_soon_as_its_head_is_there() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let near = keyspaces.open(settings.clone());
    let reader = store_on(&near, 1).create_bucket(BucketSpec::default()).await.unwrap();
    put(&reader, &content(LARGE, 0)).await;
    assert!(read(&reader).await == content(LARGE, 0), "not what was written");

    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings };
    let far = open(proxied, Rules::default(), Arc::new(SystemWallClock));
    patiently(|| far.connect()).await;
    let writer = store_on(&far, 2).bucket(reader.id()).unwrap();
    // Nothing that the writer sends behind the decision arrives: neither the new chunks, nor that the old ones go.
    let mut decided = false;
    proxy.judge(move |request| match decided {
        true => Fate::Refuse,
        false => {
            decided = request.decides();
            Fate::Pass
        }
    });
    put(&writer, &content(MIDDLING, 1)).await;
    assert!(read(&reader).await == content(MIDDLING, 1), "chunks are missing");
    proxy.let_pass();
    patiently(|| far.close()).await;
    assert_eq!(near.settle().await.unwrap(), 0, "an intent was left");
    keyspaces.drop_all().await;
}
