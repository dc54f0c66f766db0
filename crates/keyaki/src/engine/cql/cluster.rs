//! The way to the cluster: connected when first needed, and again whenever it went away.
//!
//! Whoever asks while the cluster is away gets `Unavailable` at once, or after one connect timeout; one
//! attempt is made at a time. Once there, the driver keeps the connections up by itself.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use scylla::client::PoolSize;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::ExecutionError;
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, Row};
use tokio::sync::Semaphore;

use super::fault::{self, Fate};
use super::memo::Shown;
use super::own::{FORMATS, NOTHING, OWN, OWN_BUCKET};
use super::schema::{self, FORMAT};
use super::statements::{Arg, Statements};
use super::tls;
use crate::error::{Error, Result};
use crate::settings::{Consistency, CqlSettings, SerialConsistency};

/// Between attempts to reach a cluster that was away.
const ATTEMPTS_APART: Duration = Duration::from_secs(1);
const CONNECTIONS_PER_NODE: std::num::NonZeroUsize = std::num::NonZeroUsize::MIN;
/// How long to wait before a statement is sent again that did not leave this process, since connections were just being
/// made anew. One that a node has forgotten is sent again at once, as often.
const SENT_AGAIN_MS: [u64; 3] = [50, 100, 200];
const KEEPALIVE: Duration = Duration::from_secs(3);

/// A cluster that may be away.
pub struct Cluster {
    settings: CqlSettings,
    keyspace: String,
    link: OnceLock<Arc<Link>>,
    connecting: Semaphore,
    failed: Mutex<Option<Instant>>,
}

/// A cluster that was reached.
pub struct Link {
    session: Session,
    /// What may be asked of it.
    pub statements: Statements,
    /// What it has answered.
    pub shown: Shown,
    /// How long a request may take.
    pub request_timeout: Duration,
    consistency: Consistency,
    serial: SerialConsistency,
}

/// A batch being filled.
#[derive(Default)]
pub struct Batched<'a> {
    statements: Vec<PreparedStatement>,
    values: Vec<Vec<Arg<'a>>>,
}

impl<'a> Batched<'a> {
    /// Adds a statement.
    pub fn push(&mut self, statement: &PreparedStatement, values: impl Into<Vec<Arg<'a>>>) {
        self.statements.push(statement.clone());
        self.values.push(values.into());
    }
}

impl Cluster {
    /// Nothing is asked of the cluster yet.
    ///
    /// # Errors
    /// `Invalid` if the settings make no keyspace.
    pub fn new(settings: CqlSettings) -> Result<Self> {
        let keyspace = schema::keyspace(&settings);
        schema::check_keyspace(&keyspace)?;
        Ok(Self {
            settings,
            keyspace,
            link: OnceLock::new(),
            connecting: Semaphore::new(1),
            failed: Mutex::new(None),
        })
    }

    /// The way to it.
    ///
    /// # Errors
    /// `Unavailable` if it is away.
    pub async fn link(&self) -> Result<&Arc<Link>> {
        if let Some(link) = self.link.get() {
            return Ok(link);
        }
        self.refuse_if_just_failed()?;
        let turn = self.connecting.acquire().await;
        let _turn = turn.map_err(|_| Error::internal("connecting has ended"))?;
        if let Some(link) = self.link.get() {
            return Ok(link);
        }
        self.refuse_if_just_failed()?;
        match self.connect().await {
            Ok(link) => Ok(self.link.get_or_init(|| Arc::new(link))),
            Err(error) => {
                *self.failed() = Some(Instant::now());
                Err(error)
            }
        }
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse_if_just_failed(&self) -> Result<()> {
        match *self.failed() {
            Some(at) if at.elapsed() < ATTEMPTS_APART => {
                Err(Error::unavailable("the cluster can't be reached")
                    .with("nodes", self.settings.nodes.join(",")))
            }
            _ => Ok(()),
        }
    }

    async fn connect(&self) -> Result<Link> {
        let settings = &self.settings;
        let mut builder = SessionBuilder::new()
            .known_nodes(&settings.nodes)
            .connection_timeout(settings.connect_timeout)
            .pool_size(PoolSize::PerHost(CONNECTIONS_PER_NODE))
            .keepalive_interval(KEEPALIVE)
            .keepalive_timeout(KEEPALIVE)
            .keyspaces_to_fetch([self.keyspace.as_str()])
            .tls_context(tls::context(settings)?);
        if let Some(datacenter) = &settings.datacenter {
            builder = builder.prefer_datacenter(datacenter.clone());
        }
        if let (Some(user), Some(password)) = (&settings.user, &settings.password) {
            builder = builder.user(user, password);
        }
        let attempt = async {
            let session = builder.build().await.map_err(fault::connecting)?;
            schema::create(&session, &self.keyspace, &settings.replication).await?;
            let statements = Statements::prepare(&session, &self.keyspace, settings).await?;
            let link = Link {
                session,
                statements,
                shown: Shown::default(),
                consistency: settings.consistency,
                serial: settings.serial_consistency,
                request_timeout: settings.request_timeout,
            };
            link.check_format(&self.keyspace).await?;
            Ok(link)
        };
        let named = |e: Error| e.with("nodes", settings.nodes.join(","));
        // A node that takes connections and then says nothing must not hold up whoever asks.
        tokio::time::timeout(settings.connect_timeout + settings.request_timeout * 2, attempt)
            .await
            .unwrap_or_else(|_| Err(Error::unavailable("the cluster can't be reached")))
            .map_err(named)
    }
}

impl Link {
    /// Notes the format of a new keyspace, and refuses one that this build doesn't know.
    async fn check_format(&self, keyspace: &str) -> Result<()> {
        let place = (OWN_BUCKET, FORMATS, OWN, NOTHING);
        for noted in [false, true] {
            let rows = self.read(&self.statements.home_row, place).await?;
            let found = rows.maybe_first_row::<(Option<&[u8]>,)>().map_err(fault::misread)?;
            match found.and_then(|(format,)| format) {
                Some(format) if format == FORMAT => return Ok(()),
                Some(format) => {
                    return Err(Error::unsupported("keyspace has another format")
                        .with("keyspace", keyspace)
                        .with_bytes("format", format));
                }
                None if noted => break,
                None => {
                    let row = (OWN_BUCKET, FORMATS, OWN, NOTHING, FORMAT);
                    let noting = self.conditional(&self.statements.mark, row).await;
                    noting.map_err(Fate::into_error)?;
                }
            }
        }
        Err(Error::unavailable("keyspace is still being made").with("keyspace", keyspace))
    }

