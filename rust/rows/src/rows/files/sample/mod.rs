//! How a text file is to be read, and what its first rows hold: by the reader that stores them.
//!
//! Reading order: `no_table` (what is refused), `dialect` (delimiter and format), `header` (whether line 1 names the columns),
//! here (records by `Window::judge`, as `text` takes them), `column`, `kinds` and `times` (what a value is). What type a column
//! gets is decided over all files of a table, in python/inrush/study/chosen.py; `rounded` counts what that does not keep.

mod column;
mod dialect;
mod header;
mod kinds;
mod no_table;
mod rounded;
mod times;

use serde::{Deserialize, Serialize};

use super::parse::Reason;
use super::split::{unescaped, Dialect, Field, Quoting, Split};
use super::window::{names_of, other_than_text, WINDOW_BYTES};
use super::LINE_LIMIT_BYTES;
use crate::error::Error;

use dialect::{is_in_quotes, Escapes, Head};
use header::FirstLine;

pub use super::window::Window;
pub use column::{SampledColumn, Seen};
pub use rounded::{rounded, Floats};

/// Bytes at the beginning of a file that decide on its format.
const HEAD_BYTES: usize = WINDOW_BYTES;
/// Rows that were rejected and are named.
const PROBLEMS: usize = 5;

/// What a command line says of the first line, of the columns' names, and of the format.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    pub header: Option<bool>,
    /// Of files without a header.
    pub columns: Vec<String>,
    pub format: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Sample {
    pub format: &'static str,
    pub delimiter: char,
    pub header: bool,
    /// Why line 1 is no header.
    pub no_header: String,
    pub columns: Vec<SampledColumn>,
    /// Rows that were looked at.
    pub rows: u64,
    /// There are no more.
    pub complete: bool,
    /// A value with a backslash, in a format that was found and in which backslashes escape.
    pub escaped: String,
    /// A name or a value with quotes around it, in a format that was found and in which they are a part of it.
    pub quoted: String,
    /// (line, why it is no row) of the first that are none.
    pub problems: Vec<(u64, String)>,
}

/// What was found of a file.
#[derive(Debug)]
pub enum Found {
    Sample(Box<Sample>),
    /// Why it cannot be read, in words behind its name.
    Refused(String),
    /// It is packed, or Parquet.
    Other,
}

/// The first `rows` rows. window: on a file of which nothing was passed. Errors: a file that cannot be read.
pub fn sample(window: &mut Window, said: &Said, rows: u64) -> Result<Found, Error> {
    if other_than_text(window.bytes()).is_some() {
        return Ok(Found::Other);
    }
    let found = text(window, said, rows)?;
    Ok(found.map_or_else(Found::Refused, |sample| Found::Sample(Box::new(sample))))
}

fn text(window: &mut Window, said: &Said, rows: u64) -> Result<Result<Sample, String>, Error> {
    window.begin()?;
    window.fill(HEAD_BYTES)?;
    let bytes = window.bytes();
    let bytes = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = Head { bytes, cut: !window.is_whole() || bytes.len() == HEAD_BYTES, crlf: window.crlf };
    if let Some(what) = no_table::no_table(&head, said) {
        return Ok(Err(what));
    }
    let (format, dialect) = dialect::find(&head, said.format.as_deref());
    let first = dialect::records(&head, &dialect);
    if first.is_empty() {
        return Ok(Err("line 1 has a quotation mark without its partner; correct it".into()));
    }
    if header::is_comment(&first, said) {
        return Ok(Err(comment(said)));
    }
    let first = match header::first_line(&first, said) {
        Ok(first) => first,
        Err(problem) => return Ok(Err(problem)),
    };
    if first.header {
        if let Err(problem) = pass_names(window, &dialect, &first.names)? {
            return Ok(Err(problem));
        }
    }
    let mut found = Sampler::new(dialect, &first);
    let is_whole = found.read(window, rows)?;
    if format == "mysql" && said.format.is_none() && !found.escapes.are_mysqls() {
        let said = Said { format: Some("csv".into()), ..said.clone() };
        window.turn_to(&window.path.clone())?;
        return text(window, &said, rows);
    }
    if found.rows == 0 {
        return Ok(Err(found.without_rows(first.header)));
    }
    let unless_said = |value: String| if said.format.is_none() { value } else { String::new() };
    Ok(Ok(Sample {
        format,
        delimiter: found.dialect.delimiter as char,
        header: first.header,
        no_header: first.why,
        rows: found.rows,
        complete: is_whole,
        escaped: unless_said(found.escaped),
        quoted: unless_said(found.quoted),
        problems: found.problems,
        columns: found.columns,
    }))
}

