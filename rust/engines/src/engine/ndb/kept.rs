//! A connection that statements are through with, kept for a moment. A cluster gives a node id again only some 4 s after its
//! connection was closed, and the management server always gives the lowest one: a question right behind another one waits
//! for it. What is asked before and after a run took half a minute.

use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use super::address::Address;
use super::connection::Connection;
use super::library::Shim;
use inrush_rows::lock::Unpoisoned;

/// Questions of one program follow each other faster. A connection that is kept takes a slot that a run may want.
const KEEP: Duration = Duration::from_secs(2);

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    of: Address,
    connection: Arc<Connection>,
    until: Instant,
}

/// The one that is kept of this cluster; it is kept no more.
pub fn take(shim: &Shim, address: &Address) -> Option<Arc<Connection>> {
    let mut kept = KEPT.lock().unpoisoned();
    let fits = |one: &mut Kept| one.of == *address && std::ptr::eq(one.connection.shim, shim);
    kept.take_if(fits).map(|one| one.connection)
}

/// It has no other holder. One that was kept already is closed.
pub fn keep(address: &Address, connection: Arc<Connection>) {
    static ENDING: Once = Once::new();
    // While threads of the client library live, its own end at exit is not safe.
    // SAFETY: the function takes nothing, and this code stays loaded.
    ENDING.call_once(|| unsafe {
        libc::atexit(close);
    });
    let until = Instant::now() + KEEP;
    let before = KEPT.lock().unpoisoned().replace(Kept { of: address.clone(), connection, until });
    drop(before);
    std::thread::spawn(|| {
        std::thread::sleep(KEEP);
        // Closed behind the lock: it takes a while.
        let over = KEPT.lock().unpoisoned().take_if(|one| one.until <= Instant::now());
        drop(over);
    });
}

extern "C" fn close() {
    let kept = KEPT.lock().unpoisoned().take();
    drop(kept);
}
