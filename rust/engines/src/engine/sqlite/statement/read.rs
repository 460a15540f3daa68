//! What the current row of a statement holds: as values of an answer, or into columns.

use std::ffi::c_int;

use rusqlite::ffi;

use super::{text_of, Statement};
use crate::engine::sqlite::lists;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, ListValues, Value, Values};
use inrush_rows::types::hex::text_or_digits;

// Lists are stored as their items' bytes, and those are read back on any machine.
const _: () = assert!(cfg!(target_endian = "little"), "lists are stored as little-endian items");

impl Statement {
    /// What the answer's columns mean, where they are columns of a table: its declared types say so.
    pub fn declared(&self) -> Vec<Option<LogicalType>> {
        // SAFETY: as in `names`.
        let declared = |k| unsafe { text_of(ffi::sqlite3_column_decltype(self.raw, k as c_int)) };
        (0..self.columns()).map(|k| declared(k).and_then(|name| logical(&name))).collect()
    }

    /// Bytes of the current row: 8 for a number, the length of a text.
    pub fn row_bytes(&self) -> u64 {
        // SAFETY: the statement stands on a row; a type is read before any conversion.
        let bytes = |k| unsafe {
            match ffi::sqlite3_column_type(self.raw, k) {
                ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT => 8,
                ffi::SQLITE_NULL => 0,
                _ => ffi::sqlite3_column_bytes(self.raw, k) as u64,
            }
        };
        (0..self.columns() as c_int).map(bytes).sum()
    }

    /// Cell `k` of the current row.
    pub fn value(&self, k: usize, ty: Option<LogicalType>) -> Value {
        let col = k as c_int;
        // SAFETY: the statement stands on a row and `k` is one of its columns.
        match unsafe { ffi::sqlite3_column_type(self.raw, col) } {
            ffi::SQLITE_NULL => Value::Null,
            ffi::SQLITE_INTEGER => {
                let v = unsafe { ffi::sqlite3_column_int64(self.raw, col) };
                match ty {
                    Some(LogicalType::Bool) => Value::Bool(v != 0),
                    Some(LogicalType::U64) => Value::U64(v as u64),
                    Some(LogicalType::TimeMs) => Value::TimeMs(v),
                    Some(LogicalType::TimeUs) => Value::TimeUs(v),
                    _ => Value::I64(v),
                }
            }
            ffi::SQLITE_FLOAT => Value::F64(unsafe { ffi::sqlite3_column_double(self.raw, col) }),
            _ => match (self.bytes(col), ty) {
                (bytes, Some(LogicalType::ListF64)) => {
                    Value::ListF64(words(bytes).map(f64::from_le_bytes).collect())
                }
                (bytes, Some(LogicalType::ListI64)) => {
                    Value::ListI64(words(bytes).map(i64::from_le_bytes).collect())
                }
                (bytes, Some(list)) if list.is_list() => lists::value(bytes, list),
                (bytes, _) => Value::Text(text_or_digits(bytes)),
            },
        }
    }

    /// Appends cell `k` of the current row to `column`; says what does not fit.
    pub fn push_into(&self, k: usize, column: &mut Column, row: usize) -> Result<(), String> {
        let col = k as c_int;
        // SAFETY: as in `value`.
        let kind = unsafe { ffi::sqlite3_column_type(self.raw, col) };
        if kind == ffi::SQLITE_NULL {
            column.push_null(row);
            return Ok(());
        }
        column.mark_present();
        let integer = || unsafe { ffi::sqlite3_column_int64(self.raw, col) };
        let float = || unsafe { ffi::sqlite3_column_double(self.raw, col) };
        let wanted = match &mut column.values {
            Values::I32(v) => {
                // A value beyond the column's width is not cut: the proof must see that it is wrong.
                let narrow = i32::try_from(integer()).map_err(|_| {
                    format!("column {} holds {}, which is no {:?}", column.name, integer(), column.ty)
                })?;
                v.push(narrow);
                ffi::SQLITE_INTEGER
            }
            Values::I64(v) => {
                v.push(integer());
                ffi::SQLITE_INTEGER
            }
            Values::F32(v) => {
                v.push(float() as f32);
                ffi::SQLITE_FLOAT
            }
            Values::F64(v) => {
                v.push(float());
                ffi::SQLITE_FLOAT
            }
            Values::Text(v) => {
                v.push(self.bytes(col));
                match column.ty {
                    LogicalType::Blob => ffi::SQLITE_BLOB,
                    _ => ffi::SQLITE_TEXT,
                }
            }
            Values::List(v) => {
                push_list(v, column.ty, self.bytes(col)).ok_or_else(|| {
                    format!("column {} holds bytes that are no {:?}", column.name, column.ty)
                })?;
                lists::stored_as(column.ty)
            }
        };
        if kind != wanted {
            return Err(format!("column {} holds a value of another type than {:?}", column.name, column.ty));
        }
        Ok(())
    }

    fn bytes(&self, col: c_int) -> &[u8] {
        // SAFETY: the pointer is read before the length, as SQLite asks, and both hold until the next step.
        unsafe {
            let start = ffi::sqlite3_column_blob(self.raw, col);
            let len = ffi::sqlite3_column_bytes(self.raw, col) as usize;
            if len == 0 {
                return &[];
            }
            std::slice::from_raw_parts(start.cast(), len)
        }
    }
}

/// As `lists::push`, which looks at each item by itself.
fn push_list(list: &mut ListValues, ty: LogicalType, bytes: &[u8]) -> Option<()> {
    match &mut *list.items {
        Values::F64(items) if ty == LogicalType::ListF64 => {
            items.extend(words(bytes).map(f64::from_le_bytes))
        }
        Values::I64(items) if ty == LogicalType::ListI64 => {
            items.extend(words(bytes).map(i64::from_le_bytes))
        }
        _ => return lists::push(list, ty, bytes),
    }
    list.end();
    Some(())
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> + '_ {
    bytes.chunks_exact(8).map(|word| word.try_into().expect("chunks are of 8 bytes"))
}

/// Twin of `DECLARED` in `python/inrush/engines/sqlite`. Types need no entry if their values say what they are.
fn logical(declared: &str) -> Option<LogicalType> {
    Some(match declared {
        "BOOLEAN INTEGER" => LogicalType::Bool,
        "UNSIGNED BIGINT" => LogicalType::U64,
        "INTEGER MILLISECONDS" => LogicalType::TimeMs,
        "INTEGER MICROSECONDS" => LogicalType::TimeUs,
        "BLOB F64" => LogicalType::ListF64,
        "BLOB I64" => LogicalType::ListI64,
        other => return lists::logical(other),
    })
}
