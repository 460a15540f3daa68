//! One text file, record by record: what is a row and what is not, whoever reads it.

use std::fs::File;
use std::io::Read;

use crate::error::Error;

use super::dialect::{Dialect, Quoting};
use super::escapes::unescaped;
use super::fast_path::PAD_BYTES;
use super::parse::Reason;
use super::split::{first_line, split, Around, Field, Split};

/// First size of the window on a file; doubles for longer records.
pub const WINDOW_BYTES: usize = 1 << 20;

/// One file, seen through a buffer that starts at a record and has zeros behind its end.
pub struct Window {
    file: File,
    pub path: String,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Byte of the file and number of the line at `start`.
    pub offset: u64,
    pub line: u64,
    ended: bool,
    pub crlf: bool,
    /// The record before `start` was given up, and none of as many fields as columns was read since: see `Around`. No batch
    /// ends in this state, so that a position need not name it.
    pub given_up: bool,
}

/// A record at the window's start: its length and its lines, and why it is no row.
pub struct Judged {
    pub len: usize,
    pub lines: u64,
    pub broken: Option<Reason>,
}

impl Window {
    /// The file at `path`, of which some bytes are there.
    pub fn unread(path: &str) -> Result<Window, Error> {
        Window::with_buffer(path, Vec::new())
    }

    /// The same of another file, in the same memory.
    pub fn turn_to(&mut self, path: &str) -> Result<(), Error> {
        let buffer = std::mem::take(&mut self.bytes);
        *self = Window::with_buffer(path, buffer)?;
        Ok(())
    }

