//! What a proof compares: how many rows, their digest and their sums.

use super::{row_hashes, Checksums, Columns, Digest};
use crate::error::Error;
use crate::plan::ChecksumItem;

/// What the rows of a table must add up to.
#[derive(Clone)]
pub struct Expected {
    pub digest: Digest,
    pub sums: Checksums,
}

impl Expected {
    /// Of no rows. `like` gives the columns.
    pub fn empty(items: &[ChecksumItem], like: &Columns) -> Result<Expected, Error> {
        Ok(Expected { digest: Digest::default(), sums: Checksums::new(items, like)? })
    }

    pub fn add(&mut self, columns: &Columns, hashes: &mut Vec<u128>) {
        self.sums.add(columns);
        row_hashes(columns, hashes);
        self.digest.add(hashes);
    }

    pub fn merge(&mut self, other: &Expected) {
        self.digest.merge(&other.digest);
        self.sums.merge(&other.sums);
    }
}
