//! Random rows, and their text in every format.

use std::path::Path;

use inrush_rows::plan::{LogicalType, RowSource, TablePlan};
use inrush_rows::rows::Value;
use proptest::prelude::*;
use tempfile::TempDir;

use super::tables::table;

pub fn all_types() -> &'static [(&'static str, LogicalType)] {
    &[
        ("id", LogicalType::I64),
        ("bool", LogicalType::Bool),
        ("i16", LogicalType::I16),
        ("i32", LogicalType::I32),
        ("u64", LogicalType::U64),
        ("f32", LogicalType::F32),
        ("f64", LogicalType::F64),
        ("ms", LogicalType::TimeMs),
        ("us", LogicalType::TimeUs),
        ("text", LogicalType::Text),
        ("floats", LogicalType::ListF64),
        ("ints", LogicalType::ListI64),
    ]
}

pub const YEAR_1_MS: i64 = -62_135_596_800_000;
pub const YEAR_9999_MS: i64 = 253_402_300_799_999;

pub fn a_row() -> impl Strategy<Value = Vec<Value>> {
    let float = any::<f64>().prop_filter("NaN equals nothing", |f| !f.is_nan());
    let single = any::<f32>().prop_filter("NaN equals nothing", |f| !f.is_nan());
    let text = prop_oneof![
        any::<String>().prop_map(|t| t.replace('\0', "0")),
        "[a-z,;|\"\\\\\t\r\n ]{0,12}",
        Just("\\N".to_string()),
        Just("NA".to_string()),
        Just(String::new()),
    ];
    (
        any::<i64>(),
        or_null(any::<bool>().prop_map(Value::Bool)),
        or_null(any::<i16>().prop_map(|n| Value::I64(n.into()))),
        or_null(any::<i32>().prop_map(|n| Value::I64(n.into()))),
        or_null(any::<u64>().prop_map(Value::U64)),
        or_null(single.prop_map(|f| Value::F64(f.into()))),
        or_null(float.clone().prop_map(Value::F64)),
        or_null((YEAR_1_MS..=YEAR_9999_MS).prop_map(Value::TimeMs)),
        or_null((YEAR_1_MS * 1000..=YEAR_9999_MS * 1000).prop_map(Value::TimeUs)),
        or_null(text.prop_map(Value::Text)),
        or_null(prop::collection::vec(float, 0..4).prop_map(Value::ListF64)),
        or_null(prop::collection::vec(any::<i64>(), 0..4).prop_map(Value::ListI64)),
    )
        .prop_map(|(id, b, i16_, i32_, u, f, d, ms, us, text, floats, ints)| {
            vec![Value::I64(id), b, i16_, i32_, u, f, d, ms, us, text, floats, ints]
        })
}

pub fn or_null(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![4 => value, 1 => Just(Value::Null)]
}

#[derive(Debug, Clone)]
pub struct Style {
    pub format: &'static str,
    pub delimiter: u8,
    pub crlf: bool,
    pub header: bool,
    pub null: Option<&'static str>,
    pub quote_all: bool,
    pub iso_times: bool,
    pub final_line_end: bool,
    pub quote: char,
    /// Quotes inside quotes stand behind a backslash.
    pub escape: bool,
    /// A decimal comma, and points between three digits.
    pub marks: bool,
    /// A comment before each row, and before the header two lines that are skipped.
    pub notes: bool,
}

pub fn a_style() -> impl Strategy<Value = Style> {
    (
        prop::sample::select(&["csv", "csv", "tsv", "mysql", "ndjson"][..]),
        prop::sample::select(&b",;|\t"[..]),
        any::<(bool, bool, bool, bool, bool)>(),
        prop::sample::select(&[None, Some("NA"), Some("\\N")][..]),
        prop::sample::select(&['"', '\''][..]),
        any::<(bool, bool, bool)>(),
    )
        .prop_map(|(format, delimiter, flags, null, quote, (escape, marks, notes))| {
            let (crlf, header, quote_all, iso_times, final_line_end) = flags;
            Style {
                format,
                delimiter,
                crlf: crlf && format == "csv",
                header: header && format != "ndjson",
                null: if format == "csv" { null } else { None },
                quote_all,
                iso_times,
                final_line_end,
                quote: if format == "csv" { quote } else { '"' },
                escape: escape && format == "csv",
                marks: marks && format != "ndjson" && delimiter != b',',
                notes,
            }
        })
}

impl Style {
    pub fn table(
        &self,
        dir: &TempDir,
        paths: &[&Path],
        columns: &[(&str, LogicalType)],
        required: &[&str],
    ) -> TablePlan {
        let mut plan = table(dir, paths, columns, required, self.format, self.null);
        let RowSource::Files { written, header, .. } = &mut plan.source else { unreachable!() };
        if self.format != "ndjson" {
            written.delimiter = Some((self.delimiter as char).to_string());
        }
        written.quote = (self.quote != '"').then(|| self.quote.to_string());
        written.escape = self.escape.then(|| "\\".into());
        written.decimal = self.marks.then(|| ",".into());
        written.thousands = self.marks.then(|| ".".into());
        written.comment = self.notes.then(|| "#".into());
        written.skip = if self.notes && self.header { 2 } else { 0 };
        *header = self.header;
        plan
    }

