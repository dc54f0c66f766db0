use std::sync::Arc;
use std::time::Duration;

use keyaki::Kind;
use keyaki::cell::Time;
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::engine::{BucketId, CellRef, Keep, RuleSpec, Rules, SpaceSpec, Swept, Verdict};
use keyaki::settings::EmbeddedSettings;
use keyaki::store::{BucketSpec, Change, Store};
use keyaki::testing::clock::FakeClock;

use super::{NOVEMBER_2023_US, create, done, nobody, on_each, settings};

#[tokio::test]
async fn buckets_made_at_once_get_different_ids() {
    on_each(async |ground| {
        let store = &ground.store;
        let make = || store.create_bucket(BucketSpec::default());
        let (a, b, c) = tokio::join!(make(), make(), make());
        let mut ids = [a, b, c].map(|bucket| bucket.unwrap().id());
        ids.sort_unstable();
        assert!(ids[0] < ids[1] && ids[1] < ids[2], "{ids:?}");
        let listed: Vec<_> = store.buckets().iter().map(|bucket| bucket.id()).collect();
        assert_eq!(listed, ids);
    })
    .await;
}

/// Keeps everything.
struct Everything;

impl Keep for Everything {
    fn judge(&self, _: &CellRef<'_>, _: Time) -> Verdict {
        Verdict::Keep
    }
}

#[tokio::test]
async fn a_space_that_cannot_be_swept_does_not_keep_others_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let wall = Arc::new(FakeClock::at(NOVEMBER_2023_US));
    let open = |rules| {
        let embedded = EmbeddedSettings::default();
        let engine = EmbeddedEngine::open_with_clock(dir.path(), &embedded, rules, wall.clone());
        Store::new(Arc::new(engine.unwrap()), settings(), 0)
    };
    let store = open(Rules::default().with_keep("mine", |_| Some(Arc::new(Everything))));
    let mine = SpaceSpec::home(BucketId(0), "first").keeping(RuleSpec::named("mine"));
    let kept = Some(Duration::from_secs(60));
    let spec = BucketSpec { spaces: vec![mine], changes_kept: kept, ..BucketSpec::default() };
    let bucket = store.create_bucket(spec).await.unwrap();
    let change = Change { item: "a".into(), ..Change::default() };
    done(bucket.commit(b"p", |draft| draft.change(&change, b"", b"")).await.unwrap());
    let changes = bucket.space("changes").unwrap();
    drop((bucket, store));

    wall.advance(Duration::from_secs(61));
    let store = open(Rules::default());
    assert_eq!(store.sweep().await.unwrap_err().kind(), Kind::Unsupported);
    assert_eq!(store.engine().sweep(changes).await.unwrap(), Swept::default(), "swept already");
}

#[tokio::test]
async fn a_dropped_bucket_is_gone_and_its_id_stays_taken() {
    on_each(async |ground| {
        let (kept, dropped) = (ground.bucket().await, ground.bucket().await);
        create(&kept, b"p", b"a", b"stays").await;
        create(&dropped, b"p", b"a", b"goes").await;
        ground.store.drop_bucket(dropped.id()).await.unwrap();

        assert_eq!(dropped.read(&nobody(), b"p", b"a").await.unwrap_err().kind(), Kind::NotFound);
        let missing = ground.store.bucket(dropped.id()).map(drop).unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        let ids = [kept.id(), dropped.id()];
        drop((kept, dropped));
        let [kept, dropped] = ids;

        let Some(ground) = ground.reopen() else { return };
        let listed: Vec<_> = ground.store.buckets().iter().map(|bucket| bucket.id()).collect();
        assert_eq!(listed, [kept]);
        let bucket = ground.store.bucket(kept).unwrap();
        assert_eq!(bucket.read(&nobody(), b"p", b"a").await.unwrap().unwrap(), b"stays");
        assert!(ground.bucket().await.id() > dropped);
    })
    .await;
}

#[tokio::test]
async fn own_spaces_are_found_by_label_also_later() {
    on_each(async |ground| {
        let sums = SpaceSpec::derived(BucketId(0), "sums").merging(RuleSpec::named("sum"));
        let spec = BucketSpec { spaces: vec![sums], ..BucketSpec::default() };
        let bucket = ground.store.create_bucket(spec).await.unwrap();
        let again = ground.store.bucket(bucket.id()).unwrap();
        assert_eq!(bucket.space("sums").unwrap(), again.space("sums").unwrap());
        assert_eq!(bucket.space("other").unwrap_err().kind(), Kind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn two_spaces_of_one_label_are_refused_and_nothing_is_made() {
    on_each(async |ground| {
        for labels in [vec!["mine", "mine"], vec!["primary"], vec!["quarantine"]] {
            let space = |label: &&str| SpaceSpec::derived(BucketId(0), *label);
            let spaces = labels.iter().map(space).collect();
            let spec = BucketSpec { spaces, ..BucketSpec::default() };
            let refused = ground.store.create_bucket(spec).await.map(drop).unwrap_err();
            assert_eq!(refused.kind(), Kind::Invalid);
        }
        assert!(ground.store.engine().spaces().is_empty());
    })
    .await;
}
