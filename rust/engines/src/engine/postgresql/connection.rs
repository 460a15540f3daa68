//! One blocking socket: opened, logged in, written and read message by message.
//!
//! Plain blocking calls on purpose: at depth 1 a runtime costs as much CPU as the protocol itself, and
//! one that sends a Sync per query costs ten times a hand-made pipeline.

use std::io::{self, IoSlice, Read, Write};
use std::time::Instant;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::ScramSha256;

use super::binding;
use super::failure::Failure;
use super::spelled::Binding;
use super::{message, Address};
use crate::engine::inbox::Inbox;
use crate::engine::messages::Messages;
use crate::engine::secrets::sent_in_clear;
use crate::engine::socket::{self, Peer, Socket};
use crate::engine::stream::Stream;
use crate::engine::Canceller;
use inrush_rows::error::{Error, TargetFault};

/// Of Linux; other systems have smaller numbers.
const PROCESSES_MOST: u32 = 1 << 22;
/// One read takes what has come, up to this much.
const INBOX_BYTES: usize = 256 << 10;
/// COPY data is sent in messages of this size at most.
const COPY_CHUNK_BYTES: usize = 1 << 20;
/// A longer message before login is no PostgreSQL's.
const LOGIN_MESSAGE_BYTES: usize = 64 << 10;
/// The longest message that a server makes. Source: `MaxAllocSize` in PostgreSQL's memutils.h.
const MESSAGE_BYTES: usize = 0x3fff_ffff;
/// More rounds of SCRAM would keep us computing for any server that asks for them; as shipped they ask for 4,096.
const SCRAM_ROUNDS: u64 = 1_000_000;

/// The authentication request for the password as it is.
const CLEAR_PASSWORD: u32 = 3;
const MD5_PASSWORD: u32 = 5;
const UNBOUND: &str =
    "the server asks for no proof that is bound to its certificate, which channel_binding=require asks for";
const IN_CLEAR_REMEDY: &str =
    "let the server ask by scram-sha-256 (pg_hba.conf), or use sslmode=verify-full with sslrootcert=FILE";

pub struct Connection {
    stream: Stream,
    peer: Peer,
    inbox: Inbox,
    /// Process and secret that a cancel request must name.
    key: (u32, u32),
    /// When the log-in must have ended, however slowly its bytes come.
    logged_in_by: Option<Instant>,
}

impl Connection {
    pub fn open(address: &Address) -> Result<Connection, Error> {
        let (last, others) = address.tls.attempts().split_last().expect("there is one at least");
        for &secure in others {
            match Connection::attempt(address, secure) {
                // Refused so, the server may still take us the other way.
                Err(Error::Target { class, .. }) if class != TargetFault::Unreachable => {}
                done => return done,
            }
        }
        Connection::attempt(address, *last)
    }

    fn attempt(address: &Address, secure: bool) -> Result<Connection, Error> {
        let (socket, peer) = socket::reach(&address.place())?;
        socket.set_read_timeout(Some(address.connect)).map_err(|e| unreachable(address, &e))?;
        Connection::begin(address, negotiated(address, socket, secure)?, peer)
    }

    /// Logged in through `stream`.
    pub(super) fn begin(address: &Address, stream: Stream, peer: Peer) -> Result<Connection, Error> {
        let until = Some(Instant::now() + address.connect);
        let mut connection =
            Connection { stream, peer, inbox: Inbox::new(INBOX_BYTES), key: (0, 0), logged_in_by: until };
        connection.limit_sends(Some(address.connect)).map_err(|e| unreachable(address, &e))?;
        connection.log_in(address)?;
        connection.limit_sends(None).map_err(|e| unreachable(address, &e))?;
        connection.logged_in_by = None;
        connection
            .stream
            .socket()
            .set_read_timeout(Some(socket::WAIT_STEP))
            .map_err(|e| unreachable(address, &e))?;
        Ok(connection)
    }

    /// Until the server is ready for the first query.
    fn log_in(&mut self, address: &Address) -> Result<(), Error> {
        let mut out = Vec::new();
        message::startup(&mut out, &address.user, &address.database, &address.startup);
        let mut scram: Option<ScramSha256> = None;
        let verified = self.stream.is_secure() && address.tls.verifies();
        let certificate = self.stream.certificate();
        loop {
            self.send(&out).map_err(|e| unreachable(address, &e))?;
            out.clear();
            let (tag, body) = self.login_message(address)?;
            match tag {
                b'E' => return Err(Failure::read(body).on_connect(address)),
                b'K' if body.len() >= 8 => self.key = (word(body, 0), word(body, 4)),
                b'Z' => return bound(address, scram.as_ref()),
                b'R' => {
                    if body.len() >= 4 && word(body, 0) == CLEAR_PASSWORD && !verified {
                        sent_in_clear(&address.place(), "the password", IN_CLEAR_REMEDY);
                    }
                    answer(address, body, certificate.as_deref(), &mut scram, &mut out)?
                }
                b'S' | b'N' | b'K' => {}
                _ => return Err(not_postgresql(address)),
            }
        }
    }