fn comment(said: &Said) -> String {
    let or = match said.header {
        None => "; or give --header yes if it names the columns, --header no if it is a row",
        Some(_) => "",
    };
    format!(
        "line 1 is a comment, and a table would be made of it; take lines that begin with # out, for instance by \
         grep -v '^#'{or}"
    )
}

/// Goes on behind the line with the names.
fn pass_names(window: &mut Window, dialect: &Dialect, names: &[String]) -> Result<Result<(), String>, Error> {
    let mut fields = Vec::new();
    let record = window.next_record(dialect, LINE_LIMIT_BYTES, &mut fields)?;
    Ok(match (record, names_of(dialect, window.bytes(), &fields)) {
        (Some(Split::Record { .. }), Err(problem)) => Err(problem),
        (Some(Split::Record { len, lines }), Ok(found)) if found == names => {
            window.step(len, lines);
            Ok(())
        }
        _ => Err(
            "the column names are not on line 1: it is blank or has an unmatched quotation mark; delete it"
                .into(),
        ),
    })
}

/// What the rows of a file hold so far.
struct Sampler {
    dialect: Dialect,
    columns: Vec<SampledColumn>,
    rows: u64,
    problems: Vec<(u64, String)>,
    escapes: Escapes,
    escaped: String,
    quoted: String,
}

impl Sampler {
    fn new(dialect: Dialect, first: &FirstLine) -> Sampler {
        let named = |name: &String| SampledColumn { name: name.clone(), ..SampledColumn::default() };
        let columns = first.names.iter().map(named).collect();
        let (problems, escapes) = (Vec::new(), Escapes::default());
        let (escaped, quoted) = (String::new(), String::new());
        let mut new = Sampler { dialect, columns, rows: 0, problems, escapes, escaped, quoted };
        if first.header {
            first.names.iter().for_each(|name| new.keep_literal(name.as_bytes()));
        }
        new
    }

    /// Of a format without quotes, the first field with a backslash, and the first in quotes.
    fn keep_literal(&mut self, field: &[u8]) {
        if self.dialect.quoting == Quoting::Quotes {
            return;
        }
        let text = || String::from_utf8_lossy(field).into_owned();
        if self.escaped.is_empty() && field.contains(&b'\\') && field != self.dialect.null {
            self.escaped = text();
        }
        if self.quoted.is_empty() && is_in_quotes(field) {
            self.quoted = text();
        }
    }

    /// Whether the file has no more rows.
    fn read(&mut self, window: &mut Window, rows: u64) -> Result<bool, Error> {
        let (dialect, expected) = (self.dialect.clone(), self.columns.len());
        let mut scratch = Vec::new();
        each_row(window, &dialect, expected, |line, record| {
            let (bytes, fields) = match record {
                Ok(record) => record,
                Err(reason) => {
                    // A blank line between rows is nothing to say.
                    if reason != BLANK && self.problems.len() < PROBLEMS {
                        self.problems.push((line, reason));
                    }
                    return true;
                }
            };
            if self.rows == rows {
                return false;
            }
            self.rows += 1;
            for (at, field) in fields.iter().enumerate() {
                self.columns[at].add(&dialect, bytes, *field, line, &mut scratch);
                self.keep_literal(&bytes[field.start..field.end]);
                if dialect.quoting == Quoting::MysqlEscapes {
                    self.escapes.add(&bytes[field.start..field.end]);
                }
            }
            true
        })
    }

    /// Why no row of the file can be read.
    fn without_rows(&self, header: bool) -> String {
        let below = if header { " below its header" } else { "" };
        match self.problems.first() {
            None => format!("has no rows{below}"),
            Some((line, reason)) => format!("none of its rows can be read; line {line}: {reason}"),
        }
    }
}

/// Why a line without anything is no row of several fields.
const BLANK: &str = "blank line";

/// Each record of the file: its line, and its bytes and fields where it is a row. `false` of `take` ends it.
///
/// Gives whether the end of the file was reached.
fn each_row(
    window: &mut Window,
    dialect: &Dialect,
    expected: usize,
    mut take: impl FnMut(u64, Result<(&[u8], &[Field]), String>) -> bool,
) -> Result<bool, Error> {
    let mut fields = Vec::new();
    while let Some(found) = window.next_record(dialect, LINE_LIMIT_BYTES, &mut fields)? {
        let judged = window.judge(found, &fields, expected, dialect);
        let record = match judged.broken {
            None => Ok((window.bytes(), &fields[..])),
            Some(Reason::FewFields { found: 1, .. }) if fields[0].start == fields[0].end => Err(BLANK.into()),
            Some(reason) => Err(reason.to_string()),
        };
        if !take(window.line, record) {
            return Ok(false);
        }
        window.pass(found, judged.len, judged.lines)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
