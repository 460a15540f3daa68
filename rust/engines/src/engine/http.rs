//! A small blocking HTTP/1.1 client: one kept connection, one request at a time, nothing copied on its way out.
//!
//! A session owns one. Bodies go out in several slices with one system call; answers come in pieces as the server
//! sends them, with a length, in chunks or up to the end of the connection. With TLS or without is all the same here.

mod answer;
mod chunks;
mod connection;
pub mod exchange;
#[cfg(test)]
mod fuzz;
pub mod options;

use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;

use super::inbox::Inbox;
use super::secrets::sent_in_clear;
use super::socket::{dial, unreachable, Endpoint};
use super::stream::Stream;
use super::tls::{Tls, When};
use super::Outcome;
use answer::Body;
use connection::Connection;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;

/// One read takes what has come, up to this much. A head must fit.
const INBOX_BYTES: usize = 256 << 10;
/// Slices of one body, at most.
pub const SLICES_MOST: usize = 7;

/// Why there is no answer.
#[derive(Debug)]
pub enum HttpError {
    /// The time given has passed; what has come so far is kept, and the call can be made again.
    Late,
    /// The connection is gone.
    Lost(io::Error),
    /// What came is not HTTP; the connection is given up.
    Garbled(&'static str),
}

impl HttpError {
    pub fn outcome(&self) -> Outcome {
        match self {
            HttpError::Late => Outcome::Timeout,
            HttpError::Lost(_) => Outcome::Lost,
            HttpError::Garbled(_) => Outcome::Other,
        }
    }

    /// As an error of the run, for what happens off the clock.
    pub fn error(&self, place: &Endpoint) -> Error {
        match self {
            HttpError::Lost(error) => super::shared::lost(&place.target, error),
            HttpError::Late => unreachable(place, &io::ErrorKind::TimedOut.into()),
            HttpError::Garbled(what) => Error::Target {
                target: place.target.clone(),
                class: inrush_rows::error::TargetFault::Other,
                message: format!("{what}; is port {} the server's HTTP port?", place.port),
            },
        }
    }
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HttpError::Late => write!(f, "no answer in time"),
            HttpError::Lost(error) => write!(f, "the connection was lost: {error}"),
            HttpError::Garbled(what) => write!(f, "{what}"),
        }
    }
}

pub struct Client {
    place: Endpoint,
    tls: Tls,
    /// Lines that every request has.
    headers: String,
    connection: Option<Connection>,
    send_limit: Option<Duration>,
    /// The login, a password among it, is in `headers`, and nothing is encrypted.
    in_clear: bool,
    /// For [`HangUp`]: the socket of `connection`.
    hang_up: Arc<Mutex<Option<TcpStream>>>,
    outbox: Vec<u8>,
    /// Until when the body that is sent in chunks is to be out.
    body_until: Option<Instant>,
    inbox: Inbox,
    /// Of the last answer, as it came.
    head: Vec<u8>,
    status: u16,
    body: Body,
    /// The server lets the connection stand after this answer.
    keep: bool,
    /// The last request was answered before all of it was sent.
    is_cut: bool,
}

/// Ends the connection of a [`Client`] from any thread.
pub struct HangUp(Arc<Mutex<Option<TcpStream>>>);

