//! How a text writes its rows, by its first lines: the delimiter that splits them most evenly, `\N` for escapes. Pure.

use super::super::dialect::Dialect;
use super::super::escapes::unescaped;
use super::super::json;
use super::super::parse::Reason;
use super::super::split::{split, Around, Field, Split};
use crate::plan::WrittenAs;

/// Records that decide.
const RECORDS: usize = 200;
/// Of two that split as evenly, the first is taken.
pub const DELIMITERS: [u8; 4] = *b",\t;|";
const MYSQL: &str = "mysql";
const JSON: &str = "ndjson";

/// The first bytes of a file.
pub struct Head<'a> {
    pub bytes: &'a [u8],
    /// They end in the middle of the file.
    pub cut: bool,
    pub crlf: bool,
}

/// A record of the first lines; `fields` as the reader gives them.
pub struct Record {
    pub fields: Vec<String>,
    /// It begins with a #, without a quote before.
    pub is_hashed: bool,
}

/// Format by its name, and how it is split. written: what is said of it; a quote or an escape says that it is CSV. Errors: what
/// cannot be written so.
pub fn find(head: &Head, said: Option<&str>, written: &WrittenAs) -> Result<(&'static str, Dialect), String> {
    let of_csv = Dialect::new("csv", written)?;
    let said = said.or_else(|| (written.quote.is_some() || written.escape.is_some()).then_some("csv"));
    let is_json = || is_object(head, &of_csv);
    match said {
        Some(MYSQL) => return Ok((MYSQL, Dialect::new(MYSQL, written)?)),
        Some(JSON) => return Ok((JSON, Dialect::new(JSON, written)?)),
        None if written.delimiter.is_none() && is_json() => {
            return Ok((JSON, Dialect::new(JSON, written)?));
        }
        _ => {}
    }
    let delimiter = match written.delimiter {
        Some(_) => of_csv.delimiter,
        None => {
            // What has another meaning in this file stands between no fields.
            let marks = of_csv.marks.as_ref();
            let decimal = marks.map(|m| m.decimal);
            let thousands = marks.and_then(|m| m.thousands.first().copied());
            let taken = [of_csv.quote, of_csv.escape, Some(of_csv.comment), decimal, thousands];
            let even = |d: &u8| evenness(head, &Dialect { delimiter: *d, ..of_csv.clone() });
            let free = || DELIMITERS.into_iter().filter(|d| !taken.contains(&Some(*d)));
            // `max_by_key` takes the last of several.
            let best = free().rev().max_by_key(even).unwrap_or(b',');
            let of_one_column = even(&best).1 == 0;
            // Quotes are a part of its values: they break no row.
            let of_tsv = Dialect { quote: None, ..Dialect::new("tsv", &WrittenAs::default())? };
            // Of many small files most have no tab, and none is split once more for it.
            let may_be_tsv = said != Some("csv") && free().any(|d| d == b'\t') && head.bytes.contains(&b'\t');
            let is_tsv = may_be_tsv
                && !is_even(head, &Dialect { delimiter: best, ..of_csv.clone() })
                && is_even(head, &of_tsv);
            if of_one_column && !is_tsv {
                all_apart_by(head, &of_csv, &taken)?;
                free()
                    .try_for_each(|d| no_quotes_within(head, &Dialect { delimiter: d, ..of_csv.clone() }))?;
            }
            // A tab would say that the format is another one.
            if is_tsv {
                b'\t'
            } else if of_one_column {
                free().find(|d| *d != b'\t').unwrap_or(best)
            } else {
                best
            }
        }
    };
    let format = match said {
        Some("tsv") => "tsv",
        Some(_) => "csv",
        None => format_of(head, delimiter),
    };
    Ok((format, Dialect { delimiter, ..Dialect::new(format, written)? }))
}

/// Errors: a mark of another meaning parts all lines into as many fields, and nothing else does.
fn all_apart_by(head: &Head, dialect: &Dialect, taken: &[Option<u8>]) -> Result<(), String> {
    for mark in DELIMITERS.into_iter().filter(|d| taken.contains(&Some(*d))) {
        let own = Dialect { delimiter: mark, marks: None, ..dialect.clone() };
        let lines = of_records(head, &own, |_, fields| fields.len());
        if usual(lines.iter().copied()).is_some_and(|(count, number)| number > 1 && count == lines.len()) {
            let mark = mark as char;
            return Err(format!(
                "its lines are apart by {mark:?}, and an option gives that another meaning; say what is between fields by --delimiter"
            ));
        }
    }
    Ok(())
}

/// Half of the lines at least have the most frequent number of fields above one, and no quote inside a field.
fn is_even(head: &Head, dialect: &Dialect) -> bool {
    let lines = of_records(head, dialect, |_, _| ()).len();
    lines > 0 && 2 * evenness(head, dialect).0 >= lines
}

