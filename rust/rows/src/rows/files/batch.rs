//! Batches that grow by one row at a time and are used again.

use super::super::columns::{Column, Columns};
use super::parse::Reason;

/// Appends a null to a column of `row` values.
pub fn push_null(column: &mut Column, row: usize, required: bool) -> Result<(), Reason> {
    if required {
        return Err(Reason::Null);
    }
    column.push_null(row);
    Ok(())
}

/// Back to the first `rows` values.
pub fn truncate(column: &mut Column, rows: usize) {
    column.present.truncate(rows);
    column.values.truncate(rows);
}

/// Empties the batch and keeps its memory.
pub fn clear(out: &mut Columns) {
    out.rows = 0;
    out.columns.iter_mut().for_each(|c| {
        truncate(c, 0);
        c.present.clear();
    });
}
