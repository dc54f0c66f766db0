//! The sweeper of intents: finishes what others have begun and left. Any process may run it, beside others and beside
//! the writer itself: the mark decides, and everything that follows is at the commit's own time.

use super::Inner;
use super::cluster::Link;
use super::fault;
use super::intent::Intent;
use super::nodes::Listed;
use super::own::{self, OWN};
use crate::cell::Tid;
use crate::error::{Error, Result};

/// Intents read at once: they may be large.
const INTENTS_READ: i32 = 32;

impl Inner {
    /// Settles every intent that is there now, whoever wrote it. Answers how many.
    pub(super) async fn settle_all(&self, link: &Link) -> Result<usize> {
        let mut settled = 0;
        for node in self.listed(link).await? {
            settled += self.settle_node(link, &node).await?;
        }
        Ok(settled)
    }

    /// Finishes for nodes that are gone, and takes them off the list. One that can't be is in no other's way.
    pub(super) async fn settle_gone(&self, link: &Link) -> Result<()> {
        let mut outcome = Ok(());
        for gone in self.gone(link).await? {
            let finished = match self.settle_node(link, &gone).await {
                Ok(_) => self.strike(link, &gone).await,
                Err(error) => Err(error),
            };
            outcome = outcome.and(finished);
        }
        outcome
    }

    /// Settles the intents of a node.
    pub(super) async fn settle_node(&self, link: &Link, node: &Listed) -> Result<usize> {
        self.refresh_spaces(link).await?;
        let mut settled = 0;
        for span in self.listed_spans(link, node).await? {
            let mut from = Tid::new(node.settled, 0).as_bytes().to_vec();
            loop {
                let intents = self.intents_from(link, node.node, span, &from).await?;
                let Some(last) = intents.last() else { break };
                from = [&last.tid.as_bytes()[..], &[0]].concat();
                for intent in &intents {
                    self.settle_intent(link, intent).await?;
                    settled += 1;
                }
            }
        }
        Ok(settled)
    }

    /// Finds out whether a commit took, and ends its intent. One that took is read again: it was whole before, however
    /// this one was found, and gone if its writer has ended it since.
    pub(super) async fn settle_intent(&self, link: &Link, intent: &Intent) -> Result<()> {
        let took = !self.bar(link, &intent.home, intent.tid).await?;
        tracing::info!(commit = %intent.tid, took, "settling what was left undecided");
        match took {
            true => self.finish_pending(link, intent.tid).await,
            false => self.conclude_intent(link, intent, false).await,
        }
    }

    async fn intents_from(
        &self,
        link: &Link,
        node: u64,
        span: u64,
        from: &[u8],
    ) -> Result<Vec<Intent>> {
        let partition = own::intents(node, span);
        let range = link.statements.derived_range.pick(false, false);
        let rows = link.read(range, (OWN, &partition[..], from, INTENTS_READ)).await?;
        let mut intents = Vec::new();
        for row in rows.rows::<(&[u8], Option<&[u8]>)>().map_err(fault::misread)? {
            let (sort, value) = row.map_err(fault::misread)?;
            let tid = sort.try_into().ok().and_then(|bytes| Tid::from_bytes(bytes).ok());
            let tid = tid.ok_or_else(|| {
                Error::corrupt("intent has no commit id").with_bytes("sort", sort)
            })?;
            intents.push(Intent::decode(tid, value.unwrap_or_default())?);
        }
        Ok(intents)
    }
}
