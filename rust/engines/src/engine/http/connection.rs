//! A socket and the stream through it: whole writes, reads of what has come, both within a limit.

use std::io::{self, IoSlice, Read};
use std::time::{Duration, Instant};

use super::HttpError;
use crate::engine::socket::Socket;
use crate::engine::stream::Stream;

pub struct Connection {
    stream: Stream,
    /// The socket has a limit from an earlier call.
    limited: bool,
    /// Longest time of one request's sending where its caller names none.
    pub send_limit: Option<Duration>,
}

impl Connection {
    /// Its socket has the limits of connecting.
    pub fn new(stream: Stream, send_limit: Option<Duration>) -> Connection {
        Connection { stream, limited: true, send_limit }
    }

    /// The other side has nothing to say, not even its end.
    pub fn is_silent(&mut self) -> bool {
        matches!(self.stream.readable(Duration::ZERO), Ok(false))
    }

    /// All parts, one behind the other.
    pub fn write(&mut self, parts: &mut [IoSlice<'_>], until: Option<Instant>) -> Result<(), HttpError> {
        let until = until.or_else(|| self.send_limit.map(|limit| Instant::now() + limit));
        self.limit(until)?;
        self.stream.send_until(until, parts).map_err(failed)
    }

    /// What has come; 0 when the other side has closed the connection.
    pub fn read(&mut self, room: &mut [u8], until: Option<Instant>) -> Result<usize, HttpError> {
        loop {
            self.limit(until)?;
            match self.stream.read(room) {
                Ok(bytes) => return Ok(bytes),
                // A part of a record of TLS.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(HttpError::Late);
            }
        }
    }

    /// What is left until then, as the socket's own limit; without one a call blocks.
    fn limit(&mut self, until: Option<Instant>) -> Result<(), HttpError> {
        if until.is_none() && !self.limited {
            return Ok(());
        }
        // A limit of zero would be none: what is late gets the shortest one, and takes what is there.
        let left =
            until.map(|until| until.saturating_duration_since(Instant::now()).max(Duration::from_micros(1)));
        self.limited = until.is_some();
        let set = |socket: &Socket| {
            socket.set_read_timeout(left)?;
            socket.set_write_timeout(left)
        };
        set(self.stream.socket()).map_err(HttpError::Lost)
    }
}

fn failed(error: io::Error) -> HttpError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => HttpError::Late,
        _ => HttpError::Lost(error),
    }
}
