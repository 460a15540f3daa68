//! RESP3, the protocol of Valkey and Redis (from version 6): commands out, replies in, in the commands' order.
//!
//! A reply is read token by token, so that none has to be there whole before it is looked at.

mod address;
mod token;

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use super::inbox::Inbox;
use super::messages::Messages;
use super::secrets::sent_in_clear;
use super::socket;
use super::stream::Stream;
use super::tls::When;
use super::{Answer, Outcome};
use inrush_rows::encode::resp::{bulk, head};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::rows::Value;

pub use address::{spelled, Address};
use token::{front, Front};
pub use token::{garbled, Kind, Token};

/// One read takes what has come, up to this much.
const INBOX_BYTES: usize = 256 << 10;
/// Values inside values inside values: no reply of a statement of ours is deeper.
const DEPTH: usize = 8;

/// A command of fixed words.
pub fn put_command(out: &mut Vec<u8>, words: &[&str]) {
    head(out, b'*', words.len());
    words.iter().for_each(|word| bulk(out, word.as_bytes()));
}

/// A reply as a whole, off the clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Text(String),
    Lines(String),
    Integer(i64),
    Null,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
    Error(String),
}

impl Reply {
    /// As rows: a list of lists is one, pairs and lines `name:value` are rows of two, and a NULL is none.
    pub fn answer(self) -> Answer {
        let rows: Vec<Vec<Value>> = match self {
            Reply::Null => Vec::new(),
            Reply::Array(items) => items.into_iter().map(Reply::row).collect(),
            Reply::Map(pairs) => pairs.into_iter().map(|(k, v)| vec![k.value(), v.value()]).collect(),
            Reply::Lines(text) => {
                let pairs = text.lines().filter_map(|line| line.split_once(':'));
                pairs.map(|(name, value)| vec![Value::Text(name.into()), Value::Text(value.into())]).collect()
            }
            one => vec![vec![one.value()]],
        };
        let columns = rows.first().map_or(0, Vec::len);
        Answer { names: ["name", "value"].iter().cycle().take(columns).map(|n| (*n).into()).collect(), rows }
    }

    fn row(self) -> Vec<Value> {
        match self {
            Reply::Array(items) => items.into_iter().map(Reply::value).collect(),
            one => vec![one.value()],
        }
    }

    fn value(self) -> Value {
        match self {
            Reply::Text(text) | Reply::Lines(text) | Reply::Error(text) => Value::Text(text),
            Reply::Integer(v) => Value::I64(v),
            Reply::Null => Value::Null,
            nested => Value::Text(format!("{nested:?}")),
        }
    }
}

/// Class of an operation that was refused so. Source: the first word of an error, as the servers' manuals have them.
pub fn outcome(refusal: &str) -> Outcome {
    match refusal.split(' ').next().unwrap_or_default() {
        "NOAUTH" | "WRONGPASS" | "NOPERM" => Outcome::Auth,
        "OOM" | "MISCONF" | "READONLY" | "NOREPLICAS" | "MASTERDOWN" | "CLUSTERDOWN" | "MOVED" | "ASK"
        | "LOADING" | "BUSY" => Outcome::Refused,
        "ERR" if refusal.contains("unknown command") || refusal.contains("unknown subcommand") => {
            Outcome::Undefined
        }
        "NOSCRIPT" => Outcome::Undefined,
        _ => Outcome::Other,
    }
}

/// One blocking socket.
pub struct Connection {
    stream: Stream,
    inbox: Inbox,
    /// The token in front of the inbox, once it was looked at: it is asked whether one is there, and then for it.
    front: Option<Front>,
    /// See [`Connection::socket`].
    socket: Option<Arc<TcpStream>>,
}

impl Connection {
    /// Connected and logged in.
    pub fn open(address: &Address) -> Result<Connection, Error> {
        let unreachable = |e: io::Error| socket::unreachable(&address.place, &e);
        let (socket, _) = socket::dial(&address.place)?;
        socket.set_read_timeout(Some(address.place.limit)).map_err(unreachable)?;
        let shared = Arc::new(socket.try_clone().map_err(unreachable)?);
        let mut stream = Stream::plain(socket);
        if address.tls.when != When::Never {
            stream.secure(&address.tls, &address.place)?;
        } else if address.password.is_some() {
            sent_in_clear(&address.place, "the password", "add secure=true to the URL");
        }
        Connection::begin(address, stream, Some(shared))
    }

