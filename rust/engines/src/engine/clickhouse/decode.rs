//! Native blocks as they come back: into values for answers, into columns for scans. Pure.
//!
//! An answer is blocks one behind the other. A server that fails after it has begun to answer can only write its
//! exception behind the blocks, with status 200: where a block should begin, or where one is cut off, we look for it.

mod types;

use super::failure::Failure;
use super::Pieces;
use crate::engine::Answer;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::{Column, Columns, ListValues, Values};
use inrush_rows::types::date::date_text;

pub use types::{signed, Type};

/// What is done with the blocks of an answer.
pub trait Reader {
    fn block(&mut self, block: &Block<'_>) -> Result<(), String>;
}

/// A stream, and what is done with its blocks.
pub struct Blocks<'a> {
    pub stream: &'a mut Stream,
    pub reader: &'a mut dyn Reader,
}

impl Pieces for Blocks<'_> {
    fn clear(&mut self) {
        self.stream.clear();
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        self.stream.buffer()
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.stream.read(self.reader)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.stream.end(self.reader)
    }
}

pub struct Block<'a> {
    pub rows: usize,
    pub columns: Vec<BlockColumn<'a>>,
}

pub struct BlockColumn<'a> {
    pub name: &'a str,
    pub ty: Type,
    pub data: &'a [u8],
}

/// What has come of an answer and was not read yet.
#[derive(Default)]
pub struct Stream {
    buffer: Vec<u8>,
    /// The block in front was not whole when there were fewer bytes.
    retry_bytes: usize,
}

/// More columns or rows in one block are no block.
const COLUMNS_MOST: u64 = 100_000;
const ROWS_MOST: u64 = 1 << 32;
/// How an exception begins: in servers up to 25, and in those that mark it.
pub const EXCEPTIONS: [&[u8]; 2] = [b"Code: ", b"\r\n__exception__"];

impl Stream {
    /// Ready for another answer.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.retry_bytes = 0;
    }

    /// Where pieces of the answer are appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Hands on blocks that are there as a whole; the last of them when some more has come, or with `end`.
    ///
    /// A block that is not whole is looked at again when it is an eighth longer: one that comes in many pieces would be
    /// read from its beginning with each of them.
    pub fn read(&mut self, reader: &mut dyn Reader) -> Result<(), Failure> {
        match self.buffer.len() < self.retry_bytes {
            true => Ok(()),
            false => self.read_now(reader),
        }
    }

    fn read_now(&mut self, reader: &mut dyn Reader) -> Result<(), Failure> {
        let mut start = 0;
        while start < self.buffer.len() {
            let rest = &self.buffer[start..];
            // It is read once all of it has come.
            if EXCEPTIONS.iter().any(|begin| rest.starts_with(begin) || begin.starts_with(rest)) {
                break;
            }
            match Block::read(rest).and_then(|found| {
                found.map(|(block, bytes)| reader.block(&block).map(|()| bytes)).transpose()
            }) {
                Ok(Some(bytes)) => start += bytes,
                Ok(None) => break,
                Err(message) => return Err(Failure::new(message)),
            }
        }
        self.buffer.drain(..start);
        self.retry_bytes = self.buffer.len() + self.buffer.len() / 8;
        Ok(())
    }

    /// After the last piece: nothing is left, or it is an exception, or the answer was cut off.
    pub fn end(&mut self, reader: &mut dyn Reader) -> Result<(), Failure> {
        self.read_now(reader)?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        let cut_off = || Failure::new("the answer ended in the middle of a block");
        let failure = self.exception().unwrap_or_else(cut_off);
        self.clear();
        Err(failure)
    }

    /// The exception behind the blocks that were read.
    pub fn exception(&self) -> Option<Failure> {
        Failure::in_text(&String::from_utf8_lossy(&self.buffer))
    }
}

impl Block<'_> {
    /// The block that `bytes` begin with and its length; `None` where not all of it is there.
    fn read(bytes: &[u8]) -> Result<Option<(Block<'_>, usize)>, String> {
        let mut cursor = Cursor { bytes, at: 0 };
        let Some((columns, rows)) = cursor.length().zip(cursor.length()) else { return Ok(None) };
        // Rows without a column are not bounded by what has come.
        if columns > COLUMNS_MOST || rows > ROWS_MOST || (columns == 0 && rows > 0) {
            return Err("the answer is not in format Native".into());
        }
        let rows = rows as usize;
        // Columns are announced before they come: they get memory one by one.
        let mut block = Block { rows, columns: Vec::new() };
        for _ in 0..columns {
            let Some((name, ty)) = cursor.text().zip(cursor.text()) else { return Ok(None) };
            let (Ok(name), Ok(ty)) = (std::str::from_utf8(name), std::str::from_utf8(ty)) else {
                return Err("the answer is not in format Native".into());
            };
            let ty = Type::parse(ty).ok_or_else(|| {
                format!("column {name} of the answer has type {ty}, which inrush cannot read; cast it in the query")
            })?;
            let from = cursor.at;
            if ty.skip(rows, &mut cursor).is_none() {
                return Ok(None);
            }
            block.columns.push(BlockColumn { name, ty, data: &bytes[from..cursor.at] });
        }
        Ok(Some((block, cursor.at)))
    }
}

