//! How a text file is to be read, and what its first rows hold: by the reader that stores them.
//!
//! Reading order: `dialect` (delimiter and format), `header` (whether line 1 names the columns), here (records by
//! `Window::judge`, as `text` takes them), `kinds` and `times` (what a value is). What type a column gets is decided over all
//! files of a table, in python/inrush/study/chosen.py.

mod dialect;
mod header;
mod kinds;
mod times;

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::parse::{instant_us, Reason};
use super::split::{unescaped, Dialect, Field, Quoting, Split};
use super::window::{names_of, Window, WINDOW_BYTES};
use super::LINE_LIMIT_BYTES;
use crate::error::Error;
use crate::plan::TimeForm;

use dialect::{Escapes, Head};
use kinds::{keeps, kind_of, null_word, DAY, ISO, KINDS, NULL_WORDS, QUOTED};

/// Bytes at the beginning of a file that decide on its format.
const HEAD_BYTES: usize = WINDOW_BYTES;
/// Characters of a value that are shown, and one more where it is longer.
const SHOWN_CHARS: usize = 41;
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
    /// (line, why it is no row) of the first that are none.
    pub problems: Vec<(u64, String)>,
}

#[derive(Debug, Default, Clone, Serialize)]
pub struct SampledColumn {
    pub name: String,
    /// Values that may be none: words for NULL, not in quotes.
    pub words: Vec<Seen>,
    pub kinds: Vec<Seen>,
    /// Characters of the longest value that is no such word.
    pub longest: usize,
    /// A value holds a NUL.
    pub nul: bool,
    /// The least time of each form (iso, dmy, mdy), µs since 1970.
    pub least_us: [Option<i64>; 3],
}

/// Values of one kind, or one word: how many, and the first.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Seen {
    /// Its number, or its place among the words for NULL.
    pub of: usize,
    pub count: u64,
    pub line: u64,
    pub value: String,
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

/// The first `rows` rows. Errors: a file that cannot be read.
pub fn sample(path: &Path, said: &Said, rows: u64) -> Result<Found, Error> {
    let window = Window::unread(&path.display().to_string())?;
    if is_other(window.bytes()) {
        return Ok(Found::Other);
    }
    let found = text(window, said, rows)?;
    Ok(found.map_or_else(Found::Refused, |sample| Found::Sample(Box::new(sample))))
}

