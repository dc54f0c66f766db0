//! Who writes, and how far each is settled: the list that makes a common order of commits possible.
//!
//! Every process that commits with dependents is listed with a *settled* time: all its commits below are decided,
//! their dependents written, their intents gone. The least of all settled times is how far the change feed may
//! be read. Three rules keep that true:
//! - A process that joins is listed first, reads the list then, and puts its clock ahead of all settled times:
//!   whatever it commits is later than anything a reader has passed.
//! - It may commit only while its lease lasts, counted from before its row was last written, and only above where it
//!   joined; it looks after its intent is written and before the home is. Others wait three leases before they finish
//!   its commits and take it off the list, so they find every intent that may still take. If it was only asleep, it
//!   joins again.
//! - It lists the ten seconds that an intent lies in before it writes it, so others know where to look.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Inner;
use super::cluster::Link;
use super::fault;
use super::own::{self, NOTHING, OWN};
use super::wire::Reader;
use crate::cell::{Tid, Time};
use crate::error::{Error, Result};

/// Not a node, but how far all that are no longer listed had got: whoever joins must be later. Ids of nodes are
/// shorter. Its row's timestamp is its settled time, so the latest one stays, whoever writes it.
const FLOOR: u64 = u64::MAX;
/// Leases that others wait before they take a process off the list.
const LEASES_WAITED: u32 = 3;

/// A process as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Which; its commits' ids end in it.
    pub node: u64,
    /// All its commits below are done.
    pub settled: Time,
    /// When its row was written, by its own clock: the row's timestamp.
    pub written: Time,
}

/// The nodes of this process, and what is known of the others.
#[derive(Default)]
pub struct Nodes {
    ours: Mutex<HashMap<u64, Lease>>,
    /// Of each other node: the row last seen, and since when.
    others: Mutex<HashMap<u64, (Listed, Instant)>>,
    /// In which ten seconds nodes of this process have intents.
    spans: Mutex<BTreeSet<(u64, u64)>>,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    begun: Instant,
    row: Listed,
    /// How far anybody was settled when it joined. Its own row must not say so: a commit from before a nap may still be
    /// under way below.
    joined: Time,
}

/// Whether a commit may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It may.
    Granted,
    /// Its time is below what is settled: it must be stamped anew.
    TooEarly,
}

impl Nodes {
    fn ours(&self) -> MutexGuard<'_, HashMap<u64, Lease>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn others(&self) -> MutexGuard<'_, HashMap<u64, (Listed, Instant)>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spans(&self) -> MutexGuard<'_, BTreeSet<(u64, u64)>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of two rows written at once, the later one counts, and where either joined. Answers whether it is ours, or has
    /// left since its last one.
    fn renew(&self, lease: Lease, last: Option<Lease>) -> bool {
        let mut ours = self.ours();
        if last.is_some() && !ours.contains_key(&lease.row.node) {
            return false;
        }
        let kept = ours.entry(lease.row.node).or_insert(lease);
        let joined = kept.joined.max(lease.joined);
        if kept.row.written < lease.row.written {
            *kept = lease;
        }
        kept.joined = joined;
        true
    }

    fn lease_of(&self, node: u64) -> Option<Lease> {
        self.ours().get(&node).copied()
    }

    /// Whether a commit may go on; `None` if the lease of its node is over. A process that was asleep has a new lease
    /// soon after, but readers may have passed what it was about to commit: it joined above them.
    pub fn leave_for(&self, tid: Tid, lease: Duration) -> Option<Leave> {
        let ours = *self.ours().get(&tid.node())?;
        (ours.begun.elapsed() < lease).then_some(match tid.time() >= ours.joined {
            true => Leave::Granted,
            false => Leave::TooEarly,
        })
    }
}

impl Inner {
    /// Sees to it that a commit's node is listed and its lease lasts.
    pub(super) async fn join(&self, link: &Link, tid: Tid) -> Result<Leave> {
        let lease = self.settings.lease;
        if let Some(leave) = self.nodes.leave_for(tid, lease) {
            return Ok(leave);
        }
        self.show_up(link, tid.node()).await?;
        Ok(self.nodes.leave_for(tid, lease).unwrap_or(Leave::TooEarly))
    }

    /// Writes a node's row. If its lease was over, it joins as if for the first time.
    pub(super) async fn show_up(&self, link: &Link, node: u64) -> Result<()> {
        let last = self.nodes.lease_of(node);
        self.show_up_after(link, node, last).await
    }

    async fn show_up_after(&self, link: &Link, node: u64, last: Option<Lease>) -> Result<()> {
        let begun = Instant::now();
        let joining = last.is_none_or(|last| last.begun.elapsed() >= self.settings.lease);
        let settled = self.stamps.settled_before();
        let now = self.stamps.clock().next();
        let row = Listed {
            node,
            settled: last.map_or(settled, |last| settled.max(last.row.settled)),
            // Beyond a deletion of the last row, which is one later than it.
            written: last.map_or(now, |last| now.max(later(last.row.written, 2))),
        };
        self.write_row(link, &row).await?;
        let mut joined = last.map_or(Time::ZERO, |last| last.joined);
        if joining {
            let rows = self.rows(link).await?;
            for other in rows.iter().filter(|other| other.node != node) {
                self.stamps.clock().observe(other.settled);
                joined = joined.max(other.settled);
            }
        }
        match self.nodes.renew(Lease { begun, row, joined }, last) {
            true => self.clear_spans(link, &row).await,
            false => self.strike(link, &row).await,
        }
    }

