//! One value as a field or as a tag.

use super::super::decimal::{float64, signed, unsigned, FLOAT_BYTES, INTEGER_BYTES};
use super::super::lists::{is_plain, list_texts, ListStyle};
use super::super::tail::Tail;
use super::super::{does_not_fit, mismatch};
use crate::error::Error;
use crate::plan::LogicalType;
use crate::rows::{Column, ListValues, TextValues, Values};

/// Values of one column as the row loop sees them.
pub enum Cells<'a> {
    Bool(&'a [i32]),
    Small(&'a [i32]),
    /// As they stand: unsigned 64-bit values keep their bits.
    Whole(&'a [i64]),
    /// The same as a tag, which is a text and loses nothing.
    Unsigned(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [u8], &'a [u32]),
    List(&'a ListValues),
    /// Lists that were written beforehand: those of other items, or with NULL in them.
    Made(TextValues),
}

pub fn cells(column: &Column) -> Result<Cells<'_>, Error> {
    Ok(match (&column.values, column.ty) {
        (Values::I32(v), LogicalType::Bool) => Cells::Bool(v),
        (Values::I32(v), _) => Cells::Small(v),
        (Values::I64(v), LogicalType::U64 | LogicalType::Bit) => Cells::Unsigned(v),
        (Values::I64(v), _) => Cells::Whole(v),
        (Values::F32(v), _) => Cells::F32(v),
        (Values::F64(v), _) => Cells::F64(v),
        (Values::Text(v), _) => Cells::Text(&v.bytes, &v.ends),
        (Values::List(v), ty) => match ty.item() {
            Some(item) if is_plain(v, item) => Cells::List(v),
            Some(item) => Cells::Made(list_texts(v, item, ListStyle::Json).map_err(|row| {
                does_not_fit(&column.name, format!("{:?}", column.value(row)), "a list of JSON")
            })?),
            None => return Err(mismatch(&column.name, "a list")),
        },
    })
}

impl Cells<'_> {
    /// What rows `first..last` take at most.
    pub fn most_bytes(&self, first: usize, last: usize) -> usize {
        let rows = last - first;
        let span =
            |ends: &[u32]| ends[last - 1] as usize - if first == 0 { 0 } else { ends[first - 1] as usize };
        match self {
            Cells::Bool(_) => rows,
            Cells::Small(_) | Cells::Whole(_) | Cells::Unsigned(_) => rows * (INTEGER_BYTES + 1),
            Cells::F32(_) | Cells::F64(_) => rows * FLOAT_BYTES,
            Cells::Text(_, ends) => 2 * span(ends) + 2 * rows,
            Cells::Made(texts) => 2 * span(&texts.ends) + 2 * rows,
            Cells::List(list) => span(&list.ends) * (FLOAT_BYTES + 1) + 4 * rows,
        }
    }

    /// False, with part of it written, where a field has no such value.
    ///
    /// # Safety
    /// `tail` has `most_bytes` of this row.
    #[inline(always)]
    pub unsafe fn put_field(&self, tail: &mut Tail, row: usize) -> bool {
        match self {
            Cells::Bool(v) => tail.byte(if v[row] != 0 { b't' } else { b'f' }),
            Cells::Small(v) => {
                signed(tail, v[row] as i64);
                tail.byte(b'i');
            }
            Cells::Whole(v) | Cells::Unsigned(v) => {
                signed(tail, v[row]);
                tail.byte(b'i');
            }
            // All fields are doubles: written as one, so that nothing is rounded twice.
            Cells::F32(v) => return put_float(tail, v[row] as f64),
            Cells::F64(v) => return put_float(tail, v[row]),
            Cells::Text(bytes, ends) => put_string(tail, text_at(bytes, ends, row)),
            Cells::Made(texts) => put_string(tail, texts.get(row)),
            Cells::List(list) => return put_list(tail, list, row),
        }
        true
    }

    /// As [`Cells::put_field`], for a tag: text without quotes.
    ///
    /// # Safety
    /// `tail` has `most_bytes` of this row.
    #[inline(always)]
    pub unsafe fn put_tag(&self, tail: &mut Tail, row: usize) -> bool {
        match self {
            Cells::Bool(v) => tail.byte(if v[row] != 0 { b't' } else { b'f' }),
            Cells::Small(v) => signed(tail, v[row] as i64),
            Cells::Whole(v) => signed(tail, v[row]),
            Cells::Unsigned(v) => unsigned(tail, v[row] as u64),
            Cells::F32(v) => return put_float(tail, v[row] as f64),
            Cells::F64(v) => return put_float(tail, v[row]),
            Cells::Text(bytes, ends) => return put_tag_text(tail, text_at(bytes, ends, row)),
            Cells::List(_) | Cells::Made(_) => return false,
        }
        true
    }
}

pub fn text_at<'a>(bytes: &'a [u8], ends: &[u32], row: usize) -> &'a [u8] {
    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
    &bytes[start..ends[row] as usize]
}

#[inline(always)]
unsafe fn put_float(tail: &mut Tail, value: f64) -> bool {
    if value.is_finite() {
        float64(tail, value);
    }
    value.is_finite()
}

unsafe fn put_string(tail: &mut Tail, text: &[u8]) {
    tail.byte(b'"');
    for &byte in text {
        if matches!(byte, b'"' | b'\\') {
            tail.byte(b'\\');
        }
        tail.byte(byte);
    }
    tail.byte(b'"');
}

unsafe fn put_tag_text(tail: &mut Tail, text: &[u8]) -> bool {
    // A backslash escapes what follows or nothing, as it comes: what such a tag means is not sure.
    if text.is_empty() || text.iter().any(|byte| matches!(byte, b'\\' | b'\n')) {
        return false;
    }
    for &byte in text {
        if matches!(byte, b',' | b'=' | b' ') {
            tail.byte(b'\\');
        }
        tail.byte(byte);
    }
    true
}

/// A string field, `"[1,2]"`.
unsafe fn put_list(tail: &mut Tail, list: &ListValues, row: usize) -> bool {
    tail.bytes(b"\"[");
    for (k, item) in list.range(row).enumerate() {
        if k > 0 {
            tail.byte(b',');
        }
        match &*list.items {
            Values::I64(items) => signed(tail, items[item]),
            Values::F64(items) => {
                if !put_float(tail, items[item]) {
                    return false;
                }
            }
            _ => unreachable!("`cells` let lists of I64 and F64 through"),
        }
    }
    tail.bytes(b"]\"");
    true
}
