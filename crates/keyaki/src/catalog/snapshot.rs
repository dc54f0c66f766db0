//! The whole catalog as it was at one moment, ready to be asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;

use super::acl::CompiledAcl;
use super::bucket::OpenBucket;
use super::principal::Principal;
use super::record::{Birth, BucketRecord, DomainRecord, Grave, ServiceRecord, TokenRecord};
use crate::cell::Tid;
use crate::cell::parts::{Parts, PartsReader};
use crate::cell::{ValueRef, visibility::Authorisations};
use crate::engine::{CellRef, ScanRequest};
use crate::error::{Error, Result};
use crate::store::Bucket;

/// All records lie in one partition: what changes together does so in one commit, and one cell tells whether anything did.
pub(super) const PARTITION: &[u8] = b"catalog";
/// The cell that every change moves on.
pub(super) const EPOCH: &[u8] = b"e";

/// A domain with its buckets.
#[derive(Debug, Clone)]
pub struct Domain {
    /// The commit that last changed it or its buckets.
    pub tid: Tid,
    /// How it is set.
    pub record: DomainRecord,
    /// By their names.
    pub buckets: BTreeMap<String, Arc<BucketEntry>>,
    pub(super) acl: CompiledAcl,
}

impl Domain {
    /// The commit that set it last, whatever became of its buckets.
    #[must_use]
    pub fn set(&self) -> Tid {
        let noted = self.record.set.as_ref().and_then(|set| set.parse().ok());
        noted.unwrap_or(self.tid)
    }
}

/// A bucket in its domain.
#[derive(Debug, Clone)]
pub struct BucketEntry {
    /// The commit that set it last.
    pub tid: Tid,
    /// How it is set.
    pub record: BucketRecord,
    pub(super) acl: Option<CompiledAcl>,
    /// The same, open, once anybody has used it as it is set here.
    pub(super) open: OnceLock<Arc<OpenBucket>>,
}

impl BucketEntry {
    /// The commit that made it.
    #[must_use]
    pub fn made(&self) -> Tid {
        let noted = self.record.made.as_ref().and_then(|made| made.parse().ok());
        noted.unwrap_or(self.tid)
    }

    /// Where its cells are.
    pub(super) fn place(&self) -> Grave {
        let settings = &self.record.settings;
        Grave {
            backend: settings.backend.clone().unwrap_or_default(),
            replication: settings.replication.clone(),
            id: self.record.id,
        }
    }
}

/// A token in force.
#[derive(Debug, Clone)]
pub struct Token {
    /// The commit that made it.
    pub id: Tid,
    /// What it gives.
    pub record: TokenRecord,
    /// Who has it.
    pub principal: Principal,
}

impl Token {
    fn new(id: Tid, record: TokenRecord) -> Result<Self> {
        let auths = Authorisations::new(record.auths.iter().map(String::as_str))
            .map_err(|bad| Error::corrupt("token opens nothing").because(bad))?;
        let principal = Principal {
            user: Some(record.user.clone()),
            roles: record.roles.clone().into(),
            auths,
            services: Vec::new(),
        };
        Ok(Self { id, record, principal })
    }
}

/// The catalog at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// By their names.
    pub domains: BTreeMap<String, Domain>,
    /// By their ids.
    pub tokens: BTreeMap<Tid, Arc<Token>>,
    /// By their fingerprints.
    pub services: BTreeMap<String, ServiceRecord>,
    /// What seals cursors.
    pub(super) secret: Option<Vec<u8>>,
    /// What is still to be purged, by sort key.
    pub(super) graves: Vec<(Vec<u8>, Grave)>,
    /// What is about to be made, or was and never will.
    pub(super) births: Vec<Birth>,
    /// Tokens by their digests.
    by_digest: BTreeMap<[u8; 32], Arc<Token>>,
    /// All cells as they are stored, to write over.
    pub(super) cells: HashMap<Vec<u8>, Vec<u8>>,
    /// The epoch cell as it is stored.
    pub(super) epoch: Option<Vec<u8>>,
    /// The last change.
    pub tid: Option<Tid>,
}

/// Where a record lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Domain(String),
    Bucket(String, String),
    Token(Tid),
    Service(String),
    Secret,
    Grave(Vec<u8>),
    Birth(Vec<u8>),
}

impl Place {
    pub(super) fn sort(&self) -> Vec<u8> {
        let parts = |kind: &[u8]| Parts::new().bytes(kind);
        match self {
            Self::Domain(name) => parts(b"d").bytes(name.as_bytes()).into_bytes(),
            Self::Bucket(domain, name) => {
                parts(b"b").bytes(domain.as_bytes()).bytes(name.as_bytes()).into_bytes()
            }
            Self::Token(id) => parts(b"t").fixed(id.as_bytes()).into_bytes(),
            Self::Service(fingerprint) => parts(b"s").bytes(fingerprint.as_bytes()).into_bytes(),
            Self::Secret => parts(b"k").into_bytes(),
            Self::Grave(id) => parts(b"x").bytes(id).into_bytes(),
            Self::Birth(id) => parts(b"n").bytes(id).into_bytes(),
        }
    }
}

