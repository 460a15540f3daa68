//! What a integer generator is filled for: the rows of a chunk, the columns filled before, and the streams of draws.

use super::super::columns::{Column, Values};
use crate::plan::Per;

/// Rows are made in chunks of this many: all of a chunk's integer generators stay in the first cache.
pub const CHUNK: usize = 1024;
/// Rows that are made one by one, for keys: room for a whole chunk would cost more than they do.
pub const FEW: usize = 16;

/// Where the rows of a chunk stand. All slices have one length, that of the room they are made in at most.
pub struct Chunk<'a> {
    pub rows: &'a [u64],
    pub series: &'a [u64],
    pub sweep: &'a [u64],
    /// The table has one series: places are rows.
    pub one_series: bool,
    /// Rows follow one another, and so do series up to the table's last.
    pub in_order: bool,
}

impl Chunk<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn place(&self) -> &[u64] {
        if self.one_series {
            self.rows
        } else {
            self.series
        }
    }
}

/// Integers of other columns in the same rows; `ROOM`: rows of the longest chunk.
pub struct Sources<'a, const ROOM: usize> {
    pub columns: &'a [Column],
    /// Where the chunk's rows stand in the columns.
    pub rows: std::ops::Range<usize>,
    /// 32-bit columns, widened.
    pub wide: &'a [(usize, [i64; ROOM])],
}

impl<'a, const ROOM: usize> Sources<'a, ROOM> {
    pub const NONE: Sources<'static, ROOM> = Sources { columns: &[], rows: 0..0, wide: &[] };

    pub(super) fn integers(&self, column: usize) -> &'a [i64] {
        if let Values::I64(v) = &self.columns[column].values {
            return &v[self.rows.clone()];
        }
        let (_, wide) = self.wide.iter().find(|(c, _)| *c == column).expect("generate widens what is narrow");
        &wide[..self.rows.len()]
    }
}

/// A stream of draws, indexed by row or by place.
#[derive(Clone, Copy)]
pub struct Draw {
    pub key: u64,
    pub per: Per,
}

impl Draw {
    pub fn is_by_place(&self) -> bool {
        self.per == Per::Series
    }

    /// As `index`, of one row.
    pub(super) fn of(&self, row: u64, place: u64) -> u64 {
        match self.per {
            Per::Row => row,
            Per::Series => place,
        }
    }

    pub fn index<'a>(&self, chunk: &'a Chunk) -> &'a [u64] {
        match self.per {
            Per::Row => chunk.rows,
            Per::Series => chunk.place(),
        }
    }
}
