//! RESP3, the protocol of Valkey and Redis (from version 6): commands out, replies in, in the commands' order.
//!
//! A reply is read token by token, so that none has to be there whole before it is looked at.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::http::options as url_options;
use super::inbox::Inbox;
use super::secrets::sent_in_clear;
use super::socket::{self, Endpoint, CONNECT};
use super::stream::Stream;
use super::tls::{Tls, When};
use super::url::Url;
use super::{Answer, Outcome};
use crate::encode::resp::{bulk, head};
use crate::error::{Error, TargetFault};
use crate::rows::Value;

/// One read takes what has come, up to this much.
const INBOX_BYTES: usize = 256 << 10;
/// The longest text that a server sends. Source: `proto-max-bulk-len` as shipped.
const TEXT_BYTES: usize = 512 << 20;
/// A longer line is no server's.
const LINE_BYTES: usize = 64 << 10;
/// Values inside values inside values: no reply of a statement of ours is deeper.
const DEPTH: usize = 8;

/// Where the server is, and the login. Without `Debug`: a password is never part of a message.
#[derive(Clone)]
pub struct Address {
    pub place: Endpoint,
    tls: Tls,
    user: String,
    password: Option<String>,
    /// Number of the server's database; empty: the first.
    database: String,
    /// Variable that a password is read from; for messages too.
    variable: &'static str,
}

impl Address {
    /// `scheme://user:password@host:port/0?secure=true`. Without a password in it: that of `variable`, if it is set.
    pub fn parse(
        url: &str,
        schemes: &[&str],
        usual_port: u16,
        variable: &'static str,
    ) -> Result<Address, Error> {
        let scheme = schemes[0];
        let url = Url::parse(url, schemes, &format!("{scheme}://user@host:{usual_port}/0"))?;
        if !url.path.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::Plan(format!(
                "target.url: the database /{} is no number; write /0, or leave it out",
                url.path
            )));
        }
        let tls = url_options::tls(&url.options, "")?;
        let host = if url.host.is_empty() { "localhost".to_owned() } else { url.host };
        let port = url.port.unwrap_or(usual_port);
        let login = if url.user.is_empty() { String::new() } else { format!("{}@", url.user) };
        let target = format!("{scheme}://{login}{host}:{port}/{}", url.path);
        Ok(Address {
            place: Endpoint::new(host, port, target),
            tls,
            user: if url.user.is_empty() { "default".to_owned() } else { url.user },
            password: url.password.or_else(|| std::env::var(variable).ok().filter(|text| !text.is_empty())),
            database: url.path,
            variable,
        })
    }

    /// What every connection says first.
    fn hello(&self, out: &mut Vec<u8>) -> usize {
        match &self.password {
            Some(password) => put_command(out, &["HELLO", "3", "AUTH", &self.user, password]),
            None => put_command(out, &["HELLO", "3"]),
        }
        if self.database.is_empty() {
            return 1;
        }
        put_command(out, &["SELECT", &self.database]);
        2
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place.target)
    }
}

/// A command of fixed words.
pub fn put_command(out: &mut Vec<u8>, words: &[&str]) {
    head(out, b'*', words.len());
    words.iter().for_each(|word| bulk(out, word.as_bytes()));
}

/// What a token is, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text or bytes, in whatever form they came.
    Text,
    /// Lines `name:value` for people: a server's report on itself.
    Lines,
    Integer(i64),
    Null,
    /// So many values follow.
    Array(usize),
    /// So many pairs follow.
    Map(usize),
    Error,
}

/// A piece of a reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    /// Of a text or an error.
    pub bytes: &'a [u8],
}

/// Where a token lies in what has come: its text, and the bytes of all of it.
struct Front {
    kind: Kind,
    text: std::ops::Range<usize>,
    bytes: usize,
}

