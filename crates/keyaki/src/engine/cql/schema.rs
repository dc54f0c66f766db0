//! The two tables, made by whoever comes first, and brought up to date by whoever finds them older.
//!
//! | table | key | written |
//! |---|---|---|
//! | `home` | `((bucket, partition), space, sort)` | only by lightweight transactions |
//! | `derived` | `((space, partition), sort)` | only at fixed timestamps |
//!
//! Both are made with `IF NOT EXISTS` and under ids that follow from their names, so that nodes that are asked to
//! make them at the same moment make the same tables. Columns that an older build did not have are added, and the option
//! that keeps transactions whole is set: both come out the same however many do it at once. What the engine keeps for
//! itself lies in space 0 of both: see `own`. The version of this layout is a row there, too, for what can't be
//! added: a build that knows another refuses the keyspace.

use scylla::client::session::Session;
use uuid::Uuid;

use super::fault;
use crate::error::{Error, Result};
use crate::settings::{CqlSettings, Replication};

/// The version of this layout.
pub const FORMAT: &[u8] = b"2";
/// Characters of a keyspace's name.
const NAME_MAX: usize = 48;
/// A replica that has just died is not waited for long.
const OPTIONS: &str = "speculative_retry = '50ms'";
/// A read that repaired the rows it read, and no others, would leave a replica with half of a transaction. Where there is
/// no such option, a read repairs.
const READ_REPAIR: &str = "NONE";

struct Table {
    name: &'static str,
    columns: &'static [(&'static str, &'static str)],
    key: &'static str,
    /// Whether its rows change together.
    transactions: bool,
}

const TABLES: [Table; 2] = [
    Table {
        name: "home",
        columns: &[
            ("bucket", "bigint"),
            ("partition", "blob"),
            ("space", "int"),
            ("sort", "blob"),
            ("value", "blob"),
            ("latest", "bigint"),
            ("pending", "blob"),
            ("version", "bigint"),
            ("folded", "blob"),
        ],
        key: "(bucket, partition), space, sort",
        transactions: true,
    },
    Table {
        name: "derived",
        columns: &[("space", "int"), ("partition", "blob"), ("sort", "blob"), ("value", "blob")],
        key: "(space, partition), sort",
        transactions: false,
    },
];

/// The keyspace of a replication setting: one each, since replication is a keyspace's.
pub fn keyspace(settings: &CqlSettings) -> String {
    match &settings.replication {
        Replication::Factor(factor) => format!("{}_rf{factor}", settings.keyspace_prefix),
        Replication::Datacenters(factors) => {
            let mut name = settings.keyspace_prefix.clone();
            for (datacenter, factor) in factors {
                name.push_str(&format!("_{}{factor}", letters(datacenter)));
            }
            fitting(name)
        }
    }
}

/// A datacenter in letters that a keyspace may have. What they can't say, a hash does: `dc1` with 3 copies is not `dc`
/// with 13, nor is it `DC-1`.
fn letters(datacenter: &str) -> String {
    if !datacenter.is_empty() && datacenter.chars().all(|c| c.is_ascii_lowercase()) {
        return datacenter.to_owned();
    }
    let plain = datacenter.chars().filter(char::is_ascii_alphanumeric);
    let plain = plain.collect::<String>().to_ascii_lowercase();
    let [first, second, ..] = *blake3::hash(datacenter.as_bytes()).as_bytes();
    format!("{plain}_{first:02x}{second:02x}_")
}

/// A name no longer than CQL takes: a hash stands for all that is cut off.
fn fitting(name: String) -> String {
    if name.len() <= NAME_MAX {
        return name;
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let (begins, hash) = (name.chars().take(NAME_MAX - 9).collect::<String>(), &hash[..8]);
    format!("{begins}_{hash}")
}

/// Refuses names that CQL would not take, or would take for something else.
///
/// # Errors
/// `Invalid`, with the name.
pub fn check_keyspace(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= NAME_MAX && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::invalid("keyspace must be up to 48 lower-case letters, digits and underscores")
        .with("keyspace", name))
}

/// Makes what is missing.
///
/// # Errors
/// `Unavailable` if the cluster can't, now.
pub async fn create(session: &Session, keyspace: &str, replication: &Replication) -> Result<()> {
    let replication = match replication {
        Replication::Factor(factor) => format!("'replication_factor': {factor}"),
        Replication::Datacenters(factors) => {
            let factor = |(name, factor): (&String, &u8)| {
                format!("'{}': {factor}", name.replace('\'', "''"))
            };
            factors.iter().map(factor).collect::<Vec<_>>().join(", ")
        }
    };
    let made = format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
         {{'class': 'NetworkTopologyStrategy', {replication}}}"
    );
    session.query_unpaged(made, &[]).await.map_err(fault::executing)?;
    for table in &TABLES {
        table.create(session, keyspace).await?;
        table.add_columns(session, keyspace).await?;
        table.keep_whole(session, keyspace).await?;
    }
    Ok(())
}

