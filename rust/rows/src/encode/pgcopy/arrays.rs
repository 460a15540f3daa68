//! The columns of a batch as arrays, which are made of the same cells as rows.

use super::super::mismatch;
use super::cells::{Cells, RowHead};
use super::types::PgType;
use crate::error::Error;
use crate::plan::{ColumnPlan, TablePlan};
use crate::rows::Columns;

/// The rows of a batch by column, each column an array: parameters of `INSERT … SELECT … FROM unnest(…)`.
pub struct Arrays {
    /// By column: the items of an array are the cells of a column.
    items: Vec<Cells>,
}

impl Arrays {
    /// Fails for a column of lists: PostgreSQL unnests an array of arrays to its last item.
    pub fn new(table: &TablePlan) -> Result<Arrays, Error> {
        let item = |column: &ColumnPlan| match PgType::of(column)? {
            list if list.element().is_some() => {
                Err(mismatch(&column.name, "an array of lists, which cannot be unnested,"))
            }
            ty => Ok(Cells::of(vec![ty], RowHead::Nothing)),
        };
        Ok(Arrays { items: table.columns.iter().map(item).collect::<Result<_, _>>()? })
    }

    /// Appends a parameter for each column, length word included.
    pub fn append(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.items.len() {
            return Err(mismatch("(all)", "this table"));
        }
        for (column, items) in rows.columns.iter().zip(&mut self.items) {
            let at = out.len();
            let has_null = u32::from(!column.present.is_empty());
            let element = items.types()[0].oid();
            let words = match rows.rows {
                0 => vec![0, 0, 0, element],
                n => vec![0, 1, has_null, element, n as u32, 1],
            };
            words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
            items.append_columns(std::slice::from_ref(column), 0..rows.rows, out)?;
            let bytes = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&bytes.to_be_bytes());
        }
        Ok(())
    }
}
