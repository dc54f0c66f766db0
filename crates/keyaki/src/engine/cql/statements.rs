//! Every statement the engine sends but for the schema's, in one place, so that they can be read one by one.
//!
//! | kind | sent with | against |
//! |---|---|---|
//! | read | the consistency of the settings; those called `now`, the serial one | both tables |
//! | blind | the same, always at a timestamp fixed by its commit: sent again it changes nothing | `derived` |
//! | conditional | the serial consistency, no retry by the driver: only we know what an unknown outcome means | `home` |

use std::sync::Arc;

use scylla::client::session::Session;
use scylla::cluster::metadata::ColumnType;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;

use super::fault;
use super::own::OWN;
use crate::cell::Tid;
use crate::error::Result;
use crate::settings::{CqlSettings, SerialConsistency};

/// A bound value of a batch, whose statements differ in what they take.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// A space.
    Int(i32),
    /// A bucket, a time, a version.
    Long(i64),
    /// Keys and values.
    Bytes(&'a [u8]),
    /// A commit's id.
    Tid(Tid),
    /// Nothing: to delete a column, or to demand that it has none.
    Null,
}

impl SerializeValue for Arg<'_> {
    fn serialize<'b>(
        &self,
        column: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        match self {
            Self::Int(int) => int.serialize(column, writer),
            Self::Long(long) => long.serialize(column, writer),
            Self::Bytes(bytes) => bytes.serialize(column, writer),
            Self::Tid(tid) => tid.as_bytes().serialize(column, writer),
            Self::Null => Ok(writer.set_null()),
        }
    }
}

/// A range of one partition: which rows, in which order.
pub struct RangeReads {
    upward: PreparedStatement,
    upward_below: PreparedStatement,
    downward: PreparedStatement,
    downward_below: PreparedStatement,
}

impl RangeReads {
    /// The statement for a range that has an end or none, in an order.
    pub fn pick(&self, backward: bool, ends: bool) -> &PreparedStatement {
        match (backward, ends) {
            (false, false) => &self.upward,
            (false, true) => &self.upward_below,
            (true, false) => &self.downward,
            (true, true) => &self.downward_below,
        }
    }
}

/// The statements, prepared.
pub struct Statements {
    /// One row of the engine's own.
    pub home_row: PreparedStatement,
    /// One home cell, and the head of its partition.
    pub home_cell_and_head: PreparedStatement,
    /// The same after all transactions that are being applied.
    pub home_cell_and_head_now: PreparedStatement,
    /// The head of a home partition and the rows that a commit looks at.
    pub home_rows: PreparedStatement,
    /// The same after all transactions that are being applied.
    pub home_rows_now: PreparedStatement,
    /// Home cells of one space and partition.
    pub home_range: RangeReads,
    /// The same after all transactions that are being applied.
    pub home_range_now: RangeReads,
    /// How many there are.
    pub home_count: PreparedStatement,
    /// Merged cells' bases of one space and partition.
    pub base_range: RangeReads,
    /// One base.
    pub base: PreparedStatement,
    /// The state of a claimed name.
    pub name: PreparedStatement,
    /// The list of spaces.
    pub listed: PreparedStatement,

    /// Moves a head on from what it was.
    pub advance_head: PreparedStatement,
    /// Leaves the mark of a commit, or bars it.
    pub mark: PreparedStatement,
    /// Writes a home cell inside a conditional batch.
    pub put_home: PreparedStatement,
    /// The same if it has this value.
    pub put_home_if: PreparedStatement,
    /// Deletes a home cell inside a conditional batch.
    pub delete_home: PreparedStatement,
    /// The same if it has this value.
    pub delete_home_if: PreparedStatement,
    /// Forgets old marks inside a conditional batch.
    pub prune_marks: PreparedStatement,
    /// Clears a dropped space inside a conditional batch.
    pub clear_home: PreparedStatement,
    /// Moves a base on from the version it had.
    pub fold: PreparedStatement,
    /// Notes who is about to have a name.
    pub reserve_name: PreparedStatement,
    /// Gives it to them.
    pub confirm_name: PreparedStatement,
    /// Leaves it to whoever has it.
    pub leave_name: PreparedStatement,
    /// Adds to the list of spaces.
    pub list_space: PreparedStatement,
    /// Changes a record of the list.
    pub relist_space: PreparedStatement,

