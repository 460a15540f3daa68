//! How a text file is to be read, and what its first rows hold: by the reader that stores them.
//!
//! Reading order: `no_table` (what is refused), `guess` (delimiter and format), `header` (whether line 1 names the columns),
//! here (records by `Window::judge`, as `text` takes them), `column`, `kinds` and `times` (what a value is). What type a column
//! gets is decided over all files of a table, in python/inrush/study/chosen.py; `rounded` counts what that does not keep.

mod column;
mod guess;
mod header;
mod kinds;
mod no_table;
mod rounded;
mod times;

use serde::{Deserialize, Serialize};

use super::dialect::{Dialect, Quoting};
use super::escapes::unescaped;
use super::json;
use super::parse::Reason;
use super::split::{Field, Split};
use super::window::{names_of, other_than_text, WINDOW_BYTES};
use super::LINE_LIMIT_BYTES;
use crate::error::Error;
use crate::plan::WrittenAs;

use guess::{is_in_quotes, Escapes, Head};
use header::FirstLine;

pub use super::window::Window;
pub use column::{SampledColumn, Seen};
pub use rounded::{rounded, Floats};
pub use times::by_pattern;

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
    #[serde(default)]
    pub written: WrittenAs,
}

#[derive(Debug, Serialize)]
pub struct Sample {
    pub format: &'static str,
    /// Between fields; none of JSON lines.
    pub delimiter: Option<char>,
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
    /// It has no rows: the same words, for a file that is alone.
    Empty(String),
    /// It is packed, or Parquet.
    Other,
}

/// The first `rows` rows. window: on a file of which nothing was passed. Errors: a file that cannot be read.
pub fn sample(window: &mut Window, said: &Said, rows: u64) -> Result<Found, Error> {
    if other_than_text(window.bytes()).is_some() {
        return Ok(Found::Other);
    }
    text(window, said, rows)
}

fn text(window: &mut Window, said: &Said, rows: u64) -> Result<Found, Error> {
    window.begin(said.written.skip)?;
    window.fill(HEAD_BYTES)?;
    let bytes = window.bytes();
    let bytes = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = Head { bytes, cut: !window.is_whole() || bytes.len() == HEAD_BYTES, crlf: window.crlf };
    if bytes.trim_ascii().is_empty() {
        return Ok(Found::Empty("is empty; give a file with rows".into()));
    }
    if let Some(what) = no_table::no_table(&head, said) {
        return Ok(Found::Refused(what));
    }
    let (format, mut dialect) = match guess::find(&head, said.format.as_deref(), &said.written) {
        Ok(found) => found,
        Err(problem) => return Ok(Found::Refused(problem)),
    };
    if dialect.quoting == Quoting::Json {
        dialect.keys = keys_of(window, &dialect, said, rows)?;
        if dialect.keys.is_empty() {
            return Ok(Found::Refused("its objects have no members".into()));
        }
        return of_rows(window, said, rows, (format, dialect), FirstLine::of_keys());
    }
    let first = guess::records(&head, &dialect);
    if first.is_empty() {
        return Ok(Found::Refused(match guess::broken(&head, &dialect) {
            Some(Reason::TextAfterQuote) => {
                "line 1 has a text behind a closing quotation mark; correct it".into()
            }
            _ => "line 1 has a quotation mark without its partner; correct it".into(),
        }));
    }
    if header::is_comment(&first, said) {
        return Ok(Found::Refused(comment(said)));
    }
    let first = match header::first_line(&first, said) {
        Ok(first) => first,
        Err(problem) => return Ok(Found::Refused(problem)),
    };
    if first.header {
        if let Err(problem) = pass_names(window, &dialect, &first.names)? {
            return Ok(Found::Refused(problem));
        }
    }
    of_rows(window, said, rows, (format, dialect), first)
}

/// What the rows hold. window: at the first of them.
fn of_rows(
    window: &mut Window,
    said: &Said,
    rows: u64,
    (format, dialect): (&'static str, Dialect),
    first: FirstLine,
) -> Result<Found, Error> {
    let mut found = Sampler::new(dialect, &first);
    let is_whole = found.read(window, rows)?;
    if format == "mysql" && said.format.is_none() && !found.escapes.are_mysqls() {
        let said = Said { format: Some("csv".into()), ..said.clone() };
        window.turn_to(&window.path.clone())?;
        return text(window, &said, rows);
    }
    if found.rows == 0 {
        return Ok(found.without_rows(first.header));
    }
    let unless_said = |value: String| if said.format.is_none() { value } else { String::new() };
    Ok(Found::Sample(Box::new(Sample {
        format,
        delimiter: (format != "ndjson").then_some(found.dialect.delimiter as char),
        header: first.header,
        no_header: first.why,
        rows: found.rows,
        complete: is_whole,
        escaped: unless_said(found.escaped),
        quoted: unless_said(found.quoted),
        problems: found.problems,
        columns: found.columns,
    })))
}

fn comment(said: &Said) -> String {
    let or = match said.header {
        None => "; or give --header yes if it names the columns, --header no if it is a row",
        Some(_) => "",
    };
    format!("line 1 is a comment, and a table would be made of it: give --comment '#'{or}")
}

/// The names of the members of so many objects, or those that are said; the window is at the first object again.
fn keys_of(window: &mut Window, dialect: &Dialect, said: &Said, rows: u64) -> Result<Vec<String>, Error> {
    if !said.columns.is_empty() {
        return Ok(said.columns.clone());
    }
    let (mut keys, mut fields) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let Some(found) = window.next_record(dialect, LINE_LIMIT_BYTES, &mut fields)? else { break };
        let (Split::Record { len, .. } | Split::Broken { len, .. }) = found else { break };
        json::add_keys(&window.bytes()[..len], &mut keys);
        window.pass(found, len, 1)?;
    }
    window.turn_to(&window.path.clone())?;
    window.begin(dialect.skip)?;
    Ok(keys)
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
        let names = if dialect.quoting == Quoting::Json { &dialect.keys } else { &first.names };
        let columns = names.iter().map(named).collect();
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
        if matches!(self.dialect.quoting, Quoting::Quotes | Quoting::Json) {
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
    fn without_rows(&self, header: bool) -> Found {
        let below = if header { " below its header" } else { "" };
        match self.problems.first() {
            None => Found::Empty(format!("has no rows{below}")),
            Some((line, reason)) => {
                Found::Refused(format!("none of its rows can be read; line {line}: {reason}"))
            }
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
