//! RowBinary into columns, row by row: an answer that is not sent in blocks. Pure.
//!
//! It has neither names nor types: they are asked for when the session is opened. Behind a row there is no mark. An
//! exception that the server writes there is distinguished from rows by how it begins, and by that nothing follows it.

use super::decode::{append_plain, signed, Cursor, Type, EXCEPTIONS};
use super::failure::Failure;
use super::Pieces;
use crate::engine::extract::Extraction;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::{Column, Columns, ListValues, Values};

/// Reads an answer, and hands its rows on.
pub struct RowReader<'a> {
    extraction: Extraction<'a>,
    types: &'a [Type],
    /// What has come and was not read yet.
    buffer: &'a mut Vec<u8>,
    /// The row in front was not whole when there were fewer bytes.
    retry_bytes: usize,
    /// Rows came that cannot be read as what was stored.
    pub unread: bool,
}

/// What begins as an exception does and is longer is a row.
const EXCEPTION_MOST: usize = 64 << 10;

impl<'a> RowReader<'a> {
    pub fn new(extraction: Extraction<'a>, types: &'a [Type], buffer: &'a mut Vec<u8>) -> RowReader<'a> {
        RowReader { extraction, types, buffer, retry_bytes: 0, unread: false }
    }

    pub fn rows(&mut self) -> u64 {
        self.extraction.end()
    }

    /// Hands on rows that are there as a whole. `ended`: nothing follows.
    fn read_now(&mut self, ended: bool) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.buffer.len() {
            let rest = &self.buffer[at..];
            // What may be an exception, or the beginning of its mark, waits until it is known to be one.
            let may_be = |begin: &&[u8]| rest.starts_with(begin) || (!ended && begin.starts_with(rest));
            if EXCEPTIONS.iter().any(may_be) && rest.len() <= EXCEPTION_MOST {
                if let (true, Some(failure)) = (ended, exception(rest)) {
                    return Err(failure);
                }
                if !ended {
                    break;
                }
            }
            let mut cursor = Cursor::new(rest);
            // A row is appended once all of it has come.
            if self.types.iter().try_for_each(|ty| skip(ty, &mut cursor)).is_none() {
                break;
            }
            let bytes = cursor.at();
            if let Err(message) = push_row(&rest[..bytes], self.types, self.extraction.batch) {
                self.unread = true;
                return Err(Failure::new(message));
            }
            self.extraction.added();
            at += bytes;
        }
        self.buffer.drain(..at);
        self.retry_bytes = self.buffer.len() + self.buffer.len() / 8;
        Ok(())
    }
}

impl Pieces for RowReader<'_> {
    fn clear(&mut self) {
        self.buffer.clear();
        self.retry_bytes = 0;
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer
    }

    /// A row that is not whole is looked at again when it is an eighth longer.
    fn read(&mut self) -> Result<(), Failure> {
        match self.buffer.len() < self.retry_bytes {
            true => Ok(()),
            false => self.read_now(false),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.read_now(true)?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        let cut_off = || Failure::new("the answer ended in the middle of a row");
        let failure = exception(self.buffer).unwrap_or_else(cut_off);
        self.clear();
        Err(failure)
    }
}

fn exception(bytes: &[u8]) -> Option<Failure> {
    Failure::in_text(&String::from_utf8_lossy(bytes))
}

/// Moves past one value; `None` where not all of it is there.
fn skip(ty: &Type, cursor: &mut Cursor<'_>) -> Option<()> {
    match ty {
        Type::Nullable(inner) => match cursor.take(1)?[0] {
            0 => skip(inner, cursor),
            _ => Some(()),
        },
        Type::Array(inner) => {
            // Each item takes a byte at least: a length beyond what has come ends the loop soon.
            (0..cursor.length()?).try_for_each(|_| skip(inner, cursor))
        }
        plain => plain.skip(1, cursor),
    }
}

fn push_row(bytes: &[u8], types: &[Type], batch: &mut Columns) -> Result<(), String> {
    let mut cursor = Cursor::new(bytes);
    for (column, ty) in batch.columns.iter_mut().zip(types) {
        push_cell(column, ty, batch.rows, &mut cursor).ok_or_else(|| {
            format!("column {} came as {ty:?}, which is not how it was stored", column.name)
        })?;
    }
    batch.rows += 1;
    Ok(())
}

