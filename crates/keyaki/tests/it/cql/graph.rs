//! Graphs on a cluster: the cases of the other engines, all in one keyspace, each in a bucket of its own.

use std::sync::Arc;

use keyaki::bucket::graph::rules;
use keyaki::engine::Rules;
use keyaki::engine::cql::CqlEngine;
use keyaki::store::Store;
use keyaki::testing::clock::FakeClock;
use keyaki::testing::graph::Package;
use tokio::runtime::Runtime;

use super::{CLUSTER, Keyspaces, open, patiently, store_on};
use crate::graph::stored::{Case, Stored, runtime};
use crate::graph::{NOW_MS, check, gaffer, ingest, rules as judged, stored};

/// A store on the cluster, and what it stands on.
struct Clustered {
    runtime: Arc<Runtime>,
    keyspaces: Keyspaces,
    engine: Arc<CqlEngine>,
    store: Store,
    wall: Arc<FakeClock>,
}

impl Clustered {
    fn new() -> Self {
        let (runtime, keyspaces) = (runtime(), Keyspaces::new());
        let wall = Arc::new(FakeClock::at(NOW_MS as u64 * 1000));
        let _inside = runtime.enter();
        let engine = open(keyspaces.fresh(), rules(Rules::default()), wall.clone());
        let store = store_on(&engine, 1);
        drop(_inside);
        Self { runtime, keyspaces, engine, store, wall }
    }

    fn place(&self) -> (Arc<Runtime>, &Store, Arc<FakeClock>) {
        (self.runtime.clone(), &self.store, self.wall.clone())
    }

    /// Tries cases, and drops all that they left.
    fn run(self, cases: &[&[Case]]) {
        for (schemas, case) in cases.iter().copied().flatten() {
            for schema in *schemas {
                let place = self.place();
                case(&Stored::within(place, &schema(), Package::ByteEntity, &[]).unwrap());
            }
        }
        self.end();
    }

    fn end(self) {
        self.runtime.block_on(async {
            patiently(|| self.engine.close()).await;
            self.keyspaces.drop_all().await;
        });
    }
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_graphs_count_once_fold_delete_and_erase() {
    let _cluster = CLUSTER.blocking_read();
    Clustered::new().run(&[check::CASES, ingest::CASES, stored::CASES, judged::CASES]);
}

#[test]
#[ignore = "needs KEYAKI_CQL"]
fn cql_graphs_answer_as_gaffer_does() {
    let _cluster = CLUSTER.blocking_read();
    let clustered = Clustered::new();
    gaffer::all_cases(&[Package::ByteEntity], &|schema, package, auths| {
        Ok(Box::new(Stored::within(clustered.place(), schema, package, auths)?))
    });
    clustered.end();
}
