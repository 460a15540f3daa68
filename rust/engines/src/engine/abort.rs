//! Ending what a thread waits for on its sockets, at once and from another thread.
//!
//! A cancel request asks the server, which may not answer; this closes our side, which always works. A session belongs to
//! one thread: whatever that thread connects belongs to its session, so the handle is the thread's, and engines need not
//! carry it. Sockets of threads without a handle are never closed from outside.

use std::cell::RefCell;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use inrush_rows::lock::Unpoisoned;

thread_local! {
    static PRESENT: RefCell<Option<Arc<Abort>>> = const { RefCell::new(None) };
}

/// Closes the sockets of the threads that have adopted it.
#[derive(Debug, Default)]
pub struct Abort {
    given_up: AtomicBool,
    /// Connected, or being connected. Each is removed before its descriptor is closed, which may be another file's then.
    sockets: Mutex<Vec<RawFd>>,
}

/// A socket that its thread's [`Abort`] may close; to be dropped before the socket.
#[derive(Debug)]
pub struct Registration {
    of: Option<Arc<Abort>>,
    socket: RawFd,
}

impl Abort {
    /// The sockets that this thread opens from now on are closed by `self`.
    pub fn adopt(self: &Arc<Abort>) {
        PRESENT.with(|present| *present.borrow_mut() = Some(Arc::clone(self)));
    }

    /// Shuts down what is connected, or being connected. The thread may connect again.
    pub fn close(&self) {
        let sockets = self.locked();
        for &socket in sockets.iter() {
            // SAFETY: a call without pointers; registered, so it is still this socket's descriptor.
            // One that is no longer connected refuses, and that is what was wanted.
            unsafe { libc::shutdown(socket, libc::SHUT_RDWR) };
        }
    }

    /// As `close`, and for good: every further connection of the thread fails at once.
    pub fn give_up(&self) {
        self.given_up.store(true, SeqCst);
        self.close();
    }

    pub fn has_given_up(&self) -> bool {
        self.given_up.load(SeqCst)
    }

    fn locked(&self) -> MutexGuard<'_, Vec<RawFd>> {
        self.sockets.lock().unpoisoned()
    }
}

/// Puts `socket` in the hands of this thread's [`Abort`], if it has one; one that has given up shuts it down at once.
pub fn register(socket: RawFd) -> Registration {
    let of = PRESENT.with(|present| present.borrow().clone());
    if let Some(abort) = &of {
        abort.locked().push(socket);
        // Looked at after the push: a thread that gives up later finds the socket.
        if abort.has_given_up() {
            abort.close();
        }
    }
    Registration { of, socket }
}

/// An error when this thread is to connect no more.
pub fn check() -> io::Result<()> {
    let given_up =
        PRESENT.with(|present| present.borrow().as_ref().is_some_and(|abort| abort.has_given_up()));
    match given_up {
        true => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the run is ending")),
        false => Ok(()),
    }
}

/// What `work` gives, and whether it was cut: after `limit` the sockets of this thread are closed, once. `work` then ends
/// as it does when a server goes away. Without a handle, or a thread to watch the time, nothing is cut.
pub fn limited<T>(limit: Duration, work: impl FnOnce() -> T) -> (T, bool) {
    let Some(abort) = PRESENT.with(|present| present.borrow().clone()) else { return (work(), false) };
    let (running, ended) = channel::<()>();
    let cut = Arc::new(AtomicBool::new(false));
    let watch = {
        let cut = Arc::clone(&cut);
        move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                cut.store(true, SeqCst);
                abort.close();
            }
        }
    };
    // Never waited for: it ends with `running`.
    let _ = std::thread::Builder::new().name("inrush-limit".into()).spawn(watch);
    let done = work();
    drop(running);
    (done, cut.load(SeqCst))
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(abort) = &self.of {
            let mut sockets = abort.locked();
            if let Some(at) = sockets.iter().position(|&socket| socket == self.socket) {
                sockets.swap_remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_blocked_read_ends_when_its_socket_is_closed_from_another_thread() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let abort = Arc::new(Abort::default());
        let (ended, reads) = channel();
        let session = std::thread::spawn({
            let abort = abort.clone();
            move || {
                abort.adopt();
                let mut socket = TcpStream::connect(address).unwrap();
                let registration = register(socket.as_raw_fd());
                ended.send(()).unwrap();
                let read = socket.read(&mut [0; 1]);
                drop(registration);
                read
            }
        });
        reads.recv().unwrap();
        abort.close();
        assert_eq!(session.join().unwrap().unwrap(), 0, "the end of the connection");
        assert!(abort.locked().is_empty(), "what is closed is no longer known by its number");
    }

    #[test]
    fn work_is_cut_when_its_time_is_over_and_the_thread_may_connect_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            Arc::new(Abort::default()).adopt();
            let read = |limit| {
                limited(limit, || {
                    let mut socket = TcpStream::connect(address).unwrap();
                    let _registration = register(socket.as_raw_fd());
                    socket.read(&mut [0; 1]).unwrap()
                })
            };
            let quick = limited(Duration::from_secs(60), || 7);
            (read(Duration::from_millis(50)), read(Duration::from_millis(50)), quick, check().is_ok())
        });
        assert_eq!(thread.join().unwrap(), ((0, true), (0, true), (7, false), true));
    }

    #[test]
    fn a_thread_that_has_given_up_connects_no_more_and_others_do() {
        let abort = Arc::new(Abort::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let thread = std::thread::spawn(move || {
            abort.adopt();
            abort.give_up();
            let _registration = register(socket.as_raw_fd());
            (socket.read(&mut [0; 1]).map_err(|e| e.kind()), check().map_err(|e| e.kind()))
        });
        assert_eq!(thread.join().unwrap(), (Ok(0), Err(io::ErrorKind::ConnectionAborted)));
        assert!(check().is_ok(), "this thread has no handle");
    }
}
