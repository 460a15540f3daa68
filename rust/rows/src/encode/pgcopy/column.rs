//! The cells of one column: their sizes, and their bytes by pair of values and wire type.

use super::lists::{list_bytes, put_list};
use super::numeric::{numeric_bytes, put_numeric};
use super::place::{put, put_null, Place};
use super::types::{PgType, NUMERIC_BYTES};
use super::POSTGRES_EPOCH_US;
use crate::plan::LogicalType;
use crate::rows::{Column, TextValues, Values};
use crate::types::{Spelled, Visitor};

/// Of the one form that `jsonb` has on the wire.
pub const JSONB_VERSION: u8 = 1;
/// Times that `timestamptz` holds, in µs since 2000: 4714-11-24 BC to 294277 AD.
const TIME_US: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// Adds the bytes of each cell, length word included, to its row.
pub fn add_sizes(sizes: &mut [usize], column: &Column, ty: PgType, first: usize) {
    match (&column.values, ty.width(), ty) {
        (_, Some(width), _) => add_each(sizes, column, first, |_| width),
        (Values::Text(texts), None, PgType::Decimal) => {
            add_each(sizes, column, first, |row| numeric_bytes(texts.get(row)))
        }
        (Values::Text(texts), None, PgType::Jsonb) => {
            add_each(sizes, column, first, |row| 1 + texts.get(row).len())
        }
        (Values::Text(texts), None, PgType::Spelled(ty)) => {
            ty.visit(AddSpelled { sizes, column, texts, first })
        }
        (Values::Text(texts), None, _) => add_each(sizes, column, first, |row| texts.get(row).len()),
        (Values::List(list), None, _) => add_each(sizes, column, first, |row| list_bytes(list, row, ty)),
        _ => unreachable!("`check` let texts and lists through"),
    }
}

/// bytes: those of the value of a row; NULL has none.
#[inline(always)]
fn add_each(sizes: &mut [usize], column: &Column, first: usize, bytes: impl Fn(usize) -> usize) {
    let rows = sizes.iter_mut().zip(first..);
    if column.present.is_empty() {
        rows.for_each(|(size, row)| *size += 4 + bytes(row));
    } else {
        rows.for_each(|(size, row)| *size += 4 + if column.present[row] == 1 { bytes(row) } else { 0 });
    }
}

/// Writes the cells of rows `first..last`; the first row with a value that does not fit, if there is one.
pub unsafe fn put_column(
    place: &mut impl Place,
    column: &Column,
    ty: PgType,
    first: usize,
    last: usize,
) -> Option<usize> {
    let present = match column.present.is_empty() {
        true => None,
        false => Some(&column.present[first..last]),
    };
    let bad = match (&column.values, ty) {
        (Values::I32(v), PgType::Bool) => {
            fixed(place, &v[first..last], present, |v| Some([u8::from(v != 0)]))
        }
        (Values::I32(v), PgType::Int2) => {
            fixed(place, &v[first..last], present, |v| i16::try_from(v).ok().map(i16::to_be_bytes))
        }
        (Values::I32(v), PgType::Int4) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I32(v), PgType::Int8) => {
            fixed(place, &v[first..last], present, |v| Some((v as i64).to_be_bytes()))
        }
        (Values::I64(v), PgType::Int8) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I64(v), PgType::Bit(bits)) => {
            let mut bad = None;
            for (at, &number) in v[first..last].iter().enumerate() {
                match column.is_present(first + at) {
                    true if put_bits(place, at, number as u64, bits) => {}
                    true => bad = bad.or(Some(at)),
                    false => put_null(place, at),
                }
            }
            bad
        }
        (Values::I64(v), PgType::Numeric) => {
            let unsigned = column.ty == LogicalType::U64;
            fixed(place, &v[first..last], present, |v| Some(numeric(v, unsigned)))
        }
        (Values::F32(v), PgType::Float4) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::F32(v), PgType::Float8) => {
            fixed(place, &v[first..last], present, |v| Some((v as f64).to_be_bytes()))
        }
        (Values::F64(v), PgType::Float8) => fixed(place, &v[first..last], present, |v| Some(v.to_be_bytes())),
        (Values::I64(v), PgType::Timestamptz) if column.ty == LogicalType::TimeMs => {
            fixed(place, &v[first..last], present, |v| timestamptz(v, 1000))
        }
        (Values::I64(v), PgType::Timestamptz) => {
            fixed(place, &v[first..last], present, |v| timestamptz(v, 1))
        }
        (Values::Text(texts), PgType::Spelled(ty)) => {
            ty.visit(PutSpelled { place, column, texts, rows: first..last })
        }
        (Values::Text(v), PgType::Decimal) => {
            let mut bad = None;
            for row in first..last {
                match column.is_present(row) {
                    true if put_decimal(place, row - first, v.get(row)) => {}
                    true => bad = bad.or(Some(row - first)),
                    false => put_null(place, row - first),
                }
            }
            bad
        }
        (Values::Text(v), PgType::Jsonb) => {
            for row in first..last {
                match column.is_present(row) {
                    true => put_document(place, row - first, v.get(row)),
                    false => put_null(place, row - first),
                }
            }
            None
        }
        (Values::Text(v), PgType::Text | PgType::Bytea) => {
            for row in first..last {
                match column.is_present(row) {
                    true => put_text(place, row - first, v.get(row)),
                    false => put_null(place, row - first),
                }
            }
            None
        }
        (Values::List(v), _) => {
            let unsigned = column.ty == LogicalType::ListU64;
            let mut bad = None;
            for row in first..last {
                match column.is_present(row) {
                    true if put_list(place, row - first, v, row, ty, unsigned) => {}
                    true => bad = bad.or(Some(row - first)),
                    false => put_null(place, row - first),
                }
            }
            bad
        }
        _ => unreachable!("`check` let no other pair through"),
    };
    bad.map(|offset| first + offset)
}

