//! What a job gave: JSON of an array in pieces, each in a commit of its own, so that neither writing nor reading holds
//! more than one of them.

use super::Jobs;
use crate::bucket::Usage;
use crate::bucket::graph::operation::Output;
use crate::cell::parts::Parts;
use crate::cell::visibility::Authorisations;
use crate::cell::{Tid, Value};
use crate::engine::ScanRequest;
use crate::error::{Error, Result};
use crate::store::{Committed, Previous};

/// The most bytes of results that are kept of one job.
pub const RESULT_BYTES_MAX: u64 = 64 << 20;
/// A piece is about so large.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that go in one commit.
const REMOVED_AT_ONCE: usize = 16;

impl Jobs {
    /// Writes what a job gives, to its end; answers how many pieces and bytes that is.
    ///
    /// # Errors
    /// `Invalid` if it is more than is kept; those of the chain and of storage.
    pub async fn keep_results(&self, id: Tid, mut output: Output) -> Result<(u32, u64)> {
        let is_list = matches!(output, Output::Elements(_) | Output::Values(_));
        let is_list = is_list || matches!(&output, Output::Json(json) if json.is_array());
        let (mut pieces, mut bytes) = (0, 0);
        let (mut started, mut piece) = (false, Vec::new());
        if !is_list {
            piece.push(b'[');
        }
        loop {
            let more = output.write_json(&mut started, &mut piece).await?;
            let over = !more || matches!(output, Output::Nothing);
            if over && !is_list {
                piece.push(b']');
            }
            while piece.len() >= PIECE_BYTES || (over && !piece.is_empty()) {
                let rest = piece.split_off(piece.len().min(PIECE_BYTES));
                bytes += piece.len() as u64;
                if bytes > RESULT_BYTES_MAX {
                    return Err(Error::invalid("the results are larger than is kept of a job")
                        .with("most", RESULT_BYTES_MAX));
                }
                self.put_piece(id, pieces, &piece).await?;
                pieces += 1;
                piece = rest;
            }
            if over {
                return Ok((pieces, bytes));
            }
        }
    }

    /// A piece of what a job gave.
    ///
    /// # Errors
    /// Those of storage.
    pub async fn piece(&self, id: Tid, number: u32) -> Result<Option<Vec<u8>>> {
        let bucket = self.graph.bucket();
        bucket.read(&Authorisations::none(), &home(id), &number.to_be_bytes()).await
    }

    async fn put_piece(&self, id: Tid, number: u32, piece: &[u8]) -> Result<()> {
        let bucket = self.graph.bucket();
        let home = home(id);
        let used = Usage { items: 0, bytes: piece.len() as i64 };
        let room = self.graph.meter().reserve(used).await?;
        let committed = bucket.commit(&home, |draft| {
            draft.put(&number.to_be_bytes(), Previous::Absent, Value::open(piece))?;
            used.add(bucket, draft)
        });
        committed.await?.tid()?;
        room.keep();
        Ok(())
    }

    /// Forgets all that a job gave.
    pub(super) async fn forget_pieces(&self, id: Tid) -> Result<()> {
        let (bucket, home) = (self.graph.bucket(), home(id));
        loop {
            let request =
                ScanRequest::partition(bucket.primary(), home.clone()).limit(REMOVED_AT_ONCE);
            let mut scan = bucket.store().engine().scan(request).await?;
            let Some(block) = scan.next_block().await? else { return Ok(()) };
            let cells: Vec<(Vec<u8>, Vec<u8>)> =
                block.iter().map(|cell| (cell.sort().to_vec(), cell.encoded().to_vec())).collect();
            let bytes: i64 = block.iter().map(|cell| cell.payload().len() as i64).sum();
            let used = Usage { items: 0, bytes: -bytes };
            let committed = bucket.commit(&home, |draft| {
                for (sort, stored) in &cells {
                    draft.remove(sort, stored)?;
                }
                used.add(bucket, draft)
            });
            match committed.await? {
                Committed::Done(_) => self.graph.meter().add(used),
                // Somebody else forgets it too.
                _ => return Ok(()),
            }
        }
    }
}

fn home(id: Tid) -> Vec<u8> {
    Parts::new().bytes(b"job").fixed(id.as_bytes()).into_bytes()
}
