//! Native blocks as they come back: into values for answers, into columns for scans. Pure.
//!
//! An answer is blocks one behind the other. A server that fails after it has begun to answer can only write its
//! exception behind the blocks, with status 200: where a block should begin, or where one is cut off, we look for it.

mod columns;
mod cursor;
mod types;

use super::failure::Failure;
use super::Pieces;
use crate::engine::Answer;
use inrush_rows::rows::Columns;

pub use columns::{append_plain, fill};
pub use cursor::Cursor;
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
        let mut cursor = Cursor::new(bytes);
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
            let from = cursor.at();
            if ty.skip(rows, &mut cursor).is_none() {
                return Ok(None);
            }
            block.columns.push(BlockColumn { name, ty, data: &bytes[from..cursor.at()] });
        }
        Ok(Some((block, cursor.at())))
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
            let mut cursor = Cursor::new(column.data);
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

#[cfg(test)]
mod tests;