/// The token in front; `Err`: bytes that must have come before it can be read. Fails where no server sends such bytes.
fn front(unread: &[u8]) -> io::Result<Result<Front, usize>> {
    let Some(end) = unread.iter().take(LINE_BYTES).position(|&byte| byte == b'\r') else {
        return match unread.len() {
            ..LINE_BYTES => Ok(Err(unread.len() + 1)),
            _ => Err(garbled("a line has no end")),
        };
    };
    if unread.len() < end + 2 {
        return Ok(Err(end + 2));
    }
    if end == 0 || unread[end + 1] != b'\n' {
        return Err(garbled("a line ends wrongly"));
    }
    let line = &unread[1..end];
    let whole = |kind: Kind| Ok(Ok(Front { kind, text: 1..end, bytes: end + 2 }));
    match unread[0] {
        b'+' | b',' | b'#' | b'(' => whole(Kind::Text),
        b'-' => whole(Kind::Error),
        b'_' => whole(Kind::Null),
        b':' => whole(Kind::Integer(number(line)?)),
        b'*' | b'~' => whole(counted(line)?.map_or(Kind::Null, Kind::Array)),
        b'%' => whole(counted(line)?.map_or(Kind::Null, Kind::Map)),
        mark @ (b'$' | b'!' | b'=') => {
            let Some(length) = counted(line)? else { return whole(Kind::Null) };
            if length > TEXT_BYTES {
                return Err(garbled("a text is longer than any server sends"));
            }
            let (start, bytes) = (end + 2, end + 2 + length + 2);
            if unread.len() < bytes {
                return Ok(Err(bytes));
            }
            if &unread[bytes - 2..bytes] != b"\r\n" {
                return Err(garbled("a text does not end where it says"));
            }
            // In front of lines for people stands their form, `txt:`.
            let form = if mark == b'=' { length.min(4) } else { 0 };
            let kind = match mark {
                b'!' => Kind::Error,
                b'=' => Kind::Lines,
                _ => Kind::Text,
            };
            Ok(Ok(Front { kind, text: start + form..start + length, bytes }))
        }
        _ => Err(garbled("a reply begins with no mark of RESP3")),
    }
}

fn number(line: &[u8]) -> io::Result<i64> {
    let text = std::str::from_utf8(line).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| garbled("a number is none"))
}

/// A length or a count; `None`: −1, which is NULL.
fn counted(line: &[u8]) -> io::Result<Option<usize>> {
    match number(line)? {
        -1 => Ok(None),
        count @ 0..=0x7fff_ffff => Ok(Some(count as usize)),
        _ => Err(garbled("a length is none")),
    }
}

pub fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: is this a server of RESP3?"))
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
    /// See [`Connection::socket`].
    socket: Option<Arc<TcpStream>>,
}

impl Connection {
    /// Connected and logged in.
    pub fn open(address: &Address) -> Result<Connection, Error> {
        let unreachable = |e: io::Error| socket::unreachable(&address.place, &e);
        let (socket, _) = socket::dial(&address.place)?;
        socket.set_read_timeout(Some(CONNECT)).map_err(unreachable)?;
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
        let mut connection = Connection { stream, inbox: Inbox::new(INBOX_BYTES), socket };
        connection.stream.socket().set_read_timeout(Some(socket::WAIT_STEP)).map_err(unreachable)?;
        connection.limit_sends(Some(CONNECT)).map_err(unreachable)?;
        let mut out = Vec::new();
        let replies = address.hello(&mut out);
        connection.send(&out).map_err(unreachable)?;
        let until = Some(Instant::now() + CONNECT);
        for _ in 0..replies {
            if let Reply::Error(refusal) = connection.reply(until).map_err(unreachable)? {
                return Err(refused(address, &refusal));
            }
        }
        connection.limit_sends(None).map_err(unreachable)?;
        Ok(connection)
    }

    /// A token is there, or what is there is none: `token` does not block.
    pub fn buffered(&self) -> bool {
        !matches!(front(self.inbox.unread()), Ok(Err(_)))
    }

