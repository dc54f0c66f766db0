//! Commits whose dependents lie in spaces that the process which finishes them has not heard of.

use std::sync::Arc;

use keyaki::cell::{SystemWallClock, Value, ValueRef};
use keyaki::engine::{Engine, Rules, SpaceSpec, Write};
use keyaki::settings::CqlSettings;
use keyaki::store::{Bucket, BucketSpec, Committed, Draft, Previous};

use super::proxy::{Fate, Proxy};
use super::{Keyspaces, nodes, open, patiently, shared, store_on};

/// The list of spaces is looked at twice a second, which may be just in time now and then.
const TIMES: u8 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_what_follows_in_a_space_just_made_is_finished_by_others() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh_and_punctual();
    let near = keyspaces.open(settings.clone());
    let bucket = store_on(&near, 1);
    let bucket = patiently(|| bucket.create_bucket(BucketSpec::default())).await;
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings };
    let far = open(proxied, Rules::default(), Arc::new(SystemWallClock));
    patiently(|| far.connect()).await;
    let far_bucket = store_on(&far, 2).bucket(bucket.id()).unwrap();
    for time in 0..TIMES {
        let spec = SpaceSpec::derived(bucket.id(), format!("made {time}"));
        let made = patiently(|| far.create_space(spec.clone())).await;
        // Nothing that is sent behind the decision arrives: the process might as well be dead.
        let mut decided = false;
        proxy.judge(move |request| match decided {
            true => Fate::never(),
            false => {
                decided = request.decides();
                Fate::Pass
            }
        });
        let far_put = tokio::spawn({
            let bucket = far_bucket.clone();
            async move {
                let follow = |draft: &mut Draft<'_>| {
                    draft.dependent(made, b"d", b"s", Write::Put(Value::open(b"followed")));
                };
                put(&bucket, &[time], b"far", follow).await;
            }
        });
        let partition = [time];
        while patiently(|| bucket.stored(&partition, b"far")).await.is_none() {}
        put(&bucket, &[time], b"near", |_| ()).await;
        let stored = patiently(|| near.read(made, b"d", b"s")).await;
        let followed = stored.as_deref().map(|stored| ValueRef::decode(stored).unwrap().payload);
        assert_eq!(followed, Some(&b"followed"[..]), "time {time}");
        proxy.let_pass();
        far_put.await.unwrap();
    }
    patiently(|| far.close()).await;
    keyspaces.drop_all().await;
}

async fn put(bucket: &Bucket, home: &[u8], sort: &[u8], more: impl Fn(&mut Draft<'_>) + Sync) {
    let put = bucket.commit(home, |draft| {
        more(draft);
        draft.put(sort, Previous::Absent, Value::open(b"here"))
    });
    assert!(matches!(put.await.unwrap(), Committed::Done(_)));
}