/// Counts rows only: an answer that is not looked at.
#[derive(Default)]
pub struct CountReader {
    pub rows: u64,
}

impl Reader for CountReader {
    fn block(&mut self, block: &Block<'_>) -> Result<(), String> {
        self.rows += block.rows as u64;
        Ok(())
    }
}

/// Keeps the answer as values. One without rows comes without names.
#[derive(Default)]
pub struct AnswerReader {
    pub answer: Answer,
}

impl Reader for AnswerReader {
    fn block(&mut self, block: &Block<'_>) -> Result<(), String> {
        let first = self.answer.rows.len();
        self.answer.names = block.columns.iter().map(|c| c.name.to_owned()).collect();
        self.answer.rows.resize_with(first + block.rows, || Vec::with_capacity(block.columns.len()));
        for column in &block.columns {
            let mut cursor = Cursor { bytes: column.data, at: 0 };
            let values = column.ty.values(block.rows, &mut cursor);
            let values =
                values.ok_or_else(|| format!("column {} of the answer cannot be read", column.name))?;
            for (row, value) in self.answer.rows[first..].iter_mut().zip(values) {
                row.push(value);
            }
        }
        Ok(())
    }
}

/// Appends blocks to columns of known types, and hands these on.
pub struct ScanReader<'a> {
    pub batch: Columns,
    pub rows: u64,
    pub each: &'a mut dyn FnMut(&Columns),
}

impl Reader for ScanReader<'_> {
    fn block(&mut self, block: &Block<'_>) -> Result<(), String> {
        fill(block, &mut self.batch)?;
        self.rows += block.rows as u64;
        if block.rows > 0 {
            (self.each)(&self.batch);
        }
        Ok(())
    }
}

/// The rows of a block, in place of what `batch` held. Errors: what is not how it was stored.
pub fn fill(block: &Block<'_>, batch: &mut Columns) -> Result<(), String> {
    crate::engine::shared::clear(batch);
    if block.columns.len() != batch.columns.len() {
        let (found, wanted) = (block.columns.len(), batch.columns.len());
        return Err(format!("{found} columns came of {wanted}"));
    }
    for (found, column) in block.columns.iter().zip(&mut batch.columns) {
        let mut cursor = Cursor { bytes: found.data, at: 0 };
        append(column, &found.ty, block.rows, &mut cursor).ok_or_else(|| {
            format!("column {} came as {:?}, which is not how it was stored", found.name, found.ty)
        })?;
    }
    batch.rows = block.rows;
    Ok(())
}

/// The values of one column behind those that are there; `None` where the type is not one that rows are stored as.
fn append(column: &mut Column, ty: &Type, rows: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    match ty {
        Type::Nullable(inner) => {
            column.present.extend(cursor.take(rows)?.iter().map(|null| 1 - null.min(&1)));
            append_plain(&mut column.values, column.ty, inner, rows, cursor)
        }
        // Lists that may be NULL: lists of one list or of none.
        Type::Array(inner) if matches!(**inner, Type::Array(_)) => {
            let Values::List(list) = &mut column.values else { return None };
            let outer = ends(rows, cursor)?;
            let item = column.ty.item()?;
            let mut inner_list = ListValues::of(item);
            append_list(&mut inner_list, inner, *outer.last().unwrap_or(&0) as usize, cursor)?;
            let mut before = 0;
            for end in outer {
                let lists = u8::try_from(end - before).ok().filter(|&lists| lists <= 1)?;
                column.present.push(lists);
                let last = if end == 0 { 0 } else { *inner_list.ends.get(end as usize - 1)? };
                list.ends.push(last);
                before = end;
            }
            (list.items, list.present) = (inner_list.items, inner_list.present);
            Some(())
        }
        ty => append_plain(&mut column.values, column.ty, ty, rows, cursor),
    }
}