    async fn write_row(&self, link: &Link, row: &Listed) -> Result<()> {
        let (partition, value) = (own::nodes(), row.encode());
        let at = row.written.micros() as i64;
        let values = (OWN, &partition[..], &row.node.to_be_bytes()[..], &value[..], at);
        link.blind(&link.statements.put_derived, values).await
    }

    /// Lists the ten seconds that an intent is in, once each.
    pub(super) async fn list_span(&self, link: &Link, tid: Tid) -> Result<()> {
        let span = (tid.node(), own::span(tid.time()));
        if self.nodes.spans().contains(&span) {
            return Ok(());
        }
        let partition = own::spans(span.0);
        let at = own::span_end(span.1);
        let row = (OWN, &partition[..], &span.1.to_be_bytes()[..], NOTHING, at);
        link.blind(&link.statements.put_derived, row).await?;
        self.nodes.spans().insert(span);
        Ok(())
    }

    /// In which ten seconds a node may have intents that are not settled.
    pub(super) async fn listed_spans(&self, link: &Link, node: &Listed) -> Result<Vec<u64>> {
        let partition = own::spans(node.node);
        let from = own::span(node.settled).to_be_bytes();
        let all = link.statements.derived_range.pick(false, false);
        let rows = link.read(all, (OWN, &partition[..], &from[..], i32::MAX)).await?;
        let rows = rows.rows::<(&[u8], Option<&[u8]>)>().map_err(fault::misread)?;
        let mut spans = Vec::new();
        for row in rows {
            let (span, _) = row.map_err(fault::misread)?;
            let damaged = |_| Error::corrupt("list of intents is damaged").with_bytes("row", span);
            spans.push(u64::from_be_bytes(span.try_into().map_err(damaged)?));
        }
        Ok(spans)
    }

    /// Deletes a whole partition of intents that are all gone, so that no one reads their remains.
    pub(super) async fn clear_span(&self, link: &Link, node: u64, span: u64) -> Result<()> {
        let (at, intents, spans) =
            (own::span_end(span), own::intents(node, span), own::spans(node));
        link.blind(&link.statements.clear_derived, (at, OWN, &intents[..])).await?;
        let row = (at, OWN, &spans[..], &span.to_be_bytes()[..]);
        link.blind(&link.statements.delete_derived, row).await
    }

    async fn clear_spans(&self, link: &Link, row: &Listed) -> Result<()> {
        let (node, settled) = (row.node, own::span(row.settled));
        let passed: Vec<_> =
            self.nodes.spans().range((node, 0)..(node, settled)).copied().collect();
        for (node, span) in passed {
            self.clear_span(link, node, span).await?;
            self.nodes.spans().remove(&(node, span));
        }
        Ok(())
    }

    /// Has the clock go ahead of everything that anybody has settled.
    pub(super) async fn catch_up(&self, link: &Link) -> Result<()> {
        for row in self.rows(link).await? {
            self.stamps.clock().observe(row.settled);
        }
        Ok(())
    }

    /// Every node on the list.
    pub(super) async fn listed(&self, link: &Link) -> Result<Vec<Listed>> {
        let mut listed = self.rows(link).await?;
        listed.retain(|row| row.node != FLOOR);
        Ok(listed)
    }

    /// The list as it is: whoever joins must be later than each of these is settled.
    async fn rows(&self, link: &Link) -> Result<Vec<Listed>> {
        let partition = own::nodes();
        let all = link.statements.derived_range.pick(false, false);
        let rows = link.read(all, (OWN, &partition[..], NOTHING, i32::MAX)).await?;
        let rows = rows.rows::<(&[u8], Option<&[u8]>)>().map_err(fault::misread)?;
        let mut listed = Vec::new();
        for row in rows {
            let (node, value) = row.map_err(fault::misread)?;
            listed.push(Listed::decode(node, value.unwrap_or_default())?);
        }
        Ok(listed)
    }

    /// Takes a node off the list whose commits are all finished.
    pub(super) async fn strike(&self, link: &Link, node: &Listed) -> Result<()> {
        let settled = node.settled;
        self.write_row(link, &Listed { node: FLOOR, settled, written: settled }).await?;
        let partition = own::nodes();
        let at = later(node.written, 1).micros() as i64;
        let row = (at, OWN, &partition[..], &node.node.to_be_bytes()[..]);
        link.blind(&link.statements.delete_derived, row).await
    }

