//! Files without a table in them, by their first bytes. Pure.

use serde_json::{Deserializer, Value};

use super::super::json;
use super::guess::Head;
use super::{Said, HEAD_BYTES};

/// Why a file holds no table; `None` if it may.
pub fn no_table(head: &Head, said: &Said) -> Option<String> {
    let text = head.bytes;
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Some("is UTF-16: give --encoding utf-16".into());
    }
    if text[..text.len().min(4096)].contains(&0) {
        return Some("is not text; inrush reads CSV, TSV, MySQL text, JSON lines and Parquet".into());
    }
    if !text.contains(&b'\n') {
        if head.cut {
            let mib = HEAD_BYTES >> 20;
            return Some(format!(
                "line 1 is longer than {mib} MiB, and its columns are not found; give fewer columns"
            ));
        }
        if text.trim_ascii_end().contains(&b'\r') {
            return Some("its lines end with CR only; convert it with tr '\\r' '\\n'".into());
        }
    }
    if said.format.is_none() && said.written.delimiter.is_none() && is_json(text) {
        return Some(
            "is JSON, and not an object on each line: jq -c '.[]' writes it so; or give --format csv if it is CSV".into(),
        );
    }
    None
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
