//! `keyaki check`: what must hold in a store that nobody has open, as far as any layer knows. The catalog tells of graphs
//! what the rules of their spaces may not.

use std::path::Path;
use std::sync::Arc;

use super::MARK;
use super::record::{BucketKind, BucketRecord};
use super::snapshot::PARTITION;
use crate::bucket::graph::GraphCheck;
use crate::bucket::graph::schema::Layout;
use crate::cell::parts::PartsReader;
use crate::cell::{SystemWallClock, Time, WallClock};
use crate::engine::{BucketId, CellRef, SpaceId, SpaceRecord};
use crate::error::{Error, Result};
use crate::store::{self, Closed, Look, Report};

/// Checks the embedded store in `dir`, which must not be open elsewhere. Changes nothing.
///
/// # Errors
/// Those of opening a store.
pub fn check(dir: &Path) -> Result<Report> {
    let now = Time::from_micros(SystemWallClock.now_us());
    store::check_with(
        dir,
        crate::bucket::rules(),
        &mut Types { catalog: None, graphs: GraphCheck::new(now) },
    )
}

/// What the types of buckets know of their cells.
struct Types {
    /// The space of the catalog's records, if there is one, once it was looked for.
    catalog: Option<Option<SpaceId>>,
    graphs: GraphCheck,
}

impl Look for Types {
    fn cell(
        &mut self,
        closed: &Closed<'_>,
        record: &SpaceRecord,
        cell: &CellRef<'_>,
    ) -> Result<()> {
        let catalog = *self.catalog.get_or_insert_with(|| records_of(closed));
        if catalog == Some(record.id) && *cell.partition() == *PARTITION {
            return self.learn(cell);
        }
        self.graphs.cell(closed, record, cell)
    }

    fn end(&mut self) -> Vec<Error> {
        self.graphs.end()
    }
}

impl Types {
    /// Reads the record of a bucket, if it is one. The catalog is older than all buckets in it, and so are its cells'
    /// keys less.
    fn learn(&mut self, cell: &CellRef<'_>) -> Result<()> {
        let kind = PartsReader::new(cell.sort()).bytes();
        if !kind.is_ok_and(|kind| *kind == *b"b") {
            return Ok(());
        }
        let damaged = |error| Error::corrupt("record of the catalog is damaged").because(error);
        let record: BucketRecord = serde_json::from_slice(cell.payload()).map_err(damaged)?;
        let BucketKind::Graph(options) = &record.settings.kind else { return Ok(()) };
        let layout = record.layout.as_ref().map(Layout::from_json).transpose()?;
        let schema = Arc::new(options.schema(layout.unwrap_or_default())?);
        self.graphs.learn(BucketId(record.id), schema, options.package()?);
        Ok(())
    }
}

fn records_of(closed: &Closed<'_>) -> Option<SpaceId> {
    let mut spaces = closed.spaces().iter().filter(|space| !space.retired);
    let mark = spaces.clone().find(|space| space.spec.label == MARK)?;
    let own = |space: &&SpaceRecord| {
        space.spec.bucket == mark.spec.bucket && space.spec.label == store::PRIMARY
    };
    spaces.find(own).map(|space| space.id)
}
