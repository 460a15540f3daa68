//! ClickHouse Native: blocks of columns, each with its name and type. Whole columns are copied, values not looked at.

use super::clickhouse::{
    cells, decimal_number, enum_name, labels, put_length, put_text, start, types, Cells, ChType, Labels,
    Plain,
};
use super::{Encoder, PART_ROWS};
use crate::error::Error;
use crate::plan::{ColumnPlan, TablePlan};
use crate::rows::{Column, Columns, ListValues, Values};

/// Rows of a block at most: those that are generated and encoded together. The server joins blocks before it writes
/// them, so that blocks of 2,048 to 65,536 rows cost it the same CPU (18.16, 100,000 rows an INSERT).
const BLOCK_ROWS: usize = PART_ROWS;

pub struct Native {
    types: Vec<ChType>,
    labels: Vec<Labels>,
    /// Name and type of each column, as every block repeats them.
    heads: Vec<Vec<u8>>,
}

impl Native {
    pub fn new(table: &TablePlan) -> Result<Native, Error> {
        let types = types(table)?;
        let head = |(column, ty): (&ColumnPlan, &ChType)| {
            let mut head = Vec::new();
            put_text(column.name.as_bytes(), &mut head);
            // The labels of an enum stand in the plan alone.
            let name = if ty.plain == Plain::Enum { enum_name(column, *ty) } else { ty.name() };
            put_text(name.as_bytes(), &mut head);
            head
        };
        let heads = table.columns.iter().zip(&types).map(head).collect();
        Ok(Native { types, labels: labels(table), heads })
    }
}

impl Encoder for Native {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        let cells = cells(rows, &self.types, &self.labels, "native")?;
        let mut first = 0;
        while first < rows.rows {
            let last = (first + BLOCK_ROWS).min(rows.rows);
            put_length(rows.columns.len() as u64, out);
            put_length((last - first) as u64, out);
            for (((column, cells), ty), head) in
                rows.columns.iter().zip(&cells).zip(&self.types).zip(&self.heads)
            {
                out.extend_from_slice(head);
                put_column(column, cells, *ty, first, last, out);
            }
            first = last;
        }
        Ok(())
    }
}

fn put_column(column: &Column, cells: &Cells, ty: ChType, first: usize, last: usize, out: &mut Vec<u8>) {
    if ty.nullable && !ty.plain.is_list() {
        match column.present.is_empty() {
            true => out.resize(out.len() + (last - first), 0),
            false => out.extend(column.present[first..last].iter().map(|present| 1 - present)),
        }
    }
    put_values(column, cells, ty, first, last, out);
}

/// column: of which the cells are, or the lists whose items they are.
fn put_values(column: &Column, cells: &Cells, ty: ChType, first: usize, last: usize, out: &mut Vec<u8>) {
    match cells {
        Cells::U8(v) => out.extend(v[first..last].iter().map(|&v| v as u8)),
        Cells::Two(v) => out.extend(v[first..last].iter().flat_map(|&v| (v as u16).to_le_bytes())),
        Cells::I32(v) => put_all(&v[first..last], out),
        Cells::U32(v) => out.extend(v[first..last].iter().flat_map(|&v| (v as u32).to_le_bytes())),
        Cells::I64(v) => put_all(&v[first..last], out),
        Cells::F32(v) => put_all(&v[first..last], out),
        Cells::F64(v) => put_all(&v[first..last], out),
        Cells::Text(bytes, ends) => {
            let mut from = start(ends, first);
            out.reserve(ends[last - 1] as usize - from + 2 * (last - first));
            for &end in &ends[first..last] {
                put_text(&bytes[from..end as usize], out);
                from = end as usize;
            }
        }
        Cells::Numbered(v) => out.extend(v[first..last].iter().flat_map(|v| v.to_le_bytes())),
        Cells::Decimal(texts, bytes) => {
            (first..last).for_each(|row| out.extend_from_slice(&decimal_number(texts, row)[..*bytes]));
        }
        Cells::Lists(list, cells, nullable) => {
            let items = put_ends(column, list, ty, first, last, out);
            if items.is_empty() {
                return;
            }
            match (*nullable, list.present.is_empty()) {
                (true, true) => out.resize(out.len() + items.len(), 0),
                (true, false) => out.extend(list.present[items.clone()].iter().map(|present| 1 - present)),
                (false, _) => {}
            }
            put_values(column, cells, ty, items.start, items.end, out);
        }
        Cells::List(list) => {
            let items = put_ends(column, list, ty, first, last, out);
            match &*list.items {
                Values::I64(v) => put_all(&v[items], out),
                Values::F64(v) => put_all(&v[items], out),
                _ => unreachable!("`cells` let lists of I64 and F64 through"),
            }
        }
    }
}

/// Where lists end; gives the places of their items. A NULL has none, so that those of the others lie side by side.
fn put_ends(
    column: &Column,
    list: &ListValues,
    ty: ChType,
    first: usize,
    last: usize,
    out: &mut Vec<u8>,
) -> std::ops::Range<usize> {
    if ty.nullable {
        let mut present = 0u64;
        for row in first..last {
            present += u64::from(column.is_present(row));
            out.extend_from_slice(&present.to_le_bytes());
        }
    }
    let begin = start(&list.ends, first);
    for row in (first..last).filter(|&row| !ty.nullable || column.is_present(row)) {
        out.extend_from_slice(&(list.ends[row] as u64 - begin as u64).to_le_bytes());
    }
    begin..list.ends[last - 1] as usize
}

/// Numbers as they lie in memory, which is how they are sent.
fn put_all<T: Number>(values: &[T], out: &mut Vec<u8>) {
    const { assert!(cfg!(target_endian = "little"), "Native is little-endian, and so must be this machine") };
    // SAFETY: a plain number has no padding, and any of its bytes may be read as such.
    out.extend_from_slice(unsafe {
        std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values))
    });
}

trait Number: Copy {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for f32 {}
impl Number for f64 {}