    fn null_text(&self) -> &'static str {
        self.null.unwrap_or(if self.format == "csv" { "" } else { "\\N" })
    }

    fn field(&self, value: &Value) -> String {
        let text = match value {
            Value::Null => return self.null_text().into(),
            Value::Text(text) => text.clone(),
            Value::I64(_) | Value::U64(_) | Value::F64(_) if self.marks => {
                marked(&plain(value, self.iso_times))
            }
            other => plain(other, self.iso_times),
        };
        if self.format == "csv" {
            let quote = self.quote;
            let special =
                text.contains([self.delimiter as char, quote, '\n', '\r']) || text == self.null_text();
            return if special || self.quote_all {
                let inner = if self.escape {
                    text.replace('\\', "\\\\").replace(quote, &format!("\\{quote}"))
                } else {
                    text.replace(quote, &format!("{quote}{quote}"))
                };
                format!("{quote}{inner}{quote}")
            } else {
                text
            };
        }
        let mut escaped = String::new();
        for c in text.chars() {
            match c {
                '\\' => escaped += "\\\\",
                '\n' if self.quote_all => escaped += "\\\n",
                '\n' => escaped += "\\n",
                '\r' => escaped += "\\r",
                '\t' => escaped += "\\t",
                '\u{8}' => escaped += "\\b",
                c if c as u32 == u32::from(self.delimiter) => escaped.extend(['\\', c]),
                c => escaped.push(c),
            }
        }
        escaped
    }
}

pub fn written(rows: &[Vec<Value>], style: &Style) -> Vec<u8> {
    let end = if style.crlf { "\r\n" } else { "\n" };
    let delimiter = (style.delimiter as char).to_string();
    let mut text = String::new();
    if style.header && style.notes {
        text += &format!("made by \"x{end}{end}");
    }
    if style.header {
        let names: Vec<&str> = all_types().iter().map(|(name, _)| *name).collect();
        text += &(names.join(&delimiter) + end);
    }
    for row in rows {
        if style.notes {
            text += &format!("# \"a note{end}");
        }
        let line = match style.format {
            "ndjson" => object(row, style),
            _ => row.iter().map(|v| style.field(v)).collect::<Vec<_>>().join(&delimiter),
        };
        text += &(line + end);
    }
    if !style.final_line_end && rows.len() > 1 {
        text.truncate(text.len() - end.len());
    }
    text.into_bytes()
}

/// A number with a decimal comma and points between three digits.
fn marked(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return number.into();
    }
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    let fraction = fraction.map_or(String::new(), |f| format!(",{f}"));
    format!("{sign}{}{fraction}", groups.join("."))
}

/// A row as JSON, its members from the last to the first where all texts are in quotes. What is no number to JSON is a text.
fn object(row: &[Value], style: &Style) -> String {
    let member = |((name, _), value): (&(&str, LogicalType), &Value)| {
        let text = match value {
            Value::Null if style.quote_all => return None,
            Value::Null => "null".into(),
            Value::Text(text) => serde_json::to_string(text).unwrap(),
            other => plain(other, style.iso_times),
        };
        let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        let text = if is_json { text } else { serde_json::to_string(&text).unwrap() };
        Some(format!("\"{name}\": {text}"))
    };
    let mut members: Vec<String> = all_types().iter().zip(row).filter_map(member).collect();
    if style.quote_all {
        members.reverse();
    }
    format!("{{{}}}", members.join(", "))
}

pub fn plain(value: &Value, iso_times: bool) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    match value {
        Value::Bool(b) => b.to_string(),
        Value::I64(n) => n.to_string(),
        Value::U64(n) => n.to_string(),
        Value::F64(f) => f.to_string(),
        Value::TimeMs(t) if iso_times => iso(*t, 1000, 3),
        Value::TimeUs(t) if iso_times => iso(*t, 1_000_000, 6),
        Value::TimeMs(t) | Value::TimeUs(t) => t.to_string(),
        Value::ListF64(items) => list(items.iter().map(f64::to_string).collect()),
        Value::ListI64(items) => list(items.iter().map(i64::to_string).collect()),
        Value::List(_) => unreachable!("no file is read as such a list"),
        Value::Null | Value::Text(_) => unreachable!("written by the format"),
    }
}

/// By counting days year by year: slow, and not the reader's way.
pub fn iso(t: i64, per_second: i64, digits: usize) -> String {
    let (seconds, fraction) = (t.div_euclid(per_second), t.rem_euclid(per_second));
    let (mut days, second) = (seconds.div_euclid(86_400) + 719_162, seconds.rem_euclid(86_400));
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let mut year = 1;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!(
        "{year:04}-{:02}-{:02} {:02}:{:02}:{:02}.{fraction:0digits$}",
        month + 1,
        days + 1,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}
