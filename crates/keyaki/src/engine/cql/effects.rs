//! What follows from a commit that took: its dependents, each at the commit's own time, so that it doesn't matter
//! who writes them and how often.

use super::Inner;
use super::at_once;
use super::cluster::{Batched, Link};
use super::intent::{self, Intent, Recorded, at};
use super::own::{self, Directory, NOTHING, OWN};
use super::statements::Arg;
use crate::cell::{Tid, key};
use crate::engine::commit::{Home, StoredWrite};
use crate::engine::space::SpaceId;
use crate::error::{Error, Result};

/// Requests of one commit under way at once.
const AT_ONCE: usize = 64;
/// Requests of one commit prepared at a time.
const GROUPS_AT_A_TIME: usize = 4_096;
/// Rows of one partition that go in one request.
const BATCH_ROWS: usize = 100;
const BATCH_BYTES: usize = 64 << 10;
/// A directory's entries are the same whoever writes them, and go only with their space.
const DIRECTORY_AT: i64 = 1;

/// A derived row to be put, or deleted if it has no value.
struct Row<'a> {
    sort: Vec<u8>,
    value: Option<&'a [u8]>,
}

/// Rows of one partition.
struct Group<'a> {
    space: SpaceId,
    partition: Vec<u8>,
    rows: Vec<Row<'a>>,
    bytes: usize,
}

impl Inner {
    /// Writes the dependents of a commit that took, as its intent has them.
    pub(super) async fn finish_intent(&self, link: &Link, intent: &Intent) -> Result<()> {
        match &intent.records {
            Recorded::Here(records) => {
                self.apply(link, intent.tid, &intent::records(records)?).await
            }
            Recorded::Parts(parts) => {
                for number in 0..*parts {
                    let records = intent.part(link, number).await?;
                    self.apply(link, intent.tid, &intent::records(&records)?).await?;
                }
                Ok(())
            }
            Recorded::Growing => Err(Error::corrupt("a commit took before its intent was whole")
                .with("commit", intent.tid)),
        }
    }

