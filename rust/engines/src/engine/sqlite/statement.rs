//! A prepared statement on SQLite's C interface: values are bound from columns without a copy.
//!
//! rusqlite's own statements go through `ToSql` and a cache per call; at 2 M rows/s that is felt.

use std::ffi::{c_int, c_void, CStr};
use std::ptr::null_mut;

use rusqlite::{ffi, Connection};

use super::lists;
use crate::engine::Outcome;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, Value, Values};
use inrush_rows::types::hex::text_or_digits;

// Lists are stored as their items' bytes, and those are read back on any machine.
const _: () = assert!(cfg!(target_endian = "little"), "lists are stored as little-endian items");

/// What SQLite said: extended result code and message.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: c_int,
    pub message: String,
}

impl Failure {
    /// The class of `code`. A lock that was not had within the busy timeout is a timeout, not a conflict:
    /// nothing was decided against the caller, it has only waited.
    pub fn outcome(&self) -> Outcome {
        match (self.code & 0xff, self.code) {
            (_, ffi::SQLITE_BUSY_SNAPSHOT) => Outcome::Conflict,
            (ffi::SQLITE_LOCKED, _) => Outcome::Conflict,
            (ffi::SQLITE_BUSY | ffi::SQLITE_INTERRUPT, _) => Outcome::Timeout,
            // A value came back that was never stored.
            (ffi::SQLITE_MISMATCH, _) => Outcome::Wrong,
            (ffi::SQLITE_TOOBIG, _) => Outcome::TooLarge,
            (ffi::SQLITE_CONSTRAINT | ffi::SQLITE_READONLY | ffi::SQLITE_AUTH | ffi::SQLITE_PERM, _) => {
                Outcome::Refused
            }
            (ffi::SQLITE_CANTOPEN | ffi::SQLITE_NOTADB, _) => Outcome::Undefined,
            (ffi::SQLITE_ERROR, _) if self.message.starts_with("no such") => Outcome::Undefined,
            _ => Outcome::Other,
        }
    }
}

/// Owned by the thread that owns its connection; must be dropped before it.
pub struct Statement {
    raw: *mut ffi::sqlite3_stmt,
    db: *mut ffi::sqlite3,
}

// SAFETY: a statement is used by one thread at a time, together with its connection, which SQLite allows
// in its multi-thread mode.
unsafe impl Send for Statement {}

