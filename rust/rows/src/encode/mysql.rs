//! Values in MySQL's binary protocol: parameters of prepared statements, rows of MariaDB's bulk execute.

mod param;

use super::decimal::{float64, signed, FLOAT_BYTES};
use super::lists::{is_plain, list_texts, ListStyle};
use super::tail::Tail;
use super::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::rows::{Column, Columns, ListValues, TextValues, Values};
use crate::types::calendar;
use crate::types::Holds;

pub use param::param;

/// Types of values on the wire (`enum_field_types`, with the flag for unsigned).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MyType {
    Tiny,
    UnsignedTiny,
    Short,
    UnsignedShort,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
    Datetime,
    Blob,
    /// Texts, and what travels as text; lists as JSON.
    String,
}

impl MyType {
    pub fn of(ty: LogicalType) -> MyType {
        match ty.holds() {
            Holds::Truth => MyType::Tiny,
            Holds::Signed(16) => MyType::Short,
            Holds::Signed(32) => MyType::Long,
            Holds::Signed(_) => MyType::LongLong,
            Holds::Unsigned(8) => MyType::UnsignedTiny,
            Holds::Unsigned(16) => MyType::UnsignedShort,
            Holds::Unsigned(32) => MyType::UnsignedLong,
            Holds::Unsigned(_) | Holds::Bits => MyType::UnsignedLongLong,
            Holds::Float(32) => MyType::Float,
            Holds::Float(_) => MyType::Double,
            Holds::Time(_) => MyType::Datetime,
            Holds::Bytes => MyType::Blob,
            Holds::Text | Holds::Spelled | Holds::List(_) => MyType::String,
        }
    }

    /// As a statement announces its parameters: type, then flags.
    pub fn code(self) -> [u8; 2] {
        match self {
            MyType::Tiny => [1, 0],
            MyType::UnsignedTiny => [1, 0x80],
            MyType::Short => [2, 0],
            MyType::UnsignedShort => [2, 0x80],
            MyType::Long => [3, 0],
            MyType::UnsignedLong => [3, 0x80],
            MyType::Float => [4, 0],
            MyType::Double => [5, 0],
            MyType::LongLong => [8, 0],
            MyType::UnsignedLongLong => [8, 0x80],
            MyType::Datetime => [12, 0],
            MyType::Blob => [252, 0],
            MyType::String => [253, 0],
        }
    }
}

/// Where a NULL stands: a byte before every value (bulk execute), or in a bitmap that the caller writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    Indicated,
    InBitmap,
}

const VALUE_FOLLOWS: u8 = 0;
const IS_NULL: u8 = 1;

/// Longest fixed value: length byte and a time with microseconds.
const TIME_BYTES: usize = 12;
/// Longest length of a text.
const LENGTH_BYTES: usize = 9;
/// Rows between two reservations of room.
const BLOCK_ROWS: usize = 256;

/// Rows of one table, value by value.
pub struct Cells {
    types: Vec<LogicalType>,
    nulls: Nulls,
    day: Day,
    /// A list as text, with its length before it.
    list: Vec<u8>,
}

