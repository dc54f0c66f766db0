//! Where buckets can live: configured stores by name, and the keyspaces that replications need, opened when first asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::error::{Error, Result};
use crate::store::Store;

/// How often a bucket is kept, by datacenter, or under `factor`.
pub type ReplicationSetting = Option<BTreeMap<String, u8>>;

/// Opens stores of one backend.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The store for a replication; the same one for the same replication would be the same data.
    ///
    /// # Errors
    /// `Invalid` if the backend doesn't know such a replication; those of the engine.
    async fn open(&self, replication: &ReplicationSetting) -> Result<Store>;

    /// Whether other processes may write to it.
    fn is_shared(&self) -> bool;
}

/// A backend of one store, which can't be replicated.
pub struct Single(pub Store);

#[async_trait]
impl Backend for Single {
    async fn open(&self, replication: &ReplicationSetting) -> Result<Store> {
        match replication {
            None => Ok(self.0.clone()),
            Some(_) => {
                Err(Error::invalid("this backend keeps everything once").with("at", "/replication"))
            }
        }
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// All backends by their full names, such as `embedded/default`.
pub struct Backends {
    all: BTreeMap<String, Box<dyn Backend>>,
    default: String,
    opened: Mutex<HashMap<(String, ReplicationSetting), Store>>,
}

impl Backends {
    /// These, of which one is the default.
    ///
    /// # Errors
    /// `Invalid` if the default is none of them.
    pub fn new(all: BTreeMap<String, Box<dyn Backend>>, default: &str) -> Result<Self> {
        if !all.contains_key(default) {
            return Err(Error::invalid("default backend is not configured").with("name", default));
        }
        Ok(Self { all, default: default.to_owned(), opened: Mutex::default() })
    }

    /// The full name of what a caller calls a backend: nothing, `default`, an engine's name alone, or a full name.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    pub fn resolve(&self, name: Option<&str>) -> Result<String> {
        let name = match name {
            None | Some("default") => return Ok(self.default.clone()),
            Some(engine) if !engine.contains('/') => format!("{engine}/default"),
            Some(full) => full.to_owned(),
        };
        let engine = name.strip_suffix("/default").unwrap_or_default();
        let of_engine = |full: &&String| full.split('/').next() == Some(engine);
        match self.all.contains_key(&name) {
            true => Ok(name),
            // An engine's first backend is its default, unless one is called so.
            false => self.all.keys().find(of_engine).cloned().ok_or_else(|| {
                Error::invalid("no such backend is configured")
                    .with("at", "/backend")
                    .with("backend", name)
            }),
        }
    }

    /// Whether other processes may write to the default backend.
    #[must_use]
    pub fn is_default_shared(&self) -> bool {
        self.all.get(&self.default).is_some_and(|backend| backend.is_shared())
    }

    /// Whether a backend is configured here.
    #[must_use]
    pub fn is_known(&self, name: &str) -> bool {
        self.all.contains_key(name)
    }

    /// Whether other processes may write to a backend.
    #[must_use]
    pub fn is_shared(&self, name: &str) -> bool {
        self.all.get(name).is_some_and(|backend| backend.is_shared())
    }

    /// The store of a backend's full name.
    ///
    /// # Errors
    /// `NotFound` if it is no longer configured; those of opening it.
    pub async fn store(&self, name: &str, replication: &ReplicationSetting) -> Result<Store> {
        let place = (name.to_owned(), replication.clone());
        if let Some(store) = self.opened().get(&place) {
            return Ok(store.clone());
        }
        let backend = self.all.get(name).ok_or_else(|| {
            Error::unavailable("the bucket's backend is not configured here").with("backend", name)
        })?;
        let store = backend.open(replication).await?;
        Ok(self.opened().entry(place).or_insert(store).clone())
    }

    /// The store of the default backend.
    ///
    /// # Errors
    /// Those of opening it.
    pub async fn default_store(&self) -> Result<Store> {
        self.store(&self.default, &None).await
    }

    /// The stores that are open, by their backends' full names and their replications.
    #[must_use]
    pub fn stores(&self) -> Vec<(String, ReplicationSetting, Store)> {
        let opened = self.opened();
        let mut stores: Vec<_> = opened
            .iter()
            .map(|((name, replication), store)| (name.clone(), replication.clone(), store.clone()))
            .collect();
        drop(opened);
        stores.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        stores
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, HashMap<(String, ReplicationSetting), Store>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
