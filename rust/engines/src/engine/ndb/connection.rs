//! A connection to the cluster, which takes one of its node ids, and sessions on it.

use std::ffi::{c_int, c_void, CStr};
use std::sync::Arc;

use super::address::Address;
use super::library::{text, Column, Failure, Place, Shim};
use inrush_rows::encode::record::Record;
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::NdbColumn;

/// So long the management server and the first data node may take to answer, s.
const WAIT_S: c_int = 10;

pub struct Connection {
    pub shim: &'static Shim,
    handle: *mut c_void,
    target: String,
}

// SAFETY: NDB's cluster connection may be used by several threads at once; its `Ndb` objects have one each.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

impl Connection {
    pub fn open(shim: &'static Shim, address: &Address) -> Result<Arc<Connection>, Error> {
        let (management, mut why) = (text(&address.management)?, Failure::none());
        // SAFETY: both outlive the call.
        let handle = unsafe { (shim.connect)(management.as_ptr(), WAIT_S, &mut why) };
        if handle.is_null() {
            return Err(unreachable(address, &why.message()));
        }
        Ok(Arc::new(Connection { shim, handle, target: address.to_string() }))
    }

    pub fn data_nodes(&self) -> u64 {
        // SAFETY: the connection is open.
        unsafe { (self.shim.data_nodes)(self.handle) }.max(0) as u64
    }

    /// key: column names; `by_first`: the first of them alone distributes.
    pub fn create_table(
        &self,
        (database, name): (&str, &str),
        columns: &[NdbColumn],
        by_first: bool,
        is_logged: bool,
    ) -> Result<(), Refused> {
        let names = columns.iter().map(|c| text(&c.name)).collect::<Result<Vec<_>, _>>().map_err(said)?;
        let mut first = true;
        let mut made = Vec::with_capacity(columns.len());
        for (column, named) in columns.iter().zip(&names) {
            let kind = inrush_rows::encode::record::Kind::named(&column.wire);
            let (kind, length) = kind
                .ok_or_else(|| Refused::said(format!("column {}: no type {}", column.name, column.wire)))?
                .number();
            let distributes = column.key && by_first && std::mem::replace(&mut first, false);
            made.push(Column {
                name: named.as_ptr(),
                kind,
                length,
                is_key: column.key.into(),
                distributes: distributes.into(),
                is_nullable: column.nullable.into(),
            });
        }
        let (database, name) = (text(database).map_err(said)?, text(name).map_err(said)?);
        let mut why = Failure::none();
        // SAFETY: all of it outlives the call.
        let end = unsafe {
            (self.shim.create_table)(
                self.handle,
                database.as_ptr(),
                name.as_ptr(),
                made.as_ptr(),
                made.len() as c_int,
                is_logged.into(),
                &mut why,
            )
        };
        ended(end, &why).map(drop)
    }

    /// Nothing where there is none.
    pub fn drop_table(&self, (database, name): (&str, &str)) -> Result<(), Refused> {
        let (database, name) = (text(database).map_err(said)?, text(name).map_err(said)?);
        let mut why = Failure::none();
        // SAFETY: all of it outlives the call.
        let end = unsafe { (self.shim.drop_table)(self.handle, database.as_ptr(), name.as_ptr(), &mut why) };
        ended(end, &why).map(drop)
    }

    /// Database and name of every table.
    pub fn tables(&self) -> Result<Vec<(String, String)>, Refused> {
        let mut why = Failure::none();
        // SAFETY: the text is the library's until it is freed, and it is copied before.
        let names = unsafe {
            let found = (self.shim.tables)(self.handle, &mut why);
            if found.is_null() {
                return Err(Refused::of(&why));
            }
            let names = CStr::from_ptr(found).to_string_lossy().into_owned();
            (self.shim.free)(found);
            names
        };
        let pair = |line: &str| line.split_once('\t').map(|(a, b)| (a.to_owned(), b.to_owned()));
        Ok(names.lines().filter_map(pair).collect())
    }

    /// Bytes of the fixed and of the variable parts of a table, of one replica.
    pub fn sizes(&self, (database, name): (&str, &str)) -> Result<[u64; 2], Refused> {
        let (database, name) = (text(database).map_err(said)?, text(name).map_err(said)?);
        let (mut sums, mut why) = ([0u64; 3], Failure::none());
        // SAFETY: room for three sums, and all of it outlives the call.
        let end = unsafe {
            (self.shim.sums)(self.handle, database.as_ptr(), name.as_ptr(), sums.as_mut_ptr(), &mut why)
        };
        ended(end, &why).map(|_| [sums[1], sums[2]])
    }

    /// calls: transactions in flight; keys: rows of one.
    pub fn open_session(
        self: &Arc<Self>,
        database: &str,
        calls: usize,
        keys: usize,
    ) -> Result<Opened, Error> {
        let (database, mut why) = (text(database)?, Failure::none());
        // SAFETY: the connection is open; `Opened` keeps it so.
        let handle = unsafe {
            (self.shim.open)(self.handle, database.as_ptr(), calls as c_int, keys as c_int, &mut why)
        };
        match handle.is_null() {
            true => Err(self.lost(&why.message())),
            false => Ok(Opened { connection: self.clone(), handle, leaks: false }),
        }
    }

