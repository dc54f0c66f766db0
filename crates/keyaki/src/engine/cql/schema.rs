//! The two tables, made by whoever comes first.
//!
//! | table | key | written |
//! |---|---|---|
//! | `home` | `((bucket, partition), space, sort)` | only by lightweight transactions |
//! | `derived` | `((space, partition), sort)` | only at fixed timestamps |
//!
//! Both are made with `IF NOT EXISTS` and under ids that follow from their names, so that nodes that are asked to
//! make them at the same moment make the same tables. What the engine keeps for itself lies in space 0 of both: see
//! `own`. The version of this layout is a row there, too: a build that knows another refuses the keyspace.

use scylla::client::session::Session;
use uuid::Uuid;

use super::fault;
use crate::error::{Error, Result};
use crate::settings::{CqlSettings, Replication};

/// The version of this layout.
pub const FORMAT: &[u8] = b"1";
/// A replica that has just died is not waited for long.
const OPTIONS: &str = "speculative_retry = '50ms'";
/// A read that repaired the rows it read, and no others, would leave a replica with half of a transaction. Where there is
/// no such option, a read repairs.
const WHOLE: &str = " AND read_repair = 'NONE'";

/// The keyspace of a replication setting: one each, since replication is a keyspace's.
pub fn keyspace(settings: &CqlSettings) -> String {
    match &settings.replication {
        Replication::Factor(factor) => format!("{}_rf{factor}", settings.keyspace_prefix),
        Replication::Datacenters(factors) => {
            let mut name = settings.keyspace_prefix.clone();
            for (datacenter, factor) in factors {
                let letters = datacenter.chars().filter(char::is_ascii_alphanumeric);
                let letters: String = letters.collect::<String>().to_ascii_lowercase();
                name.push_str(&format!("_{letters}{factor}"));
            }
            name
        }
    }
}

/// Refuses names that CQL would not take, or would take for something else.
///
/// # Errors
/// `Invalid`, with the name.
pub fn check_keyspace(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= 48 && name.chars().all(plain) {
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
    let home = |options: &str| {
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.home (bucket bigint, partition blob, space int, \
             sort blob, value blob, latest bigint, pending blob, version bigint, folded blob, \
             PRIMARY KEY ((bucket, partition), space, sort)) \
             WITH ID = '{}' AND {OPTIONS}{options}",
            table_id(keyspace, "home")
        )
    };
    let statements = [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', {replication}}}"
        ),
        home(WHOLE),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.derived (space int, partition blob, sort blob, \
             value blob, PRIMARY KEY ((space, partition), sort)) \
             WITH ID = '{}' AND {OPTIONS}",
            table_id(keyspace, "derived")
        ),
    ];
    for statement in statements {
        let made = session.query_unpaged(statement.clone(), &[]).await;
        let made = match made {
            Err(error) if statement.ends_with(WHOLE) && fault::is_refused(&error) => {
                session.query_unpaged(home(""), &[]).await
            }
            made => made,
        };
        made.map_err(fault::executing)?;
    }
    Ok(())
}

/// Two nodes that make a table at the same moment would give it different ids, and the cluster two tables.
fn table_id(keyspace: &str, table: &str) -> Uuid {
    let hash = blake3::hash(format!("{keyspace}.{table}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
