//! Text files in order, as batches of typed rows; what is no row goes to the reject file.

use crate::error::Error;

use super::super::columns::Columns;
use super::batch::{push_null, truncate};
use super::dialect::Dialect;
use super::escapes::unescaped;
use super::fast_path::{FastPath, Room};
use super::limit;
use super::parse::{self, Reason};
use super::reject::Rejects;
use super::split::{Field, Split};
use super::window::{Judged, Window};
use super::{Layout, Position};

pub struct TextFiles {
    pub(super) layout: Layout,
    dialect: Dialect,
    header: bool,
    limit_bytes: usize,
    /// Index of the open file, or of the next one.
    index: usize,
    open: Option<Window>,
    /// Field of the open file -> column of the table; `None` for fields the table has not.
    order: Vec<Option<usize>>,
    fast_path: Option<FastPath>,
    fields: Vec<Field>,
    scratch: Vec<u8>,
    /// Of a number that was written with other marks.
    pointed: Vec<u8>,
    /// Line and bytes of the row that was stored last, where they are asked for: see `keep_row`.
    kept: Option<(u64, Vec<u8>)>,
}

impl TextFiles {
    pub fn new(layout: Layout, dialect: Dialect, header: bool, limit_bytes: usize) -> TextFiles {
        let order: Vec<Option<usize>> = (0..layout.columns.len()).map(Some).collect();
        TextFiles {
            fast_path: FastPath::new(&layout, &dialect, &order),
            layout,
            dialect,
            header,
            limit_bytes,
            index: 0,
            open: None,
            order,
            fields: Vec::new(),
            scratch: Vec::new(),
            pointed: Vec::new(),
            kept: None,
        }
    }

    /// From here on every row is kept until the next one: none goes by the fast path.
    pub fn keep_row(&mut self) {
        self.kept = self.kept.take().or_else(|| Some(Default::default()));
    }

    /// The row that was stored last, and its line.
    pub fn kept_row(&mut self) -> (u64, Vec<u8>) {
        self.kept.replace(Default::default()).unwrap_or_default()
    }

    /// Appends rows until `out` holds `rows` of them or the files end.
    pub fn fill(&mut self, rows: usize, out: &mut Columns, rejects: &mut Rejects) -> Result<(), Error> {
        let mut batch_bytes = 0;
        while out.rows < rows && (batch_bytes < self.layout.batch_bytes || self.is_given_up()) {
            if self.open.is_none() && !self.open_next()? {
                break;
            }
            let window = self.open.as_mut().expect("opened just above");
            if let Some(fast_path) =
                self.fast_path.as_mut().filter(|_| !window.given_up && self.kept.is_none())
            {
                let room = Room {
                    rows: rows - out.rows,
                    bytes: self.layout.batch_bytes - batch_bytes,
                    record_bytes: self.limit_bytes,
                };
                let taken = fast_path.take(window.padded(), window.crlf, &room, out);
                window.step(taken.bytes, taken.records as u64);
                batch_bytes += taken.bytes;
                if out.rows == rows || batch_bytes >= self.layout.batch_bytes {
                    break;
                }
            }
            match window.next_record(&self.dialect, self.limit_bytes, &mut self.fields)? {
                // The last file stays open: behind its end is the place from which it goes on when it has grown.
                None if self.index + 1 >= self.layout.paths.len() => break,
                None => {
                    self.open = None;
                    self.index += 1;
                }
                Some(found) => {
                    let used = self.store(found, out, rejects)?;
                    batch_bytes = if out.rows == 0 { 0 } else { batch_bytes + used };
                }
            }
        }
        Ok(())
    }

    fn is_given_up(&self) -> bool {
        self.open.as_ref().is_some_and(|window| window.given_up)
    }

    /// Stores the record at the window's start or rejects it, and steps over it; gives its length.
    fn store(&mut self, found: Split, out: &mut Columns, rejects: &mut Rejects) -> Result<usize, Error> {
        let window = self.open.as_mut().expect("a record was found in it");
        let Judged { len, lines, broken } =
            window.judge(found, &self.fields, self.order.len(), &self.dialect);
        let bytes = window.bytes();
        let problem = match broken {
            Some(reason) => Some((None, reason)),
            None => store_fields(
                &self.layout,
                &self.dialect,
                &self.order,
                &self.fields,
                bytes,
                [&mut self.scratch, &mut self.pointed],
                out,
            )
            .err()
            .map(|(column, reason)| (Some(column), reason)),
        };
        let is_stored = problem.is_none();
        if let Some((column, reason)) = problem {
            let column = column.map_or("", |c: usize| self.layout.columns[c].name.as_str());
            rejects.add(&window.path, window.line, column, reason, &bytes[..len])?;
        }
        if let Some(kept) = self.kept.as_mut().filter(|_| is_stored) {
            *kept = (window.line, bytes[..len].to_vec());
        }
        window.pass(found, len, lines)?;
        Ok(len)
    }

