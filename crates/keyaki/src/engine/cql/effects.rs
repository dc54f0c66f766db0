//! What follows from a commit that took: its dependents, each at the commit's own time, so that it doesn't matter
//! who writes them and how often.

use std::borrow::Cow;

use super::Inner;
use super::at_once;
use super::cluster::{Batched, Link};
use super::intent::{self, Intent, Recorded, at};
use super::merged::CROWD;
use super::own::{self, Directory, NOTHING, OWN};
use super::statements::Arg;
use crate::cell::{Tid, key};
use crate::engine::commit::{Home, StoredWrite, space_of};
use crate::engine::space::SpaceId;
use crate::error::{Error, Result};

/// Requests of one commit under way at once.
const AT_ONCE: usize = 64;
/// Rows of one partition that go in one request.
const BATCH_ROWS: usize = 100;
const BATCH_BYTES: usize = 64 << 10;
/// Up to so many partitions with so few bytes go in one request, all that follows from a small commit: one of them
/// is cheaper than many. Beyond this every partition's rows go to its own replicas, and Cassandra would warn.
const TOGETHER_PARTITIONS: usize = 10;
const TOGETHER_BYTES: usize = 4 << 10;
/// A commit with more dependents lists their partitions when it writes them.
const AHEAD_MAX: usize = 64;
/// A directory's entries are the same whoever writes them, and go only with their space.
const DIRECTORY_AT: i64 = 1;

/// A derived row to be put, or deleted if it has no value.
struct Row<'a> {
    sort: Vec<u8>,
    value: Option<&'a [u8]>,
}

/// Partitions that are to be listed.
pub struct Unlisted<'a> {
    /// Their directory entries, and what else is to be written with them.
    entries: Vec<Group<'a>>,
    /// What to remember them by.
    names: Vec<u128>,
}

/// Rows of one partition, all at one timestamp.
struct Group<'a> {
    space: i32,
    partition: Vec<u8>,
    at: i64,
    rows: Vec<Row<'a>>,
    bytes: usize,
}

impl Inner {
    /// Writes the dependents of a commit that took, as its intent has them, and lists its home.
    pub(super) async fn finish_intent(&self, link: &Link, intent: &Intent) -> Result<()> {
        self.list_home(link, &intent.home).await?;
        match &intent.records {
            Recorded::Here(records) => self.apply_recorded(link, intent.tid, records).await,
            Recorded::Parts(parts) => {
                for number in 0..*parts {
                    // All parts were there before the commit took, and go only when all of them are applied.
                    let Some(records) = intent.part(link, number).await? else { break };
                    self.apply_recorded(link, intent.tid, &records).await?;
                }
                Ok(())
            }
            Recorded::Growing => Err(Error::corrupt("a commit took before its intent was whole")
                .with("commit", intent.tid)),
        }
    }

    /// Writes dependents of another process, which may have made their spaces a moment ago.
    async fn apply_recorded(&self, link: &Link, tid: Tid, recorded: &[u8]) -> Result<()> {
        let records = intent::records(recorded)?;
        if records.iter().any(|(key, _)| self.spaces.get(space_of(key)).is_none()) {
            self.refresh_spaces(link).await?;
        }
        self.apply(link, tid, &records).await
    }