impl Statement {
    /// Prepares the first statement of `text`; also gives the rest of the text. `None`: nothing but blanks or a comment.
    pub fn prepare<'t>(db: &Connection, text: &'t str) -> Result<(Option<Statement>, &'t str), Failure> {
        // SQLite reads up to it, and would be given the same rest for ever.
        if text.contains('\0') {
            let message = "the statement has a NUL character in it".to_owned();
            return Err(Failure { code: ffi::SQLITE_MISUSE, message });
        }
        // SAFETY: the handle is live as long as `db` is; the raw statement is kept no longer (see the type).
        let db = unsafe { db.handle() };
        let mut raw = null_mut();
        let mut tail = std::ptr::null();
        // SAFETY: text and length describe one live buffer; `tail` points into it afterwards.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                db,
                text.as_ptr().cast(),
                text.len() as c_int,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &mut raw,
                &mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(failure(db, code));
        }
        let used = (tail as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        let statement = (!raw.is_null()).then_some(Statement { raw, db });
        Ok((statement, &text[used..]))
    }

    /// Runs to the next row. `false`: finished, and ready to be bound again.
    pub fn step(&mut self) -> Result<bool, Failure> {
        // SAFETY: `raw` is a live statement of this thread.
        match unsafe { ffi::sqlite3_step(self.raw) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => {
                self.reset();
                Ok(false)
            }
            code => {
                let failure = failure(self.db, code);
                self.reset();
                Err(failure)
            }
        }
    }

    pub fn reset(&mut self) {
        // SAFETY: as in `step`; the code repeats that of the last step and was seen there.
        unsafe { ffi::sqlite3_reset(self.raw) };
    }

    pub fn run(&mut self) -> Result<(), Failure> {
        while self.step()? {}
        Ok(())
    }

    /// Rows changed by the last statement of this connection.
    pub fn changes(&self) -> u64 {
        // SAFETY: the connection outlives its statements.
        unsafe { ffi::sqlite3_changes64(self.db) as u64 }
    }

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
                list @ Value::List(_) => {
                    self.bind_copied(param, inrush_rows::rows::value_text(list).as_bytes(), true)
                }
            };
            self.check(code)?;
        }
        Ok(())
    }

    fn check(&self, code: c_int) -> Result<(), Failure> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        Err(failure(self.db, code))
    }

    pub fn columns(&self) -> usize {
        // SAFETY: `raw` is live.
        unsafe { ffi::sqlite3_column_count(self.raw) as usize }
    }

    pub fn names(&self) -> Vec<String> {
        // SAFETY: the name lives until the statement is finalised or prepared again; it is copied.
        let name = |k| unsafe { text_of(ffi::sqlite3_column_name(self.raw, k as c_int)) };
        (0..self.columns()).map(|k| name(k).unwrap_or_default()).collect()
    }

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
        let integer = || unsafe { ffi::sqlite3_column_int64(self.raw, col) };
        let float = || unsafe { ffi::sqlite3_column_double(self.raw, col) };
        let present = kind != ffi::SQLITE_NULL;
        mark_present(column, row, present);
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
                v.push(if present { self.bytes(col) } else { &[] });
                if column.ty == LogicalType::Blob {
                    ffi::SQLITE_BLOB
                } else {
                    ffi::SQLITE_TEXT
                }
            }
            Values::List(v) => {
                let bytes = if present { self.bytes(col) } else { &[] };
                if !present || lists::width(column.ty) != Some(8) {
                    if !present {
                        v.end();
                    } else if lists::push(v, column.ty, bytes).is_none() {
                        return Err(format!(
                            "column {} holds bytes that are no {:?}",
                            column.name, column.ty
                        ));
                    }
                    let wanted = lists::stored_as(column.ty);
                    return match !present || kind == wanted {
                        true => Ok(()),
                        false => Err(another_type(column)),
                    };
                }
                match &mut *v.items {
                    Values::F64(items) => items.extend(words(bytes).map(f64::from_le_bytes)),
                    Values::I64(items) => items.extend(words(bytes).map(i64::from_le_bytes)),
                    _ => unreachable!("lists hold I64 or F64"),
                }
                v.end();
                ffi::SQLITE_BLOB
            }
        };
        if present && kind != wanted {
            return Err(another_type(column));
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

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: `raw` is live and has no other owner.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

fn another_type(column: &Column) -> String {
    format!("column {} holds a value of another type than {:?}", column.name, column.ty)
}

/// Keeps `present` empty until the first null, then one byte a row.
fn mark_present(column: &mut Column, row: usize, present: bool) {
    if present && column.present.is_empty() {
        return;
    }
    if column.present.is_empty() {
        column.present.resize(row, 1);
    }
    column.present.push(present as u8);
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

fn failure(db: *mut ffi::sqlite3, code: c_int) -> Failure {
    // SAFETY: `db` is a live connection of this thread; the message is copied at once.
    let (extended, message) =
        unsafe { (ffi::sqlite3_extended_errcode(db), text_of(ffi::sqlite3_errmsg(db))) };
    // The connection remembers only its own last error; a misuse may not have reached it.
    let code = if extended & 0xff == code & 0xff { extended } else { code };
    Failure { code, message: message.unwrap_or_else(|| format!("error {code}")) }
}

/// SAFETY: `text` is null or a live C string.
unsafe fn text_of(text: *const std::ffi::c_char) -> Option<String> {
    (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
}

/// While it lives, what `db` runs ends once `over` says so; asked every few thousand steps of SQLite's machine.
pub struct Interrupted<'a> {
    db: &'a Connection,
}

impl<'a> Interrupted<'a> {
    pub fn when(db: &'a Connection, over: &'a Over<'a>) -> Interrupted<'a> {
        extern "C" fn ask(over: *mut c_void) -> c_int {
            // SAFETY: SQLite hands back the pointer it was given below.
            unsafe { (*over.cast::<Over>()).now() as c_int }
        }
        let arg = std::ptr::from_ref(over).cast_mut().cast();
        // SAFETY: the handler is taken away when this is dropped, before `over` ends: after a panic, too.
        unsafe { ffi::sqlite3_progress_handler(db.handle(), 5_000, Some(ask), arg) };
        Interrupted { db }
    }
}

impl Drop for Interrupted<'_> {
    fn drop(&mut self) {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_progress_handler(self.db.handle(), 0, None, null_mut()) };
    }
}

/// A time limit or a wish to stop.
pub struct Over<'a> {
    pub until: std::time::Instant,
    pub stop: &'a std::sync::atomic::AtomicBool,
}

impl Over<'_> {
    fn now(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed) || std::time::Instant::now() >= self.until
    }
}