fn push_cell(column: &mut Column, ty: &Type, row: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    let plain = match ty {
        Type::Nullable(inner) => match cursor.take(1)?[0] {
            0 => inner,
            _ => {
                column.push_null(row);
                return Some(());
            }
        },
        // A list that may be NULL is a list of one list or of none.
        Type::Array(inner) if matches!(**inner, Type::Array(_)) => match cursor.length()? {
            0 => {
                column.push_null(row);
                return Some(());
            }
            1 => inner,
            _ => return None,
        },
        plain => plain,
    };
    column.mark_present();
    push_plain(&mut column.values, column.ty, plain, cursor)
}

/// ty_of: the type that the value has in the plan.
fn push_plain(values: &mut Values, ty_of: LogicalType, ty: &Type, cursor: &mut Cursor<'_>) -> Option<()> {
    match (values, ty) {
        (Values::Text(v), Type::Text) if ty_of == LogicalType::Blob => v.push(cursor.text()?),
        (Values::Text(v), Type::Text) => v.push(std::str::from_utf8(cursor.text()?).ok()?.as_bytes()),
        (Values::Text(v), Type::Decimal { bytes, scale }) => {
            v.push(decimal_text(signed(cursor.take(*bytes)?), *scale).as_bytes());
        }
        (Values::List(list), Type::Array(item)) => {
            for _ in 0..cursor.length()? {
                push_item(list, ty_of.item()?, item, cursor)?;
            }
            list.end();
        }
        (values, ty) => append_plain(values, ty_of, ty, 1, cursor)?,
    }
    Some(())
}

fn push_item(list: &mut ListValues, ty_of: LogicalType, ty: &Type, cursor: &mut Cursor<'_>) -> Option<()> {
    let plain = match ty {
        Type::Nullable(_) if cursor.take(1)?[0] != 0 => {
            list.push_null_item();
            return Some(());
        }
        Type::Nullable(inner) => inner,
        plain => plain,
    };
    push_plain(&mut list.items, ty_of, plain, cursor)?;
    list.mark_present();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::extract::Sink;

    struct Count(u64);

    impl Sink for Count {
        fn first(&mut self) {}

        fn rows(&mut self, batch: &Columns) {
            self.0 += batch.rows as u64;
        }
    }

    /// Rows of one byte that are handed on, and how the answer ends.
    fn read(pieces: &[&[u8]]) -> (u64, Result<(), Failure>) {
        let types = [Type::parse("UInt8").unwrap()];
        let mut batch = Columns::new(0, vec![Column::new("v", LogicalType::U8)]);
        let (mut seen, mut buffer) = (Count(0), Vec::new());
        let mut reader = RowReader::new(Extraction::new(&mut batch, &mut seen), &types, &mut buffer);
        let all = pieces.iter().try_for_each(|piece| {
            reader.buffer().extend_from_slice(piece);
            reader.read()
        });
        let end = all.and_then(|()| reader.end());
        reader.rows();
        (seen.0, end)
    }

    #[test]
    fn an_exception_that_comes_in_two_pieces_is_no_row_wherever_it_is_cut() {
        for text in [
            "Code: 395, e.displayText() = DB::Exception: Value passed, e.what() = DB::Exception\n",
            "\r\n__exception__\r\nabcd\r\nCode: 395. DB::Exception: Value passed (version 26.1)\r\n",
        ] {
            for cut in 0..=text.len() {
                let (a, b) = text.as_bytes().split_at(cut);
                let (rows, end) = read(&[&[1, 2, 3], a, b]);
                let failure = end.unwrap_err();
                assert_eq!((failure.code, failure.message.as_str(), rows), (395, "Value passed", 3), "{cut}");
            }
        }
    }

    #[test]
    fn a_row_that_begins_as_an_exception_does_is_a_row() {
        assert_eq!(read(&[b"\r", b"\n", b"C", b"Co", b"\r\n__ex"]), (11, Ok(())));
    }
}