    fn login_message(&mut self, address: &Address) -> Result<(u8, &[u8]), Error> {
        loop {
            let unread = self.inbox.unread();
            if unread.len() >= 5 {
                let length = word(unread, 1) as usize;
                if !b"REKZSN".contains(&unread[0]) || !(4..LOGIN_MESSAGE_BYTES).contains(&length) {
                    return Err(not_postgresql(address));
                }
            }
            if self.buffered() {
                return Ok(self.take());
            }
            self.fill().map_err(|e| unreachable(address, &e))?;
        }
    }

    /// Whether something between gives the server's sessions to many: what was named at the log-in is no process, but the number
    /// by which a pooler knows this connection, drawn of 2^32 (one in a thousand of them could be a process).
    pub(super) fn is_pooled(&self) -> bool {
        self.key.0 > PROCESSES_MOST
    }

    /// The next message: tag and body. Blocks until it is there.
    pub fn receive(&mut self) -> io::Result<(u8, &[u8])> {
        while whole(self.inbox.unread())?.is_none_or(|bytes| self.inbox.unread().len() < bytes) {
            if !self.fill_soon()? && self.logged_in_by.is_some() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(self.take())
    }

    /// The next message, where it is there as a whole.
    #[inline]
    pub fn there(&mut self) -> io::Result<Option<(u8, &[u8])>> {
        match whole(self.inbox.unread())? {
            Some(bytes) if self.inbox.unread().len() >= bytes => {
                let message = self.inbox.take(bytes);
                Ok(Some((message[0], &message[5..])))
            }
            _ => Ok(None),
        }
    }

    /// The bodies of the messages in front that have this tag and are there as a whole; their bytes.
    pub fn each_there(&mut self, tag: u8, mut each: impl FnMut(&[u8])) -> u64 {
        let unread = self.inbox.unread();
        let (mut at, mut bytes) = (0, 0);
        while unread.len() - at >= 5 && unread[at] == tag {
            let length = word(unread, at + 1) as usize;
            if length < 4 || unread.len() - at - 1 < length {
                break;
            }
            let body = &unread[at + 5..at + 1 + length];
            bytes += body.len() as u64;
            each(body);
            at += 1 + length;
        }
        self.inbox.take(at);
        bytes
    }

    /// Whether the next message has this tag, as far as is known.
    pub fn may_start_with(&self, tag: u8) -> bool {
        self.inbox.unread().first().is_none_or(|&first| first == tag)
    }

    /// The next message, which is there.
    fn take(&mut self) -> (u8, &[u8]) {
        let length = word(self.inbox.unread(), 1) as usize;
        let message = self.inbox.take(1 + length);
        (message[0], &message[5..])
    }

    /// `command`, `data` as COPY messages, and their end; a batch of ordinary size goes out in one call.
    ///
    /// The server's consent is not waited for: data that follow a refused COPY are ignored by the protocol.
    pub fn send_copy(&mut self, command: &[u8], data: &[u8]) -> io::Result<()> {
        let mut chunks = data.chunks(COPY_CHUNK_BYTES).peekable();
        let mut before = command;
        while let Some(chunk) = chunks.next() {
            let head = message::copy_data_head(chunk.len());
            let after: &[u8] = if chunks.peek().is_none() { &message::COPY_DONE } else { &[] };
            let mut parts = [before, &head, chunk, after].map(IoSlice::new);
            self.stream.send_parts(&mut parts)?;
            before = &[];
        }
        match data.is_empty() {
            true => self.stream.send_parts(&mut [command, &message::COPY_DONE].map(IoSlice::new)),
            false => Ok(()),
        }
    }

    /// Ends the running statement from any thread, by a connection as secure as this one; a failure to do so changes
    /// nothing.
    pub fn canceller(&self, address: &Address) -> Canceller {
        let (peer, (process, secret)) = (self.peer.clone(), self.key);
        let (address, secure) = (address.clone(), self.stream.is_secure());
        Box::new(move || {
            let mut out = Vec::new();
            message::cancel(&mut out, process, secret);
            let Ok(socket) = peer.dial(address.connect) else { return };
            let _ = socket.set_read_timeout(Some(address.connect));
            if let Ok(mut stream) = negotiated(&address, socket, secure) {
                // The server closes the connection as soon as it has acted; then the read ends.
                let _ = stream.write_all(&out).and_then(|()| stream.read_exact(&mut [0; 1]));
            }
        })
    }

    pub fn close(mut self) {
        let mut out = Vec::new();
        message::terminate(&mut out);
        // A server that has gone needs no goodbye.
        let _ = self.send(&out);
        self.stream.close();
    }
}

impl Messages for Connection {
    fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn buffered(&mut self) -> bool {
        let unread = self.inbox.unread();
        whole(unread).map_or(true, |whole| whole.is_some_and(|bytes| unread.len() >= bytes))
    }