impl HangUp {
    pub fn now(&self) {
        let socket = self.0.lock().unpoisoned();
        if let Some(socket) = &*socket {
            // It may be gone already, which is what was wanted.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Client {
    /// Not yet connected. `headers` of every request, as `("Name", "value")`; with `login`, basic authentication.
    ///
    /// Panics if a header would break its line: callers pass constants and numbers.
    pub fn new(place: &Endpoint, tls: &Tls, login: Option<(&str, &str)>, headers: &[(&str, &str)]) -> Client {
        let port = place.port;
        let host = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
        let mut lines = format!("Host: {host}:{port}\r\n");
        if let Some((user, password)) = login {
            let secret = STANDARD.encode(format!("{user}:{password}"));
            lines.push_str(&format!("Authorization: Basic {secret}\r\n"));
        }
        for (name, value) in headers {
            assert!(!value.contains(['\r', '\n']), "header {name} is one line");
            lines.push_str(&format!("{name}: {value}\r\n"));
        }
        Client {
            place: place.clone(),
            tls: tls.clone(),
            headers: lines,
            connection: None,
            send_limit: None,
            in_clear: tls.when == When::Never && login.is_some_and(|(_, password)| !password.is_empty()),
            hang_up: Arc::new(Mutex::new(None)),
            outbox: Vec::with_capacity(4096),
            body_until: None,
            inbox: Inbox::new(INBOX_BYTES),
            head: Vec::with_capacity(4096),
            status: 0,
            body: Body::Ended,
            keep: false,
            is_cut: false,
        }
    }

    /// Off the clock: a wrong host or port shows here, with its remedy.
    pub fn connect(&mut self) -> Result<(), Error> {
        if self.in_clear {
            sent_in_clear(&self.place, "the password", "use secure=true in the URL");
        }
        let (socket, _) = dial(&self.place)?;
        let failed = |e: io::Error| unreachable(&self.place, &e);
        socket.set_write_timeout(Some(self.place.limit)).map_err(failed)?;
        socket.set_read_timeout(Some(self.place.limit)).map_err(failed)?;
        let shared = socket.try_clone().map_err(failed)?;
        *self.hang_up.lock().unpoisoned() = Some(shared);
        let mut stream = Stream::plain(socket);
        if self.tls.when != When::Never {
            stream.secure(&self.tls, &self.place)?;
        }
        self.connection = Some(Connection::new(stream, self.send_limit));
        self.inbox.clear();
        (self.body, self.keep) = (Body::Ended, true);
        Ok(())
    }

    /// Longest time in which a request is sent where its caller names none: a server that reads no more takes what
    /// fits into buffers, and then nothing for ever.
    pub fn limit_sends(&mut self, limit: Option<Duration>) {
        self.send_limit = limit;
        if let Some(connection) = &mut self.connection {
            connection.send_limit = limit;
        }
    }

    /// Connected to a server that was captured, its answer to come.
    #[cfg(test)]
    pub fn replay(&mut self, replay: inrush_fuzz::Replay) {
        self.connection = Some(Connection::new(Stream::plain(super::socket::Socket::Replay(replay)), None));
        self.inbox.clear();
        (self.body, self.keep) = (Body::Ended, true);
    }

    pub fn hang_up(&self) -> HangUp {
        HangUp(self.hang_up.clone())
    }

    pub fn place(&self) -> &Endpoint {
        &self.place
    }

    /// Sends a request whose body is `slices` one behind the other. `path` with its query, escaped.
    ///
    /// Connects again if the server closed the idle connection, which it may at any time. A connection that breaks
    /// while sending is not tried again: whether the server has acted is not known.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        slices: &[&[u8]],
        until: Option<Instant>,
    ) -> Result<(), HttpError> {
        self.ready()?;
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        self.outbox.clear();
        write!(self.outbox, "{method} {path} HTTP/1.1\r\n{}Content-Length: {bytes}\r\n\r\n", self.headers)
            .expect("a vector takes what is written");
        let mut parts = [IoSlice::new(&[]); SLICES_MOST + 1];
        parts[0] = IoSlice::new(&self.outbox);
        assert!(slices.len() <= SLICES_MOST, "a body has {SLICES_MOST} slices at most");
        for (part, slice) in parts[1..].iter_mut().zip(slices) {
            *part = IoSlice::new(slice);
        }
        self.keep = false; // until the answer says otherwise
        let connection = self.connection.as_mut().expect("connected above");
        let sent = connection.write(&mut parts[..=slices.len()], until);
        self.sent(sent).map(drop)
    }

    /// Connects where there is no connection that a request can be sent on.
    fn ready(&mut self) -> Result<(), HttpError> {
        self.is_cut = false;
        if self.body != Body::Ended || !self.keep || !self.is_idle() {
            self.forget();
            self.connect().map_err(|e| HttpError::Lost(io::Error::other(e.to_string())))?;
        }
        Ok(())
    }

    /// What sending came to; false where the server has answered before it has read all, as it may what it refuses.
    fn sent(&mut self, sent: Result<(), HttpError>) -> Result<bool, HttpError> {
        match sent {
            Ok(()) => Ok(true),
            Err(HttpError::Lost(_)) if self.refused_early() => {
                self.is_cut = true;
                Ok(false)
            }
            Err(http_error) => {
                self.forget();
                Err(http_error)
            }
        }
    }

    /// Drops the connection; the next request opens another.
    pub fn forget(&mut self) {
        self.connection = None;
        self.hang_up.lock().unpoisoned().take();
        self.inbox.clear();
        (self.body, self.keep) = (Body::Ended, false);
    }

    /// There is a connection, and the server has nothing to say, not even its end.
    fn is_idle(&mut self) -> bool {
        self.inbox.is_empty() && self.connection.as_mut().is_some_and(Connection::is_silent)
    }

    /// An answer is there although the request could not be sent to its end.
    fn refused_early(&mut self) -> bool {
        matches!(self.fill(Some(Instant::now())), Ok(1..))
    }

    /// Reads what has come; 0 when the server has closed the connection.
    fn fill(&mut self, until: Option<Instant>) -> Result<usize, HttpError> {
        let Some(connection) = &mut self.connection else {
            return Err(HttpError::Lost(io::ErrorKind::NotConnected.into()));
        };
        match connection.read(self.inbox.room(0), until) {
            Ok(bytes) => {
                self.inbox.came(bytes);
                Ok(bytes)
            }
            Err(HttpError::Late) => Err(HttpError::Late),
            Err(http_error) => {
                self.forget();
                Err(http_error)
            }
        }
    }

    fn garbled(&mut self, what: &'static str) -> HttpError {
        self.forget();
        HttpError::Garbled(what)
    }
}

#[cfg(test)]
mod tests;
