//! The baseline: the driver itself, on tables like the engine's, with the engine's consistency, timeouts and
//! connections, prepared statements and token-aware routing.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use keyaki::settings::CqlSettings;
use scylla::client::PoolSize;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::{CqlValue, Row};

use super::items::{Item, SORT};
use crate::Result;

const KEEPALIVE: Duration = Duration::from_secs(3);
/// The bucket and the spaces of all rows.
const BUCKET: i64 = 1;
const SPACE: i32 = 1;

/// A session and what is asked through it.
#[derive(Clone)]
pub struct Bare(Arc<Inner>);

struct Inner {
    session: Session,
    create: PreparedStatement,
    replace: PreparedStatement,
    insert: PreparedStatement,
    read: PreparedStatement,
    scan: PreparedStatement,
}

impl Bare {
    /// On tables of its own.
    pub async fn open(settings: &CqlSettings, copies: u8) -> Result<Self> {
        let session = SessionBuilder::new()
            .known_nodes(&settings.nodes)
            .connection_timeout(settings.connect_timeout)
            .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
            .keepalive_interval(KEEPALIVE)
            .keepalive_timeout(KEEPALIVE)
            .build()
            .await?;
        let keyspace = format!("{}_bare", settings.keyspace_prefix);
        make_tables(&session, &keyspace, copies).await?;
        let on = Preparing { session: &session, timeout: settings.request_timeout };
        let key = "bucket = ? AND partition = ? AND space = ? AND sort = ?";
        Ok(Self(Arc::new(Inner {
            create: on
                .conditional(format!(
                    "INSERT INTO {keyspace}.home (bucket, partition, space, sort, value) \
                     VALUES (?, ?, ?, ?, ?) IF NOT EXISTS"
                ))
                .await?,
            replace: on
                .conditional(format!(
                    "UPDATE {keyspace}.home SET value = ? WHERE {key} IF value = ?"
                ))
                .await?,
            insert: on
                .plain(format!(
                    "INSERT INTO {keyspace}.derived (space, partition, sort, value) \
                     VALUES (?, ?, ?, ?)"
                ))
                .await?,
            read: on
                .plain(format!(
                    "SELECT value FROM {keyspace}.derived \
                     WHERE space = ? AND partition = ? AND sort = ?"
                ))
                .await?,
            scan: on
                .plain(format!(
                    "SELECT sort, value FROM {keyspace}.derived WHERE space = ? AND partition = ?"
                ))
                .await?,
            session,
        })))
    }

    /// The first value of an item.
    pub async fn create(&self, item: &Item, value: &[u8]) -> Result<()> {
        let row = (BUCKET, &item.partition()[..], SPACE, SORT, value);
        self.conditional(&self.0.create, row).await
    }

    /// Another value of an item, over the one it has.
    pub async fn replace(&self, item: &Item, value: &[u8]) -> Result<()> {
        let row = (value, BUCKET, &item.partition()[..], SPACE, SORT, &item.stored[..]);
        self.conditional(&self.0.replace, row).await
    }

    async fn conditional(
        &self,
        statement: &PreparedStatement,
        row: impl SerializeRow,
    ) -> Result<()> {
        let answer = self.0.session.execute_unpaged(statement, row).await?;
        match answer.into_rows_result()?.first_row::<Row>()?.columns.first() {
            Some(Some(CqlValue::Boolean(true))) => Ok(()),
            _ => Err("a transaction of the bare driver was not done".into()),
        }
    }

    /// Puts one derived row.
    pub async fn insert(&self, partition: &[u8], sort: &[u8], value: &[u8]) -> Result<()> {
        let row = (SPACE, partition, sort, value);
        self.0.session.execute_unpaged(&self.0.insert, row).await?;
        Ok(())
    }

    /// Puts the rows of one partition in one request.
    pub async fn insert_all(&self, partition: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = Batch::new(BatchType::Unlogged);
        batch.set_consistency(Consistency::LocalQuorum);
        let mut values = Vec::with_capacity(rows.len());
        for (sort, value) in rows {
            batch.append_statement(self.0.insert.clone());
            values.push((SPACE, partition, &sort[..], &value[..]));
        }
        self.0.session.batch(&batch, values).await?;
        Ok(())
    }

    /// One row's bytes.
    pub async fn read(&self, partition: &[u8], sort: &[u8]) -> Result<usize> {
        let row = (SPACE, partition, sort);
        let answer = self.0.session.execute_unpaged(&self.0.read, row).await?;
        let (value,) = answer.into_rows_result()?.first_row::<(Vec<u8>,)>()?;
        Ok(value.len())
    }

    /// All bytes of a partition, and how many rows it has.
    pub async fn scan(&self, partition: &[u8]) -> Result<(usize, usize)> {
        let answer = self.0.session.execute_unpaged(&self.0.scan, (SPACE, partition)).await?;
        let answer = answer.into_rows_result()?;
        let (mut rows, mut bytes) = (0, 0);
        for row in answer.rows::<(&[u8], &[u8])>()? {
            let (_, value) = row?;
            rows += 1;
            bytes += value.len();
        }
        Ok((rows, bytes))
    }
}

/// The engine's tables, as far as this suite needs them.
async fn make_tables(session: &Session, keyspace: &str, copies: u8) -> Result<()> {
    let statements = [
        format!(
            "CREATE KEYSPACE {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
        ),
        format!(
            "CREATE TABLE {keyspace}.home (bucket bigint, partition blob, space int, sort blob, \
             value blob, PRIMARY KEY ((bucket, partition), space, sort))"
        ),
        format!(
            "CREATE TABLE {keyspace}.derived (space int, partition blob, sort blob, value blob, \
             PRIMARY KEY ((space, partition), sort))"
        ),
    ];
    for statement in statements {
        session.query_unpaged(statement, &[]).await?;
    }
    Ok(())
}

struct Preparing<'a> {
    session: &'a Session,
    timeout: Duration,
}

impl Preparing<'_> {
    async fn plain(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = self.session.prepare(text).await?;
        statement.set_consistency(Consistency::LocalQuorum);
        statement.set_request_timeout(Some(self.timeout));
        statement.set_is_idempotent(true);
        Ok(statement)
    }

    async fn conditional(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = self.plain(text).await?;
        statement.set_serial_consistency(Some(SerialConsistency::LocalSerial));
        statement.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy::new())));
        statement.set_is_idempotent(false);
        Ok(statement)
    }
}
