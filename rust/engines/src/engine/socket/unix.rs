//! A Unix socket: connecting with a limit (the standard library waits for ever where a server accepts nothing), and
//! waiting for an answer without being woken by the server's read of the request.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::abort;
use crate::engine::socket::readable;

/// The longest path of a socket, bytes; the kernel wants a NUL behind it.
pub const PATH_MOST: usize = {
    // SAFETY: plain numbers; all bits may be zero.
    let address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_path.len() - 1
};

/// How long one try waits before it looks whether it is still wanted.
const STEP: Duration = Duration::from_millis(100);

/// More than any run lasts, and less than the kernel's clock holds.
const NO_LIMIT: Duration = Duration::from_secs(1 << 30);

/// A connected Unix socket.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// Longest wait of one read, ns; 0 for none. The clones of a connection share it, as they share the kernel's.
    read_limit_ns: Arc<AtomicU64>,
}

impl Connection {
    fn new(stream: UnixStream) -> Connection {
        Connection { stream, read_limit_ns: Arc::default() }
    }

    /// The same connection, for another owner.
    pub fn try_clone(&self) -> io::Result<Connection> {
        let stream = self.stream.try_clone()?;
        Ok(Connection { stream, read_limit_ns: self.read_limit_ns.clone() })
    }

    /// Longest wait of one read; none when `None`.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(limit)?;
        let ns = limit.map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        self.read_limit_ns.store(ns, Ordering::Relaxed);
        Ok(())
    }

    /// Longest wait of one write; none when `None`.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.set_write_timeout(limit)
    }
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl Read for Connection {
    /// Waits by `poll`. A read that blocks on a Unix socket is also woken when the other side takes the bytes that were
    /// sent to it, since the socket can be written to again: twice as many switches of context for each answer.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let limit = match self.read_limit_ns.load(Ordering::Relaxed) {
            0 => NO_LIMIT,
            ns => Duration::from_nanos(ns),
        };
        if !readable(&self.stream, limit)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.stream.read(room)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `WouldBlock` when the server's queue was full for so long. `InvalidInput` for a path that is no socket's.
