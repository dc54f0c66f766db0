//! The end of every derived key: the home key of its owner, so that no two owners write one
//! cell, and whoever finds the cell finds its owner.
//!
//! | bytes | content |
//! |---|---|
//! | … | what the derived cell is sorted by |
//! | 4 | space of the owner, big endian |
//! | … 00 | partition of the owner, escaped |
//! | … 00 | sort key of the owner, escaped |
//! | 2 | length of these three, big endian, to find their beginning from the end |

use crate::cell::parts::{Parts, PartsReader};
use crate::engine::SpaceId;
use crate::error::{Error, Result};

/// A home cell that derived cells follow from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its space.
    pub space: SpaceId,
    /// Its partition.
    pub partition: Vec<u8>,
    /// Its sort key.
    pub sort: Vec<u8>,
}

impl Owner {
    /// Appends the owner to what a derived cell is sorted by.
    ///
    /// # Errors
    /// `Invalid` if the owner's key is too long.
    pub fn append(&self, sort: &mut Vec<u8>) -> Result<()> {
        let owner = self.encode();
        let length = u16::try_from(owner.len())
            .map_err(|_| Error::invalid("owner's key is too long").with("bytes", owner.len()))?;
        sort.extend_from_slice(&owner);
        sort.extend_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// The owner alone, as claims name it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        Parts::new().u32(self.space.0).bytes(&self.partition).bytes(&self.sort).into_bytes()
    }

    /// Reads [`Self::encode`] back.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn decode(encoded: &[u8]) -> Result<Self> {
        let damaged =
            |bad| Error::corrupt("owner is damaged").with_bytes("owner", encoded).because(bad);
        let mut reader = PartsReader::new(encoded);
        let space = SpaceId(reader.u32().map_err(damaged)?);
        let partition = reader.bytes().map_err(damaged)?.into_owned();
        let sort = reader.bytes().map_err(damaged)?.into_owned();
        reader.finish().map_err(damaged)?;
        Ok(Self { space, partition, sort })
    }

    /// Parts a derived sort key: what it is sorted by, and its owner.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn part(sort: &[u8]) -> Result<(&[u8], Self)> {
        let split = || {
            let (rest, length) = sort.split_last_chunk::<2>()?;
            rest.split_at_checked(rest.len().checked_sub(u16::from_be_bytes(*length).into())?)
        };
        let (sorted_by, owner) = split()
            .ok_or_else(|| Error::corrupt("derived key has no owner").with_bytes("sort", sort))?;
        Ok((sorted_by, Self::decode(owner)?))
    }
}
