//! One blocking socket: opened, logged in, written and read packet by packet.

mod log_in;

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;

use super::failure::Failure;
use super::message::{self, HEAD_BYTES, PACKET_MOST};
use super::{decode, Address};
use crate::engine::inbox::Inbox;
use crate::engine::messages::Messages;
use crate::engine::socket;
use crate::engine::stream::Stream;
use crate::engine::Canceller;
use inrush_rows::error::Error;

/// One read takes what has come, up to this much.
const INBOX_BYTES: usize = 256 << 10;
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

fn unreachable(address: &Address, error: &io::Error) -> Error {
    socket::unreachable(&address.place(), error)
}