    /// Rows of a read.
    pub async fn read(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<QueryRowsResult> {
        let answer = self.execute(statement, values).await;
        answer.map_err(fault::executing)?.into_rows_result().map_err(fault::misread)
    }

    /// Does a blind write.
    pub async fn blind(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<()> {
        self.execute(statement, values).await.map(drop).map_err(fault::executing)
    }

    /// Does blind writes at once, in one request.
    pub async fn blind_batch(&self, batched: Batched<'_>) -> Result<()> {
        let mut batch = self.batch(BatchType::Unlogged, batched.statements);
        batch.set_is_idempotent(true);
        self.execute_batch(&batch, batched.values).await.map(drop).map_err(fault::executing)
    }

    /// Does a conditional write; answers whether it was done.
    pub async fn conditional(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<bool, Fate> {
        let answer = self.execute(statement, values).await;
        applied(answer.map_err(Fate::of)?.into_rows_result().map_err(fault::misread))
    }

    /// Does conditional writes to one partition, all or none.
    pub async fn conditional_batch(&self, batched: Batched<'_>) -> Result<bool, Fate> {
        let mut batch = self.batch(BatchType::Unlogged, batched.statements);
        batch.set_serial_consistency(Some(self.serial.into()));
        batch.set_retry_policy(Some(Arc::new(
            scylla::policies::retry::FallthroughRetryPolicy::new(),
        )));
        let answer = self.execute_batch(&batch, batched.values).await;
        applied(answer.map_err(Fate::of)?.into_rows_result().map_err(fault::misread))
    }

    /// Sends a statement. A node that has forgotten it has done nothing, nor has one that it did not reach, so it is
    /// sent again.
    async fn execute(
        &self,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<QueryResult, ExecutionError> {
        for pause in SENT_AGAIN_MS.map(Duration::from_millis) {
            match self.session.execute_unpaged(statement, &values).await {
                Err(error) if fault::is_forgotten(&error) => {}
                Err(error) if fault::is_unsent(&error) => tokio::time::sleep(pause).await,
                answer => return answer,
            }
        }
        self.session.execute_unpaged(statement, &values).await
    }

    /// Sends a batch, likewise.
    async fn execute_batch(
        &self,
        batch: &Batch,
        values: Vec<Vec<Arg<'_>>>,
    ) -> Result<QueryResult, ExecutionError> {
        for pause in SENT_AGAIN_MS.map(Duration::from_millis) {
            match self.session.batch(batch, &values).await {
                Err(error) if fault::is_forgotten(&error) => {}
                Err(error) if fault::is_unsent(&error) => tokio::time::sleep(pause).await,
                answer => return answer,
            }
        }
        self.session.batch(batch, &values).await
    }

    fn batch(&self, kind: BatchType, statements: Vec<PreparedStatement>) -> Batch {
        let statements = statements.into_iter().map(Into::into).collect();
        let mut batch = Batch::new_with_statements(kind, statements);
        batch.set_consistency(self.consistency.into());
        batch.set_request_timeout(Some(self.request_timeout));
        batch
    }
}

/// The first column of the answer to a conditional write.
fn applied(answer: Result<QueryRowsResult>) -> Result<bool, Fate> {
    let read = || {
        let row = answer?.first_row::<Row>().map_err(fault::misread)?;
        match row.columns.first() {
            Some(Some(CqlValue::Boolean(applied))) => Ok(*applied),
            _ => Err(Error::internal("the cluster doesn't say whether it was done")),
        }
    };
    read().map_err(Fate::Unknown)
}

impl From<Consistency> for scylla::statement::Consistency {
    fn from(consistency: Consistency) -> Self {
        match consistency {
            Consistency::LocalQuorum => Self::LocalQuorum,
            Consistency::Quorum => Self::Quorum,
            Consistency::EachQuorum => Self::EachQuorum,
            Consistency::All => Self::All,
        }
    }
}

impl From<SerialConsistency> for scylla::statement::SerialConsistency {
    fn from(consistency: SerialConsistency) -> Self {
        match consistency {
            SerialConsistency::LocalSerial => Self::LocalSerial,
            SerialConsistency::Serial => Self::Serial,
        }
    }
}