    /// Shows up for all nodes of this process, and follows the clocks of the others, so that no settled time
    /// stays far behind.
    pub(super) async fn keep_up(&self, link: &Link) -> Result<()> {
        self.show_up_all(link).await?;
        self.catch_up(link).await
    }

    /// The nodes that have not shown up for so long that others must finish for them: their rows are as they were
    /// three leases ago.
    pub(super) async fn gone(&self, link: &Link) -> Result<Vec<Listed>> {
        let mut listed = self.listed(link).await?;
        listed.retain(|row| self.nodes.lease_of(row.node).is_none());
        let mut gone = Vec::new();
        let mut others = self.nodes.others();
        others.retain(|node, _| listed.iter().any(|listed| listed.node == *node));
        for row in listed {
            let (seen, since) = others.entry(row.node).or_insert((row, Instant::now()));
            if *seen != row {
                (*seen, *since) = (row, Instant::now());
            } else if since.elapsed() >= self.settings.lease * LEASES_WAITED {
                gone.push(row);
            }
        }
        Ok(gone)
    }

    /// Takes all nodes of this process off the list, when nothing of theirs is left to do. The list keeps how far its
    /// clock was, even if it has committed nothing that needed a place there.
    pub(super) async fn leave(&self, link: &Link) -> Result<()> {
        // To fold what nobody asked for, it would join again.
        let _leaving = self.leaving.lock().await;
        self.crowded.take();
        self.show_up(link, self.node).await?;
        for node in self.show_up_all(link).await? {
            let left = self.nodes.ours().remove(&node);
            if let Some(Lease { row, .. }) = left {
                // If it joins again, its row must outlive this deletion.
                self.stamps.clock().observe(later(row.written, 1));
                self.strike(link, &row).await?;
            }
        }
        Ok(())
    }

    /// Shows up for all nodes of this process, and answers which those are.
    async fn show_up_all(&self, link: &Link) -> Result<Vec<u64>> {
        let ours: Vec<u64> = self.nodes.ours().keys().copied().collect();
        for node in &ours {
            // One that has left meanwhile must not join again.
            if let Some(last) = self.nodes.lease_of(*node) {
                self.show_up_after(link, *node, Some(last)).await?;
            }
        }
        Ok(ours)
    }

    /// The least settled time of all nodes. This process is listed, too: whoever joins must be later than what its
    /// readers have passed.
    pub(super) async fn settled_by_all(&self, link: &Link) -> Result<Time> {
        self.show_up(link, self.node).await?;
        self.show_up_all(link).await?;
        let listed = self.listed(link).await?;
        let least = listed.iter().map(|node| node.settled).min();
        least.ok_or_else(|| Error::internal("a node that was just listed is not"))
    }
}

fn later(time: Time, micros: u64) -> Time {
    time.saturating_add(Duration::from_micros(micros))
}

impl Listed {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        [self.settled, self.written].map(Time::to_bytes).concat()
    }

    fn decode(node: &[u8], value: &[u8]) -> Result<Self> {
        let parse = || {
            let mut reader = Reader::new(value);
            let mut time = || reader.u64().map(Time::from_micros);
            let (settled, written) = (time()?, time()?);
            let node = u64::from_be_bytes(node.try_into().ok()?);
            Some(Self { node, settled, written })
        };
        parse().ok_or_else(|| Error::corrupt("row of a node is damaged").with_bytes("row", value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: u64 = 7;

    fn lease(joined: Time, settled: Time, written: Time) -> Lease {
        let row = Listed { node: NODE, settled, written };
        Lease { begun: Instant::now(), row, joined }
    }

    #[test]
    fn a_commit_from_before_a_nap_may_not_go_on() {
        let nodes = Nodes::default();
        let [before, joined, after] = [1, 2, 3].map(Time::from_micros);
        let leave = |time| nodes.leave_for(Tid::new(time, NODE), Duration::from_secs(60));
        assert_eq!(leave(after), None, "not listed");
        assert!(nodes.renew(lease(Time::ZERO, Time::ZERO, before), None));
        assert_eq!(leave(before), Some(Leave::Granted));
        // Settled no further than `before`, which is still under way.
        let last = nodes.lease_of(NODE);
        assert!(nodes.renew(lease(joined, before, after), last));
        assert_eq!(leave(before), Some(Leave::TooEarly));
        assert_eq!(leave(joined), Some(Leave::Granted));
        // A row from before the nap that was written late takes nothing back.
        assert!(nodes.renew(lease(Time::ZERO, before, joined), last));
        assert_eq!(leave(before), Some(Leave::TooEarly));
        assert_eq!(nodes.leave_for(Tid::new(after, NODE), Duration::ZERO), None, "over");
    }

    #[test]
    fn who_has_left_is_not_renewed() {
        let nodes = Nodes::default();
        let lease = lease(Time::ZERO, Time::ZERO, Time::ZERO);
        assert!(nodes.renew(lease, None));
        nodes.ours().remove(&NODE);
        assert!(!nodes.renew(lease, Some(lease)));
        assert!(nodes.lease_of(NODE).is_none());
    }
}
