//! Rows as length words and binary values, a block of rows at a time.

use std::ops::Range;

use super::super::{does_not_fit, mismatch};
use super::column::{add_sizes, put_column};
use super::place::{put, Cursors, Place, Places};
use super::types::{check, PgType};
use super::words::{put_words, word, WORD_CELL_BYTES};
use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::{Column, Columns};

/// What stands before the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowHead {
    /// COPY: the number of fields.
    FieldCount,
    /// Bind: nothing, parameters follow one another.
    Nothing,
}

/// Rows as length words and binary values.
pub struct Cells {
    types: Vec<PgType>,
    head: RowHead,
    next: Vec<*mut u8>,
}

// SAFETY: `next` holds pointers only within a call of `append`; between calls it is scratch space.
unsafe impl Send for Cells {}

/// Rows that are written together, column by column: small enough that they stay in the L1 cache.
const BLOCK_ROWS: usize = 128;

impl Cells {
    pub fn new(table: &TablePlan, head: RowHead) -> Result<Cells, Error> {
        let types = table.columns.iter().map(PgType::of).collect::<Result<Vec<_>, _>>()?;
        if types.len() > i16::MAX as usize {
            return Err(Error::Plan(format!(
                "table {}: {} columns are more than COPY can count",
                table.name,
                types.len()
            )));
        }
        Ok(Cells::of(types, head))
    }

    pub(super) fn of(types: Vec<PgType>, head: RowHead) -> Cells {
        Cells { types, head, next: vec![std::ptr::null_mut(); BLOCK_ROWS] }
    }

    pub(super) fn types(&self) -> &[PgType] {
        &self.types
    }

    /// Appends `rows[range]`.
    pub fn append(&mut self, rows: &Columns, range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Error> {
        self.append_columns(&rows.columns, range, out)
    }

    pub(super) fn append_columns(
        &mut self,
        columns: &[Column],
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if columns.len() != self.types.len() {
            return Err(mismatch("(all)", "this table"));
        }
        for (column, ty) in columns.iter().zip(&self.types) {
            check(column, *ty, range.end)?;
        }
        let regular =
            columns.iter().all(|c| c.present.is_empty()) && self.types.iter().all(|t| t.width().is_some());
        let mut first = range.start;
        while first < range.end {
            let last = (first + BLOCK_ROWS).min(range.end);
            match regular {
                true => self.block_of_places(columns, first, last, out)?,
                false => self.block_of_cursors(columns, first, last, out)?,
            }
            first = last;
        }
        Ok(())
    }

    fn head_bytes(&self) -> usize {
        match self.head {
            RowHead::FieldCount => 2,
            RowHead::Nothing => 0,
        }
    }

    fn block_of_places(
        &mut self,
        columns: &[Column],
        first: usize,
        last: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let widths = self.types.iter().map(|t| 4 + t.width().expect("all are fixed here"));
        let stride = self.head_bytes() + widths.sum::<usize>();
        let bytes = stride * (last - first);
        out.reserve(bytes);
        // SAFETY: `bytes` are reserved behind the length, and each cell is written within its row's stride.
        unsafe {
            let mut places = Places { base: out.as_mut_ptr().add(out.len()), stride };
            self.put_block(&mut places, columns, first, last)?;
            out.set_len(out.len() + bytes);
        }
        Ok(())
    }

    fn block_of_cursors(
        &mut self,
        columns: &[Column],
        first: usize,
        last: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut sizes = [0usize; BLOCK_ROWS];
        let sizes = &mut sizes[..last - first];
        sizes.fill(self.head_bytes());
        for (column, ty) in columns.iter().zip(&self.types) {
            add_sizes(sizes, column, *ty, first);
        }
        let bytes: usize = sizes.iter().sum();
        out.reserve(bytes);
        let mut next = std::mem::take(&mut self.next);
        // SAFETY: `bytes` are reserved behind the length, and `add_sizes` counts what `put_column` writes per row.
        let outcome = unsafe {
            let mut at = out.as_mut_ptr().add(out.len());
            for (pointer, size) in next.iter_mut().zip(sizes.iter()) {
                *pointer = at;
                at = at.add(*size);
            }
            let outcome = self.put_block(&mut Cursors { next: &mut next }, columns, first, last);
            if outcome.is_ok() {
                debug_assert_eq!(next[last - first - 1], at, "sizes and cells agree");
                out.set_len(out.len() + bytes);
            }
            outcome
        };
        self.next = next;
        outcome
    }

    unsafe fn put_block(
        &self,
        place: &mut impl Place,
        columns: &[Column],
        first: usize,
        last: usize,
    ) -> Result<(), Error> {
        if self.head == RowHead::FieldCount {
            let count = (self.types.len() as u16).to_be_bytes();
            for row in 0..last - first {
                put(place.take(row, 2), count);
            }
            place.column_done(2);
        }
        let (mut columns, mut types) = (columns, self.types.as_slice());
        while let (Some(column), Some(ty)) = (columns.first(), types.first()) {
            let mut done = 1;
            if let Some((base, stride)) = place.strided().filter(|_| word(column, *ty).is_some()) {
                done = put_words(base, stride, columns, types, first..last);
                place.column_done(done * WORD_CELL_BYTES);
            } else if let Some(bad) = put_column(place, column, *ty, first, last) {
                let value = format!("{:?}", column.value(bad));
                return Err(does_not_fit(&column.name, value, &ty.name()));
            } else if let Some(width) = ty.width() {
                place.column_done(4 + width);
            }
            (columns, types) = (&columns[done..], &types[done..]);
        }
        Ok(())
    }
}
