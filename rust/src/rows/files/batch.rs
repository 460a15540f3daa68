//! Batches that grow by one row at a time and are used again.

use super::super::columns::{Column, Columns, ListValues, TextValues, Values};
use super::parse::Reason;

pub fn mark_present(column: &mut Column) {
    if !column.present.is_empty() {
        column.present.push(1);
    }
}

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
    fn end(ends: &mut Vec<u32>, rows: usize) -> usize {
        ends.truncate(rows);
        ends.last().map_or(0, |e| *e as usize)
    }
    column.present.truncate(rows);
    match &mut column.values {
        Values::I32(v) => v.truncate(rows),
        Values::I64(v) => v.truncate(rows),
        Values::F32(v) => v.truncate(rows),
        Values::F64(v) => v.truncate(rows),
        Values::Text(TextValues { ends, bytes }) => bytes.truncate(end(ends, rows)),
        Values::List(ListValues { ends, items }) => {
            let items_left = end(ends, rows);
            match &mut **items {
                Values::I64(v) => v.truncate(items_left),
                Values::F64(v) => v.truncate(items_left),
                _ => unreachable!("lists hold I64 or F64"),
            }
        }
    }
}

/// Empties the batch and keeps its memory.
pub fn clear(out: &mut Columns) {
    out.rows = 0;
    out.columns.iter_mut().for_each(|c| {
        truncate(c, 0);
        c.present.clear();
    });
}