    pub fn lost(&self, why: &str) -> Error {
        let message = format!("{why}; are its data nodes running? see their logs");
        Error::Target { target: self.target.clone(), class: TargetFault::Lost, message }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: sessions hold the connection, so none is left.
        unsafe { (self.shim.disconnect)(self.handle) }
    }
}

/// What is said where the cluster has no id for one more connection.
pub const NO_SLOT: &str = "every API slot is taken";

fn unreachable(address: &Address, why: &str) -> Error {
    let remedy = match why {
        _ if why.contains("No free node id")
            || why.contains("Allocate nodeid")
            || why.contains("alloc node id") =>
        {
            "every API slot is taken: use fewer `connections`, or give the cluster more [api] sections"
        }
        _ if why.starts_with("data nodes") => "start them, and see their logs",
        _ => "is its management server running, and is the port right?",
    };
    said_of(address, format!("{}; {remedy}", why.trim_end().replace('\n', " ")))
}

/// The same, as it was said before.
pub fn said_of(address: &Address, message: String) -> Error {
    Error::Target { target: address.to_string(), class: TargetFault::Unreachable, message }
}

/// Why the cluster did not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub code: i32,
    pub classification: u8,
    pub message: String,
}

impl Refused {
    pub fn of(why: &Failure) -> Refused {
        Refused { code: why.code, classification: why.classification, message: why.message() }
    }

    pub fn said(message: String) -> Refused {
        Refused { code: -1, classification: 0, message }
    }
}

fn said(error: Error) -> Refused {
    Refused::said(error.to_string())
}

fn ended(end: c_int, why: &Failure) -> Result<c_int, Refused> {
    match end {
        0.. => Ok(end),
        _ => Err(Refused::of(why)),
    }
}

/// An `Ndb` object. It belongs to one thread.
pub struct Opened {
    pub connection: Arc<Connection>,
    pub handle: *mut c_void,
    leaks: bool,
}

// SAFETY: the object has no thread of its own; it is used by one at a time, as `&mut self` of a session.
unsafe impl Send for Opened {}

impl Opened {
    /// Calls in flight did not end: neither it nor its connection is closed any more.
    pub fn leak(&mut self) {
        self.leaks = true;
        std::mem::forget(self.connection.clone());
    }

    /// The number of an access to rows of a table as these `fields` of its record, which learn whether they take NULL.
    pub fn access(&self, table: &str, record: &mut Record, fields: &[usize]) -> Result<c_int, Refused> {
        let names: Result<Vec<_>, _> = fields.iter().map(|&at| text(&record.fields[at].name)).collect();
        let names = names.map_err(said)?;
        let place = |(&at, name): (&usize, &std::ffi::CString)| {
            let field = &record.fields[at];
            let (null_byte, null_bit) = field.null;
            let (offset, bytes) = (field.offset, field.kind.bytes());
            Place { name: name.as_ptr(), offset, bytes, null_byte, null_bit, is_nullable: 0 }
        };
        let mut places: Vec<Place> = fields.iter().zip(&names).map(place).collect();
        let (table, mut why) = (text(table).map_err(said)?, Failure::none());
        // SAFETY: all of it outlives the call.
        let number = unsafe {
            let count = places.len() as c_int;
            (self.connection.shim.access)(
                self.handle,
                table.as_ptr(),
                places.as_mut_ptr(),
                count,
                record.bytes,
                &mut why,
            )
        };
        let number = ended(number, &why)?;
        for (&at, place) in fields.iter().zip(&places) {
            record.fields[at].nullable = place.is_nullable != 0;
        }
        Ok(number)
    }

    /// Every row of an access, image by image.
    pub fn scan(&self, access: c_int, row_bytes: usize, mut each: impl FnMut(&[u8])) -> Result<(), Refused> {
        const AT_ONCE: usize = 256;
        let shim = self.connection.shim;
        let (mut rows, mut why) = (vec![0u8; AT_ONCE * row_bytes], Failure::none());
        // SAFETY: nothing is in flight, and the room is for so many rows as are asked for.
        unsafe {
            let scan = (shim.scan)(self.handle, access, &mut why);
            if scan.is_null() {
                return Err(Refused::of(&why));
            }
            let end = loop {
                let count = (shim.scan_next)(scan, rows.as_mut_ptr(), AT_ONCE as c_int, &mut why);
                if count <= 0 {
                    break count;
                }
                rows.chunks_exact(row_bytes).take(count as usize).for_each(&mut each);
            };
            (shim.scan_close)(scan);
            ended(end, &why).map(drop)
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.leaks {
            // SAFETY: nothing is in flight: a session that has calls there leaks it.
            unsafe { (self.connection.shim.close)(self.handle) }
        }
    }
}
