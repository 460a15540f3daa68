//! Plain records straight into columns, in one pass: digits eight at a time, no field found before it is read.
//!
//! Takes what most rows of most files are: values in their usual form, ended by the delimiter. Whatever else a record
//! holds (blanks, escapes, a value that does not fit), nothing of it is stored here and the full parser has it:
//! what is taken and what is rejected is decided there alone.

mod digits;
mod numbers;
mod times;

use super::super::columns::{Column, Columns, Values};
use super::batch::{push_null, truncate};
use super::dialect::{Dialect, Quoting};
use super::limit;
use super::parse;
use super::{ColumnSpec, Layout};
use crate::plan::{Limits, LogicalType};

use digits::find_end;
use numbers::{float, integer, word};
use times::{is_date, time, DayOfLast};

/// Zeros that must follow the bytes: no value has one, so that reading ends there and never beyond.
pub const PAD_BYTES: usize = 32;

/// Reader of the plain records of one file.
pub struct FastPath {
    /// In the order of the file's fields.
    cells: Vec<Cell>,
    delimiter: u8,
    /// What ends a text beside the delimiter and the line end, and is never inside a plain one.
    special: u8,
    quotes: bool,
    quote: u8,
    /// Begins a line that is no record.
    comment: u8,
    null: Vec<u8>,
    day: DayOfLast,
}

struct Cell {
    /// Column of the table; `None` for fields that it has not.
    column: Option<usize>,
    ty: LogicalType,
    required: bool,
    limits: Option<Limits>,
    /// An integer is no time here.
    iso: bool,
}

/// How many records were stored, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub records: usize,
    pub bytes: usize,
}

/// At most so much: rows, bytes after which no further record begins, bytes of one record.
pub struct Room {
    pub rows: usize,
    pub bytes: usize,
    pub record_bytes: usize,
}

impl FastPath {
    /// None for tables and dialects that have no plain records.
    pub fn new(layout: &Layout, dialect: &Dialect, order: &[Option<usize>]) -> Option<FastPath> {
        let cell = |column: &Option<usize>| {
            let spec = column.map(|at| &layout.columns[at]);
            let ty = spec.map_or(LogicalType::Text, |ColumnSpec { ty, .. }| *ty);
            Cell {
                column: *column,
                ty,
                required: column.is_some_and(|at| layout.required[at]),
                limits: column.and_then(|at| layout.limits[at]),
                iso: column.is_some_and(|at| layout.times[at].is_some()),
            }
        };
        let cells: Vec<Cell> = order.iter().map(cell).collect();
        let lists = cells.iter().any(|c| c.ty.is_list());
        let quote = dialect.quote.unwrap_or(b'"');
        // A null that could be a number or holds what ends a field is found by the full parser alone.
        let odd_null = dialect.null.first().is_some_and(|b| !b.is_ascii_alphabetic() && *b != b'\\')
            || dialect.null.iter().any(|b| [dialect.delimiter, quote, b'\r', b'\n', 0].contains(b));
        let odd_delimiter =
            dialect.delimiter.is_ascii_alphanumeric() || b"+-.: \0".contains(&dialect.delimiter);
        let turned =
            order.iter().flatten().any(|at| layout.times[*at].as_ref().is_some_and(|t| !t.is_plain()));
        // Bytes have escapes in most rows.
        let bytes = order.iter().flatten().any(|at| layout.bytes[*at]);
        let odd_quotes =
            dialect.quote.is_none() || dialect.escape.is_some() || dialect.quoting == Quoting::Json;
        if bytes || lists || odd_null || odd_delimiter || turned || odd_quotes || dialect.marks.is_some() {
            return None;
        }
        let quotes = dialect.quoting == Quoting::Quotes;
        Some(FastPath {
            cells,
            delimiter: dialect.delimiter,
            special: if quotes { quote } else { b'\\' },
            quotes,
            quote,
            comment: dialect.comment,
            null: dialect.null.clone(),
            day: DayOfLast::default(),
        })
    }

    /// Stores plain records from the start of `bytes`, which end with `PAD_BYTES` zeros, up to the first that is not
    /// plain or not there as a whole. crlf: as for `split`.
    pub fn take(&mut self, bytes: &[u8], crlf: bool, room: &Room, out: &mut Columns) -> Taken {
        let mut taken = Taken { records: 0, bytes: 0 };
        // Apart from what remembers the last day, so that no value copies its cell.
        let cells = std::mem::take(&mut self.cells);
        while taken.records < room.rows && taken.bytes < room.bytes {
            if self.comment != 0 && bytes[taken.bytes] == self.comment {
                break;
            }
            let end = self.record(&cells, bytes, taken.bytes, crlf, out);
            match end.filter(|end| end - taken.bytes <= room.record_bytes) {
                Some(end) => {
                    out.rows += 1;
                    taken = Taken { records: taken.records + 1, bytes: end };
                }
                None => {
                    let rows = out.rows;
                    out.columns.iter_mut().for_each(|column| truncate(column, rows));
                    break;
                }
            }
        }
        self.cells = cells;
        taken
    }