    /// The next token. Blocks until it is there; `TimedOut` where `until` has passed.
    pub fn token(&mut self, until: Option<Instant>) -> io::Result<Token<'_>> {
        let front = loop {
            match front(self.inbox.unread())? {
                Ok(front) => break front,
                Err(whole) => {
                    if !self.fill_soon(whole)? && until.is_some_and(|until| Instant::now() >= until) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
            }
        };
        let taken = self.inbox.take(front.bytes);
        Ok(Token { kind: front.kind, bytes: &taken[front.text] })
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

    /// Something more has come; false when `socket::WAIT_STEP` has passed without. whole: bytes that are waited for.
    fn fill_soon(&mut self, whole: usize) -> io::Result<bool> {
        socket::came(self.inbox.fill(&mut self.stream, whole))
    }

    /// Whether a read would not block within `limit`.
    pub fn readable(&mut self, limit: Duration) -> io::Result<bool> {
        self.stream.readable(limit)
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.send_parts(&mut [IoSlice::new(bytes)])
    }

    /// Longest time of one send, see [`Stream::limit_sends`].
    pub fn limit_sends(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.limit_sends(limit)
    }

    /// The same socket, by which another thread can end the connection; `None` where it is none of the network.
    pub fn socket(&self) -> Option<Arc<TcpStream>> {
        self.socket.clone()
    }

    pub fn close(self) {
        self.stream.close();
    }
}

/// The failure to log in, with its remedy.
fn refused(address: &Address, refusal: &str) -> Error {
    let (class, remedy) = match outcome(refusal) {
        Outcome::Auth => {
            (TargetFault::Auth, format!("check the user in the URL and the password in {}", address.variable))
        }
        Outcome::Undefined => (TargetFault::Other, "inrush speaks RESP3, of Redis 6 and later".to_owned()),
        Outcome::Refused => {
            (TargetFault::Unreachable, "the server cannot work yet: try again shortly".to_owned())
        }
        _ if refusal.contains("DB index") => {
            (TargetFault::MissingDatabase, "name another database in the URL".to_owned())
        }
        _ => (TargetFault::Other, "see the server's log".to_owned()),
    };
    Error::Target { target: address.to_string(), class, message: format!("{refusal}; {remedy}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> Kind {
        front(bytes).unwrap().unwrap_or_else(|whole| panic!("{whole} bytes wanted")).kind
    }

    #[test]
    fn every_token_is_read_from_its_mark_on() {
        let cases: [(&[u8], Kind, &[u8]); 11] = [
            (b"+OK\r\n", Kind::Text, b"OK"),
            (b"-ERR no\r\n", Kind::Error, b"ERR no"),
            (b":-7\r\n", Kind::Integer(-7), b"-7"),
            (b"$3\r\na\rb\r\n", Kind::Text, b"a\rb"),
            (b"$0\r\n\r\n", Kind::Text, b""),
            (b"$-1\r\n", Kind::Null, b"-1"),
            (b"_\r\n", Kind::Null, b""),
            (b"=6\r\ntxt:a:\r\n", Kind::Lines, b"a:"),
            (b"!5\r\nERR x\r\n", Kind::Error, b"ERR x"),
            (b"*2\r\n", Kind::Array(2), b"2"),
            (b"%1\r\n", Kind::Map(1), b"1"),
        ];
        for (bytes, kind, text) in cases {
            let front = front(bytes).unwrap().unwrap_or_else(|_| panic!("{bytes:?} is whole"));
            assert_eq!((front.kind, &bytes[front.text], front.bytes), (kind, text, bytes.len()));
        }
        assert_eq!(
            (kind(b"#t\r\n"), kind(b",1.5\r\n"), kind(b"~1\r\n")),
            (Kind::Text, Kind::Text, Kind::Array(1))
        );
    }

    #[test]
    fn a_token_that_has_not_come_whole_says_how_much_it_needs() {
        for whole in [&b"$3\r\nabc\r\n"[..], b":12\r\n", b"*1\r\n"] {
            for cut in 0..whole.len() {
                let wanted = front(&whole[..cut]).unwrap().err().expect("it is not whole");
                assert!(cut < wanted && wanted <= whole.len(), "{wanted} of {}", whole.len());
            }
        }
    }

    #[test]
    fn what_no_server_sends_is_an_error_and_takes_no_memory() {
        let wrong: [&[u8]; 8] = [
            b"HTTP/1.1 400\r\n",
            b"\r\n",
            b":x\r\n",
            b"$-2\r\n",
            b"$999999999999\r\n",
            b"$1\r\nabc",
            b"*99999999999\r\n",
            b"+a\rb\r\n",
        ];
        for bytes in wrong {
            assert!(front(bytes).is_err(), "{bytes:?}");
        }
        assert!(front(&[b'+'; LINE_BYTES]).is_err());
    }

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
    fn a_url_says_where_and_who_and_hides_its_password() {
        let parse = |url: &str| Address::parse(url, &["valkey", "redis"], 6379, "INRUSH_TEST_NO_PASSWORD");
        let address = parse("redis://me:s%40crt@db.example/2").unwrap();
        assert_eq!(address.to_string(), "valkey://me@db.example:6379/2");
        let mut hello = Vec::new();
        assert_eq!(address.hello(&mut hello), 2);
        assert!(hello.ends_with(b"$5\r\ns@crt\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"), "{hello:?}");
        let plain = parse("valkey://h").unwrap();
        assert_eq!((plain.user.as_str(), plain.password.as_deref()), ("default", None));
        for (wrong, says) in
            [("valkey://h/x", "no number"), ("valkey://h?gzip=1", "option gzip"), ("db://h", "valkey://")]
        {
            let message = parse(wrong).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(says), "{wrong}: {message}");
        }
    }
}
