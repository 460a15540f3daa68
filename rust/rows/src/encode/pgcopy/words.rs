//! Neighbouring columns of 64-bit values, written together.

use std::ops::Range;

use super::place::put;
use super::types::PgType;
use crate::rows::{Column, Values};

pub const WORD_CELL_BYTES: usize = 4 + 8;

/// The values of a column with cells that are its 64-bit values as they stand.
pub fn word(column: &Column, ty: PgType) -> Option<*const u64> {
    match (&column.values, ty) {
        (Values::I64(v), PgType::Int8) => Some(v.as_ptr().cast()),
        (Values::F64(v), PgType::Float8) => Some(v.as_ptr().cast()),
        _ => None,
    }
}

/// Writes neighbouring columns of 64-bit values row by row: stores to one cache line after another cost half
/// of what stores a row apart cost. Returns how many of `columns` it wrote, up to eight; the first is such a column.
pub unsafe fn put_words(
    base: *mut u8,
    stride: usize,
    columns: &[Column],
    types: &[PgType],
    rows: Range<usize>,
) -> usize {
    let mut from = [std::ptr::null::<u64>(); 8];
    let mut found = 0;
    for ((from, column), ty) in from.iter_mut().zip(columns).zip(types) {
        let Some(values) = word(column, *ty) else { break };
        *from = values.add(rows.start);
        found += 1;
    }
    match found {
        8.. => put_words_of::<8>(base, stride, &from, rows.len()),
        4.. => put_words_of::<4>(base, stride, &from, rows.len()),
        2.. => put_words_of::<2>(base, stride, &from, rows.len()),
        _ => put_words_of::<1>(base, stride, &from, rows.len()),
    }
}

#[inline(never)]
unsafe fn put_words_of<const N: usize>(
    base: *mut u8,
    stride: usize,
    from: &[*const u64; 8],
    rows: usize,
) -> usize {
    let from: [*const u64; N] = std::array::from_fn(|k| from[k]);
    for row in 0..rows {
        let at = base.add(row * stride);
        for (k, from) in from.iter().enumerate() {
            put(at.add(k * WORD_CELL_BYTES), 8u32.to_be_bytes());
            put(at.add(k * WORD_CELL_BYTES + 4), from.add(row).read().to_be_bytes());
        }
    }
    N
}
