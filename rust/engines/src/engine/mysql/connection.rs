//! One blocking socket: opened, logged in, written and read packet by packet.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;

use super::failure::Failure;
use super::message::{self, Login, HEAD_BYTES, PACKET_MOST};
use super::{auth, decode, Address};
use crate::engine::inbox::Inbox;
use crate::engine::messages::Messages;
use crate::engine::socket;
use crate::engine::stream::Stream;
use crate::engine::tls::{is_loopback, When};
use crate::engine::Canceller;
use inrush_rows::error::{Error, TargetFault};

/// One read takes what has come, up to this much.
const INBOX_BYTES: usize = 256 << 10;
/// A longer packet before login is no MySQL's.
const LOGIN_PACKET_BYTES: usize = 64 << 10;
/// Packets that continue one another are this long at most: what we said we take, and the most that a server can.
const JOINED_BYTES: usize = 1 << 30;
/// What LOAD DATA reads is sent in packets of this size at most.
const FILE_CHUNK_BYTES: usize = 1 << 20;
/// As every session works: times in UTC, no value cut or changed without an error, `"` quotes names.
const SETTINGS: &str = "SET NAMES utf8mb4, time_zone = '+00:00', autocommit = 1, sql_mode = \
    'STRICT_ALL_TABLES,ANSI_QUOTES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

pub struct Connection {
    stream: Stream,
    address: Arc<Address>,
    inbox: Inbox,
    /// A packet that came in several, put together.
    joined: Vec<u8>,
    /// Number of the last packet that was read.
    number: u8,
    /// What a KILL must name.
    id: u32,
    /// Each answer says whether its columns are described.
    leaves_out: bool,
    /// When the log-in must have ended, however slowly its bytes come.
    logged_in_by: Option<Instant>,
}

/// What the server says first.
struct Greeting {
    version: String,
    id: u32,
    challenge: Vec<u8>,
    capabilities: u32,
    /// Of MariaDB's own.
    extended: u32,
    plugin: String,
}

impl Connection {
    pub fn open(address: &Arc<Address>) -> Result<Connection, Error> {
        let failed = |e: io::Error| unreachable(address, &e);
        let (socket, _) = socket::reach(&address.place())?;
        socket.set_read_timeout(Some(address.connect)).map_err(failed)?;
        Connection::begin(address, Stream::plain(socket))
    }

