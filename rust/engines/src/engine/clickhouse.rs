//! ClickHouse over its HTTP interface, which servers of 2018 and of today share.
//!
//! Rows go in as the body of an INSERT, in the format that the method names; an operation is done when the server
//! says that it has stored them. Queries, statements and scans are answered in Native, with blocks that carry names and
//! types and are exact for every number. One connection per session, one request at a time.

mod address;
mod decode;
mod extract;
mod failure;
#[cfg(test)]
mod fuzz;
mod request;
mod rowbinary;
mod session;
mod statement;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use address::Address;
pub use address::Spelled;
use decode::{AnswerReader, Blocks, Reader, Stream};
use failure::Failure;
use request::Requests;

use super::http::{Client, HttpError};
use super::shared::STEP;
use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::lock::Unpoisoned;

pub struct Clickhouse {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures.
    control: Mutex<Control>,
}

struct Control {
    client: Client,
    requests: Requests,
}

/// What a server is given to end a statement that was cancelled, and to say so.
const CANCEL: Duration = Duration::from_secs(5);

impl Clickhouse {
    /// Connects once: a wrong port, password or database shows here.
    pub fn new(ctx: &Context) -> Result<Clickhouse, Error> {
        let target = &ctx.plan.target;
        let address = Arc::new(Address::parse(&target.url, &target.options)?);
        let mut control = Control { client: address.client(), requests: Requests::new(&address) };
        control.client.connect()?;
        control.ask(&address, "SELECT 1", Some(Instant::now() + CANCEL), true)?;
        Ok(Clickhouse { ctx: ctx.clone(), address, control: Mutex::new(control) })
    }
}

impl Engine for Clickhouse {
    fn caps(&self) -> Caps {
        Caps {
            max_depth: 1,
            // A batch of several blocks, or over several partitions, is several parts on disk.
            inserts_whole: false,
            ..Caps::default()
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::ChSession::open(&self.ctx, &self.address, ops)?))
    }

    fn extracts(&self) -> bool {
        true
    }

    /// Several statements stand behind one another with `;`; the first that fails ends them, the last one's answer is given.
    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let mut control = self.control.lock().unpoisoned();
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        let mut answer = Answer::default();
        for one in statement::split(text) {
            answer = control.ask(&self.address, one, until, false).map_err(|error| match error {
                Error::Deadline { what, after, .. } => {
                    Error::Deadline { what, limit_s: limit_ns as f64 / 1e9, after }
                }
                error => error,
            })?;
        }
        Ok(answer)
    }
}

impl Control {
    /// `connecting`: a refusal is the target's fault, not the statement's.
    fn ask(
        &mut self,
        address: &Address,
        text: &str,
        until: Option<Instant>,
        connecting: bool,
    ) -> Result<Answer, Error> {
        self.requests.next_query();
        let asked = exchange(&mut self.client, self.requests.path(), text, until);
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) if connecting => Err(failure.on_connect(address)),
            Ok(Err(failure)) => Err(statement_failed(address, text, &failure.to_string())),
            Err(HttpError::Late) => {
                self.client.forget();
                let after = self.after_kill(address);
                Err(Error::Deadline { what: text.to_owned(), limit_s: 0.0, after })
            }
            Err(http_error) => Err(http_error.error(&address.place)),
        }
    }
}

impl Control {
    /// Kills what this connection has asked for, and says what has become of it: a merge goes on though its OPTIMIZE was
    /// killed.
    fn after_kill(&mut self, address: &Address) -> AfterLimit {
        let own = self.requests.own_queries();
        if !address.kill(&own, CANCEL) {
            return AfterLimit::Unknown;
        }
        let until = Instant::now() + CANCEL;
        let text = format!("SELECT 1 FROM system.processes WHERE {own}");
        loop {
            let mut client = address.client();
            let asked = exchange(&mut client, "/?default_format=Native", &text, Some(until));
            match asked {
                Ok(Ok(answer)) if answer.rows.is_empty() => return AfterLimit::Cancelled,
                Ok(Ok(_)) if Instant::now() < until => std::thread::sleep(STEP),
                Ok(Ok(_)) => return AfterLimit::Running,
                _ => return AfterLimit::Unknown,
            }
        }
    }
}

