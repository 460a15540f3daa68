//! PostgreSQL binary COPY, and the same cells as parameters of a Bind message.
//!
//! Written column by column: where all columns of a batch have a fixed width and no NULL, every cell has a
//! known place; else each row keeps a cursor. Either way the inner loop handles one type and has no branch.
//!
//! Reading order: `types`, `cells` (rows), `place` (where a cell goes), `column` (the cells of one column), `words`
//! (of many), `arrays`.

mod arrays;
mod cells;
mod column;
mod lists;
mod numeric;
mod place;
mod types;
mod words;

use super::{Encoder, Part};
use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::Columns;

pub use arrays::Arrays;
pub use cells::{Cells, RowHead};
pub use numeric::{numeric, numeric_text};
pub use types::PgType;

/// Signature, no flags, no header extension.
pub const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In place of a field count: no more rows.
pub const TRAILER: [u8; 2] = [0xff, 0xff];
/// 2000-01-01, PostgreSQL's time zero, in µs since 1970.
pub const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;

/// A complete COPY stream: header, rows, trailer.
pub struct PgCopy {
    cells: Cells,
}

impl PgCopy {
    pub fn new(table: &TablePlan) -> Result<PgCopy, Error> {
        Ok(PgCopy { cells: Cells::new(table, RowHead::FieldCount)? })
    }
}

impl Encoder for PgCopy {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode_part(rows, Part::WHOLE, out)
    }

    fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Vec<u8>) -> Result<(), Error> {
        if part.is_first {
            out.extend_from_slice(HEADER);
        }
        self.cells.append(rows, 0..rows.rows, out)?;
        if part.is_last {
            out.extend_from_slice(&TRAILER);
        }
        Ok(())
    }
}