    /// Logged in through `stream`, encrypted where that is asked for, and set up.
    pub(super) fn begin(address: &Arc<Address>, stream: Stream) -> Result<Connection, Error> {
        let failed = |e: io::Error| unreachable(address, &e);
        let mut connection = Connection {
            stream,
            address: address.clone(),
            inbox: Inbox::new(INBOX_BYTES),
            joined: Vec::new(),
            number: 0,
            id: 0,
            leaves_out: false,
            logged_in_by: Some(Instant::now() + address.connect),
        };
        connection.limit_sends(Some(address.connect)).map_err(failed)?;
        connection.log_in()?;
        let settings = format!("{SETTINGS}{}", address.session);
        connection.command(&settings).map_err(failed)?.map_err(|failure| failure.on_connect(address))?;
        connection.limit_sends(None).map_err(failed)?;
        connection.logged_in_by = None;
        connection.stream.socket().set_read_timeout(Some(socket::WAIT_STEP)).map_err(failed)?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), Error> {
        let address = self.address.clone();
        let greeting = match self.login_packet()? {
            packet if packet.first() == Some(&0xff) => return Err(Failure::read(packet).on_connect(&address)),
            packet => greeting(packet).ok_or_else(|| not_mysql(&address))?,
        };
        let mariadb = greeting.version.contains("MariaDB");
        check_server(&address, &greeting, mariadb)?;
        self.id = greeting.id;
        self.leaves_out = match mariadb {
            true => greeting.extended & message::CACHE_METADATA != 0,
            false => greeting.capabilities & message::OPTIONAL_METADATA != 0,
        };
        let leaves_out = self.leaves_out;
        let password = address.password();
        let (mut plugin, mut challenge) = (greeting.plugin, greeting.challenge);
        // A plugin that we do not speak is answered with one that we do: the server names the user's own next.
        if auth::proof(&plugin, &password, &challenge).is_none() {
            plugin = auth::NATIVE.to_owned();
        }
        let proof = auth::proof(&plugin, &password, &challenge).expect("it speaks this plugin");
        let (user, database) = (address.user.as_str(), address.database.as_str());
        let mut out = Vec::new();
        let secure = self.wants_tls(greeting.capabilities)?;
        let login = Login { user, database, plugin: &plugin, proof: &proof, mariadb, secure, leaves_out };
        let mut number = self.number.wrapping_add(1);
        if secure {
            message::ask_for_tls(&mut out, number, &login);
            number = number.wrapping_add(1);
            self.send(&out).map_err(|e| unreachable(&address, &e))?;
            out.clear();
            self.stream.secure(&address.tls, &address.place())?;
        }
        message::login(&mut out, number, &login);
        let mut key_asked_for = false;
        loop {
            self.send(&out).map_err(|e| unreachable(&address, &e))?;
            out.clear();
            let packet = self.login_packet()?.to_vec();
            let answer = match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0xff, _)) => return Err(Failure::read(&packet).on_connect(&address)),
                Some((0xfe, rest)) => {
                    let asked = rest.split(|&byte| byte == 0).next().unwrap_or_default();
                    plugin = String::from_utf8_lossy(asked).into_owned();
                    challenge = rest.get(asked.len() + 1..).unwrap_or_default().to_vec();
                    challenge.truncate(CHALLENGE_BYTES);
                    auth::proof(&plugin, &password, &challenge)
                        .ok_or_else(|| unknown_plugin(&address, &plugin))?
                }
                Some((0x01, rest)) if plugin == auth::CACHING_SHA2 => match rest {
                    [3] => continue, // the proof was enough: OK follows
                    // It was not: the password itself, which only the server can read here.
                    [4] if address.socket.is_some() => [password.as_bytes(), &[0]].concat(),
                    [4] if secure && (address.tls.verifies() || address.allow_cleartext) => {
                        [password.as_bytes(), &[0]].concat()
                    }
                    [4] if secure => return Err(refused(&address, UNVERIFIED.to_owned())),
                    // The password under the server's key, which is asked for.
                    [4] if is_loopback(&address.host) || address.trust_key => {
                        key_asked_for = true;
                        vec![2]
                    }
                    [4] => return Err(refused(&address, UNKNOWN_KEY.to_owned())),
                    _ if !key_asked_for => return Err(not_mysql(&address)),
                    key => auth::encrypted(&password, &challenge, key).ok_or_else(|| {
                        refused(&address, "the server's key for passwords could not be read".to_owned())
                    })?,
                },
                _ => return Err(not_mysql(&address)),
            };
            message::plain(&mut out, self.number.wrapping_add(1), &answer);
        }
    }

    /// Whether the connection is to be encrypted, by what the server can do. Fails where it must be and cannot.
    fn wants_tls(&self, capabilities: u32) -> Result<bool, Error> {
        let address = &self.address;
        if address.tls.when == When::Never {
            return Ok(false);
        }
        if capabilities & message::TLS == 0 {
            address.tls.without(
                &address.place(),
                "let it have a certificate, or ask for less by ssl-mode=PREFERRED",
            )?;
            return Ok(false);
        }
        // A server is silent until it is asked: these bytes would come from an attacker in between.
        if !self.inbox.is_empty() {
            return Err(not_mysql(address));
        }
        Ok(true)
    }

    fn login_packet(&mut self) -> Result<&[u8], Error> {
        let address = self.address.clone();
        while !self.buffered() {
            let unread = self.inbox.unread();
            if unread.len() >= HEAD_BYTES && packet_bytes(unread) > LOGIN_PACKET_BYTES {
                return Err(not_mysql(&address));
            }
            self.fill().map_err(|e| unreachable(&address, &e))?;
        }
        Ok(self.take())
    }

    /// The next packet. Blocks until it is there.
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        while !self.buffered() {
            if !self.fill_soon()? && self.logged_in_by.is_some() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(self.take())
    }

    /// The next packet once `buffered` says so.
    fn take(&mut self) -> &[u8] {
        let first = packet_bytes(self.inbox.unread());
        if first < PACKET_MOST {
            let packet = self.inbox.take(HEAD_BYTES + first);
            self.number = packet[3];
            return &packet[HEAD_BYTES..];
        }
        self.joined.clear();
        loop {
            let bytes = packet_bytes(self.inbox.unread());
            let packet = self.inbox.take(HEAD_BYTES + bytes);
            self.number = packet[3];
            self.joined.extend_from_slice(&packet[HEAD_BYTES..]);
            if bytes < PACKET_MOST {
                return &self.joined;
            }
        }
    }

    /// `first`, then `second`, in one call.
    pub fn send_both(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        self.stream.send_parts(&mut [first, second].map(IoSlice::new))
    }

    /// Whether answers may come without what describes their columns: their heads say so then.
    pub fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// The file that LOAD DATA LOCAL has just asked for, ended by an empty packet.
    pub fn send_file(&mut self, data: &[u8]) -> io::Result<()> {
        let mut number = self.number;
        let mut next = || {
            number = number.wrapping_add(1);
            number
        };
        let mut chunks = data.chunks(FILE_CHUNK_BYTES).peekable();
        while let Some(chunk) = chunks.next() {
            let head = message::head(chunk.len(), next());
            let end = message::head(0, if chunks.peek().is_none() { next() } else { 0 });
            let end: &[u8] = if chunks.peek().is_none() { &end } else { &[] };
            self.stream.send_parts(&mut [&head, chunk, end].map(IoSlice::new))?;
        }
        match data.is_empty() {
            true => self.send(&message::head(0, next())),
            false => Ok(()),
        }
    }

    /// A statement without answer, off the clock.
    pub fn command(&mut self, statement: &str) -> io::Result<Result<(), Failure>> {
        let mut out = Vec::new();
        message::query(&mut out, statement);
        self.send(&out)?;
        self.okay().map(|done| done.map(|_| ()))
    }

    /// The answer to a statement that gives no rows.
    pub fn okay(&mut self) -> io::Result<Result<decode::Okay, Failure>> {
        let packet = self.receive()?;
        match packet.first() {
            Some(0xff) => Ok(Err(Failure::read(packet))),
            _ => decode::okay(packet).map(Ok).ok_or_else(garbled),
        }
    }

    /// Ends the running statement from any thread; a failure to do so changes nothing.
    pub fn canceller(&self) -> Canceller {
        let (address, id) = (self.address.clone(), self.id);
        Box::new(move || {
            if let Ok(mut connection) = Connection::open(&address) {
                let _ = connection.command(&format!("KILL QUERY {id}"));
                connection.close();
            }
        })
    }

    pub fn close(mut self) {
        let mut out = Vec::new();
        message::quit(&mut out);
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
        whole(self.inbox.unread()).is_some()
    }

    fn fill(&mut self) -> io::Result<()> {
        if let Some(until) = self.logged_in_by {
            self.stream.socket().read_until(until)?;
        }
        let whole = self.inbox.unread().len() + 1;
        if whole > JOINED_BYTES + HEAD_BYTES * (JOINED_BYTES / PACKET_MOST + 2) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet of more than 1 GiB came"));
        }
        self.inbox.fill(&mut self.stream, whole)
    }
}

