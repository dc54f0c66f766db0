//! Cutting a space into parts of equal size, by counting its cells partition by partition.
//!
//! This reads every partition's count, and the keys of those that a cut goes through: it costs about what a full scan
//! of the keys does, on the cluster's side.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::Inner;
use super::cluster::Link;
use super::rows::{Place, Range};
use super::scan::PartitionScan;
use super::walk::{Names, Position, directory_of};
use crate::cell::key;
use crate::engine::scan::Split;
use crate::engine::space::Space;
use crate::error::{Error, Result};

const AT_ONCE: usize = 64;
const CELLS_READ: usize = 2_000;

impl Inner {
    /// Cuts a space into at most `parts`.
    pub(super) async fn splits(
        &self,
        link: &Link,
        space: &Arc<Space>,
        parts: usize,
    ) -> Result<Vec<Split>> {
        let mut partitions = Vec::new();
        let mut names = Names::all(directory_of(space));
        while let Some(name) = names.next(link).await? {
            partitions.push(name);
        }
        let mut counted = Vec::with_capacity(partitions.len());
        for some in partitions.chunks(AT_ONCE) {
            let counts: Vec<_> =
                some.iter().map(|(_, name)| self.cells_in(link, space, name)).collect();
            let counts = try_join_all(counts).await?;
            counted.extend(
                some.iter().zip(counts).map(|((shard, name), cells)| (*shard, name, cells)),
            );
        }
        let total: usize = counted.iter().map(|(_, _, cells)| cells).sum();
        let step = total.div_ceil(parts.max(1)).max(1);
        let mut bounds = vec![Position::first()];
        let mut before = 0;
        for (shard, name, cells) in counted {
            // Cuts fall before the cells number `step`, twice that, and so on.
            let first = before / step + usize::from(!before.is_multiple_of(step));
            let cuts =
                (first.max(1)..).map(|cut| cut * step).take_while(|cut| *cut < before + cells);
            let within: Vec<usize> = cuts.map(|cut| cut - before).collect();
            for sort in self.sorts_at(link, space, name, &within).await? {
                bounds.push(Position { shard, partition: name.clone(), sort });
            }
            before += cells;
        }
        bounds.push(Position::end());
        let split = |pair: &[Position]| Split { from: pair[0].encode(), to: pair[1].encode() };
        Ok(bounds.windows(2).map(split).collect())
    }

    async fn cells_in(&self, link: &Link, space: &Arc<Space>, partition: &[u8]) -> Result<usize> {
        if !space.merges() {
            return Place::of(space, partition).count(link).await;
        }
        let mut scan = PartitionScan::new(space, partition.to_vec(), Range::all(), false);
        let mut cells = 0;
        while let Some(page) = scan.next_stored(link, CELLS_READ).await? {
            cells += page.len();
        }
        Ok(cells)
    }

    /// The sort keys of the cells with these rising numbers.
    async fn sorts_at(
        &self,
        link: &Link,
        space: &Arc<Space>,
        partition: &[u8],
        numbers: &[usize],
    ) -> Result<Vec<Vec<u8>>> {
        let mut sorts = Vec::with_capacity(numbers.len());
        let mut scan = PartitionScan::new(space, partition.to_vec(), Range::all(), false);
        let mut before = 0;
        while sorts.len() < numbers.len() {
            let Some(page) = scan.next_stored(link, CELLS_READ).await? else { break };
            while let Some(number) = numbers.get(sorts.len())
                && let Some((stored, _)) = page.get(number - before)
            {
                let cell = key::split_cell_key(stored);
                let cell = cell.map_err(|bad| Error::internal("a key is damaged").because(bad))?;
                sorts.push(cell.sort.to_vec());
            }
            before += page.len();
        }
        Ok(sorts)
    }
}