impl Snapshot {
    /// Reads the catalog whole. The epoch is read before and after: in between nothing has changed.
    pub(super) async fn read(bucket: &Bucket) -> Result<Self> {
        loop {
            let epoch = bucket.stored(PARTITION, EPOCH).await?;
            let snapshot = Self::read_at(bucket, epoch).await?;
            if bucket.stored(PARTITION, EPOCH).await? == snapshot.epoch {
                return Ok(snapshot);
            }
        }
    }

    async fn read_at(bucket: &Bucket, epoch: Option<Vec<u8>>) -> Result<Self> {
        let tid = epoch.as_deref().map(tid_of_epoch).transpose()?;
        let mut snapshot = Self { epoch, tid, ..Self::default() };
        let request = ScanRequest::partition(bucket.primary(), PARTITION);
        let mut cells = bucket.scan(&Authorisations::none(), request).await?;
        let mut buckets = Vec::new();
        while let Some(block) = cells.next_block().await? {
            for cell in block.iter().filter(|cell| cell.sort() != EPOCH) {
                snapshot.cells.insert(cell.sort().to_vec(), cell.encoded().to_vec());
                snapshot.take(&cell, &mut buckets)?;
            }
        }
        for (domain, name, entry) in buckets {
            if let Some(domain) = snapshot.domains.get_mut(&domain) {
                domain.buckets.insert(name, Arc::new(entry));
            }
        }
        Ok(snapshot)
    }

    fn take(
        &mut self,
        cell: &CellRef<'_>,
        buckets: &mut Vec<(String, String, BucketEntry)>,
    ) -> Result<()> {
        let damaged =
            |_| Error::corrupt("key of the catalog is damaged").with_bytes("sort", cell.sort());
        let mut parts = PartsReader::new(cell.sort());
        let kind = parts.bytes().map_err(damaged)?;
        match &kind[..] {
            b"d" => {
                let name = text(&mut parts, cell)?;
                let record: DomainRecord = json(cell)?;
                let acl = record.spec.acl.as_ref().map(|acl| acl.compile()).transpose()?;
                let tid = tid(&record.tid)?;
                let acl = acl.unwrap_or_default();
                self.domains.insert(name, Domain { tid, record, buckets: BTreeMap::new(), acl });
            }
            b"b" => {
                let (domain, name) = (text(&mut parts, cell)?, text(&mut parts, cell)?);
                let record: BucketRecord = json(cell)?;
                let acl = record.settings.acl.as_ref().map(|acl| acl.compile()).transpose()?;
                let (tid, open) = (tid(&record.tid)?, OnceLock::new());
                buckets.push((domain, name, BucketEntry { tid, record, acl, open }));
            }
            b"t" => {
                let id = parts.fixed::<16>().map_err(damaged)?;
                let id = Tid::from_bytes(*id)
                    .map_err(|bad| Error::corrupt("token has no id").because(bad))?;
                let token = Arc::new(Token::new(id, json(cell)?)?);
                let digest = blake3::Hash::from_hex(&token.record.digest)
                    .map_err(|bad| Error::corrupt("token has no digest").because(bad))?;
                self.by_digest.insert(digest.into(), token.clone());
                self.tokens.insert(id, token);
            }
            b"s" => {
                self.services.insert(text(&mut parts, cell)?, json(cell)?);
            }
            b"k" => self.secret = Some(json(cell)?),
            b"n" => self.births.push(json(cell)?),
            _ => self.graves.push((cell.sort().to_vec(), json(cell)?)),
        }
        Ok(())
    }

    /// The token with this text.
    #[must_use]
    pub fn token(&self, text: &str) -> Option<&Arc<Token>> {
        self.by_digest.get(blake3::hash(text.as_bytes()).as_bytes())
    }
}

fn tid(text: &str) -> Result<Tid> {
    text.parse().map_err(|bad| Error::corrupt("record has no id").because(bad))
}

fn tid_of_epoch(stored: &[u8]) -> Result<Tid> {
    tid(&String::from_utf8_lossy(ValueRef::decode(stored)?.payload))
}

fn text(parts: &mut PartsReader<'_>, cell: &CellRef<'_>) -> Result<String> {
    let damaged =
        || Error::corrupt("key of the catalog is damaged").with_bytes("sort", cell.sort());
    let bytes = parts.bytes().map_err(|bad| damaged().because(bad))?;
    String::from_utf8(bytes.into_owned()).map_err(|bad| damaged().because(bad))
}

fn json<T: DeserializeOwned>(cell: &CellRef<'_>) -> Result<T> {
    serde_json::from_slice(cell.payload()).map_err(|e| {
        Error::corrupt("record of the catalog is damaged")
            .with_bytes("sort", cell.sort())
            .because(e)
    })
}