pub fn garbled() -> io::Error {
    io::Error::other("an answer could not be read")
}

fn packet_bytes(head: &[u8]) -> usize {
    u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize
}

/// Bytes of the packet in front with all that continue it, heads included, if they are there.
fn whole(unread: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let bytes = packet_bytes(unread.get(at..at + HEAD_BYTES)?);
        at += HEAD_BYTES + bytes;
        if unread.len() < at {
            return None;
        }
        if bytes < PACKET_MOST {
            return Some(at);
        }
    }
}

const CHALLENGE_BYTES: usize = 20;
const UNVERIFIED: &str = "the server asks for the password itself, and its certificate is not verified, so any server \
    that answers would get it; name the certificate's root by ssl-ca=FILE (MySQL keeps its own in ca.pem of its data folder), or \
    allow it by allow-cleartext-password=true";
const UNKNOWN_KEY: &str =
    "the server asks for the password under a key that it sends itself, and without TLS that key \
    may be anyone's; use ssl-mode=VERIFY_CA with ssl-ca=FILE, or allow it by get-server-public-key=true";

fn greeting(packet: &[u8]) -> Option<Greeting> {
    let mut bytes = decode::Bytes(packet);
    if bytes.u8()? != 10 {
        return None;
    }
    let version = bytes.until_nul()?;
    let id = bytes.u32()?;
    let mut challenge = bytes.take(8)?.to_vec();
    bytes.take(1)?;
    let low = bytes.u16()? as u32;
    bytes.take(3)?; // character set, status
    let capabilities = low | (bytes.u16()? as u32) << 16;
    let length = bytes.u8()? as usize;
    bytes.take(6)?;
    let extended = if low & message::LONG_PASSWORD == 0 { bytes.u32()? } else { bytes.take(4).map(|_| 0)? };
    let rest = bytes.take(length.saturating_sub(8).max(13).min(bytes.0.len()))?;
    challenge.extend_from_slice(rest);
    challenge.truncate(CHALLENGE_BYTES);
    let plugin = bytes.until_nul().unwrap_or_default();
    Some(Greeting { version, id, challenge, capabilities, extended, plugin })
}

fn check_server(address: &Address, greeting: &Greeting, mariadb: bool) -> Result<(), Error> {
    let version = &greeting.version;
    let other = if mariadb { "mariadb" } else { "mysql" };
    let message = if other != address.engine {
        format!(
            "what listens there is {version}: name it {other}://, because the two differ in what is measured"
        )
    } else if greeting.capabilities & message::NEEDED != message::NEEDED {
        format!(
            "version {version} is too old; inrush speaks to MySQL from 8.0 on and to MariaDB from 10.2 on"
        )
    } else {
        return Ok(());
    };
    Err(Error::Target { target: address.to_string(), class: TargetFault::Other, message })
}

fn unreachable(address: &Address, error: &io::Error) -> Error {
    socket::unreachable(&address.place(), error)
}

fn not_mysql(address: &Address) -> Error {
    Error::Target {
        target: address.to_string(),
        class: TargetFault::Other,
        message: format!(
            "what listens on port {} does not speak MySQL's protocol; check the port",
            address.port
        ),
    }
}

fn refused(address: &Address, message: String) -> Error {
    Error::Target { target: address.to_string(), class: TargetFault::Auth, message }
}

fn unknown_plugin(address: &Address, plugin: &str) -> Error {
    refused(
        address,
        format!(
            "user {} logs in by {plugin}; inrush knows {} and {}: choose another user, or ALTER USER … IDENTIFIED",
            address.user,
            auth::CACHING_SHA2,
            auth::NATIVE
        ),
    )
}