impl Table {
    async fn create(&self, session: &Session, keyspace: &str) -> Result<()> {
        let columns: Vec<_> =
            self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        let made = format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.{} ({}, PRIMARY KEY ({})) WITH ID = '{}' AND {OPTIONS}",
            self.name,
            columns.join(", "),
            self.key,
            table_id(keyspace, self.name)
        );
        if self.transactions {
            let whole = format!("{made} AND read_repair = '{READ_REPAIR}'");
            match session.query_unpaged(whole, &[]).await {
                Err(error) if fault::is_refused(&error) => {}
                answer => return answer.map(drop).map_err(fault::executing),
            }
        }
        session.query_unpaged(made, &[]).await.map(drop).map_err(fault::executing)
    }

    async fn add_columns(&self, session: &Session, keyspace: &str) -> Result<()> {
        for (name, kind) in self.missing(session, keyspace).await? {
            let added = format!("ALTER TABLE {keyspace}.{} ADD {name} {kind}", self.name);
            match session.query_unpaged(added, &[]).await {
                // Somebody else was faster, which the node that was asked may not know yet: the next attempt finds it.
                Err(error) if fault::is_refused(&error) => {
                    let changing = Error::unavailable("a table is being changed");
                    return Err(changing.because(error).with("column", name));
                }
                answer => drop(answer.map_err(fault::executing)?),
            }
        }
        Ok(())
    }

    /// Columns that it has not.
    async fn missing(
        &self,
        session: &Session,
        keyspace: &str,
    ) -> Result<Vec<(&'static str, &'static str)>> {
        let query = "SELECT column_name FROM system_schema.columns \
                     WHERE keyspace_name = ? AND table_name = ?";
        let rows = session.query_unpaged(query, (keyspace, self.name)).await;
        let rows = rows.map_err(fault::executing)?.into_rows_result().map_err(fault::misread)?;
        let mut there = Vec::new();
        for row in rows.rows::<(String,)>().map_err(fault::misread)? {
            there.push(row.map_err(fault::misread)?.0);
        }
        let absent = |(name, _): &&(&str, &str)| !there.iter().any(|column| column == name);
        Ok(self.columns.iter().filter(absent).copied().collect())
    }

    async fn keep_whole(&self, session: &Session, keyspace: &str) -> Result<()> {
        if !self.transactions {
            return Ok(());
        }
        let query = "SELECT read_repair FROM system_schema.tables \
                     WHERE keyspace_name = ? AND table_name = ?";
        let rows = match session.query_unpaged(query, (keyspace, self.name)).await {
            // Its own tables have no such column.
            Err(error) if fault::is_refused(&error) => return Ok(()),
            rows => rows.map_err(fault::executing)?.into_rows_result().map_err(fault::misread)?,
        };
        let set = rows.maybe_first_row::<(Option<&str>,)>().map_err(fault::misread)?;
        if set.is_none_or(|(set,)| set == Some(READ_REPAIR)) {
            return Ok(());
        }
        let altered =
            format!("ALTER TABLE {keyspace}.{} WITH read_repair = '{READ_REPAIR}'", self.name);
        session.query_unpaged(altered, &[]).await.map(drop).map_err(fault::executing)
    }
}

/// Two nodes that make a table at the same moment would give it different ids, and the cluster two tables.
fn table_id(keyspace: &str, table: &str) -> Uuid {
    let hash = blake3::hash(format!("{keyspace}.{table}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_replication_has_a_keyspace_of_its_own() {
        let named = |factors: &[(&str, u8)]| {
            let factors = factors.iter().map(|(name, factor)| ((*name).to_owned(), *factor));
            let replication = Replication::Datacenters(factors.collect());
            let name = keyspace(&CqlSettings { replication, ..CqlSettings::default() });
            check_keyspace(&name).unwrap();
            name
        };
        assert_eq!(named(&[("east", 3), ("west", 2)]), "keyaki_east3_west2");
        let many = [("eu-west-1", 3), ("us-east-1", 3), ("us-west-2", 3)];
        assert_ne!(named(&many), named(&[many[0], many[1], ("us-west-2", 2)]));
        let alike = [("dc", 13), ("dc1", 3), ("DC1", 3), ("dc-1", 3), ("dc-", 13)];
        let names: std::collections::BTreeSet<_> =
            alike.iter().map(|factor| named(&[*factor])).collect();
        assert_eq!(names.len(), alike.len(), "{names:?}");
    }
}