    fn fill(&mut self) -> io::Result<()> {
        if let Some(until) = self.logged_in_by {
            self.stream.socket().read_until(until)?;
        }
        let whole = whole(self.inbox.unread())?.unwrap_or(5);
        self.inbox.fill(&mut self.stream, whole)
    }
}

/// The stream to log in through: with TLS where it is asked for and the server has it.
fn negotiated(address: &Address, socket: Socket, secure: bool) -> Result<Stream, Error> {
    let mut stream = Stream::plain(socket);
    if !secure {
        return Ok(stream);
    }
    let failed = |e: io::Error| unreachable(address, &e);
    let mut out = Vec::new();
    message::ask_for_tls(&mut out);
    stream.write_all(&out).map_err(failed)?;
    // One byte and no more: the bytes behind it are the handshake's, or an attacker's in between.
    let mut consent = [0];
    stream.read_exact(&mut consent).map_err(failed)?;
    match consent[0] {
        b'S' => stream.secure(&address.tls, &address.place())?,
        b'N' => {
            address.tls.without(&address.place(), "set ssl = on there, or ask for less by sslmode=prefer")?
        }
        _ => return Err(not_postgresql(address)),
    }
    Ok(stream)
}

/// Bytes of the message in front, its head included; `None` where not even that is there. Fails where no message has
/// such a length.
#[inline]
fn whole(unread: &[u8]) -> io::Result<Option<usize>> {
    if unread.len() < 5 {
        return Ok(None);
    }
    match word(unread, 1) as usize {
        length @ 4..=MESSAGE_BYTES => Ok(Some(1 + length)),
        length => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {length} bytes came, which no PostgreSQL sends"),
        )),
    }
}

fn unreachable(address: &Address, error: &io::Error) -> Error {
    socket::unreachable(&address.place(), error)
}

fn not_postgresql(address: &Address) -> Error {
    Error::Target {
        target: address.to_string(),
        class: TargetFault::Other,
        message: format!(
            "what listens {} does not speak PostgreSQL; check the port",
            address.place().listens()
        ),
    }
}

/// Our answer to an authentication request goes to `out`.
fn answer(
    address: &Address,
    body: &[u8],
    certificate: Option<&[u8]>,
    scram: &mut Option<ScramSha256>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    if body.len() < 4 {
        return Err(not_postgresql(address));
    }
    let refused =
        |message: String| Error::Target { target: address.to_string(), class: TargetFault::Auth, message };
    let password = || {
        address
            .password()
            .ok_or_else(|| refused("the server asks for a password; set PGPASSWORD or PGPASSFILE".to_owned()))
    };
    let broken = |e: io::Error| refused(format!("the password exchange failed: {e}"));
    let rest = &body[4..];
    match word(body, 0) {
        0 => {}
        CLEAR_PASSWORD | MD5_PASSWORD if address.binding == Binding::Always => {
            return Err(refused(UNBOUND.to_owned()))
        }
        CLEAR_PASSWORD => message::password(out, &password()?),
        MD5_PASSWORD if rest.len() == 4 => {
            let salt = [rest[0], rest[1], rest[2], rest[3]];
            message::password(out, &md5_hash(address.user.as_bytes(), password()?.as_bytes(), salt));
        }
        10 => {
            let (mechanism, binding) = binding::chosen(address.binding, rest, certificate)
                .map_err(|missing| refused(missing.to_owned()))?;
            let first = ScramSha256::new(password()?.as_bytes(), binding);
            message::sasl_first(out, mechanism, first.message());
            *scram = Some(first);
        }
        11 => {
            let scram = scram.as_mut().ok_or_else(|| not_postgresql(address))?;
            let rounds = scram_rounds(rest).unwrap_or(0);
            if rounds > SCRAM_ROUNDS {
                return Err(refused(format!(
                    "the server asks for {rounds} rounds of SCRAM, inrush computes {SCRAM_ROUNDS} at most; lower \
                     scram_iterations there and set the password again"
                )));
            }
            scram.update(rest).map_err(broken)?;
            message::sasl_next(out, scram.message());
        }
        12 => scram.as_mut().ok_or_else(|| not_postgresql(address))?.finish(rest).map_err(broken)?,
        other => {
            return Err(refused(format!(
                "the server asks for authentication method {other}; inrush knows trust, password, md5 and scram-sha-256"
            )))
        }
    }
    Ok(())
}

/// A server that has let us in without the exchange that the address asks for may be another one.
fn bound(address: &Address, scram: Option<&ScramSha256>) -> Result<(), Error> {
    if address.binding != Binding::Always || scram.is_some() {
        return Ok(());
    }
    let target = address.to_string();
    Err(Error::Target { target, class: TargetFault::Auth, message: UNBOUND.to_owned() })
}

/// `i=` of the server's first message; one that is not there or too long for a number is for the exchange to refuse.
fn scram_rounds(message: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(',').find_map(|part| part.strip_prefix("i="))?.parse().ok()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