    /// Writes dependents, which are in the order of their keys, and lists their partitions: until both are done
    /// the intent stays, so neither has to come first.
    pub(super) async fn apply(
        &self,
        link: &Link,
        tid: Tid,
        records: &[(&[u8], StoredWrite<'_>)],
    ) -> Result<()> {
        let dependents = self.groups(tid, records)?;
        let Unlisted { mut entries, names } = self.unlisted(dependents.iter().map(Group::place));
        entries.extend(dependents);
        self.list(link, Unlisted { entries, names }).await
    }

    /// What is to be listed for a small commit, which can be done while it is decided: its home, and the partitions
    /// that it will write to. If it doesn't take, an empty partition is listed, which does no harm.
    pub(super) fn ahead(
        &self,
        home: &Home,
        records: &[(&[u8], StoredWrite<'_>)],
    ) -> Result<Unlisted<'static>> {
        let mut places: Vec<(Directory, Cow<'_, [u8]>)> =
            vec![(Directory::Homes(home.bucket), Cow::Borrowed(&home.partition))];
        if records.len() <= AHEAD_MAX {
            for (stored_key, _) in records {
                let damaged = |bad| Error::internal("a sealed key is damaged").because(bad);
                let cell = key::split_cell_key(stored_key).map_err(damaged)?;
                let space = SpaceId(cell.space);
                places.push((Directory::Cells(space), cell.partition().map_err(damaged)?));
            }
        }
        let places = places.iter().map(|(directory, partition)| (*directory, &partition[..]));
        Ok(self.unlisted(places))
    }

    /// Lists partitions, and remembers that.
    pub(super) async fn list(&self, link: &Link, unlisted: Unlisted<'_>) -> Result<()> {
        write_all(link, &unlisted.entries).await?;
        for name in unlisted.names {
            self.known.note(name);
        }
        Ok(())
    }

    /// Cuts them into runs of one partition. What is in a dropped space is left out; a space that is not known here is
    /// no dropped one.
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
            let known = self.spaces.get(space).ok_or_else(|| {
                Error::unavailable("a commit's space is not listed yet").with("space", space.0)
            })?;
            if known.record.retired {
                continue;
            }
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
            if known.merges() && self.merges.count((space, &partition, cell.sort), CROWD) {
                self.crowded.note(space, &partition, cell.sort.to_vec());
            }
            match groups.last_mut() {
                Some(group) if group.takes(space.0 as i32, &partition, bytes) => {
                    group.rows.push(row);
                    group.bytes += bytes;
                }
                _ => groups.push(Group {
                    space: space.0 as i32,
                    partition: partition.into_owned(),
                    at: at(tid),
                    rows: vec![row],
                    bytes,
                }),
            }
        }
        Ok(groups)
    }

    /// Those of these partitions that this process has not listed lately.
    fn unlisted<'p, 'g>(
        &self,
        places: impl Iterator<Item = (Directory, &'p [u8])>,
    ) -> Unlisted<'g> {
        let mut entries: Vec<(Vec<u8>, &[u8], u128)> = Vec::new();
        for (directory, partition) in places {
            let name = own::fingerprint(directory, partition);
            if !self.known.holds(name) {
                let shard = Directory::shard_of(partition);
                entries.push((directory.partition(shard), partition, name));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        let shards = entries.chunk_by(|a, b| a.0 == b.0).flat_map(|same| same.chunks(BATCH_ROWS));
        let groups = shards.map(entries_of_shard).collect();
        Unlisted { entries: groups, names: entries.into_iter().map(|(_, _, name)| name).collect() }
    }

    /// Lists a partition of a derived space.
    pub(super) async fn list_cells(&self, link: &Link, space: u32, partition: &[u8]) -> Result<()> {
        self.list_one(link, Directory::Cells(SpaceId(space)), partition).await
    }

    /// Lists a home partition.
    pub(super) async fn list_home(&self, link: &Link, home: &Home) -> Result<()> {
        self.list_one(link, Directory::Homes(home.bucket), &home.partition).await
    }

    async fn list_one(&self, link: &Link, directory: Directory, partition: &[u8]) -> Result<()> {
        let name = own::fingerprint(directory, partition);
        if self.known.holds(name) {
            return Ok(());
        }
        let shard = directory.partition(Directory::shard_of(partition));
        let row = (OWN, &shard[..], partition, NOTHING, DIRECTORY_AT);
        link.blind(&link.statements.put_derived, row).await?;
        self.known.note(name);
        Ok(())
    }
}

impl Group<'_> {
    fn place(&self) -> (Directory, &[u8]) {
        (Directory::Cells(SpaceId(self.space as u32)), &self.partition)
    }

    fn takes(&self, space: i32, partition: &[u8], bytes: usize) -> bool {
        self.space == space
            && self.partition == partition
            && self.rows.len() < BATCH_ROWS
            && self.bytes + bytes <= BATCH_BYTES
    }
}

fn entries_of_shard<'g>(entries: &[(Vec<u8>, &[u8], u128)]) -> Group<'g> {
    let row = |(_, partition, _): &(Vec<u8>, &[u8], u128)| Row {
        sort: partition.to_vec(),
        value: Some(NOTHING),
    };
    Group {
        space: OWN,
        partition: entries[0].0.clone(),
        at: DIRECTORY_AT,
        rows: entries.iter().map(row).collect(),
        bytes: entries.iter().map(|(_, partition, _)| partition.len()).sum(),
    }
}

fn fit_together(groups: &[Group<'_>]) -> bool {
    let bytes = |group: &Group<'_>| group.bytes + group.partition.len() * group.rows.len();
    groups.len() <= TOGETHER_PARTITIONS && groups.iter().map(bytes).sum::<usize>() <= TOGETHER_BYTES
}

async fn write_all(link: &Link, groups: &[Group<'_>]) -> Result<()> {
    let together = if fit_together(groups) { TOGETHER_PARTITIONS } else { 1 };
    at_once(AT_ONCE, groups.chunks(together).map(|some| write_groups(link, some))).await
}

async fn write_groups(link: &Link, groups: &[Group<'_>]) -> Result<()> {
    if let [group] = groups
        && let [row] = &group.rows[..]
    {
        return write_row(link, group, row).await;
    }
    let mut batch = Batched::default();
    for group in groups {
        let place = [Arg::Int(group.space), Arg::Bytes(&group.partition)];
        let at = Arg::Long(group.at);
        for row in &group.rows {
            let sort = Arg::Bytes(&row.sort);
            match row.value {
                Some(value) => batch.push(
                    &link.statements.put_derived,
                    [place[0], place[1], sort, Arg::Bytes(value), at],
                ),
                None => {
                    batch.push(&link.statements.delete_derived, [at, place[0], place[1], sort]);
                }
            }
        }
    }
    link.blind_batch(batch).await
}

async fn write_row(link: &Link, group: &Group<'_>, row: &Row<'_>) -> Result<()> {
    let (space, partition, sort) = (group.space, &group.partition[..], &row.sort[..]);
    match row.value {
        Some(value) => {
            let values = (space, partition, sort, value, group.at);
            link.blind(&link.statements.put_derived, values).await
        }
        None => {
            let values = (group.at, space, partition, sort);
            link.blind(&link.statements.delete_derived, values).await
        }
    }
}
