//! Lists as SQLite keeps them: numbers as little-endian blobs of their own width, texts as an array of JSON.

use rusqlite::ffi;

use super::failure::Failure;
use inrush_rows::encode::lists::{list_texts, push_json, ListStyle};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, ListValues, Value, Values};
use inrush_rows::types::Holds;

/// Twin of `DECLARED` in `python/inrush/engines/sqlite`.
pub fn logical(declared: &str) -> Option<LogicalType> {
    Some(match declared {
        "BLOB BOOL" => LogicalType::ListBool,
        "BLOB I16" => LogicalType::ListI16,
        "BLOB I32" => LogicalType::ListI32,
        "BLOB U8" => LogicalType::ListU8,
        "BLOB U16" => LogicalType::ListU16,
        "BLOB U32" => LogicalType::ListU32,
        "BLOB U64" => LogicalType::ListU64,
        "BLOB F32" => LogicalType::ListF32,
        "TEXT LIST" => LogicalType::ListText,
        _ => return None,
    })
}

/// Bytes of an item; `None`: the list is text.
pub fn width(list: LogicalType) -> Option<usize> {
    match list.item()?.holds() {
        Holds::Truth => Some(1),
        Holds::Signed(bits) | Holds::Unsigned(bits) | Holds::Float(bits) => Some((bits / 8) as usize),
        _ => None,
    }
}

pub fn stored_as(list: LogicalType) -> i32 {
    if width(list).is_some() {
        ffi::SQLITE_BLOB
    } else {
        ffi::SQLITE_TEXT
    }
}

pub fn has_null(column: &str) -> Failure {
    let message = format!("column {column}: a list of numbers is a blob, which has no NULL in it");
    Failure { code: ffi::SQLITE_MISMATCH, message }
}

/// List `row`; `None`: it has a NULL in it, which a blob cannot say.
pub fn stored(list: &ListValues, ty: LogicalType, row: usize) -> Option<Vec<u8>> {
    let range = list.range(row);
    let Some(width) = width(ty) else {
        let mut one = ListValues::of(LogicalType::Text);
        one.append(list, row);
        return list_texts(&one, LogicalType::Text, ListStyle::Json).ok().map(|texts| texts.bytes);
    };
    if range.clone().any(|at| !list.is_present(at)) {
        return None;
    }
    let mut out = Vec::with_capacity(width * range.len());
    for at in range {
        let bits = match &*list.items {
            Values::I32(v) => v[at] as i64 as u64,
            Values::I64(v) => v[at] as u64,
            Values::F32(v) => v[at].to_bits().into(),
            Values::F64(v) => v[at].to_bits(),
            Values::Text(_) | Values::List(_) => unreachable!("texts are JSON, and no list holds lists"),
        };
        out.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Some(out)
}

/// Appends a stored list; `None`: its bytes are none.
pub fn push(list: &mut ListValues, ty: LogicalType, bytes: &[u8]) -> Option<()> {
    let Some(width) = width(ty) else {
        return push_json(list, LogicalType::Text, std::str::from_utf8(bytes).ok()?);
    };
    if !bytes.len().is_multiple_of(width) {
        return None;
    }
    let signed = matches!(ty, LogicalType::ListI16 | LogicalType::ListI32);
    for item in bytes.chunks_exact(width) {
        let fill = if signed && item[width - 1] & 0x80 != 0 { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..width].copy_from_slice(item);
        let bits = i64::from_le_bytes(wide);
        match &mut *list.items {
            Values::I32(v) => v.push(bits as i32),
            Values::I64(v) => v.push(bits),
            Values::F32(v) => v.push(f32::from_bits(bits as u32)),
            Values::F64(v) => v.push(f64::from_bits(bits as u64)),
            Values::Text(_) | Values::List(_) => return None,
        }
    }
    list.end();
    Some(())
}

/// As an answer has it; bytes that are no such list stay text.
pub fn value(bytes: &[u8], ty: LogicalType) -> Value {
    let mut column = Column::new("", ty);
    let Values::List(list) = &mut column.values else { unreachable!("this is a type of lists") };
    match push(list, ty, bytes) {
        Some(()) => column.value(0),
        None => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
