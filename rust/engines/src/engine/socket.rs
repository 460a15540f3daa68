//! A socket to a server: opening it, what is said when that fails, waiting for bytes. Shared by the wires.

mod pieces;
mod tcp;
mod unix;

use std::cell::Cell;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inrush_rows::error::{Error, TargetFault};

pub use unix::PATH_MOST;

/// Longest time to connect and to log in, where an address says nothing else.
pub const CONNECT: Duration = Duration::from_secs(10);

/// A read that waits for an answer returns without one after this; a longer wait is several reads.
pub const WAIT_STEP: Duration = Duration::from_millis(200);

/// What has left by sockets: calls of the kernel that took bytes, and these bytes, as they were on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub sends: u64,
    pub bytes: u64,
}

thread_local! {
    static SENT: Cell<Sent> = const { Cell::new(Sent { sends: 0, bytes: 0 }) };
}

/// What this thread has sent since it began. A session has a thread, so that what it sends is its session's
/// ([`abort`](super::abort)).
#[inline]
pub fn sent() -> Sent {
    SENT.get()
}

fn count(taken: &io::Result<usize>) {
    if let Ok(bytes) = taken {
        add_sent(1, *bytes as u64);
    }
}

/// Of a client library that has its own sockets: what it sent for this thread, by its own count.
pub fn add_sent(sends: u64, bytes: u64) {
    let before = SENT.get();
    SENT.set(Sent { sends: before.sends + sends, bytes: before.bytes + bytes });
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    /// Of a Unix socket: then host and port say no more.
    pub file: Option<PathBuf>,
    /// The target as people may read it: without password.
    pub target: String,
    /// Longest time to connect and to log in.
    pub limit: Duration,
}

impl Endpoint {
    /// On a port of the network.
    pub fn new(host: impl Into<String>, port: u16, target: impl Into<String>) -> Endpoint {
        Endpoint { host: host.into(), port, file: None, target: target.into(), limit: CONNECT }
    }

    /// For messages: `on port 5432`, or the socket's file.
    pub fn listens(&self) -> String {
        match &self.file {
            None => format!("on port {}", self.port),
            Some(file) => format!("at {}", file.display()),
        }
    }
}

/// A connection to a server, by the network or on this machine alone.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Unix(unix::Connection),
    /// A server that was captured.
    #[cfg(test)]
    Replay(inrush_fuzz::Replay),
}

/// The address of a connection: another connection to it finds the same server.
#[derive(Debug, Clone)]
pub enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Peer {
    pub fn dial(&self, limit: Duration) -> io::Result<Socket> {
        match self {
            Peer::Tcp(address) => tcp::connect(address, limit).map(Socket::Tcp),
            Peer::Unix(file) => unix::connect(file, limit).map(Socket::Unix),
        }
    }
}

/// Connected to the file where the place has one, else as [`dial`] does.
pub fn reach(place: &Endpoint) -> Result<(Socket, Peer), Error> {
    let Some(file) = &place.file else {
        return dial(place).map(|(socket, address)| (socket.into(), Peer::Tcp(address)));
    };
    let peer = Peer::Unix(file.clone());
    peer.dial(place.limit).map(|socket| (socket, peer)).map_err(|e| unreachable(place, &e))
}

/// Connected without Nagle's delay: a request is sent in one piece, and its end is not to wait for an acknowledgement.
pub fn dial(place: &Endpoint) -> Result<(TcpStream, SocketAddr), Error> {
    let addresses = (place.host.as_str(), place.port).to_socket_addrs().map_err(|e| Error::Target {
        target: place.target.clone(),
        class: TargetFault::Unreachable,
        message: format!("host {} is not known: {e}; check the URL", place.host),
    })?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match tcp::connect(&address, place.limit) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|e| unreachable(place, &e))?;
                return Ok((stream, address));
            }
            Err(e) => last = e,
        }
    }
    Err(unreachable(place, &last))
}

/// The failure to connect or to log in, with its remedy.
pub fn unreachable(place: &Endpoint, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("nothing listens {}; is the server running, and is the port right?", place.listens())
        }
        io::ErrorKind::NotFound if place.file.is_some() => format!(
            "there is no socket {}; is the server running, with its sockets in this folder, and is the port right?",
            place.listens()
        ),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            let check = if place.file.is_some() { "does the server hang?" } else { "check host, port and firewall" };
            format!("no answer within {} s; {check}", place.limit.as_secs_f64())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "the server closed the connection before login; see its log".to_owned()
        }
        _ if place.file.is_some() => format!("{error} {}; check the folder and its permissions", place.listens()),
        _ => format!("{error}; check host and port"),
    };
    Error::Target { target: place.target.clone(), class: TargetFault::Unreachable, message }
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Socket {
        Socket::Tcp(socket)
    }
}

impl Socket {
    /// The same connection, for another owner.
    pub fn try_clone(&self) -> io::Result<Socket> {
        match self {
            Socket::Tcp(socket) => socket.try_clone().map(Socket::Tcp),
            Socket::Unix(socket) => socket.try_clone().map(Socket::Unix),
            #[cfg(test)]
            Socket::Replay(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Longest wait of one read; none when `None`.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.set_read_timeout(limit),
            Socket::Unix(socket) => socket.set_read_timeout(limit),
            #[cfg(test)]
            Socket::Replay(_) => Ok(()),
        }
    }

    /// The next read waits until then at most. `TimedOut` where that is over.
    pub fn read_until(&self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.set_read_timeout(Some(left))
    }

    /// Longest wait of one write; none when `None`.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.set_write_timeout(limit),
            Socket::Unix(socket) => socket.set_write_timeout(limit),
            #[cfg(test)]
            Socket::Replay(_) => Ok(()),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Socket::Tcp(socket) => socket.as_raw_fd(),
            Socket::Unix(socket) => socket.as_raw_fd(),
            #[cfg(test)]
            Socket::Replay(_) => inrush_fuzz::Replay::fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(room),
            Socket::Unix(socket) => socket.read(room),
            #[cfg(test)]
            Socket::Replay(replay) => replay.read(room),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        pieces::send(parts, |parts| {
            let taken = match self {
                Socket::Tcp(socket) => socket.write_vectored(parts),
                Socket::Unix(socket) => socket.write_vectored(parts),
                #[cfg(test)]
                Socket::Replay(_) => Ok(parts.iter().map(|part| part.len()).sum()),
            };
            count(&taken);
            taken
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a read gave something; false where the socket's limit has passed.
pub fn came(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether a read of `stream` would not block within `limit`.
pub fn readable(stream: &impl AsRawFd, limit: Duration) -> io::Result<bool> {
    any_readable(&mut [libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 }], limit)
}

/// Whether a read of one of several would not block within `limit`; their `revents` say of which.
pub fn any_readable(polled: &mut [libc::pollfd], limit: Duration) -> io::Result<bool> {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = libc::timespec {
            tv_sec: left.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: left.subsec_nanos() as libc::c_long,
        };
        // SAFETY: as many pollfds as are said and one timespec, all alive during the call; no signal mask.
        match unsafe {
            libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &left, std::ptr::null())
        } {
            0 => return Ok(false),
            1.. => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
