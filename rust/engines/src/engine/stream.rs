//! The bytes to a server and back: through its socket, or through TLS around it.

use std::io::{self, BufReader, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use super::abort::{self, Registration};
use super::socket::{self, Endpoint, Socket};
use super::tls::Tls;
use inrush_rows::error::Error;

/// One read of the socket takes what has come, up to this much: several records at once.
const RECORDS_BYTES: usize = 64 << 10;

/// Limits of time belong to the socket. With TLS a read or a send may be several of the socket's: each has what is left.
pub struct Stream {
    /// Above the socket, so that it is dropped first.
    _registration: Registration,
    socket: Socket,
    tls: Option<Box<Secured>>,
    sends: SendLimit,
}

/// How long a send may take, from its first byte to its last.
#[derive(Default)]
struct SendLimit {
    /// Where its caller names no end.
    most: Option<Duration>,
    /// End of the one on its way.
    until: Option<Instant>,
    /// The socket's own limit is what was left until then.
    shortened: bool,
}

impl SendLimit {
    /// Between two writes of one send: a server that takes a little now and then gets no more time for it.
    fn shorten(&mut self, socket: &Socket) -> io::Result<()> {
        let Some(until) = self.until else { return Ok(()) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.shortened = true;
        socket.set_write_timeout(Some(left))
    }
}

struct Secured {
    session: ClientConnection,
    /// The same socket, for reading records.
    records: BufReader<Socket>,
}

impl Stream {
    pub fn plain(socket: impl Into<Socket>) -> Stream {
        let socket = socket.into();
        let registration = abort::register(socket.as_raw_fd());
        Stream { _registration: registration, socket, tls: None, sends: SendLimit::default() }
    }

    /// With TLS from here on: both sides have agreed to it. The handshake ends within the limit of the place, however slowly its
    /// bytes come; a read then has as long, until its limit is set.
    pub fn secure(&mut self, tls: &Tls, place: &Endpoint) -> Result<(), Error> {
        self.secure_by(Instant::now() + place.limit, tls, place)?;
        self.socket.set_read_timeout(Some(place.limit)).map_err(|e| tls.failed(place, &e))
    }

    fn secure_by(&mut self, until: Instant, tls: &Tls, place: &Endpoint) -> Result<(), Error> {
        let session = tls.session(place)?;
        let failed = |e: io::Error| tls.failed(place, &e);
        let records = BufReader::with_capacity(RECORDS_BYTES, self.socket.try_clone().map_err(failed)?);
        let mut secured = Box::new(Secured { session, records });
        while secured.session.is_handshaking() {
            secured.push(&mut self.socket, &mut self.sends).map_err(failed)?;
            if secured.session.is_handshaking() {
                self.socket.read_until(until).map_err(failed)?;
                if secured.pull(&mut self.socket, &mut self.sends).map_err(failed)? == 0 {
                    return Err(failed(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
        secured.push(&mut self.socket, &mut self.sends).map_err(failed)?;
        self.tls = Some(secured);
        Ok(())
    }

    /// The server's certificate as it came, in DER; none without TLS.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        let chain = self.tls.as_ref()?.session.peer_certificates()?;
        chain.first().map(|certificate| certificate.to_vec())
    }

    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// What is waited for where all that has come and was not read lies in the socket; none of TLS, which reads ahead.
    pub fn waits_on(&self) -> Option<RawFd> {
        self.tls.is_none().then(|| self.socket.as_raw_fd())
    }

    /// What limits of time are set on.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Whether a read would not block within `limit`; what only keeps TLS going is taken and is not an answer.
    pub fn readable(&mut self, limit: Duration) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return socket::readable(&self.socket, limit) };
        let until = Instant::now() + limit;
        loop {
            let state = tls.session.process_new_packets().map_err(broken)?;
            if state.plaintext_bytes_to_read() > 0 || state.peer_has_closed() {
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if tls.records.buffer().is_empty() && !socket::readable(&self.socket, left)? {
                return Ok(false);
            }
            if tls.pull(&mut self.socket, &mut self.sends)? == 0 {
                return Ok(true); // its end can be read
            }
        }
    }

    /// Longest time of one `send_parts`, from its first byte to its last: a server that reads no more takes what fits
    /// into buffers, and then nothing for ever. None when `None`.
    pub fn limit_sends(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.sends.most = limit;
        self.socket.set_write_timeout(limit)
    }

    /// All of `parts`, one behind the other, in as few calls as the kernel takes. `TimedOut` where the server does not
    /// take them in time; some of them have left then.
    pub fn send_parts(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        let sent = self.send_until(self.sends.most.map(|limit| Instant::now() + limit), parts);
        if std::mem::take(&mut self.sends.shortened) {
            self.socket.set_write_timeout(self.sends.most)?;
        }
        sent.map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.not_taken(),
            _ => e,
        })
    }

    /// As `send_parts`, until then. The socket's limit of writes is its caller's, and is what was left afterwards.
    pub fn send_until(&mut self, until: Option<Instant>, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.sends.until = until;
        let sent = self.send_all(parts);
        self.sends.until = None;
        sent
    }

    fn send_all(&mut self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0); // drops empty parts in front
        while !parts.is_empty() {
            match self.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => IoSlice::advance_slices(&mut parts, n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if !parts.is_empty() {
                self.sends.shorten(&self.socket)?;
            }
        }
        Ok(())
    }

    fn not_taken(&self) -> io::Error {
        let limit_s = self.sends.most.map_or(0.0, |limit| limit.as_secs_f64());
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the server did not read a request within {limit_s} s"),
        )
    }

    /// Says goodbye, where TLS wants one; a server that has gone needs none.
    pub fn close(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.session.send_close_notify();
            let _ = tls.push(&mut self.socket, &mut self.sends);
        }
    }
}

impl Read for Stream {
    /// One call of the kernel at most. `Interrupted`: records came that hold no bytes yet; call again.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(room) };
        match tls.session.reader().read(room) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        tls.pull(&mut self.socket, &mut self.sends)?;
        match tls.session.reader().read(room) {
            // Not the socket's limit: there is only nothing to hand out.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Interrupted.into()),
            done => done,
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    /// What was taken has left: nothing waits for a flush.
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.write_vectored(parts) };
        let taken = tls.session.writer().write_vectored(parts)?;
        tls.push(&mut self.socket, &mut self.sends)?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Secured {
    /// Takes records that have come and answers what TLS itself asks; their bytes, 0 at the end of the connection.
    fn pull(&mut self, socket: &mut Socket, sends: &mut SendLimit) -> io::Result<usize> {
        let bytes = self.session.read_tls(&mut self.records)?;
        let state = self.session.process_new_packets();
        // What is wrong is said to the other side, too; that it may have gone is no news.
        let sent = self.push(socket, sends);
        state.map_err(broken)?;
        sent.map(|()| bytes)
    }

    /// Sends all that is encrypted, of one send by the end of that.
    fn push(&mut self, socket: &mut Socket, sends: &mut SendLimit) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) if self.session.wants_write() => sends.shorten(socket)?,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
