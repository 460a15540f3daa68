//! Files without a table in them, by their first bytes. Pure.

use serde_json::{Deserializer, Value};

use super::super::json;
use super::guess::{Head, DELIMITERS};
use super::{Said, HEAD_BYTES};

/// Why a file holds no table; `None` if it may.
pub fn no_table(head: &Head, said: &Said) -> Option<String> {
    let text = head.bytes;
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Some("is UTF-16: give --encoding utf-16".into());
    }
    if let Some(at) = text[..text.len().min(4096)].iter().position(|byte| *byte == 0) {
        let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        return Some(format!(
            "is not text: line {line} has a NUL; inrush reads CSV, TSV, MySQL text, JSON lines and Parquet"
        ));
    }
    if !text.contains(&b'\n') {
        if head.cut {
            let mib = HEAD_BYTES >> 20;
            return Some(format!(
                "line 1 is longer than {mib} MiB, and its columns are not found; give fewer columns"
            ));
        }
        if text.contains(&b'\r') {
            return Some("its lines end with CR only; convert it with tr '\\r' '\\n'".into());
        }
    }
    if said.format.is_none() && is_many(text) {
        return Some("some of its lines end with CR only; convert it with tr '\\r' '\\n'".into());
    }
    if said.format.is_none() && said.written.delimiter.is_none() && is_json(text) {
        return Some(
            "is JSON, and not an object on each line: jq -c '.[]' writes it so; or give --format csv if it is CSV".into(),
        );
    }
    None
}

/// The first line is several, which end with CR alone: all have as many of one delimiter.
fn is_many(text: &[u8]) -> bool {
    let first = text.split(|b| *b == b'\n').next().unwrap_or_default();
    let first = first.strip_suffix(b"\r").unwrap_or(first);
    let lines = || first.split(|b| *b == b'\r');
    let apart = |d: &u8| {
        let mut counts = lines().map(|line| line.iter().filter(|b| *b == d).count());
        counts.next().is_some_and(|count| count > 0 && counts.all(|other| other == count))
    };
    // Within quotes it is part of a text.
    first.contains(&b'\r') && !first.contains(&b'"') && DELIMITERS.iter().any(apart)
}

/// Lists in lines, objects behind one another, or a value over several lines: not an object on each line, nor a column of
/// objects beside others or of lists of numbers.
fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let first = text.split(|b| *b == b'\n').next().unwrap_or_default();
    if json::add_keys(first, &mut Vec::new()) {
        return false;
    }
    if !text.starts_with(b"{") && !text.starts_with(b"[") {
        return false;
    }
    if text.starts_with(b"{\n") || text.starts_with(b"[\n") {
        return true;
    }
    // Numbers to the writers of JSON, and none to its readers.
    let text = String::from_utf8_lossy(text).replace("NaN", "0  ").replace("Infinity", "0       ");
    let mut values = Deserializer::from_str(&text).into_iter::<Value>();
    let is_rows = match values.next() {
        Some(Ok(Value::Array(items))) => items.iter().any(|item| !item.is_number()),
        Some(Ok(_)) => true,
        Some(Err(e)) => return e.is_eof(),
        None => return false,
    };
    let (value, behind) = text.split_at(values.byte_offset());
    let behind = behind.lines().next().unwrap_or_default().trim_matches(' ');
    (is_rows || value.contains('\n')) && (behind.is_empty() || behind.starts_with('{'))
}