/// Cells of `N` bytes. A value without bytes ends the column after it; the offset of the first is returned.
#[inline(always)]
unsafe fn fixed<T: Copy, const N: usize>(
    place: &mut impl Place,
    values: &[T],
    present: Option<&[u8]>,
    bytes: impl Fn(T) -> Option<[u8; N]>,
) -> Option<usize> {
    let mut fits = true;
    match present {
        None => {
            for (row, &value) in values.iter().enumerate() {
                let cell = bytes(value);
                fits &= cell.is_some();
                let at = place.take(row, 4 + N);
                put(at, (N as u32).to_be_bytes());
                put(at.add(4), cell.unwrap_or([0; N]));
            }
        }
        Some(present) => {
            for (row, (&value, &here)) in values.iter().zip(present).enumerate() {
                if here == 0 {
                    put_null(place, row);
                    continue;
                }
                let cell = bytes(value);
                fits &= cell.is_some();
                let at = place.take(row, 4 + N);
                put(at, (N as u32).to_be_bytes());
                put(at.add(4), cell.unwrap_or([0; N]));
            }
        }
    }
    let unfit = |row: &usize| bytes(values[*row]).is_none() && present.is_none_or(|p| p[*row] == 1);
    if fits {
        None
    } else {
        (0..values.len()).find(unfit)
    }
}

/// Cells out of text, in a loop of their type's own.
struct PutSpelled<'a, P> {
    place: &'a mut P,
    column: &'a Column,
    texts: &'a TextValues,
    rows: std::ops::Range<usize>,
}

impl<P: Place> Visitor for PutSpelled<'_, P> {
    /// The offset of the first text that stands for no value, which ends the column.
    type Out = Option<usize>;

    fn of<T: Spelled>(self) -> Option<usize> {
        let PutSpelled { place, column, texts, rows } = self;
        for (offset, row) in rows.enumerate() {
            // SAFETY: `put_column` has the room of these rows, which `add_sizes` counted.
            unsafe {
                if !column.is_present(row) {
                    put_null(place, offset);
                    continue;
                }
                let Some(cell) = T::cell(texts.get(row)) else { return Some(offset) };
                let cell = cell.as_ref();
                debug_assert_eq!(cell.len(), T::cell_bytes(texts.get(row)), "as much room was made");
                let at = place.take(offset, 4 + cell.len());
                put(at, (cell.len() as u32).to_be_bytes());
                std::ptr::copy_nonoverlapping(cell.as_ptr(), at.add(4), cell.len());
            }
        }
        None
    }
}

