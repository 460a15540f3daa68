//! What the server sends back: answers as values, rows as columns. Pure.

mod bytes;
mod messages;

use crate::engine::answers::{put, put_whole};
use inrush_rows::encode::lists::push_json;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::bits::bits_of_mysql;
use inrush_rows::rows::documents::compact;
use inrush_rows::rows::{Column, Columns, ListValues, Value, Values};
use inrush_rows::types::calendar;
use inrush_rows::types::date::date_text;
use inrush_rows::types::hex::text_or_digits;

pub use bytes::Bytes;
pub use messages::{column, described_head, ends_rows, head, okay, prepared, Head, Okay};

/// A column of an answer, from its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerColumn {
    pub name: String,
    /// `enum_field_types`.
    pub ty: u8,
    pub unsigned: bool,
    /// A decimal of a table, whose digits count; sums and means of numbers are of none.
    pub scaled: bool,
    /// It has this type in every answer to its statement.
    pub is_fixed: bool,
}

const DECIMAL: u8 = 0;
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const BIT: u8 = 16;
const NEWDECIMAL: u8 = 246;
const DAY_US: i64 = 86_400_000_000;

/// A row of the binary protocol as values, in place of those of `out`; `None` if it is broken.
pub fn binary_row(packet: &[u8], columns: &[AnswerColumn], out: &mut Vec<Value>) -> Option<()> {
    let mut row = Row::of(packet, columns.len())?;
    out.truncate(columns.len());
    out.reserve(columns.len() - out.len());
    for (at, column) in columns.iter().enumerate() {
        match row.next(column)? {
            Cell::Signed(value) => put_whole(out, at, value),
            cell => put(out, at, cell.value()?),
        }
    }
    Some(())
}

/// A row of the text protocol as values.
pub fn text_row(packet: &[u8], columns: &[AnswerColumn]) -> Option<Vec<Value>> {
    let mut bytes = Bytes(packet);
    let mut cell = |column: &AnswerColumn| {
        if bytes.0.first() == Some(&0xfb) {
            bytes.take(1)?;
            return Some(Value::Null);
        }
        let text = text_or_digits(bytes.text()?);
        Some(if column.scaled { Value::Text(text) } else { text_value(&text, column.ty) })
    };
    columns.iter().map(&mut cell).collect()
}

/// Appends a row of the binary protocol to `batch`; an error says which column is not what was stored.
pub fn push_row(packet: &[u8], columns: &[AnswerColumn], batch: &mut Columns) -> Result<(), String> {
    let Some(mut row) = Row::of(packet, columns.len()) else {
        return Err("a row could not be read".into());
    };
    push_cells(columns, batch, |answer| row.next(answer))
}

/// The same of the text protocol.
pub fn push_text_row(packet: &[u8], columns: &[AnswerColumn], batch: &mut Columns) -> Result<(), String> {
    let mut bytes = Bytes(packet);
    push_cells(columns, batch, |answer| text_cell(&mut bytes, answer))
}

#[inline(always)]
fn push_cells<'a>(
    columns: &[AnswerColumn],
    batch: &mut Columns,
    mut next: impl FnMut(&AnswerColumn) -> Option<Cell<'a>>,
) -> Result<(), String> {
    for (column, answer) in batch.columns.iter_mut().zip(columns) {
        let cell =
            next(answer).ok_or_else(|| format!("column {}: a value could not be read", column.name))?;
        if cell == Cell::Null {
            column.push_null(batch.rows);
            continue;
        }
        column.mark_present();
        if push_cell(column, &cell).is_none() {
            return Err(format!("column {}: {cell:?} is no {:?}", column.name, column.ty));
        }
    }
    batch.rows += 1;
    Ok(())
}

/// A value of the text protocol. None for a broken one, and of FLOAT, of which the server writes six digits.
fn text_cell<'a>(bytes: &mut Bytes<'a>, column: &AnswerColumn) -> Option<Cell<'a>> {
    if bytes.0.first() == Some(&0xfb) {
        bytes.take(1)?;
        return Some(Cell::Null);
    }
    let text = bytes.text()?;
    let number = || std::str::from_utf8(text).ok();
    Some(match column.ty {
        TINY | SHORT | LONG | LONGLONG | INT24 | YEAR if column.unsigned => {
            Cell::Unsigned(number()?.parse().ok()?)
        }
        TINY | SHORT | LONG | LONGLONG | INT24 | YEAR => Cell::Signed(number()?.parse().ok()?),
        DOUBLE => Cell::F64(number()?.parse().ok()?),
        DATE | DATETIME | TIMESTAMP => Cell::Time(written_us(text)?),
        DECIMAL | NEWDECIMAL if column.scaled => Cell::Scaled(text),
        DECIMAL | NEWDECIMAL => Cell::Decimal(text),
        BIT => Cell::Unsigned(bits_of_mysql(text)?),
        FLOAT | TIME => return None,
        _ => Cell::Text(text),
    })
}