    /// Opens file `index` and reads its header; false after the last one.
    fn open_next(&mut self) -> Result<bool, Error> {
        let Some(path) = self.layout.paths.get(self.index) else { return Ok(false) };
        let mut window = Window::open(path, self.dialect.skip)?;
        // Among bytes a carriage return is data, also before a line feed: what escapes them ends lines with LF alone.
        window.crlf &= !self.layout.bytes.contains(&true);
        if self.header && window.is_blank()? {
            // A file without anything has no header either.
            window.pass_rest()?;
        } else if self.header {
            self.order =
                read_header(&mut window, &self.dialect, &self.layout, self.limit_bytes, &mut self.fields)?;
            self.fast_path = FastPath::new(&self.layout, &self.dialect, &self.order);
        }
        self.open = Some(window);
        Ok(true)
    }

    pub fn place(&self) -> (usize, u64, u64) {
        self.open.as_ref().map_or((self.index, 0, 1), |w| (self.index, w.offset, w.line))
    }

    pub fn seek(&mut self, to: &Position) -> Result<(), Error> {
        self.index = to.file;
        self.open = None;
        if to.offset > 0 && self.open_next()? {
            let window = self.open.as_mut().expect("opened just above");
            window.jump(to.offset, to.line)?;
        }
        Ok(())
    }
}

/// All fields of a record into `out`, or none: then the column at fault and why.
fn store_fields(
    layout: &Layout,
    dialect: &Dialect,
    order: &[Option<usize>],
    fields: &[Field],
    bytes: &[u8],
    [scratch, pointed]: [&mut Vec<u8>; 2],
    out: &mut Columns,
) -> Result<(), (usize, Reason)> {
    let row = out.rows;
    for (field, at) in fields.iter().zip(order).filter_map(|(f, at)| at.map(|at| (f, at))) {
        let column = &mut out.columns[at];
        let is_null = !field.quoted && bytes[field.start..field.end] == dialect.null;
        let stored = if is_null {
            push_null(column, row, layout.required[at])
        } else {
            let text = unescaped(dialect, bytes, *field, scratch);
            let marks = dialect.marks.as_ref().filter(|_| layout.numbers[at]);
            let text = match marks.map_or(Some(text), |marks| marks.pointed(text, pointed)) {
                Some(text) => text,
                None => return Err(undone(out, row, at, Reason::NotNumber)),
            };
            match &layout.times[at] {
                None if layout.bytes[at] => parse::push_bytes(column, text, dialect.quoting),
                None if layout.null_items[at] => parse::push_list_with_nulls(column, text),
                None => parse::push_within(column, text, layout.limits[at].as_ref()),
                Some(reader) => reader.push(column, text),
            }
            .and_then(|()| limit::checked(column, layout.limits[at].as_ref()))
            .map(|()| column.mark_present())
        };
        if let Err(reason) = stored {
            return Err(undone(out, row, at, reason));
        }
    }
    out.rows += 1;
    Ok(())
}

/// Takes what is stored of a row back; gives the column at fault and why.
fn undone(out: &mut Columns, row: usize, at: usize, reason: Reason) -> (usize, Reason) {
    out.columns.iter_mut().for_each(|c| truncate(c, row));
    (at, reason)
}

/// The order of the table's columns in a file, by the names in its first record.
fn read_header(
    window: &mut Window,
    dialect: &Dialect,
    layout: &Layout,
    limit_bytes: usize,
    fields: &mut Vec<Field>,
) -> Result<Vec<Option<usize>>, Error> {
    let path = window.path.clone();
    let names = window.header(dialect, limit_bytes, fields)?;
    for column in &layout.columns {
        let times = names.iter().filter(|n| **n == column.name).count();
        if times != 1 {
            let what = if times == 0 { "has no column" } else { "has more than one column" };
            return Err(Error::Plan(format!(
                "{path}: the header {what} `{}`; it has {}",
                column.name,
                names.join(", ")
            )));
        }
    }
    Ok(names.iter().map(|n| layout.columns.iter().position(|c| c.name == *n)).collect())
}

#[cfg(test)]
mod tests;