    /// Where the record after that at `at` begins; `None`, with parts of it perhaps in `out`, when it is not plain.
    #[inline]
    fn record(
        &mut self,
        cells: &[Cell],
        bytes: &[u8],
        mut at: usize,
        crlf: bool,
        out: &mut Columns,
    ) -> Option<usize> {
        let last = cells.len().checked_sub(1)?;
        for (k, cell) in cells.iter().enumerate() {
            let end = match cell.column {
                None => self.text(bytes, at, crlf)?.next,
                Some(column) => self.value(bytes, at, crlf, cell, out.rows, &mut out.columns[column])?,
            };
            if k < last {
                if bytes[end] != self.delimiter {
                    return None;
                }
                at = end + 1;
            } else {
                return match bytes[end] {
                    b'\n' => Some(end + 1),
                    b'\r' if (self.quotes || crlf) && bytes[end + 1] == b'\n' => Some(end + 2),
                    _ => None,
                };
            }
        }
        None
    }

    /// Stores the value at `at`; where it ends.
    #[inline(always)]
    fn value(
        &mut self,
        bytes: &[u8],
        at: usize,
        crlf: bool,
        cell: &Cell,
        row: usize,
        column: &mut Column,
    ) -> Option<usize> {
        let ty = cell.ty;
        let end = match (&mut column.values, ty) {
            (Values::I64(_), LogicalType::TimeMs | LogicalType::TimeUs)
                if cell.iso && !is_date(bytes, at) =>
            {
                None
            }
            (Values::I64(v), LogicalType::I64) => put(v, integer(bytes, at)),
            (Values::I64(v), LogicalType::U64) => put(v, integer(bytes, at).filter(|(n, _)| *n >= 0)),
            (Values::I64(v), LogicalType::TimeMs) => put(v, time(bytes, at, 3, &mut self.day)),
            (Values::I64(v), LogicalType::TimeUs) => put(v, time(bytes, at, 6, &mut self.day)),
            (Values::I32(v), LogicalType::I32) => put(v, within::<i32>(integer(bytes, at))),
            (Values::I32(v), LogicalType::U8) => put(v, within::<u8>(integer(bytes, at))),
            (Values::I32(v), LogicalType::U16) => put(v, within::<u16>(integer(bytes, at))),
            (Values::I64(v), LogicalType::U32) => put(v, within::<u32>(integer(bytes, at))),
            (Values::I32(v), LogicalType::I16) => put(v, within::<i16>(integer(bytes, at))),
            (Values::F64(v), LogicalType::F64) => put(v, float::<f64>(bytes, at)),
            (Values::F32(v), LogicalType::F32) => put(v, float::<f32>(bytes, at)),
            // What can be spelled like a null is asked for it first.
            (Values::I32(v), LogicalType::Bool) if self.null_end(bytes, at, crlf).is_none() => {
                put(v, word(bytes, at))
            }
            (Values::Text(v), _) if self.null_end(bytes, at, crlf).is_none() => {
                let Text { start, end, next } = self.text(bytes, at, crlf)?;
                let text = &bytes[start..end];
                match (ty, cell.limits.as_ref().and_then(|limits| limits.number)) {
                    (LogicalType::Text, None) => v.push(text),
                    // By the full parser's own functions.
                    (LogicalType::Text, Some(spelling)) => parse::push_number(v, text, spelling).ok()?,
                    _ => parse::push_form(v, ty, ty.forms()?, text).ok()?,
                }
                Some(next)
            }
            _ => None,
        };
        if end.is_some() {
            limit::checked(column, cell.limits.as_ref()).ok()?;
            column.mark_present();
            return end;
        }
        let end = self.null_end(bytes, at, crlf)?;
        push_null(column, row, cell.required).ok()?;
        Some(end)
    }

    /// Where the null ends that stands at `at`, if one does.
    #[inline]
    fn null_end(&self, bytes: &[u8], at: usize, crlf: bool) -> Option<usize> {
        let end = at + self.null.len();
        if bytes.get(at..end)? != self.null {
            return None;
        }
        match *bytes.get(end)? {
            b'\n' => Some(end),
            b'\r' if (self.quotes || crlf) && bytes.get(end + 1) == Some(&b'\n') => Some(end),
            byte => (byte == self.delimiter).then_some(end),
        }
    }

    #[inline]
    fn text(&self, bytes: &[u8], at: usize, crlf: bool) -> Option<Text> {
        let quoted = self.quotes && bytes[at] == self.quote;
        let start = at + usize::from(quoted);
        // Nothing but the other quote ends a quoted text; one with a line end in it is not plain.
        let delimiter = if quoted { self.quote } else { self.delimiter };
        let (mut end, ascii) = find_end(bytes, start, [delimiter, b'\n', self.special, 0]);
        let mut next = end;
        match bytes[end] {
            byte if quoted && byte == self.quote => next += 1,
            byte if byte == delimiter => {}
            b'\n' if quoted => return None,
            b'\n' => {
                if (self.quotes || crlf) && end > start && bytes[end - 1] == b'\r' {
                    (end, next) = (end - 1, end - 1);
                }
            }
            _ => return None,
        }
        (ascii || std::str::from_utf8(&bytes[start..end]).is_ok()).then_some(Text { start, end, next })
    }
}

struct Text {
    start: usize,
    end: usize,
    /// Behind its closing quote, if it has one.
    next: usize,
}

#[inline(always)]
fn put<F, T: From<F>>(values: &mut Vec<T>, found: Option<(F, usize)>) -> Option<usize> {
    let (value, end) = found?;
    values.push(value.into());
    Some(end)
}

#[inline(always)]
fn within<T: TryFrom<i64>>(found: Option<(i64, usize)>) -> Option<(T, usize)> {
    let (value, end) = found?;
    T::try_from(value).ok().map(|value| (value, end))
}
