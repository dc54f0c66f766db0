//! Opens the backends that the configuration names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "cql")]
use std::sync::Mutex;

use keyaki::Result;
use keyaki::catalog::{Backend, Backends, Single};
use keyaki::engine::embedded::EmbeddedEngine;
use keyaki::settings::{EmbeddedSettings, StoreSettings};
use keyaki::store::Store;

use crate::config::Config;

/// What must be closed in the end.
#[derive(Clone, Default)]
pub struct Open {
    #[cfg(feature = "cql")]
    clusters: Arc<Mutex<Vec<Arc<keyaki::engine::cql::CqlEngine>>>>,
}

impl Open {
    /// Tells the other processes that this one is done.
    pub async fn close(&self) {
        #[cfg(feature = "cql")]
        {
            let clusters = std::mem::take(
                &mut *self.clusters.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            );
            for cluster in clusters {
                if let Err(error) = cluster.close().await {
                    tracing::warn!(%error, "a cluster could not be told that this process ends");
                }
            }
        }
    }
}

/// Everything that a bucket may call its backend.
pub fn names(config: &Config) -> BTreeSet<String> {
    let mut names = BTreeSet::from(["default".to_owned()]);
    let backend = &config.backend;
    let engines: [(&str, Vec<&String>); 2] =
        [("embedded", backend.embedded.keys().collect()), ("cql", backend.cql.keys().collect())];
    let none = engines.iter().all(|(_, names)| names.is_empty());
    for (engine, named) in engines {
        if !named.is_empty() || (none && engine == "embedded") {
            names.extend([engine.to_owned(), format!("{engine}/default")]);
        }
        names.extend(named.into_iter().map(|name| format!("{engine}/{name}")));
    }
    names
}

/// Opens embedded stores; clusters are reached when they are first needed.
pub fn open(config: &Config, data: &Path) -> Result<(Backends, Open)> {
    let open = Open::default();
    let mut all: BTreeMap<String, Box<dyn Backend>> = BTreeMap::new();
    for (name, table) in &config.backend.embedded {
        let store = embedded(&table.data, &table.settings())?;
        all.insert(format!("embedded/{name}"), Box::new(Single(store)));
    }
    #[cfg(feature = "cql")]
    for (name, table) in &config.backend.cql {
        let backend = cql::Cluster { settings: cql::settings(table), open: open.clone() };
        all.insert(format!("cql/{name}"), Box::new(backend));
    }
    if all.is_empty() {
        let store = embedded(data, &EmbeddedSettings::default())?;
        all.insert("embedded/default".to_owned(), Box::new(Single(store)));
    }
    let first = || all.keys().next().cloned().unwrap_or_default();
    let preferred =
        ["embedded/default", "cql/default"].into_iter().find(|name| all.contains_key(*name));
    let default = config.default_backend.clone();
    let default = default.unwrap_or_else(|| preferred.map_or_else(first, str::to_owned));
    Ok((Backends::new(all, &default)?, open))
}

fn embedded(dir: &Path, settings: &EmbeddedSettings) -> Result<Store> {
    let engine = EmbeddedEngine::open(dir, settings, keyaki::bucket::rules())?;
    Ok(Store::new(Arc::new(engine), StoreSettings::default(), node()))
}

/// Tells this process's commits from those of others.
fn node() -> u64 {
    let mut bytes = [0; 8];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    u64::from_be_bytes(bytes)
}

#[cfg(feature = "cql")]
mod cql {
    use std::collections::BTreeMap;
    use std::sync::{Arc, PoisonError};
    use std::time::Duration;

    use async_trait::async_trait;
    use keyaki::catalog::{Backend, ReplicationSetting};
    use keyaki::engine::cql::CqlEngine;
    use keyaki::settings::{
        Consistency, CqlSettings, Replication, SerialConsistency, StoreSettings,
    };
    use keyaki::store::Store;
    use keyaki::{Error, Result};

    use super::Open;
    use crate::config::{ConsistencyName, CqlTable, SerialConsistencyName};

    const FACTOR: &str = "factor";

    /// Stores on a cluster, one for each replication.
    pub struct Cluster {
        pub settings: CqlSettings,
        pub open: Open,
    }

    #[async_trait]
    impl Backend for Cluster {
        async fn open(&self, replication: &ReplicationSetting) -> Result<Store> {
            let mut settings = self.settings.clone();
            if let Some(replication) = replication {
                settings.replication = parse(replication)?;
            }
            let engine = Arc::new(CqlEngine::new(settings, keyaki::bucket::rules())?);
            engine.connect().await?;
            let clusters = &self.open.clusters;
            clusters.lock().unwrap_or_else(PoisonError::into_inner).push(engine.clone());
            Ok(Store::new(engine, StoreSettings::default(), super::node()))
        }

        fn is_shared(&self) -> bool {
            true
        }
    }

    fn parse(replication: &BTreeMap<String, u8>) -> Result<Replication> {
        if replication.is_empty() || replication.values().any(|copies| *copies == 0) {
            return Err(
                Error::invalid("a replication keeps at least one copy").with("at", "/replication")
            );
        }
        match replication.get(FACTOR) {
            Some(factor) if replication.len() == 1 => Ok(Replication::Factor(*factor)),
            Some(_) => {
                Err(Error::invalid("`factor` is for all datacenters").with("at", "/replication"))
            }
            None => Ok(Replication::Datacenters(replication.clone())),
        }
    }

    pub fn settings(table: &CqlTable) -> CqlSettings {
        let default = CqlSettings::default();
        let factor = table.replication_factor.map(Replication::Factor);
        CqlSettings {
            nodes: table.nodes.clone(),
            keyspace_prefix: table
                .keyspace_prefix
                .clone()
                .unwrap_or(default.keyspace_prefix.clone()),
            replication: factor.unwrap_or(default.replication.clone()),
            datacenter: table.datacenter.clone(),
            user: table.user.clone(),
            password: table.password.clone(),
            tls_ca: table.tls_ca.clone(),
            consistency: match table.consistency {
                ConsistencyName::LocalQuorum => Consistency::LocalQuorum,
                ConsistencyName::Quorum => Consistency::Quorum,
                ConsistencyName::EachQuorum => Consistency::EachQuorum,
                ConsistencyName::All => Consistency::All,
            },
            serial_consistency: match table.serial_consistency {
                SerialConsistencyName::LocalSerial => SerialConsistency::LocalSerial,
                SerialConsistencyName::Serial => SerialConsistency::Serial,
            },
            request_timeout: table
                .request_timeout_ms
                .map_or(default.request_timeout, Duration::from_millis),
            ..default
        }
    }
}