    /// Logged in through `stream`.
    pub(super) fn begin(
        address: &Address,
        stream: Stream,
        socket: Option<Arc<TcpStream>>,
    ) -> Result<Connection, Error> {
        let unreachable = |e: io::Error| match e.kind() {
            io::ErrorKind::InvalidData => Error::Target {
                target: address.to_string(),
                class: TargetFault::Other,
                message: format!(
                    "what listens {} does not speak RESP; check the port",
                    address.place.listens()
                ),
            },
            _ => socket::unreachable(&address.place, &e),
        };
        let mut connection = Connection { stream, inbox: Inbox::new(INBOX_BYTES), front: None, socket };
        connection.stream.socket().set_read_timeout(Some(socket::WAIT_STEP)).map_err(unreachable)?;
        connection.limit_sends(Some(address.place.limit)).map_err(unreachable)?;
        let mut out = Vec::new();
        let replies = address.hello(&mut out);
        connection.send(&out).map_err(unreachable)?;
        let until = Some(Instant::now() + address.place.limit);
        for _ in 0..replies {
            if let Reply::Error(refusal) = connection.reply(until).map_err(unreachable)? {
                return Err(address.refused(&refusal));
            }
        }
        connection.limit_sends(None).map_err(unreachable)?;
        Ok(connection)
    }

    /// Bytes that must have come before the token in front can be read; 0: it is there.
    fn look(&mut self) -> io::Result<usize> {
        if self.front.is_none() {
            match front(self.inbox.unread())? {
                Ok(front) => self.front = Some(front),
                Err(whole) => return Ok(whole),
            }
        }
        Ok(0)
    }

    /// The next token. Blocks until it is there; `TimedOut` where `until` has passed.
    pub fn token(&mut self, until: Option<Instant>) -> io::Result<Token<'_>> {
        let front = loop {
            if let Some(front) = self.front.take() {
                break front;
            }
            if self.look()? > 0 {
                self.fill_soon()?;
                // Also of a reply that comes, and slowly.
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        };
        let taken = self.inbox.take(front.bytes);
        Ok(Token { kind: front.kind, bytes: &taken[front.text] })
    }

    /// The reply to one command of fixed words, off the clock; nothing else is under way.
    pub fn ask(&mut self, words: &[&str], until: Option<Instant>) -> io::Result<Reply> {
        let mut out = Vec::new();
        put_command(&mut out, words);
        self.send(&out)?;
        self.reply(until)
    }

    /// The next reply, whole. `TimedOut` where `until` has passed before its end.
    pub fn reply(&mut self, until: Option<Instant>) -> io::Result<Reply> {
        self.nested(until, DEPTH)
    }

    fn nested(&mut self, until: Option<Instant>, depth: usize) -> io::Result<Reply> {
        if depth == 0 {
            return Err(garbled("a reply is nested too deeply"));
        }
        let token = self.token(until)?;
        let text = || String::from_utf8_lossy(token.bytes).into_owned();
        // A count is only announced: it takes no memory before what it counts has come.
        match token.kind {
            Kind::Text => Ok(Reply::Text(text())),
            Kind::Lines => Ok(Reply::Lines(text())),
            Kind::Error => Ok(Reply::Error(text())),
            Kind::Integer(v) => Ok(Reply::Integer(v)),
            Kind::Null => Ok(Reply::Null),
            Kind::Array(count) => {
                let items = (0..count).map(|_| self.nested(until, depth - 1));
                items.collect::<io::Result<Vec<_>>>().map(Reply::Array)
            }
            Kind::Map(count) => {
                let pairs =
                    (0..count).map(|_| Ok((self.nested(until, depth - 1)?, self.nested(until, depth - 1)?)));
                pairs.collect::<io::Result<Vec<_>>>().map(Reply::Map)
            }
        }
    }

    /// The same socket, by which another thread can end the connection; `None` where it is none of the network.
    pub fn socket(&self) -> Option<Arc<TcpStream>> {
        self.socket.clone()
    }