/// One statement and its whole answer.
fn exchange(
    client: &mut Client,
    path: &str,
    text: &str,
    until: Option<Instant>,
) -> Result<Result<Answer, Failure>, HttpError> {
    client.send("POST", path, &[text.as_bytes()], until)?;
    client.receive(until)?;
    let mut reader = AnswerReader::default();
    let read = read_blocks(client, &mut Stream::default(), until, &mut reader)?;
    Ok(read.map(|_| reader.answer))
}

/// What the pieces of an answer become, in any format.
trait Pieces {
    /// Ready for another answer.
    fn clear(&mut self);
    /// Where pieces of the answer are appended.
    fn buffer(&mut self) -> &mut Vec<u8>;
    /// Hands on what is there as a whole.
    fn read(&mut self) -> Result<(), Failure>;
    /// After the last piece: nothing is left, or it is an exception, or the answer was cut off.
    fn end(&mut self) -> Result<(), Failure>;
}

/// Hands the blocks of an answer to `reader`, once its head has come. Gives its bytes, or what the server says instead.
fn read_blocks(
    client: &mut Client,
    stream: &mut Stream,
    until: Option<Instant>,
    reader: &mut dyn Reader,
) -> Result<Result<u64, Failure>, HttpError> {
    read_pieces(client, until, &mut Blocks { stream, reader })
}

/// The same of an answer in any format.
fn read_pieces(
    client: &mut Client,
    until: Option<Instant>,
    pieces: &mut dyn Pieces,
) -> Result<Result<u64, Failure>, HttpError> {
    pieces.clear();
    if client.status() != 200 {
        let code = client.header("X-ClickHouse-Exception-Code").and_then(|code| code.parse().ok());
        client.read_all(pieces.buffer(), until)?;
        return Ok(Err(Failure::read(client.status(), code, pieces.buffer())));
    }
    let mut bytes = 0;
    loop {
        match client.piece(until) {
            Ok(Some(piece)) => {
                bytes += piece.len() as u64;
                pieces.buffer().extend_from_slice(piece);
            }
            Ok(None) => return Ok(pieces.end().map(|()| bytes)),
            Err(HttpError::Late) => return Err(HttpError::Late),
            // Servers of today break the answer off behind an exception: the exception says more than the broken end.
            Err(http_error) => return pieces.end().err().filter(|f| f.code > 0).map(Err).ok_or(http_error),
        }
        if let Err(failure) = pieces.read() {
            // The rest of an answer that cannot be read is of no use.
            client.forget();
            return Ok(Err(failure));
        }
    }
}

fn statement_failed(address: &Address, statement: &str, message: &str) -> Error {
    Error::Statement {
        target: address.place.target.clone(),
        statement: statement.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::engine::Outcome;

    /// What comes of `SELECT 1` where a block of one row is sent, then `behind` it, then nothing more.
    fn broken_off(behind: &str) -> Result<Result<Answer, Failure>, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("clickhouse://u@127.0.0.1:{}", listener.local_addr().unwrap().port());
        let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let mut said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        said.extend(chunk(b"\x01\x01\x01n\x05UInt8\x07"));
        if !behind.is_empty() {
            said.extend(chunk(behind.as_bytes()));
        }
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let (mut asked, mut room) = (Vec::new(), [0; 4096]);
            while !asked.ends_with(b"SELECT 1") {
                let read = socket.read(&mut room).unwrap();
                asked.extend_from_slice(&room[..read]);
            }
            socket.write_all(&said).unwrap();
        });
        let mut client = Address::parse(&url, &BTreeMap::new()).unwrap().client();
        client.connect().unwrap();
        let asked = exchange(&mut client, "/?", "SELECT 1", Some(Instant::now() + CANCEL));
        server.join().unwrap();
        asked
    }

    #[test]
    fn an_answer_that_the_server_breaks_off_is_the_exception_behind_it() {
        let said = "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n";
        let marked = format!("\r\n__exception__\r\ntag\r\n{said}78 tag\r\n__exception__\r\n");
        let failure = broken_off(&marked).unwrap().unwrap_err();
        assert_eq!(failure.to_string(), "Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (241)");
        assert_eq!(failure.outcome(), Outcome::TooLarge);
    }

    #[test]
    fn an_answer_that_breaks_off_without_a_word_is_no_answer() {
        assert!(broken_off("").is_err());
        assert!(broken_off("\x01\x01\x01n\x06String\x30Code: 7 is what this text says").is_err());
    }
}