    /// One derived row.
    pub derived_row: PreparedStatement,
    /// Derived rows of one space and partition.
    pub derived_range: RangeReads,
    /// How many there are.
    pub derived_count: PreparedStatement,
    /// Writes a derived row.
    pub put_derived: PreparedStatement,
    /// Deletes one.
    pub delete_derived: PreparedStatement,
    /// Deletes a range of them.
    pub delete_range: PreparedStatement,
    /// Deletes a whole partition.
    pub clear_derived: PreparedStatement,
}

const HOME_KEY: &str = "bucket = ? AND partition = ? AND space = ? AND sort = ?";
const HOME_SPACE: &str = "bucket = ? AND partition = ? AND space = ?";
const HOME_FALLING: &str = "space DESC, sort DESC";
const DERIVED_KEY: &str = "space = ? AND partition = ? AND sort = ?";
const DERIVED_PARTITION: &str = "space = ? AND partition = ?";

impl Statements {
    /// Prepares them all.
    ///
    /// # Errors
    /// `Unavailable` if the cluster can't.
    pub async fn prepare(
        session: &Session,
        keyspace: &str,
        settings: &CqlSettings,
    ) -> Result<Self> {
        let on = Preparing { session, settings, consistency: settings.consistency.into() };
        let serially = Preparing { consistency: reading_serially(settings), ..on };
        let (home, derived) = (format!("{keyspace}.home"), format!("{keyspace}.derived"));
        let (home, derived) = (home.as_str(), derived.as_str());
        let cell_and_head = format!(
            "SELECT space, value, latest FROM {home} \
             WHERE bucket = ? AND partition = ? AND (space, sort) IN (({OWN}, 0x), (?, ?))"
        );
        let rows = format!(
            "SELECT space, sort, value, latest, pending FROM {home} \
             WHERE bucket = ? AND partition = ? AND (space, sort) IN ?"
        );
        Ok(Self {
            home_row: on.read(format!("SELECT value FROM {home} WHERE {HOME_KEY}")).await?,
            home_cell_and_head: on.read(cell_and_head.clone()).await?,
            home_cell_and_head_now: serially.read(cell_and_head).await?,
            home_rows: on.read(rows.clone()).await?,
            home_rows_now: serially.read(rows).await?,
            home_range: on.range("sort, value", home, HOME_SPACE, HOME_FALLING).await?,
            home_range_now: serially.range("sort, value", home, HOME_SPACE, HOME_FALLING).await?,
            home_count: on.read(format!("SELECT COUNT(*) FROM {home} WHERE {HOME_SPACE}")).await?,
            base_range: on.range("sort, value, folded", home, HOME_SPACE, HOME_FALLING).await?,
            base: on
                .read(format!("SELECT value, version, folded FROM {home} WHERE {HOME_KEY}"))
                .await?,
            name: on
                .read(format!("SELECT value, latest, pending FROM {home} WHERE {HOME_KEY}"))
                .await?,
            listed: on
                .read(format!("SELECT sort, value, version FROM {home} WHERE {HOME_SPACE}"))
                .await?,

            advance_head: on
                .conditional(format!(
                    "UPDATE {home} SET latest = ?, pending = ? WHERE {HOME_KEY} IF latest = ?"
                ))
                .await?,
            mark: on
                .conditional(format!(
                    "INSERT INTO {home} (bucket, partition, space, sort, value) \
                     VALUES (?, ?, ?, ?, ?) IF NOT EXISTS"
                ))
                .await?,
            put_home: on
                .conditional(format!("UPDATE {home} SET value = ? WHERE {HOME_KEY}"))
                .await?,
            put_home_if: on
                .conditional(format!("UPDATE {home} SET value = ? WHERE {HOME_KEY} IF value = ?"))
                .await?,
            delete_home: on.conditional(format!("DELETE FROM {home} WHERE {HOME_KEY}")).await?,
            delete_home_if: on
                .conditional(format!("DELETE FROM {home} WHERE {HOME_KEY} IF value = ?"))
                .await?,
            prune_marks: on
                .conditional(format!(
                    "DELETE FROM {home} WHERE {HOME_SPACE} AND sort > 0x AND sort < ?"
                ))
                .await?,
            clear_home: on.conditional(format!("DELETE FROM {home} WHERE {HOME_SPACE}")).await?,
            fold: on
                .conditional(format!(
                    "UPDATE {home} SET value = ?, version = ?, folded = ? WHERE {HOME_KEY} \
                     IF version = ?"
                ))
                .await?,
            reserve_name: on
                .conditional(format!(
                    "UPDATE {home} SET pending = ? WHERE {HOME_KEY} IF pending = ? AND latest = ?"
                ))
                .await?,
            confirm_name: on
                .conditional(format!(
                    "UPDATE {home} SET value = ?, latest = ?, pending = ? WHERE {HOME_KEY} \
                     IF pending = ?"
                ))
                .await?,
            leave_name: on
                .conditional(format!(
                    "UPDATE {home} SET pending = ? WHERE {HOME_KEY} IF pending = ?"
                ))
                .await?,
            list_space: on
                .conditional(format!(
                    "INSERT INTO {home} (bucket, partition, space, sort, value, pending) \
                     VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS"
                ))
                .await?,
            relist_space: on
                .conditional(format!(
                    "UPDATE {home} SET value = ?, version = ? WHERE {HOME_KEY} IF value = ?"
                ))
                .await?,

            derived_row: on
                .read(format!("SELECT value FROM {derived} WHERE {DERIVED_KEY}"))
                .await?,
            derived_range: on.range("sort, value", derived, DERIVED_PARTITION, "sort DESC").await?,
            derived_count: on
                .read(format!("SELECT COUNT(*) FROM {derived} WHERE {DERIVED_PARTITION}"))
                .await?,
            put_derived: on
                .blind(format!(
                    "INSERT INTO {derived} (space, partition, sort, value) VALUES (?, ?, ?, ?) \
                     USING TIMESTAMP ?"
                ))
                .await?,
            delete_derived: on
                .blind(format!("DELETE FROM {derived} USING TIMESTAMP ? WHERE {DERIVED_KEY}"))
                .await?,
            delete_range: on
                .blind(format!(
                    "DELETE FROM {derived} USING TIMESTAMP ? \
                     WHERE {DERIVED_PARTITION} AND sort >= ? AND sort < ?"
                ))
                .await?,
            clear_derived: on
                .blind(format!("DELETE FROM {derived} USING TIMESTAMP ? WHERE {DERIVED_PARTITION}"))
                .await?,
        })
    }
}

