//! The connection between client and load server: a socket, or TLS around it, read by one thread and written by another.
//!
//! No thread waits for the network while it holds the session: it reads before, and sends after.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustls::Connection;

use inrush_rows::lock::Unpoisoned;

/// One read of the socket takes what has come, up to this much: several records at once.
const RECORDS_BYTES: usize = 64 << 10;
/// How long one end sends before it gives up: the other one takes nothing any more and says nothing either.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How often the load server says that it is there.
pub const ALIVE: Duration = Duration::from_secs(2);

type Session = Arc<Mutex<Connection>>;

pub struct Reader {
    socket: TcpStream,
    session: Option<Session>,
    records: Vec<u8>,
    /// What of `records` the session has not taken yet.
    waiting: std::ops::Range<usize>,
}

pub struct Writer {
    socket: TcpStream,
    session: Option<Session>,
    sealed: Vec<u8>,
}

/// Both halves without TLS.
pub fn plain(socket: &TcpStream) -> io::Result<(Reader, Writer)> {
    halves(socket, None)
}

/// Does the handshake, until `until` at most, and gives both halves of the session.
pub fn secure(socket: &TcpStream, mut session: Connection, until: Instant) -> io::Result<(Reader, Writer)> {
    let mut wire = socket;
    loop {
        while session.wants_write() {
            session.write_tls(&mut wire)?;
        }
        if !session.is_handshaking() {
            break;
        }
        wait_until(socket, until)?;
        if session.read_tls(&mut wire)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(e) = session.process_new_packets() {
            // What is wrong is said to the other side, too; that it may have gone is no news.
            let _ = session.write_tls(&mut wire);
            return Err(broken(e));
        }
    }
    halves(socket, Some(Arc::new(Mutex::new(session))))
}

/// The next read of the socket takes so long at most. `TimedOut` where that is over.
pub fn wait_until(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))
}

/// Reads that end by a moment, however slowly the bytes drip.
pub struct Until<'a> {
    pub reader: &'a mut Reader,
    pub until: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        wait_until(&self.reader.socket, self.until)?;
        self.reader.read(room)
    }
}

fn halves(socket: &TcpStream, session: Option<Session>) -> io::Result<(Reader, Writer)> {
    let records = vec![0; if session.is_some() { RECORDS_BYTES } else { 0 }];
    let reader = Reader { socket: socket.try_clone()?, session: session.clone(), records, waiting: 0..0 };
    Ok((reader, Writer { socket: socket.try_clone()?, session, sealed: Vec::new() }))
}

impl Reader {
    /// Longest wait for the next bytes; none when `None`.
    pub fn set_limit(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)
    }

    pub fn shutdown(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Writer {
    pub fn shutdown(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Whether a few words can be sent without waiting for the other side to take something.
    pub fn has_room(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one pollfd, alive during the call, which does not wait.
        let found = unsafe { libc::poll(&mut poll, 1, 0) };
        found == 1 && poll.revents & libc::POLLOUT != 0
    }
}

/// A process that was stopped and goes on finds its read interrupted: nothing is gone.
fn received(mut socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(room) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl Read for Reader {
    /// 0 at the end of the connection: frames say themselves whether they are whole.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &self.session else { return received(&self.socket, room) };
        loop {
            {
                let mut session = lock(session);
                // There is room for a record behind every read that found nothing.
                loop {
                    match session.reader().read(room) {
                        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                        done => return done,
                    }
                    if self.waiting.is_empty() {
                        break;
                    }
                    let mut rest = &self.records[self.waiting.clone()];
                    let taken = session.read_tls(&mut rest)?;
                    self.waiting.start += taken;
                    session.process_new_packets().map_err(broken)?;
                }
            }
            let came = received(&self.socket, &mut self.records)?;
            self.waiting = 0..came;
            if came == 0 {
                return Ok(0);
            }
        }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &self.session else { return self.socket.write(bytes) };
        let taken = {
            let mut session = lock(session);
            let taken = session.writer().write(bytes)?;
            while session.wants_write() {
                session.write_tls(&mut self.sealed)?;
            }
            taken
        };
        let sent = self.socket.write_all(&self.sealed);
        self.sealed.clear();
        sent.map(|()| taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock(session: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    session.lock().unpoisoned()
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