pub fn connect(file: &Path, limit: Duration) -> io::Result<Connection> {
    let path = file.as_os_str().as_bytes();
    if path.is_empty() || path.len() > PATH_MOST || path.contains(&0) {
        let wrong =
            format!("a socket's path has 1 to {PATH_MOST} bytes and no NUL, this one has {}", path.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    // SAFETY: a call without pointers; the descriptor is owned below.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, with no other owner.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    // The limit of sending is that of connecting, too. Source: socket(7), SO_SNDTIMEO. In steps: a thread that waits in
    // a server's queue is not woken by closing its own side.
    socket.set_write_timeout(Some(limit.min(STEP)))?;
    let until = Instant::now() + limit;
    // SAFETY: as above.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    loop {
        // SAFETY: the address is alive during the call and as long as said; a NUL ends its path.
        if unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) } == 0 {
            socket.set_write_timeout(None)?;
            return Ok(Connection::new(socket));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock if Instant::now() < until => abort::check()?,
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::engine::abort::Abort;
    use crate::engine::socket::Socket;
    use crate::engine::stream::Stream;

    #[test]
    fn a_socket_is_reached_by_a_path_of_full_length_and_by_no_longer_one() {
        let folder = tempfile::tempdir().unwrap();
        let name = "s".repeat(PATH_MOST - folder.path().as_os_str().len() - 1);
        let file = folder.path().join(name);
        let listener = UnixListener::bind(&file).unwrap();
        let mut ours = connect(&file, Duration::from_secs(60)).unwrap();
        listener.accept().unwrap().0.write_all(b"hello").unwrap();
        let mut said = String::new();
        ours.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello");

        let longer =
            connect(&file.with_file_name("s".repeat(PATH_MOST)), Duration::from_secs(60)).unwrap_err();
        assert_eq!(longer.kind(), io::ErrorKind::InvalidInput);
        assert!(longer.to_string().contains("1 to 107 bytes"), "{longer}");
    }

    fn connected() -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Connection::new(ours), theirs)
    }

    /// Times that this thread gave up its core to wait.
    fn waits() -> i64 {
        // SAFETY: plain numbers, all of whose bits may be zero; alive during the call.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut used) }, 0);
        used.ru_nvcsw
    }

    #[test]
    fn a_wait_for_an_answer_is_not_ended_by_the_servers_read_of_the_request() {
        const CALLS: usize = 20;
        let (mut ours, mut theirs) = connected();
        let server = std::thread::spawn(move || {
            let pause = || std::thread::sleep(Duration::from_millis(5));
            for _ in 0..CALLS {
                pause(); // meanwhile the client waits
                theirs.read_exact(&mut [0; 4]).unwrap();
                pause();
                theirs.write_all(b"here").unwrap();
            }
        });
        let before = waits();
        for _ in 0..CALLS {
            ours.write_all(b"ask?").unwrap();
            assert_eq!(ours.read(&mut [0; 64]).unwrap(), 4);
        }
        let waited = waits() - before;
        server.join().unwrap();
        assert!(waited < 2 * CALLS as i64, "{waited} waits for {CALLS} answers");
    }

    #[test]
    fn a_limit_of_reads_holds_for_every_clone_and_can_be_lifted() {
        let (mut ours, mut theirs) = connected();
        let mut clone = ours.try_clone().unwrap();
        clone.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        for socket in [&mut ours, &mut clone] {
            let began = Instant::now();
            assert_eq!(socket.read(&mut [0; 4]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            assert!(began.elapsed() >= Duration::from_millis(20));
        }
        ours.set_read_timeout(None).unwrap();
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            theirs.write_all(b"here").unwrap();
        });
        assert_eq!(clone.read(&mut [0; 4]).unwrap(), 4);
        late.join().unwrap();
        assert_eq!(clone.read(&mut [0; 4]).unwrap(), 0, "the other side has closed");
    }

    #[test]
    fn a_server_that_takes_nobody_is_waited_for_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("full");
        let listener = UnixListener::bind(&file).unwrap();
        // SAFETY: a call without pointers on a descriptor of ours: room for one that waits.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let mut waiting = Vec::new();
        let late = loop {
            match connect(&file, Duration::from_millis(20)) {
                Ok(socket) => waiting.push(socket),
                Err(error) => break error,
            }
            assert!(waiting.len() < 100, "a queue without room takes no hundred");
        };
        assert_eq!(late.kind(), io::ErrorKind::WouldBlock);
    }

    /// A stream to a server that takes one connection and does `serve` with it.
    fn served(
        serve: impl FnOnce(UnixStream) + Send + 'static,
    ) -> (impl FnOnce() -> Stream, std::thread::JoinHandle<()>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server");
        let listener = UnixListener::bind(&file).unwrap();
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        let dial = move || {
            let _folder = folder;
            Stream::plain(Socket::Unix(connect(&file, Duration::from_secs(60)).unwrap()))
        };
        (dial, server)
    }

    #[test]
    fn a_server_that_reads_no_more_ends_a_send_in_time() {
        let (end, ended) = channel::<()>();
        let (dial, server) = served(move |_socket| {
            let _ = ended.recv();
        });
        let mut stream = dial();
        stream.limit_sends(Some(Duration::from_millis(300))).unwrap();
        let began = Instant::now();
        let late = stream.send_parts(&mut [IoSlice::new(&inrush_fuzz::more_than_buffers())]).unwrap_err();
        assert_eq!(late.to_string(), "the server did not read a request within 0.3 s");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        drop(end);
        server.join().unwrap();
    }

    /// What `call` gives on a connection that another thread closes while it waits.
    fn aborted<T: Send + 'static>(call: impl FnOnce(&mut Stream) -> T + Send + 'static) -> T {
        let (end, ended) = channel::<()>();
        let (dial, server) = served(move |_socket| {
            let _ = ended.recv();
        });
        let abort = Arc::new(Abort::default());
        let (connected, begins) = channel();
        let session = std::thread::spawn({
            let abort = abort.clone();
            move || {
                abort.adopt();
                let mut stream = dial();
                connected.send(()).unwrap();
                call(&mut stream)
            }
        });
        begins.recv().unwrap();
        std::thread::sleep(Duration::from_millis(100)); // it waits by then; if not, it ends just so
        abort.close();
        let began = Instant::now();
        let given = session.join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        drop(end);
        server.join().unwrap();
        given
    }

    #[test]
    fn a_cancelled_call_ends_although_the_server_neither_answers_nor_reads() {
        assert_eq!(aborted(|stream| stream.read(&mut [0; 1]).unwrap()), 0, "the end of the connection");
        let limited = aborted(|stream| {
            stream.socket().set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.read(&mut [0; 1]).unwrap()
        });
        assert_eq!(limited, 0);
        let sent =
            aborted(|stream| stream.send_parts(&mut [IoSlice::new(&inrush_fuzz::more_than_buffers())]));
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
