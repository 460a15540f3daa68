//! Connecting to a port, with a limit, in a way that another thread can end: see `engine::abort`.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::engine::abort;

/// `TimedOut` when nothing answered for so long.
pub fn connect(address: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    abort::check()?;
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: a call without pointers; the descriptor is owned below.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and no other owner knows it.
    let socket = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    // The limit of sending is that of connecting, too. Source: socket(7), SO_SNDTIMEO.
    socket.set_write_timeout(Some(limit))?;
    let registration = abort::register(socket.as_raw_fd());
    let connected = dial(&socket, address);
    drop(registration);
    connected?;
    socket.set_write_timeout(None)?;
    Ok(socket)
}

fn dial(socket: &TcpStream, address: &SocketAddr) -> io::Result<()> {
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: plain numbers; all bits may be zero.
            let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
            to.sin_family = libc::AF_INET as libc::sa_family_t;
            to.sin_port = v4.port().to_be();
            to.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            call(socket, (&raw const to).cast(), size_of_val(&to))
        }
        SocketAddr::V6(v6) => {
            // SAFETY: as above.
            let mut to: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
            to.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            to.sin6_port = v6.port().to_be();
            to.sin6_flowinfo = v6.flowinfo();
            to.sin6_addr.s6_addr = v6.ip().octets();
            to.sin6_scope_id = v6.scope_id();
            call(socket, (&raw const to).cast(), size_of_val(&to))
        }
    }
}

/// `to` points to an address of `bytes` bytes that lives during the call.
fn call(socket: &TcpStream, to: *const libc::sockaddr, bytes: usize) -> io::Result<()> {
    // SAFETY: our caller's address, alive and as long as it says.
    if unsafe { libc::connect(socket.as_raw_fd(), to, bytes as libc::socklen_t) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // So a limit that has passed is reported; and a call that a signal has ended goes on in the kernel alone.
        Some(libc::EINPROGRESS | libc::EAGAIN | libc::EINTR) => Err(io::ErrorKind::TimedOut.into()),
        // It was shut down while it was connecting.
        _ => Err(abort::check().err().unwrap_or(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::engine::abort::Abort;

    const LONG: Duration = Duration::from_secs(60);

    /// Takes no connection: once its queue is full, the kernel leaves further ones without an answer.
    fn full() -> (TcpListener, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: a call without pointers on a descriptor of ours: room for one that waits.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(socket) = connect(&address, Duration::from_millis(200)) {
            waiting.push(socket);
            assert!(waiting.len() < 100, "a queue without room takes no hundred");
        }
        (listener, waiting)
    }

    #[test]
    fn a_port_of_either_family_is_reached_and_one_without_a_server_refuses() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else {
                assert!(host.starts_with('['), "{host} is there on every machine");
                continue;
            };
            let address = listener.local_addr().unwrap();
            let mut ours = connect(&address, LONG).unwrap();
            listener.accept().unwrap().0.write_all(b"hello").unwrap();
            let mut received = String::new();
            ours.read_to_string(&mut received).unwrap();
            assert_eq!(received, "hello");
            drop(listener);
            assert_eq!(connect(&address, LONG).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        }
    }

    #[test]
    fn a_server_without_an_answer_is_waited_for_within_the_limit() {
        let (listener, _waiting) = full();
        let began = Instant::now();
        let late = connect(&listener.local_addr().unwrap(), Duration::from_millis(200)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn connecting_ends_at_once_when_another_thread_gives_up() {
        let (listener, _waiting) = full();
        let address = listener.local_addr().unwrap();
        let abort = Arc::new(Abort::default());
        let connecting = std::thread::spawn({
            let abort = abort.clone();
            move || {
                abort.adopt();
                connect(&address, LONG).map(drop).map_err(|e| e.kind())
            }
        });
        std::thread::sleep(Duration::from_millis(200)); // it is connecting by then; if not, it fails just so
        abort.give_up();
        let began = Instant::now();
        assert_eq!(connecting.join().unwrap(), Err(io::ErrorKind::ConnectionAborted));
        assert!(began.elapsed() < Duration::from_secs(30), "the limit was {} s", LONG.as_secs());
    }
}