    fn with_buffer(path: &str, mut bytes: Vec<u8>) -> Result<Window, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        bytes.resize(WINDOW_BYTES + PAD_BYTES, 0);
        bytes.shrink_to_fit();
        let mut window = Window {
            file,
            path: path.to_string(),
            bytes,
            start: 0,
            end: 0,
            offset: 0,
            line: 1,
            ended: false,
            crlf: false,
            given_up: false,
        };
        window.read_more()?;
        Ok(window)
    }

    #[cfg(test)]
    pub fn buffer_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// skip: lines before its first record.
    pub fn open(path: &str, skip: u64) -> Result<Window, Error> {
        let mut window = Window::unread(path)?;
        if let Some(what) = other_than_text(window.bytes()) {
            return Err(Error::Plan(format!("{path} is {what}, not text: unpack it, or name its format")));
        }
        window.begin(skip)?;
        Ok(window)
    }

    /// At its first record, behind so many lines, with the line of it read: how that ends is known from here on.
    pub fn begin(&mut self, skip: u64) -> Result<(), Error> {
        if self.bytes().starts_with(b"\xef\xbb\xbf") {
            self.step(3, 0);
        }
        for _ in 0..skip {
            self.skip_line()?;
        }
        while first_line(self.bytes()).is_none() && !self.ended && self.end < WINDOW_BYTES {
            self.read_more()?;
        }
        let head = self.bytes();
        self.crlf = first_line(head).is_some_and(|len| head[..len].ends_with(b"\r\n"));
        Ok(())
    }

    /// Reads on until so many bytes are there, or all.
    pub fn fill(&mut self, bytes: usize) -> Result<(), Error> {
        while self.bytes().len() < bytes && !self.ended {
            self.read_more()?;
        }
        Ok(())
    }

    /// Nothing but line ends is in it from here on.
    pub fn is_blank(&mut self) -> Result<bool, Error> {
        while self.bytes().trim_ascii().is_empty() && !self.ended {
            self.read_more()?;
        }
        Ok(self.bytes().trim_ascii().is_empty())
    }

    /// Steps over all that there is.
    pub fn pass_rest(&mut self) -> Result<(), Error> {
        while !self.bytes().is_empty() {
            self.skip_line()?;
        }
        Ok(())
    }

    /// No bytes follow those that are there.
    pub fn is_whole(&self) -> bool {
        self.ended
    }

    /// The names in its first record, which is passed.
    pub fn header(
        &mut self,
        dialect: &Dialect,
        limit_bytes: usize,
        fields: &mut Vec<Field>,
    ) -> Result<Vec<String>, Error> {
        let Some(Split::Record { len, lines }) = self.next_record(dialect, limit_bytes, fields)? else {
            let what = "no header line; say `header = false` if there is none";
            return Err(Error::Plan(format!("{}: {what}", self.path)));
        };
        let names = names_of(dialect, self.bytes(), fields)
            .map_err(|problem| Error::File { path: self.path.clone(), problem })?;
        self.step(len, lines);
        Ok(names)
    }

    /// What is there, from the next record on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// What becomes of what `next_record` found. fields: its own; expected: how many a row has.
    pub fn judge(&mut self, found: Split, fields: &[Field], expected: usize, dialect: &Dialect) -> Judged {
        let quotes = dialect.quoting == Quoting::Quotes;
        match found {
            Split::Broken { len, reason } => {
                self.given_up = quotes;
                Judged { len, lines: 1, broken: Some(reason) }
            }
            Split::Record { len, lines } if fields.len() == expected => {
                self.given_up = false;
                Judged { len, lines, broken: None }
            }
            Split::Record { len, lines } => {
                if lines > 1 && quotes {
                    // A quote left open may have run into a later one: where one of the lines between is a row, they are
                    // read again.
                    let record = &self.bytes()[..len];
                    let first = first_line(record).expect("there are line breaks");
                    if holds_a_row(dialect, &record[first..], expected) {
                        self.given_up = true;
                        return Judged { len: first, lines: 1, broken: Some(Reason::UnbalancedQuote) };
                    }
                }
                Judged { len, lines, broken: Some(field_count(fields.len(), expected)) }
            }
            Split::More => unreachable!("`next_record` has read more"),
        }
    }

    /// Steps over what was judged.
    pub fn pass(&mut self, found: Split, len: usize, lines: u64) -> Result<(), Error> {
        if let Split::Broken { reason: Reason::LongLine { .. }, .. } = found {
            return self.skip_line();
        }
        self.step(len, lines);
        Ok(())
    }

    /// The next record, found at `start`; `None` at the end of the file.
    pub fn next_record(
        &mut self,
        dialect: &Dialect,
        limit_bytes: usize,
        fields: &mut Vec<Field>,
    ) -> Result<Option<Split>, Error> {
        loop {
            if dialect.passes(self.bytes()) {
                self.skip_line()?;
                continue;
            }
            let bytes = self.bytes();
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
    pub fn padded(&self) -> &[u8] {
        &self.bytes[self.start..self.end + PAD_BYTES]
    }

    pub fn step(&mut self, len: usize, lines: u64) {
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

    pub fn jump(&mut self, offset: u64, line: u64) -> Result<(), Error> {
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

/// What a file that begins like this is, where it is no text.
pub fn other_than_text(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], _); 5] = [
        (b"PAR1", "Parquet"),
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
    ];
    known.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what)
}

fn field_count(found: usize, expected: usize) -> Reason {
    if found < expected {
        Reason::FewFields { found, expected }
    } else {
        Reason::ManyFields { found, expected }
    }
}

/// Whether one of these lines is a row by itself. Each is read once, whatever quotes it opens.
fn holds_a_row(dialect: &Dialect, mut lines: &[u8], expected: usize) -> bool {
    let mut fields = Vec::new();
    let around = Around { last: true, crlf: false, given_up: true };
    while !lines.is_empty() {
        let (line, rest) = lines.split_at(first_line(lines).unwrap_or(lines.len()));
        let whole = Split::Record { len: line.len(), lines: 1 };
        if split(dialect, line, around, &mut fields) == whole && fields.len() == expected {
            return true;
        }
        lines = rest;
    }
    false
}

/// The names that a record gives to columns. Errors: why it gives none, in words behind the file's name.
pub fn names_of(dialect: &Dialect, record: &[u8], fields: &[Field]) -> Result<Vec<String>, String> {
    let mut scratch = Vec::new();
    let mut name = |field: &Field| {
        let name = std::str::from_utf8(unescaped(dialect, record, *field, &mut scratch));
        name.map(|name| name.trim().to_string())
    };
    fields.iter().map(&mut name).collect::<Result<_, _>>().map_err(|_| {
        "the column names are not UTF-8: give --encoding, for instance windows-1252 or latin-1".into()
    })
}
