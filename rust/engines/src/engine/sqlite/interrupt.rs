//! Ending what a connection runs, at a time limit or where a run is asked to stop.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use rusqlite::{ffi, Connection};

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
    pub until: Instant,
    pub stop: &'a AtomicBool,
}

impl Over<'_> {
    fn now(&self) -> bool {
        self.stop.load(Relaxed) || Instant::now() >= self.until
    }
}
