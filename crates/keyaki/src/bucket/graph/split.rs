//! A graph in parts, for those who want all of it: each part is of one group, and can be read by itself and beside the
//! others. Cuts move as a graph grows, so a part carries its own: all parts of one cutting are the whole graph, each
//! element once, however long it takes to read them.

use std::sync::Arc;

use super::bucket::Graph;
use super::form::Copies;
use super::key::{Way, Ways};
use super::operation::{Budget, Elements};
use super::scan::{Job, Reader, Wanted};
use super::schema::GroupId;
use crate::cell::parts::{Parts, PartsReader};
use crate::engine::{Reading, ScanRequest, Split};
use crate::error::{Error, Result};

/// A part of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSplit {
    /// The group.
    pub group: GroupId,
    range: Split,
}

impl GraphSplit {
    /// Its bytes. They are the engine's own business, and must not be let in from outside.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let group = Parts::new().u32(self.group.0.into());
        group.bytes(&self.range.from).bytes(&self.range.to).into_bytes()
    }

    /// Undoes [`Self::encode`].
    ///
    /// # Errors
    /// `Invalid` if these are not its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |bad| Error::invalid("not a part of a graph").because(bad);
        let mut parts = PartsReader::new(bytes);
        let group = parts.u32().map_err(bad)?;
        let group = u16::try_from(group).map_err(|e| Error::invalid("no such group").because(e))?;
        let from = parts.bytes().map_err(bad)?.into_owned();
        let to = parts.bytes().map_err(bad)?.into_owned();
        Ok(Self { group: GroupId(group), range: Split { from, to } })
    }
}

impl Graph {
    /// Cuts each group into at most so many parts of about equal size.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn splits(&self, parts: usize) -> Result<Vec<GraphSplit>> {
        let engine = self.bucket().store().engine();
        let mut splits = Vec::new();
        for group in self.schema().groups() {
            let ranges = engine.splits(self.space(group.id())?, parts).await?;
            splits.extend(ranges.into_iter().map(|range| GraphSplit { group: group.id(), range }));
        }
        Ok(splits)
    }
}

impl Reader {
    /// The elements of a part, each edge once.
    ///
    /// # Errors
    /// `Invalid` if the group is gone.
    pub fn split(&self, split: &GraphSplit, budget: Arc<Budget>) -> Result<Elements> {
        let stored = self.graph().stored(split.group.0)?;
        let mut request = ScanRequest::split(stored.space, split.range.clone());
        request.reading = Reading::Once;
        let wanted = Wanted {
            form: stored.form.clone(),
            ways: Ways::such(|way| way != Way::In),
            copies: Copies::Once,
            within: None,
        };
        Ok(Box::new(self.run(vec![Job { request, wanted }], budget)))
    }
}