/// ty_of: the type that the values have in the plan.
pub fn append_plain(
    values: &mut Values,
    ty_of: LogicalType,
    ty: &Type,
    rows: usize,
    cursor: &mut Cursor<'_>,
) -> Option<()> {
    match (values, ty) {
        (Values::I32(v), Type::Int { bytes: 1, signed: false } | Type::Bool) => {
            v.extend(cursor.take(rows)?.iter().map(|&b| i32::from(b)));
        }
        (Values::I32(v), Type::Int { bytes: 2, signed: true }) => {
            v.extend(cursor.numbers(rows, |b| i32::from(i16::from_le_bytes(b)))?);
        }
        (Values::I32(v), Type::Int { bytes: 2, signed: false }) => {
            v.extend(cursor.numbers(rows, |b| i32::from(u16::from_le_bytes(b)))?);
        }
        (Values::I32(v), Type::Int { bytes: 4, signed: true }) => {
            v.extend(cursor.numbers(rows, i32::from_le_bytes)?);
        }
        (Values::I64(v), Type::Int { bytes: 4, signed: false }) => {
            v.extend(cursor.numbers(rows, |b| i64::from(u32::from_le_bytes(b)))?);
        }
        (Values::I64(v), Type::Int { bytes: 8, .. }) => v.extend(cursor.numbers(rows, i64::from_le_bytes)?),
        (Values::F32(v), Type::Float32) => v.extend(cursor.numbers(rows, f32::from_le_bytes)?),
        (Values::F64(v), Type::Float64) => v.extend(cursor.numbers(rows, f64::from_le_bytes)?),
        (Values::Text(v), Type::Enum { bytes, names }) => {
            for cell in cursor.take(rows.checked_mul(*bytes)?)?.chunks_exact(*bytes) {
                let number = signed(cell);
                // Where NULL is there is 0, which may be no label.
                let found = names.binary_search_by_key(&number, |(number, _)| i128::from(*number));
                v.push(found.map_or(&b""[..], |at| names[at].1.as_bytes()));
            }
        }
        (Values::Text(v), Type::Date(2)) if ty_of == LogicalType::Date => {
            for days in cursor.numbers(rows, u16::from_le_bytes)? {
                v.push(date_text(days.into())?.as_bytes());
            }
        }
        (Values::Text(v), Type::Text) if ty_of == LogicalType::Blob => {
            for _ in 0..rows {
                v.push(cursor.text()?);
            }
        }
        (Values::Text(v), Type::Text) => {
            for _ in 0..rows {
                v.push(std::str::from_utf8(cursor.text()?).ok()?.as_bytes());
            }
        }
        (Values::Text(v), Type::Decimal { bytes, scale }) => {
            let cells = cursor.take(rows.checked_mul(*bytes)?)?;
            cells.chunks_exact(*bytes).for_each(|cell| v.push(decimal_text(signed(cell), *scale).as_bytes()));
        }
        (Values::List(list), Type::Array(_)) => append_list(list, ty, rows, cursor)?,
        _ => return None,
    }
    Some(())
}

fn append_list(list: &mut ListValues, ty: &Type, rows: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    let Type::Array(item) = ty else { return None };
    let ends = ends(rows, cursor)?;
    let items = *ends.last().unwrap_or(&0) as usize;
    match &**item {
        Type::Nullable(inner) => {
            list.present.extend(cursor.take(items)?.iter().map(|null| 1 - null.min(&1)));
            append_plain(&mut list.items, LogicalType::Text, inner, items, cursor)?;
        }
        item => append_plain(&mut list.items, LogicalType::Text, item, items, cursor)?,
    }
    list.ends.extend(ends.iter().map(|&end| end as u32));
    Some(())
}

/// Where lists end: numbers that do not fall and that a list of ours can hold.
fn ends(rows: usize, cursor: &mut Cursor<'_>) -> Option<Vec<u64>> {
    let ends: Vec<u64> = cursor.words(rows)?.collect();
    let fits = ends.last().is_none_or(|&last| last <= u64::from(u32::MAX));
    (fits && ends.is_sorted()).then_some(ends)
}

/// Reads from the front; every read is `None` where not so much is there.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(bytes)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// LEB128.
    pub fn length(&mut self) -> Option<u64> {
        let mut length = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(length);
            }
        }
        None
    }

    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = usize::try_from(self.length()?).ok()?;
        self.take(bytes)
    }

    pub fn numbers<const N: usize, T>(
        &mut self,
        rows: usize,
        of: impl Fn([u8; N]) -> T + 'a,
    ) -> Option<impl Iterator<Item = T> + 'a> {
        let bytes = self.take(rows.checked_mul(N)?)?;
        Some(bytes.chunks_exact(N).map(move |b| of(b.try_into().expect("chunks of N"))))
    }

    pub fn words(&mut self, rows: usize) -> Option<impl Iterator<Item = u64> + 'a> {
        self.numbers(rows, u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests;