/// Errors: all lines have as many fields, if their quotes are no more than text; as quotes they break rows.
fn no_quotes_within(head: &Head, dialect: &Dialect) -> Result<(), String> {
    let plain = Dialect { quote: None, escape: None, ..dialect.clone() };
    let lines = of_records(head, &plain, |_, fields| fields.len());
    let whole = of_records(head, dialect, |_, _| ()).len();
    let quotes = |line: &[u8]| line.iter().filter(|byte| Some(**byte) == dialect.quote).count();
    // A line with an odd number of them lacks one, which is another fault.
    let are_paired =
        lines.len() > 1 && head.bytes.split(|byte| *byte == b'\n').all(|line| quotes(line) % 2 == 0);
    match usual(lines.iter().copied()) {
        Some((count, number)) if are_paired && number > 1 && count == lines.len() && whole < count => Err(format!(
            "its lines are apart by {:?}, and quotes within quotes are not doubled; say what stands before them by --escape, or \
             --quote none",
            dialect.delimiter as char
        )),
        _ => Ok(()),
    }
}

/// The first line that is no comment is a JSON object.
fn is_object(head: &Head, dialect: &Dialect) -> bool {
    let lines = head.bytes.split(|b| *b == b'\n');
    let mut lines = lines.filter(|line| !dialect.passes(line) && !line.trim_ascii().is_empty());
    lines.next().is_some_and(|line| json::add_keys(line, &mut Vec::new()))
}

/// Those that are whole, without blank lines.
pub fn records(head: &Head, dialect: &Dialect) -> Vec<Record> {
    let mut scratch = Vec::new();
    of_records(head, dialect, |record, fields| {
        let mut text =
            |f: &Field| String::from_utf8_lossy(unescaped(dialect, record, *f, &mut scratch)).into_owned();
        Record { fields: fields.iter().map(&mut text).collect(), is_hashed: record[0] == b'#' }
    })
}

/// Why the first of them is none.
pub fn broken(head: &Head, dialect: &Dialect) -> Option<Reason> {
    let around = Around { last: !head.cut, crlf: head.crlf, given_up: false };
    match split(dialect, head.bytes, around, &mut Vec::new()) {
        Split::Broken { reason, .. } => Some(reason),
        _ => None,
    }
}

/// What `of` makes of each of them.
fn of_records<T>(head: &Head, dialect: &Dialect, mut of: impl FnMut(&[u8], &[Field]) -> T) -> Vec<T> {
    let (mut found, mut fields) = (Vec::new(), Vec::<Field>::new());
    let (mut rest, mut given_up) = (head.bytes, false);
    while !rest.is_empty() && found.len() < RECORDS {
        if dialect.passes(rest) {
            rest = &rest[rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1)..];
            continue;
        }
        let around = Around { last: !head.cut, crlf: head.crlf, given_up };
        let split = split(dialect, rest, around, &mut fields);
        given_up = matches!(split, Split::Broken { .. });
        let len = match split {
            Split::More => break,
            Split::Broken { len, .. } => len,
            Split::Record { len, .. } => {
                let is_blank = fields.len() == 1 && fields[0].start == fields[0].end && !fields[0].quoted;
                if !is_blank {
                    found.push(of(rest, &fields));
                }
                len
            }
        };
        rest = &rest[len..];
    }
    found
}

/// (records with the most frequent number of fields above one that have no quote inside a field, those that have one too, that
/// number): of `1,"a;b;c"` the quotes say that `;` is none.
fn evenness(head: &Head, dialect: &Dialect) -> (usize, usize, usize) {
    let is_odd = |record: &[u8], f: &Field| {
        !f.quoted && record[f.start..f.end].iter().any(|b| Some(*b) == dialect.quote)
    };
    let found = of_records(head, dialect, |record, fields| {
        (fields.len(), fields.iter().any(|field| is_odd(record, field)))
    });
    let many = || found.iter().filter(|(fields, _)| *fields > 1);
    let Some((count, number)) = usual(many().map(|(fields, _)| *fields)) else { return (0, 0, 1) };
    (many().filter(|(fields, is_odd)| *fields == number && !is_odd).count(), count, number)
}

/// (how often the most frequent number is there, that number); of several the first.
pub fn usual(numbers: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut counts = Vec::<(usize, usize)>::new();
    for number in numbers {
        match counts.iter_mut().find(|(_, known)| *known == number) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, number)),
        }
    }
    counts.into_iter().rev().max_by_key(|(count, _)| *count)
}

