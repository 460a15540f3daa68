//! Whether the first line of a text names its columns, and what says so. Pure.

use super::guess::{usual, Record};
use super::kinds::is_value;
use super::Said;

pub struct FirstLine {
    pub header: bool,
    /// What decided, as words behind "line 1 is data, because".
    pub why: String,
    pub names: Vec<String>,
}

impl FirstLine {
    /// Of JSON lines, where each row has the names.
    pub fn of_keys() -> FirstLine {
        FirstLine { header: false, why: "each row names its columns".into(), names: Vec::new() }
    }
}

/// Errors: a line 1 that names columns and cannot be taken for it, in words behind the file's name.
pub fn first_line(records: &[Record], said: &Said) -> Result<FirstLine, String> {
    let first = &records[0].fields;
    let why = match said.header {
        Some(true) => String::new(),
        Some(false) => "--header no says so".into(),
        None => no_header(first),
    };
    if said.header.is_none() && !why.is_empty() && said.columns.is_empty() && over_values(records) {
        if let Some(problem) = unusable(first) {
            return Err(format!(
                "line 1 names columns, and {problem}: name each column once in the file; or --header no takes line 1 for \
                 data, with --columns NAME,… for their names"
            ));
        }
    }
    if why.is_empty() {
        if !said.columns.is_empty() {
            return Err(
                "--columns: line 1 is a header; leave --columns out, or give --header no if line 1 is data"
                    .into(),
            );
        }
        let names: Vec<String> = first.iter().map(|name| name.trim().to_string()).collect();
        if let Some(at) = names.iter().position(String::is_empty) {
            return Err(format!("line 1: column {} has no name; give each column one", at + 1));
        }
        return Ok(FirstLine { header: true, why, names });
    }
    if !said.columns.is_empty() && said.columns.len() != first.len() {
        return Err(format!(
            "--columns names {} columns, and line 1 has {}",
            said.columns.len(),
            first.len()
        ));
    }
    let numbered = || (1..=first.len()).map(|n| format!("c{n:02}")).collect::<Vec<_>>();
    let names = if said.columns.is_empty() { numbered() } else { said.columns.clone() };
    Ok(FirstLine { header: false, why, names })
}

/// What of the first line is no name of a column; empty where all are names.
fn no_header(first: &[String]) -> String {
    for field in first {
        let value = field.trim();
        if value.is_empty() || value == "\\N" {
            return "it has a field without a value".into();
        }
        if is_value(value.as_bytes()) {
            return format!("'{}' is a value", start_of(value));
        }
    }
    let twice = first.iter().find(|field| first.iter().filter(|f| f == field).count() > 1);
    twice.map_or_else(String::new, |field| format!("'{}' stands in it twice", start_of(field)))
}

/// What is wrong with a line that has no value, and could name columns but for this.
fn unusable(first: &[String]) -> Option<String> {
    let values: Vec<&str> = first.iter().map(|field| field.trim()).collect();
    let is_data = |value: &&str| *value == "\\N" || is_value(value.as_bytes());
    if values.iter().any(is_data) || values.iter().all(|value| value.is_empty()) {
        return None;
    }
    if let Some(at) = values.iter().position(|value| value.is_empty()) {
        return Some(format!("column {} has no name", at + 1));
    }
    let twice = values.iter().find(|value| values.iter().filter(|v| v == value).count() > 1);
    twice.map(|value| format!("two are named {}", start_of(value)))
}

/// Whether a word of the first row stands over nothing but numbers and times.
fn over_values(records: &[Record]) -> bool {
    let over = |at: usize| {
        let below = || records[1..].iter().filter_map(|r| r.fields.get(at).map(|f| f.trim()));
        let mut below = below().filter(|value| !value.is_empty()).peekable();
        below.peek().is_some() && below.all(|value| is_value(value.as_bytes()))
    };
    let first = &records[0].fields;
    first.iter().enumerate().any(|(at, word)| !word.trim().is_empty() && over(at))
}

/// Whether line 1 begins with a # and is no row of names above the rows, nor one of them.
pub fn is_comment(records: &[Record], said: &Said) -> bool {
    let hashed = records.iter().take_while(|r| r.is_hashed).count();
    if hashed == 0 {
        return false;
    }
    let first = &records[0].fields;
    let is_prose = first[0].starts_with("# ") || first[0].starts_with("##");
    let below = usual(records[hashed..].iter().map(|r| r.fields.len()));
    let is_other = below.is_some_and(|(_, fields)| fields != first.len());
    is_other || (said.header.is_none() && (is_prose || (hashed > 1 && below.is_some())))
}

fn start_of(text: &str) -> String {
    text.chars().take(40).collect()
}