fn is_other(head: &[u8]) -> bool {
    let starts = [&b"PAR1"[..], b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"];
    starts.iter().any(|start| head.starts_with(start))
}

fn text(mut window: Window, said: &Said, rows: u64) -> Result<Result<Sample, String>, Error> {
    window.begin()?;
    window.fill(HEAD_BYTES)?;
    let bytes = window.bytes();
    let bytes = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = Head { bytes, cut: !window.is_whole() || bytes.len() == HEAD_BYTES, crlf: window.crlf };
    if let Some(what) = no_table(&head, said) {
        return Ok(Err(what));
    }
    let (format, dialect) = dialect::find(&head, said.format.as_deref());
    let first = dialect::records(&head, &dialect);
    if first.is_empty() {
        return Ok(Err(
            "line 1 is no row: it has a quote that does not end it; give it as it is to be read".into()
        ));
    }
    if header::is_comment(&first, said) {
        return Ok(Err(
            "line 1 is a comment, and a table would be made of it; take lines that begin with # out, for instance by \
             grep -v '^#'"
                .into(),
        ));
    }
    let first = match header::first_line(&first, said) {
        Ok(first) => first,
        Err(problem) => return Ok(Err(problem)),
    };
    let again = window.path.clone();
    if first.header {
        let mut fields = Vec::new();
        let found = window.next_record(&dialect, LINE_LIMIT_BYTES, &mut fields)?;
        let is_whole = matches!(found, Some(Split::Record { .. }));
        if !is_whole || names_of(&dialect, window.bytes(), &fields) != first.names {
            return Ok(Err("line 1 is blank, or has a quote that does not end it, and the names stand below it; take it out"
                .into()));
        }
        window.header(&dialect, LINE_LIMIT_BYTES, &mut fields)?;
    }
    let mut found = Sampler::new(dialect, first.names.len());
    let is_whole = found.read(&mut window, rows)?;
    if format == "mysql" && said.format.is_none() && !found.escapes.are_mysqls() {
        let said = Said { format: Some("csv".into()), ..said.clone() };
        return text(Window::unread(&again)?, &said, rows);
    }
    if found.rows == 0 {
        return Ok(Err(found.without_rows(first.header)));
    }
    let escaped = found.columns.iter().map(|c| &c.escaped).find(|e| !e.is_empty());
    Ok(Ok(Sample {
        format,
        delimiter: found.dialect.delimiter as char,
        header: first.header,
        no_header: first.why,
        rows: found.rows,
        complete: is_whole,
        escaped: escaped.filter(|_| said.format.is_none()).cloned().unwrap_or_default(),
        problems: found.problems,
        columns: found.columns.into_iter().zip(first.names).map(|(c, name)| c.named(name)).collect(),
    }))
}

/// What a file without a table in it is; `None` of others.
fn no_table(head: &Head, said: &Said) -> Option<String> {
    let text = head.bytes;
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Some("is UTF-16, and inrush reads UTF-8: iconv -f UTF-16 -t UTF-8 turns it round".into());
    }
    if text.trim_ascii().is_empty() {
        return Some("is empty; give a file with rows".into());
    }
    if text[..text.len().min(4096)].contains(&0) {
        return Some("is not text; inrush reads CSV, TSV, MySQL text and Parquet".into());
    }
    if !text.contains(&b'\n') {
        if head.cut {
            let mib = HEAD_BYTES >> 20;
            return Some(format!(
                "line 1 is longer than {mib} MiB, and its columns are not found; give fewer columns"
            ));
        }
        if text.trim_ascii_end().contains(&b'\r') {
            return Some(
                "its lines end with a carriage return alone: tr '\\r' '\\n' gives them line ends".into(),
            );
        }
    }
    if said.format.is_none() && is_json(text) {
        return Some(
            "is JSON, and inrush reads CSV, TSV, MySQL text and Parquet; write its rows as one of these"
                .into(),
        );
    }
    None
}

/// One object in each line, or an array of rows.
fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    if !text.starts_with(b"{") && !text.starts_with(b"[") {
        return false;
    }
    let line = text.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
    if line == b"{" || line == b"[" || (line[0] == b'[' && line[1..].trim_ascii_start().starts_with(b"{")) {
        return true;
    }
    match serde_json::from_slice::<serde_json::Value>(line) {
        Ok(serde_json::Value::Object(_)) => true,
        Ok(serde_json::Value::Array(items)) => items.iter().any(|item| !item.is_number()),
        _ => false,
    }
}

/// What the rows of a file hold so far.
struct Sampler {
    dialect: Dialect,
    columns: Vec<Counted>,
    rows: u64,
    problems: Vec<(u64, String)>,
    escapes: Escapes,
}

/// Of one column; kinds and words by their numbers.
struct Counted {
    kinds: Vec<Seen>,
    words: [Seen; NULL_WORDS.len()],
    of: SampledColumn,
    escaped: String,
}