fn format_of(head: &Head, delimiter: u8) -> &'static str {
    if delimiter == b'\t' {
        return "tsv";
    }
    let lines = || head.bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).take(RECORDS);
    let parts = |line| parts(line, delimiter);
    let mut escapes = Escapes::default();
    lines().flat_map(parts).for_each(|field| escapes.add(field));
    // CSV may write NULL like that too, or mean the text; a file that quotes does not escape.
    let is_mysqls = lines().flat_map(parts).any(|f| f == b"\\N")
        && !lines().any(|line| has_quotes(parts(line)))
        && escapes.are_mysqls();
    if is_mysqls {
        MYSQL
    } else {
        "csv"
    }
}

fn parts(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    line.strip_suffix(b"\r").unwrap_or(line).split(move |b| *b == delimiter)
}

/// Whether a field of these is in quotes: several parts, where the delimiter stands in it. MySQL has a \ in front of that one.
fn has_quotes<'a>(parts: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut is_open = false;
    for part in parts {
        if is_in_quotes(part) || (is_open && part.ends_with(b"\"")) {
            return true;
        }
        is_open = (is_open || part.starts_with(b"\"")) && !part.ends_with(b"\\");
    }
    false
}

pub fn is_in_quotes(field: &[u8]) -> bool {
    field.len() > 1 && field.starts_with(b"\"") && field.ends_with(b"\"")
}

/// Fields with backslashes, by whether MySQL writes such ones.
#[derive(Default)]
pub struct Escapes {
    written: u64,
    others: u64,
}

impl Escapes {
    pub fn add(&mut self, field: &[u8]) {
        if field.contains(&b'\\') && field != b"\\N" {
            *(if is_written(field) { &mut self.written } else { &mut self.others }) += 1;
        }
    }

    /// Whether backslashes escape in most fields that have some.
    pub fn are_mysqls(&self) -> bool {
        self.others == 0 || self.written > self.others
    }
}

/// MySQL writes a backslash only in front of what would not come back without one: no `C:\temp`, that is `C:\\temp` there.
fn is_written(field: &[u8]) -> bool {
    let mut rest = field;
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        match rest.get(at + 1) {
            None => return true,
            Some(b) if b"N0\\,;|\"'\t\n\r".contains(b) => rest = &rest[at + 2..],
            Some(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (&'static str, char) {
        let head = Head { bytes: text.as_bytes(), cut: false, crlf: false };
        let (format, dialect) = find(&head, None, &WrittenAs::default()).unwrap();
        (format, dialect.delimiter as char)
    }

    #[test]
    fn the_delimiter_that_splits_every_line_into_the_most_fields_is_found() {
        for (text, delimiter) in [
            ("k,v\n1;2,3\n", ','),
            ("k;v,w\n1;2,3\n", ','),
            ("k;v;w,x\n1;2;3,y\n", ';'),
            ("1,\"a;b;c\"\n2,\"d;e;f\"\n", ','),
            ("\"a;b;c\",1\n\"d;e;f\",2\n", ','),
            ("a\nb\n", ','),
            ("a|b\nc|d\n", '|'),
            ("a,b\n1,2\nx;y;z\n", ','),
            ("1\t\"a;b\tc\n2\tx\t\"\n3\ty;\tz\n", '\t'),
        ] {
            assert_eq!(found(text).1, delimiter, "{text}");
        }
    }

    #[test]
    fn quotes_that_break_every_row_of_a_delimiter_make_no_table_of_one_column() {
        let find = |text: &str| {
            find(&Head { bytes: text.as_bytes(), cut: false, crlf: false }, None, &WrittenAs::default())
        };
        assert!(find("1;\"the \"b\" c\"\n2;\"d \"e\" f\"\n").unwrap_err().contains("apart by ';'"));
        for text in ["\"a;b\"\n\"c;d\"\n", "say \"a\"\nsay \"b\"\n", "5\" a;b\nc\n"] {
            assert_eq!(find(text).unwrap().0, "csv", "{text}");
        }
    }

    #[test]
    fn what_escapes_quotes_nothing() {
        assert_eq!(found("1,\\N\n"), ("mysql", ','));
        assert_eq!(found("1,2\n"), ("csv", ','));
        assert_eq!(found("\"1\",\\N\n"), ("csv", ','));
        assert_eq!(found("id,name\n1,\\N\n2,\"x,y\"\n"), ("csv", ','));
        assert_eq!(found("\"1\"\t\\N\n"), ("tsv", '\t'));
        // A quote that begins a text and does not end one quotes nothing, and a delimiter is escaped in MySQL's.
        assert_eq!(found("1,\\N,\"\n2,x,\"five\n"), ("mysql", ','));
        assert_eq!(found("1,\\N,\"a\\,b\"\n"), ("mysql", ','));
        assert_eq!(found("C:\\temp,\\N\n").0, "csv");
        assert_eq!(found("C:\\\\temp,\\N\n").0, "mysql");
    }
}