    pub fn close(self) {
        self.stream.close();
    }
}

impl Messages for Connection {
    fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn buffered(&mut self) -> bool {
        !matches!(self.look(), Ok(1..))
    }

    fn fill(&mut self) -> io::Result<()> {
        let whole = self.look()?;
        self.inbox.fill(&mut self.stream, whole)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reply_is_rows() {
        let text = |t: &str| Reply::Text(t.into());
        let rows = |reply: Reply| reply.answer().rows;
        let value = |t: &str| Value::Text(t.into());
        assert_eq!(rows(Reply::Integer(3)), [[Value::I64(3)]]);
        assert_eq!(rows(Reply::Null), Vec::<Vec<Value>>::new());
        assert_eq!(rows(Reply::Array(vec![text("a"), text("b")])), [[value("a")], [value("b")]]);
        let nested = Reply::Array(vec![Reply::Array(vec![text("a"), Reply::Integer(1)])]);
        assert_eq!(rows(nested), [[value("a"), Value::I64(1)]]);
        assert_eq!(rows(Reply::Map(vec![(text("k"), text("v"))])), [[value("k"), value("v")]]);
        let report = Reply::Lines("# Server\r\nversion:8.1\r\nfile:/a:b\r\n".into());
        assert_eq!(rows(report), [[value("version"), value("8.1")], [value("file"), value("/a:b")]]);
    }

    #[test]
    fn every_refusal_has_its_outcome() {
        assert_eq!(outcome("NOAUTH Authentication required."), Outcome::Auth);
        assert_eq!(outcome("OOM command not allowed when used memory > 'maxmemory'."), Outcome::Refused);
        assert_eq!(outcome("MISCONF Errors writing to the AOF file"), Outcome::Refused);
        assert_eq!(
            outcome("ERR unknown command 'SELEKT', with args beginning with: '1' "),
            Outcome::Undefined
        );
        assert_eq!(outcome("WRONGTYPE Operation against a key"), Outcome::Other);
        assert_eq!(outcome(""), Outcome::Other);
    }

    #[test]
    fn a_token_is_the_same_however_often_it_was_asked_whether_it_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        ours.set_read_timeout(Some(socket::WAIT_STEP)).unwrap();
        // Smaller than what comes: what is unread moves, and the inbox grows.
        let inbox = Inbox::new(16);
        let mut connection = Connection { stream: Stream::plain(ours), inbox, front: None, socket: None };
        let long = [b'x'; 40];
        theirs.write_all(b"$3\r\nabc\r\n:1234\r\n$40\r\n").unwrap();
        for part in [&long[..7], &long[7..], b"\r\n+OK\r\n"] {
            theirs.write_all(part).unwrap();
        }
        let tokens: [(Kind, &[u8]); 4] =
            [(Kind::Text, b"abc"), (Kind::Integer(1234), b"1234"), (Kind::Text, &long), (Kind::Text, b"OK")];
        for (kind, bytes) in tokens {
            while !connection.buffered() {
                connection.fill().unwrap();
            }
            // More may come behind a token that was looked at.
            assert!(connection.buffered() && connection.buffered());
            let token = connection.token(None).unwrap();
            assert_eq!((token.kind, token.bytes), (kind, bytes));
        }
        assert!(!connection.buffered());
    }

    #[test]
    fn a_reply_that_comes_byte_by_byte_is_late_when_its_time_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = thread::spawn(move || {
            let mut socket = listener.accept().unwrap().0;
            let reply = [&b"$5000\r\n"[..], &[b'x'; 5000]].concat();
            for byte in reply {
                thread::sleep(Duration::from_millis(10));
                if socket.write_all(&[byte]).is_err() {
                    return;
                }
            }
        });
        ours.set_read_timeout(Some(socket::WAIT_STEP)).unwrap();
        let inbox = Inbox::new(64);
        let mut connection = Connection { stream: Stream::plain(ours), inbox, front: None, socket: None };
        let began = Instant::now();
        let late = connection.reply(Some(began + Duration::from_millis(300))).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        drop(connection);
        server.join().unwrap();
    }
}