/// Adds the bytes of the cells of a spelled type whose values differ in length.
struct AddSpelled<'a> {
    sizes: &'a mut [usize],
    column: &'a Column,
    texts: &'a TextValues,
    first: usize,
}

impl Visitor for AddSpelled<'_> {
    type Out = ();

    fn of<T: Spelled>(self) {
        let AddSpelled { sizes, column, texts, first } = self;
        add_each(sizes, column, first, |row| T::cell_bytes(texts.get(row)));
    }
}

/// The first and the last time that `timestamptz` holds, in units of `per_unit` µs since 1970.
const fn times(per_unit: i64) -> (i64, i64) {
    let unit = per_unit as i128;
    let earliest = (TIME_US.start as i128 + POSTGRES_EPOCH_US as i128).div_euclid(unit);
    let latest = (TIME_US.end as i128 + POSTGRES_EPOCH_US as i128 - 1).div_euclid(unit);
    let largest = i64::MAX as i128;
    (earliest as i64, if latest < largest { latest as i64 } else { i64::MAX })
}

/// `per_unit` µs in one unit of `time`, which counts from 1970.
#[inline(always)]
fn timestamptz(time: i64, per_unit: i64) -> Option<[u8; 8]> {
    let (earliest, latest) = times(per_unit);
    // Of a time between them this is exact.
    let us = time.wrapping_mul(per_unit).wrapping_sub(POSTGRES_EPOCH_US);
    ((time >= earliest) & (time <= latest)).then_some(us.to_be_bytes())
}

/// ndigits, weight, sign, scale, then digits of base 10,000.
#[inline(always)]
fn numeric(value: i64, unsigned: bool) -> [u8; NUMERIC_BYTES] {
    const NEGATIVE: u16 = 0x4000;
    let (sign, mut rest) = match !unsigned && value < 0 {
        true => (NEGATIVE, value.unsigned_abs()),
        false => (0, value as u64),
    };
    let mut words = [5u16, 4, sign, 0, 0, 0, 0, 0, 0];
    for digit in words[4..].iter_mut().rev() {
        *digit = (rest % 10_000) as u16;
        rest /= 10_000;
    }
    let mut bytes = [0; NUMERIC_BYTES];
    for (pair, word) in bytes.chunks_exact_mut(2).zip(words) {
        pair.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// False where the text is no decimal.
unsafe fn put_decimal(place: &mut impl Place, row: usize, text: &[u8]) -> bool {
    let bytes = numeric_bytes(text);
    let at = place.take(row, 4 + bytes);
    put(at, (bytes as u32).to_be_bytes());
    put_numeric(text, at.add(4))
}

/// The bits from the first on, in whole bytes; false where the number has more of them.
unsafe fn put_bits(place: &mut impl Place, row: usize, number: u64, bits: u32) -> bool {
    let bytes = bits.div_ceil(8) as usize;
    let at = place.take(row, 8 + bytes);
    put(at, (4 + bytes as u32).to_be_bytes());
    put(at.add(4), bits.to_be_bytes());
    let left = number << (64 - bits);
    std::ptr::copy_nonoverlapping(left.to_be_bytes().as_ptr(), at.add(8), bytes);
    bits == 64 || number >> bits == 0
}

unsafe fn put_document(place: &mut impl Place, row: usize, text: &[u8]) {
    let at = place.take(row, 5 + text.len());
    put(at, (1 + text.len() as u32).to_be_bytes());
    *at.add(4) = JSONB_VERSION;
    std::ptr::copy_nonoverlapping(text.as_ptr(), at.add(5), text.len());
}

#[inline(always)]
unsafe fn put_text(place: &mut impl Place, row: usize, text: &[u8]) {
    let at = place.take(row, 4 + text.len());
    put(at, (text.len() as u32).to_be_bytes());
    std::ptr::copy_nonoverlapping(text.as_ptr(), at.add(4), text.len());
}
