//! The catalog where several processes share a backend, played by several catalogs over one engine in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use keyaki::bucket::revisions::{Content, Written};
use keyaki::bucket::{Caller, Demands, Request};
use keyaki::catalog::{
    ADMIN, Backend, Backends, BucketKind, BucketSettings, Catalog, Changed, DomainSpec, OpenBucket,
    Principal, Quota, ReplicationSetting, RevisionsOptions,
};
use keyaki::cell::visibility::Authorisations;
use keyaki::cell::{HybridClock, SystemWallClock};
use keyaki::engine::memory::MemoryEngine;
use keyaki::settings::StoreSettings;
use keyaki::store::Store;
use keyaki::{Kind, Result};

const DOMAIN: &str = "d.example";

/// A store that others write to as well.
struct Shared(Store);

#[async_trait]
impl Backend for Shared {
    async fn open(&self, _: &ReplicationSetting) -> Result<Store> {
        Ok(self.0.clone())
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// So many processes.
async fn processes<const N: usize>() -> [Catalog; N] {
    let clock = HybridClock::new(Arc::new(SystemWallClock));
    let engine = Arc::new(MemoryEngine::with_clock(keyaki::bucket::rules(), clock));
    let mut all = Vec::new();
    for node in 0..N as u64 {
        let store = Store::new(engine.clone(), StoreSettings::default(), node);
        let backend: Box<dyn Backend> = Box::new(Shared(store));
        let name = "cql/main";
        let backends = Backends::new(BTreeMap::from([(name.to_owned(), backend)]), name).unwrap();
        all.push(Catalog::open(backends).await.unwrap());
    }
    all.try_into().ok().unwrap()
}

fn admin() -> Principal {
    let roles = [ADMIN.to_owned()].into();
    Principal { user: Some(ADMIN.to_owned()), roles, ..Principal::default() }
}

async fn make(catalog: &Catalog, quota: Quota, buckets: &[(&str, Quota)]) {
    let new = (&Demands::default(), true);
    let spec = DomainSpec { quota, ..DomainSpec::default() };
    let made = catalog.put_domain(&admin(), DOMAIN, &spec, new).await.unwrap();
    assert!(matches!(made, Changed::Done(_)));
    for (name, quota) in buckets {
        let settings = BucketSettings {
            kind: BucketKind::Revisions(RevisionsOptions::default()),
            acl: None,
            quota: *quota,
            backend: None,
            replication: None,
        };
        let made = catalog.put_bucket(&admin(), (DOMAIN, name), &settings, new).await.unwrap();
        assert!(matches!(made, Changed::Done(_)));
    }
}

/// As a process has it that has heard of it.
async fn open(catalog: &Catalog, name: &str) -> Arc<OpenBucket> {
    loop {
        let snapshot = catalog.snapshot().await.unwrap();
        if let Some(entry) = snapshot.domains.get(DOMAIN).and_then(|d| d.buckets.get(name)) {
            return catalog.open_bucket(DOMAIN, entry).await.unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn put(bucket: &OpenBucket, key: &str, bytes: usize) -> Result<Written> {
    let caller = Caller { user: None, authorisations: Authorisations::none() };
    let request = Request { caller, demands: Demands::default(), operation: None };
    let content = Content {
        content_type: "text/plain".to_owned(),
        headers: BTreeMap::new(),
        visibility: String::new(),
        bytes: vec![b'x'; bytes],
    };
    bucket.revisions()?.put(&request, key, &content, false).await
}

/// Demands that nothing was written, for the quota of the one that is named.
#[track_caller]
fn assert_full(written: Result<Written>, of: &str) {
    let full = written.unwrap_err();
    assert_eq!((full.kind(), full.context("of")), (Kind::Full, Some(of)));
}

#[tokio::test]
async fn what_one_process_writes_takes_room_from_all() {
    let [one, other] = processes().await;
    let quota = Quota { items: Some(2), bytes: Some(100), ..Quota::default() };
    make(&one, Quota::default(), &[("b", quota)]).await;
    let (here, there) = (open(&one, "b").await, open(&other, "b").await);
    put(&here, "a", 10).await.unwrap();
    put(&there, "b", 10).await.unwrap();
    assert_full(put(&here, "c", 10).await, "bucket");
    assert_full(put(&there, "c", 10).await, "bucket");
    put(&here, "a", 50).await.unwrap();
    assert_full(put(&there, "b", 40).await, "bucket");
    put(&there, "b", 30).await.unwrap();
    assert_eq!((used(&one).await, used(&other).await), ((2, 100), (2, 100)));
}

#[tokio::test]
async fn a_domains_room_is_taken_by_all_its_buckets_everywhere() {
    let [one, other] = processes().await;
    let quota = Quota { bytes: Some(100), ..Quota::default() };
    make(&one, quota, &[("b", Quota::default()), ("c", Quota::default())]).await;
    let (here, there) = (open(&one, "b").await, open(&other, "c").await);
    put(&here, "a", 60).await.unwrap();
    assert_full(put(&there, "a", 60).await, "domain");
    put(&there, "a", 40).await.unwrap();
    assert_full(put(&here, "a", 1).await, "domain");
}

/// Items and bytes of the bucket, as a process knows them.
async fn used(catalog: &Catalog) -> (i64, i64) {
    let snapshot = catalog.snapshot().await.unwrap();
    let entry = &snapshot.domains[DOMAIN].buckets["b"];
    let (used, _) = catalog.used(DOMAIN, entry).await.unwrap();
    (used.items, used.bytes)
}