/// Values of one column as the row loop sees them.
enum Field<'a> {
    One(&'a [i32]),
    Two(&'a [i32]),
    Four(&'a [i32]),
    FourOfEight(&'a [i64]),
    Eight(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    TimeMs(&'a [i64]),
    TimeUs(&'a [i64]),
    Text(&'a [u8], &'a [u32]),
    List(&'a ListValues),
    /// Lists that were written beforehand: those of other items, or with NULL in them.
    Made(TextValues),
}

impl Encoder for Cells {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        self.append(rows, 0..rows.rows, out)
    }
}

impl Cells {
    pub fn new(table: &TablePlan, nulls: Nulls) -> Result<Cells, Error> {
        let types = table.columns.iter().map(|c| c.ty).collect();
        Ok(Cells { types, nulls, day: Day::default(), list: Vec::new() })
    }

    /// Appends `rows[range]`.
    pub fn append(
        &mut self,
        rows: &Columns,
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if rows.columns.len() != self.types.len() {
            return Err(mismatch("(all)", "this table"));
        }
        let fields: Vec<Field> =
            rows.columns.iter().zip(&self.types).map(|(c, ty)| field(c, *ty)).collect::<Result<_, _>>()?;
        let mut first = range.start;
        while first < range.end {
            let last = (first + BLOCK_ROWS).min(range.end);
            let mut tail = Tail::new(out);
            tail.room(block_bytes(&fields, first, last));
            for row in first..last {
                // SAFETY: `room` was reserved for the widest form of these rows.
                let bad = unsafe { self.put_row(&mut tail, &fields, rows, row) };
                if let Some(bad) = bad {
                    tail.finish();
                    let column = &rows.columns[bad];
                    let value = format!("{:?}", column.value(row));
                    return Err(does_not_fit(&column.name, value, "its type in MySQL"));
                }
            }
            tail.finish();
            first = last;
        }
        Ok(())
    }

    /// Writes one row; the index of a column with a value that the server has no form for, if there is one.
    ///
    /// # Safety
    /// `tail` has the room that `block_bytes` counts for this row.
    #[inline(always)]
    unsafe fn put_row(
        &mut self,
        tail: &mut Tail,
        fields: &[Field],
        rows: &Columns,
        row: usize,
    ) -> Option<usize> {
        for (index, field) in fields.iter().enumerate() {
            let present = rows.columns[index].is_present(row);
            if self.nulls == Nulls::Indicated {
                tail.byte(if present { VALUE_FOLLOWS } else { IS_NULL });
            }
            if !present {
                continue;
            }
            match field {
                Field::One(v) => tail.byte(v[row] as u8),
                Field::Two(v) => tail.word(v[row] as u64, 2),
                Field::Four(v) => tail.word(v[row] as u32 as u64, 4),
                Field::FourOfEight(v) => tail.word(v[row] as u32 as u64, 4),
                Field::Eight(v) => tail.word(v[row] as u64, 8),
                Field::F32(v) if v[row].is_finite() => tail.word(v[row].to_bits() as u64, 4),
                Field::F64(v) if v[row].is_finite() => tail.word(v[row].to_bits(), 8),
                Field::F32(_) | Field::F64(_) => return Some(index),
                // Units of a second are known where this is compiled: a division by them is a multiplication.
                Field::TimeMs(v) => match self.day.time(v[row], 1_000) {
                    Some(time) => put_time(tail, time),
                    None => return Some(index),
                },
                Field::TimeUs(v) => match self.day.time(v[row], 1_000_000) {
                    Some(time) => put_time(tail, time),
                    None => return Some(index),
                },
                Field::Text(bytes, ends) => {
                    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                    put_text(tail, &bytes[start..ends[row] as usize]);
                }
                Field::Made(texts) => put_text(tail, texts.get(row)),
                Field::List(list) => {
                    self.list.clear();
                    list_text(list, row, &mut self.list);
                    put_text(tail, &self.list);
                }
            }
        }
        None
    }
}

fn field(column: &Column, ty: LogicalType) -> Result<Field<'_>, Error> {
    if column.ty != ty {
        return Err(mismatch(&column.name, "this table's column"));
    }
    Ok(match (&column.values, ty) {
        (Values::I32(v), LogicalType::Bool | LogicalType::U8) => Field::One(v),
        (Values::I32(v), LogicalType::I16 | LogicalType::U16) => Field::Two(v),
        (Values::I32(v), _) => Field::Four(v),
        (Values::I64(v), LogicalType::TimeMs) => Field::TimeMs(v),
        (Values::I64(v), LogicalType::TimeUs) => Field::TimeUs(v),
        (Values::I64(v), LogicalType::U32) => Field::FourOfEight(v),
        (Values::I64(v), _) => Field::Eight(v),
        (Values::F32(v), _) => Field::F32(v),
        (Values::F64(v), _) => Field::F64(v),
        (Values::Text(v), _) => Field::Text(&v.bytes, &v.ends),
        (Values::List(v), ty) => match ty.item() {
            Some(item) if is_plain(v, item) => Field::List(v),
            Some(item) => Field::Made(list_texts(v, item, ListStyle::Json).map_err(|row| {
                does_not_fit(&column.name, format!("{:?}", column.value(row)), "a list of JSON")
            })?),
            None => return Err(mismatch(&column.name, "a list")),
        },
    })
}

/// Room that rows `first..last` take at most, the byte before each value included.
fn block_bytes(fields: &[Field], first: usize, last: usize) -> usize {
    let rows = last - first;
    let span = |ends: &[u32]| ends[last - 1] as usize - if first == 0 { 0 } else { ends[first - 1] as usize };
    let widest = |field: &Field| match field {
        Field::TimeMs(_) | Field::TimeUs(_) => rows * TIME_BYTES,
        Field::Text(_, ends) => span(ends) + rows * LENGTH_BYTES,
        Field::Made(v) => span(&v.ends) + rows * LENGTH_BYTES,
        Field::List(v) => span(&v.ends) * (FLOAT_BYTES + 1) + rows * (2 + LENGTH_BYTES),
        _ => rows * 8,
    };
    fields.iter().map(|f| widest(f) + rows).sum()
}

/// # Safety
/// `tail` has [`TIME_BYTES`] of room.
#[inline(always)]
unsafe fn put_time(tail: &mut Tail, time: u128) {
    tail.word(time as u64, 8);
    tail.word((time >> 64) as u64, 4);
}

/// # Safety
/// `tail` has [`LENGTH_BYTES`] and the text's own of room.
#[inline(always)]
unsafe fn put_text(tail: &mut Tail, text: &[u8]) {
    let (head, bytes) = length(text.len() as u64);
    tail.word(head, bytes.min(8));
    if bytes == LENGTH_BYTES {
        tail.byte((text.len() as u64 >> 56) as u8);
    }
    tail.bytes(text);
}

/// A length as the protocol writes it: its first eight bytes, and how many bytes it has.
#[inline(always)]
fn length(n: u64) -> (u64, usize) {
    match n {
        0..=250 => (n, 1),
        251..=0xffff => (0xfc | n << 8, 3),
        0x1_0000..=0xff_ffff => (0xfd | n << 8, 4),
        _ => (0xfe | n << 8, LENGTH_BYTES),
    }
}

/// `[0.5,-1]`: what both `JSON` of MySQL and that of MariaDB take.
fn list_text(list: &ListValues, row: usize, out: &mut Vec<u8>) {
    let range = list.range(row);
    let mut tail = Tail::new(out);
    tail.room(2 + range.len() * (FLOAT_BYTES + 1));
    // SAFETY: room for brackets, and for the widest item with its comma.
    unsafe {
        tail.byte(b'[');
        for (k, item) in range.enumerate() {
            if k > 0 {
                tail.byte(b',');
            }
            match &*list.items {
                Values::I64(items) => signed(&mut tail, items[item]),
                Values::F64(items) => float64(&mut tail, items[item]),
                _ => unreachable!("`field` let lists of I64 and F64 through"),
            }
        }
        tail.byte(b']');
    }
    tail.finish();
}

/// Times as the wire has them; remembers the last day, as a sweep has one.
#[derive(Default)]
struct Day {
    /// Days since 1970, and year, month, day as bytes.
    known: Option<(i64, u64)>,
}

impl Day {
    /// The twelve bytes of a time: length, date, time, microseconds. `None` outside the years 0 to 9999.
    #[inline(always)]
    fn time(&mut self, time: i64, per_s: i64) -> Option<u128> {
        let days = time.div_euclid(86_400 * per_s);
        let in_day = time.rem_euclid(86_400 * per_s) as u64;
        let date = match self.known {
            Some((known, date)) if known == days => date,
            _ => {
                if !calendar::DAYS.contains(&days) {
                    return None;
                }
                let (year, month, day) = calendar::civil(days);
                let date = year as u64 | (month as u64) << 16 | (day as u64) << 24;
                self.known = Some((days, date));
                date
            }
        };
        let (seconds, part) = (in_day / per_s as u64, in_day % per_s as u64);
        let us = part * (1_000_000 / per_s as u64);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let low = 11 | date << 8 | h << 40 | m << 48 | s << 56;
        Some(low as u128 | (us as u128) << 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_few_bytes_as_they_can() {
        assert_eq!(length(250), (250, 1));
        assert_eq!(length(251), (0xfbfc, 3));
        assert_eq!(length(0x1_0000), (0x0100_00fd, 4));
        assert_eq!(length(1 << 24).1, 9);
    }
}
