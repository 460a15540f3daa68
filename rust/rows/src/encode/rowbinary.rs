//! ClickHouse RowBinary: values row by row, without names or types.

use super::clickhouse::{cells, decimal_number, labels, start, types, Cells, ChType, Labels};
use super::tail::Tail;
use super::Encoder;
use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::{Columns, ListValues, Values};

/// Rows between two reservations of room.
const BLOCK_ROWS: usize = 1024;
/// Length of a text or list, and the marks of a NULL, at most.
const HEAD_BYTES: usize = 12;

pub struct RowBinary {
    types: Vec<ChType>,
    labels: Vec<Labels>,
}

impl RowBinary {
    pub fn new(table: &TablePlan) -> Result<RowBinary, Error> {
        Ok(RowBinary { types: types(table)?, labels: labels(table) })
    }
}

impl Encoder for RowBinary {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        let cells = cells(rows, &self.types, &self.labels, "rowbinary")?;
        let mut tail = Tail::new(out);
        let mut first = 0;
        while first < rows.rows {
            let last = (first + BLOCK_ROWS).min(rows.rows);
            tail.room(cells.iter().map(|cells| most_bytes(cells, first, last)).sum());
            for row in first..last {
                for ((column, cells), ty) in rows.columns.iter().zip(&cells).zip(&self.types) {
                    // SAFETY: `room` was reserved for the widest form of these rows.
                    unsafe { put_cell(&mut tail, cells, *ty, column.is_present(row), row) }
                }
            }
            first = last;
        }
        tail.finish();
        Ok(())
    }
}

/// Room that rows `first..last` take at most.
fn most_bytes(cells: &Cells, first: usize, last: usize) -> usize {
    let span = |ends: &[u32]| ends[last - 1] as usize - start(ends, first);
    let values = match cells {
        Cells::Text(_, ends) => span(ends),
        Cells::Decimal(_, bytes) => bytes * (last - first),
        Cells::List(list) => 8 * span(&list.ends),
        Cells::Lists(list, cells, _) => {
            let (begin, end) = (start(&list.ends, first), list.ends[last - 1] as usize);
            if begin == end {
                0
            } else {
                most_bytes(cells, begin, end)
            }
        }
        _ => 8 * (last - first),
    };
    values + HEAD_BYTES * (last - first)
}

/// # Safety
/// `tail` has the room that `most_bytes` says for this row.
#[inline(always)]
unsafe fn put_cell(tail: &mut Tail, cells: &Cells, ty: ChType, present: bool, row: usize) {
    if ty.nullable {
        // A list that may be NULL is a list of one list or of none.
        tail.byte(if ty.plain.is_list() { u8::from(present) } else { u8::from(!present) });
        if !present {
            return;
        }
    }
    put_value(tail, cells, row);
}

/// # Safety
/// As of `put_cell`.
#[inline(always)]
unsafe fn put_value(tail: &mut Tail, cells: &Cells, row: usize) {
    match cells {
        Cells::U8(v) => tail.byte(v[row] as u8),
        Cells::Two(v) => tail.word(v[row] as u16 as u64, 2),
        Cells::I32(v) => tail.word(v[row] as u32 as u64, 4),
        Cells::U32(v) => tail.word(v[row] as u32 as u64, 4),
        Cells::I64(v) => tail.word(v[row] as u64, 8),
        Cells::F32(v) => tail.word(v[row].to_bits() as u64, 4),
        Cells::F64(v) => tail.word(v[row].to_bits(), 8),
        Cells::Text(bytes, ends) => {
            let text = &bytes[start(ends, row)..ends[row] as usize];
            length(tail, text.len());
            tail.bytes(text);
        }
        Cells::Numbered(v) => tail.word(u64::from(v[row]), 2),
        Cells::Decimal(texts, bytes) => tail.bytes(&decimal_number(texts, row)[..*bytes]),
        Cells::Lists(list, cells, nullable) => put_items(tail, list, cells, *nullable, row),
        Cells::List(list) => {
            let items = list.range(row);
            length(tail, items.len());
            match &*list.items {
                Values::I64(v) => v[items].iter().for_each(|&v| tail.word(v as u64, 8)),
                Values::F64(v) => v[items].iter().for_each(|v| tail.word(v.to_bits(), 8)),
                _ => unreachable!("`cells` let lists of I64 and F64 through"),
            }
        }
    }
}

/// # Safety
/// As of `put_cell`.
unsafe fn put_items(tail: &mut Tail, list: &ListValues, cells: &Cells, nullable: bool, row: usize) {
    let items = list.range(row);
    length(tail, items.len());
    for item in items {
        if nullable {
            tail.byte(u8::from(!list.is_present(item)));
            if !list.is_present(item) {
                continue;
            }
        }
        put_value(tail, cells, item);
    }
}

/// As `put_length`, into reserved room.
#[inline(always)]
unsafe fn length(tail: &mut Tail, mut length: usize) {
    while length >= 0x80 {
        tail.byte(length as u8 | 0x80);
        length >>= 7;
    }
    tail.byte(length as u8);
}