    /// Writes dependents, which are in the order of their keys.
    pub(super) async fn apply(
        &self,
        link: &Link,
        tid: Tid,
        records: &[(&[u8], StoredWrite<'_>)],
    ) -> Result<()> {
        let mut groups = self.groups(tid, records)?;
        self.list_partitions(link, &groups).await?;
        while !groups.is_empty() {
            let some = groups.drain(..groups.len().min(GROUPS_AT_A_TIME));
            let writes: Vec<_> = some.map(|group| write_group(link, group, at(tid))).collect();
            at_once(AT_ONCE, writes).await?;
        }
        Ok(())
    }

    /// Cuts them into runs of one partition. What is in a dropped space is left out.
    fn groups<'a>(
        &self,
        tid: Tid,
        records: &[(&'a [u8], StoredWrite<'a>)],
    ) -> Result<Vec<Group<'a>>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for (stored_key, write) in records {
            let cell = key::split_cell_key(stored_key)
                .map_err(|bad| Error::corrupt("key in an intent is damaged").because(bad))?;
            let space = SpaceId(cell.space);
            let Ok(known) = self.spaces.existing(space) else { continue };
            let row = match (known.merges(), write) {
                (false, StoredWrite::Put(value) | StoredWrite::Merge(value)) => {
                    Row { sort: cell.sort.to_vec(), value: Some(value) }
                }
                (false, StoredWrite::Delete) => Row { sort: cell.sort.to_vec(), value: None },
                (true, StoredWrite::Put(value) | StoredWrite::Merge(value)) => {
                    Row { sort: own::operand(cell.sort, tid), value: Some(value) }
                }
                // To merged cells a deletion is an operand like others, and an empty one.
                (true, StoredWrite::Delete) => {
                    Row { sort: own::operand(cell.sort, tid), value: Some(&[]) }
                }
            };
            let bytes = row.sort.len() + row.value.map_or(0, <[u8]>::len);
            let partition = cell
                .partition()
                .map_err(|bad| Error::corrupt("key in an intent is damaged").because(bad))?;
            match groups.last_mut() {
                Some(group) if group.takes(space, &partition, bytes) => {
                    group.rows.push(row);
                    group.bytes += bytes;
                }
                _ => groups.push(Group {
                    space,
                    partition: partition.into_owned(),
                    rows: vec![row],
                    bytes,
                }),
            }
        }
        Ok(groups)
    }

    /// Lists partitions that this process has not listed lately.
    async fn list_partitions(&self, link: &Link, groups: &[Group<'_>]) -> Result<()> {
        let mut entries: Vec<(Vec<u8>, &[u8], u128)> = Vec::new();
        for group in groups {
            let directory = Directory::Cells(group.space);
            let name = own::fingerprint(directory, &group.partition);
            if !self.known.holds(name) {
                let shard = Directory::shard_of(&group.partition);
                entries.push((directory.partition(shard), &group.partition, name));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        let batches: Vec<_> = entries
            .chunk_by(|a, b| a.0 == b.0)
            .flat_map(|same| same.chunks(BATCH_ROWS))
            .map(|batch| list_batch(link, batch))
            .collect();
        at_once(AT_ONCE, batches).await?;
        for (_, _, name) in entries {
            self.known.note(name);
        }
        Ok(())
    }

    /// Lists a partition of a derived space.
    pub(super) async fn list_cells(&self, link: &Link, space: u32, partition: &[u8]) -> Result<()> {
        self.list(link, Directory::Cells(SpaceId(space)), partition).await
    }

    /// Lists a home partition, before it is first written to.
    pub(super) async fn list_home(&self, link: &Link, home: &Home) -> Result<()> {
        self.list(link, Directory::Homes(home.bucket), &home.partition).await
    }

    async fn list(&self, link: &Link, directory: Directory, partition: &[u8]) -> Result<()> {
        let shard = directory.partition(Directory::shard_of(partition));
        let row = (OWN, &shard[..], partition, NOTHING, DIRECTORY_AT);
        link.blind(&link.statements.put_derived, row).await
    }
}

impl Group<'_> {
    fn takes(&self, space: SpaceId, partition: &[u8], bytes: usize) -> bool {
        self.space == space
            && self.partition == partition
            && self.rows.len() < BATCH_ROWS
            && self.bytes + bytes <= BATCH_BYTES
    }
}

async fn write_group(link: &Link, group: Group<'_>, at: i64) -> Result<()> {
    let (space, partition) = (group.space.0 as i32, &group.partition[..]);
    if let [row] = &group.rows[..] {
        return match row.value {
            Some(value) => {
                let values = (space, partition, &row.sort[..], value, at);
                link.blind(&link.statements.put_derived, values).await
            }
            None => {
                let values = (at, space, partition, &row.sort[..]);
                link.blind(&link.statements.delete_derived, values).await
            }
        };
    }
    let mut batch = Batched::default();
    for row in &group.rows {
        let (place, key) = ([Arg::Int(space), Arg::Bytes(partition)], Arg::Bytes(&row.sort));
        match row.value {
            Some(value) => batch.push(
                &link.statements.put_derived,
                [place[0], place[1], key, Arg::Bytes(value), Arg::Long(at)],
            ),
            None => batch
                .push(&link.statements.delete_derived, [Arg::Long(at), place[0], place[1], key]),
        }
    }
    link.blind_batch(batch).await
}

async fn list_batch(link: &Link, entries: &[(Vec<u8>, &[u8], u128)]) -> Result<()> {
    let mut batch = Batched::default();
    for (shard, partition, _) in entries {
        batch.push(
            &link.statements.put_derived,
            [
                Arg::Int(OWN),
                Arg::Bytes(shard),
                Arg::Bytes(partition),
                Arg::Bytes(&[]),
                Arg::Long(DIRECTORY_AT),
            ],
        );
    }
    link.blind_batch(batch).await
}