impl Sampler {
    fn new(dialect: Dialect, columns: usize) -> Sampler {
        let column = || Counted {
            kinds: vec![Seen::default(); KINDS],
            words: Default::default(),
            of: SampledColumn::default(),
            escaped: String::new(),
        };
        let columns = (0..columns).map(|_| column()).collect();
        Sampler { dialect, columns, rows: 0, problems: Vec::new(), escapes: Escapes::default() }
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
            for (field, column) in fields.iter().zip(&mut self.columns) {
                column.add(&dialect, bytes, *field, line, &mut scratch);
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

impl Counted {
    fn add(&mut self, dialect: &Dialect, record: &[u8], field: Field, line: u64, scratch: &mut Vec<u8>) {
        let raw = &record[field.start..field.end];
        let quotes = dialect.quoting == Quoting::Quotes;
        let word = if field.quoted || (!quotes && raw != dialect.null) { None } else { null_word(raw) };
        if let Some(word) = word {
            return self.words[word].add(word, line, raw);
        }
        let text = unescaped(dialect, record, field, scratch);
        if !quotes && self.escaped.is_empty() && raw.contains(&b'\\') {
            self.escaped = String::from_utf8_lossy(raw).into_owned();
        }
        if field.quoted && null_word(text).is_some() {
            return self.kinds[QUOTED].add(QUOTED, line, &record[field.start - 1..=field.end]);
        }
        let kind = kind_of(text);
        self.kinds[kind].add(kind, line, text);
        let chars = text.len() - text.iter().filter(|b| **b & 0xc0 == 0x80).count();
        self.of.longest = self.of.longest.max(chars);
        self.of.nul |= dialect.quoting == Quoting::MysqlEscapes && text.contains(&0);
        for (place, form) in forms_of(kind) {
            if let Some(us) = instant_us(text, form) {
                let least = &mut self.of.least_us[place];
                *least = Some(least.map_or(us, |known| known.min(us)));
            }
        }
    }

    fn named(self, name: String) -> SampledColumn {
        let seen = |all: Vec<Seen>| all.into_iter().filter(|seen| seen.count > 0).collect();
        SampledColumn { name, kinds: seen(self.kinds), words: seen(self.words.into()), ..self.of }
    }
}

/// In which a time of this kind may be written, with their places in `least_us`.
fn forms_of(kind: usize) -> impl Iterator<Item = (usize, TimeForm)> {
    let order = kind.checked_sub(DAY).map(|of| of / times::KINDS);
    let forms = [
        ((ISO..DAY).contains(&kind), TimeForm::Iso),
        (matches!(order, Some(0 | 2)), TimeForm::Dmy),
        (matches!(order, Some(1 | 2)), TimeForm::Mdy),
    ];
    forms.into_iter().enumerate().filter(|(_, (has, _))| *has).map(|(place, (_, form))| (place, form))
}

impl Seen {
    fn add(&mut self, of: usize, line: u64, value: &[u8]) {
        self.count += 1;
        if self.count == 1 {
            let shown = String::from_utf8_lossy(&value[..value.len().min(4 * SHOWN_CHARS)]);
            (self.of, self.line, self.value) = (of, line, shown.chars().take(SHOWN_CHARS).collect());
        }
    }
}

/// How a file is read, and which of its columns are floats.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floats {
    pub path: String,
    pub format: String,
    pub delimiter: String,
    pub header: bool,
    /// Fields of a row.
    pub fields: usize,
    /// (place, of 32 bits)
    pub columns: Vec<(usize, bool)>,
}

/// Of each of these columns, how many values are other numbers as floats: every row of the file is read.
pub fn rounded(of: &Floats) -> Result<Vec<u64>, Error> {
    let (_, dialect) = dialect::of_format(&of.format, *of.delimiter.as_bytes().first().unwrap_or(&b','));
    let mut window = Window::unread(&of.path)?;
    window.begin()?;
    if of.header {
        window.header(&dialect, LINE_LIMIT_BYTES, &mut Vec::new())?;
    }
    let (mut counts, mut scratch) = (vec![0; of.columns.len()], Vec::new());
    each_row(&mut window, &dialect, of.fields, |_, record| {
        let Ok((bytes, fields)) = record else { return true };
        for (count, (at, single)) in counts.iter_mut().zip(&of.columns) {
            let kept = keeps(unescaped(&dialect, bytes, fields[*at], &mut scratch), *single);
            *count += u64::from(!kept);
        }
        true
    })?;
    Ok(counts)
}

#[cfg(test)]
mod tests;
