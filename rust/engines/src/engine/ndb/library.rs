//! The client library of NDB, behind functions of C (python/inrush/engines/ndb/shim.cpp), loaded when it is asked for.
//!
//! It is loaded once and stays: its threads belong to the process.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use libloading::Library;

use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::RowCall;

/// As the shim's INRUSH_NDB_ABI.
const ABI: c_int = 2;
/// The library's path, where the target has no option `library`.
pub const VARIABLE: &str = "INRUSH_NDB_LIBRARY";
const HOW: &str = "`inrush engines fetch ndb` makes it";

/// Why something failed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Failure {
    pub code: i32,
    pub status: u8,
    pub classification: u8,
    message: [c_char; 250],
}

impl Failure {
    pub fn none() -> Failure {
        Failure { code: 0, status: 0, classification: 0, message: [0; 250] }
    }

    pub fn message(&self) -> String {
        let bytes: Vec<u8> =
            self.message.iter().map(|&letter| letter as u8).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[repr(C)]
pub struct Column {
    pub name: *const c_char,
    pub kind: u32,
    pub length: u32,
    pub is_key: u8,
    pub distributes: u8,
    pub is_nullable: u8,
}

#[repr(C)]
pub struct Place {
    pub name: *const c_char,
    pub offset: u32,
    pub bytes: u32,
    pub null_byte: u32,
    pub null_bit: u32,
    /// An answer.
    pub is_nullable: u32,
}

/// How a call has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub tag: u64,
    pub code: i32,
    pub status: u8,
    pub classification: u8,
    pub absent: u16,
}

/// Twin of the shim's DOES_….
pub fn does(call: RowCall) -> c_int {
    match call {
        RowCall::Read => 0,
        RowCall::Insert => 1,
        RowCall::Update => 2,
        RowCall::Write => 3,
        RowCall::Delete => 4,
    }
}

type Handle = *mut c_void;

/// Declares each function once: its field, its name in the shim, its type.
macro_rules! functions {
    ($($name:ident: fn($($of:ty),*) $(-> $gives:ty)?;)*) => {
        pub struct Shim {
            $(pub $name: unsafe extern "C" fn($($of),*) $(-> $gives)?,)*
        }

        impl Shim {
            /// SAFETY: `library` is never unloaded, and its functions have these types: `abi` has said so.
            unsafe fn of(library: &Library) -> Result<Shim, libloading::Error> {
                Ok(Shim { $($name: *library.get(concat!("inrush_ndb_", stringify!($name), "\0").as_bytes())?,)* })
            }
        }
    };
}

functions! {
    connect: fn(*const c_char, c_int, *mut Failure) -> Handle;
    disconnect: fn(Handle);
    data_nodes: fn(Handle) -> c_int;
    create_table: fn(Handle, *const c_char, *const c_char, *const Column, c_int, c_int, *mut Failure) -> c_int;
    drop_table: fn(Handle, *const c_char, *const c_char, *mut Failure) -> c_int;
    tables: fn(Handle, *mut Failure) -> *mut c_char;
    free: fn(*mut c_char);
    sums: fn(Handle, *const c_char, *const c_char, *mut u64, *mut Failure) -> c_int;
    open: fn(Handle, *const c_char, c_int, c_int, *mut Failure) -> Handle;
    close: fn(Handle);
    access: fn(Handle, *const c_char, *mut Place, c_int, u32, *mut Failure) -> c_int;
    prepare: fn(Handle, c_int, c_int, c_int, c_int, *const u8, *mut u8, *mut u8, c_int, u64, *mut Failure) -> c_int;
    send: fn(Handle, c_int) -> c_int;
    poll: fn(Handle, c_int, c_int, *mut *const Ended) -> c_int;
    sent_bytes: fn(Handle) -> u64;
    message: fn(Handle, c_int) -> *const c_char;
    scan: fn(Handle, c_int, *mut Failure) -> Handle;
    scan_next: fn(Handle, *mut u8, c_int, *mut Failure) -> c_int;
    scan_close: fn(Handle);
}

impl Shim {
    /// What NDB says of a code. session: an open one.
    pub fn said(&self, session: Handle, code: i32) -> String {
        // SAFETY: the session is open, and the text lives as long as the library.
        let text = unsafe { CStr::from_ptr((self.message)(session, code)) };
        format!("{} ({code})", text.to_string_lossy())
    }
}

static LOADED: Mutex<Option<HashMap<PathBuf, &'static Shim>>> = Mutex::new(None);

/// The library at `option`, else where the variable says.
pub fn load(option: Option<&String>) -> Result<&'static Shim, Error> {
    let path = option.cloned().or_else(|| std::env::var(VARIABLE).ok()).filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| {
        Error::Plan(format!(
            "ndb needs the client library of MySQL Cluster, which is not here: {HOW}, or {VARIABLE} names it"
        ))
    })?;
    loaded(Path::new(&path))
}

fn loaded(path: &Path) -> Result<&'static Shim, Error> {
    let mut all = LOADED.lock().unpoisoned();
    let all = all.get_or_insert_default();
    if let Some(shim) = all.get(path) {
        return Ok(shim);
    }
    let refused = |why: String| Error::Plan(format!("ndb: {}: {why}; {HOW}", path.display()));
    // SAFETY: what a library does when it is loaded is its own; this one is named by the user or made by inrush.
    let library = unsafe { Library::new(path) }.map_err(|e| refused(e.to_string()))?;
    // SAFETY: a function without arguments that gives a number, in every version of the shim.
    let abi = unsafe {
        library.get::<unsafe extern "C" fn() -> c_int>(b"inrush_ndb_abi\0").map(|function| function())
    };
    let abi = abi.map_err(|_| refused("it is no library of inrush's for NDB".to_owned()))?;
    if abi != ABI {
        return Err(refused(format!("it is of version {abi}, and this inrush takes {ABI}")));
    }
    // SAFETY: the version is that of these declarations, and the library is leaked below.
    let shim = unsafe { Shim::of(&library) }.map_err(|e| refused(e.to_string()))?;
    std::mem::forget(library);
    let shim: &'static Shim = Box::leak(Box::new(shim));
    all.insert(path.to_owned(), shim);
    Ok(shim)
}

/// A name for the library. Names with a zero byte are none.
pub fn text(name: &str) -> Result<CString, Error> {
    CString::new(name).map_err(|_| Error::Plan(format!("{name:?} is no name in NDB")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_library_one_line_says_how_to_get_it() {
        let nowhere = "/nowhere/libinrush_ndb.so".to_owned();
        let refused = load(Some(&nowhere)).err().expect("it is not there").to_string();
        assert!(refused.contains(&nowhere) && refused.contains("inrush engines fetch ndb"), "{refused}");
        assert_eq!(refused.lines().count(), 1);
        let unnamed = load(Some(&String::new())).err().expect("it is not named").to_string();
        assert!(unnamed.contains(VARIABLE), "{unnamed}");
    }

    #[test]
    fn another_library_is_told_from_the_right_one() {
        let libc = "libc.so.6".to_owned();
        let refused = load(Some(&libc)).err().expect("it is another").to_string();
        assert!(refused.contains("no library of inrush's for NDB"), "{refused}");
    }
}