/// `2026-01-01 00:00:00.000001`, with or without its fraction or its time. None for the zero date.
fn written_us(text: &[u8]) -> Option<i64> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        text.get(from..to)?
            .iter()
            .try_fold(0i64, |n, &byte| byte.is_ascii_digit().then(|| n * 10 + i64::from(byte - b'0')))
    };
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    if !(1..=12).contains(&month) || day < 1 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let mut us = calendar::days_of(year, month, day) * 86_400_000_000;
    if text.len() > 10 {
        us += ((digits(11, 13)? * 60 + digits(14, 16)?) * 60 + digits(17, 19)?) * 1_000_000;
    }
    if text.len() > 19 {
        let places = text.len() - 20;
        if !(1..=6).contains(&places) || text[19] != b'.' {
            return None;
        }
        let fraction = digits(20, text.len())?;
        us += fraction * 10i64.pow(6 - places as u32);
    }
    Some(us)
}

/// One value as the server sent it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell<'a> {
    Null,
    Signed(i64),
    Unsigned(u64),
    F32(f32),
    F64(f64),
    /// Microseconds since 1970.
    Time(i64),
    /// A length of time, in microseconds.
    Span(i64),
    Decimal(&'a [u8]),
    /// Of a column of decimals.
    Scaled(&'a [u8]),
    Text(&'a [u8]),
}

/// A row of the binary protocol, read from front to back.
struct Row<'a> {
    nulls: &'a [u8],
    at: usize,
    bytes: Bytes<'a>,
}

impl<'a> Row<'a> {
    fn of(packet: &'a [u8], columns: usize) -> Option<Row<'a>> {
        let mut bytes = Bytes(packet);
        if bytes.u8()? != 0 {
            return None;
        }
        // The bitmap begins with two bits that mean nothing.
        let nulls = bytes.take((columns + 9) / 8)?;
        Some(Row { nulls, at: 2, bytes })
    }

    #[inline(always)]
    fn next(&mut self, column: &AnswerColumn) -> Option<Cell<'a>> {
        let at = self.at;
        self.at += 1;
        if self.nulls[at / 8] >> (at % 8) & 1 == 1 {
            return Some(Cell::Null);
        }
        let bytes = &mut self.bytes;
        let number = |signed: i64, unsigned: u64| match column.unsigned {
            true => Cell::Unsigned(unsigned),
            false => Cell::Signed(signed),
        };
        Some(match column.ty {
            TINY => {
                let v = bytes.u8()?;
                number(v as i8 as i64, v as u64)
            }
            SHORT | YEAR => {
                let v = bytes.u16()?;
                number(v as i16 as i64, v as u64)
            }
            LONG | INT24 => {
                let v = bytes.u32()?;
                number(v as i32 as i64, v as u64)
            }
            LONGLONG => {
                let v = bytes.u64()?;
                number(v as i64, v)
            }
            FLOAT => Cell::F32(f32::from_bits(bytes.u32()?)),
            DOUBLE => Cell::F64(f64::from_bits(bytes.u64()?)),
            DATE | DATETIME | TIMESTAMP => Cell::Time(time_us(bytes)?),
            TIME => Cell::Span(span_us(bytes)?),
            NULL => Cell::Null,
            BIT => Cell::Unsigned(bits_of_mysql(bytes.text()?)?),
            DECIMAL | NEWDECIMAL if column.scaled => Cell::Scaled(bytes.text()?),
            DECIMAL | NEWDECIMAL => Cell::Decimal(bytes.text()?),
            _ => Cell::Text(bytes.text()?),
        })
    }
}

impl Cell<'_> {
    #[inline(always)]
    fn value(self) -> Option<Value> {
        Some(match self {
            Cell::Null => Value::Null,
            Cell::Signed(v) => Value::I64(v),
            Cell::Unsigned(v) => Value::U64(v),
            Cell::F32(v) => Value::F64(v as f64),
            Cell::F64(v) => Value::F64(v),
            Cell::Time(v) => Value::TimeUs(v),
            Cell::Span(v) => Value::I64(v),
            Cell::Decimal(v) => text_value(std::str::from_utf8(v).ok()?, NEWDECIMAL),
            Cell::Text(v) | Cell::Scaled(v) => Value::Text(text_or_digits(v)),
        })
    }
}

