//! Values as parameters of a statement: bound from columns without a copy.

use std::ffi::c_int;

use rusqlite::ffi;

use super::Statement;
use crate::engine::sqlite::failure::Failure;
use crate::engine::sqlite::lists;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{value_text, Column, Columns, Value, Values};

impl Statement {
    /// Binds rows `first .. first + rows`, row by row, to parameters 1, 2, …
    ///
    /// Texts and lists are bound in place: `columns` must stay as it is until the last step.
    pub fn bind_rows(&mut self, columns: &Columns, first: usize, rows: usize) -> Result<(), Failure> {
        let mut param = 0;
        for row in first..first + rows {
            for column in &columns.columns {
                param += 1;
                self.bind_cell(param, column, row)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn bind_cell(&mut self, param: c_int, column: &Column, row: usize) -> Result<(), Failure> {
        let code = if !column.is_present(row) {
            // SAFETY: here and below `raw` is live and reset, and `param` in range is checked by SQLite.
            unsafe { ffi::sqlite3_bind_null(self.raw, param) }
        } else {
            match &column.values {
                Values::I32(v) => unsafe { ffi::sqlite3_bind_int64(self.raw, param, v[row] as i64) },
                Values::I64(v) => unsafe { ffi::sqlite3_bind_int64(self.raw, param, v[row]) },
                Values::F32(v) => unsafe { ffi::sqlite3_bind_double(self.raw, param, v[row] as f64) },
                Values::F64(v) => unsafe { ffi::sqlite3_bind_double(self.raw, param, v[row]) },
                Values::Text(v) if column.ty == LogicalType::Blob => {
                    self.bind_blob(param, v.get(row).as_ptr(), v.get(row).len())
                }
                Values::Text(v) => self.bind_text(param, v.get(row)),
                Values::List(v) => match &*v.items {
                    Values::I64(items) if lists::width(column.ty) == Some(8) => {
                        self.bind_blob(param, items[v.range(row)].as_ptr(), v.range(row).len())
                    }
                    Values::F64(items) => {
                        self.bind_blob(param, items[v.range(row)].as_ptr(), v.range(row).len())
                    }
                    _ => {
                        let bytes = lists::stored(v, column.ty, row);
                        let bytes = bytes.ok_or_else(|| lists::has_null(&column.name))?;
                        self.bind_copied(param, &bytes, lists::width(column.ty).is_none())
                    }
                },
            }
        };
        self.check(code)
    }

    fn bind_text(&mut self, param: c_int, text: &[u8]) -> c_int {
        // SAFETY: a null destructor is SQLITE_STATIC: the caller keeps the bytes until the last step.
        unsafe { ffi::sqlite3_bind_text(self.raw, param, text.as_ptr().cast(), text.len() as c_int, None) }
    }

    fn bind_blob<T>(&mut self, param: c_int, items: *const T, len: usize) -> c_int {
        let bytes = (len * size_of::<T>()) as c_int;
        // SAFETY: as in `bind_text`; an empty slice's pointer is not null, so that it stays an empty list.
        unsafe { ffi::sqlite3_bind_blob(self.raw, param, items.cast(), bytes, None) }
    }

    /// Bytes that need not live on: as text, or as a blob.
    fn bind_copied(&mut self, param: c_int, bytes: &[u8], as_text: bool) -> c_int {
        let (start, len) = (bytes.as_ptr(), bytes.len() as c_int);
        // SAFETY: SQLITE_TRANSIENT: SQLite copies the bytes at once.
        unsafe {
            match as_text {
                true => ffi::sqlite3_bind_text(self.raw, param, start.cast(), len, ffi::SQLITE_TRANSIENT()),
                false => ffi::sqlite3_bind_blob(self.raw, param, start.cast(), len, ffi::SQLITE_TRANSIENT()),
            }
        }
    }

    /// Binds parameters of a query; `values` must live until the last step.
    pub fn bind_values(&mut self, values: &[Value]) -> Result<(), Failure> {
        for (k, value) in values.iter().enumerate() {
            let param = k as c_int + 1;
            // SAFETY: as in `bind_cell`.
            let code = match value {
                Value::Null => unsafe { ffi::sqlite3_bind_null(self.raw, param) },
                Value::Bool(v) => unsafe { ffi::sqlite3_bind_int64(self.raw, param, *v as i64) },
                Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v) => unsafe {
                    ffi::sqlite3_bind_int64(self.raw, param, *v)
                },
                Value::U64(v) => unsafe { ffi::sqlite3_bind_int64(self.raw, param, *v as i64) },
                Value::F64(v) => unsafe { ffi::sqlite3_bind_double(self.raw, param, *v) },
                Value::Text(v) => self.bind_text(param, v.as_bytes()),
                Value::ListF64(v) => self.bind_blob(param, v.as_ptr(), v.len()),
                Value::ListI64(v) => self.bind_blob(param, v.as_ptr(), v.len()),
                list @ Value::List(_) => self.bind_copied(param, value_text(list).as_bytes(), true),
            };
            self.check(code)?;
        }
        Ok(())
    }
}
