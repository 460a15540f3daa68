//! A prepared statement on SQLite's C interface: `bind` gives it values, `read` takes what its rows hold.
//!
//! rusqlite's own statements go through `ToSql` and a cache per call; at 2 M rows/s that is felt.

mod bind;
mod read;

use std::ffi::{c_int, CStr};
use std::ptr::null_mut;

use rusqlite::{ffi, Connection};

use super::failure::Failure;
use crate::engine::Answer;

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

    /// The whole answer, and the bytes of its values.
    pub fn answer(&mut self) -> Result<(Answer, u64), Failure> {
        let types = self.declared();
        let mut answer = Answer { names: self.names().into(), rows: Vec::new() };
        let mut bytes = 0;
        while self.step()? {
            bytes += self.row_bytes();
            answer.rows.push(types.iter().enumerate().map(|(k, ty)| self.value(k, *ty)).collect());
        }
        Ok((answer, bytes))
    }

    /// Rows changed by the last statement of this connection.
    pub fn changes(&self) -> u64 {
        // SAFETY: the connection outlives its statements.
        unsafe { ffi::sqlite3_changes64(self.db) as u64 }
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

    fn names(&self) -> Vec<String> {
        // SAFETY: the name lives until the statement is finalised or prepared again; it is copied.
        let name = |k| unsafe { text_of(ffi::sqlite3_column_name(self.raw, k as c_int)) };
        (0..self.columns()).map(|k| name(k).unwrap_or_default()).collect()
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: `raw` is live and has no other owner.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// The last answer of the statements in `text`, one after the other.
pub fn run_all(db: &Connection, text: &str) -> Result<Answer, Failure> {
    let mut last = Answer::default();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let (statement, tail) = Statement::prepare(db, rest)?;
        if let Some(mut statement) = statement {
            let (answer, _) = statement.answer()?;
            if !answer.names.is_empty() {
                last = answer;
            }
        }
        rest = tail;
    }
    Ok(last)
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