/// Numbers as numbers; a whole decimal beyond 64 bits stays text, exact.
fn text_value(text: &str, ty: u8) -> Value {
    let whole = || text.parse().map(Value::I64).ok().or_else(|| text.parse().map(Value::U64).ok());
    let found = match ty {
        TINY | SHORT | LONG | LONGLONG | INT24 | YEAR => whole(),
        DECIMAL | NEWDECIMAL if text.contains('.') => text.parse().map(Value::F64).ok(),
        DECIMAL | NEWDECIMAL => whole(),
        FLOAT | DOUBLE => text.parse().map(Value::F64).ok(),
        _ => None,
    };
    found.unwrap_or_else(|| Value::Text(text.to_owned()))
}

/// What was not stored is refused, and not rounded or reinterpreted.
fn push_cell(column: &mut Column, cell: &Cell) -> Option<()> {
    match (&mut column.values, column.ty, *cell) {
        (Values::I32(v), _, Cell::Signed(n)) => v.push(n.try_into().ok()?),
        (Values::I32(v), _, Cell::Unsigned(n)) => v.push(n.try_into().ok()?),
        (Values::I64(v), LogicalType::TimeMs, Cell::Time(us)) => {
            v.push((us.rem_euclid(1000) == 0).then(|| us.div_euclid(1000))?);
        }
        (Values::I64(v), LogicalType::TimeUs, Cell::Time(us)) => v.push(us),
        (Values::I64(v), LogicalType::U64 | LogicalType::Bit, Cell::Unsigned(n)) => v.push(n as i64),
        (Values::I64(v), LogicalType::U64, Cell::Signed(n)) => v.push(u64::try_from(n).ok()? as i64),
        (Values::I64(v), LogicalType::I64 | LogicalType::U32, Cell::Signed(n)) => v.push(n),
        (Values::I64(v), LogicalType::I64 | LogicalType::U32, Cell::Unsigned(n)) => {
            v.push(n.try_into().ok()?)
        }
        (Values::F32(v), _, Cell::F32(x)) => v.push(x),
        (Values::F64(v), _, Cell::F64(x)) => v.push(x),
        (Values::Text(v), LogicalType::Decimal, Cell::Scaled(text)) => {
            v.push(std::str::from_utf8(text).ok()?.as_bytes())
        }
        (Values::Text(v), LogicalType::Date, Cell::Time(us)) if us.rem_euclid(DAY_US) == 0 => {
            v.push(date_text(us.div_euclid(DAY_US).try_into().ok()?)?.as_bytes());
        }
        (Values::Text(v), LogicalType::Blob, Cell::Text(bytes)) => v.push(bytes),
        (Values::Text(v), LogicalType::Json, Cell::Text(text)) => {
            v.push(&compact(std::str::from_utf8(text).ok()?.as_bytes()));
        }
        (Values::Text(v), _, Cell::Text(text)) => v.push(std::str::from_utf8(text).ok()?.as_bytes()),
        (Values::List(list), ty, Cell::Text(text)) => push_list(list, ty.item()?, text)?,
        _ => return None,
    }
    Some(())
}

/// `[0.5, -1]`, as JSON writes it.
fn push_list(list: &mut ListValues, item: LogicalType, text: &[u8]) -> Option<()> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let has_null = || text.contains('n') && text.contains("null");
    if !matches!(item, LogicalType::I64 | LogicalType::F64) || has_null() || !list.present.is_empty() {
        return push_json(list, item, text);
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?.trim();
    for item in inner.split(',').map(str::trim).filter(|_| !inner.is_empty()) {
        match &mut *list.items {
            Values::F64(v) => v.push(item.parse().ok()?),
            Values::I64(v) => v.push(item.parse().ok()?),
            _ => return None,
        }
    }
    list.end();
    Some(())
}

/// A date with or without time. `None` for the zero date, which is none.
fn time_us(bytes: &mut Bytes) -> Option<i64> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length as usize)?);
    let (year, month, day) = (bytes.u16()? as i64, bytes.u8()? as i64, bytes.u8()? as i64);
    if !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let (h, m, s) = match length {
        7 | 11 => (bytes.u8()? as i64, bytes.u8()? as i64, bytes.u8()? as i64),
        _ => (0, 0, 0),
    };
    let us = if length == 11 { bytes.u32()? as i64 } else { 0 };
    let seconds = calendar::days_of(year, month, day) * 86_400 + h * 3600 + m * 60 + s;
    Some(seconds * 1_000_000 + us)
}

/// A value of type TIME.
fn span_us(bytes: &mut Bytes) -> Option<i64> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length as usize)?);
    if length == 0 {
        return Some(0);
    }
    let negative = bytes.u8()? != 0;
    let (days, h, m, s) = (bytes.u32()? as i64, bytes.u8()? as i64, bytes.u8()? as i64, bytes.u8()? as i64);
    let us = if length == 12 { bytes.u32()? as i64 } else { 0 };
    // 32 bits of days are more microseconds than there are.
    let size = ((((days * 24 + h) * 60 + m) * 60 + s).checked_mul(1_000_000)?).checked_add(us)?;
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests;
