//! Text files in order, as batches of typed rows; what is no row goes to the reject file.

use std::fs::File;
use std::io::Read;

use crate::error::Error;

use super::super::columns::Columns;
use super::batch::{mark_present, push_null, truncate};
use super::fast_path::{FastPath, Room, PAD_BYTES};
use super::limit;
use super::parse::{self, Reason};
use super::reject::Rejects;
use super::split::{first_line, split, unescaped, Around, Dialect, Field, Quoting, Split};
use super::{Layout, Position, BATCH_BYTES};

/// First size of the window on a file; doubles for longer records.
const WINDOW_BYTES: usize = 1 << 20;

pub struct TextFiles {
    layout: Layout,
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
}

/// One file, seen through a buffer that starts at a record and has zeros behind its end.
struct Window {
    file: File,
    path: String,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Byte of the file and number of the line at `start`.
    offset: u64,
    line: u64,
    ended: bool,
    crlf: bool,
    /// The record before `start` was given up, and none of as many fields as columns was read since: see `Around`. No batch
    /// ends in this state, so that a position need not name it.
    given_up: bool,
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
        }
    }

    /// Appends rows until `out` holds `rows` of them or the files end.
    pub fn fill(&mut self, rows: usize, out: &mut Columns, rejects: &mut Rejects) -> Result<(), Error> {
        let mut batch_bytes = 0;
        while out.rows < rows && (batch_bytes < BATCH_BYTES || self.is_given_up()) {
            if self.open.is_none() && !self.open_next()? {
                break;
            }
            let window = self.open.as_mut().expect("opened just above");
            if let Some(fast_path) = self.fast_path.as_mut().filter(|_| !window.given_up) {
                let room = Room {
                    rows: rows - out.rows,
                    bytes: BATCH_BYTES - batch_bytes,
                    record_bytes: self.limit_bytes,
                };
                let taken = fast_path.take(window.padded(), window.crlf, &room, out);
                window.step(taken.bytes, taken.records as u64);
                batch_bytes += taken.bytes;
                if out.rows == rows || batch_bytes >= BATCH_BYTES {
                    break;
                }
            }
            match window.next_record(&self.dialect, self.limit_bytes, &mut self.fields)? {
                None => {
                    self.open = None;
                    self.index += 1;
                }
                Some(found) => {
                    let used = self.store(found, out, rejects)?;
                    batch_bytes += used;
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
        let bytes = &window.bytes[window.start..window.end];
        let (len, lines, problem) = match found {
            Split::Broken { len, reason } => {
                window.given_up = self.dialect.quoting == Quoting::Quotes;
                (len, 1, Some((None, reason)))
            }
            Split::Record { len, lines } => {
                let expected = self.order.len();
                if self.fields.len() == expected {
                    window.given_up = false;
                    let problem = store_fields(
                        &self.layout,
                        &self.dialect,
                        &self.order,
                        &self.fields,
                        bytes,
                        &mut self.scratch,
                        out,
                    );
                    (len, lines, problem.err().map(|(column, reason)| (Some(column), reason)))
                } else if lines > 1 && self.dialect.quoting == Quoting::Quotes {
                    // A quote left open has run into a later one: the lines between may be good.
                    let len = first_line(bytes).expect("there are line breaks");
                    window.given_up = true;
                    (len, 1, Some((None, Reason::UnbalancedQuote)))
                } else {
                    (len, lines, Some((None, field_count(self.fields.len(), expected))))
                }
            }
            Split::More => unreachable!("`next_record` has read more"),
        };
        if let Some((column, reason)) = problem {
            let column = column.map_or("", |c: usize| self.layout.columns[c].name.as_str());
            rejects.add(&window.path, window.line, column, reason, &bytes[..len])?;
        }
        if let Split::Broken { reason: Reason::LongLine { .. }, .. } = found {
            return window.skip_line().map(|()| len);
        }
        window.step(len, lines);
        Ok(len)
    }

    /// Opens file `index` and reads its header; false after the last one.
    fn open_next(&mut self) -> Result<bool, Error> {
        let Some(path) = self.layout.paths.get(self.index) else { return Ok(false) };
        let mut window = Window::open(path)?;
        // Among bytes a carriage return is data, also before a line feed: what escapes them ends lines with LF alone.
        window.crlf &= !self.layout.bytes.contains(&true);
        if self.header {
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

fn field_count(found: usize, expected: usize) -> Reason {
    if found < expected {
        Reason::FewFields { found, expected }
    } else {
        Reason::ManyFields { found, expected }
    }
}

/// All fields of a record into `out`, or none: then the column at fault and why.
fn store_fields(
    layout: &Layout,
    dialect: &Dialect,
    order: &[Option<usize>],
    fields: &[Field],
    bytes: &[u8],
    scratch: &mut Vec<u8>,
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
            match layout.times[at] {
                None if layout.bytes[at] => parse::push_bytes(column, text, dialect.quoting),
                None if layout.null_items[at] => parse::push_list_with_nulls(column, text),
                None => parse::push(column, text),
                Some(form) => parse::push_time(column, text, form),
            }
            .and_then(|()| limit::checked(column, layout.limits[at].as_ref()))
            .map(|()| mark_present(column))
        };
        if let Err(reason) = stored {
            out.columns.iter_mut().for_each(|c| truncate(c, row));
            return Err((at, reason));
        }
    }
    out.rows += 1;
    Ok(())
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
    let Some(Split::Record { len, lines }) = window.next_record(dialect, limit_bytes, fields)? else {
        return Err(Error::Plan(format!("{path}: no header line; say `header = false` if there is none")));
    };
    let mut scratch = Vec::new();
    let bytes = &window.bytes[window.start..window.end];
    let names: Vec<String> = fields
        .iter()
        .map(|f| String::from_utf8_lossy(unescaped(dialect, bytes, *f, &mut scratch)).trim().to_string())
        .collect();
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
    window.step(len, lines);
    Ok(names.iter().map(|n| layout.columns.iter().position(|c| c.name == *n)).collect())
}

impl Window {
    fn open(path: &str) -> Result<Window, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let mut window = Window {
            file,
            path: path.to_string(),
            bytes: vec![0; WINDOW_BYTES + PAD_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            line: 1,
            ended: false,
            crlf: false,
            given_up: false,
        };
        window.read_more()?;
        let head = &window.bytes[..window.end];
        for (magic, what) in
            [(&[0x1f, 0x8b][..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PAR1", "Parquet")]
        {
            if head.starts_with(magic) {
                return Err(Error::Plan(format!(
                    "{path} is {what}, not text: unpack it, or name its format"
                )));
            }
        }
        if head.starts_with(b"\xef\xbb\xbf") {
            window.step(3, 0);
        }
        while first_line(&window.bytes[..window.end]).is_none() && !window.ended && window.end < WINDOW_BYTES
        {
            window.read_more()?;
        }
        let head = &window.bytes[..window.end];
        window.crlf = first_line(head).is_some_and(|len| head[..len].ends_with(b"\r\n"));
        Ok(window)
    }

    /// The next record, found at `start`; `None` at the end of the file.
    fn next_record(
        &mut self,
        dialect: &Dialect,
        limit_bytes: usize,
        fields: &mut Vec<Field>,
    ) -> Result<Option<Split>, Error> {
        loop {
            let bytes = &self.bytes[self.start..self.end];
            if bytes.is_empty() && self.ended {
                return Ok(None);
            }
            let seen = bytes.len();
            let around = Around { last: self.ended, crlf: self.crlf, given_up: self.given_up };
            let found = split(dialect, bytes, around, fields);
            let too_long = match found {
                Split::More => seen > limit_bytes,
                Split::Record { len, .. } | Split::Broken { len, .. } => len > limit_bytes,
            };
            if too_long {
                // A quote left open makes one record of all that follows; its first line may be short.
                return Ok(Some(match first_line(bytes) {
                    Some(len) if len <= limit_bytes => Split::Broken { len, reason: Reason::UnbalancedQuote },
                    _ => Split::Broken { len: seen.min(4096), reason: Reason::LongLine { limit_bytes } },
                }));
            }
            if found != Split::More {
                return Ok(Some(found));
            }
            self.read_more()?;
        }
    }

    /// Reads on behind what is there, in a larger buffer when that is full.
    fn read_more(&mut self) -> Result<(), Error> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let mut room = self.bytes.len() - PAD_BYTES;
        if self.end == room {
            room *= 2;
            self.bytes.resize(room + PAD_BYTES, 0);
        }
        let n = loop {
            match self.file.read(&mut self.bytes[self.end..room]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                read => break read.map_err(|e| Error::io(&self.path, e))?,
            }
        };
        self.end += n;
        self.ended = n == 0;
        self.bytes[self.end..self.end + PAD_BYTES].fill(0);
        Ok(())
    }

    /// What is there, and zeros.
    fn padded(&self) -> &[u8] {
        &self.bytes[self.start..self.end + PAD_BYTES]
    }

    fn step(&mut self, len: usize, lines: u64) {
        self.start += len;
        self.offset += len as u64;
        self.line += lines;
    }

    /// Steps over a line of any length.
    fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let bytes = &self.bytes[self.start..self.end];
            if let Some(len) = first_line(bytes) {
                self.step(len, 1);
                return Ok(());
            }
            let len = bytes.len();
            self.step(len, 0);
            if self.ended {
                return Ok(());
            }
            self.read_more()?;
        }
    }

    fn jump(&mut self, offset: u64, line: u64) -> Result<(), Error> {
        use std::io::{Seek, SeekFrom};
        let size = self.file.metadata().map_err(|e| Error::io(&self.path, e))?.len();
        if offset > size {
            return Err(Error::Plan(format!(
                "{}: cannot go on at byte {offset}, the file has {size} now: it has changed since",
                self.path
            )));
        }
        self.file.seek(SeekFrom::Start(offset)).map_err(|e| Error::io(&self.path, e))?;
        (self.start, self.end, self.offset, self.line, self.ended) = (0, 0, offset, line, false);
        self.bytes[..PAD_BYTES].fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