#[derive(Clone, Copy)]
struct Preparing<'a> {
    session: &'a Session,
    settings: &'a CqlSettings,
    consistency: Consistency,
}

/// The consistency of a read that waits for transactions, and ends those that nobody ends.
fn reading_serially(settings: &CqlSettings) -> Consistency {
    match settings.serial_consistency {
        SerialConsistency::LocalSerial => Consistency::LocalSerial,
        SerialConsistency::Serial => Consistency::Serial,
    }
}

impl Preparing<'_> {
    async fn prepare(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = self.session.prepare(text).await.map_err(fault::preparing)?;
        statement.set_consistency(self.consistency);
        statement.set_request_timeout(Some(self.settings.request_timeout));
        Ok(statement)
    }

    async fn read(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = self.prepare(text).await?;
        statement.set_is_idempotent(true);
        Ok(statement)
    }

    async fn blind(&self, text: String) -> Result<PreparedStatement> {
        self.read(text).await
    }

    async fn conditional(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = self.prepare(text).await?;
        statement.set_serial_consistency(Some(self.settings.serial_consistency.into()));
        statement.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy::new())));
        statement.set_is_idempotent(false);
        Ok(statement)
    }

    async fn range(
        &self,
        columns: &str,
        table: &str,
        partition: &str,
        falling: &str,
    ) -> Result<RangeReads> {
        let select = format!("SELECT {columns} FROM {table} WHERE {partition} AND sort >= ?");
        Ok(RangeReads {
            upward: self.read(format!("{select} LIMIT ?")).await?,
            upward_below: self.read(format!("{select} AND sort < ? LIMIT ?")).await?,
            downward: self.read(format!("{select} ORDER BY {falling} LIMIT ?")).await?,
            downward_below: self
                .read(format!("{select} AND sort < ? ORDER BY {falling} LIMIT ?"))
                .await?,
        })
    }
}
